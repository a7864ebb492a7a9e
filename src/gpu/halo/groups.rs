//! Groups of points on a device: the twin of `halo`.
//!
//! In: a label for each point. Out: [`Halos`], the members of each group (CSR), largest first.
//! Sizes are counted, clusters sorted by them, and points sorted by the rank of their cluster, all of it stably. Nothing comes
//! to the host but a few totals.
//! Cost: two passes over the labels, and the sorts: 8 bytes a point, 20 a member, and 32 a cluster, of which 4 a point, 4 a member
//! and 8 a halo stay.

use std::sync::Arc;

use cubecl::prelude::*;

use crate::cluster::labels::Labels;
use crate::error::Result;
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::device::{Device, on};
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::primitives::scan::{exclusive, last};
use crate::gpu::primitives::warp::{ReduceOp, Warp, block_aggregate};

/// Halos of more members are large: their centres are looked for block by block.
pub(in crate::gpu) const SMALL: usize = 512;
/// No halo.
const NONE: u32 = u32::MAX;

/// Groups of points on a device, largest first, ties by the smallest member: the twin of [`crate::Halos`].
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
    /// The group of each point, in the caller's order.
    labels: Buffer<i32>,
    n_clusters: u32,
    /// Which points are core, unless all with a label are.
    core: Option<Arc<[u64]>>,
    /// Halo `h` has the members `offsets[h]..offsets[h + 1]`.
    pub(in crate::gpu) offsets: Buffer<u32>,
    pub(in crate::gpu) members: Buffer<u32>,
    clusters: Buffer<u32>,
    /// The number that the caller knows each halo by, where that is not its rank by size.
    pub(in crate::gpu) given: Option<Arc<[u32]>>,
    /// How many halos are large, and how many members these have.
    #[cfg_attr(not(feature = "halos"), allow(dead_code))]
    pub(in crate::gpu) large: [usize; 2],
    pub(in crate::gpu) boundary: Boundary,
}

