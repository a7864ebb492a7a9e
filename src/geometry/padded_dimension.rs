//! Padding of points whose dimension is known at run time to a supported dimension.
//!
//! Input: a dimension, and the sides of a box. Output: 2, 3, 6 or 10 dimensions, and the box with a side for each of
//! them.

use crate::error::Result;
use crate::geometry::{BoxSize, Space};

/// The padded dimension of points, and their box.
pub struct PaddedDimension {
    /// The padded dimension.
    pub dim: usize,
    /// The sides of the periodic box, one per original axis.
    pub sides: Option<Vec<f64>>,
    /// The periodic box with one side per padded axis.
    pub size: BoxSize,
}

impl PaddedDimension {
    /// Pads to the next of 2, 3, 6 and 10 dimensions. Dimensions above 10 are unchanged.
    ///
    /// # Errors
    /// The box does not have one side per axis, or a side is invalid.
    pub fn new(dim: usize, size: &BoxSize) -> Result<Self> {
        let wide = [2, 3, 6, 10].into_iter().find(|&wide| wide >= dim).unwrap_or(dim);
        let sides = size.sides_of(dim)?;
        for &side in sides.iter().flatten() {
            Space::<1>::periodic(side)?;
        }
        // The added sides are as long as the longest, so that they do not restrict searches.
        let size = sides.clone().map(|mut sides| {
            sides.resize(wide, sides.iter().copied().fold(0.0, f64::max));
            BoxSize::from(sides)
        });
        Ok(Self { dim: wide, sides, size: size.into() })
    }
}
