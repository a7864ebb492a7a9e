//! The k nearest neighbours of stored points or of other points: the GPU counterpart of `search::nearest`.
//!
//! In: `k` and, optionally, points that are not stored. Out: the neighbours of each point, nearest first, ties by
//! index.
//! Points that are not stored are first sorted along the Morton curve (`search::query_points`). They start at the
//! leaf to which a descent by the nearer child leads; stored points start at their own position.
//! Warps find neighbours by rounded distances (`approx_search`), and list the points in doubt. These, and all points
//! on devices without warps, are searched with decisions in `f64` (`exact_search`), as on the CPU.
//! Cost: O(k + depth) leaves for a compact cloud, and twice that if many distances are equal, as in lattices. For n
//! copies of a point, O(n) each.
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
mod kth_distance;
mod limits;
mod rows;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::errors;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::approx_search::find_approximately;
pub(in crate::gpu) use crate::gpu::search::nearest::arguments::RowOrder;
use crate::gpu::search::nearest::arguments::{KnnSpec, NeighborRowsLaunch, QueriesLaunch, SearchLaunch};
use crate::gpu::search::nearest::exact_search::find_exactly;
pub(in crate::gpu) use crate::gpu::search::nearest::exact_search::widened;
pub(in crate::gpu) use crate::gpu::search::nearest::exact_walk::{Tally, point_of, walk_exactly};
pub(in crate::gpu) use crate::gpu::search::nearest::kth_distance::{MAX_KTH, kth_distances2};
use crate::gpu::search::nearest::limits::{ApproxLimits, ApproxLimitsLaunch};
pub(in crate::gpu) use crate::gpu::search::nearest::limits::{Limits, LimitsLaunch};
pub use crate::gpu::search::nearest::rows::Neighbors;
use crate::gpu::search::query_points::QueryPoints;
use crate::search::nearest::{Excluded, Nearest};

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
    /// neighbours found before. Memory: 12 `k` bytes per point, and 4 more while it runs.
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
            let mut found = self.unfilled(client, points.len(), &wanted)?;
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
        let found = self.unfilled(client, self.len(), &wanted)?;
        if let Some(nodes) = self.nodes.as_ref().filter(|_| found.k > 0) {
            let stored = QueryPoints { order: self.order.clone(), axes: self.axes.clone(), are_stored: true };
            self.fill_rows(client, nodes, &stored, &wanted, row_order, &found);
            end_phase(client, "nearest")?;
        }
        Ok(found)
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
        let found = self.unfilled(client, points.len() / D, &wanted)?;
        if let Some(nodes) = self.nodes.as_ref().filter(|_| found.indices.len() > 0) {
            let queries = QueryPoints::new(client, points, bounds)?;
            self.fill_rows(client, nodes, &queries, &wanted, RowOrder::Caller, &found);
            end_phase(client, "nearest")?;
        }
        Ok(found)
    }

    /// Allocates rows for the neighbours of `n` points.
    fn unfilled<R: Runtime>(&self, client: &ComputeClient<R>, n: usize, wanted: &Nearest) -> Result<Neighbors> {
        // A larger `k` gives all points.
        let k = wanted.k.min(self.len());
        let values = n as u128 * k as u128;
        if values > u128::from(u32::MAX) {
            return Err(errors::too_many_values(values, "neighbours"));
        }
        check_allocation(client, 8 * values)?;
        let (indices, distances2) = (Buffer::new(client, n * k), Buffer::new(client, n * k));
        Ok(Neighbors { device: self.device, n, k, indices, distances2 })
    }

    /// Searches for each query. There is at least one query, and `found.k` is at least 1.
    fn fill_rows<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        queries: &QueryPoints<S>,
        wanted: &Nearest,
        row_order: RowOrder,
        found: &Neighbors,
    ) {
        let n = queries.order.len();
        let radius2 = if wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 };
        // The index of the excluded point, if it is the same for all queries.
        let excluded = if let Excluded::Index(index) = wanted.excluded { index } else { u32::MAX };
        let [relative, absolute] = FilteredRadius::<S, D>::errors(&self.space);
        let limits = self.limits(client, radius2);
        let search = || {
            let (order, queries) =
                (self.order.arg(), QueriesLaunch::new(queries.axes.arg(), queries.order.arg(), n as u32));
            SearchLaunch::new(order, queries, LimitsLaunch::new(limits.arg()), nodes.end() as u32, excluded)
        };
        let rows =
            |from| NeighborRowsLaunch::new(found.indices.arg(), found.distances2.arg(), from as u32, found.k as u32);
        let warp = Warp::new(client).apart();
        let spec = KnnSpec {
            warp,
            d: D,
            periodic: self.space.period().is_some(),
            k: found.k.min(MAX_K_PER_SEARCH),
            is_part: found.k > MAX_K_PER_SEARCH,
            is_first: true,
            are_stored: queries.are_stored,
            excludes_self: wanted.excluded == Excluded::Own,
            excludes_index: excluded != u32::MAX,
            row_order,
        };
        let listed = warp.is_some();
        let mut doubted = queries.order.clone();
        if listed {
            // A factor of `(1 - relative)^-2` bounds an exact square by a rounded one, and another factor bounds
            // other rounded squares. The exponent -6 adds a margin.
            let factor = (1.0 - relative).powi(-6);
            let root = radius2.max(0.0).sqrt() + absolute;
            let limit = if radius2 < 0.0 { -1.0 } else { (root * root).max(S::SAFE_SQUARES.start) * factor };
            let approx = [limit, factor, 2.0 * absolute, S::SAFE_SQUARES.start, f64::INFINITY].map(S::from_f64);
            let approx = ApproxLimitsLaunch::new(Buffer::from_slice(client, &approx).arg());
            doubted = Buffer::filled(client, n + 1, 0);
            let (blocks, dim) = warp.blocks(n, approx_search::BLOCK_THREADS);
            let (tree, search, rows) = (self.tree(client, nodes), search(), rows(0));
            // SAFETY: the launch contract of this module. `found` has `k` places for each of the `n` queries, and
            // `doubted` has `n + 1` elements.
            unsafe {
                find_approximately::launch_unchecked::<S, _>(
                    client,
                    blocks,
                    dim,
                    tree,
                    search,
                    approx,
                    rows,
                    doubted.arg(),
                    spec,
                );
            }
        }
        for from in (0..found.k).step_by(MAX_K_PER_SEARCH) {
            let (is_first, listed) = (from == 0, listed && from == 0);
            let (blocks, dim) =
                (blocks_for(if listed { n.min(DOUBT_THREADS) } else { n }), CubeDim::new_1d(THREADS_PER_BLOCK));
            let (tree, search, rows) = (self.tree(client, nodes), search(), rows(from));
            // SAFETY: the launch contract of this module. If `listed`, `doubted` holds numbers of queries, written by
            // `find_approximately`; otherwise it is not read.
            unsafe {
                find_exactly::launch_unchecked::<S, _>(
                    client,
                    blocks,
                    dim,
                    tree,
                    search,
                    doubted.arg(),
                    rows,
                    listed,
                    KnnSpec { is_first, ..spec },
                );
            }
        }
    }
}
