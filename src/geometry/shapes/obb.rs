//! Boxes of any orientation.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::vector::{add_scaled, dot, length2, outwards, times, to_f64};
use crate::geometry::{Aabb, Bounded, Convex, Scalar};

/// An oriented box; in two dimensions, a rectangle.
///
/// Axes and extents are `f64` for every coordinate type, because tests are decided in `f64`. Extents may be zero: a
/// rectangle, a segment, a point. The box is empty if an extent is negative or infinite, the axes are linearly
/// dependent, or the centre is not finite.
///
/// ```
/// use ropewalk::geometry::{Convex, Obb};
///
/// // A square that stands on a corner.
/// let diamond = Obb::new([0.0f64, 0.0], [[1.0, 1.0], [-1.0, 1.0]], [1.0, 1.0]);
/// assert!(diamond.intersects(&[1.4, 0.0]) && !diamond.intersects(&[1.0, 1.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obb<S, const D: usize> {
    center: [S; D],
    axes: [[f64; D]; D],
    half_extents: [f64; D],
}

impl<S: Scalar, const D: usize> Obb<S, D> {
    /// Creates the box around `center` that extends `half_extents[i]` to both sides along `axes[i]`. The axes are
    /// made orthonormal in order (Gram-Schmidt).
    pub fn new(center: impl Into<[S; D]>, axes: [[f64; D]; D], half_extents: [f64; D]) -> Self {
        Self { center: center.into(), axes: orthonormal(axes), half_extents }
    }

    /// Returns the centre of the box.
    pub fn center(&self) -> [S; D] {
        self.center
    }

    /// Returns the axes of the box, each of length 1.
    pub fn axes(&self) -> [[f64; D]; D] {
        self.axes
    }

    /// Returns half the length of the box along each axis, in the order of [`Obb::axes`].
    pub fn half_extents(&self) -> [f64; D] {
        self.half_extents
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Obb<S, D> {
    fn solid(&self) -> Solid<D> {
        let frame = Frame { center: to_f64(&self.center), axes: self.axes, half: self.half_extents };
        Solid::new(Core::Oriented(frame), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Obb<S, D> {
    /// The bounding box, rounded outwards.
    fn bounds(&self) -> Aabb<S, D> {
        let mut bounds = Aabb::point(self.center);
        for k in 0..D {
            let half: f64 = (0..D).map(|i| self.half_extents[i] * self.axes[i][k].abs()).sum();
            let center: f64 = self.center[k].into();
            let is_along = self.axes.iter().all(|axis| axis.iter().filter(|&&x| x != 0.0).count() == 1);
            let slack =
                if half == 0.0 || (is_along && S::IS_F32) { 0.0 } else { 8.0 * f64::EPSILON * (half + center.abs()) };
            [bounds.lo[k], bounds.hi[k]] = outwards(center - half, center + half, slack);
        }
        bounds
    }
}

/// Makes vectors orthonormal by two passes of the modified Gram-Schmidt process. A vector that depends on those
/// before it becomes NaN.
pub fn orthonormal<const D: usize>(mut axes: [[f64; D]; D]) -> [[f64; D]; D] {
    for i in 0..D {
        let (before, rest) = axes.split_at_mut(i);
        let axis = &mut rest[0];
        for _ in 0..2 {
            // Scaled first, so that squares neither overflow nor underflow.
            let most = axis.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            *axis = axis.map(|x| x / most);
            let whole = length2(axis);
            for other in before.iter() {
                *axis = add_scaled(axis, -dot(axis, other), other);
            }
            let left = length2(axis);
            *axis = if left > 1e-24 * whole { times(axis, 1.0 / left.sqrt()) } else { [f64::NAN; D] };
        }
    }
    axes
}
