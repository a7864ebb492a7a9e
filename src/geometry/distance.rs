//! What has a distance from a point.

use crate::geometry::shapes::beyond;
use crate::geometry::{Aabb, Bounded, Scalar, Space, Sphere};

/// Something whose distance from a point is known: what [`ValueBvh::nearest`](crate::ValueBvh::nearest) finds by the distance of what is
/// stored, not of its box.
///
/// Points, glam vectors, boxes, balls and the other [shapes](crate::shapes) come with it; so does a pair of a shape and a value. Space is open
/// here.
///
/// ```
/// use ropewalk::{Distance, Sphere};
///
/// let ball = Sphere::new([3.0f32, 4.0], 2.0);
/// assert_eq!(ball.distance2_to(&[0.0, 0.0]), 9.0);
/// assert_eq!((ball, "a name").distance2_to(&[3.0, 5.0]), 0.0);
/// ```
pub trait Distance<S, const D: usize>: Bounded<S, D> {
    /// The squared distance from a point to the nearest point of the shape, in `f64`; 0 inside of what is solid. NaN if there is none.
    fn distance2_to(&self, point: &[S; D]) -> f64;
}

impl<S: Scalar, const D: usize> Distance<S, D> for [S; D] {
    #[inline]
    fn distance2_to(&self, point: &[S; D]) -> f64 {
        Space::OPEN.distance2(point, self)
    }
}

impl<S: Scalar, const D: usize> Distance<S, D> for Aabb<S, D> {
    #[inline]
    fn distance2_to(&self, point: &[S; D]) -> f64 {
        // A NaN would be near to everything, and so would be a box upside down to what lies between its corners.
        if !(0..D).all(|k| self.lo[k] <= self.hi[k] && point[k].abs() <= S::INFINITY) {
            return f64::NAN;
        }
        Space::OPEN.min_distance2(&Aabb::point(*point), self)
    }
}

impl<S: Scalar, const D: usize> Distance<S, D> for Sphere<S, D> {
    fn distance2_to(&self, point: &[S; D]) -> f64 {
        let distance2 = Space::OPEN.distance2(point, &self.center);
        if self.radius < 0.0 {
            return f64::NAN;
        }
        // Inside by the same test that decides for balls that are asked for.
        beyond(distance2, self.radius)
    }
}

/// A value that a shape carries has no part in where it is.
impl<S, const D: usize, G: Distance<S, D>, V: Sync> Distance<S, D> for (G, V) {
    #[inline]
    fn distance2_to(&self, point: &[S; D]) -> f64 {
        self.0.distance2_to(point)
    }
}

#[cfg(feature = "glam")]
macro_rules! glam_vector {
    ($($vector:ty: $scalar:ty, $dim:literal;)*) => {$(
        impl Distance<$scalar, $dim> for $vector {
            #[inline]
            fn distance2_to(&self, point: &[$scalar; $dim]) -> f64 {
                self.to_array().distance2_to(point)
            }
        }
    )*};
}

#[cfg(feature = "glam")]
for_each_glam_vector!(glam_vector);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let point = [3.0f64, 4.0];
        assert_eq!([0.0, 0.0].distance2_to(&point), 25.0);
        assert_eq!(Aabb::new([0.0f64, 0.0], [2.0, 5.0]).distance2_to(&point), 1.0);
        assert_eq!(Aabb::new([0.0f64, 0.0], [3.0, 5.0]).distance2_to(&point), 0.0);
        assert_eq!(Sphere::new([0.0f64, 0.0], 3.0).distance2_to(&point), 4.0);
        // The surface belongs to the ball.
        assert_eq!(Sphere::new([0.0f64, 0.0], 5.0).distance2_to(&point), 0.0);
        assert_eq!(Sphere::new(point, 0.0).distance2_to(&point), 0.0);
        assert!(Sphere::new(point, 1.0).distance2_to(&[f64::NAN, 0.0]).is_nan());
    }
}
