//! Groups of points on a device: the GPU version of `cluster::halos`.
//!
//! In: a label for each point. Out: [`Halos`], the members of each group (CSR), largest first. Kernels count the
//! sizes, sort the clusters by size, and sort the points by the rank of their cluster; both sorts are stable. Only a
//! few totals are copied to the host. Cost: two passes over the labels, and the sorts. Memory: 8 bytes per point, 20
//! per member, and 32 per cluster, of which 4 per point, 4 per member and 8 per halo remain.

use std::sync::Arc;

use cubecl::prelude::*;

use crate::cluster::labels::Labels;
use crate::error::Result;
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, wait};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::compact::{Compact, Emit};
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::primitives::scan::exclusive;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// The rank of a cluster that is not a halo.
const NONE: u32 = u32::MAX;

/// Groups of points on a device: the GPU version of [`crate::Halos`].
///
/// [`Fof`](crate::gpu::Fof) sorts them by descending size, ties by the smallest member. [`Halos::upload`] keeps the
/// order of the halos on the host.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Halos, Points};
/// use ropewalk::{Center, Fof};
///
/// let (points, device) = ([[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [1.5, 0.0, 0.0]], Device::first()?);
/// let halos = Halos::upload(&Fof::new(1.0).run(&points)?, device)?;
/// let centers = halos.centers(&Points::new(&points, device)?, Center::MostBound { softening: 0.0 })?;
/// assert_eq!(centers.as_slice()[0].member, Some(1));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Halos {
    pub(in crate::gpu) device: Device,
    /// The group of each point, in the order of the points as they were given.
    pub(in crate::gpu) labels: Buffer<i32>,
    n_clusters: u32,
    /// A bit for each point, set if it is core; `None` if all points with a label are core.
    core: Option<Arc<[u64]>>,
    /// Halo `h` has the members `offsets[h]..offsets[h + 1]`.
    pub(in crate::gpu) offsets: Buffer<u32>,
    pub(in crate::gpu) members: Buffer<u32>,
    /// The cluster of each halo.
    clusters: Buffer<u32>,
    pub(in crate::gpu) boundary: Boundary,
}

impl Halos {
    /// Collects the clusters with at least `min_members` members, as [`crate::Halos::new`]. `labels` is in the order of
    /// the points as they were given, and `boundary` is the space of the points. `numbers` are the same labels in any
    /// order, from which sizes are counted: fastest if points of a cluster follow each other, as in tree order.
    pub(in crate::gpu) fn from_labels<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        labels: &Buffer<i32>,
        numbers: Buffer<u32>,
        n_clusters: usize,
        min_members: usize,
        boundary: Boundary,
    ) -> Result<Self> {
        let (n, dim) = (labels.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let (points, all) = (n as u32, n_clusters as u32);
        let least = u32::try_from(min_members.max(1)).unwrap_or(u32::MAX);

        let sizes = Buffer::<u32>::filled(client, n_clusters, 0);
        count_sizes::launch::<R>(
            client,
            blocks_for(n),
            dim,
            numbers.arg(),
            sizes.arg(),
            points,
            all,
            Warp::new(client),
        );
        drop(numbers);
        let flags = Buffer::<u32>::new(client, n_clusters + 1);
        flag_clusters::launch::<R>(client, blocks_for(n_clusters + 1), dim, sizes.arg(), flags.arg(), all, least);
        let chosen = Compact::new(client, flags)?;
        let (halos, words) = (chosen.len, Buffer::<u64>::new(client, chosen.len));
        chosen.emit::<R, ByDescendingSize>(client, SizesArgLaunch::new(sizes.arg(), points), words.arg());
        let clusters = sort_words(client, words, n as u64 + 1);

        let offsets = Buffer::<u32>::new(client, halos + 1);
        let ranks = Buffer::<u32>::filled(client, n_clusters, NONE);
        rank_clusters::launch::<R>(
            client,
            blocks_for(halos + 1),
            dim,
            sizes.arg(),
            clusters.arg(),
            offsets.arg(),
            ranks.arg(),
            halos as u32,
        );
        exclusive(client, &offsets);

        let flags = Buffer::<u32>::new(client, n + 1);
        flag_members::launch::<R>(client, blocks_for(n + 1), dim, labels.arg(), ranks.arg(), flags.arg(), points, all);
        let chosen = Compact::new(client, flags)?;
        let words = Buffer::<u64>::new(client, chosen.len);
        chosen.emit::<R, ByHalo>(client, RanksArgLaunch::new(labels.arg(), ranks.arg()), words.arg());
        let members = sort_words(client, words, halos as u64);

        // Waits so that halos are complete on return, and errors of the device are returned here.
        wait(client)?;
        Ok(Self { device, labels: labels.clone(), n_clusters: all, core: None, offsets, members, clusters, boundary })
    }

    /// Copies halos to a device, in their order.
    ///
    /// # Errors
    /// A failing device.
    pub fn upload(halos: &crate::Halos, device: Device) -> Result<Self> {
        let offsets: Vec<u32> = halos.offsets().iter().map(|&offset| offset as u32).collect();
        let labels = halos.labels();
        on!(device, client => Ok(Self {
            device,
            labels: Buffer::from_slice(client, labels.as_slice()),
            n_clusters: labels.n_clusters() as u32,
            core: labels.core().map(Into::into),
            offsets: Buffer::from_slice(client, &offsets),
            members: Buffer::from_slice(client, halos.all_members()),
            clusters: Buffer::from_slice(client, halos.clusters()),
            boundary: halos.boundary().clone(),
        }))
    }

    /// Returns the number of halos.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Returns `true` if there are no halos.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes the halo of each point on the device, or -1 for points in no halo. Numbers are those of
    /// [`crate::Halos::halo_of_points`].
    ///
    /// # Errors
    /// A failing device.
    pub fn halo_of_points(&self) -> Result<DeviceVec<i32>> {
        on!(self.device, client => {
            let values = halo_of_points(client, &self.labels, &self.clusters, self.n_clusters);
            Ok(DeviceVec { device: self.device, values })
        })
    }

    /// Returns the position of the first member of each halo in [`Halos::all_members`], followed by the number of all
    /// members.
    pub fn offsets(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.offsets.clone() }
    }

    /// Returns the point indices of the members of all halos, one halo after the other, each in ascending order.
    pub fn all_members(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.members.clone() }
    }

    /// Returns the space in which the halos were found: that of the points, or that of the uploaded halos.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Copies the halos from the device.
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<crate::Halos> {
        let (labels, clusters, offsets, members) = on!(self.device, client => Ok::<_, crate::Error>((
            self.labels.read(client)?,
            self.clusters.read(client)?,
            self.offsets.read(client)?,
            self.members.read(client)?,
        )))?;
        let labels = Labels::from_parts(labels, self.n_clusters, self.core.as_deref().map(<[u64]>::to_vec));
        let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
        Ok(crate::Halos::from_parts(labels, clusters, offsets, members, self.boundary.clone()))
    }
}

