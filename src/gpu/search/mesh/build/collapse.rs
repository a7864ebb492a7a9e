//! Wide nodes from a binary tree.
//!
//! In: a binary tree. Out: for each wide node the numbers of its children, level by level, and the triangles in the
//! order of the leaves.
//! A node begins with one child, and opens children until there are eight. Children with more than eight triangles are
//! opened first, in descending order of their surfaces. Then those with the fewest triangles are opened, while all their
//! triangles have room. Children are
//! stored in the places that suit their octants, as by `compressed::places`. Each level is one kernel, whose threads
//! open a node each. Blocks number the children of their nodes by atomic additions, so numbers differ between runs;
//! results do not depend on them.
//! Cost: a kernel per level, and a transfer of the numbers of nodes for each batch of levels; 16 bytes per triangle.
//! Sources: Wald, Benthin and Boulos 2008; Ylitie, Karras and Laine 2017.
//!
//! **Launch contract.** That of `merge`. A tree over n triangles has at most (4 n - 1) / 7 wide nodes, or one. This holds
//! because a node with more than eight triangles has eight children, unless none of them has more than eight triangles.
//! Nodes without child nodes have at least two triangles.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::primitives::warp::{Warp, block_sums};
use crate::gpu::search::mesh::build::merge::{BinaryNodes, BinaryTree, MAX_LEVELS};
use crate::gpu::search::mesh::tree::{LEVELS, Vec4};

/// Levels whose kernels are launched at once.
const BATCH: usize = 12;
/// The level from which the children nearest to the root are opened first, so that three levels of the binary tree
/// become one.
const FREE_LEVELS: usize = 16;
const _: () = assert!(FREE_LEVELS + (MAX_LEVELS - FREE_LEVELS).div_ceil(3) <= LEVELS);
/// No child.
const NONE: u32 = u32::MAX;

/// The children of wide nodes.
pub(super) struct Topology {
    /// Four words per node: a mask of the places with child nodes, the numbers of the first child node and of the
    /// first triangle, and a mask of the places with triangles.
    pub nodes: Buffer<u32>,
    /// The triangles in the order of the leaves.
    pub order: Buffer<u32>,
    /// The number of the first node of each level, followed by the number of nodes.
    pub levels: Vec<u32>,
}

/// Returns the maximum number of wide nodes over `n` triangles.
fn max_nodes(n: usize) -> usize {
    ((4 * n).saturating_sub(1) / 7).max(1)
}

/// Collapses a binary tree.
pub(super) fn collapse<R: Runtime>(client: &ComputeClient<R>, tree: &BinaryTree) -> Result<Topology> {
    let most = max_nodes(tree.n);
    let nodes = Buffer::<u32>::new(client, 4 * most);
    let order = Buffer::<u32>::new(client, tree.n);
    let queue = Buffer::<u32>::new(client, most);
    let starts = Buffer::<u32>::new(client, LEVELS + 1);
    // The number of nodes of each level, preceded by the number of triangles.
    let counts = Buffer::<u32>::filled(client, LEVELS + 2, 0);
    let (dim, warp) = (CubeDim::new_1d(THREADS_PER_BLOCK), Warp::new(client));
    let root = (2 * tree.n - 2) as u32;
    begin::launch::<R>(
        client,
        CubeCount::new_single(),
        CubeDim::new_single(),
        queue.arg(),
        starts.arg(),
        counts.arg(),
        root,
    );
    let mut level = 0;
    loop {
        for _ in 0..BATCH.min(LEVELS - level) {
            let widest = 8usize.saturating_pow(level as u32).min(most);
            // SAFETY: the launch contract of this module. A level has at most `widest` nodes, all levels together
            // have `most`. `starts` and `counts` have an element for each level and the one after it.
            unsafe {
                collapse_level::launch_unchecked::<R>(
                    client,
                    blocks_for(widest),
                    dim,
                    tree.arg(),
                    WideNodesLaunch::new(nodes.quads(), order.arg(), queue.arg(), starts.arg()),
                    counts.arg(),
                    level as u32,
                    level < FREE_LEVELS,
                    warp,
                );
            }
            level += 1;
        }
        let mut levels = starts.read(client)?;
        levels.truncate(level + 1);
        if level == LEVELS || levels[level] == levels[level - 1] {
            levels.dedup();
            return Ok(Topology { nodes, order, levels });
        }
    }
}

