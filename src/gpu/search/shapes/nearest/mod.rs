//! The nearest boxes or shapes of a tree on a device.
//!
//! In: points, or boxes if the stored primitives are boxes. Out: for each the k nearest stored primitives, nearest
//! first, ties by index, with the distances of the CPU. Shapes are tested if their boxes are near enough. Distances
//! that decide are in `f64`.
//! On devices with warps, a bound of each query's last distance is found first (`walk`); then groups of 32 queries are
//! compared with the primitives within these bounds (`sweep`). Triangles of `f32` have a tree of their own, which a thread
//! walks for each query (`fine_walk`). Other queries walk one by one.
//! Cost: O(k + depth) leaves for each query if boxes are small; more if many boxes contain it, all of them at distance
//! zero.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract of `fine_walk`.

mod candidates;
mod fine_walk;
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
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase, grid};
use crate::gpu::bvh::traverse::launch::HEAVY_THREADS;
use crate::gpu::bvh::traverse::spec::TreeLaunch;
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::device::{Device, on};
use crate::gpu::primitives::gather::{Layout, gather_into};
use crate::gpu::primitives::scatter::invert;
use crate::gpu::primitives::warp::{WIDTH, Warp};
use crate::gpu::search::nearest::{MAX_K_PER_SEARCH, Neighbors};
use crate::gpu::search::shapes::fine_tree::FineTree;
use crate::gpu::search::shapes::groups::{runs_near, takes_groups};
use crate::gpu::search::shapes::nearest::candidates::places;
use crate::gpu::search::shapes::nearest::fine_walk::{decide_candidates, find_candidates};
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

/// Threads of a block of a search one by one.
const FINE_THREADS: u32 = 128;
/// The number of neighbours from which on sorted rows are written first.
const LEAST_SORTED: usize = 3;

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
        let search = Search { tree: self, stored, sorted, found, sides: self.sides(client) };
        let n = sorted.order.len();
        for from in (0..found.k).step_by(MAX_K_PER_SEARCH) {
            let spec = NearestSpec {
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
                listed: 0,
                are_rows_sorted: false,
            };
            // The queries that remain, and the number of them for each listed number.
            let left = if let Some(fine) = search.fine_tree(client, spec)? {
                Some((search.one_by_one::<_, T>(client, fine, spec), 1))
            } else if !spec.is_part && takes_groups(client, n) {
                // Later parts of long rows have no bound until they are searched.
                Some((search.in_groups::<_, T>(client, spec), WIDTH))
            } else {
                None
            };
            let (threads, listed) = left.as_ref().map_or((n, 0), |&(_, listed)| (n.min(HEAVY_THREADS), listed));
            find_nearest::launch::<S, T, R>(
                client,
                blocks_for(threads),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                search.tree_arg(),
                search.rows(),
                search.asked(),
                // Not read if nothing is listed.
                left.as_ref().map_or(&sorted.order, |(left, _)| left).arg(),
                search.found_rows(from),
                NearestSpec { listed, ..spec },
            );
        }
        Ok(())
    }
}

/// A search for each of some queries.
struct Search<'a, S, const D: usize> {
    tree: &'a SearchedTree<'a, S, D>,
    stored: Option<&'a StoredRows>,
    sorted: &'a SortedRows<S>,
    found: &'a Neighbors,
    sides: (Buffer<S>, Buffer<f64>),
}

impl<'a, S: Coordinate, const D: usize> Search<'a, S, D> {
    /// Returns the numbers of stored shapes. Without shapes, they are not read.
    fn rows<R: Runtime>(&self) -> ShapeRowsLaunch<R> {
        let extra = &self.sorted.extra;
        let (rows, extra) = self.stored.map_or((extra, extra), |stored| (&stored.rows, &stored.extra));
        ShapeRowsLaunch::new(rows.arg(), extra.arg())
    }

    fn asked<R: Runtime>(&self) -> NearestQueriesLaunch<R> {
        let SortedRows { rows, order, .. } = self.sorted;
        let (n, end) = (order.len() as u32, self.tree.nodes.end() as u32);
        NearestQueriesLaunch::new(rows.arg(), order.arg(), self.tree.order.arg(), n, end)
    }

    fn tree_arg<R: Runtime>(&self) -> TreeLaunch<S, R> {
        self.tree.arg_with(&self.sides)
    }

    /// Returns the rows to fill from a place on.
    fn found_rows<R: Runtime>(&self, from: usize) -> FoundRowsLaunch<R> {
        let Neighbors { indices, distances2, k, .. } = self.found;
        FoundRowsLaunch::new(indices.arg(), distances2.arg(), from as u32, *k as u32)
    }

