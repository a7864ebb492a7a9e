//! The points in spheres and boxes, by comparing each point with each query.
//!
//! In: points and queries. Out: counts, or lists in ascending order. A thread compares its query with all points of a
//! tile (`tile`). Distances in the points' type decide nearly all comparisons with spheres, and distances in `f64` decide
//! the others. Comparisons with boxes do not round.
//! Cost: O(n) per query.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, FilteredRadius, Space, Sphere};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::metric::{distance2, exact_distance2};
use crate::gpu::reference::tile::{StoredPoints, TILE, for_each_span, point_of_tile};
use crate::gpu::search::boxes::{BoxSpec, ends_of, takes};
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::rows::check_rows;
use crate::gpu::search::sorted_shapes::PlacedSpheres;

/// A query of [`BruteForce`](crate::gpu::BruteForce): a [`Sphere`], an [`Aabb`] or a point.
pub trait RangeQuery<S: Coordinate, const D: usize>: Query<S, D> + Sized {
    /// Copies queries to the device.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn upload<R: Runtime>(client: &ComputeClient<R>, space: &Space<D>, queries: &[Self]) -> Result<UploadedQueries<S>>;
}

/// Queries on a device.
pub(super) struct UploadedQueries<S> {
    /// The centres of spheres, or the ends of the intervals of boxes, query by query.
    rows: Buffer<S>,
    /// The thresholds and the squares of radii, one for all queries or one for each ([`FilteredRadius`]).
    filters: Buffer<S>,
    radius2: Buffer<f64>,
    n: usize,
    shape: RangeShape,
}

/// The shape of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RangeShape {
    /// Spheres with the same radius.
    SameRadius,
    /// Spheres with a radius each.
    OwnRadii,
    Boxes,
}

impl<S: Coordinate, const D: usize> RangeQuery<S, D> for Sphere<S, D> {
    #[allow(private_interfaces)]
    fn upload<R: Runtime>(client: &ComputeClient<R>, space: &Space<D>, queries: &[Self]) -> Result<UploadedQueries<S>> {
        check_rows(client, queries.len(), D)?;
        let PlacedSpheres { centers, filters, radius2, .. } = PlacedSpheres::new(space, queries);
        Ok(UploadedQueries {
            rows: Buffer::from_slice(client, centers.as_flattened()),
            filters: Buffer::from_slice(client, filters.as_flattened()),
            radius2: Buffer::from_slice(client, &radius2),
            n: queries.len(),
            shape: RangeShape::OwnRadii,
        })
    }
}

impl<S: Coordinate, const D: usize> RangeQuery<S, D> for Aabb<S, D> {
    #[allow(private_interfaces)]
    fn upload<R: Runtime>(client: &ComputeClient<R>, space: &Space<D>, queries: &[Self]) -> Result<UploadedQueries<S>> {
        check_rows(client, queries.len(), 2 * D * images_in(space.period().is_some()))?;
        let (ends, _) = ends_of(space, queries);
        Ok(UploadedQueries {
            rows: Buffer::from_slice(client, &ends),
            filters: Buffer::new(client, 0),
            radius2: Buffer::new(client, 0),
            n: queries.len(),
            shape: RangeShape::Boxes,
        })
    }
}

impl<S: Coordinate, const D: usize> RangeQuery<S, D> for [S; D] {
    #[allow(private_interfaces)]
    fn upload<R: Runtime>(client: &ComputeClient<R>, space: &Space<D>, queries: &[Self]) -> Result<UploadedQueries<S>> {
        let boxes: Vec<Aabb<S, D>> = queries.iter().map(|&point| Aabb::point(point)).collect();
        Aabb::upload(client, space, &boxes)
    }
}

/// The number of intervals of a box along an axis.
fn images_in(periodic: bool) -> usize {
    if periodic { 3 } else { 1 }
}

impl<S: Coordinate> UploadedQueries<S> {
    /// Spheres with the same radius around the stored points.
    pub fn about_stored<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        points: &Points<S, D>,
        radius: f64,
    ) -> Self {
        let filter = FilteredRadius::<S, D>::new(radius, &points.space);
        Self {
            rows: points.values.clone(),
            filters: Buffer::from_slice(client, &[filter.certain_limit, filter.possible_limit]),
            radius2: Buffer::from_slice(client, &[filter.radius2]),
            n: points.len,
            shape: RangeShape::SameRadius,
        }
    }

    pub fn len(&self) -> usize {
        self.n
    }

    /// Adds the number of points in each query to `counts`. If `lists` has offsets and a buffer, also writes the points
    /// there; then `counts` is 0.
    pub fn find<R: Runtime, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, D>,
        counts: &Buffer<u32>,
        lists: Option<(&Buffer<u32>, &Buffer<u32>)>,
    ) {
        if self.n == 0 {
            return;
        }
        let spec =
            RangeSpec { d: D, periodic: points.space.period().is_some(), shape: self.shape, lists: lists.is_some() };
        // Without lists, their buffers are not used.
        let unused = [Buffer::new(client, 0), Buffer::new(client, 0)];
        let (offsets, values) = lists.unwrap_or((&unused[0], &unused[1]));
        for_each_span(client, points, |_, stored| {
            find_in_range::launch::<S, R>(
                client,
                blocks_for(self.n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                stored,
                QueriesLaunch::new(self.rows.arg(), self.filters.arg(), self.radius2.arg(), self.n as u32),
                offsets.arg(),
                counts.arg(),
                values.arg(),
                spec,
            );
        });
    }
}

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RangeSpec {
    d: usize,
    periodic: bool,
    shape: RangeShape,
    /// `true` if points are listed, not only counted.
    lists: bool,
}