#[cube(launch)]
fn begin(queue: &mut Array<u32>, starts: &mut Array<u32>, counts: &mut Array<Atomic<u32>>, root: u32) {
    if ABSOLUTE_POS == 0 {
        queue[0] = root;
        starts[0] = 0;
        counts[1].store(1);
    }
}

/// The wide nodes so far.
#[derive(CubeType, CubeLaunch)]
struct WideNodes {
    /// See [`Topology`].
    nodes: Vec4,
    order: Array<u32>,
    /// The binary node of each wide node.
    queue: Array<u32>,
    /// The number of the first node of each level.
    starts: Array<u32>,
}

#[cube(launch_unchecked)]
fn collapse_level(
    tree: &BinaryNodes,
    wide: &mut WideNodes,
    counts: &mut Array<Atomic<u32>>,
    level: u32,
    #[comptime] is_free: bool,
    #[comptime] warp: Warp,
) {
    let start = wide.starts[level as usize];
    let len = counts[(level + 1) as usize].load();
    let own = ABSOLUTE_POS as u32;
    if own == 0 {
        wide.starts[(level + 1) as usize] = start + len;
    }
    // Blocks beyond the level have nothing to do.
    if CUBE_POS as u32 * THREADS_PER_BLOCK < len {
        let mut placed = Array::<u32>::new(8usize);
        let (inner, items) = (RuntimeCell::<u32>::new(0), RuntimeCell::<u32>::new(0));
        if own < len {
            let mut children = Array::<u32>::new(8usize);
            let found = open(tree, wide.queue[(start + own) as usize], &mut children, is_free);
            place(tree, &children, found, &mut placed);
            for at in 0..8u32 {
                let child = placed[at as usize];
                if child != NONE {
                    if child < tree.leaves {
                        items.store(items.read() | (1u32 << at));
                    } else {
                        inner.store(inner.read() | (1u32 << at));
                    }
                }
            }
        }
        let (inner, items) = (inner.read(), items.read());
        let mut shared = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
        // Both numbers in one word: a block has at most 2,048 children.
        let sums = block_sums(inner.count_ones() | (items.count_ones() << 16), &mut shared, warp);
        if UNIT_POS == 0 {
            if sums.all != 0 {
                shared[0] = counts[(level + 2) as usize].fetch_add(sums.all & 0xffff);
                shared[1] = counts[0].fetch_add(sums.all >> 16);
            }
        }
        sync_cube();
        if own < len {
            let mut node = Vector::<u32, Const<4>>::new(0u32);
            node[0] = inner;
            node[1] = start + len + shared[0] + (sums.before & 0xffff);
            node[2] = shared[1] + (sums.before >> 16);
            node[3] = items;
            wide.nodes[(start + own) as usize] = node;
            let mut next_node = node[1];
            let mut next_item = node[2];
            for at in 0..8u32 {
                let child = placed[at as usize];
                if child != NONE {
                    if child < tree.leaves {
                        wide.order[next_item as usize] = tree.nodes[2 * child as usize][3];
                        next_item += 1;
                    } else {
                        wide.queue[next_node as usize] = child;
                        next_node += 1;
                    }
                }
            }
        }
    }
}

