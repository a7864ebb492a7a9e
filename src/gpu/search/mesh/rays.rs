//! Rays on a device.
//!
//! In: origins and directions. Out: the original rays in a kernel.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::Ray;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::search::mesh::constants::{INFINITE, LARGEST};
use crate::parallel::map;

/// Rays per parallel task.
const TASK: usize = 1 << 14;

/// Rays in space, on a device.
///
/// ```no_run
/// use ropewalk::Ray;
/// use ropewalk::gpu::{Device, Rays};
///
/// let rays = Rays::new(&[Ray::new([0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0])], Device::first()?)?;
/// assert_eq!(rays.len(), 1);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory: 40 bytes per ray of `f32` and 64 of `f64`; 24 and 48 if made by [`Rays::from_device`].
#[derive(Clone, Debug)]
pub struct Rays<S> {
    pub(super) device: Device,
    origins: Buffer<S>,
    directions: Buffer<S>,
    /// The range of `t` of each ray; empty if all rays are half lines.
    ranges: Buffer<f64>,
}

impl<S: Coordinate> Rays<S> {
    /// Copies rays to a device.
    ///
    /// # Errors
    /// If there are more than 2^30 rays, or the device does not allow a buffer that holds them.
    pub fn new(rays: &[Ray<S, 3>], device: Device) -> Result<Self> {
        check_count(rays.len())?;
        on!(device, client => {
            check_allocation(client, (rays.len() * (3 * size_of::<S>()).max(16)) as u128)?;
            let origins = map(rays.len(), TASK, &|ray| rays[ray].origin);
            let directions = map(rays.len(), TASK, &|ray| rays[ray].direction);
            let ranges = map(rays.len(), TASK, &|ray| [rays[ray].from, rays[ray].to]);
            Ok(Self {
                device,
                origins: Buffer::from_slice(client, origins.as_flattened()),
                directions: Buffer::from_slice(client, directions.as_flattened()),
                ranges: Buffer::from_slice(client, ranges.as_flattened()),
            })
        })
    }

    /// Creates half lines from origins and directions on a device, with three numbers each.
    ///
    /// # Errors
    /// - The numbers of origins and directions differ, or are not multiples of three.
    /// - There are more than 2^30 rays.
    /// - The origins and directions are on different devices.
    pub fn from_device(origins: &DeviceVec<S>, directions: &DeviceVec<S>) -> Result<Self> {
        let (device, len) = (origins.device, origins.len());
        if !len.is_multiple_of(3) {
            return Err(errors::no_rows(len, 3));
        }
        if directions.len() != len {
            return Err(errors::directions_length(directions.len(), len));
        }
        check_same(["the origins", "the directions"], [device, directions.device])?;
        check_count(len / 3)?;
        on!(device, client => Ok(Self {
            device,
            origins: origins.values.clone(),
            directions: directions.values.clone(),
            ranges: Buffer::new(client, 0),
        }))
    }

    /// Returns the number of rays.
    pub fn len(&self) -> usize {
        self.origins.len() / 3
    }

    /// Returns `true` if there are no rays.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(in crate::gpu::search) fn arg<R: Runtime>(&self) -> RaysInLaunch<S, R> {
        RaysInLaunch::new(self.origins.arg(), self.directions.arg(), self.ranges.arg())
    }

    /// Returns `true` if each ray has a range.
    pub(in crate::gpu::search) fn has_ranges(&self) -> bool {
        self.ranges.len() > 0
    }
}

fn check_count(n: usize) -> Result<()> {
    let max = 1 << 30;
    if n > max { Err(Error::too_many_points(n, max)) } else { Ok(()) }
}

/// The kernel argument for [`Rays`].
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu::search) struct RaysIn<F: Float> {
    origins: Array<F>,
    directions: Array<F>,
    ranges: Array<f64>,
}

/// An original ray.
#[derive(CubeType)]
pub(in crate::gpu::search) struct ExactRay {
    pub origin: Array<f64>,
    pub direction: Array<f64>,
    pub from: f64,
    pub to: f64,
    /// `true` if the ray has points: finite, with a direction other than 0 and a range that is not empty.
    pub is_proper: bool,
}

#[cube]
impl<F: Float> RaysIn<F> {
    pub fn ray(&self, at: u32, numbers: &Array<f64>, #[comptime] has_ranges: bool) -> ExactRay {
        let zero = f64::new(0.0);
        let (mut origin, mut direction) = (Array::<f64>::new(3usize), Array::<f64>::new(3usize));
        let mut most = Array::<f64>::new(2usize);
        most[0] = zero;
        most[1] = zero;
        let mut is_proper = true.runtime();
        #[unroll]
        for k in 0..3usize {
            origin[k] = f64::cast_from(self.origins[3 * at as usize + k]);
            direction[k] = f64::cast_from(self.directions[3 * at as usize + k]);
            is_proper = is_proper && origin[k].abs() <= numbers[LARGEST] && direction[k].abs() <= numbers[LARGEST];
            most[1] = max(most[1], direction[k].abs());
        }
        let mut from = zero;
        let mut to = numbers[INFINITE];
        if comptime!(has_ranges) {
            from = self.ranges[2 * at as usize];
            to = self.ranges[2 * at as usize + 1];
        }
        ExactRay { origin, direction, from, to, is_proper: is_proper && most[1] > zero && from <= to }
    }
}

/// Returns the component of a vector along an axis.
#[cube]
pub(super) fn pick(vector: &Array<f64>, axis: u32) -> f64 {
    select(axis == 0, vector[0], select(axis == 1, vector[1], vector[2]))
}

/// Returns the axis with the largest component of a vector, the last one if several are equal.
#[cube]
pub(super) fn longest_axis(vector: &Array<f64>) -> u32 {
    let (x, y, z) = (vector[0].abs(), vector[1].abs(), vector[2].abs());
    select(z >= max(x, y), 2u32, select(y >= x, 1u32, 0u32))
}
