//! The nearest boxes or shapes of a tree on a device.
//!
//! In: points, or boxes if the stored primitives are boxes. Out: for each the k nearest stored primitives, nearest
//! first, ties by index, with the distances of the CPU. Shapes are tested if their boxes are near enough. Distances
//! that decide are in `f64`.
//! On devices with warps, a bound of each query's last distance is found first (`walk`); then groups of 32 queries are
//! compared with the primitives within these bounds (`sweep`). Other queries walk one by one.
//! Cost: O(k + depth) leaves for each query if boxes are small; more if many boxes contain it, all of them at distance
//! zero.

mod candidates;
mod heap;
mod pairs;
mod queries;
mod sweep;
mod walk;

use std::any::TypeId;

use cubecl::prelude::*;

use crate::bvh::copied;
use crate::error::Result;
use crate::geometry::Bounded;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::traverse::launch::HEAVY_THREADS;
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::device::{Device, on};
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::{MAX_K_PER_SEARCH, Neighbors};
use crate::gpu::search::shapes::groups::{runs_near, takes_groups};
use crate::gpu::search::shapes::nearest::heap::{FoundRowsLaunch, NearestQueriesLaunch, NearestSpec};
use crate::gpu::search::shapes::nearest::queries::row_width;
pub(in crate::gpu) use crate::gpu::search::shapes::nearest::queries::{Wanted, sorted_boxes, sorted_points};
use crate::gpu::search::shapes::nearest::sweep::sweep_nearest;
use crate::gpu::search::shapes::nearest::walk::{bound_nearest, find_nearest};
use crate::gpu::search::shapes::row_walk::ShapeRowsLaunch;
use crate::gpu::search::shapes::rows::{RowShape, SortedRows};
use crate::gpu::search::shapes::searched_tree::{SearchedTree, StoredRows};
use crate::gpu::search::shapes::shape::ShapeKind;
use crate::gpu::search::shapes::sweep::{RowGroupsLaunch, sweep_threads};
use crate::gpu::search::shapes::tests::DistanceTest;
use crate::search::nearest::Nearest;

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Finds the stored boxes nearest to each query, nearest first, ties by index, as [`crate::Bvh::nearest_all`].
    ///
    /// Queries are points or boxes, or any type with a box ([`Bounded`]). The distance of two boxes is that of their
    /// nearest points, and zero if they meet. `wanted` is `k` or a [`Nearest`]. In a periodic box, queries may be
    /// anywhere. A query that is not finite has no neighbours.
    ///
    /// ```no_run
    /// use ropewalk::Aabb;
    /// use ropewalk::gpu::{BoxBvh, Device};
    ///
    /// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([4.0, 0.0], [6.0, 2.0])];
    /// let bvh = BoxBvh::build(&boxes, Device::first()?)?;
    /// let lists = bvh.nearest_all(&[[3.0f32, 1.0]], 2)?.read()?;
    /// assert_eq!(lists.of(0).iter().map(|n| (n.index, n.distance2)).collect::<Vec<_>>(), [(1, 1.0), (0, 4.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours, or numbers of queries (4 + 2 D for each), in total, or more than a
    ///   buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// For `k` above 64, another search for each further 64 neighbours. Memory: 12 `k` bytes per query; while it runs,
    /// by the sizes of buffers, some 200 more per query in three dimensions.
    pub fn nearest_all<T: Bounded<S, D>>(&self, queries: &[T], wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let (wanted, boxes) = (wanted.into(), copied(queries, Bounded::bounds));
        on!(self.device, client => {
            let tree = self.searched().map(|tree| (tree, None));
            nearest_of_rows::<_, OfBoxes, S, D>(client, self.device, tree, (boxes.len(), wanted.k), |tree| {
                sorted_boxes(client, tree, &boxes, Wanted::Same(wanted))
            })
        })
    }
}

/// Finds the `k` stored primitives nearest to each of `n` queries, whose rows `sorted` makes. `tree` is `None` if
/// nothing is stored, and holds the numbers of stored shapes, if these are tested; queries are then points.
pub(in crate::gpu) fn nearest_of_rows<R: Runtime, T: DistanceTest, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    device: Device,
    tree: Option<(SearchedTree<S, D>, Option<&StoredRows>)>,
    (n, k): (usize, usize),
    sorted: impl FnOnce(&SearchedTree<S, D>) -> Result<SortedRows<S>>,
) -> Result<Neighbors> {
    let stored = tree.as_ref().map_or(0, |(tree, _)| tree.order.len());
    let found = Neighbors::unfilled(client, device, n, k, stored)?;
    if let Some((tree, stored)) = tree.filter(|_| found.indices.len() > 0) {
        tree.fill_nearest::<_, T>(client, stored, &sorted(&tree)?, &found)?;
        end_phase(client, "nearest")?;
    }
    Ok(found)
}

