//! The walk of a tree for rows of queries.
//!
//! In: rows of queries, sorted along the Morton curve, and a visitor. Out: the visitor's output. A thread walks the
//! tree for each row, node by node. Boxes are tested in `f64` as on the CPU; then the tests of the query and of the
//! stored type select the hits, in the order of the tree.
//! Cost: O(depth + hits) tests for each query.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::{List, ListOutputLaunch};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{Tree, TreeLaunch};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::csr::Csr;
use crate::gpu::device::Device;
use crate::gpu::errors;
use crate::gpu::metric::{corners, exact_boxes_distance2, min_distance2};
use crate::gpu::primitives::rounding::{check_quotients, product};
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::rows::{RAY_NUMBERS, RowShape, SortedRows};
use crate::gpu::search::shapes::tests::{BoxTest, HitTest};

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RowSpec {
    d: usize,
    periodic: bool,
    shape: RowShape,
    /// The length of a row.
    width: usize,
    /// The number of numbers of a stored value; 0 if boxes are hits.
    stored: usize,
    /// `true` if the stored boxes are points, with one corner.
    are_points: bool,
    /// The types of the tests and of the visitor. Cached kernels are identified by type names, and two types may have
    /// the same name.
    types: [TypeId; 3],
}

/// A tree whose boxes are searched: one of points, or one of boxes.
pub(in crate::gpu) struct SearchedTree<'a, S, const D: usize> {
    pub device: Device,
    pub space: &'a Space<D>,
    pub nodes: &'a Nodes<S>,
    /// The coordinates of points in tree order, axis by axis; for boxes the lower corners followed by the upper ones.
    pub axes: &'a Buffer<S>,
    /// The index of each stored primitive.
    pub order: &'a Buffer<u32>,
    pub are_points: bool,
}

