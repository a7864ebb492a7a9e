//! Ellipsoids, and ellipses in two dimensions.

use crate::geometry::shapes::closest::Closest;
use crate::geometry::shapes::core::{Core, Frame, Solid};
use crate::geometry::shapes::obb::orthonormal;
use crate::geometry::shapes::vector::{length2, outwards, sub, wide};
use crate::geometry::{Aabb, Bounded, Convex, Scalar};

/// A solid ellipsoid; in two dimensions an ellipse.
///
/// Axes and radii are `f64` whatever the centre is, because `f64` decides. A radius may be zero: a disc, a segment, a point.
/// A negative or infinite radius, axes that depend on each other, and a centre that is not finite, hold nothing.
///
/// ```
/// use ropewalk::{Convex, Ellipsoid};
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
    /// The ellipsoid about `center` with a radius along each of the axes. Axes are made orthonormal in their order (Gram-Schmidt).
    pub fn new(center: impl Into<[S; D]>, axes: [[f64; D]; D], radii: [f64; D]) -> Self {
        Self { center: center.into(), axes: orthonormal(axes), radii }
    }

    /// The centre.
    pub fn center(&self) -> [S; D] {
        self.center
    }

    /// The axes, each of length 1.
    pub fn axes(&self) -> [[f64; D]; D] {
        self.axes
    }

    /// The radius along each axis.
    pub fn radii(&self) -> [f64; D] {
        self.radii
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Ellipsoid<S, D> {
    fn solid(&self) -> Solid<D> {
        let frame = Frame { center: wide(&self.center), axes: self.axes, half: self.radii };
        Solid::new(Core::Ellipsoid(frame), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Ellipsoid<S, D> {
    /// Rounded outwards; upside down, so that a tree refuses it, if a radius is negative or NaN.
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

/// The nearest point of a solid ellipsoid.
///
/// It is `r² y / (t + r²)` along each axis, for the `t > 0` with which it lies on the surface (Eberly 2013, Distance from a Point to an
/// Ellipse, an Ellipsoid, or a Hyperellipsoid). Newton's method rises to it, as the function falls and is convex.
pub fn on_ellipsoid<const D: usize>(frame: &Frame<D>, p: &[f64; D]) -> Closest<D> {
    let y = frame.components(&sub(p, &frame.center));
    let r = &frame.half;
    let level = |t: f64| {
        let (mut level, mut slope) = (-1.0, 0.0);
        for k in 0..D {
            if r[k] > 0.0 {
                let share = y[k] / (t / r[k] + r[k]);
                level += share * share;
                slope -= 2.0 * share * share / (t + r[k] * r[k]);
            }
        }
        (level, slope)
    };
    let mut t = 0.0;
    if level(0.0).0 <= 0.0 {
        if (0..D).all(|k| r[k] > 0.0 || y[k] == 0.0) {
            return Closest { distance2: 0.0, point: *p };
        }
    } else {
        t = (0..D).fold(0.0, |most: f64, k| most.max(r[k] * (y[k].abs() - r[k])));
        for _ in 0..200 {
            let (level, slope) = level(t);
            let next = t - level / slope;
            // Rounding ends it, or NaN, where nothing is left of the slope.
            if next > t {
                t = next;
            } else {
                break;
            }
        }
    }
    let near: [f64; D] = std::array::from_fn(|k| if r[k] > 0.0 { y[k] / (1.0 + t / r[k] / r[k]) } else { 0.0 });
    Closest { distance2: length2(&sub(&y, &near)), point: frame.place(&near) }
}
