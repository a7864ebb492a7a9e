//! Points whose dimension is known only at run time, for programs compiled for few dimensions: the GPU counterpart of
//! the crate `ropewalk-table`.
//!
//! In: coordinates. Out: the coordinates as `f64`, with each point padded with zeros to the next dimension that such
//! a program supports. The added axes are 0 everywhere and do not change distances.
//! Cost: 8 bytes per coordinate.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::{BoxSize, PaddedDimension};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::bounds::wrap;
use crate::gpu::bvh::check_elements::check_elements;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;

/// The result of [`DeviceVec::widened`].
#[derive(Clone, Debug)]
pub struct Widened {
    /// The coordinates, point by point.
    pub coordinates: DeviceVec<f64>,
    /// The number of coordinates per point: 2, 3, 6 or 10.
    pub dim: usize,
    /// The periodic box with a side per axis, or open space.
    pub size: BoxSize,
}

impl<S: Coordinate> DeviceVec<S> {
    /// Pads points of `dim` dimensions to the next of 2, 3, 6 and 10 dimensions, in a periodic box unless `size` is
    /// `None`. Searches among the padded points have the same results. For programs that learn the dimension at run
    /// time; see the crate `ropewalk-table`.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec, Dbscan, Points};
    ///
    /// let coordinates = DeviceVec::new(&[0.0f32, 0.5, 9.5, 5.0], Device::first()?)?;
    /// let widened = coordinates.widened(1, 10.0)?;
    /// assert_eq!(widened.dim, 2);
    /// let points = Points::<_, 2>::from_device(&widened.coordinates, widened.size)?;
    /// assert_eq!(Dbscan::new(0.5, 2).run(&points)?.read()?.as_slice(), [0, 0, 0, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `dim` is not in 1 to 10, or does not divide the number of coordinates.
    /// - The box does not have a positive side for each of `dim` axes.
    /// - There are more than 2^32 - 1 coordinates.
    /// - The device does not allow a buffer of this size.
    ///
    /// # Cost
    /// Memory: 8 bytes per coordinate of the result.
    pub fn widened(&self, dim: usize, size: impl Into<BoxSize>) -> Result<Widened> {
        let (device, len) = (self.device, self.len());
        if !(1..=10).contains(&dim) {
            return Err(Error::dimension(dim));
        }
        if !len.is_multiple_of(dim) {
            return Err(errors::no_rows(len, dim));
        }
        let PaddedDimension { dim: wide, sides, size } = PaddedDimension::new(dim, &size.into())?;
        let n = len / dim;
        check_elements(n, wide)?;
        on!(device, client => {
            let spec = WidenSpec { dim, wide, periodic: sides.is_some() };
            let values = widen_points(client, &self.values, n, &sides.unwrap_or_default(), spec)?;
            Ok(Widened { coordinates: DeviceVec { device, values }, dim: wide, size })
        })
    }
}

/// Returns the coordinates of `n` points as `f64`, with added axes of 0, in a box of these sides if they are periodic.
pub(super) fn widen_points<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    coordinates: &Buffer<S>,
    n: usize,
    sides: &[f64],
    spec: WidenSpec,
) -> Result<Buffer<f64>> {
    let len = n * spec.wide;
    check_allocation(client, 8 * len as u128)?;
    let values = Buffer::<f64>::new(client, len);
    widen::launch::<S, R>(
        client,
        blocks_for(len),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        coordinates.arg(),
        Buffer::from_slice(client, &[S::from_f64(S::LIMIT)]).arg(),
        Buffer::from_slice(client, sides).arg(),
        values.arg(),
        len as u32,
        spec,
    );
    Ok(values)
}

/// The parameters for which the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WidenSpec {
    pub dim: usize,
    pub wide: usize,
    pub periodic: bool,
}

/// Writes each coordinate, wrapped into a periodic box and rounded to its own type. Coordinates that are not finite
/// are unchanged.
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
