//! A binary tree over the sorted leaves, built by merging neighbours.
//!
//! In: leaves in the order of the Morton curve. Out: inner nodes, each with two children, and the numbers of triangles
//! below them.
//! Each block takes a chunk of consecutive clusters to shared memory. Repeatedly, each cluster looks for the one among
//! its neighbours in the order with which it shares the smallest box, and pairs that choose each other merge. When an
//! eighth of the clusters remains, they are the input of the next kernel. The last kernel, of a single block, leaves
//! the root. The number of clusters after each kernel is fixed, so the host knows it without a transfer.
//! Ties are broken such that a cluster and its neighbour agree. After some turns, which suffice for most chunks, all
//! clusters at even places merge with the next one, so the number of levels is logarithmic for all input.
//! Cost: log8(n) kernels; 36 bytes per triangle.
//! Sources: Meister and Bittner 2018 (PLOC); Benthin et al. 2022 (PLOC++).
//!
//! **Launch contract.** The kernels of `build` have no bounds checks. They rely on the following:
//! - Threads or blocks compare their position with the number of triangles, clusters, nodes or positions.
//! - Every buffer indexed by this position has at least that number of elements.
//! - Numbers of nodes, triangles and vertices that are read from a buffer were written by an earlier kernel of the same
//!   build, or checked by `check_input`.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, grid};
use crate::gpu::primitives::warp::{Warp, block_sums};
use crate::gpu::search::mesh::tree::Vec4;

/// Clusters per thread and per block.
const ITEMS: u32 = 2;
const CHUNK: u32 = ITEMS * THREADS_PER_BLOCK;
/// The number of clusters of a chunk that the next kernel takes.
const KEPT: u32 = CHUNK / 8;
/// The distance in the order up to which neighbours are compared. Of 1 to 32, values from 3 to 8 led to trees of about
/// the same cost, 5 on average to the least.
const RADIUS: u32 = 5;
/// The number of turns of a chunk after which clusters merge regardless of their boxes, and that of the last chunk.
/// Chunks take about 9 turns, the last one about 20.
const TURNS: u32 = 16;
const LAST_TURNS: u32 = 24;

/// The maximum number of levels: there are at most 2^32 / 9 triangles, so at most seven kernels before the last. Clusters
/// merged regardless of their boxes are an eighth after three turns, and one after nine.
pub(super) const MAX_LEVELS: usize = 7 * (TURNS as usize + 3) + LAST_TURNS as usize + 9;

/// A binary tree over `n` triangles.
pub(super) struct BinaryTree {
    /// Two vectors of four words per node: the lower corner and the left child, the upper corner and the right child.
    /// The first `n` nodes are the leaves, whose left child is the index of the triangle. The last node is the root.
    pub nodes: Buffer<u32>,
    /// The number of triangles below each inner node.
    pub sizes: Buffer<u32>,
    pub n: usize,
}

impl BinaryTree {
    pub fn arg<R: Runtime>(&self) -> BinaryNodesLaunch<R> {
        BinaryNodesLaunch::new(self.nodes.quads(), self.sizes.arg(), self.n as u32)
    }
}

/// The kernel argument for a [`BinaryTree`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct BinaryNodes {
    pub nodes: Vec4,
    sizes: Array<u32>,
    pub leaves: u32,
}

#[cube]
impl BinaryNodes {
    /// Returns the number of triangles below a node.
    pub fn size(&self, node: u32) -> u32 {
        let mut size = 1u32.runtime();
        if node >= self.leaves {
            size = self.sizes[(node - self.leaves) as usize];
        }
        size
    }
}