    /// Returns the tree for queries that search one by one; `None` unless triangles have bounds in `f32`.
    fn fine_tree<R: Runtime>(&self, client: &ComputeClient<R>, spec: NearestSpec) -> Result<Option<&'a FineTree>> {
        let Some(stored) = self.stored.filter(|stored| stored.framed_triangles.len() > 0) else { return Ok(None) };
        let fits = (places(spec.k) as u64 + 1) * (self.sorted.order.len() as u64 + 1) <= u64::from(u32::MAX);
        if !spec.is_filtered() || spec.k > candidates::MOST || !fits {
            return Ok(None);
        }
        if let Some(fine) = stored.fine.get() {
            return Ok(fine.as_ref());
        }
        let fine = FineTree::build::<_, S, D>(client, self.tree.nodes, self.tree.axes, self.tree.order.len())?;
        Ok(stored.fine.get_or_init(|| fine).as_ref())
    }

    /// Searches for each query by a thread, in the tree of [`Search::fine_tree`]. Returns the queries that remain, after
    /// their number.
    fn one_by_one<R: Runtime, T: DistanceTest>(
        &self,
        client: &ComputeClient<R>,
        fine: &FineTree,
        spec: NearestSpec,
    ) -> Buffer<u32> {
        let n = self.sorted.order.len();
        let k = self.found.k;
        let (left, positions) = (Buffer::filled(client, n + 1, 0), Buffer::<u32>::new(client, places(k) * n));
        // Rows that are written where they belong are read first, unless each fills a sector of memory.
        let are_rows_sorted = k >= LEAST_SORTED;
        let sorted = are_rows_sorted.then(|| (Buffer::<u32>::new(client, k * n), Buffer::<f64>::new(client, k * n)));
        let (indices, distances2) = match &sorted {
            Some((indices, distances2)) => (indices, distances2),
            None => (&self.found.indices, &self.found.distances2),
        };
        let unread = Buffer::new(client, 0);
        let triangles = self.stored.map_or(&unread, |stored| &stored.framed_triangles).quads();
        let (blocks, dim) = (grid(n.div_ceil(FINE_THREADS as usize)), CubeDim::new_1d(FINE_THREADS));
        let spec = NearestSpec { are_bounded: true, are_rows_sorted, ..spec };
        // SAFETY: the launch contract of `fine_walk`. `one_by_one` is called with the tree of `self.stored`, and rows of
        // `k` places for the queries of `self.sorted`.
        unsafe {
            find_candidates::launch_unchecked::<R>(
                client,
                blocks.clone(),
                dim,
                fine.arg(),
                triangles,
                self.asked(),
                positions.arg(),
                left.arg(),
                spec,
            );
            decide_candidates::launch_unchecked::<S, T, R>(
                client,
                blocks,
                dim,
                self.tree_arg(),
                self.rows(),
                self.asked(),
                positions.arg(),
                FoundRowsLaunch::new(indices.arg(), distances2.arg(), 0, k as u32),
                spec,
            );
        }
        if are_rows_sorted {
            let places = invert(client, &self.sorted.order);
            gather_into(client, indices, &places, k, Layout::Rows, &self.found.indices);
            gather_into(client, distances2, &places, k, Layout::Rows, &self.found.distances2);
        }
        left
    }

    /// Searches for groups of queries by warps. Returns the groups that remain, after their number.
    fn in_groups<R: Runtime, T: DistanceTest>(&self, client: &ComputeClient<R>, spec: NearestSpec) -> Buffer<u32> {
        let (tree, rows, n) = (self.tree, &self.sorted.rows, self.sorted.order.len());
        let bounds = Buffer::<f64>::new(client, n);
        bound_nearest::launch::<S, T, R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.tree_arg(),
            self.rows(),
            self.asked(),
            self.found_rows(0),
            bounds.arg(),
            spec,
        );
        let listed = runs_near(client, tree, rows, n, (RowShape::Extent, row_width(D)), Some(&bounds));
        let warp = Warp::new(client).apart();
        let (blocks, dim) = warp.blocks(n, sweep_threads(D));
        sweep_nearest::launch::<S, T, R>(
            client,
            blocks,
            dim,
            self.tree_arg(),
            RowGroupsLaunch::new(listed.groups(), listed.runs()),
            self.rows(),
            self.asked(),
            bounds.arg(),
            self.found_rows(0),
            spec,
            warp,
        );
        listed.heavy.clone()
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
