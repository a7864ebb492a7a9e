//! Intervals of numbers, as arrays of the first and the last.
//!
//! An interval without numbers is `[infinity, -infinity]`, so that a hull is a minimum and a maximum.

use cubecl::prelude::*;

use crate::gpu::geometry::vector::infinity;

/// Returns the interval without numbers. `any` is any number that the compiler does not know.
#[cube]
pub(super) fn none(any: f64) -> Array<f64> {
    let mut out = Array::<f64>::new(2usize);
    out[0] = infinity(any);
    out[1] = -infinity(any);
    out
}

/// Returns the interval of all numbers. `any` is any number that the compiler does not know.
#[cube]
pub(super) fn all(any: f64) -> Array<f64> {
    let mut out = Array::<f64>::new(2usize);
    out[0] = -infinity(any);
    out[1] = infinity(any);
    out
}

#[cube]
pub(super) fn set(interval: &mut Array<f64>, other: &Array<f64>) {
    interval[0] = other[0];
    interval[1] = other[1];
}

/// Replaces an interval by the numbers from `first` to `last`, if the condition holds and there are any; otherwise by
/// none.
#[cube]
pub(super) fn set_if(interval: &mut Array<f64>, condition: bool, first: f64, last: f64) {
    let holds = condition && first <= last;
    interval[0] = select(holds, first, infinity(first));
    interval[1] = select(holds, last, -infinity(first));
}

/// Reduces an interval to the part in which `from + t * by` lies between two numbers.
#[cube]
pub(super) fn clip(inside: &mut Array<f64>, from: f64, by: f64, lo: f64, hi: f64) {
    if by == f64::new(0.0) {
        let (first, last) = (inside[0], inside[1]);
        set_if(inside, lo <= from && from <= hi, first, last);
    } else {
        let (a, b) = ((lo - from) / by, (hi - from) / by);
        let (first, last) = (max(inside[0], min(a, b)), min(inside[1], max(a, b)));
        set_if(inside, true.runtime(), first, last);
    }
}

/// Reduces an interval to the part in another one.
#[cube]
pub(super) fn intersect(inside: &mut Array<f64>, other: &Array<f64>) {
    let (first, last) = (max(inside[0], other[0]), min(inside[1], other[1]));
    set_if(inside, true.runtime(), first, last);
}

/// Extends an interval to contain another one.
#[cube]
pub(super) fn extend(hull: &mut Array<f64>, part: &Array<f64>) {
    hull[0] = min(hull[0], part[0]);
    hull[1] = max(hull[1], part[1]);
}
