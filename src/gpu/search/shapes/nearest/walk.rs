//! The walk of a tree for each query's nearest primitives.
//!
//! In: queries. Out: the nearest primitives of each. A thread descends to the leaf of the nearer children, compares its
//! primitives, and then walks the tree with the radius found.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{boxes_distance2, corners};
use crate::gpu::search::shapes::nearest::heap::{
    FoundRows, NearestHeap, NearestQueries, NearestSpec, OwnBox, exact_distance2, lower_distance2, new_heap, own_box,
};
use crate::gpu::search::shapes::row_walk::ShapeRows;
use crate::gpu::search::shapes::tests::DistanceTest;
use crate::gpu::search::shapes::waiting::stored_corners;

/// Finds the nearest primitives of each query, or of each listed one: of groups, or queries, whose number is followed by
/// their own numbers.
#[cube(launch)]
pub(super) fn find_nearest<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    listed: &Array<u32>,
    found: &mut FoundRows,
    #[comptime] spec: NearestSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    if comptime!(spec.listed > 0) {
        let (threads, width) = ((CUBE_COUNT * CUBE_DIM as usize) as u32, comptime!(spec.listed));
        let mut at = unit + 0;
        while at < listed[0] * width {
            let query = listed[(at / width + 1) as usize] * width + at % width;
            if query < asked.n {
                walk_for::<F, T>(tree, stored, asked, found, query, spec);
            }
            at += threads;
        }
    } else if unit < asked.n {
        walk_for::<F, T>(tree, stored, asked, found, unit, spec);
    }
}

/// Finds the nearest primitives of a query.
#[cube]
fn walk_for<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    found: &mut FoundRows,
    query: u32,
    #[comptime] spec: NearestSpec,
) {
    let d = comptime!(spec.d);
    let own = own_box::<F>(asked, query, d);
    let mut heap = new_heap(asked, found, query, spec);
    let first_leaf = nearer_leaf::<F>(tree, &own, spec);
    let (from, to) = (tree.links[first_leaf as usize][1], tree.links[(first_leaf + 1) as usize][1]);
    push_all::<F, T>(&mut heap, tree, stored, &asked.order, from, to, &own, spec);
    let mut walk = RopeWalk::new(0u32.runtime(), asked.end);
    while walk.goes_on() {
        let node = walk.node(&tree.links);
        let bound = lower_distance2::<F>(tree, &corners::<F>(&tree.bounds, node.at, d), &own, spec);
        let is_near = bound <= heap.last(spec);
        if is_near && node.is_leaf && node.at != first_leaf {
            let behind = tree.links[(node.at + 1) as usize][1];
            push_all::<F, T>(&mut heap, tree, stored, &asked.order, node.first, behind, &own, spec);
        }
        walk.step(&node, is_near);
    }
    heap.write(found, spec);
}

/// Stores an upper bound of the squared distance of each query's last neighbour. It is that of the `k` nearest
/// primitives around the leaf at the end of a descent, or the squared radius if there are fewer.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
pub(super) fn bound_nearest<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    found: &FoundRows,
    bounds: &mut Array<f64>,
    #[comptime] spec: NearestSpec,
) {
    let query = ABSOLUTE_POS as u32;
    if query < asked.n {
        let k = comptime!(spec.k as u32);
        let own = own_box::<F>(asked, query, comptime!(spec.d));
        let mut heap = new_heap(asked, found, query, spec);
        let leaf = nearer_leaf::<F>(tree, &own, spec);
        let (first, behind) = (tree.links[leaf as usize][1], tree.links[(leaf + 1) as usize][1]);
        let from = first - min(first, k);
        let to = min(behind + k, tree.stored);
        push_all::<F, T>(&mut heap, tree, stored, &asked.order, from, to, &own, spec);
        bounds[query as usize] = heap.last(spec);
    }
}

/// Returns the leaf at the end of a descent to the child that is nearer to rounding.
#[cube]
fn nearer_leaf<F: Float>(tree: &Tree<F>, own: &OwnBox<F>, #[comptime] spec: NearestSpec) -> u32 {
    let (d, periodic) = comptime!((spec.d, spec.periodic));
    let mut way = Array::<u32>::new(1usize);
    way[0] = 0;
    while tree.links[way[0] as usize][0] != way[0] + 1 {
        let left = way[0] + 1;
        let right = tree.links[left as usize][0];
        let of_left = boxes_distance2::<F>(&own.near, &corners::<F>(&tree.bounds, left, d), &tree.sides, d, periodic);
        let of_right = boxes_distance2::<F>(&own.near, &corners::<F>(&tree.bounds, right, d), &tree.sides, d, periodic);
        way[0] = select(of_left <= of_right, left, right);
    }
    way[0]
}

/// Inserts those of the primitives from a position up to another one (exclusive) that are near enough.
#[cube]
#[allow(clippy::too_many_arguments)]
fn push_all<F: Float, T: DistanceTest>(
    heap: &mut NearestHeap,
    tree: &Tree<F>,
    stored: &ShapeRows,
    order: &Array<u32>,
    from: u32,
    to: u32,
    own: &OwnBox<F>,
    #[comptime] spec: NearestSpec,
) {
    for at in from..to {
        push_at::<F, T>(heap, tree, stored, order, at, own, spec);
    }
}

/// Inserts the primitive at a position if it is near enough.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn push_at<F: Float, T: DistanceTest>(
    heap: &mut NearestHeap,
    tree: &Tree<F>,
    stored: &ShapeRows,
    order: &Array<u32>,
    at: u32,
    own: &OwnBox<F>,
    #[comptime] spec: NearestSpec,
) {
    let primitive = stored_corners::<F>(tree, at, comptime!(spec.d), comptime!(spec.are_points));
    let last2 = heap.last(spec);
    if lower_distance2::<F>(tree, &primitive, own, spec) <= last2 {
        let d2 = exact_distance2::<F, T>(tree, stored, &primitive, at, own, last2, spec);
        heap.push(d2, order[at as usize], spec);
    }
}
