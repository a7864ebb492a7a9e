//! Constants of type `f64` for the kernels of this folder: an array, and the index of each constant in it.

use crate::interpolate::mls::{DEPENDENT, DETERMINED, MAX_COEFFICIENT_SUM, MAX_ROUNDING_EFFECT, REPRODUCED};
use crate::interpolate::qr::CANCELLED;

/// Indices into the array of [`numbers`], which is passed to kernels because cubecl writes `f64` literals as `f32`.
pub(super) const TINY: usize = 0;
pub(super) const LN_2: usize = 1;
pub(super) const DEPENDENT_PART: usize = 2;
pub(super) const DETERMINED_WITHIN: usize = 3;
pub(super) const UNCERTAIN_PART: usize = 4;
pub(super) const CANCELLED_PART: usize = 5;
pub(super) const ROUNDING: usize = 6;
pub(super) const REPRODUCED_WITHIN: usize = 7;
pub(super) const LARGEST_SIZE: usize = 8;
pub(super) const LARGEST: usize = 9;

/// The array of constants. `rounding` is the relative rounding error of coordinates.
pub(super) fn numbers(rounding: f64) -> [f64; 10] {
    let mut all = [0.0; 10];
    for (at, value) in [
        (TINY, f64::MIN_POSITIVE),
        (LN_2, std::f64::consts::LN_2),
        (DEPENDENT_PART, DEPENDENT),
        (DETERMINED_WITHIN, DETERMINED),
        (UNCERTAIN_PART, MAX_ROUNDING_EFFECT),
        (CANCELLED_PART, CANCELLED),
        (ROUNDING, rounding),
        (REPRODUCED_WITHIN, REPRODUCED),
        (LARGEST, f64::MAX),
        (LARGEST_SIZE, MAX_COEFFICIENT_SUM),
    ] {
        all[at] = value;
    }
    all
}