impl RangeSpec {
    /// The length of a row.
    fn width(self) -> usize {
        if self.shape == RangeShape::Boxes { 2 * self.d * images_in(self.periodic) } else { self.d }
    }

    fn of_boxes(self) -> BoxSpec {
        BoxSpec { d: self.d, images: images_in(self.periodic), lists: self.lists }
    }
}

/// The queries as arguments of the kernel.
#[derive(CubeType, CubeLaunch)]
struct Queries<F: Float> {
    rows: Array<F>,
    filters: Array<F>,
    radius2: Array<f64>,
    n: u32,
}

/// The query of a thread.
#[derive(CubeType)]
struct OwnQuery<F: Float> {
    row: Array<F>,
    /// The thresholds of the squared radius in the points' type.
    certain: F,
    possible: F,
    radius2: f64,
}

#[cube]
impl<F: Float> Queries<F> {
    fn at(&self, query: u32, #[comptime] spec: RangeSpec) -> OwnQuery<F> {
        let width = comptime!(spec.width());
        let mut row = Array::<F>::new(width);
        #[unroll]
        for k in 0..width {
            row[k] = self.rows[query as usize * width + k];
        }
        let mut own = 0usize.runtime();
        if comptime!(spec.shape == RangeShape::OwnRadii) {
            own = query as usize;
        }
        let (certain, possible) = (self.filters[2 * own], self.filters[2 * own + 1]);
        OwnQuery::<F> { row, certain, possible, radius2: self.radius2[own] }
    }
}

/// Counts or lists the points in each query.
#[cube(launch)]
fn find_in_range<F: Float>(
    stored: &StoredPoints<F>,
    queries: &Queries<F>,
    offsets: &Array<u32>,
    counts: &mut Array<u32>,
    lists: &mut Array<u32>,
    #[comptime] spec: RangeSpec,
) {
    let d = comptime!(spec.d);
    let mut shared = SharedMemory::<F>::new(comptime!(TILE as usize * spec.d));
    // All threads of a block load points and wait for each other, so surplus threads have the last query.
    let is_query = (ABSOLUTE_POS as u32) < queries.n;
    let query = min(ABSOLUTE_POS as u32, queries.n - 1);
    let own = queries.at(query, spec);
    let mut count = counts[query as usize] + 0;
    let mut begin = 0u32.runtime();
    if comptime!(spec.lists) {
        begin = offsets[query as usize];
    }
    for tile in 0..stored.tiles() {
        let len = stored.load(tile, &mut shared, d);
        sync_cube();
        if is_query {
            for at in 0..len {
                let corners = point_of_tile::<F>(&shared, at, d);
                if is_in_range::<F>(&own, &corners, stored, spec) {
                    if comptime!(spec.lists) {
                        lists[(begin + count) as usize] = stored.first_of(tile) + at;
                    }
                    count += 1;
                }
            }
        }
        sync_cube();
    }
    if is_query {
        counts[query as usize] = count;
    }
}

/// Returns `true` if the query contains the point whose corners are given.
#[cube]
fn is_in_range<F: Float>(
    own: &OwnQuery<F>,
    corners: &Array<F>,
    stored: &StoredPoints<F>,
    #[comptime] spec: RangeSpec,
) -> bool {
    let (d, periodic) = comptime!((spec.d, spec.periodic));
    if comptime!(spec.shape == RangeShape::Boxes) {
        takes::<F>(&own.row, corners, false, comptime!(spec.of_boxes()))
    } else {
        // The corners are the axes of one point.
        let rounded = distance2::<F>(corners, 0u32, 1u32, &own.row, &stored.sides, d, periodic);
        let mut is_in = rounded <= own.certain;
        if !is_in && rounded <= own.possible {
            is_in =
                exact_distance2::<F>(corners, 0u32, 1u32, &own.row, &stored.exact_sides, d, periodic) <= own.radius2;
        }
        is_in
    }
}
