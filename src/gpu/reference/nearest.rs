//! The nearest points of each query, by comparing each point with each query.
//!
//! In: points and queries. Out: rows of neighbours, nearest first, ties by index. A thread compares its query with all
//! points of a tile (`tile`). If a distance in the points' type shows that a point may be among the nearest, its distance
//! in `f64` decides.
//! Cost: O(n) per query for each 64 neighbours, and `k` comparisons for each point that is among the nearest so far.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::metric::{distance2, exact_distance2};
use crate::gpu::reference::tile::{StoredPoints, TILE, for_each_span, point_of_tile};
use crate::gpu::search::nearest::{
    Limits, LimitsLaunch, MAX_K_PER_SEARCH, NeighborRows, NeighborRowsLaunch, Neighbors, exact_limits, insert, widened,
};
use crate::search::nearest::{Excluded, Nearest};

/// Points whose neighbours are searched for, on a device.
pub(super) struct NearestQueries<S> {
    /// Coordinates, point by point.
    pub values: Buffer<S>,
    /// The squared radius of all queries or of each; negative if nothing is within.
    pub radius2: Buffer<f64>,
    /// `true` if each query has its own radius.
    pub own_radii: bool,
}

/// Fills the rows of neighbours. There is at least one row, with at least one place.
pub(super) fn fill_rows<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    points: &Points<S, D>,
    queries: &NearestQueries<S>,
    wanted: &Nearest,
    found: &Neighbors,
) {
    let n = queries.values.len() / D;
    let excluded = if let Excluded::Index(index) = wanted.excluded { index } else { u32::MAX };
    let limits = exact_limits::<_, S, D>(client, &points.space, f64::INFINITY);
    for from in (0..found.k).step_by(MAX_K_PER_SEARCH) {
        for_each_span(client, points, |first, stored| {
            let spec = NearestSpec {
                d: D,
                periodic: points.space.period().is_some(),
                k: MAX_K_PER_SEARCH.min(found.k - from),
                own_radii: queries.own_radii,
                excludes_self: wanted.excluded == Excluded::Own,
                is_first: from == 0,
                resumes: first > 0,
            };
            let (indices, distances2) = (found.indices.arg(), found.distances2.arg());
            find_nearest::launch::<S, R>(
                client,
                blocks_for(n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                stored,
                QueriesLaunch::new(queries.values.arg(), queries.radius2.arg(), excluded, n as u32),
                LimitsLaunch::new(limits.arg()),
                NeighborRowsLaunch::new(indices, distances2, from as u32, found.k as u32),
                spec,
            );
        });
    }
}

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NearestSpec {
    d: usize,
    periodic: bool,
    /// The number of neighbours that this search finds.
    k: usize,
    own_radii: bool,
    /// `true` if a point is not its own neighbour.
    excludes_self: bool,
    /// `true` for the first search of each row. Others find the neighbours after the last one of the previous search.
    is_first: bool,
    /// `true` if the rows hold the nearest of the points before.
    resumes: bool,
}

/// The queries as arguments of the kernel.
#[derive(CubeType, CubeLaunch)]
struct Queries<F: Float> {
    values: Array<F>,
    radius2: Array<f64>,
    /// The index of the excluded point.
    excluded: u32,
    n: u32,
}

/// Finds the `k` nearest points of each query.
#[cube(launch)]
fn find_nearest<F: Float>(
    stored: &StoredPoints<F>,
    queries: &Queries<F>,
    limits: &Limits,
    rows: &mut NeighborRows,
    #[comptime] spec: NearestSpec,
) {
    let (d, k, periodic) = comptime!((spec.d, spec.k, spec.periodic));
    let mut shared = SharedMemory::<F>::new(comptime!(TILE as usize * spec.d));
    // All threads of a block load points and wait for each other, so surplus threads have the last query.
    let is_query = (ABSOLUTE_POS as u32) < queries.n;
    let query = min(ABSOLUTE_POS as u32, queries.n - 1);
    let mut point = Array::<F>::new(d);
    #[unroll]
    for axis in 0..d {
        point[axis] = queries.values[query as usize * d + axis];
    }
    let mut left_out = queries.excluded + 0;
    if comptime!(spec.excludes_self) {
        left_out = query;
    }
    let mut own = 0usize.runtime();
    if comptime!(spec.own_radii) {
        own = query as usize;
    }
    let mut radius2 = queries.radius2[own] + f64::new(0.0);
    let row = query as usize * rows.width as usize + rows.from as usize;
    let mut last2 = f64::new(-1.0);
    let mut last_of = 0u32.runtime();
    if comptime!(!spec.is_first) {
        last2 = rows.distances2[row - 1];
        last_of = rows.indices[row - 1];
        // If the previous search left a free place, no neighbours remain.
        radius2 = select(last_of == u32::MAX, f64::new(-1.0), radius2);
    }
    // The nearest points so far. Free places hold the squared radius, so that any point within it is nearer.
    let mut distances2 = Array::<f64>::new(k);
    let mut indices = Array::<u32>::new(k);
    #[unroll]
    for place in 0..k {
        if comptime!(spec.resumes) {
            distances2[place] = rows.distances2[row + place];
            indices[place] = rows.indices[row + place];
        } else {
            distances2[place] = radius2;
            indices[place] = u32::MAX.runtime();
        }
    }
    let mut limit = widened::<F>(distances2[comptime!(k - 1)], limits);

    for tile in 0..stored.tiles() {
        let len = stored.load(tile, &mut shared, d);
        sync_cube();
        if is_query {
            for at in 0..len {
                // The corners are the axes of one point.
                let other = point_of_tile::<F>(&shared, at, d);
                if distance2::<F>(&other, 0u32, 1u32, &point, &stored.sides, d, periodic) <= limit {
                    let index = stored.first_of(tile) + at;
                    let d2 = exact_distance2::<F>(&other, 0u32, 1u32, &point, &stored.exact_sides, d, periodic);
                    let mut is_nearer = index != left_out;
                    if comptime!(!spec.is_first) {
                        is_nearer = is_nearer && (d2 > last2 || (d2 == last2 && index > last_of));
                    }
                    let (held, held_of) = (distances2[comptime!(k - 1)], indices[comptime!(k - 1)]);
                    is_nearer = is_nearer && (d2 < held || (d2 == held && index < held_of));
                    if is_nearer {
                        insert(&mut distances2, &mut indices, d2, index, k);
                        limit = widened::<F>(distances2[comptime!(k - 1)], limits);
                    }
                }
            }
        }
        sync_cube();
    }
    if is_query {
        #[unroll]
        for place in 0..k {
            rows.distances2[row + place] = distances2[place];
            rows.indices[row + place] = indices[place];
        }
    }
}
