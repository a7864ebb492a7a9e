//! The searches of a tree for rows of queries.
//!
//! In: rows of queries, sorted along the Morton curve, and a visitor. Out: the visitor's output, for hits in the order of
//! the tree. On devices with warps, many queries are compared in groups of 32 with the primitives near them (`groups`,
//! `sweep`). Rays, few queries, and queries near very many primitives walk one by one (`row_walk`).
//! Cost: O(depth + hits) tests for each query.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::launch::HEAVY_THREADS;
use crate::gpu::bvh::traverse::list::{List, ListOutputLaunch};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::csr::Csr;
use crate::gpu::primitives::rounding::check_quotients;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::shapes::box_tests::RowSpec;
use crate::gpu::search::shapes::groups::{runs_near, takes_groups};
use crate::gpu::search::shapes::kept::{Keep, KeptHits, ListRest};
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::row_walk::{ShapeRowsLaunch, ShapesLaunch, walk_rows};
use crate::gpu::search::shapes::rows::{RowShape, SortedRows};
use crate::gpu::search::shapes::searched_tree::{SearchedTree, StoredRows};
use crate::gpu::search::shapes::sweep::{RowGroupsLaunch, sweep_rows, sweep_threads};
use crate::gpu::search::shapes::tests::HitTest;

impl<S: Coordinate, const D: usize> SearchedTree<'_, S, D> {
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
            self.walk::<_, Q, T, Count>(client, &rows, stored, || rows.order.arg(), || counts.arg());
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
        let lists = || ListOutputLaunch::new(self.order.arg(), rows.order.arg(), offsets.arg());
        // Lists of few hits are kept, unless all queries walk one by one.
        let kept = rows.runs.as_ref().and_then(|_| KeptHits::new(client, queries.len()));
        if let Some(kept) = &kept {
            self.walk::<_, Q, T, Keep>(client, &rows, stored, lists, || kept.output(offsets));
        } else {
            self.walk::<_, Q, T, Count>(client, &rows, stored, || rows.order.arg(), || offsets.arg());
        }
        let values = Csr::allocate_values(client, offsets)?;
        end_phase(client, "count")?;
        if let Some(kept) = &kept {
            kept.copy(client, &rows.order, offsets, &values);
            self.walk::<_, Q, T, ListRest>(client, &rows, stored, lists, || values.arg());
        } else {
            self.walk::<_, Q, T, List>(client, &rows, stored, lists, || values.arg());
        }
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
    ) -> Result<SortedRows<S>> {
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
        let middle = |at: usize| queries[at].middle();
        let mut sorted = SortedRows::new(client, self.device, self.space, queries.len(), width, &write, &middle)?;
        // Rays of a group have little in common. Boxes around the images of shapes would be those of the whole space.
        let are_alike = Q::SHAPE != RowShape::Ray && !(Q::SHAPE == RowShape::Extent && self.space.period().is_some());
        if are_alike && takes_groups(client, queries.len()) {
            sorted.runs = Some(runs_near(client, self, &sorted.rows, queries.len(), (Q::SHAPE, width), None));
        }
        Ok(sorted)
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
        queries: &SortedRows<S>,
        stored: Option<&StoredRows>,
        input: impl Fn() -> <V::Input as LaunchArg>::RuntimeArg<R>,
        output: impl Fn() -> <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let n = queries.order.len();
        let warp = Warp::new(client).apart();
        let spec = RowSpec {
            d: D,
            periodic: self.space.period().is_some(),
            shape: Q::SHAPE,
            is_f32: S::IS_F32,
            width: self.row_width::<Q>(stored.is_some()),
            stored: stored.map_or(0, |stored| stored.width),
            are_points: self.are_points,
            only_heavy: queries.runs.is_some(),
            types: [TypeId::of::<Q::BoxTest>(), TypeId::of::<T>(), TypeId::of::<V>()],
        };
        // Without stored values, their numbers are not read.
        let (rows, extra) = stored.map_or((&queries.extra, &queries.extra), |stored| (&stored.rows, &stored.extra));
        let shapes = || {
            let queries = ShapeRowsLaunch::new(queries.rows.arg(), queries.extra.arg());
            ShapesLaunch::new(queries, ShapeRowsLaunch::new(rows.arg(), extra.arg()))
        };
        if let Some(listed) = &queries.runs {
            let (blocks, dim) = warp.blocks(n, sweep_threads(D));
            sweep_rows::launch::<S, Q::BoxTest, T, V, R>(
                client,
                blocks,
                dim,
                self.arg(client),
                RowGroupsLaunch::new(listed.groups(), listed.runs()),
                shapes(),
                input(),
                output(),
                n as u32,
                spec,
                warp,
            );
        }
        let threads = if queries.runs.is_some() { n.min(HEAVY_THREADS) } else { n };
        walk_rows::launch::<S, Q::BoxTest, T, V, R>(
            client,
            blocks_for(threads),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.arg(client),
            shapes(),
            input(),
            output(),
            // Not read if no runs are listed.
            queries.runs.as_ref().map_or(&queries.order, |listed| &listed.heavy).arg(),
            n as u32,
            self.nodes.end() as u32,
            spec,
        );
    }
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
