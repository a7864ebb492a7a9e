//! Clusters from a forest: the twin of `labels`.
//!
//! In: a forest over tree order, and who makes a tree a cluster. Out: a number per point, numbered by the smallest member.
//! Cost: 16 bytes a point, in a few passes.

use cubecl::prelude::*;

use crate::cluster::labels::check_clusters;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes, wait};
use crate::gpu::cluster::connect::Forest;
use crate::gpu::column::DeviceVec;
use crate::gpu::device::{Device, on};
use crate::gpu::primitives::scan::{exclusive, last};
use crate::gpu::primitives::warp::{ReduceOp, Warp, block_aggregate};

/// No cluster; larger than all that are.
pub(in crate::gpu) const NOBODY: u32 = u32::MAX;

/// A cluster number for each point, or none: the twin of [`crate::Labels`], on a device.
#[derive(Clone, Debug)]
pub struct Labels {
    pub(in crate::gpu) device: Device,
    /// The number, or -1 for none; -2 less the number for a border point, where these are told apart.
    pub(in crate::gpu) labels: Buffer<i32>,
    pub(in crate::gpu) n_clusters: u32,
    /// Whether they are; otherwise all points that have a label are core.
    pub(in crate::gpu) tells_border: bool,
}

impl Labels {
    /// How many clusters there are; their numbers are `0..n_clusters()`.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters as usize
    }

    /// One label per point in the caller's order, -1 for none.
    ///
    /// Errors: if the device fails.
    pub fn column(&self) -> Result<DeviceVec<i32>> {
        if !self.tells_border {
            return Ok(DeviceVec { device: self.device, values: self.labels.clone() });
        }
        on!(self.device, client => Ok(DeviceVec { device: self.device, values: clusters(client, &self.labels) }))
    }

    /// Waits until the labels are there.
    ///
    /// Errors: if the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the labels from the device.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<crate::Labels> {
        on!(self.device, client => {
            let mut labels = self.labels.read(client)?;
            let core = self.tells_border.then(|| {
                let bits = |labels: &[i32]| labels.iter().rev().fold(0, |word, &own| word << 1 | u64::from(own >= 0));
                let core = labels.chunks(64).map(bits).collect();
                labels.iter_mut().filter(|own| **own < -1).for_each(|own| *own = -2 - *own);
                core
            });
            Ok(crate::Labels::from_parts(labels, self.n_clusters, core))
        })
    }
}

/// Who makes a tree a cluster, and has its number.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) enum Belongs<'a> {
    All,
    /// All points of trees of two and more.
    Together,
    /// Those that are marked, in tree order.
    Marked(&'a Buffer<u32>),
}

/// The number of each point's cluster in tree order, [`NOBODY`] for those that do not belong to one; and how many there are.
pub(in crate::gpu) fn number<R: Runtime>(
    client: &ComputeClient<R>,
    forest: &Forest,
    order: &Buffer<u32>,
    belongs: Belongs<'_>,
) -> Result<(Buffer<u32>, u32)> {
    let (n, dim) = (order.len(), CubeDim::new_1d(UNITS));
    let smallest = Buffer::<u32>::filled(client, n, NOBODY);
    let (marks, rule) = match belongs {
        Belongs::All => (order, 0),
        Belongs::Together => (order, 1),
        Belongs::Marked(marks) => (marks, 2),
    };
    let parents = &forest.parents;
    find_smallest::launch::<R>(
        client,
        cubes(n),
        dim,
        parents.arg(),
        order.arg(),
        marks.arg(),
        smallest.arg(),
        n as u32,
        rule,
        Warp::of(client),
    );
    let ranks = Buffer::<u32>::filled(client, n + 1, 0);
    mark_leaders::launch::<R>(client, cubes(n), dim, smallest.arg(), ranks.arg(), n as u32);
    exclusive(client, &ranks);
    let numbers = Buffer::<u32>::new(client, n);
    number_points::launch::<R>(
        client,
        cubes(n),
        dim,
        parents.arg(),
        marks.arg(),
        smallest.arg(),
        ranks.arg(),
        numbers.arg(),
        n as u32,
        rule,
    );
    let n_clusters = last(client, &ranks)?;
    // Numbers become labels, which are `i32`.
    check_clusters(n_clusters)?;
    Ok((numbers, n_clusters as u32))
}

