//! The types of coordinates that devices store: `f32` and `f64`.
//!
//! The trait is sealed, because no kernel is compiled for another type.

use cubecl::prelude::*;

use crate::geometry::Scalar;

/// A coordinate type that devices can store: `f32` or `f64`.
pub trait Coordinate: Scalar + Float + CubeElement + sealed::Sealed {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
