//! The nearest boxes or shapes of a query so far, and lower bounds of distances.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::geometry::triangle_bounds::triangle_bounds;
use crate::gpu::metric::{boxes_distance2, exact_boxes_distance2};
use crate::gpu::search::nearest::insert;
use crate::gpu::search::shapes::row_walk::ShapeRows;
use crate::gpu::search::shapes::tests::DistanceTest;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NearestSpec {
    pub d: usize,
    pub periodic: bool,
    pub k: usize,
    /// `true` if the search fills a part of each row, and `false` for later parts.
    pub is_part: bool,
    pub is_first: bool,
    /// `true` if coordinates are `f32`.
    pub is_f32: bool,
    /// `true` if the stored boxes are points, with one corner.
    pub are_points: bool,
    /// The number of numbers of a stored shape; 0 for boxes.
    pub stored: usize,
    /// `true` if stored shapes are triangles.
    pub are_triangles: bool,
    /// `true` if bounds of distances in `f32` select the triangles that are tested.
    pub are_bounded: bool,
    /// The type of the test of shapes. Cached kernels are identified by type names, and two types may have the same
    /// name.
    pub test: TypeId,
    /// The number of queries for each listed number; 0 if all queries are searched.
    pub listed: u32,
    /// `true` if rows are written in the order of the search rather than that of the caller.
    pub are_rows_sorted: bool,
}

/// The range of squares in `f32` that have not lost their digits and have not overflowed.
pub(super) const SMALLEST_SQUARE: f32 = 1e-30;
const LARGEST_SQUARE: f32 = 1e38;
/// Less than 1 by more than the relative rounding errors of a squared distance in `f32`, with up to ten dimensions.
const LESS: f32 = 1.0 - 16.0 * f32::EPSILON;

impl NearestSpec {
    /// Returns `true` if boxes are tested in `f32` first: [`LESS`] holds, and squares of differences do not cancel.
    pub fn is_filtered(self) -> bool {
        self.is_f32 && !self.periodic && self.d <= 10
    }
}

/// The queries of a search, and its limits.
#[derive(CubeType, CubeLaunch)]
pub(super) struct NearestQueries {
    /// 1, or 0 for a query without neighbours. Then the two ends of its box along each axis, and the squared radius.
    /// The number of neighbours follows, and the index of the excluded primitive, or [`u32::MAX`].
    pub rows: Array<f64>,
    /// The index of each query in the caller's slice.
    pub queries: Array<u32>,
    /// The index of each stored box.
    pub order: Array<u32>,
    /// The number of queries.
    pub n: u32,
    /// The number of nodes.
    pub end: u32,
}

/// The rows to fill.
#[derive(CubeType, CubeLaunch)]
pub(super) struct FoundRows {
    pub indices: Array<u32>,
    pub distances2: Array<f64>,
    /// The first place to fill in each row, and the length of a row.
    pub from: u32,
    pub width: u32,
}

/// The box of a query.
#[derive(CubeType)]
pub(super) struct OwnBox<F: Float> {
    /// The lower corner, then the upper one, and both in the type of the tree.
    pub exact: Array<f64>,
    pub near: Array<F>,
}

/// Reads the box of a query.
#[cube]
pub(super) fn own_box<F: Float>(asked: &NearestQueries, query: u32, #[comptime] d: usize) -> OwnBox<F> {
    let from = query as usize * comptime!(4 + 2 * d) + 1;
    let mut exact = Array::<f64>::new(comptime!(2 * d));
    // The corners are numbers of the type of the tree.
    let mut near = Array::<F>::new(comptime!(2 * d));
    #[unroll]
    for k in 0..d {
        exact[k] = asked.rows[from + 2 * k];
        exact[d + k] = asked.rows[from + 2 * k + 1];
        near[k] = F::cast_from(exact[k]);
        near[d + k] = F::cast_from(exact[d + k]);
    }
    OwnBox::<F> { exact, near }
}

