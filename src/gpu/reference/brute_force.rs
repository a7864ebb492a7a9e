//! Every query answered by testing every point on a device: the GPU counterpart of `reference::brute_force`.
//!
//! In: points and queries. Out: the results of [`Bvh`](crate::gpu::Bvh), method by method, with lists in ascending order
//! (`in_range`, `nearest`). No code of the tree takes part.
//! Cost: O(n) per query.

use cubecl::prelude::{ComputeClient, Runtime};

use crate::error::Result;
use crate::geometry::{BoxSize, Space};
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::reduce::sum;
use crate::gpu::primitives::rounding::check_distances;
use crate::gpu::reference::in_range::{RangeQuery, UploadedQueries};
use crate::gpu::reference::nearest::{NearestQueries, fill_rows};
use crate::gpu::search::nearest::Neighbors;
use crate::gpu::search::query_points::wrap_all;
use crate::gpu::search::shapes::rows::check_rows;
use crate::search::nearest::Nearest;

/// Points on a device, searched without a tree: the GPU counterpart of `ropewalk::reference::BruteForce`.
///
/// Results are those of [`Bvh`](crate::gpu::Bvh). Lists of hits and neighbours are in ascending order of the indices.
/// Use it to check other searches, and for sets of few points, which need no tree.
///
/// ```no_run
/// use ropewalk::Sphere;
/// use ropewalk::gpu::{BruteForce, Device};
///
/// let all = BruteForce::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
/// let lists = all.query_all(&[Sphere::new([0.0f32, 0.0], 1.0)])?.read()?;
/// assert_eq!(lists.of(0), [0, 1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// O(n) per query; a thread of the device answers each query. Memory: that of the coordinates.
#[derive(Clone, Debug)]
pub struct BruteForce<S, const D: usize> {
    points: Points<S, D>,
}

impl<S: Coordinate, const D: usize> BruteForce<S, D> {
    /// Copies points in open space to the device.
    ///
    /// # Errors
    /// As [`Points::new`] and [`BruteForce::from_points`].
    pub fn build(points: &[[S; D]], device: Device) -> Result<Self> {
        Self::from_points(&Points::new(points, device)?)
    }

    /// Copies points in a periodic box of the given side or sides to the device. Errors as [`BruteForce::build`].
    pub fn build_periodic(points: &[[S; D]], size: impl Into<BoxSize>, device: Device) -> Result<Self> {
        Self::from_points(&Points::new_periodic(points, size, device)?)
    }

    /// Stores points that are on a device, whose memory is shared.
    ///
    /// # Errors
    /// As [`Bvh::from_points`](crate::gpu::Bvh::from_points).
    pub fn from_points(points: &Points<S, D>) -> Result<Self> {
        on!(points.device, client => {
            check_distances::<_, S>(client, points.device, || points.smallest_nonzero)?;
            Ok(Self { points: points.clone() })
        })
    }

    /// Returns the number of stored points.
    pub fn len(&self) -> usize {
        self.points.len
    }

    /// Returns `true` if no point is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the space of the points.
    pub fn space(&self) -> &Space<D> {
        &self.points.space
    }

    /// Lists the stored points in each sphere or box, or equal to each point, in ascending order. Lists are in the order
    /// of the queries.
    ///
    /// Each list has the entries of [`Bvh::query_all`](crate::gpu::Bvh::query_all). Radii and faces are inclusive. A
    /// sphere with a negative or NaN radius, or with a centre that is not finite, has no hits. A box with a lower corner
    /// above its upper one has no hits either. In a periodic box, centres and corners may be anywhere.
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 entries in total, or more than a buffer of the device can hold.
    /// - The queries have more than 2^32 - 1 numbers in total, or more than a buffer can hold. A sphere has D, a box or
    ///   point 2 D, or 6 D in a periodic box.
    /// - The device fails.
    ///
    /// # Cost
    /// Two comparisons of each query with each point: hits are counted first, then listed. Memory: 4 bytes per entry and
    /// 4 per query; while it runs, the queries.
    pub fn query_all<Q: RangeQuery<S, D>>(&self, queries: &[Q]) -> Result<Csr> {
        on!(self.points.device, client => {
            let queries = Q::upload(client, self.space(), queries)?;
            end_phase(client, "queries")?;
            self.list(client, &queries)
        })
    }

    /// Counts the stored points in each sphere or box, in the order of the queries, as
    /// [`Bvh::count_all`](crate::gpu::Bvh::count_all). Queries are those of [`BruteForce::query_all`].
    ///
    /// # Errors
    /// There are too many queries, as for [`BruteForce::query_all`]; the device fails.
    pub fn count_all<Q: RangeQuery<S, D>>(&self, queries: &[Q]) -> Result<DeviceVec<u32>> {
        on!(self.points.device, client => {
            let queries = Q::upload(client, self.space(), queries)?;
            end_phase(client, "queries")?;
            self.count(client, &queries)
        })
    }

