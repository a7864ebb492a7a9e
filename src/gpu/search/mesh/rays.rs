//! Rays on a device, and how a walk is given one: the twin of `search::mesh::frame`.
//!
//! In: origins and directions. Out: each in the unit of the tree, from where it enters the box around it, with its padding.
//! This only chooses candidates; `triangle_hit` and `solid_hit` decide. Source: as the CPU's.

use cubecl::prelude::*;

use crate::error::{Kind, Result};
use crate::geometry::Ray;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::mesh::numbers::{HUGE, INFINITE, LARGEST, PADDING, SCALE, TINY};
use crate::parallel::map;

/// Rays of a parallel task.
const TASK: usize = 1 << 14;

/// Rays in space, on a device.
///
/// Memory: 40 bytes a ray of `f32`, 64 of `f64`; 24 and 48 of those made by [`Rays::of`].
///
/// ```no_run
/// use ropewalk::Ray;
/// use ropewalk::gpu::{Device, Rays};
///
/// let rays = Rays::new(&[Ray::new([0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0])], Device::first()?)?;
/// assert_eq!(rays.len(), 1);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rays<S> {
    pub(super) device: Device,
    origins: Buffer<S>,
    directions: Buffer<S>,
    /// The range of `t` of each; none if all are half lines.
    ranges: Buffer<f64>,
}

impl<S: Coordinate> Rays<S> {
    /// Copies rays to a device.
    ///
    /// Errors: more than 2^30 rays; if the device has no buffers as large as they are.
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