/// Merges the leaves, which are the first `n` of the `2 * n - 1` nodes. There is at least one leaf.
pub(super) fn merge<R: Runtime>(client: &ComputeClient<R>, nodes: Buffer<u32>, n: usize) -> BinaryTree {
    let tree = BinaryTree { nodes, sizes: Buffer::new(client, n - 1), n };
    let warp = Warp::new(client);
    let (chunk, mut left, mut made) = (CHUNK as usize, n, 0);
    let mut clusters = Buffer::<u32>::new(client, 0);
    while left > 1 {
        let kept = if left <= chunk { 1 } else { KEPT as usize };
        let next = left / chunk * kept + (left % chunk).min(kept);
        let merged = Buffer::new(client, next);
        // SAFETY: the launch contract of this module, with the number of clusters. `merged` has the number of clusters
        // that all chunks leave, and the numbers of new nodes are below `2 * n - 1`.
        unsafe {
            merge_chunks::launch_unchecked::<R>(
                client,
                grid(left.div_ceil(chunk)),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                tree.arg(),
                clusters.arg(),
                merged.arg(),
                left as u32,
                (n + made) as u32,
                kept as u32,
                left == n,
                warp,
            );
        }
        (clusters, made, left) = (merged, made + left - next, next);
    }
    tree
}

/// Merges the clusters of a chunk until `kept` are left. New nodes have consecutive numbers from `new` on.
#[cube(launch_unchecked)]
fn merge_chunks(
    tree: &mut BinaryNodes,
    clusters: &Array<u32>,
    merged: &mut Array<u32>,
    n: u32,
    new: u32,
    kept: u32,
    #[comptime] are_leaves: bool,
    #[comptime] warp: Warp,
) {
    let items = comptime!(ITEMS as usize);
    let chunk = CUBE_POS as u32;
    let first = chunk * CHUNK;
    if first < n {
        let mut boxes = SharedMemory::<f32>::new(comptime!(6 * CHUNK as usize));
        let mut ids = SharedMemory::<u32>::new(comptime!(CHUNK as usize));
        let mut sizes = SharedMemory::<u32>::new(comptime!(CHUNK as usize));
        let mut near = SharedMemory::<u32>::new(comptime!(CHUNK as usize));
        let mut sums = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
        let all = min(n - first, CHUNK);
        #[unroll]
        for k in 0..items {
            let at = UNIT_POS * ITEMS + comptime!(k as u32);
            if at < all {
                let mut id = first + at;
                if comptime!(!are_leaves) {
                    id = clusters[(first + at) as usize];
                }
                let (lo, hi) = (tree.nodes[2 * id as usize], tree.nodes[2 * id as usize + 1]);
                #[unroll]
                for axis in 0..3usize {
                    boxes[comptime!(axis * CHUNK as usize) + at as usize] = f32::reinterpret(lo[axis]);
                    boxes[comptime!((axis + 3) * CHUNK as usize) + at as usize] = f32::reinterpret(hi[axis]);
                }
                ids[at as usize] = id;
                sizes[at as usize] = tree.size(id);
            }
        }
        sync_cube();
        let end = min(kept, all);
        let turns = select(kept == 1, LAST_TURNS, TURNS);
        // The number of clusters, the number of the next new node, and that of turns.
        let mut state = Array::<u32>::new(3usize);
        state[0] = all;
        state[1] = new + chunk * (CHUNK - kept);
        state[2] = 0;
        while state[0] > end {
            let len = state[0] + 0;
            #[unroll]
            for k in 0..items {
                let at = UNIT_POS * ITEMS + comptime!(k as u32);
                if at < len {
                    let mut other = at ^ 1;
                    if other >= len {
                        other = at;
                    }
                    if state[2] < turns {
                        other = nearest(&boxes, at, len);
                    }
                    near[at as usize] = other;
                }
            }
            sync_cube();
            // The partner of each cluster, or itself. Of two partners the second one is removed.
            let mut partner = Array::<u32>::new(items);
            let mut removed = Array::<u32>::new(items);
            let mut count = 0u32.runtime();
            #[unroll]
            for k in 0..items {
                let at = UNIT_POS * ITEMS + comptime!(k as u32);
                partner[k] = at;
                if at < len {
                    let other = near[at as usize];
                    if near[other as usize] == at {
                        partner[k] = other;
                    }
                }
                removed[k] = u32::cast_from(partner[k] < at);
                count += removed[k];
            }
            let pairs = block_sums(count, &mut sums, warp);
            let most = min(pairs.all, len - end);
            // The number of pairs whose second cluster is before each cluster.
            let mut before = Array::<u32>::new(items);
            let mut rank = pairs.before;
            #[unroll]
            for k in 0..items {
                before[k] = rank;
                if removed[k] != 0 {
                    near[partner[k] as usize] = rank;
                    rank += 1;
                }
            }
            sync_cube();
            let mut bounds = Array::<f32>::new(comptime!(6 * items));
            let mut id = Array::<u32>::new(items);
            let mut size = Array::<u32>::new(items);
            #[unroll]
            for k in 0..items {
                let at = UNIT_POS * ITEMS + comptime!(k as u32);
                if at < len {
                    id[k] = ids[at as usize];
                    size[k] = sizes[at as usize];
                    let mut other = at + 0;
                    if partner[k] > at && near[at as usize] < most {
                        other = partner[k];
                    }
                    let (mut lo, mut hi) = (Vector::<u32, Const<4>>::new(0u32), Vector::<u32, Const<4>>::new(0u32));
                    #[unroll]
                    for axis in 0..3usize {
                        let (low, high) = (comptime!(axis * CHUNK as usize), comptime!((axis + 3) * CHUNK as usize));
                        let least = min(boxes[low + at as usize], boxes[low + other as usize]);
                        let greatest = max(boxes[high + at as usize], boxes[high + other as usize]);
                        bounds[comptime!(6 * k + axis)] = least;
                        bounds[comptime!(6 * k + axis + 3)] = greatest;
                        lo[axis] = u32::reinterpret(least);
                        hi[axis] = u32::reinterpret(greatest);
                    }
                    if other != at {
                        lo[3] = id[k];
                        hi[3] = ids[other as usize];
                        id[k] = state[1] + near[at as usize];
                        size[k] = size[k] + sizes[other as usize];
                        tree.nodes[2 * id[k] as usize] = lo;
                        tree.nodes[2 * id[k] as usize + 1] = hi;
                        tree.sizes[(id[k] - tree.leaves) as usize] = size[k];
                    }
                }
            }
            sync_cube();
            #[unroll]
            for k in 0..items {
                let at = UNIT_POS * ITEMS + comptime!(k as u32);
                let is_kept = removed[k] == 0 || before[k] >= most;
                if at < len && is_kept {
                    let to = at - min(before[k], most);
                    ids[to as usize] = id[k];
                    sizes[to as usize] = size[k];
                    #[unroll]
                    for corner in 0..6usize {
                        boxes[comptime!(corner * CHUNK as usize) + to as usize] = bounds[comptime!(6 * k + corner)];
                    }
                }
            }
            state[0] = len - most;
            state[1] = state[1] + most;
            state[2] = state[2] + 1;
            sync_cube();
        }
        #[unroll]
        for k in 0..items {
            let at = UNIT_POS * ITEMS + comptime!(k as u32);
            if at < end {
                merged[(chunk * kept + at) as usize] = ids[at as usize];
            }
        }
    }
}

