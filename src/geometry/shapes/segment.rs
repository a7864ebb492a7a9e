//! Segments and capsules.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::vector::{outwards, to_f64};
use crate::geometry::{Aabb, Bounded, Convex, Scalar};

/// The points between two ends, which may coincide.
///
/// ```
/// use ropewalk::geometry::{Convex, Segment};
///
/// let street = Segment::new([0.0f64, 0.0], [4.0, 0.0]);
/// assert_eq!(street.distance2(&[5.0, 1.0]), 2.0);
/// assert!(street.intersects(&Segment::new([2.0, 0.0], [2.0, 3.0])));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment<S, const D: usize> {
    /// The two ends.
    pub ends: [[S; D]; 2],
}

impl<S: Scalar, const D: usize> Segment<S, D> {
    /// Creates the segment between two ends; accepts arrays and glam vectors.
    pub fn new(from: impl Into<[S; D]>, to: impl Into<[S; D]>) -> Self {
        Self { ends: [from.into(), to.into()] }
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Segment<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Segment(self.ends.map(|end| to_f64(&end))), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Segment<S, D> {
    fn bounds(&self) -> Aabb<S, D> {
        around(&self.ends)
    }
}

/// All points within a radius of a segment: a cylinder with round ends.
///
/// As for a [`Sphere`](crate::Sphere), the radius is `f64`, and a capsule with a negative or NaN radius is empty.
///
/// ```
/// use ropewalk::geometry::{Capsule, Convex};
///
/// let tube = Capsule::new([0.0f32, 0.0, 0.0], [4.0, 0.0, 0.0], 1.0);
/// assert_eq!(tube.closest_point([2.0, 3.0, 0.0]), [2.0, 1.0, 0.0]);
/// assert!(tube.intersects(&[5.0, 0.0, 0.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule<S, const D: usize> {
    /// The ends of the segment.
    pub ends: [[S; D]; 2],
    /// The radius, inclusive.
    pub radius: f64,
}

impl<S: Scalar, const D: usize> Capsule<S, D> {
    /// Creates the capsule around the segment between two ends.
    pub fn new(from: impl Into<[S; D]>, to: impl Into<[S; D]>, radius: impl Into<f64>) -> Self {
        Self { ends: [from.into(), to.into()], radius: radius.into() }
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Capsule<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Segment(self.ends.map(|end| to_f64(&end))), self.radius, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Capsule<S, D> {
    /// The bounding box, rounded outwards.
    fn bounds(&self) -> Aabb<S, D> {
        let mut bounds = around(&self.ends);
        for k in 0..D {
            let (lo, hi): (f64, f64) = (bounds.lo[k].into(), bounds.hi[k].into());
            let (lo, hi) = (lo - self.radius, hi + self.radius);
            // The slack covers the single rounding of the sum and difference above.
            let slack = if S::IS_F32 { 0.0 } else { f64::EPSILON * lo.abs().max(hi.abs()) };
            [bounds.lo[k], bounds.hi[k]] = outwards(lo, hi, slack);
        }
        bounds
    }
}

/// Computes the smallest box around some points. If a coordinate is NaN, all corners are NaN, so that a tree refuses
/// the box.
pub fn around<S: Scalar, const D: usize, const N: usize>(points: &[[S; D]; N]) -> Aabb<S, D> {
    let is_nan = points.iter().flatten().any(|x| x.abs().partial_cmp(&S::ZERO).is_none());
    let bounds = points.iter().fold(Aabb::EMPTY, |bounds, point| bounds.union(&Aabb::point(*point)));
    if is_nan { Aabb::point([S::from_f64(f64::NAN); D]) } else { bounds }
}
