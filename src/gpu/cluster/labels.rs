//! Cluster numbers from a forest: the GPU version of `cluster::relabel` and `cluster::labels`.
//!
//! In: a forest over tree order, and the membership of points in clusters. Out: a number for each point. Clusters are
//! numbered in the order of their smallest members, which are their representatives. Cost: a few passes. Memory: 16
//! bytes per point for numbers, then 20 for labels in the caller's order, besides the numbers.

use cubecl::prelude::*;

use crate::cluster::labels::check_clusters;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, wait};
use crate::gpu::cluster::connect::Forest;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::scatter::{scatter, word};
use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// The number of points without a cluster, larger than all cluster numbers.
pub(in crate::gpu) const NO_CLUSTER: u32 = u32::MAX;

/// A cluster number for each point, or none, on a device: the GPU version of [`crate::Labels`].
#[derive(Clone, Debug)]
pub struct Labels {
    pub(in crate::gpu) device: Device,
    /// The cluster number, or -1 for none. If `has_border_labels`, the label of a border point is -2 minus the number.
    pub(in crate::gpu) labels: Buffer<i32>,
    pub(in crate::gpu) n_clusters: u32,
    /// `true` if labels distinguish border points; otherwise all points with a number are core.
    pub(in crate::gpu) has_border_labels: bool,
}

impl Labels {
    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of clusters; cluster numbers are `0..n_clusters()`.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters as usize
    }

    /// Computes one label per point on the device, in the order of the points as they were given; -1 for points without
    /// a cluster.
    ///
    /// # Errors
    /// A failing device.
    pub fn column(&self) -> Result<DeviceVec<i32>> {
        if !self.has_border_labels {
            return Ok(DeviceVec { device: self.device, values: self.labels.clone() });
        }
        on!(self.device, client => Ok(DeviceVec { device: self.device, values: without_border(client, &self.labels) }))
    }

    /// Computes the indices of the core points on the device, in ascending order.
    ///
    /// # Errors
    /// A failing device.
    pub fn core_indices(&self) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let values = Compact::new(client, core_flags(client, &self.labels))?.items(client);
            Ok(DeviceVec { device: self.device, values })
        })
    }

    /// Waits until the labels are computed.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the labels from the device.
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<crate::Labels> {
        on!(self.device, client => {
            let mut labels = self.labels.read(client)?;
            let core = self.has_border_labels.then(|| {
                let bits = |labels: &[i32]| labels.iter().rev().fold(0, |word, &own| word << 1 | u64::from(own >= 0));
                let core = labels.chunks(64).map(bits).collect();
                labels.iter_mut().filter(|own| **own < -1).for_each(|own| *own = -2 - *own);
                core
            });
            Ok(crate::Labels::from_parts(labels, self.n_clusters, core))
        })
    }
}

/// The points of a tree that get its number. A tree with such points is a cluster.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) enum Membership<'a> {
    All,
    /// All points of trees with two or more points.
    Multiple,
    /// The points that are marked, in tree order.
    Marked(&'a Buffer<u32>),
}

/// [`Membership`] without its data, as a compile-time parameter of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    All,
    Multiple,
    Marked,
}

/// Returns the number of each point's cluster in tree order, or [`NO_CLUSTER`], and the number of clusters. Flattens
/// the forest.
pub(in crate::gpu) fn relabel<R: Runtime>(
    client: &ComputeClient<R>,
    forest: &Forest,
    order: &Buffer<u32>,
    membership: Membership<'_>,
) -> Result<(Buffer<u32>, u32)> {
    let (numbers, representatives) = number_clusters(client, forest, order, membership)?;
    Ok((numbers, representatives.len as u32))
}

/// The same, with the smallest member of each cluster.
pub(in crate::gpu) fn number_clusters<R: Runtime>(
    client: &ComputeClient<R>,
    forest: &Forest,
    order: &Buffer<u32>,
    membership: Membership<'_>,
) -> Result<(Buffer<u32>, Compact)> {
    let (n, dim) = (order.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let smallest = Buffer::<u32>::filled(client, n, NO_CLUSTER);
    let (marks, rule) = match membership {
        Membership::All => (order, Rule::All),
        Membership::Multiple => (order, Rule::Multiple),
        Membership::Marked(marks) => (marks, Rule::Marked),
    };
    let parents = &forest.parents;
    find_smallest::launch::<R>(
        client,
        blocks_for(n),
        dim,
        parents.arg(),
        order.arg(),
        marks.arg(),
        smallest.arg(),
        n as u32,
        rule,
        Warp::new(client),
    );
    let ranks = Buffer::<u32>::filled(client, n + 1, 0);
    mark_representatives::launch::<R>(client, blocks_for(n), dim, smallest.arg(), ranks.arg(), n as u32);
    let representatives = Compact::new(client, ranks)?;
    let numbers = Buffer::<u32>::new(client, n);
    number_points::launch::<R>(
        client,
        blocks_for(n),
        dim,
        parents.arg(),
        marks.arg(),
        smallest.arg(),
        representatives.ranks.arg(),
        numbers.arg(),
        n as u32,
        rule,
    );
    // Numbers become labels, which are `i32`.
    check_clusters(representatives.len)?;
    Ok((numbers, representatives))
}

/// Converts numbers in tree order to labels in the caller's order. With `core`, labels of all other points mark these
/// as border points.
pub(in crate::gpu) fn label<R: Runtime>(
    client: &ComputeClient<R>,
    numbers: &Buffer<u32>,
    order: &Buffer<u32>,
    core: Option<&Buffer<u32>>,
) -> Buffer<i32> {
    let n = order.len();
    let words = Buffer::<u64>::new(client, n);
    write_labels::launch::<R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        numbers.arg(),
        order.arg(),
        core.unwrap_or(order).arg(),
        words.arg(),
        n as u32,
        core.is_some(),
    );
    scatter(client, words)
}