/// Reads a query that is a point.
#[cube]
pub(super) fn query_point(asked: &NearestQueries, query: u32, #[comptime] d: usize) -> Array<f32> {
    let from = query as usize * comptime!(4 + 2 * d) + 1;
    let mut point = Array::<f32>::new(d);
    #[unroll]
    for k in 0..d {
        point[k] = f32::cast_from(asked.rows[from + 2 * k]);
    }
    point
}

/// Returns the squared radius of a query; -1 if it has no neighbours.
#[cube]
pub(super) fn radius2_of(asked: &NearestQueries, query: u32, #[comptime] d: usize) -> f64 {
    let first = query as usize * comptime!(4 + 2 * d);
    select(asked.rows[first] > f64::new(0.0), asked.rows[first + comptime!(1 + 2 * d)], f64::new(-1.0))
}

/// The nearest boxes so far, nearest first. Free places hold the squared radius, so that any box within it is nearer.
#[derive(CubeType)]
pub(super) struct NearestHeap {
    pub distances2: Array<f64>,
    indices: Array<u32>,
    /// The first place of the row in the arrays of results.
    row: usize,
    /// The number of places of this search that the query does not use.
    unused: u32,
    /// The last neighbour of the previous search. Only boxes after it are accepted.
    last2: f64,
    last_of: u32,
    excluded: u32,
}

/// Returns the number of places of a search that a query does not use, of those before `last_place` in rows of `width`.
#[cube]
pub(super) fn unused_places(
    asked: &NearestQueries,
    query: u32,
    width: u32,
    last_place: u32,
    #[comptime] spec: NearestSpec,
) -> u32 {
    let k = comptime!(spec.k as u32);
    let at = query as usize * comptime!(4 + 2 * spec.d) + comptime!(2 + 2 * spec.d);
    let wanted = min(u32::cast_from(min(asked.rows[at], f64::cast_from(width))), last_place);
    min(last_place - wanted, k)
}

/// Returns the index of the primitive that is excluded for a query, or [`u32::MAX`].
#[cube]
pub(super) fn excluded(asked: &NearestQueries, query: u32, #[comptime] spec: NearestSpec) -> u32 {
    u32::cast_from(asked.rows[query as usize * comptime!(4 + 2 * spec.d) + comptime!(3 + 2 * spec.d)])
}

/// Creates the heap of a query.
#[cube]
pub(super) fn new_heap(
    asked: &NearestQueries,
    found: &FoundRows,
    query: u32,
    #[comptime] spec: NearestSpec,
) -> NearestHeap {
    let k = comptime!(spec.k);
    let mut place = query as usize;
    if comptime!(!spec.are_rows_sorted) {
        place = asked.queries[query as usize] as usize;
    }
    let row = place * found.width as usize + found.from as usize;
    let mut radius2 = radius2_of(asked, query, comptime!(spec.d));
    let unused = unused_places(asked, query, found.width, found.from + comptime!(k as u32), spec);
    let mut last2 = f64::new(-1.0);
    let mut last_of = 0u32.runtime();
    if comptime!(!spec.is_first) {
        last2 = found.distances2[row - 1];
        last_of = found.indices[row - 1];
        // If the previous search left a free place, no neighbours remain.
        radius2 = select(last_of == u32::MAX, f64::new(-1.0), radius2);
    }
    let excluded = excluded(asked, query, spec);
    let (distances2, indices) = (Array::<f64>::new(k), Array::<u32>::new(k));
    let mut heap = NearestHeap { distances2, indices, row, unused, last2, last_of, excluded };
    #[unroll]
    for place in 0..k {
        // Nothing is nearer than the entries of places that are not used, so these stay in front.
        let is_used = comptime!(place as u32) >= unused;
        heap.distances2[place] = select(is_used, radius2, f64::new(-1.0));
        heap.indices[place] = select(is_used, u32::MAX, 0u32);
    }
    heap
}

#[cube]
impl NearestHeap {
    /// Returns the squared distance of the last neighbour so far, or the squared radius if there are fewer.
    pub fn last(&self, #[comptime] spec: NearestSpec) -> f64 {
        self.distances2[comptime!(spec.k - 1)]
    }