impl Halos {
    /// The clusters of labels, which are in the caller's order, that have at least `min_members` members: as
    /// [`crate::Halos::new`], but in a space that is known.
    pub(in crate::gpu) fn of_labels<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        labels: &Buffer<i32>,
        n_clusters: usize,
        min_members: usize,
        boundary: Boundary,
    ) -> Result<Self> {
        let (n, dim) = (labels.len(), CubeDim::new_1d(UNITS));
        let (points, all) = (n as u32, n_clusters as u32);
        let least = u32::try_from(min_members.max(1)).unwrap_or(u32::MAX);

        let sizes = Buffer::<u32>::filled(client, n_clusters, 0);
        count_sizes::launch::<R>(client, cubes(n), dim, labels.arg(), sizes.arg(), points, all, Warp::of(client));
        let places = Buffer::<u32>::new(client, n_clusters + 1);
        choose_clusters::launch::<R>(client, cubes(n_clusters + 1), dim, sizes.arg(), places.arg(), all, least);
        exclusive(client, &places);
        let halos = last(client, &places)?;
        let words = Buffer::<u64>::new(client, halos);
        take_clusters::launch::<R>(
            client,
            cubes(n_clusters),
            dim,
            sizes.arg(),
            places.arg(),
            words.arg(),
            all,
            points,
            least,
        );
        let clusters = sort_words(client, words, n as u64 + 1);

        let offsets = Buffer::<u32>::new(client, halos + 1);
        let ranks = Buffer::<u32>::filled(client, n_clusters, NONE);
        rank_clusters::launch::<R>(
            client,
            cubes(halos + 1),
            dim,
            sizes.arg(),
            clusters.arg(),
            offsets.arg(),
            ranks.arg(),
            halos as u32,
        );
        exclusive(client, &offsets);

        let places = Buffer::<u32>::new(client, n + 1);
        choose_points::launch::<R>(client, cubes(n + 1), dim, labels.arg(), ranks.arg(), places.arg(), points, all);
        exclusive(client, &places);
        let count = last(client, &places)?;
        let words = Buffer::<u64>::new(client, count);
        take_points::launch::<R>(client, cubes(n), dim, labels.arg(), ranks.arg(), places.arg(), words.arg(), points);
        let members = sort_words(client, words, halos as u64);

        let large = Buffer::<u32>::from_slice(client, &[0, 0]);
        find_large::launch::<R>(client, cubes(halos), dim, offsets.arg(), large.arg(), halos as u32, SMALL as u32);
        let large = large.read(client)?;
        Ok(Self {
            device,
            labels: labels.clone(),
            n_clusters: all,
            core: None,
            offsets,
            members,
            clusters,
            given: None,
            large: [large[0] as usize, large[1] as usize],
            boundary,
        })
    }

    /// Copies halos to a device.
    ///
    /// Errors: if the device fails.
    pub fn upload(halos: &crate::Halos, device: Device) -> Result<Self> {
        let mut order: Vec<u32> = (0..halos.len() as u32).collect();
        order.sort_by_key(|&halo| std::cmp::Reverse(halos.members(halo as usize).len()));
        let (mut offsets, mut members) = (vec![0], Vec::with_capacity(halos.all_members().len()));
        for &halo in &order {
            members.extend_from_slice(halos.members(halo as usize));
            offsets.push(members.len() as u32);
        }
        let clusters: Vec<u32> = order.iter().map(|&halo| halos.clusters()[halo as usize]).collect();
        let large = order.iter().take_while(|&&halo| halos.members(halo as usize).len() > SMALL).count();
        let large = [large, offsets[large] as usize];
        let labels = halos.labels();
        on!(device, client => Ok(Self {
            device,
            labels: Buffer::from_slice(client, labels.as_slice()),
            n_clusters: labels.n_clusters() as u32,
            core: labels.core().map(Into::into),
            offsets: Buffer::from_slice(client, &offsets),
            members: Buffer::from_slice(client, &members),
            clusters: Buffer::from_slice(client, &clusters),
            given: (!order.is_sorted()).then(|| order.into()),
            large,
            boundary: halos.boundary().clone(),
        }))
    }

    /// How many halos there are.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The space they were found in: that of the points, or of the halos that were uploaded.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// How many points were grouped.
    #[cfg(feature = "halos")]
    pub(in crate::gpu) fn points(&self) -> usize {
        self.labels.len()
    }

    /// Copies the halos from the device.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<crate::Halos> {
        let (labels, clusters, offsets, members) = on!(self.device, client => Ok::<_, crate::Error>((
            self.labels.read(client)?,
            self.clusters.read(client)?,
            self.offsets.read(client)?,
            self.members.read(client)?,
        )))?;
        let labels = Labels::from_parts(labels, self.n_clusters, self.core.as_deref().map(<[u64]>::to_vec));
        let offsets: Vec<usize> = offsets.into_iter().map(|offset| offset as usize).collect();
        let Some(given) = &self.given else {
            return Ok(crate::Halos::from_parts(labels, clusters, offsets, members, self.boundary.clone()));
        };
        let mut ranks: Vec<usize> = (0..given.len()).collect();
        ranks.sort_unstable_by_key(|&rank| given[rank]);
        let (mut own_offsets, mut own_members) = (vec![0], Vec::with_capacity(members.len()));
        for &rank in &ranks {
            own_members.extend_from_slice(&members[offsets[rank]..offsets[rank + 1]]);
            own_offsets.push(own_members.len());
        }
        let clusters = ranks.iter().map(|&rank| clusters[rank]).collect();
        Ok(crate::Halos::from_parts(labels, clusters, own_offsets, own_members, self.boundary.clone()))
    }
}