/// Returns the neighbour whose common box with a cluster has the least surface. Of several, the one that differs from
/// the cluster in the lowest bits of its place, which is the same choice in both directions.
#[cube]
fn nearest(boxes: &SharedMemory<f32>, at: u32, len: u32) -> u32 {
    let mut own = Array::<f32>::new(6usize);
    #[unroll]
    for corner in 0..6usize {
        own[corner] = boxes[comptime!(corner * CHUNK as usize) + at as usize];
    }
    let best = RuntimeCell::<u32>::new(at);
    let least = RuntimeCell::<f32>::new(f32::new(3e38));
    for other in max(at, RADIUS) - RADIUS..min(at + RADIUS + 1, len) {
        let mut sides = Array::<f32>::new(3usize);
        #[unroll]
        for axis in 0..3usize {
            let lo = min(own[axis], boxes[comptime!(axis * CHUNK as usize) + other as usize]);
            let hi = max(own[axis + 3], boxes[comptime!((axis + 3) * CHUNK as usize) + other as usize]);
            sides[axis] = hi - lo;
        }
        let area = sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0];
        let is_tie = area == least.read() && (other ^ at) < (best.read() ^ at);
        if other != at && (area < least.read() || is_tie) {
            best.store(other);
            least.store(area);
        }
    }
    best.read()
}
