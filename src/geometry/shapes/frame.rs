//! Orthonormal axes around a centre: the coordinate frame of an oriented box or an ellipsoid.
//!
//! Input: a point or a direction. Output: its components along the axes, or the point with given components.
//! Cost: O(D²).

use crate::geometry::shapes::vector::{add_scaled, dot};

/// A box of any orientation, or the ellipsoid inscribed in it: orthonormal axes, and half the length along each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame<const D: usize> {
    pub center: [f64; D],
    pub axes: [[f64; D]; D],
    pub half: [f64; D],
}

impl<const D: usize> Frame<D> {
    /// Returns the components of a vector along the axes.
    #[inline]
    pub fn components(&self, vector: &[f64; D]) -> [f64; D] {
        self.axes.map(|axis| dot(&axis, vector))
    }

    /// Returns the point with the given components relative to the centre.
    #[inline]
    pub fn place(&self, components: &[f64; D]) -> [f64; D] {
        let mut point = self.center;
        for (component, axis) in components.iter().zip(&self.axes) {
            point = add_scaled(&point, *component, axis);
        }
        point
    }
}