#[cube(launch)]
fn count_sizes(labels: &Array<i32>, sizes: &mut Array<Atomic<u32>>, n: u32, clusters: u32, #[comptime] warp: Warp) {
    let i = ABSOLUTE_POS;
    let mut label = clusters + 0;
    if (i as u32) < n {
        // A negative label is a large number.
        label = u32::cast_from(labels[i]);
    }
    // One cluster may have nearly all points.
    let members = block_aggregate(label, 1u32.runtime(), ReduceOp::Sum, warp);
    if label < clusters && members > 0 {
        sizes[label as usize].fetch_add(members);
    }
}

#[cube(launch)]
fn choose_clusters(sizes: &Array<u32>, places: &mut Array<u32>, clusters: u32, least: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < clusters {
        let mut chosen = 0u32.runtime();
        if sizes[i] >= least {
            chosen = 1;
        }
        places[i] = chosen;
    } else if (i as u32) == clusters {
        places[i] = 0;
    }
}

/// Large clusters come first.
#[cube(launch)]
fn take_clusters(
    sizes: &Array<u32>,
    places: &Array<u32>,
    words: &mut Array<u64>,
    clusters: u32,
    points: u32,
    least: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < clusters {
        let size = sizes[i];
        if size >= least {
            let to = places[i] as usize;
            words[to] = (u64::cast_from(points - size) << 32u64) | u64::cast_from(i as u32);
        }
    }
}

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

/// The rank of a label's cluster; none without one.
#[cube]
fn rank(labels: &Array<i32>, ranks: &Array<u32>, i: usize, clusters: u32) -> u32 {
    let label = u32::cast_from(labels[i]);
    let mut rank = 0xffff_ffffu32.runtime();
    if label < clusters {
        rank = ranks[label as usize];
    }
    rank
}

#[cube(launch)]
fn choose_points(labels: &Array<i32>, ranks: &Array<u32>, places: &mut Array<u32>, n: u32, clusters: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let mut chosen = 0u32.runtime();
        if rank(labels, ranks, i, clusters) != 0xffff_ffffu32 {
            chosen = 1;
        }
        places[i] = chosen;
    } else if (i as u32) == n {
        places[i] = 0;
    }
}

#[cube(launch)]
fn take_points(labels: &Array<i32>, ranks: &Array<u32>, places: &Array<u32>, words: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let to = places[i];
        if places[i + 1] > to {
            let label = u32::cast_from(labels[i]);
            words[to as usize] = (u64::cast_from(ranks[label as usize]) << 32u64) | u64::cast_from(i as u32);
        }
    }
}

/// How many halos come before the first that is not large, and how many members.
#[cube(launch)]
fn find_large(offsets: &Array<u32>, large: &mut Array<u32>, halos: u32, small: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < halos {
        let end = offsets[i + 1];
        if end - offsets[i] > small {
            let mut is_last = (i as u32) + 1 == halos;
            if !is_last {
                is_last = offsets[i + 2] - end <= small;
            }
            if is_last {
                large[0] = (i as u32) + 1;
                large[1] = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_labels(labels: &[i32], n_clusters: usize, least: usize) -> Halos {
        let device = Device::first().unwrap();
        let halos = on!(device, client => {
            Halos::of_labels(client, device, &Buffer::from_slice(client, labels), n_clusters, least, Boundary::Open)
        });
        halos.unwrap()
    }

    #[test]
    fn as_on_the_cpu() {
        for (n, clusters) in [(0, 0), (1, 1), (5, 3), (1000, 7), (3000, 1), (5000, 900), (5000, 4000)] {
            // The square of a number is more often small than not; some labels do not occur.
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
                let uploaded = Halos::upload(&theirs, ours.device).unwrap();
                assert_eq!(uploaded.large, ours.large);
                assert!(uploaded.read().unwrap() == theirs);
            }
        }
    }

    /// Halos that are not in the order of their sizes keep their own.
    #[test]
    fn there_and_back() {
        let halos = crate::Halos::from_lists(9, &[0, 2, 3, 7], &[4, 1, 0, 2, 3, 8, 7]).unwrap();
        let device = Device::first().unwrap();
        assert_eq!(Halos::upload(&halos, device).unwrap().read().unwrap(), halos);
    }
}