/// Numbers in tree order as labels in the caller's, which tell apart those that are not marked as core, if any are.
pub(in crate::gpu) fn label<R: Runtime>(
    client: &ComputeClient<R>,
    numbers: &Buffer<u32>,
    order: &Buffer<u32>,
    core: Option<&Buffer<u32>>,
) -> Buffer<i32> {
    let n = order.len();
    let labels = Buffer::<i32>::new(client, n);
    put_labels::launch::<R>(
        client,
        cubes(n),
        CubeDim::new_1d(UNITS),
        numbers.arg(),
        order.arg(),
        core.unwrap_or(order).arg(),
        labels.arg(),
        n as u32,
        core.is_some(),
    );
    labels
}

/// The smallest member of each tree, at its root. Parents become roots: each unit writes its own, so that none is overwritten by
/// what was above it before.
#[cube(launch)]
fn find_smallest(
    parents: &mut Array<u32>,
    order: &Array<u32>,
    marks: &Array<u32>,
    smallest: &mut Array<Atomic<u32>>,
    n: u32,
    #[comptime] rule: u32,
    #[comptime] warp: Warp,
) {
    let i = ABSOLUTE_POS as u32;
    let mut root = 0u32.runtime();
    let mut member = NOBODY.runtime();
    if i < n {
        // In an array, because an optimiser of cubecl's fails on such loops of variables.
        let mut way = Array::<u32>::new(2usize);
        way[0] = i;
        way[1] = parents[i as usize];
        while way[1] != way[0] {
            way[0] = way[1];
            way[1] = parents[way[1] as usize];
        }
        root = way[0];
        parents[i as usize] = root;
        let mut belongs = true.runtime();
        let mut own = order[i as usize];
        if comptime!(rule == 1) {
            belongs = root != i;
            own = min(own, order[root as usize]);
        }
        if comptime!(rule == 2) {
            belongs = marks[i as usize] != 0;
        }
        if belongs {
            member = own;
        }
    }
    // Neighbours often have one root.
    let member = block_aggregate(root, member, ReduceOp::Min, warp);
    if member != NOBODY {
        smallest[root as usize].fetch_min(member);
    }
}

#[cube(launch)]
fn mark_leaders(smallest: &Array<u32>, ranks: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let leader = smallest[i];
        if leader != NOBODY {
            ranks[leader as usize] = 1;
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
    #[comptime] rule: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let leader = smallest[roots[i] as usize];
        let mut number = NOBODY.runtime();
        let mut belongs = leader != NOBODY;
        if comptime!(rule == 2) {
            belongs = belongs && marks[i] != 0;
        }
        if belongs {
            number = ranks[leader as usize];
        }
        numbers[i] = number;
    }
}

/// Labels that do not tell apart border points.
fn clusters<R: Runtime>(client: &ComputeClient<R>, labels: &Buffer<i32>) -> Buffer<i32> {
    let n = labels.len();
    let clusters = Buffer::<i32>::new(client, n);
    if n > 0 {
        tell_clusters::launch::<R>(client, cubes(n), CubeDim::new_1d(UNITS), labels.arg(), clusters.arg(), n as u32);
    }
    clusters
}

#[cube(launch)]
fn put_labels(
    numbers: &Array<u32>,
    order: &Array<u32>,
    core: &Array<u32>,
    labels: &mut Array<i32>,
    n: u32,
    #[comptime] tell_border: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let index = order[i] as usize;
        // Nobody's number is -1 as a label.
        let mut label = i32::reinterpret(numbers[i]);
        if comptime!(tell_border) {
            if core[i] == 0 && label >= 0 {
                label = -2 - label;
            }
        }
        labels[index] = label;
    }
}

#[cube(launch)]
fn tell_clusters(labels: &Array<i32>, clusters: &mut Array<i32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let label = labels[i];
        clusters[i] = select(label < -1, -2 - label, label);
    }
}
