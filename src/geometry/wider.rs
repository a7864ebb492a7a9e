//! The dimension that points of a dimension known at run time are brought to, and their box.
//!
//! In: a dimension, and the sides of a box. Out: 2, 3, 6 or 10 dimensions, and the box with a side for each.

use crate::error::Result;
use crate::geometry::{BoxSize, Space};

/// The dimension and the box that points get.
pub struct Wider {
    /// The dimension that there will be.
    pub dim: usize,
    /// A side for each axis that there was, of a periodic box.
    pub sides: Option<Vec<f64>>,
    /// The box with a side for each axis that there will be.
    pub size: BoxSize,
}

impl Wider {
    /// The next of 2, 3, 6 and 10 dimensions; those above 10 stay.
    ///
    /// Errors: a box that has not a side for each of `dim` axes, or one that is none.
    pub fn new(dim: usize, size: &BoxSize) -> Result<Self> {
        let wide = [2, 3, 6, 10].into_iter().find(|&wide| wide >= dim).unwrap_or(dim);
        let sides = size.sides_of(dim)?;
        for &side in sides.iter().flatten() {
            Space::<1>::periodic(side)?;
        }
        // The added sides are as long as the longest, so that they say nothing.
        let size = sides.clone().map(|mut sides| {
            sides.resize(wide, sides.iter().copied().fold(0.0, f64::max));
            BoxSize::from(sides)
        });
        Ok(Self { dim: wide, sides, size: size.into() })
    }
}
