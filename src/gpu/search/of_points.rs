//! Queries around points that are in device memory: neighbours within a radius, and nearest primitives.
//!
//! In: [`Points`], which need not be stored. Out: results in their order.
//! Cost: that of sorting the points along the Morton curve, and of the search. Nothing is copied from the host.

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::{BoxBvh, Bvh, Coordinate, Points};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::search::nearest::Neighbors;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::query_points::QueryPoints;
use crate::gpu::search::shapes::nearest::{OfBoxes, nearest_of_rows, sorted_points};
use crate::gpu::search::shapes::{Distance, ValueBvh};
use crate::search::nearest::Nearest;

/// Checks that points are on the device of a tree or mesh, which `what` names, and in its space.
pub(super) fn check_place<S, const D: usize>(
    points: &Points<S, D>,
    what: &'static str,
    device: Device,
    space: &Space<D>,
) -> Result<()> {
    check_same(["the points", what], [points.device, device])?;
    if points.space == *space { Ok(()) } else { Err(errors::other_space(what)) }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Lists the stored points within `radius` (inclusive) of each of `points`, which are on the device and need not be
    /// stored. Lists are in the order of `points`, their entries in the order of the tree.
    ///
    /// The result is that of [`Bvh::query_all`] with a sphere around each point.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device, DeviceVec, Points};
    ///
    /// let device = Device::first()?;
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], device)?;
    /// let coordinates = DeviceVec::new(&[4.5f32, 0.0, 9.0, 9.0], device)?;
    /// let lists = bvh.neighbors_of(&Points::from_device(&coordinates, None::<f64>)?, 1.0)?.read()?;
    /// assert_eq!((lists.of(0), lists.of(1).len()), (&[1][..], 0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The points are on another device, or in another space than the tree.
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per neighbour and 4 per point; while it runs, by the sizes of buffers, some 60 more per point of
    /// three `f32`.
    pub fn neighbors_of(&self, points: &Points<S, D>, radius: impl Into<f64>) -> Result<Csr> {
        check_place(points, "the tree", self.device, &self.space)?;
        on!(self.device, client => {
            let Some(nodes) = self.nodes.as_ref().filter(|_| !points.is_empty()) else {
                let offsets = Buffer::filled(client, points.len() + 1, 0);
                return Ok(Csr { device: self.device, offsets, values: Buffer::new(client, 0) });
            };
            let QueryPoints { order, axes, .. } = QueryPoints::new(client, &points.values, &points.bounds)?;
            let asked = self.balls_about(client, &axes, points.len(), radius.into());
            self.lists_of(client, nodes, &asked, &order)
        })
    }

    /// Counts the stored points within `radius` (inclusive) of each of `points`, as [`Bvh::neighbors_of`] lists them.
    /// Counts are in the order of `points`.
    ///
    /// # Errors
    /// - The points are on another device, or in another space than the tree.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per point; while it runs, as [`Bvh::neighbors_of`].
    pub fn count_neighbors_of(&self, points: &Points<S, D>, radius: impl Into<f64>) -> Result<DeviceVec<u32>> {
        check_place(points, "the tree", self.device, &self.space)?;
        on!(self.device, client => {
            let counts = Buffer::<u32>::filled(client, points.len(), 0);
            if let Some(nodes) = self.nodes.as_ref().filter(|_| !points.is_empty()) {
                let QueryPoints { order, axes, .. } = QueryPoints::new(client, &points.values, &points.bounds)?;
                let asked = self.balls_about(client, &axes, points.len(), radius.into());
                let (rows, counted, mode) = (|| order.arg(), || counts.arg(), TraversalMode::Whole);
                self.walk_queries::<_, Count>(client, nodes, &asked, mode, rows, counted);
            }
            end_phase(client, "counts")?;
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }

    /// Finds the nearest stored points of each of `points`, which are on the device and need not be stored: nearest
    /// first, ties by index. Rows are in the order of `points`.
    ///
    /// The result is that of [`Bvh::nearest_all`]. `wanted` is `k` or a [`Nearest`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device, DeviceVec, Points};
    ///
    /// let device = Device::first()?;
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], device)?;
    /// let coordinates = DeviceVec::new(&[4.5f32, 0.0], device)?;
    /// let near = bvh.nearest_of(&Points::from_device(&coordinates, None::<f64>)?, 1)?;
    /// assert_eq!(near.indices().read()?, [1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The points are on another device, or in another space than the tree.
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// That of [`Bvh::nearest_all`], without a transfer.
    pub fn nearest_of(&self, points: &Points<S, D>, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        check_place(points, "the tree", self.device, &self.space)?;
        on!(self.device, client => self.nearest_of_placed(client, &points.values, &points.bounds, wanted.into()))
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Finds the stored boxes nearest to each of `points`, which are on the device: nearest first, ties by index. Rows
    /// are in the order of `points`.
    ///
    /// The result is that of [`BoxBvh::nearest_all`]. `wanted` is `k` or a [`Nearest`]. Errors and cost as for
    /// [`Bvh::nearest_of`].
    pub fn nearest_of(&self, points: &Points<S, D>, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        check_place(points, "the tree", self.device, &self.space)?;
        let wanted = wanted.into();
        on!(self.device, client => {
            let tree = self.searched().map(|tree| (tree, None));
            nearest_of_rows::<_, OfBoxes, S, D>(client, self.device, tree, (points.len(), wanted.k), |_| {
                sorted_points(client, points, wanted)
            })
        })
    }
}

impl<T: Distance<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Finds the values nearest to each of `points`, which are on the device, by the distance to the shapes: nearest
    /// first, ties by index. Rows are in the order of `points`.
    ///
    /// The result is that of [`ValueBvh::nearest_all`]. `wanted` is `k` or a [`Nearest`]. Errors and cost as for
    /// [`Bvh::nearest_of`]; the points must be in open space.
    pub fn nearest_of(&self, points: &Points<S, D>, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let (device, wanted) = (self.device(), wanted.into());
        check_place(points, "the tree", device, &Space::OPEN)?;
        on!(device, client => {
            let tree = self.searched().map(|(tree, stored)| (tree, Some(stored)));
            nearest_of_rows::<_, T::Test, S, D>(client, device, tree, (points.len(), wanted.k), |_| {
                sorted_points(client, points, wanted)
            })
        })
    }
}