/// Finds up to eight children of the wide node at a binary node. Returns their number.
#[cube]
fn open(tree: &BinaryNodes, root: u32, children: &mut Array<u32>, #[comptime] is_free: bool) -> u32 {
    let mut sizes = Array::<u32>::new(8usize);
    let mut keys = Array::<f32>::new(8usize);
    children[0] = root;
    sizes[0] = tree.size(root);
    keys[0] = f32::new(0.0);
    let len = RuntimeCell::<u32>::new(1);
    let goes_on = RuntimeCell::<u32>::new(1);
    while goes_on.read() != 0 {
        let best = RuntimeCell::<u32>::new(NONE.runtime());
        let highest = RuntimeCell::<f32>::new(f32::new(-3e38));
        for at in 0..len.read() {
            let size = sizes[at as usize];
            let is_large = size > 8;
            let has_room = size > 1 && size + len.read() <= 9;
            // Keys of large children are at least -8, so these come first.
            let key = select(is_large, keys[at as usize], f32::new(-100.0) - f32::cast_from(size));
            if (is_large || has_room) && key > highest.read() {
                best.store(at);
                highest.store(key);
            }
        }
        if best.read() == NONE {
            goes_on.store(0);
        } else {
            let (from, to) = (best.read(), len.read());
            let node = children[from as usize];
            let left = tree.nodes[2 * node as usize][3];
            let right = tree.nodes[2 * node as usize + 1][3];
            let depth = keys[from as usize] - f32::new(1.0);
            children[from as usize] = left;
            children[to as usize] = right;
            sizes[from as usize] = tree.size(left);
            sizes[to as usize] = tree.size(right);
            if comptime!(is_free) {
                keys[from as usize] = half_area(tree, left);
                keys[to as usize] = half_area(tree, right);
            } else {
                keys[from as usize] = depth;
                keys[to as usize] = depth;
            }
            len.store(to + 1);
            if to == 7 {
                goes_on.store(0);
            }
        }
    }
    len.read()
}

/// Returns half the surface of a node's box.
#[cube]
fn half_area(tree: &BinaryNodes, node: u32) -> f32 {
    let (lo, hi) = (tree.nodes[2 * node as usize], tree.nodes[2 * node as usize + 1]);
    let mut sides = Array::<f32>::new(3usize);
    #[unroll]
    for k in 0..3usize {
        sides[k] = f32::reinterpret(hi[k]) - f32::reinterpret(lo[k]);
    }
    sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0]
}

/// Assigns children to the places whose directions suit them best. Places without a child are [`NONE`].
#[cube]
fn place(tree: &BinaryNodes, children: &Array<u32>, len: u32, placed: &mut Array<u32>) {
    // Twice the centres of the boxes; then relative to their mean.
    let mut offsets = Array::<f32>::new(24usize);
    let mut middle = Array::<f32>::new(3usize);
    #[unroll]
    for k in 0..3usize {
        middle[k] = f32::new(0.0);
    }
    for child in 0..len {
        let node = children[child as usize];
        let (lo, hi) = (tree.nodes[2 * node as usize], tree.nodes[2 * node as usize + 1]);
        #[unroll]
        for k in 0..3usize {
            let center = f32::reinterpret(lo[k]) + f32::reinterpret(hi[k]);
            offsets[3 * child as usize + k] = center;
            middle[k] = middle[k] + center / f32::cast_from(len);
        }
    }
    for at in 0..8u32 {
        placed[at as usize] = NONE;
    }
    // The places that are taken, and from bit 8 on the children that have one.
    let taken = RuntimeCell::<u32>::new(0);
    for _ in 0..len {
        let best = RuntimeCell::<u32>::new(0);
        let highest = RuntimeCell::<f32>::new(f32::new(-3e38));
        for child in 0..len {
            if taken.read() >> (8 + child) & 1 == 0 {
                let x = offsets[3 * child as usize] - middle[0];
                let y = offsets[3 * child as usize + 1] - middle[1];
                let z = offsets[3 * child as usize + 2] - middle[2];
                for at in 0..8u32 {
                    let along = select(at & 1 != 0, x, -x) + select(at & 2 != 0, y, -y) + select(at & 4 != 0, z, -z);
                    if taken.read() >> at & 1 == 0 && along > highest.read() {
                        best.store(child << 8 | at);
                        highest.store(along);
                    }
                }
            }
        }
        let (child, at) = (best.read() >> 8, best.read() & 255);
        placed[at as usize] = children[child as usize];
        taken.store(taken.read() | (1u32 << at) | (256u32 << child));
    }
}
