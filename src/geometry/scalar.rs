//! The two storage types, `f32` and `f64`, behind one sealed trait.

#![allow(unsafe_code)] // A checked conversion does not compile to a vector instruction (measured in benches/LOG.md).

use crate::simd::{Isa, LANES, Lanes};

use std::fmt::{Debug, Display};

use std::ops::{Add, AddAssign, Mul, Sub};

mod sealed {
    use crate::simd::{Isa, Lanes};

    /// The operations and constants of a coordinate type that only the crate uses, next to [`Scalar`](super::Scalar).
    pub trait ScalarOps: Sized {
        /// The relative error of one rounding: half the spacing of numbers at 1.
        const ROUNDING: f64;
        /// The largest accepted coordinate. Squared distances between larger ones could overflow in `f64`.
        const LIMIT: f64;
        /// The range of squared radii that are tested in this type. Others are decided in `f64` alone, so that
        /// underflow and overflow cannot affect results.
        const SAFE_SQUARES: std::ops::Range<f64>;
        /// `true` if the squares of some values of this type are representable in `f64` only.
        const IS_F32: bool;

        /// Returns the integer part as an unsigned number: 0 for negative values and NaN, the maximum for values that
        /// are too large.
        fn truncate(self) -> u64;
        /// Returns the integer part in 31 bits, computed by one vector instruction: 0 for negative values and NaN, the
        /// maximum below 2^31 for values that are too large.
        fn truncate_31(self) -> u32;
        /// Returns a mask with bit `l` set if `values[l] <= limit`.
        #[allow(private_interfaces, private_bounds)]
        fn at_most<I: Isa>(isa: I, values: &Lanes<Self>, limit: Self) -> u32;
        /// Rounds the values to `f32`. Values of type `f64` are first multiplied by `unit`; `f32` values are
        /// unchanged.
        fn rounded(values: Lanes<Self>, unit: f64) -> Lanes<f32>;
        /// Moves the values whose bits are set in `mask` to the front, in order. The lanes after them are
        /// unspecified.
        #[allow(private_interfaces, private_bounds)]
        fn compress<I: Isa>(isa: I, values: &Lanes<Self>, mask: u32) -> Lanes<Self>;
    }
}

pub(crate) use sealed::ScalarOps;

/// A coordinate type: `f32` or `f64`. The trait is sealed. Distances are decided in `f64` for both types.
pub trait Scalar:
    ScalarOps
    + Copy
    + Default
    + Debug
    + Display
    + PartialOrd
    + Send
    + Sync
    + bytemuck::Pod
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Into<f64>
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Negative infinity.
    const NEG_INFINITY: Self;
    /// The largest finite value.
    const MAX: Self;
    /// Returns the nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// Returns the smaller of two numbers, neither of which may be NaN.
    fn min(self, other: Self) -> Self;
    /// Returns the larger of two numbers, neither of which may be NaN.
    fn max(self, other: Self) -> Self;
    /// Returns the absolute value.
    fn abs(self) -> Self;
}

#[inline(always)]
fn rounded_f64(values: Lanes<f64>, unit: f64) -> Lanes<f32> {
    let mut rounded = [0.0; LANES];
    for l in 0..LANES {
        rounded[l] = (values[l] * unit) as f32;
    }
    rounded
}

macro_rules! scalar {
    ($float:ty, $at_most:ident, $compress:ident, $rounded:expr, $limit:expr, $squares:expr, $narrow:expr, $below_2_31:expr) => {
        impl Scalar for $float {
            const ZERO: Self = 0.0;
            const INFINITY: Self = <$float>::INFINITY;
            const NEG_INFINITY: Self = <$float>::NEG_INFINITY;
            const MAX: Self = <$float>::MAX;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }
            // A comparison and a select are one vector instruction; `f32::min` handles NaN and needs several.
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$float>::abs(self)
            }
        }

        impl ScalarOps for $float {
            const ROUNDING: f64 = <$float>::EPSILON as f64 / 2.0;
            const LIMIT: f64 = $limit;
            const SAFE_SQUARES: std::ops::Range<f64> = $squares;
            const IS_F32: bool = $narrow;

            #[inline(always)]
            fn truncate(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn truncate_31(self) -> u32 {
                let inside = Scalar::min(Scalar::max(self, 0.0), $below_2_31);
                // SAFETY: `inside` is between 0 and `$below_2_31`, hence in the range of `i32`. It is not NaN:
                // `max(NaN, 0.0)` returns 0.0.
                unsafe { inside.to_int_unchecked::<i32>() as u32 }
            }
            #[inline(always)]
            #[allow(private_interfaces, private_bounds)]
            fn at_most<I: Isa>(isa: I, values: &Lanes<Self>, limit: Self) -> u32 {
                isa.$at_most(values, limit)
            }
            #[inline(always)]
            fn rounded(values: Lanes<Self>, unit: f64) -> Lanes<f32> {
                $rounded(values, unit)
            }
            #[inline(always)]
            #[allow(private_interfaces, private_bounds)]
            fn compress<I: Isa>(isa: I, values: &Lanes<Self>, mask: u32) -> Lanes<Self> {
                isa.$compress(values, mask)
            }
        }
    };
}

scalar!(f32, at_most_f32, compress_f32, |values, _| values, f32::MAX as f64, 1e-30..1e30, true, 2_147_483_520.0);
scalar!(f64, at_most_f64, compress_f64, rounded_f64, 1e150, 1e-300..1e305, false, 2_147_483_647.0);