/// Finds the smallest member of each tree, at its root, and replaces parents by roots. Each thread writes only its own
/// parent, so no root is overwritten by a former ancestor.
#[cube(launch)]
fn find_smallest(
    parents: &mut Array<u32>,
    order: &Array<u32>,
    marks: &Array<u32>,
    smallest: &mut Array<Atomic<u32>>,
    n: u32,
    #[comptime] rule: Rule,
    #[comptime] warp: Warp,
) {
    let i = ABSOLUTE_POS as u32;
    let mut root = 0u32.runtime();
    let mut member = NO_CLUSTER.runtime();
    if i < n {
        // In an array, because an optimiser of cubecl fails on such loops over variables.
        let mut way = Array::<u32>::new(2usize);
        way[0] = i;
        way[1] = parents[i as usize];
        while way[1] != way[0] {
            way[0] = way[1];
            way[1] = parents[way[1] as usize];
        }
        root = way[0];
        parents[i as usize] = root;
        let mut is_core = true.runtime();
        let mut own = order[i as usize];
        if comptime!(rule == Rule::Multiple) {
            is_core = root != i;
            own = min(own, order[root as usize]);
        }
        if comptime!(rule == Rule::Marked) {
            is_core = marks[i as usize] != 0;
        }
        if is_core {
            member = own;
        }
    }
    // Neighbouring points often have the same root.
    let member = block_aggregate(root, member, ReduceOp::Min, warp);
    if member != NO_CLUSTER {
        smallest[root as usize].fetch_min(member);
    }
}

#[cube(launch)]
fn mark_representatives(smallest: &Array<u32>, ranks: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let representative = smallest[i];
        if representative != NO_CLUSTER {
            ranks[representative as usize] = 1;
        }
    }
}

#[cube(launch)]
fn number_points(
    roots: &Array<u32>,
    marks: &Array<u32>,
    smallest: &Array<u32>,
    ranks: &Array<u32>,
    numbers: &mut Array<u32>,
    n: u32,
    #[comptime] rule: Rule,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let representative = smallest[roots[i] as usize];
        let mut number = NO_CLUSTER.runtime();
        let mut is_core = representative != NO_CLUSTER;
        if comptime!(rule == Rule::Marked) {
            is_core = is_core && marks[i] != 0;
        }
        if is_core {
            number = ranks[representative as usize];
        }
        numbers[i] = number;
    }
}

/// Labels that do not distinguish border points.
fn without_border<R: Runtime>(client: &ComputeClient<R>, labels: &Buffer<i32>) -> Buffer<i32> {
    let n = labels.len();
    let clusters = Buffer::<i32>::new(client, n);
    if n > 0 {
        drop_border::launch::<R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            labels.arg(),
            clusters.arg(),
            n as u32,
        );
    }
    clusters
}

/// Writes the label of each point, and its place in the caller's order.
#[cube(launch)]
fn write_labels(
    numbers: &Array<u32>,
    order: &Array<u32>,
    core: &Array<u32>,
    words: &mut Array<u64>,
    n: u32,
    #[comptime] tell_border: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        // `NO_CLUSTER` is -1 as `i32`.
        let mut label = i32::reinterpret(numbers[i]);
        if comptime!(tell_border) {
            if core[i] == 0 && label >= 0 {
                label = -2 - label;
            }
        }
        words[i] = word(order[i], u32::reinterpret(label));
    }
}

/// A flag for each core point, followed by a 0. The labels of core points are not negative.
fn core_flags<R: Runtime>(client: &ComputeClient<R>, labels: &Buffer<i32>) -> Buffer<u32> {
    let n = labels.len();
    let flags = Buffer::<u32>::new(client, n + 1);
    flag_core::launch::<R>(
        client,
        blocks_for(n + 1),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        labels.arg(),
        flags.arg(),
        n as u32,
    );
    flags
}

#[cube(launch)]
fn flag_core(labels: &Array<i32>, flags: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        flags[i] = u32::cast_from(labels[i] >= 0);
    } else if (i as u32) == n {
        flags[i] = 0;
    }
}

#[cube(launch)]
fn drop_border(labels: &Array<i32>, clusters: &mut Array<i32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let label = labels[i];
        clusters[i] = select(label < -1, -2 - label, label);
    }
}
