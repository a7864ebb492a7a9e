//! The k nearest neighbours of stored points or of other points: the GPU counterpart of `search::nearest`.
//!
//! In: `k` and, optionally, points that are not stored. Out: the neighbours of each point, nearest first, ties by
//! index.
//! Points that are not stored are first sorted along the Morton curve (`search::query_points`). They start at the
//! leaf to which a descent by the nearer child leads; stored points start at their own position.
//! Warps find neighbours by rounded distances: of many stored points from runs of points (`seeds`, `sweep_nearest`), of
//! others by walks (`approx_search`). They list the points in doubt. These, and all points on devices without warps, are
//! searched with decisions in `f64` (`exact_search`), as on the CPU. Distances to the k-th neighbour alone (`kth_distance`)
//! are first bounded, by runs as well (`sweep_bracket`) or by walks (`bracket`).
//! Cost: O(k + depth) leaves for a compact cloud, and twice that if many distances are equal, as in lattices. By runs:
//! the points within the bounds of `seeds`, up to 65,536 for 32 queries. For n copies of a point, O(n) each.
//! Source: as for the CPU; Karras 2012 for the order.
//!
//! **Launch contract.** The kernels of this folder have no bounds checks. They rely on the following:
//! - The launch contract of `bvh::traverse` holds.
//! - There are rows of `k` neighbours for each query.
//! - A list of queries in doubt has room for all queries after its count.
//! - The indices of queries are distinct and below the number of rows.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

mod approx_search;
mod arguments;
mod bracket;
mod exact_search;
mod exact_walk;
mod insertion;
mod kth_distance;
mod launch;
mod limits;
mod rows;
mod seeds;
mod sweep_bracket;
mod sweep_nearest;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
pub(in crate::gpu) use crate::gpu::search::nearest::arguments::{NeighborRows, NeighborRowsLaunch, RowOrder};
pub(in crate::gpu) use crate::gpu::search::nearest::exact_search::widened;
pub(in crate::gpu) use crate::gpu::search::nearest::exact_walk::{Tally, point_of, walk_exactly};
pub(in crate::gpu) use crate::gpu::search::nearest::insertion::insert;
pub(in crate::gpu) use crate::gpu::search::nearest::kth_distance::{MAX_KTH, kth_distances2};
pub(in crate::gpu) use crate::gpu::search::nearest::limits::{Limits, LimitsLaunch, exact_limits};
pub use crate::gpu::search::nearest::rows::Neighbors;
use crate::gpu::search::query_points::QueryPoints;
use crate::search::nearest::Nearest;

