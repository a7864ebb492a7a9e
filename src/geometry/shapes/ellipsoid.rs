//! Ellipsoids; in two dimensions, ellipses.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::obb::orthonormal;
use crate::geometry::shapes::vector::{length2, outwards, to_f64};
use crate::geometry::{Aabb, Bounded, Convex, Scalar};

/// A solid ellipsoid; in two dimensions an ellipse.
///
/// Axes and radii are `f64` for every coordinate type, because tests are decided in `f64`. A radius may be zero: a
/// disc, a segment, a point. The ellipsoid is empty if a radius is negative or infinite, the axes are linearly
/// dependent, or the centre is not finite.
///
/// ```
/// use ropewalk::geometry::{Convex, Ellipsoid};
///
/// let egg = Ellipsoid::new([0.0f32, 0.0], [[1.0, 0.0], [0.0, 1.0]], [2.0, 1.0]);
/// assert!(egg.intersects(&[2.0, 0.0]) && !egg.intersects(&[2.0, 0.5]));
/// assert_eq!(egg.closest_point([0.0, 3.0]), [0.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid<S, const D: usize> {
    center: [S; D],
    axes: [[f64; D]; D],
    radii: [f64; D],
}

impl<S: Scalar, const D: usize> Ellipsoid<S, D> {
    /// Creates the ellipsoid around `center` with a radius along each axis. The axes are made orthonormal in order
    /// (Gram-Schmidt).
    pub fn new(center: impl Into<[S; D]>, axes: [[f64; D]; D], radii: [f64; D]) -> Self {
        Self { center: center.into(), axes: orthonormal(axes), radii }
    }

    /// Returns the centre of the ellipsoid.
    pub fn center(&self) -> [S; D] {
        self.center
    }

    /// Returns the axes of the ellipsoid, each of length 1.
    pub fn axes(&self) -> [[f64; D]; D] {
        self.axes
    }

    /// Returns the radius along each axis, in the order of [`Ellipsoid::axes`].
    pub fn radii(&self) -> [f64; D] {
        self.radii
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Ellipsoid<S, D> {
    fn solid(&self) -> Solid<D> {
        let frame = Frame { center: to_f64(&self.center), axes: self.axes, half: self.radii };
        Solid::new(Core::Ellipsoid(frame), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Ellipsoid<S, D> {
    /// The bounding box, rounded outwards. If a radius is negative or NaN, the box is inverted, so that a tree
    /// refuses it.
    fn bounds(&self) -> Aabb<S, D> {
        if !self.radii.iter().all(|&radius| radius >= 0.0) {
            return Aabb::EMPTY;
        }
        let mut bounds = Aabb { lo: self.center, hi: self.center };
        for k in 0..D {
            let half = length2(&std::array::from_fn::<_, D, _>(|i| self.radii[i] * self.axes[i][k])).sqrt();
            let center: f64 = self.center[k].into();
            let slack = 8.0 * f64::EPSILON * (half + center.abs());
            [bounds.lo[k], bounds.hi[k]] =
                outwards(center - half, center + half, if half == 0.0 { 0.0 } else { slack });
        }
        bounds
    }
}
