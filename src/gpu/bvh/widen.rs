//! Points whose dimension is known at run time, for programs that are compiled for few kinds of points: the twin of the crate `ropewalk-table`.
//!
//! In: coordinates. Out: the same as `f64`, with zeros behind each point up to the next dimension that such a program has.
//! The axes that are added are 0 everywhere and leave distances alone. Cost: 8 bytes a coordinate.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::{BoxSize, Wider};
use crate::gpu::buffer::{Buffer, UNITS, check_allocation, cubes};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::check_elements::check_elements;
use crate::gpu::bvh::survey::wrap;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;

/// What [`DeviceVec::widened`] makes.
#[derive(Clone, Debug)]
pub struct Widened {
    /// The coordinates, point after point.
    pub coordinates: DeviceVec<f64>,
    /// How many each point has: 2, 3, 6 or 10.
    pub dim: usize,
    /// The periodic box, with a side for each.
    pub size: BoxSize,
}

impl<S: Coordinate> DeviceVec<S> {
    /// Coordinates of points of `dim` dimensions as those of the next of 2, 3, 6 and 10 dimensions, in a periodic box unless `size` is
    /// `None`: what is found among them is the same. For programs that learn the dimension when they run; see the crate `ropewalk-table`.
    ///
    /// Memory: 8 bytes for each coordinate that is made.
    ///
    /// Errors: a `dim` that is not 1 to 10, or does not divide their number; a box that has not a positive side for each of `dim` axes; more
    /// than 2^32 - 1 coordinates; if the device has no such buffer.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec, Dbscan, Points};
    ///
    /// let coordinates = DeviceVec::new(&[0.0f32, 0.5, 9.5, 5.0], Device::first()?)?;
    /// let widened = coordinates.widened(1, 10.0)?;
    /// assert_eq!(widened.dim, 2);
    /// let points = Points::<_, 2>::of(&widened.coordinates, widened.size)?;
    /// assert_eq!(Dbscan::new(0.5, 2).run(&points)?.read()?.as_slice(), [0, 0, 0, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn widened(&self, dim: usize, size: impl Into<BoxSize>) -> Result<Widened> {
        let (device, len) = (self.device, self.len());
        if !(1..=10).contains(&dim) {
            return Err(Error::dimension(dim));
        }
        if !len.is_multiple_of(dim) {
            return Err(errors::no_rows(len, dim));
        }
        let Wider { dim: wide, sides, size } = Wider::new(dim, &size.into())?;
        let n = len / dim;
        check_elements(n, wide)?;
        on!(device, client => {
            check_allocation(client, 8 * (n * wide) as u128)?;
            let values = Buffer::<f64>::new(client, n * wide);
            let spec = WidenSpec { dim, wide, periodic: sides.is_some() };
            let (limits, sides) = (Buffer::from_slice(client, &[S::from_f64(S::LIMIT)]), sides.unwrap_or_default());
            widen::launch::<S, _>(
                client,
                cubes(n * wide),
                CubeDim::new_1d(UNITS),
                self.values.arg(),
                limits.arg(),
                Buffer::from_slice(client, &sides).arg(),
                values.arg(),
                (n * wide) as u32,
                spec,
            );
            Ok(Widened { coordinates: DeviceVec { device, values }, dim: wide, size })
        })
    }
}

/// What the kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct WidenSpec {
    dim: usize,
    wide: usize,
    periodic: bool,
}

/// Writes each coordinate, within the box: there it is rounded as its own type rounds. What is not finite stays so.
#[cube(launch)]
fn widen<F: Float>(
    from: &Array<F>,
    limits: &Array<F>,
    sides: &Array<f64>,
    to: &mut Array<f64>,
    n: u32,
    #[comptime] spec: WidenSpec,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let (dim, wide) = comptime!((spec.dim, spec.wide));
        let axis = at % wide;
        let found = RuntimeCell::<f64>::new(f64::new(0.0));
        if axis < dim {
            let x = from[at / wide * dim + axis];
            let inside = RuntimeCell::<F>::new(x);
            if comptime!(spec.periodic) {
                if x.abs() <= limits[0] {
                    inside.store(wrap::<F>(x, sides[axis]));
                }
            }
            found.store(f64::cast_from(inside.read()));
        }
        to[at] = found.read();
    }
}