/// The maximum number of neighbours that one search finds. For more, each further search finds the neighbours after
/// the last one.
pub(in crate::gpu) const MAX_K_PER_SEARCH: usize = 64;
/// The number of threads that search for points in doubt, which are usually few.
pub(in crate::gpu) const DOUBT_THREADS: usize = 1 << 18;

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Finds the nearest stored points of each stored point, nearest first, ties by index, as
    /// [`crate::Bvh::nearest_neighbors`].
    ///
    /// Rows are in the order of the points as they were given. `wanted` is `k` or a [`Nearest`].
    ///
    /// ```no_run
    /// use ropewalk::Nearest;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
    /// let graph = bvh.nearest_neighbors(Nearest::new(1).excluding_self())?.read()?;
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// For `k` above 64, another search with decisions in `f64` for each further 64 neighbours, which passes the
    /// neighbours found before. Memory: 12 `k` bytes per point. While it runs, 4 more. With 786,432 points or more on a
    /// device with warps, some 21 more (29 for `f64`).
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        on!(self.device, client => self.nearest_rows(client, wanted.into(), RowOrder::Caller))
    }

    /// Finds the nearest stored points of each of `points`, nearest first, ties by index, as
    /// [`crate::Bvh::nearest_all`].
    ///
    /// `points` need not be stored; lists are in their order. `wanted` is `k` or a [`Nearest`]. In a periodic box,
    /// the points may be anywhere. A point that is not finite has no neighbours.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
    /// let lists = bvh.nearest_all(&[[4.0f32, 0.0], [0.5, 0.0]], 2)?.read()?;
    /// assert_eq!((lists.of(0)[0].index, lists.of(0)[0].distance2), (2, 1.0));
    /// assert_eq!(lists.of(1).iter().map(|n| n.index).collect::<Vec<_>>(), [0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 12 `k` bytes per point; while it runs, by the sizes of buffers, some 60 more per point of three `f32`.
    pub fn nearest_all(&self, points: &[[S; D]], wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let wanted = wanted.into();
        on!(self.device, client => {
            let mut found = Neighbors::unfilled(client, self.device, points.len(), wanted.k, self.len())?;
            let Some(nodes) = self.nodes.as_ref().filter(|_| found.indices.len() > 0) else { return Ok(found) };
            let queries = QueryPoints::of_finite(client, points, &self.space)?;
            let n = queries.as_ref().map_or(0, |queries| queries.order.len());
            if n < points.len() {
                found.indices = Buffer::filled(client, found.indices.len(), u32::MAX);
            }
            if let Some(queries) = queries {
                self.fill_rows(client, nodes, &queries, &wanted, RowOrder::Caller, &found);
                end_phase(client, "nearest")?;
            }
            Ok(found)
        })
    }

    /// Finds the nearest stored points of each stored point, with rows in the given order.
    pub(in crate::gpu) fn nearest_rows<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        wanted: Nearest,
        row_order: RowOrder,
    ) -> Result<Neighbors> {
        let found = Neighbors::unfilled(client, self.device, self.len(), wanted.k, self.len())?;
        if let Some(nodes) = self.nodes.as_ref().filter(|_| found.k > 0) {
            let stored = QueryPoints { order: self.order.clone(), axes: self.axes.clone(), are_stored: true };
            self.fill_rows(client, nodes, &stored, &wanted, row_order, &found);
            end_phase(client, "nearest")?;
        }
        Ok(found)
    }

    /// Finds the squared distance from each stored point to its `k`-th nearest neighbour, in tree order. A point is not
    /// its own neighbour. There are more than `k` points, and `k` is above [`MAX_K_PER_SEARCH`]. Memory: 12 bytes per
    /// point for each neighbour of one search.
    ///
    /// Errors: more than 2^32 - 1 neighbours of one search in total; a failing device.
    pub(in crate::gpu) fn far_distances2<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        k: usize,
    ) -> Result<Buffer<f64>> {
        let n = self.len();
        let found = Neighbors::unfilled(client, self.device, n, MAX_K_PER_SEARCH, n)?;
        let distances2 = Buffer::new(client, n);
        if let Some(nodes) = self.nodes.as_ref() {
            let stored = QueryPoints { order: self.order.clone(), axes: self.axes.clone(), are_stored: true };
            self.fill_rows(client, nodes, &stored, &Nearest::new(k).excluding_self(), RowOrder::Tree, &found);
            let (rows, place) = (found.distances2.arg(), ((k - 1) % MAX_K_PER_SEARCH) as u32);
            let (blocks, dim, width) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK), MAX_K_PER_SEARCH as u32);
            take_place::launch::<R>(client, blocks, dim, rows, distances2.arg(), width, place, n as u32);
            end_phase(client, "nearest")?;
        }
        Ok(distances2)
    }

    /// Finds the nearest stored points of each of `points`, which are in the tree's space and within `bounds`. Rows
    /// are in the order of `points`.
    ///
    /// Errors: if the device fails.
    pub(in crate::gpu) fn nearest_of_placed<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        points: &Buffer<S>,
        bounds: &Aabb<S, D>,
        wanted: Nearest,
    ) -> Result<Neighbors> {
        let found = Neighbors::unfilled(client, self.device, points.len() / D, wanted.k, self.len())?;
        if let Some(nodes) = self.nodes.as_ref().filter(|_| found.indices.len() > 0) {
            let queries = QueryPoints::new(client, points, bounds)?;
            self.fill_rows(client, nodes, &queries, &wanted, RowOrder::Caller, &found);
            end_phase(client, "nearest")?;
        }
        Ok(found)
    }
}

/// Copies the number at one place of each row.
#[cube(launch)]
pub(in crate::gpu) fn take_place(rows: &Array<f64>, taken: &mut Array<f64>, width: u32, place: u32, n: u32) {
    let row = ABSOLUTE_POS;
    if (row as u32) < n {
        taken[row] = rows[row * width as usize + place as usize];
    }
}
