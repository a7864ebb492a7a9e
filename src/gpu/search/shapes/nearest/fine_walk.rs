//! The search for the nearest triangles of each query by one thread, which visits nearer nodes first.
//!
//! In: queries, a fine tree (`fine_tree`), and triangles in `f32`. Out: the nearest triangles of each query.
//! Bounds of distances in `f32` select candidates (`candidates`). A second kernel computes the distances of these, because
//! that takes many registers. A query with more triangles at nearly the same distance than places is left to
//! `find_nearest`.
//! Cost: for `k` = 1, some 30 nodes and 10 triangles for each query, and 16 bytes while it runs.
//!
//! **Launch contract.** The kernels have no bounds checks. They rely on the following:
//! - The tree, its primitives and the triangles belong together, and there is at least one.
//! - `asked` has a row and an index for each of its `n` queries.
//! - `positions` has [`places`] elements for each query, of which there are fewer than 2^32, and `left` one more than
//!   there are queries.
//! - Rows of results have at least `k` places for each query.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::geometry::framed_triangles::{FramedTriangles, framed_bounds};
use crate::gpu::search::shapes::fine_tree::{Children, FineNodes, LEAF_MARK, NONE, leaf_range};
use crate::gpu::search::shapes::nearest::candidates::{new_candidates, places, reach2};
use crate::gpu::search::shapes::nearest::heap::{
    FoundRows, NearestQueries, NearestSpec, new_heap, own_box, query_point, radius2_of,
};
use crate::gpu::search::shapes::nearest::walk::push_at;
use crate::gpu::search::shapes::row_walk::ShapeRows;
use crate::gpu::search::shapes::tests::DistanceTest;

/// The number of nodes that a thread visits before leaves are compared. With 4 it took 1.06 of the time, with 1 or 2 more.
const STEPS: u32 = 8;
/// The largest number of nodes that wait for a visit. A query that needs more is left over.
const WAITING: usize = 64;

/// The nodes to be visited.
#[derive(CubeType)]
struct FineWalk {
    /// References to nodes that wait, and the squared distances to their boxes.
    references: Array<u32>,
    distances2: Array<f32>,
    /// Three numbers: that of nodes that wait, the current reference or [`NONE`], and 1 if too many nodes waited.
    state: Array<u32>,
}

#[cube]
impl FineWalk {
    fn new(root: u32) -> FineWalk {
        let mut state = Array::<u32>::new(3usize);
        state[0] = 0;
        state[1] = root + 0;
        state[2] = 0;
        FineWalk { references: Array::<u32>::new(WAITING), distances2: Array::<f32>::new(WAITING), state }
    }

    fn goes_on(&self) -> bool {
        self.state[1] != NONE
    }

    fn is_at_node(&self) -> bool {
        self.state[1] & LEAF_MARK == 0
    }

    fn is_at_leaf(&self) -> bool {
        self.state[1] & LEAF_MARK != 0 && self.state[1] != NONE
    }

    fn current(&self) -> u32 {
        self.state[1] + 0
    }

    /// Continues with the nearer child within the limit. The other one waits.
    fn enter(&mut self, children: &Children, limit2: f32) {
        let (left2, right2) = (children.distances2[0], children.distances2[1]);
        let is_left_nearer = left2 <= right2;
        let (near2, far2) = (min(left2, right2), max(left2, right2));
        let far = select(is_left_nearer, children.references[1], children.references[0]);
        if far2 <= limit2 {
            if self.state[0] < comptime!(WAITING as u32) {
                let top = self.state[0] as usize;
                self.references[top] = far;
                self.distances2[top] = far2;
                self.state[0] = self.state[0] + 1;
            } else {
                self.state[2] = 1;
            }
        }
        if near2 <= limit2 {
            self.state[1] = select(is_left_nearer, children.references[0], children.references[1]);
        } else {
            self.leave(limit2);
        }
    }

    /// Continues with the last node that waits and is within the limit.
    fn leave(&mut self, limit2: f32) {
        self.state[1] = NONE.runtime();
        // cubecl 0.10 cannot compile a condition that reads the state for Vulkan.
        let mut left = Array::<u32>::new(1usize);
        left[0] = self.state[0] + 0;
        while left[0] > 0 {
            let top = left[0] - 1;
            left[0] = top;
            self.state[0] = top;
            let reference = self.references[top as usize];
            if self.distances2[top as usize] <= limit2 {
                self.state[1] = reference;
                left[0] = 0;
            }
        }
    }
}

/// Finds the triangles that may be among each query's nearest, and lists the queries with more of them than places after
/// their number.
///
/// `positions` receives the triangles, first those of the first place of each query. They are followed by [`NONE`].
#[cube(launch_unchecked)]
pub(super) fn find_candidates(
    fine: &FineNodes,
    triangles: &FramedTriangles,
    asked: &NearestQueries,
    positions: &mut Array<u32>,
    left: &mut Array<Atomic<u32>>,
    #[comptime] spec: NearestSpec,
) {
    let query = ABSOLUTE_POS as u32;
    if query < asked.n {
        let d = comptime!(spec.d);
        let point = query_point(asked, query, d);
        let mut candidates = new_candidates(asked, query, radius2_of(asked, query, d), spec);
        let mut limit2 = Array::<f32>::new(1usize);
        limit2[0] = reach2(candidates.limit());
        let mut walk = FineWalk::new(fine.root[0]);
        while walk.goes_on() {
            // Threads at a leaf wait for others, but not for the longest way of their warp.
            let mut step = Array::<u32>::new(1usize);
            step[0] = 0;
            while step[0] < STEPS && walk.is_at_node() {
                step[0] = step[0] + 1;
                let children = fine.children(walk.current(), &point, d);
                walk.enter(&children, limit2[0]);
            }
            if walk.is_at_leaf() {
                let (first, behind) = leaf_range(walk.current());
                for at in first..behind {
                    let (lower, upper) = framed_bounds(triangles, at, &point, d);
                    candidates.push(lower, upper, at, &asked.order);
                }
                limit2[0] = reach2(candidates.limit());
                walk.leave(limit2[0]);
            }
        }
        if !candidates.are_complete() || walk.state[2] != 0 {
            let place = left[0].fetch_add(1u32);
            left[place as usize + 1].store(query);
        }
        for place in 0..comptime!(places(spec.k) as u32) {
            positions[(place * asked.n + query) as usize] = candidates.next();
        }
    }
}

/// Finds the nearest triangles of each query among its candidates. Rows are written in the order of `asked`.
#[cube(launch_unchecked)]
pub(super) fn decide_candidates<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    positions: &Array<u32>,
    found: &mut FoundRows,
    #[comptime] spec: NearestSpec,
) {
    let query = ABSOLUTE_POS as u32;
    if query < asked.n {
        let own = own_box::<F>(asked, query, comptime!(spec.d));
        let mut heap = new_heap(asked, found, query, spec);
        let mut next = Array::<u32>::new(1usize);
        next[0] = query + 0;
        let end = comptime!(places(spec.k) as u32) * asked.n;
        while next[0] < end {
            let at = positions[next[0] as usize];
            next[0] = next[0] + asked.n;
            if at == NONE {
                next[0] = end;
            } else {
                push_at::<F, T>(&mut heap, tree, stored, &asked.order, at, &own, spec);
            }
        }
        heap.write(found, spec);
    }
}