impl<S: Coordinate, const D: usize> SearchedTree<'_, S, D> {
    /// Searches for each query. There is at least one, and `found.k` is at least 1.
    fn fill_nearest<R: Runtime, T: DistanceTest>(
        &self,
        client: &ComputeClient<R>,
        stored: Option<&StoredRows>,
        sorted: &SortedRows<S>,
        found: &Neighbors,
    ) -> Result<()> {
        end_phase(client, "queries")?;
        // Without shapes, their numbers are not read.
        let (rows, extra) = stored.map_or((&sorted.extra, &sorted.extra), |stored| (&stored.rows, &stored.extra));
        let n = sorted.order.len();
        let arg = || ShapeRowsLaunch::new(rows.arg(), extra.arg());
        let unread = Buffer::new(client, 0);
        let triangles = || stored.map_or(&unread, |stored| &stored.near_triangles).quads();
        let asked = || {
            let end = self.nodes.end() as u32;
            NearestQueriesLaunch::new(sorted.rows.arg(), sorted.order.arg(), self.order.arg(), n as u32, end)
        };
        for from in (0..found.k).step_by(MAX_K_PER_SEARCH) {
            let found_rows =
                || FoundRowsLaunch::new(found.indices.arg(), found.distances2.arg(), from as u32, found.k as u32);
            let mut spec = NearestSpec {
                d: D,
                periodic: self.space.period().is_some(),
                k: found.k.min(MAX_K_PER_SEARCH),
                is_part: found.k > MAX_K_PER_SEARCH,
                is_first: from == 0,
                is_f32: S::IS_F32,
                are_points: self.are_points,
                stored: stored.map_or(0, |stored| stored.width),
                are_triangles: stored.is_some_and(|stored| stored.kind == ShapeKind::Triangle),
                are_bounded: false,
                test: TypeId::of::<T>(),
                only_heavy: false,
            };
            let in_groups = NearestSpec {
                are_bounded: stored.is_some_and(|stored| stored.near_triangles.len() > 0)
                    && spec.is_filtered()
                    && spec.k <= candidates::MOST,
                ..spec
            };
            let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
            // Later parts of long rows have no bound until they are searched.
            let bounds = (!spec.is_part && takes_groups(client, n)).then(|| {
                let bounds = Buffer::<f64>::new(client, n);
                let (tree, bound) = (self.arg(client), bounds.arg());
                bound_nearest::launch::<S, T, R>(
                    client,
                    blocks_for(n),
                    dim,
                    tree,
                    arg(),
                    triangles(),
                    asked(),
                    found_rows(),
                    bound,
                    in_groups,
                );
                bounds
            });
            let listed = bounds.as_ref().map(|bounds| {
                let listed = runs_near(client, self, &sorted.rows, n, (RowShape::Extent, row_width(D)), Some(bounds));
                let warp = Warp::new(client).apart();
                let (blocks, dim) = warp.blocks(n, sweep_threads(D));
                sweep_nearest::launch::<S, T, R>(
                    client,
                    blocks,
                    dim,
                    self.arg(client),
                    RowGroupsLaunch::new(listed.groups(), listed.runs()),
                    arg(),
                    triangles(),
                    asked(),
                    bounds.arg(),
                    found_rows(),
                    in_groups,
                    warp,
                );
                listed
            });
            spec.only_heavy = listed.is_some();
            let threads = if spec.only_heavy { n.min(HEAVY_THREADS) } else { n };
            // Not read if no runs are listed.
            let heavy = listed.as_ref().map_or(&sorted.order, |listed| &listed.heavy).arg();
            let (blocks, tree) = (blocks_for(threads), self.arg(client));
            find_nearest::launch::<S, T, R>(client, blocks, dim, tree, arg(), asked(), heavy, found_rows(), spec);
        }
        Ok(())
    }
}

/// The test of a tree of boxes or points, whose distances are those of the boxes.
pub(in crate::gpu) struct OfBoxes;

#[cube]
impl DistanceTest for OfBoxes {
    fn distance2(_stored: &Array<f64>, _at: u32, _extra: &Array<f64>, _point: &Array<f64>) -> f64 {
        f64::new(0.0)
    }
}