    /// Inserts a primitive if it is near enough and not excluded. One with a negative distance or NaN is not.
    pub fn push(&mut self, d2: f64, index: u32, #[comptime] spec: NearestSpec) {
        let k = comptime!(spec.k);
        let mut comes = index != self.excluded && d2 >= f64::new(0.0);
        if comptime!(!spec.is_first) {
            comes = comes && (d2 > self.last2 || (d2 == self.last2 && index > self.last_of));
        }
        let (last, last_of) = (self.distances2[comptime!(k - 1)], self.indices[comptime!(k - 1)]);
        if comes && (d2 < last || (d2 == last && index < last_of)) {
            insert(&mut self.distances2, &mut self.indices, d2, index, k);
        }
    }

    /// Writes the row of the query.
    pub fn write(&self, found: &mut FoundRows, #[comptime] spec: NearestSpec) {
        let k = comptime!(spec.k);
        #[unroll]
        for place in 0..k {
            // Places that are not used come last. Arrays with computed places would not be in registers.
            let is_used = comptime!(place as u32) >= self.unused;
            let by = select(is_used, 0u32, comptime!(k as u32)) - self.unused;
            let to = comptime!(place as u32) + by;
            let mut has_place = true.runtime();
            if comptime!(spec.is_part) {
                has_place = found.from + to < found.width;
            }
            if has_place {
                found.indices[self.row + to as usize] = select(is_used, self.indices[place], u32::MAX);
                found.distances2[self.row + to as usize] = self.distances2[place];
            }
        }
    }
}

/// A lower bound in `f32` of the squared distance of a query and a box, for options whose boxes are
/// [filtered](NearestSpec::is_filtered).
#[cube]
fn near_distance2<F: Float>(tree: &Tree<F>, corners: &Array<F>, own: &OwnBox<F>, #[comptime] d: usize) -> F {
    let distance2 = boxes_distance2::<F>(&own.near, corners, &tree.sides, d, false);
    // Smaller squares may have lost all their digits, larger ones may have overflowed.
    let kept = distance2.min(F::new(LARGEST_SQUARE));
    select(kept < F::new(SMALLEST_SQUARE), F::new(0.0), kept * F::new(LESS))
}

/// A lower bound of the squared distance of a query and a box, which is at most that of the boxes inside. In open space
/// it is computed in `f32` if coordinates are.
#[cube]
pub(super) fn lower_distance2<F: Float>(
    tree: &Tree<F>,
    corners: &Array<F>,
    own: &OwnBox<F>,
    #[comptime] spec: NearestSpec,
) -> f64 {
    let d = comptime!(spec.d);
    if comptime!(!spec.is_filtered()) {
        exact_boxes_distance2::<F>(&own.exact, corners, &tree.exact_sides, d, comptime!(spec.periodic))
    } else {
        f64::cast_from(near_distance2::<F>(tree, corners, own, d))
    }
}

/// Returns the squared distance of a query and the primitive at a position. The result is NaN for a primitive without
/// points, and -1 for one that is certainly farther away than `most`.
#[cube]
pub(super) fn exact_distance2<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    stored: &ShapeRows,
    corners: &Array<F>,
    at: u32,
    own: &OwnBox<F>,
    most: f64,
    #[comptime] spec: NearestSpec,
) -> f64 {
    let (d, periodic) = comptime!((spec.d, spec.periodic));
    let to_box = exact_boxes_distance2::<F>(&own.exact, corners, &tree.exact_sides, d, periodic);
    let mut d2 = select(to_box <= most, to_box, f64::new(-1.0));
    if comptime!(spec.stored > 0) {
        let mut is_near = to_box <= most;
        if comptime!(spec.are_triangles && !spec.are_bounded) {
            if is_near {
                let from = at as usize * comptime!(spec.stored) + 2;
                let lower = f64::cast_from(triangle_bounds(&stored.rows, from, &own.exact, d).0);
                is_near = lower * lower <= most;
                d2 = f64::new(-1.0);
            }
        }
        if is_near {
            // The first `d` numbers of the query are the point.
            let to_shape = T::distance2(&stored.rows, at * comptime!(spec.stored as u32), &stored.extra, &own.exact);
            d2 = select(to_shape < to_box, to_box, to_shape);
        }
    }
    d2
}
