//! The walk of a tree for each row of queries, and the test of a primitive.
//!
//! In: rows of queries, and a visitor. Out: the visitor's output. A thread walks the tree for a row, node by node. Boxes
//! are tested first (`box_tests`); then the tests of the query and of the stored type select the hits, in the order of
//! the tree.
//! Cost: O(depth + hits) tests for each query.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::metric::corners;
use crate::gpu::primitives::warp::WIDTH;
use crate::gpu::search::shapes::box_tests::{RowSpec, approximate, may_meet, meets};
use crate::gpu::search::shapes::images::meets_image;
use crate::gpu::search::shapes::rows::RowShape;
use crate::gpu::search::shapes::tests::{BoxTest, HitTest};
use crate::gpu::search::shapes::waiting::stored_corners;

/// The numbers of queries or stored values.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct ShapeRows {
    pub rows: Array<f64>,
    pub extra: Array<f64>,
}

/// The numbers of queries and those of stored values.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Shapes {
    pub queries: ShapeRows,
    pub stored: ShapeRows,
}

/// Returns the numbers of a query with which boxes are tested.
#[cube]
pub(super) fn read_row(queries: &ShapeRows, query: u32, #[comptime] spec: RowSpec) -> Array<f64> {
    let from = query as usize * comptime!(spec.width);
    let mut own = Array::<f64>::new(comptime!(spec.read()));
    #[unroll]
    for at in 0..comptime!(spec.read()) {
        own[at] = queries.rows[from + at];
    }
    own
}

/// Returns `true` if a query meets the primitive at a position, of which [`may_meet`] accepted the box.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn is_hit<F: Float, B: BoxTest, T: HitTest>(
    own: &Array<f64>,
    query: u32,
    primitive: &Array<F>,
    at: u32,
    tree: &Tree<F>,
    shapes: &Shapes,
    #[comptime] spec: RowSpec,
) -> bool {
    let numbers = query * comptime!(spec.width as u32) + comptime!(spec.first() as u32);
    let mut is_hit = true.runtime();
    if comptime!(spec.is_filtered()) {
        is_hit = meets::<F>(own, primitive, &tree.exact_sides, spec);
    }
    if comptime!(spec.shape == RowShape::Extent) {
        if is_hit {
            let (queries, sides) = (&shapes.queries, &tree.exact_sides);
            let (d, periodic) = comptime!((spec.d, spec.periodic));
            is_hit = meets_image::<F, B>(own, primitive, sides, &queries.rows, numbers, &queries.extra, d, periodic);
        }
    }
    if comptime!(spec.stored > 0) {
        if is_hit {
            let stored_at = at * comptime!(spec.stored as u32);
            let (stored, queries) = (&shapes.stored, &shapes.queries);
            is_hit = T::is_hit(&stored.rows, stored_at, &stored.extra, &queries.rows, numbers, &queries.extra);
        }
    }
    is_hit
}

/// Visits the hits of each of `n` queries, or of each query of the `heavy` groups. `end` is the number of nodes.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
pub(super) fn walk_rows<F: Float, B: BoxTest, T: HitTest, V: LeafVisitor>(
    tree: &Tree<F>,
    shapes: &Shapes,
    input: &V::Input,
    output: &mut V::Output,
    heavy: &Array<u32>,
    n: u32,
    end: u32,
    #[comptime] spec: RowSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    if comptime!(spec.only_heavy) {
        let threads = (CUBE_COUNT * CUBE_DIM as usize) as u32;
        let mut at = unit + 0;
        while at < heavy[0] * WIDTH {
            let query = heavy[(at / WIDTH + 1) as usize] * WIDTH + at % WIDTH;
            if query < n {
                walk_row::<F, B, T, V>(tree, shapes, input, output, query, end, spec);
            }
            at += threads;
        }
    } else if unit < n {
        walk_row::<F, B, T, V>(tree, shapes, input, output, unit, end, spec);
    }
}

/// Visits the hits of a query.
#[cube]
#[allow(clippy::too_many_arguments)]
fn walk_row<F: Float, B: BoxTest, T: HitTest, V: LeafVisitor>(
    tree: &Tree<F>,
    shapes: &Shapes,
    input: &V::Input,
    output: &mut V::Output,
    query: u32,
    end: u32,
    #[comptime] spec: RowSpec,
) {
    let (d, are_points) = comptime!((spec.d, spec.are_points));
    let own = read_row(&shapes.queries, query, spec);
    let near = approximate::<F>(&own, spec);
    let state = V::start(input, output, query);
    let mut walk = RopeWalk::new(0u32.runtime(), end);
    while walk.goes_on() && V::is_open(&state, input) {
        let node = walk.node(&tree.links);
        let is_met = may_meet::<F>(&own, &near, &corners::<F>(&tree.bounds, node.at, d), tree, spec);
        if is_met && node.is_leaf {
            for at in node.first..tree.links[node.rope as usize][1] {
                let primitive = stored_corners::<F>(tree, at, d, are_points);
                let mut hits = V::is_open(&state, input) && may_meet::<F>(&own, &near, &primitive, tree, spec);
                if comptime!(spec.needs_test()) {
                    if hits {
                        hits = is_hit::<F, B, T>(&own, query, &primitive, at, tree, shapes, spec);
                    }
                }
                if hits {
                    V::on_hit(&state, input, output, at);
                }
            }
        }
        walk.step(&node, is_met);
    }
    V::finish(&state, input, output, query);
}