impl<S: Coordinate, const D: usize> SearchedTree<'_, S, D> {
    /// Returns the argument of kernels.
    pub fn arg<R: Runtime>(&self, client: &ComputeClient<R>) -> TreeLaunch<S, R> {
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        TreeLaunch::new(
            self.nodes.bounds.pairs(),
            self.nodes.links.pairs(),
            self.nodes.leaf_of_point.arg(),
            self.axes.arg(),
            Buffer::from_slice(client, &sides.map(S::from_f64)).arg(),
            Buffer::from_slice(client, &sides).arg(),
            self.order.len() as u32,
        )
    }

    /// Writes the number of hits of each query to `counts`. If there are no queries, `counts` is unchanged.
    ///
    /// Errors: those of [`SearchedTree::sort_queries`].
    pub fn count<R: Runtime, Q: Query<S, D>, T: HitTest>(
        &self,
        client: &ComputeClient<R>,
        queries: &[Q],
        stored: Option<&StoredRows>,
        counts: &Buffer<u32>,
    ) -> Result<()> {
        if !queries.is_empty() {
            let rows = self.sort_queries(client, queries, stored.is_some())?;
            end_phase(client, "queries")?;
            self.walk::<_, Q, T, Count>(client, &rows, stored, rows.order.arg(), counts.arg());
            end_phase(client, "count")?;
        }
        Ok(())
    }

    /// Lists the hits of each query. `offsets`, one more than queries and all 0, is overwritten.
    ///
    /// Errors: those of [`SearchedTree::sort_queries`]; too many hits.
    pub fn list<R: Runtime, Q: Query<S, D>, T: HitTest>(
        &self,
        client: &ComputeClient<R>,
        queries: &[Q],
        stored: Option<&StoredRows>,
        offsets: &Buffer<u32>,
    ) -> Result<Buffer<u32>> {
        if queries.is_empty() {
            return Ok(Buffer::new(client, 0));
        }
        let rows = self.sort_queries(client, queries, stored.is_some())?;
        end_phase(client, "queries")?;
        self.walk::<_, Q, T, Count>(client, &rows, stored, rows.order.arg(), offsets.arg());
        let values = Csr::allocate_values(client, offsets)?;
        end_phase(client, "count")?;
        let lists = ListOutputLaunch::new(self.order.arg(), rows.order.arg(), offsets.arg());
        self.walk::<_, Q, T, List>(client, &rows, stored, lists, values.arg());
        end_phase(client, "list")?;
        Ok(values)
    }

    /// Copies at least one query to the device, with the numbers that the tests of stored values read if `for_shapes`
    /// is set.
    ///
    /// Errors: a query that is not supported in a periodic box; too many numbers; a device that rounds differently from
    /// the CPU.
    pub fn sort_queries<R: Runtime, Q: Query<S, D>>(
        &self,
        client: &ComputeClient<R>,
        queries: &[Q],
        for_shapes: bool,
    ) -> Result<SortedRows> {
        if Q::SHAPE == RowShape::Extent && self.space.period().is_some() {
            return Err(errors::shape_in_periodic_box());
        }
        if matches!(Q::SHAPE, RowShape::Ray | RowShape::Extent) {
            check_quotients(client, self.device)?;
        }
        let first = self.first_part::<Q>();
        let write = |at: usize, row: &mut [f64], extra: &mut Vec<f64>| {
            let (row, numbers) = row.split_at_mut(first);
            queries[at].write_row(self.space, row);
            if !numbers.is_empty() {
                queries[at].write(numbers, extra);
            }
        };
        let width = self.row_width::<Q>(for_shapes);
        SortedRows::new(client, self.device, self.space, queries.len(), width, &write, &|at| queries[at].middle())
    }

    fn first_part<Q: Query<S, D>>(&self) -> usize {
        Q::SHAPE.width(D, self.space.period().is_some())
    }

    fn row_width<Q: Query<S, D>>(&self, for_shapes: bool) -> usize {
        let has_numbers = for_shapes || matches!(Q::SHAPE, RowShape::Ray | RowShape::Extent);
        self.first_part::<Q>() + if has_numbers { Q::NUMBERS } else { 0 }
    }

    /// Walks the tree for each query. `stored` holds the numbers of the stored values, if their tests select hits.
    pub fn walk<R: Runtime, Q: Query<S, D>, T: HitTest, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        queries: &SortedRows,
        stored: Option<&StoredRows>,
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let n = queries.order.len();
        let spec = RowSpec {
            d: D,
            periodic: self.space.period().is_some(),
            shape: Q::SHAPE,
            width: self.row_width::<Q>(stored.is_some()),
            stored: stored.map_or(0, |stored| stored.width),
            are_points: self.are_points,
            types: [TypeId::of::<Q::BoxTest>(), TypeId::of::<T>(), TypeId::of::<V>()],
        };
        // Without stored values, their numbers are not read.
        let (rows, extra) = stored.map_or((&queries.extra, &queries.extra), |stored| (&stored.rows, &stored.extra));
        walk_rows::launch::<S, Q::BoxTest, T, V, R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.arg(client),
            ShapeRowsLaunch::new(queries.rows.arg(), queries.extra.arg()),
            ShapeRowsLaunch::new(rows.arg(), extra.arg()),
            input,
            output,
            n as u32,
            self.nodes.end() as u32,
            spec,
        );
    }
}

/// The numbers of stored values on a device, in the order of the tree.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct StoredRows {
    pub rows: Buffer<f64>,
    /// The numbers that do not fit into rows.
    pub extra: Buffer<f64>,
    /// The number of numbers of a value.
    pub width: usize,
}

/// The numbers of queries or stored values.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct ShapeRows {
    pub rows: Array<f64>,
    pub extra: Array<f64>,
}

/// The test of a tree whose boxes are hits.
pub(in crate::gpu) struct AnyValue;

