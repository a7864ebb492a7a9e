//! Powers of two that keep squared lengths in range.
//!
//! `f32` can represent squares only of lengths from about 1e-19 to 1e19, which common units exceed: a parsec is 3e18
//! cm. Outside this range, tests in `f32` decide nothing, all tests fall to `f64`, and a search becomes quadratic. If
//! a radius or a point cloud is far from 1, differences are therefore multiplied by a power of two before they are
//! squared, and so are the limits. This rounds nothing.
//!
//! In open space, a difference that overflows is beyond any limit, and one that underflows is within any. The error
//! bounds of `filtered` hold in the new unit as in the old one. In a periodic box, differences have an absolute
//! error, so no unit is made for lengths below that error ([`FilteredRadius::unit`](super::FilteredRadius::unit)).
//! Stored values, exact tests in `f64` and returned values keep the caller's unit.
//!
//! A radius gets the unit that brings it near 1, for any point cloud. A nearest-neighbour search does not know its
//! final radius. It takes the unit of the point cloud, or of the smallest node around the query that holds more
//! points than requested. The search of a spanning tree takes the unit of its limit. `f64` needs no unit for its own
//! squares; squares that are rounded to `f32` (`nearest::approx_heap`) have one.

use crate::geometry::{Aabb, Scalar};

/// The exponent of the longest lengths whose squares, and sums of ten of them, are in the range of `f32` with a
/// margin.
const MAX_EXPONENT: i32 = 40;
/// The exponent of the shortest lengths whose squares lose less to underflow than to rounding.
pub(crate) const MIN_EXPONENT: i32 = -40;
/// The square of the length 2^[`MIN_EXPONENT`].
pub(crate) const MIN_SQUARE: f64 = 1.0 / (1u128 << (-2 * MIN_EXPONENT)) as f64;
/// The exponent of the smallest extent whose much smaller parts still exceed 2^[`MIN_EXPONENT`].
pub(crate) const MIN_EXTENT_EXPONENT: i32 = -20;

/// The power of two that brings a length into the range from 2^`least` to 2^40, as far as `S` has one. It is 1 for a
/// length in this range, and for 0, infinity and NaN.
pub(crate) fn scale_of<S: Scalar>(length: f64, least: i32) -> f64 {
    if !(length > 0.0 && length < f64::INFINITY) {
        return 1.0;
    }
    // The exponent. For denormal numbers it is approximate, and the clamps below bring them as close as possible.
    let exponent = (length.to_bits() >> 52) as i32 - 1023;
    let clear = if S::IS_F32 { 120 } else { 500 };
    power_of_two((exponent.clamp(least, MAX_EXPONENT) - exponent).clamp(-clear, clear))
}

/// 2 to the power of `exponent`, which must be the exponent of a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Returns `true` if differences of such coordinates are certainly finite, so that they can be scaled after the
/// subtraction.
pub(crate) fn has_differences<S: Scalar, const D: usize>(bounds: &Aabb<S, D>) -> bool {
    let most = S::MAX.into() / 4.0;
    bounds.lo.iter().chain(&bounds.hi).all(|&x| Into::<f64>::into(x.abs()) <= most)
}

/// The longest side of a box; negative or NaN if the box is empty or has a NaN.
pub(crate) fn extent<S: Scalar, const D: usize>(bounds: &Aabb<S, D>) -> f64 {
    (0..D).map(|k| Into::<f64>::into(bounds.hi[k]) - Into::<f64>::into(bounds.lo[k])).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_brought_near_one() {
        for length in [1.0, 1e-12, 1e12, 0.3] {
            assert_eq!(scale_of::<f32>(length, MIN_EXPONENT), 1.0);
        }
        for odd in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(scale_of::<f64>(odd, MIN_EXPONENT), 1.0);
        }
        for length in [1e-45, 3e-30, 1e-13, 1e13, 3e22, 3e38] {
            let scale = scale_of::<f32>(length, MIN_EXPONENT);
            assert!(scale != 1.0 && (scale as f32).is_finite() && (1.0 / scale as f32).is_finite());
            let scaled = scale * length;
            assert!(
                (2f64.powi(MIN_EXPONENT)..2f64.powi(MAX_EXPONENT + 1)).contains(&scaled),
                "{length} becomes {scaled}"
            );
            assert_eq!(scaled / scale, length);
        }
        assert_eq!(scale_of::<f32>(1e-300, MIN_EXPONENT), 2f64.powi(120));
        assert_eq!(scale_of::<f64>(5e-324, MIN_EXPONENT), 2f64.powi(500));
    }
}
