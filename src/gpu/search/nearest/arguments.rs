//! The arguments of the kernels that search for nearest neighbours: compile-time options, queries, limits and rows.

use cubecl::prelude::*;

use crate::gpu::metric::point_at;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::limits::Limits;

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum RowOrder {
    Caller,
    Tree,
}

/// The compile-time options of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KnnSpec {
    /// The way in which the threads of a warp search together, if they do.
    pub warp: Warp,
    pub d: usize,
    pub periodic: bool,
    /// The number of neighbours that one search finds.
    pub k: usize,
    /// `true` if rows have more than `k` places.
    pub is_part: bool,
    /// `true` if each search replaces the neighbours that the previous one found for a row.
    pub replaces: bool,
    /// `true` for the first search of each row.
    pub is_first: bool,
    /// `true` if the queries are the stored points in tree order.
    pub are_stored: bool,
    /// `true` if a point is not its own neighbour.
    pub excludes_self: bool,
    /// `true` if the point with one given index is not a neighbour of any query.
    pub excludes_index: bool,
    pub row_order: RowOrder,
    /// `true` if only some groups of queries are searched for.
    pub only_heavy: bool,
}

impl KnnSpec {
    /// A search for the `k` nearest points of each stored point, which is one of them.
    pub(super) fn of_stored(warp: Warp, d: usize, periodic: bool, k: usize) -> Self {
        Self {
            warp,
            d,
            periodic,
            k,
            is_part: false,
            replaces: false,
            is_first: true,
            are_stored: true,
            excludes_self: false,
            excludes_index: false,
            row_order: RowOrder::Caller,
            only_heavy: false,
        }
    }
}

/// The stored points, the queries, and the limits of distances.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Search<F: Float> {
    /// The index of each stored point.
    pub order: Array<u32>,
    pub queries: Queries<F>,
    pub limits: Limits,
    /// The number of nodes.
    pub end: u32,
    /// The index of the excluded point.
    pub excluded: u32,
}

/// The points whose neighbours are searched for.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Queries<F: Float> {
    /// Coordinates, axis by axis.
    pub axes: Array<F>,
    /// The index of each query in the order of the queries as they were given.
    pub order: Array<u32>,
    pub n: u32,
}

#[cube]
impl<F: Float> Search<F> {
    /// Returns `true` if the point at a position is not excluded for a query.
    pub fn allows(&self, position: u32, query: u32, #[comptime] spec: KnnSpec) -> bool {
        let mut allowed = true.runtime();
        if comptime!(spec.excludes_self && spec.are_stored) {
            allowed = position != query;
        }
        if comptime!(spec.excludes_self && !spec.are_stored) {
            allowed = self.order[position as usize] != self.queries.order[query as usize];
        }
        if comptime!(spec.excludes_index) {
            allowed = self.order[position as usize] != self.excluded;
        }
        allowed
    }
}

#[cube]
impl<F: Float> Queries<F> {
    pub fn point(&self, query: u32, #[comptime] d: usize) -> Array<F> {
        point_at::<F>(&self.axes, query, self.n, d)
    }

    /// Returns the row of a query.
    pub fn row(&self, query: u32, #[comptime] row_order: RowOrder) -> usize {
        let mut row = query as usize;
        if comptime!(row_order == RowOrder::Caller) {
            row = self.order[query as usize] as usize;
        }
        row
    }
}

/// The rows of the result.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct NeighborRows {
    pub indices: Array<u32>,
    pub distances2: Array<f64>,
    /// The first place in a row that a search fills, and the number of places in a row.
    pub from: u32,
    pub width: u32,
}
