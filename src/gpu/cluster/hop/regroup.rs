//! Groups of chains: the GPU version of `cluster::hop::regroup`.
//!
//! In: chains and thresholds. Out: halos on the device. The host regroups the chains, as they are few; the labels are
//! computed on the device. Cost: the boundaries of at least `delta_outer` and two numbers per chain are copied, and
//! labels are computed as for other clusters.

use cubecl::prelude::*;

use crate::cluster::hop::boundaries::descending_key;
use crate::cluster::hop::regroup::{Thresholds, regroup as regroup_chains};
use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::Halos;
use crate::gpu::cluster::connect::Forest;
use crate::gpu::cluster::hop::graph::HopChains;
use crate::gpu::cluster::labels::{Membership, label, relabel};
use crate::gpu::primitives::gather::{Layout, gather};

/// The group of a chain without a group.
const NONE: u32 = u32::MAX;

pub(super) fn regroup<R: Runtime>(
    client: &ComputeClient<R>,
    chains: &HopChains,
    thresholds: Thresholds,
    min_members: usize,
) -> Result<Halos> {
    let (n, dim) = (chains.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let densities = gather(client, &chains.density, &chains.peaks, 1, Layout::Rows).read(client)?;
    let boundaries = chains.boundaries.read_up_to(client, descending_key(thresholds.outer))?;
    let groups: Vec<u32> =
        regroup_chains(&densities, &boundaries, thresholds).into_iter().map(|group| group.unwrap_or(NONE)).collect();
    let groups = Buffer::from_slice(client, &groups);
    let outer = Buffer::from_slice(client, &[thresholds.outer]);
    let (parents, marks) = (Buffer::<u32>::new(client, n), Buffer::<u32>::new(client, n));
    let grouped = GroupedLaunch::new(chains.chain.arg(), chains.density.arg(), chains.peaks.arg(), groups.arg());
    join_groups::launch::<R>(client, blocks_for(n), dim, grouped, outer.arg(), parents.arg(), marks.arg(), n as u32);
    let forest = Forest { parents, node_states: Buffer::new(client, 0) };
    let (numbers, n_groups) = relabel(client, &forest, &chains.order, Membership::Marked(&marks))?;
    drop((forest, marks));
    let labels = label(client, &numbers, &chains.order, None);
    Halos::from_labels(client, chains.device, &labels, numbers, n_groups as usize, min_members, chains.space.clone())
}

/// The chains and densities of positions, and the peaks and groups of chains.
#[derive(CubeType, CubeLaunch)]
struct Grouped {
    chain: Array<u32>,
    density: Array<f64>,
    peaks: Array<u32>,
    groups: Array<u32>,
}

/// Makes the peak of its group the parent of each position, and marks members, whose density is at least the outer
/// threshold.
#[cube(launch)]
fn join_groups(grouped: &Grouped, outer: &Array<f64>, parents: &mut Array<u32>, marks: &mut Array<u32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let group = grouped.groups[grouped.chain[at] as usize];
        let mut parent = at as u32 + 0;
        let mut mark = 0u32.runtime();
        if group != NONE {
            parent = grouped.peaks[group as usize];
            mark = u32::cast_from(grouped.density[at] >= outer[0]);
        }
        parents[at] = parent;
        marks[at] = mark;
    }
}
