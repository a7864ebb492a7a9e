//! The walk of a tree for rows of queries.
//!
//! In: rows of queries, sorted along the Morton curve, and a visitor. Out: the visitor's output. A thread walks the
//! tree for each row, node by node. Boxes are tested first (`box_tests`); then the tests of the query and of the
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
use crate::gpu::metric::corners;
use crate::gpu::primitives::rounding::check_quotients;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::shapes::box_tests::{RowSpec, approximate, may_meet, meets};
use crate::gpu::search::shapes::images::meets_image;
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::rows::{RowShape, SortedRows};
use crate::gpu::search::shapes::tests::{BoxTest, HitTest};

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
    /// Errors: too many numbers; a device that rounds differently from the CPU.
    pub fn sort_queries<R: Runtime, Q: Query<S, D>>(
        &self,
        client: &ComputeClient<R>,
        queries: &[Q],
        for_shapes: bool,
    ) -> Result<SortedRows> {
        if matches!(Q::SHAPE, RowShape::Ray | RowShape::Extent) {
            check_quotients(client, self.device)?;
        }
        let first = self.first_part::<Q>();
        let write = |at: usize, row: &mut [f64], extra: &mut Vec<f64>| {
            let (row, numbers) = row.split_at_mut(first);
            queries[at].write_row(self.space, row);
            if !numbers.is_empty() {
                queries[at].write(&mut numbers[..Q::NUMBERS], extra);
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
        self.first_part::<Q>() + if has_numbers { Q::NUMBERS.max(1) } else { 0 }
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
            is_f32: S::IS_F32,
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
                            is_hit = meets_image::<F, B>(
                                &own,
                                &primitive,
                                &tree.exact_sides,
                                &queries.rows,
                                numbers,
                                &queries.extra,
                                d,
                                comptime!(spec.periodic),
                            );
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