    /// Half lines whose origins and directions are on a device, three numbers each.
    ///
    /// Errors: not as many origins as directions, or no three numbers for each; more than 2^30 rays; two devices.
    pub fn of(origins: &DeviceVec<S>, directions: &DeviceVec<S>) -> Result<Self> {
        let (device, len) = (origins.device, origins.len());
        if !len.is_multiple_of(3) {
            return Err(Kind::DeviceRows { len, dim: 3 }.into());
        }
        if directions.len() != len {
            return Err(Kind::DeviceValues { len: directions.len() / 3, n: len / 3, what: "origins" }.into());
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

    /// How many rays there are.
    pub fn len(&self) -> usize {
        self.origins.len() / 3
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn arg<R: Runtime>(&self) -> RaysInLaunch<S, R> {
        RaysInLaunch::new(self.origins.arg(), self.directions.arg(), self.ranges.arg())
    }

    /// Whether each has a range.
    pub(super) fn has_ranges(&self) -> bool {
        self.ranges.len() > 0
    }
}

fn check_count(n: usize) -> Result<()> {
    let max = 1 << 30;
    if n > max { Err(Kind::TooMany { n, max }.into()) } else { Ok(()) }
}

/// Rays in a kernel.
#[derive(CubeType, CubeLaunch)]
pub(super) struct RaysIn<F: Float> {
    origins: Array<F>,
    directions: Array<F>,
    ranges: Array<f64>,
}

/// A ray as it was given.
#[derive(CubeType)]
pub(super) struct ExactRay {
    pub origin: Array<f64>,
    pub direction: Array<f64>,
    pub from: f64,
    pub to: f64,
    /// Whether it has points.
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

/// What a ray can do: it meets nothing.
pub(super) const NOTHING: u32 = 0;
/// It is too far away for `f32`: each item is asked.
pub(super) const TOO_FAR: u32 = 1;
pub(super) const READY: u32 = 2;

/// A ray in the unit of the tree.
#[derive(CubeType)]
pub(super) struct FrameRay {
    pub origin: Array<f32>,
    /// Where planes of boxes that are entered, and left, are measured from.
    pub near: Array<f32>,
    pub far: Array<f32>,
    /// One over the direction, no part of which is 0.
    pub inverse: Array<f32>,
    /// Bit `k` is set where the direction is negative along axis `k`.
    pub octant: u32,
    /// What a difference of points is multiplied by: the first two give its place across the ray, the last how far along it is.
    pub across: Array<f32>,
    pub over: Array<f32>,
    pub along: Array<f32>,
    pub padding: f32,
    unit: f64,
    start: f64,
    pub state: u32,
}

#[cube]
impl FrameRay {
    /// Of a proper ray.
    pub fn new(ray: &ExactRay, numbers: &Array<f64>) -> FrameRay {
        let (zero, one) = (f64::new(0.0), f64::new(1.0));
        let mut origin = Array::<f64>::new(3usize);
        let mut direction = Array::<f64>::new(3usize);
        let (mut longest, mut far) = (zero, zero);
        #[unroll]
        for k in 0..3usize {
            origin[k] = (ray.origin[k] - numbers[k]) * numbers[SCALE];
            longest = max(longest, ray.direction[k].abs());
            far = max(far, origin[k].abs());
        }
        #[unroll]
        for k in 0..3usize {
            direction[k] = ray.direction[k] / longest;
        }
        let unit = numbers[SCALE] * longest;
        let first = ray.from * unit;
        // 64 epsilons: what is far away is rounded by more.
        let epsilon = f64::new(1.421_085_5e-14);
        let start_error = select(first.abs() <= numbers[HUGE], first.abs(), zero);
        let padding = numbers[PADDING] + epsilon * far + epsilon * start_error;
        let is_sound = unit >= numbers[TINY] && unit <= numbers[HUGE] && one / unit >= numbers[TINY];
        let side = f64::new(0.5) + f64::new(2.0) * padding;
        let (mut enter, mut leave) = (first, ray.to * unit);
        let mut misses = false.runtime();
        #[unroll]
        for k in 0..3usize {
            let towards = select(direction[k] < zero, -side, side);
            let is_across = direction[k] == zero;
            misses = misses || (is_across && origin[k].abs() > side);
            let by = select(is_across, one, direction[k]);
            enter = select(is_across, enter, max(enter, (-towards - origin[k]) / by));
            leave = select(is_across, leave, min(leave, (towards - origin[k]) / by));
        }
        misses = misses || enter > leave + padding;
        let mut state = READY.runtime();
        state = select(padding <= one, state, TOO_FAR.runtime());
        state = select(misses, NOTHING.runtime(), state);
        state = select(is_sound, state, TOO_FAR.runtime());
        let last = longest_axis(&direction);
        let mut octant = 0u32.runtime();
        let (mut placed, mut near, mut beyond) =
            (Array::<f32>::new(3usize), Array::<f32>::new(3usize), Array::<f32>::new(3usize));
        let (mut inverse, mut across, mut over, mut along) = (
            Array::<f32>::new(3usize),
            Array::<f32>::new(3usize),
            Array::<f32>::new(3usize),
            Array::<f32>::new(3usize),
        );
        let sign = pick(&direction, last);
        let shear = f32::cast_from(-pick(&direction, (last + 1) % 3) * sign);
        let other_shear = f32::cast_from(-pick(&direction, (last + 2) % 3) * sign);
        // Along what is shorter a ray moves by less than it is rounded.
        let least = f64::new(1e-12);
        #[unroll]
        for k in 0..3usize {
            let axis = comptime!(k as u32);
            let at = origin[k] + enter * direction[k];
            let is_negative = direction[k] < zero;
            let by = select(is_negative, -padding, padding);
            placed[k] = f32::cast_from(at);
            near[k] = f32::cast_from(at + by);
            beyond[k] = f32::cast_from(at - by);
            let length = max(direction[k].abs(), least);
            inverse[k] = f32::cast_from(one / select(is_negative, -length, length));
            octant |= select(is_negative, comptime!(1u32 << k), 0u32);
            let (none, whole) = (f32::new(0.0), f32::new(1.0));
            across[k] = select((last + 1) % 3 == axis, whole, select(last == axis, shear, none));
            over[k] = select((last + 2) % 3 == axis, whole, select(last == axis, other_shear, none));
            along[k] = select(last == axis, f32::cast_from(sign), none);
        }
        FrameRay {
            origin: placed,
            near,
            far: beyond,
            inverse,
            octant,
            across,
            over,
            along,
            padding: f32::cast_from(padding),
            unit,
            start: enter,
            state,
        }
    }

    /// A `t` as the tree has it, at least.
    pub fn limit(&self, t: f64) -> f32 {
        let along = t * self.unit - self.start;
        // Rounded up: relative to what it was before the start was taken off, the padding has the error.
        let more = select(along < f64::new(0.0), f64::new(-1e-6), f64::new(1e-6));
        let limit = f32::cast_from((along + f64::cast_from(self.padding)) * (f64::new(1.0) + more));
        min(limit, f32::new(3.402_823_5e38))
    }
}

/// The number of a vector that an axis has.
#[cube]
pub(super) fn pick(vector: &Array<f64>, axis: u32) -> f64 {
    select(axis == 0, vector[0], select(axis == 1, vector[1], vector[2]))
}

/// The axis along which a vector is longest, the last of several.
#[cube]
pub(super) fn longest_axis(vector: &Array<f64>) -> u32 {
    let (x, y, z) = (vector[0].abs(), vector[1].abs(), vector[2].abs());
    select(z >= max(x, y), 2u32, select(y >= x, 1u32, 0u32))
}
