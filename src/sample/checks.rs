//! Parameter checks that several samples share.

use crate::error::{Error, Result};

pub(super) fn check_side(side: f64) -> Result<()> {
    // Squared distances must not overflow or underflow in `f32`.
    check_within("the side of the box", side, 1e-15, 1e15, "from 1e-15 to 1e15")
}

pub(super) fn check_within(name: &'static str, value: f64, least: f64, most: f64, must: &'static str) -> Result<()> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(Error::parameter_must(name, value, must)) }
}
