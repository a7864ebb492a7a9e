//! The clusters of new points: the GPU version of `cluster::dbscan::predict`.
//!
//! In: points, their labels, and new points. Out: a label for each new point. Cost: a tree over the core points, and a
//! nearest-neighbour search for each new point.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::Boundary;
use crate::geometry::errors::spaces;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::dbscan::Dbscan;
use crate::gpu::cluster::labels::Labels;
use crate::gpu::device::{check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::search::nearest::Nearest;

impl Dbscan {
    /// Returns the cluster of the nearest core point within `eps` of each new point, or -1. Ties go to the core point
    /// with the lowest index. See [`crate::Dbscan::predict`] for the meaning.
    ///
    /// `points` and their `labels` are those of an earlier [`Dbscan::run`] with the same `eps`; `min_samples` and
    /// weights are not used. The result is in the order in which the new points were uploaded.
    ///
    /// Memory: 4 bytes per new point. While it runs: a copy of the core points, their tree, and, by the sizes of
    /// buffers, some 70 bytes per new point of three `f32`.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Dbscan, Device, Points};
    ///
    /// let device = Device::first()?;
    /// let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0], [2.0, 0.0], [9.0, 0.0]], device)?;
    /// let dbscan = Dbscan::new(1.0, 3); // only the second is core
    /// let labels = dbscan.run(&points)?;
    /// let new = Points::new(&[[0.5f32, 0.0], [2.5, 0.0], [9.0, 0.0]], device)?;
    /// assert_eq!(dbscan.predict(&points, &labels, &new)?.read()?, [0, -1, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if:
    /// - an option is invalid, as in [`Dbscan::run`];
    /// - the number of labels is not that of the points;
    /// - points, labels and new points are on different devices;
    /// - the new points are in another box than the points;
    /// - the device fails.
    pub fn predict<S: Coordinate, const D: usize>(
        &self,
        points: &Points<S, D>,
        labels: &Labels,
        new: &Points<S, D>,
    ) -> Result<DeviceVec<i32>> {
        self.options.check_options(&points.space)?;
        for (what, device) in [("the labels", labels.device), ("the new points", new.device)] {
            check_same(["the points", what], [points.device, device])?;
        }
        if labels.len() != points.len {
            return Err(Error::length("labels", labels.len(), points.len));
        }
        if new.space != points.space {
            let [of, other_of] = [&points.space, &new.space].map(|space| Boundary::new(space).to_string());
            let (what, other_what) = ("the points are in", "the new points are in");
            return Err(spaces([what, other_what], [of, other_of]));
        }
        let device = points.device;
        on!(device, client => {
            let core = labels.core_indices()?.values;
            let places = gather(client, &points.values, &core, D, Layout::Rows);
            let size = points.space.period().copied();
            let tree = Bvh::from_points(&Points::<S, D>::from_device(&DeviceVec { device, values: places }, size)?)?;
            let nearest = Nearest::new(1).within(self.options.eps);
            let near = tree.nearest_of_placed(client, &new.values, &new.bounds, nearest)?;
            let n = new.len;
            let found = Buffer::<i32>::new(client, n);
            let near = if near.k == 0 { Buffer::filled(client, n, u32::MAX) } else { near.indices };
            let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
            take_labels::launch(client, blocks_for(n), dim, near.arg(), core.arg(), labels.labels.arg(), found.arg(), n as u32);
            Ok(DeviceVec { device, values: found })
        })
    }
}

/// Takes the label of the nearest core point, or -1 without one.
#[cube(launch)]
fn take_labels(near: &Array<u32>, core: &Array<u32>, labels: &Array<i32>, found: &mut Array<i32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let nearest = near[i];
        // `u32::MAX`, for no neighbour, is -1 as `i32`.
        let mut label = i32::reinterpret(nearest);
        if nearest != u32::MAX {
            label = labels[core[nearest as usize] as usize];
        }
        found[i] = label;
    }
}
