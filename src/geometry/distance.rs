//! Distances from points to primitives, and conversions between distances and their squares.

use crate::geometry::{Aabb, Bounded, Scalar, Space, Sphere};

/// A primitive with a known distance from a point.
///
/// [`ValueBvh::nearest`](crate::ValueBvh::nearest) ranks primitives by this distance instead of the distance to their
/// boxes. Points, glam vectors, boxes, spheres, the other [shapes](crate::geometry::shapes), and pairs of a shape and a
/// value implement this trait. Distances are those of open space.
///
/// ```
/// use ropewalk::geometry::Distance;
/// use ropewalk::Sphere;
///
/// let ball = Sphere::new([3.0f32, 4.0], 2.0);
/// assert_eq!(ball.distance2_to(&[0.0, 0.0]), 9.0);
/// assert_eq!((ball, "a name").distance2_to(&[3.0, 5.0]), 0.0);
/// ```
pub trait Distance<S, const D: usize>: Bounded<S, D> {
    /// Computes the squared distance in `f64` from a point to the nearest point of the shape; 0 inside a solid shape.
    /// NaN if the shape is empty or a coordinate is NaN.
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
        // Without this test, a NaN would be near to everything, and an inverted box near to the points between its
        // corners.
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
        // Uses the same inside test as sphere queries.
        beyond(distance2, self.radius)
    }
}

/// A shape paired with a value; its distance is that of the shape.
impl<S, const D: usize, G: Distance<S, D>, V: Sync> Distance<S, D> for (G, V) {
    #[inline]
    fn distance2_to(&self, point: &[S; D]) -> f64 {
        self.0.distance2_to(point)
    }
}

/// Returns the distance for a squared distance: the smallest radius within which a search finds a point that far
/// away.
///
/// Searches compare squares, and the square of a root rounded to the nearest number may be too small. This function
/// returns the smallest `f64` whose square, rounded in `f64` arithmetic, is at least `distance2`. All distances that
/// the library returns are such numbers.
///
/// ```
/// use ropewalk::geometry::distance_from_square;
/// use ropewalk::Bvh;
///
/// let bvh = Bvh::build(&[[0.0f64, 0.0, 0.0], [1.0, 1.0, 1.0]])?;
/// let farthest = bvh.nearest([0.0, 0.0, 0.0], 2)[1];
/// // The nearest number to the root of 3 has a square below 3.
/// assert_eq!(bvh.count_neighbors(farthest.distance2.sqrt()), [1, 1]);
/// assert_eq!(bvh.count_neighbors(distance_from_square(farthest.distance2)), [2, 2]);
/// assert_eq!(farthest.distance(), distance_from_square(3.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[inline]
pub fn distance_from_square(distance2: f64) -> f64 {
    // If the nearest number is below the root, its square may round to less than `distance2`. The next number is at
    // least the root, so its square is not less. If the nearest number is above the root, the number before it is at
    // least half a step below the root, and its square is too far below `distance2` to round to it.
    let root = distance2.sqrt();
    if root * root < distance2 { root.next_up() } else { root }
}

/// The square of the distance that remains after `radius` is subtracted from the root of `distance2`; 0 within the
/// radius.
#[inline]
pub(super) fn beyond(distance2: f64, radius: f64) -> f64 {
    if radius == 0.0 {
        return distance2;
    }
    if distance2 <= radius * radius {
        return 0.0;
    }
    let rest = distance2.sqrt() - radius;
    rest * rest
}

/// The largest squared distance whose root, rounded to the nearest number, is at most `length`. It is at least
/// `length * length`.
///
/// It limits the heights of a hierarchy, which other programs round to the nearest number.
pub(crate) fn squared_limit(length: f64) -> f64 {
    let mut limit = length * length;
    // Per step, the root grows by half or a quarter of a unit in the last place.
    while limit < f64::MAX && limit.next_up().sqrt() <= length {
        limit = limit.next_up();
    }
    limit
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
    fn roots_and_their_squares() {
        let mut state = 5u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let numbers = (0..5000).map(|i| next() * 2f64.powi(i % 2000 - 1000)).chain([0.0, 3.0, 5e-324, 1e-310]);
        for square in numbers {
            let root = distance_from_square(square);
            assert!(root * root >= square, "{square:e}");
            assert!(square < 1e-300 || root.next_down() * root.next_down() < square, "{square:e}");
            let limit = squared_limit(root);
            assert!(limit.sqrt() <= root && (limit == f64::MAX || limit.next_up().sqrt() > root), "{square:e}");
            assert!(square.sqrt() > squared_limit(square.sqrt().next_down()).sqrt() || square < 1e-300, "{square:e}");
        }
        assert_eq!(distance_from_square(f64::INFINITY), f64::INFINITY);
        assert_eq!(squared_limit(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn by_hand() {
        let point = [3.0f64, 4.0];
        assert_eq!([0.0, 0.0].distance2_to(&point), 25.0);
        assert_eq!(Aabb::new([0.0f64, 0.0], [2.0, 5.0]).distance2_to(&point), 1.0);
        assert_eq!(Aabb::new([0.0f64, 0.0], [3.0, 5.0]).distance2_to(&point), 0.0);
        assert_eq!(Sphere::new([0.0f64, 0.0], 3.0).distance2_to(&point), 4.0);
        // The surface belongs to the sphere.
        assert_eq!(Sphere::new([0.0f64, 0.0], 5.0).distance2_to(&point), 0.0);
        assert_eq!(Sphere::new(point, 0.0).distance2_to(&point), 0.0);
        assert!(Sphere::new(point, 1.0).distance2_to(&[f64::NAN, 0.0]).is_nan());
    }
}
