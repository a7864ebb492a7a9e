//! Comparison of the sizes of units, which files give with few digits.

/// Returns `true` if two sizes are equal to a relative error of 1e-4.
pub(super) fn approx_eq(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-4
}