#[cube]
impl HitTest for AnyValue {
    fn is_hit(
        _stored: &Array<f64>,
        _at: u32,
        _extra: &Array<f64>,
        _query: &Array<f64>,
        _query_at: u32,
        _query_extra: &Array<f64>,
    ) -> bool {
        true.runtime()
    }
}

/// Visits the hits of each of `n` queries. `end` is the number of nodes.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn walk_rows<F: Float, B: BoxTest, T: HitTest, V: LeafVisitor>(
    tree: &Tree<F>,
    queries: &ShapeRows,
    stored: &ShapeRows,
    input: &V::Input,
    output: &mut V::Output,
    n: u32,
    end: u32,
    #[comptime] spec: RowSpec,
) {
    let query = ABSOLUTE_POS;
    if (query as u32) < n {
        let d = comptime!(spec.d);
        let first = comptime!(spec.first());
        let from = query * comptime!(spec.width);
        let mut own = Array::<f64>::new(comptime!(spec.read()));
        #[unroll]
        for at in 0..comptime!(spec.read()) {
            own[at] = queries.rows[from + at];
        }
        let numbers = (from + first) as u32;
        let near = approximate::<F>(&own, spec);
        let state = V::start(input, output, query as u32);
        let mut primitive = Array::<F>::new(comptime!(2 * spec.d));
        let mut walk = RopeWalk::new(0u32.runtime(), end);
        while walk.goes_on() && V::is_open(&state, input) {
            let node = walk.node(&tree.links);
            let is_met = may_meet::<F>(&own, &near, &corners::<F>(&tree.bounds, node.at, d), tree, spec);
            if is_met && node.is_leaf {
                for at in node.first..tree.links[node.rope as usize][1] {
                    #[unroll]
                    for k in 0..d {
                        primitive[k] = tree.axes[k * tree.stored as usize + at as usize];
                        if comptime!(spec.are_points) {
                            primitive[d + k] = primitive[k];
                        } else {
                            primitive[d + k] = tree.axes[(d + k) * tree.stored as usize + at as usize];
                        }
                    }
                    let mut is_hit = V::is_open(&state, input) && may_meet::<F>(&own, &near, &primitive, tree, spec);
                    if comptime!(spec.is_filtered()) {
                        if is_hit {
                            is_hit = meets::<F>(&own, &primitive, &tree.exact_sides, spec);
                        }
                    }
                    if comptime!(spec.shape == RowShape::Extent) {
                        if is_hit {
                            let mut own_box = Array::<f64>::new(comptime!(2 * spec.d));
                            #[unroll]
                            for k in 0..2 * d {
                                own_box[k] = f64::cast_from(primitive[k]);
                            }
                            is_hit = B::meets(&queries.rows, numbers, &queries.extra, &own_box);
                        }
                    }
                    if comptime!(spec.stored > 0) {
                        if is_hit {
                            let stored_at = at * comptime!(spec.stored as u32);
                            is_hit = T::is_hit(
                                &stored.rows,
                                stored_at,
                                &stored.extra,
                                &queries.rows,
                                numbers,
                                &queries.extra,
                            );
                        }
                    }
                    if is_hit {
                        V::on_hit(&state, input, output, at);
                    }
                }
            }
            walk.step(&node, is_met);
        }
        V::finish(&state, input, output, query as u32);
    }
}

impl RowSpec {
    /// The length of the first part of a row.
    fn first(self) -> usize {
        self.shape.width(self.d, self.periodic)
    }

    /// Returns `true` if boxes have several images along each axis.
    fn has_images(self) -> bool {
        self.shape == RowShape::Box && self.periodic
    }

    /// Returns `true` if [`may_meet`] is not exact.
    fn is_filtered(self) -> bool {
        matches!(self.shape, RowShape::Sphere | RowShape::Ray)
    }

    /// The number of numbers with which boxes are tested.
    fn read(self) -> usize {
        if self.shape == RowShape::Ray { self.width } else { self.first() }
    }
}

