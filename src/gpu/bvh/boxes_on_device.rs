//! Trees of boxes that are in device memory.
//!
//! In: the corners of boxes. Out: the tree that [`BoxBvh::build`] makes of the same boxes.
//! Cost: that of the build, and two passes over the corners, which are checked on the device.

use cubecl::prelude::*;

use crate::bvh::{box_fault, check_count, errors as tree_errors};
use crate::error::Result;
use crate::geometry::{Aabb, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::bounds::{Survey, survey};
use crate::gpu::bvh::box_tree::centers_of;
use crate::gpu::bvh::check_elements::check_elements;
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::device::{check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::atomic_min::lower;
use crate::gpu::primitives::rounding::check_distances;

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Builds a tree in open space over boxes that are on a device. `corners` holds the lower corner of each box,
    /// followed by its upper one. The result equals that of [`BoxBvh::build`].
    ///
    /// The tree copies the corners within the device. Kernels that are launched later on the same stream may change
    /// them; others must first call [`BoxBvh::wait`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{BoxBvh, Device, DeviceVec};
    ///
    /// let device = Device::first()?;
    /// let corners = DeviceVec::new(&[0.0f32, 0.0, 1.0, 1.0, 4.0, 0.0, 6.0, 2.0], device)?;
    /// let mut bvh = BoxBvh::<_, 2>::from_device(&corners)?;
    /// assert_eq!(bvh.nearest_all(&[[3.0f32, 1.0]], 1)?.indices().read()?, [1]);
    /// // Here a kernel moves the boxes. Then:
    /// bvh.refit_from_device(&corners)?;
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`BoxBvh::build`].
    /// - The number of coordinates is not a multiple of twice the dimension.
    ///
    /// # Cost
    /// That of [`BoxBvh::build`], without the transfer. If one cell of the Morton grid holds more centres than a leaf,
    /// the corners are copied to the CPU, which builds the tree.
    pub fn from_device(corners: &DeviceVec<S>) -> Result<Self> {
        let device = corners.device;
        let boxes = check_corners::<D>(corners.len())?;
        on!(device, client => {
            // The same limit as in `build_in`.
            check_allocation(client, boxes as u128 * (2 * D * size_of::<S>()).max(8) as u128)?;
            if boxes == 0 {
                check_distances::<_, S>(client, device, || f64::INFINITY)?;
                return Ok(Self::empty(client, device, Space::OPEN));
            }
            let around = check_boxes(client, corners)?;
            let centers = centers_of::<_, S, D>(client, &corners.values);
            let smallest = survey::<_, S, D>(client, &centers, &Space::OPEN)?.smallest_nonzero;
            check_distances::<_, S>(client, device, || smallest.min(around.smallest_nonzero))?;
            Self::build_rows(client, device, Space::OPEN, (&corners.values, &centers), around.bounds, || {
                let boxes = corners.read()?;
                let boxes: Vec<Aabb<S, D>> = boxes.chunks_exact(2 * D).map(box_of).collect();
                crate::Bvh::build_in(&boxes, Space::OPEN)
            })
        })
    }

    /// Updates the tree as [`BoxBvh::refit`], to boxes that are on its device. [`BoxBvh::from_device`] describes
    /// `corners`, and when they may change.
    ///
    /// # Errors
    /// - The errors of [`BoxBvh::from_device`] and [`BoxBvh::refit`].
    /// - The corners are on another device than the tree, or the tree is in a periodic box.
    ///
    /// The tree is then unchanged.
    pub fn refit_from_device(&mut self, corners: &DeviceVec<S>) -> Result<()> {
        check_same(["the corners", "the tree"], [corners.device, self.device])?;
        if self.space.period().is_some() {
            return Err(errors::periodic_corners());
        }
        let boxes = check_corners::<D>(corners.len())?;
        if boxes != self.len() {
            return Err(tree_errors::refit(boxes, self.len()));
        }
        let device = self.device;
        if boxes == 0 {
            return Ok(());
        }
        on!(device, client => {
            let around = check_boxes(client, corners)?;
            check_distances::<_, S>(client, device, || around.smallest_nonzero)?;
            self.refit_rows(client, &corners.values, around.bounds)
        })
    }
}

/// Returns the number of boxes with this number of coordinates.
fn check_corners<const D: usize>(len: usize) -> Result<usize> {
    let boxes = len.checked_div(2 * D).unwrap_or(0);
    check_count::<D>(boxes)?;
    check_elements(boxes, 2 * D)?;
    if len == boxes * 2 * D { Ok(boxes) } else { Err(errors::no_boxes(len, 2 * D)) }
}

/// Returns the box with the given corners.
fn box_of<S: Coordinate, const D: usize>(corners: &[S]) -> Aabb<S, D> {
    Aabb { lo: std::array::from_fn(|k| corners[k]), hi: std::array::from_fn(|k| corners[D + k]) }
}

/// Checks and bounds at least one box.
///
/// Errors: the first box that cannot be stored; the device fails.
fn check_boxes<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    corners: &DeviceVec<S>,
) -> Result<Survey<S, D>> {
    let (rows, boxes) = (&corners.values, corners.len() / (2 * D));
    let first = Buffer::<u32>::filled(client, 1, u32::MAX);
    let limit = Buffer::from_slice(client, &[S::from_f64(S::LIMIT)]);
    let (blocks, dim) = (blocks_for(boxes), CubeDim::new_1d(THREADS_PER_BLOCK));
    find_fault::launch::<S, R>(client, blocks, dim, rows.arg(), limit.arg(), first.arg(), boxes as u32, D);
    let index = first.read(client)?[0];
    if index != u32::MAX {
        let faulty = Buffer::<S>::new(client, 2 * D);
        copy_box::launch::<S, R>(client, blocks_for(2 * D), dim, rows.arg(), faulty.arg(), index, 2 * D);
        let own = box_of::<S, D>(&faulty.read(client)?);
        return Err(box_fault(index as usize, &own).unwrap_or_else(tree_errors::changed));
    }
    survey(client, rows, &Space::OPEN)
}

/// Finds the first box with a corner that is not within the limit, or with a lower corner above the upper one.
#[cube(launch)]
fn find_fault<F: Float>(
    rows: &Array<F>,
    limit: &Array<F>,
    first: &mut Array<Atomic<u32>>,
    boxes: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < boxes {
        let mut is_sound = true.runtime();
        #[unroll]
        for k in 0..d {
            let (lo, hi) = (rows[at * comptime!(2 * d) + k], rows[at * comptime!(2 * d) + comptime!(d + k)]);
            // A NaN fails these comparisons, too.
            is_sound = is_sound && lo.abs() <= limit[0] && hi.abs() <= limit[0] && lo <= hi;
        }
        if !is_sound {
            lower(first, 0u32.runtime(), at as u32);
        }
    }
}

/// Copies the `width` coordinates of a box.
#[cube(launch)]
fn copy_box<F: Float>(rows: &Array<F>, copy: &mut Array<F>, index: u32, #[comptime] width: usize) {
    if ABSOLUTE_POS < width {
        copy[ABSOLUTE_POS] = rows[index as usize * width + ABSOLUTE_POS];
    }
}
