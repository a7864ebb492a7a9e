//! The two storage types, `f32` and `f64`, behind one sealed trait.

#![allow(unsafe_code)] // Measured in benches/README.md: a conversion that minds what is out of range is no vector instruction.

use crate::simd::{Isa, LANES, Lanes};

use std::fmt::{Debug, Display};

use std::ops::{Add, AddAssign, Mul, Sub};

mod sealed {
    use crate::simd::{Isa, Lanes};

    /// What the crate asks of a coordinate beside [`Scalar`](super::Scalar).
    pub trait Lane: Sized {
        /// Half the distance from one to the next number: the relative error of one rounding.
        const ROUNDING: f64;
        /// Coordinates beyond this are refused: the square of a distance between them could overflow in `f64`.
        const LIMIT: f64;
        /// Squared radii outside of this range are left to `f64` alone, so that no underflow or overflow decides.
        const SQUARES: std::ops::Range<f64>;
        /// Whether there are numbers of this type whose squares only `f64` holds.
        const NARROW: bool;

        /// The whole part as an unsigned number; 0 for what is negative or NaN, the largest for what is too large.
        fn truncate(self) -> u64;
        /// The whole part in 31 bits, as one vector instruction gives it; 0 for what is negative or NaN, the largest below 2^31
        /// for what is too large.
        fn truncate_31(self) -> u32;
        /// Bit `l` is set where `values[l] <= limit`.
        #[allow(private_interfaces, private_bounds)]
        fn at_most<I: Isa>(isa: I, values: &Lanes<Self>, limit: Self) -> u32;
        /// The values, rounded to `f32`; if the type is not, times `unit`.
        fn rounded(values: Lanes<Self>, unit: f64) -> Lanes<f32>;
        /// The values whose bits are set in `mask`, in their order; what follows them is any of the values.
        #[allow(private_interfaces, private_bounds)]
        fn compress<I: Isa>(isa: I, values: &Lanes<Self>, mask: u32) -> Lanes<Self>;
    }
}

pub(crate) use sealed::Lane;

/// A coordinate: `f32` or `f64`. Sealed; whatever the storage, distances are decided as `f64` decides them.
pub trait Scalar:
    Lane
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
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The smaller of two numbers, neither of them NaN.
    fn min(self, other: Self) -> Self;
    /// The larger of two numbers, neither of them NaN.
    fn max(self, other: Self) -> Self;
    /// The magnitude.
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
            // A comparison and a select are one vector instruction; `f32::min` minds NaN and is several.
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

        impl Lane for $float {
            const ROUNDING: f64 = <$float>::EPSILON as f64 / 2.0;
            const LIMIT: f64 = $limit;
            const SQUARES: std::ops::Range<f64> = $squares;
            const NARROW: bool = $narrow;

            #[inline(always)]
            fn truncate(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn truncate_31(self) -> u32 {
                let inside = Scalar::min(Scalar::max(self, 0.0), $below_2_31);
                // SAFETY: in the range of `i32`, and not NaN: of a NaN and 0 the comparison in `max` chooses 0.
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