/// Looks up the halo of each point.
fn halo_of_points<R: Runtime>(
    client: &ComputeClient<R>,
    labels: &Buffer<i32>,
    clusters: &Buffer<u32>,
    n_clusters: u32,
) -> Buffer<i32> {
    let (n, halos, dim) = (labels.len(), clusters.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let ranks = Buffer::<u32>::filled(client, n_clusters as usize, NONE);
    put_ranks::launch::<R>(client, blocks_for(halos), dim, clusters.arg(), ranks.arg(), halos as u32);
    let found = Buffer::<i32>::new(client, n);
    look_up_halos::launch::<R>(
        client,
        blocks_for(n),
        dim,
        labels.arg(),
        ranks.arg(),
        found.arg(),
        n as u32,
        n_clusters,
    );
    found
}

#[cube(launch)]
fn put_ranks(clusters: &Array<u32>, ranks: &mut Array<u32>, halos: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < halos {
        let cluster = clusters[i] as usize;
        ranks[cluster] = i as u32;
    }
}

#[cube(launch)]
fn look_up_halos(labels: &Array<i32>, ranks: &Array<u32>, found: &mut Array<i32>, n: u32, clusters: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        // As `u32`, negative labels exceed all cluster numbers. Labels of groups have no border points, whose labels
        // would be negative, too.
        let label = u32::cast_from(labels[i]);
        let mut halo = NONE.runtime();
        if label < clusters {
            halo = ranks[label as usize];
        }
        // `NONE` is -1 as `i32`.
        found[i] = i32::reinterpret(halo);
    }
}

#[cube(launch)]
fn count_sizes(numbers: &Array<u32>, sizes: &mut Array<Atomic<u32>>, n: u32, clusters: u32, #[comptime] warp: Warp) {
    let i = ABSOLUTE_POS;
    let mut number = clusters + 0;
    if (i as u32) < n {
        number = numbers[i];
    }
    // A single cluster may contain nearly all points.
    let members = block_aggregate(number, 1u32.runtime(), ReduceOp::Sum, warp);
    if number < clusters && members > 0 {
        sizes[number as usize].fetch_add(members);
    }
}

/// Flags the clusters with at least `least` members, followed by a 0.
#[cube(launch)]
fn flag_clusters(sizes: &Array<u32>, flags: &mut Array<u32>, clusters: u32, least: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < clusters {
        let mut flag = 0u32.runtime();
        if sizes[i] >= least {
            flag = 1;
        }
        flags[i] = flag;
    } else if (i as u32) == clusters {
        flags[i] = 0;
    }
}

