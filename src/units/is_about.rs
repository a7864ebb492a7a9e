//! Equality of sizes of units, as files give them.

/// Whether two sizes are the same but for the digits that files give them with.
pub(super) fn is_about(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-4
}