/// Returns the numbers of a row that [`may_meet`] compares with boxes, in the type of the tree.
#[cube]
fn approximate<F: Float>(row: &Array<f64>, #[comptime] spec: RowSpec) -> Array<F> {
    let d = comptime!(spec.d);
    let mut near = Array::<F>::new(comptime!(2 * spec.d + 3));
    if comptime!(spec.shape == RowShape::Sphere) {
        #[unroll]
        for k in 0..d {
            near[k] = F::cast_from(row[k]);
        }
        near[d] = F::cast_from(row[d + 2]);
    } else if comptime!(spec.shape == RowShape::Ray) {
        let (origin, direction) = (comptime!(RAY_NUMBERS), comptime!(RAY_NUMBERS + d));
        let zero = F::new(0.0);
        let (from, to) = (F::cast_from(row[direction + d]), F::cast_from(row[direction + d + 1]));
        // Rounded outwards.
        near[2 * d] = from - from.abs() * F::new(WIDER) - F::new(f32::MIN_POSITIVE);
        near[2 * d + 1] = to + to.abs() * F::new(WIDER) + F::new(f32::MIN_POSITIVE);
        let mut is_regular = near[2 * d] <= F::new(f32::MAX) && near[2 * d + 1] >= F::new(f32::MIN);
        #[unroll]
        for k in 0..d {
            near[k] = F::cast_from(row[origin + k]);
            let along = F::cast_from(row[direction + k]);
            near[d + k] = select(along == zero, zero, F::new(1.0) / along);
            let size = near[d + k].abs();
            is_regular =
                is_regular && (along == zero || (size >= F::new(f32::MIN_POSITIVE) && size <= F::new(f32::MAX)));
        }
        // Other rays enter all nodes.
        near[2 * d + 2] = select(is_regular, F::new(1.0), zero);
    } else if comptime!(!spec.has_images()) {
        #[unroll]
        for k in 0..d {
            near[k] = F::cast_from(row[comptime!(1 + 2 * k)]);
            near[d + k] = F::cast_from(row[comptime!(2 + 2 * k)]);
        }
    }
    near
}

/// Returns `true` if the first part of a row may meet the box between `corners`: if it meets a box inside, and in other
/// cases only by rounding in the type of the tree. For boxes the result is exact.
#[cube]
fn may_meet<F: Float>(
    row: &Array<f64>,
    near: &Array<F>,
    corners: &Array<F>,
    tree: &Tree<F>,
    #[comptime] spec: RowSpec,
) -> bool {
    let d = comptime!(spec.d);
    if comptime!(spec.shape == RowShape::Sphere) {
        min_distance2::<F>(corners, near, &tree.sides, d, comptime!(spec.periodic)) <= near[d]
    } else if comptime!(spec.shape == RowShape::Ray) {
        ray_may_meet::<F>(row, near, corners, d)
    } else if comptime!(spec.has_images()) {
        box_meets::<F>(row, corners, &tree.exact_sides, spec)
    } else {
        let mut all = row[0] > f64::new(0.0);
        #[unroll]
        for k in 0..d {
            all = all && near[k] <= corners[d + k] && corners[k] <= near[d + k];
        }
        all
    }
}

/// Returns `true` unless a ray certainly misses the box. The steps are those of [`ray_meets`] in the type of the tree,
/// with wider errors.
#[cube]
fn ray_may_meet<F: Float>(row: &Array<f64>, near: &Array<F>, corners: &Array<F>, #[comptime] d: usize) -> bool {
    let (zero, wider, least) = (F::new(0.0), F::new(WIDER), F::new(f32::MIN_POSITIVE));
    let mut enter = near[2 * d] + zero;
    let mut leave = near[2 * d + 1] + zero;
    let mut all = true.runtime();
    #[unroll]
    for k in 0..d {
        let (from, inverse) = (near[k], near[d + k]);
        if inverse == zero {
            all = all && (corners[k] <= from && from <= corners[d + k]);
        } else {
            let (a, b) = ((corners[k] - from) * inverse, (corners[d + k] - from) * inverse);
            let (first, last) = (a.min(b), a.max(b));
            // A difference of infinities is NaN, which changes nothing.
            let later = first - first.abs() * wider - least;
            let earlier = last + last.abs() * wider + least;
            enter = select(later > enter, later, enter);
            leave = select(earlier < leave, earlier, leave);
        }
    }
    row[0] > f64::new(0.0) && (near[2 * d + 2] == zero || (all && enter <= leave))
}