    /// Finds the nearest stored points of each of `points`, nearest first, ties by index, as
    /// [`Bvh::nearest_all`](crate::gpu::Bvh::nearest_all), which describes `wanted`.
    ///
    /// In a periodic box, the points may be anywhere. A point that is not finite has no neighbours.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{BruteForce, Device};
    ///
    /// let all = BruteForce::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
    /// let lists = all.nearest_all(&[[4.0f32, 0.0]], 2)?.read()?;
    /// assert_eq!((lists.of(0)[0].index, lists.of(0)[0].distance2), (2, 1.0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours or coordinates in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// A comparison of each query with each point for each 64 neighbours. Memory: 12 `k` bytes per query; while it runs,
    /// the queries and 8 bytes for each.
    pub fn nearest_all(&self, points: &[[S; D]], wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let wanted = wanted.into();
        on!(self.points.device, client => {
            check_rows(client, points.len(), D)?;
            let found = Neighbors::unfilled(client, self.points.device, points.len(), wanted.k, self.len())?;
            if found.indices.len() > 0 {
                let (wrapped, bounds) = wrap_all(points.len(), self.space(), &|at| points[at]);
                let own_radius2 = radius2(&wanted);
                // Nothing is within the radius of a point that is not finite, so its position does not matter.
                let placed: Vec<[S; D]> = wrapped.iter().map(|point| point.unwrap_or(bounds.lo)).collect();
                let radius2: Vec<f64> = wrapped.iter().map(|point| point.map_or(-1.0, |_| own_radius2)).collect();
                let queries = NearestQueries {
                    values: Buffer::from_slice(client, placed.as_flattened()),
                    radius2: Buffer::from_slice(client, &radius2),
                    own_radii: true,
                };
                fill_rows(client, &self.points, &queries, &wanted, &found);
                end_phase(client, "nearest")?;
            }
            Ok(found)
        })
    }

    /// Finds the nearest stored points of each stored point, nearest first, ties by index, as
    /// [`Bvh::nearest_neighbors`](crate::gpu::Bvh::nearest_neighbors).
    ///
    /// # Errors
    /// As [`BruteForce::nearest_all`].
    ///
    /// # Cost
    /// A comparison of each pair of points for each 64 neighbours. Memory: 12 `k` bytes per point.
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let wanted = wanted.into();
        on!(self.points.device, client => {
            let found = Neighbors::unfilled(client, self.points.device, self.len(), wanted.k, self.len())?;
            if found.indices.len() > 0 {
                let radius2 = Buffer::from_slice(client, &[radius2(&wanted)]);
                let queries = NearestQueries { values: self.points.values.clone(), radius2, own_radii: false };
                fill_rows(client, &self.points, &queries, &wanted, &found);
                end_phase(client, "nearest")?;
            }
            Ok(found)
        })
    }

    /// Counts the stored points within `radius` of each stored point, itself included, as
    /// [`Bvh::count_neighbors`](crate::gpu::Bvh::count_neighbors).
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Cost
    /// A comparison of each pair of points. Memory: 4 bytes per point.
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<DeviceVec<u32>> {
        let radius = radius.into();
        on!(self.points.device, client => {
            self.count(client, &UploadedQueries::about_stored(client, &self.points, radius))
        })
    }

    /// Lists the stored points within `radius` of each stored point, itself included, in ascending order. The lists have
    /// the entries of [`Bvh::neighbors`](crate::gpu::Bvh::neighbors).
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Two comparisons of each pair of points. Memory: 4 bytes per neighbour and 4 per point.
    pub fn neighbors(&self, radius: impl Into<f64>) -> Result<Csr> {
        let radius = radius.into();
        on!(self.points.device, client => {
            self.list(client, &UploadedQueries::about_stored(client, &self.points, radius))
        })
    }

    /// Counts the pairs of stored points within `radius` of each other, each once, as
    /// [`Bvh::count_pairs`](crate::gpu::Bvh::count_pairs).
    ///
    /// # Errors
    /// If the device fails.
    pub fn count_pairs(&self, radius: impl Into<f64>) -> Result<u64> {
        let counts = self.count_neighbors(radius)?;
        // Each pair is counted twice, and each point with itself, unless nothing is within the radius.
        on!(self.points.device, client => Ok(sum(client, &counts.values)?.saturating_sub(self.len() as u64) / 2))
    }

    fn count<R: Runtime>(&self, client: &ComputeClient<R>, queries: &UploadedQueries<S>) -> Result<DeviceVec<u32>> {
        let counts = Buffer::filled(client, queries.len(), 0);
        queries.find(client, &self.points, &counts, None);
        end_phase(client, "count")?;
        Ok(DeviceVec { device: self.points.device, values: counts })
    }

    fn list<R: Runtime>(&self, client: &ComputeClient<R>, queries: &UploadedQueries<S>) -> Result<Csr> {
        let offsets = Buffer::filled(client, queries.len() + 1, 0);
        queries.find(client, &self.points, &offsets, None);
        let values = Csr::allocate_values(client, &offsets)?;
        end_phase(client, "count")?;
        let counts = Buffer::filled(client, queries.len(), 0);
        queries.find(client, &self.points, &counts, Some((&offsets, &values)));
        end_phase(client, "list")?;
        Ok(Csr { device: self.points.device, offsets, values })
    }
}

/// Returns the squared radius of a search; negative if nothing is within.
fn radius2(wanted: &Nearest) -> f64 {
    if wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 }
}
