//! The component of each node whose points all belong to one component.
//!
//! A node's points are a run in tree order. They are of one component if the component does not change within the run,
//! which two prefix sums of changes show.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::cluster::mst::least_edges::NONE;
use crate::gpu::primitives::scan::exclusive;

/// The nodes and runs of positions that belong to one component.
pub(super) struct Uniform {
    /// The component of each node, or [`NONE`], which is also the value of the sentinel.
    pub nodes: Buffer<u32>,
    /// The number of positions before each whose component differs from that of the preceding position.
    pub changes: Buffer<u32>,
}

pub(super) fn uniform<R: Runtime, S>(client: &ComputeClient<R>, nodes: &Nodes<S>, component: &Buffer<u32>) -> Uniform {
    let (n, end, dim) = (component.len(), nodes.end(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let (changes, of_nodes) = (Buffer::<u32>::new(client, n + 1), Buffer::<u32>::new(client, end + 1));
    flag_changes::launch::<R>(client, blocks_for(n + 1), dim, component.arg(), changes.arg(), n as u32);
    exclusive(client, &changes);
    let (links, before) = (nodes.links.arg(), changes.arg());
    find_uniform::launch::<R>(
        client,
        blocks_for(end + 1),
        dim,
        links,
        before,
        component.arg(),
        of_nodes.arg(),
        end as u32,
    );
    Uniform { nodes: of_nodes, changes }
}

/// Flags the positions whose component differs from that of the preceding position.
#[cube(launch)]
fn flag_changes(component: &Array<u32>, changes: &mut Array<u32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) <= n {
        let mut change = 0u32.runtime();
        if at > 0 && (at as u32) < n {
            change = u32::cast_from(component[at] != component[at - 1]);
        }
        changes[at] = change;
    }
}

#[cube(launch)]
fn find_uniform(links: &Array<u32>, before: &Array<u32>, component: &Array<u32>, uniform: &mut Array<u32>, end: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < end {
        let first = links[2 * at + 1] as usize;
        let behind = links[2 * links[2 * at] as usize + 1] as usize;
        uniform[at] = select(is_uniform(before, first, behind), component[first], NONE);
    } else if at as u32 == end {
        uniform[at] = NONE;
    }
}

/// Returns `true` if the positions from `first` to `behind`, exclusive, are of one component.
#[cube]
pub(super) fn is_uniform(changes: &Array<u32>, first: usize, behind: usize) -> bool {
    changes[behind] == changes[first + 1]
}
