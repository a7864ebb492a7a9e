//! Points on a device whose type and dimension are known at run time, and their trees.
//!
//! In: [`Points`], or coordinates that are already on the device. Out: an enum with a variant for each kind of points
//! that kernels are compiled for, which are those of [`to_compiled_kind`](crate::rows::to_compiled_kind). Other points are widened to
//! the next compiled kind on the device. Points in units whose squares leave the range of `f32` become `f64`.
//! Cost: 8 bytes for each widened coordinate, during the conversion.

use ropewalk::geometry::BoxSize;
use ropewalk::gpu::{self, Coordinate, Device, DeviceVec, Widened};
use ropewalk::{Aabb, Result};

use crate::points::{Points, Table};

/// Coordinates on a device, stored point by point.
pub enum Coordinates {
    /// Coordinates of 32 bits.
    F32(DeviceVec<f32>),
    /// Coordinates of 64 bits.
    F64(DeviceVec<f64>),
}

impl Coordinates {
    /// Copies the coordinates of points to a device.
    ///
    /// # Errors
    /// Fails if the device cannot allocate a buffer of their size, or fails.
    pub fn new(points: &Points, device: Device) -> Result<Self> {
        Ok(match points {
            Points::F32(table) => Self::F32(DeviceVec::new(table.as_slice(), device)?),
            Points::F64(table) => Self::F64(DeviceVec::new(table.as_slice(), device)?),
        })
    }

    /// Checks that points of `dim` coordinates span no more than a periodic box, like [`Points::check_sides`]. The
    /// device computes the range of the points; coordinates are copied to the host only for the error message.
    ///
    /// # Errors
    /// As [`Points::check_sides`]. Also fails if the coordinates are not whole points of `dim`, or if the device
    /// fails.
    pub fn check_sides(&self, dim: usize, sides: &[f64]) -> Result<()> {
        let widths = DevicePoints::as_given(self, dim, BoxSize::default())?.widths();
        if !widths.iter().zip(sides).any(|(width, side)| width > side) {
            return Ok(());
        }
        match self {
            Self::F32(values) => Points::F32(Table::new(dim, values.read()?)?).check_sides(sides),
            Self::F64(values) => Points::F64(Table::new(dim, values.read()?)?).check_sides(sides),
        }
    }
}

/// Points on a device, of one of the kinds that kernels are compiled for.
#[allow(missing_docs)]
pub enum DevicePoints {
    F32In2(gpu::Points<f32, 2>),
    F32In3(gpu::Points<f32, 3>),
    F64In2(gpu::Points<f64, 2>),
    F64In3(gpu::Points<f64, 3>),
    F64In6(gpu::Points<f64, 6>),
    F64In10(gpu::Points<f64, 10>),
}

/// The tree of [`DevicePoints`].
#[allow(missing_docs)]
pub enum DeviceBvh {
    F32In2(gpu::Bvh<f32, 2>),
    F32In3(gpu::Bvh<f32, 3>),
    F64In2(gpu::Bvh<f64, 2>),
    F64In3(gpu::Bvh<f64, 3>),
    F64In6(gpu::Bvh<f64, 6>),
    F64In10(gpu::Bvh<f64, 10>),
}

/// Evaluates `$work` with the contents of a [`DevicePoints`] or a [`DeviceBvh`] of any kind.
#[macro_export]
macro_rules! on_device {
    ($of:ident, $value:expr, $held:ident => $work:expr) => {
        match $value {
            $crate::$of::F32In2($held) => $work,
            $crate::$of::F32In3($held) => $work,
            $crate::$of::F64In2($held) => $work,
            $crate::$of::F64In3($held) => $work,
            $crate::$of::F64In6($held) => $work,
            $crate::$of::F64In10($held) => $work,
        }
    };
}

impl DevicePoints {
    /// Copies points to a device, in a periodic box unless `size` is `None`.
    ///
    /// # Errors
    /// As [`gpu::Points::new_periodic`].
    pub fn new(points: &Points, size: impl Into<BoxSize>, device: Device) -> Result<Self> {
        /// Returns the points on the device if rows have one of the compiled dimensions.
        macro_rules! rows {
            ($table:ident, $size:ident, $($dim:literal $kind:ident),*) => {{
                $(if let Some(rows) = $table.rows::<$dim>() {
                    return gpu::Points::new_periodic(rows, $size, device).map(Self::$kind)?.in_range();
                })*
            }};
        }
        let size = size.into();
        match points {
            Points::F32(table) => rows!(table, size, 2 F32In2, 3 F32In3),
            Points::F64(table) => rows!(table, size, 2 F64In2, 3 F64In3, 6 F64In6, 10 F64In10),
        }
        Self::from_device(&Coordinates::new(points, device)?, points.dim(), size)
    }