/// The size of each cluster, and the number of points.
#[derive(CubeType, CubeLaunch)]
struct SizesArg {
    sizes: Array<u32>,
    points: u32,
}

/// Words that sort clusters by descending size, ties by number.
struct ByDescendingSize;

#[cube]
impl Emit for ByDescendingSize {
    type Input = SizesArg;
    type Output = Array<u64>;

    fn emit(input: &SizesArg, words: &mut Array<u64>, cluster: u32, rank: u32) {
        let others = input.points - input.sizes[cluster as usize];
        words[rank as usize] = (u64::cast_from(others) << 32u64) | u64::cast_from(cluster);
    }
}

/// Writes the size of each halo, followed by a 0, and the rank of its cluster.
#[cube(launch)]
fn rank_clusters(
    counted: &Array<u32>,
    clusters: &Array<u32>,
    sizes: &mut Array<u32>,
    ranks: &mut Array<u32>,
    halos: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < halos {
        let cluster = clusters[i] as usize;
        sizes[i] = counted[cluster];
        ranks[cluster] = i as u32;
    } else if (i as u32) == halos {
        sizes[i] = 0;
    }
}

/// Flags the points whose cluster is a halo, followed by a 0.
#[cube(launch)]
fn flag_members(labels: &Array<i32>, ranks: &Array<u32>, flags: &mut Array<u32>, n: u32, clusters: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let label = u32::cast_from(labels[i]);
        let mut flag = 0u32.runtime();
        if label < clusters {
            if ranks[label as usize] != NONE {
                flag = 1;
            }
        }
        flags[i] = flag;
    } else if (i as u32) == n {
        flags[i] = 0;
    }
}

/// The label of each point, and the rank of each cluster.
#[derive(CubeType, CubeLaunch)]
struct RanksArg {
    labels: Array<i32>,
    ranks: Array<u32>,
}

/// Words that sort points by the rank of their halo, then by index.
struct ByHalo;

#[cube]
impl Emit for ByHalo {
    type Input = RanksArg;
    type Output = Array<u64>;

    fn emit(input: &RanksArg, words: &mut Array<u64>, point: u32, rank: u32) {
        let label = u32::cast_from(input.labels[point as usize]);
        let halo = input.ranks[label as usize];
        words[rank as usize] = (u64::cast_from(halo) << 32u64) | u64::cast_from(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_labels(labels: &[i32], n_clusters: usize, least: usize) -> Halos {
        let device = Device::first().unwrap();
        let halos = on!(device, client => {
            let numbers: Vec<u32> = labels.iter().rev().map(|&label| label as u32).collect();
            let (labels, numbers) = (Buffer::from_slice(client, labels), Buffer::from_slice(client, &numbers));
            Halos::from_labels(client, device, &labels, numbers, n_clusters, least, Boundary::Open)
        });
        halos.unwrap()
    }

    #[test]
    fn as_on_the_cpu() {
        for (n, clusters) in [(0, 0), (1, 1), (5, 3), (1000, 7), (3000, 1), (5000, 900), (5000, 4000)] {
            // Squares make small labels more frequent than large ones; some labels do not occur.
            let label = |i: usize| {
                let at = i.wrapping_mul(2_654_435_761) % 1000;
                if at % 11 == 0 { -1 } else { (at * at * clusters / 1_000_000) as i32 }
            };
            let labels: Vec<i32> = (0..n).map(label).collect();
            let on_host = Labels::from_slice(&labels).unwrap();
            for least in [0, 1, 2, 20, 600, 1 << 40] {
                let theirs = crate::Halos::new(on_host.clone(), least);
                let ours = of_labels(&labels, on_host.n_clusters(), least);
                assert_eq!(ours.len(), theirs.len());
                assert!(ours.read().unwrap() == theirs, "{n} points, {clusters} clusters, least {least}");
                let halo_of =
                    |&label: &i32| theirs.clusters().iter().position(|&own| i64::from(own) == i64::from(label));
                let expected: Vec<i32> =
                    labels.iter().map(|label| halo_of(label).map_or(-1, |halo| halo as i32)).collect();
                assert_eq!(ours.halo_of_points().unwrap().read().unwrap(), expected);
                assert_eq!(ours.all_members().read().unwrap(), theirs.all_members());
                let uploaded = Halos::upload(&theirs, ours.device).unwrap();
                assert!(uploaded.read().unwrap() == theirs);
            }
        }
    }

    /// Uploaded halos keep their order, even if it is not by size.
    #[test]
    fn there_and_back() {
        let halos = crate::Halos::from_lists(9, &[0, 2, 3, 7], &[4, 1, 0, 2, 3, 8, 7]).unwrap();
        let device = Device::first().unwrap();
        assert_eq!(Halos::upload(&halos, device).unwrap().read().unwrap(), halos);
    }
}
