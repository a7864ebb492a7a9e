//! Roots in a forest, in which each vertex points to its parent and roots point to themselves.
//!
//! In: the parent of each vertex. Out: the root of each vertex. Each kernel follows up to 64 parents per vertex;
//! there are enough kernels for the longest possible path.
//! Cost: 4 bytes per vertex; if paths are short, as usual, one pass over the vertices.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::primitives::compact::Compact;

/// Parents that a kernel follows per vertex.
const STEPS: u32 = 64;

/// Vertices joined into components.
pub(in crate::gpu) struct Joined {
    /// The roots, and the rank of each among the roots.
    pub roots: Compact,
    /// The root of each vertex.
    pub root: Buffer<u32>,
}

/// Joins each vertex with `next`, the other end of its lightest edge. A vertex without an edge points to itself.
/// Edges are totally ordered, so the only cycles are pairs of vertices that share an edge; the lower vertex becomes
/// the root. Waits for the number of roots.
pub(in crate::gpu) fn join_least<R: Runtime>(client: &ComputeClient<R>, next: &Buffer<u32>) -> Result<Joined> {
    let (n, dim) = (next.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let (flags, parent) = (Buffer::<u32>::new(client, n + 1), Buffer::<u32>::new(client, n));
    flag_roots::launch::<R>(client, blocks_for(n + 1), dim, next.arg(), flags.arg(), parent.arg(), n as u32);
    let roots = Compact::new(client, flags)?;
    Ok(Joined { roots, root: find_roots(client, parent, n) })
}

/// Returns the root of each vertex, which is less than `longest` steps away.
pub(in crate::gpu) fn find_roots<R: Runtime>(
    client: &ComputeClient<R>,
    parent: Buffer<u32>,
    longest: usize,
) -> Buffer<u32> {
    let (n, dim) = (parent.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let (mut root, mut reach) = (parent, 1);
    while reach < longest {
        let ancestor = Buffer::<u32>::new(client, n);
        climb::launch::<R>(client, blocks_for(n), dim, root.arg(), ancestor.arg(), n as u32);
        root = ancestor;
        reach = reach.saturating_mul(STEPS as usize);
    }
    root
}

/// Flags the roots, followed by an extra 0. The parent of a root is the root itself.
#[cube(launch)]
fn flag_roots(next: &Array<u32>, flags: &mut Array<u32>, parent: &mut Array<u32>, n: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < n {
        let across = next[own];
        let is_root = next[across as usize] == own as u32 && own as u32 <= across;
        flags[own] = u32::cast_from(is_root);
        parent[own] = select(is_root, own as u32, across);
    } else if own as u32 == n {
        flags[own] = 0;
    }
}

/// Follows up to [`STEPS`] parents from each vertex.
#[cube(launch)]
fn climb(parent: &Array<u32>, ancestor: &mut Array<u32>, n: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < n {
        // In an array, because one of cubecl's optimisers fails on such loop variables.
        let mut way = Array::<u32>::new(3usize);
        way[0] = own as u32;
        way[1] = parent[own];
        way[2] = 1;
        while way[0] != way[1] && way[2] < STEPS {
            way[0] = way[1];
            way[1] = parent[way[0] as usize];
            way[2] = way[2] + 1;
        }
        ancestor[own] = way[1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Device;
    use crate::gpu::device::on;

    /// Paths of one step, and paths through all vertices, with lengths around the steps of a kernel.
    #[test]
    fn ways_end_at_roots() -> Result<()> {
        on!(Device::first()?, client => {
            for n in [1, 2, 63, 64, 65, 66, 4097, 10_000] {
                let down: Vec<u32> = (0..n).map(|v: u32| v.saturating_sub(1)).collect();
                let found = find_roots(client, Buffer::from_slice(client, &down), n as usize).read(client)?;
                assert!(found.iter().all(|&root| root == 0), "{n}");
                let halves: Vec<u32> = (0..n).map(|v| v / 2).collect();
                let found = find_roots(client, Buffer::from_slice(client, &halves), 64).read(client)?;
                assert!(found.iter().all(|&root| root == 0), "{n}");
            }
            Ok(())
        })
    }

    /// A chain whose last two vertices share their lightest edge, and pairs of vertices.
    #[test]
    fn least_edges_join() -> Result<()> {
        on!(Device::first()?, client => {
            for n in [2, 300, 5000] {
                let chain: Vec<u32> = (0..n).map(|v| if v + 1 < n { v + 1 } else { n - 2 }).collect();
                let joined = join_least(client, &Buffer::from_slice(client, &chain))?;
                assert_eq!(joined.roots.len, 1);
                assert!(joined.root.read(client)?.iter().all(|&root| root == n - 2), "{n}");
                let pairs: Vec<u32> = (0..n).map(|v| v ^ 1).collect();
                let joined = join_least(client, &Buffer::from_slice(client, &pairs))?;
                assert_eq!(joined.roots.len, n as usize / 2);
                assert!(joined.root.read(client)?.iter().enumerate().all(|(v, &root)| root as usize == v & !1), "{n}");
            }
            Ok(())
        })
    }
}