/// Returns `true` if the first part of a row meets the box between `corners`, as
/// [`crate::geometry::Query::meets`].
#[cube]
fn meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    if comptime!(spec.shape == RowShape::Sphere) {
        sphere_meets::<F>(row, corners, sides, spec)
    } else if comptime!(spec.shape == RowShape::Ray) {
        ray_meets::<F>(row, corners, comptime!(spec.d))
    } else {
        box_meets::<F>(row, corners, sides, spec)
    }
}

/// Compares the squared distance of the centre and the box with the squared radius.
#[cube]
fn sphere_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    let d = comptime!(spec.d);
    let mut center = Array::<f64>::new(comptime!(2 * spec.d));
    #[unroll]
    for k in 0..d {
        center[k] = row[k];
        center[d + k] = row[k];
    }
    exact_boxes_distance2::<F>(&center, corners, sides, d, comptime!(spec.periodic)) <= row[d]
}

/// Returns `true` if, along each axis, some interval of the query meets the box, or the box is as long as the periodic
/// one.
#[cube]
fn box_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    let d = comptime!(spec.d);
    let images = comptime!(if spec.periodic { 3 } else { 1 });
    let mut all = row[0] > f64::new(0.0);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (f64::cast_from(corners[k]), f64::cast_from(corners[d + k]));
        let mut any = false.runtime();
        #[unroll]
        for image in 0..images {
            let at = comptime!(1 + 2 * (k * images + image));
            any = any || (row[at] <= hi && lo <= row[comptime!(at + 1)]);
        }
        if comptime!(spec.periodic) {
            any = any || is_as_long(lo, hi, sides[k]);
        }
        all = all && any;
    }
    all
}

/// Returns `true` if the exact length of an interval is at least `side`: the rounding error of the difference decides
/// (Knuth 1969).
#[cube]
fn is_as_long(from: f64, to: f64, side: f64) -> bool {
    let length = to - from;
    let back = length - to;
    let rest = (to - (length - back)) - (from + back);
    length > side || (length == side && rest >= f64::new(0.0))
}

/// Returns `true` if a ray meets the box, rounded as by `Ray::enters`.
#[cube]
fn ray_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, #[comptime] d: usize) -> bool {
    let (less, more, least) = (row[1], row[2], row[3]);
    let (origin, direction) = (comptime!(RAY_NUMBERS), comptime!(RAY_NUMBERS + d));
    let zero = f64::new(0.0);
    let mut enter = row[direction + d] + zero;
    let mut leave = row[direction + d + 1] + zero;
    let mut all = row[0] > zero;
    #[unroll]
    for k in 0..d {
        let (from, along) = (row[origin + k], row[direction + k]);
        let (lo, hi) = (f64::cast_from(corners[k]), f64::cast_from(corners[d + k]));
        if along == zero {
            all = all && (lo <= from && from <= hi);
        } else {
            let is_up = along > zero;
            let near = (select(is_up, lo, hi) - from) / along;
            let far = (select(is_up, hi, lo) - from) / along;
            enter = enter.max(product(near, select(near > zero, less, more)) - least);
            leave = leave.min(product(far, select(far > zero, more, less)) + least);
        }
    }
    all && enter <= leave
}

/// More than the relative rounding errors of the parameters at which a ray meets planes: a difference, a reciprocal and
/// a product in `f32`.
const WIDER: f32 = 8.0 * f32::EPSILON;
