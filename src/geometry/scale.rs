//! Powers of two that keep squares in range.
//!
//! `f32` holds squares of lengths from some 1e-19 to 1e19 only, and units take no heed of that: a parsec is 3e18 cm. Beyond, tests
//! in `f32` say nothing, all is left to `f64`, and a search is quadratic. So where a radius or a cloud is far from 1, differences
//! are multiplied by a power of two before they are squared, and limits with them. That rounds nothing. In open space what overflows is
//! farther than any limit, what underflows is nearer than any, and the bounds of errors (`filtered`) hold in the new unit as they do in
//! the old one. Differences in a periodic box have an absolute error, so no unit is for lengths below that error
//! ([`FilteredRadius::unit`](super::FilteredRadius::unit)). What is stored, what is decided in `f64` and what is returned keeps the caller's
//! unit.
//!
//! A radius has the unit that brings it near 1, whatever the cloud. A search for the nearest does not know how far it leads: it takes the
//! unit of the cloud, or of the smallest node around the query that holds more points than are wanted. A spanning tree's search takes the
//! unit of its limit. `f64` needs no unit for its own squares; those that are rounded to `f32` (`nearest::approx_heap`) have one.

use crate::geometry::{Aabb, Scalar};

/// Lengths up to 2 to this have squares, and sums of ten, that `f32` holds with room to spare.
const MOST: i32 = 40;
/// Lengths from 2 to this on have squares that underflow blurs by less than rounding does.
pub(crate) const LEAST: i32 = -40;
/// The square of these lengths.
pub(crate) const LEAST_SQUARE: f64 = 1.0 / (1u128 << (-2 * LEAST)) as f64;
/// What has an extent of at least 2 to this has parts that are much smaller and still clear of [`LEAST`].
pub(crate) const LEAST_EXTENT: i32 = -20;

/// The power of two that brings a length to 2^`least` or more and 2^40 or less, as far as `S` has one; 1 for a length that is
/// there already, and for 0, infinity and NaN.
pub(crate) fn scale_of<S: Scalar>(length: f64, least: i32) -> f64 {
    if !(length > 0.0 && length < f64::INFINITY) {
        return 1.0;
    }
    // The exponent; that of denormal numbers is about right, and they are brought as near as can be.
    let exponent = (length.to_bits() >> 52) as i32 - 1023;
    let clear = if S::NARROW { 120 } else { 500 };
    power_of_two((exponent.clamp(least, MOST) - exponent).clamp(-clear, clear))
}

/// 2 to the power of `exponent`, which is that of a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Whether differences of such coordinates are surely finite, and so can be multiplied afterwards.
pub(crate) fn has_differences<S: Scalar, const D: usize>(bounds: &Aabb<S, D>) -> bool {
    let most = S::MAX.into() / 4.0;
    bounds.lo.iter().chain(&bounds.hi).all(|&x| Into::<f64>::into(x.abs()) <= most)
}

/// The longest side of a box; negative or NaN if there is none.
pub(crate) fn extent<S: Scalar, const D: usize>(bounds: &Aabb<S, D>) -> f64 {
    (0..D).map(|k| Into::<f64>::into(bounds.hi[k]) - Into::<f64>::into(bounds.lo[k])).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_brought_near_one() {
        for length in [1.0, 1e-12, 1e12, 0.3] {
            assert_eq!(scale_of::<f32>(length, LEAST), 1.0);
        }
        for odd in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(scale_of::<f64>(odd, LEAST), 1.0);
        }
        for length in [1e-45, 3e-30, 1e-13, 1e13, 3e22, 3e38] {
            let scale = scale_of::<f32>(length, LEAST);
            assert!(scale != 1.0 && (scale as f32).is_finite() && (1.0 / scale as f32).is_finite());
            let scaled = scale * length;
            assert!((2f64.powi(LEAST)..2f64.powi(MOST + 1)).contains(&scaled), "{length} becomes {scaled}");
            assert_eq!(scaled / scale, length);
        }
        assert_eq!(scale_of::<f32>(1e-300, LEAST), 2f64.powi(120));
        assert_eq!(scale_of::<f64>(5e-324, LEAST), 2f64.powi(500));
    }
}