    /// Creates points of `dim` coordinates each from coordinates that are already on a device.
    ///
    /// # Errors
    /// As [`gpu::Points::from_device`], [`DeviceVec::widened`] and [`gpu::Points::widened`].
    pub fn from_device(coordinates: &Coordinates, dim: usize, size: impl Into<BoxSize>) -> Result<Self> {
        Self::as_given(coordinates, dim, size.into())?.in_range()
    }

    /// Creates points whose squares may leave the range of their type.
    fn as_given(coordinates: &Coordinates, dim: usize, size: BoxSize) -> Result<Self> {
        match (coordinates, dim) {
            (Coordinates::F32(coordinates), 2) => gpu::Points::from_device(coordinates, size).map(Self::F32In2),
            (Coordinates::F32(coordinates), 3) => gpu::Points::from_device(coordinates, size).map(Self::F32In3),
            (Coordinates::F32(coordinates), _) => Self::of_widened(&coordinates.widened(dim, size)?),
            (Coordinates::F64(coordinates), 2) => gpu::Points::from_device(coordinates, size).map(Self::F64In2),
            (Coordinates::F64(coordinates), 3) => gpu::Points::from_device(coordinates, size).map(Self::F64In3),
            (Coordinates::F64(coordinates), 6) => gpu::Points::from_device(coordinates, size).map(Self::F64In6),
            (Coordinates::F64(coordinates), 10) => gpu::Points::from_device(coordinates, size).map(Self::F64In10),
            (Coordinates::F64(coordinates), _) => Self::of_widened(&coordinates.widened(dim, size)?),
        }
    }

    fn of_widened(Widened { coordinates, dim, size }: &Widened) -> Result<Self> {
        let size = size.clone();
        match dim {
            2 => gpu::Points::from_device(coordinates, size).map(Self::F64In2),
            3 => gpu::Points::from_device(coordinates, size).map(Self::F64In3),
            6 => gpu::Points::from_device(coordinates, size).map(Self::F64In6),
            _ => gpu::Points::from_device(coordinates, size).map(Self::F64In10),
        }
    }

    /// Returns the points as `f64` if their squares leave the range of `f32`.
    fn in_range(self) -> Result<Self> {
        match self {
            Self::F32In2(points) if points.exceed_f32() => points.widened().map(Self::F64In2),
            Self::F32In3(points) if points.exceed_f32() => points.widened().map(Self::F64In3),
            other => Ok(other),
        }
    }

    /// Builds the tree of the points on the device.
    ///
    /// # Errors
    /// As [`gpu::Bvh::from_points`].
    pub fn tree(&self) -> Result<DeviceBvh> {
        Ok(match self {
            Self::F32In2(points) => DeviceBvh::F32In2(gpu::Bvh::from_points(points)?),
            Self::F32In3(points) => DeviceBvh::F32In3(gpu::Bvh::from_points(points)?),
            Self::F64In2(points) => DeviceBvh::F64In2(gpu::Bvh::from_points(points)?),
            Self::F64In3(points) => DeviceBvh::F64In3(gpu::Bvh::from_points(points)?),
            Self::F64In6(points) => DeviceBvh::F64In6(gpu::Bvh::from_points(points)?),
            Self::F64In10(points) => DeviceBvh::F64In10(gpu::Bvh::from_points(points)?),
        })
    }

    /// Returns the extent of the points along each axis, 0 along added axes.
    fn widths(&self) -> Vec<f64> {
        fn widths<S: Coordinate, const D: usize>(Aabb { lo, hi }: Aabb<S, D>) -> Vec<f64> {
            lo.into_iter().zip(hi).map(|(lo, hi)| Into::<f64>::into(hi) - Into::<f64>::into(lo)).collect()
        }
        on_device!(DevicePoints, self, points => widths(points.bounds()))
    }
}

impl DeviceBvh {
    /// Returns the number of points.
    pub fn len(&self) -> usize {
        on_device!(DeviceBvh, self, bvh => bvh.len())
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
