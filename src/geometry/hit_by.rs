//! The trait that decides whether a query hits a stored shape.

use crate::geometry::{Aabb, Distance, Scalar, Space, Sphere};

/// A stored shape that decides whether a query hits the shape itself, not only its box.
/// [`ValueBvh::query`](crate::ValueBvh::query) calls it.
///
/// Shapes hit each other if they have a common point, boundaries included. For your own type, you define the hit.
/// Points, boxes, spheres, the other [shapes](crate::geometry::shapes), and pairs of a shape and a value implement this
/// trait for each other and for rays. Space is open here.
///
/// ```
/// use ropewalk::geometry::HitBy;
/// use ropewalk::{Aabb, Sphere};
///
/// let ball = Sphere::new([0.0f32, 0.0], 1.0);
/// // The corner of the ball's box is not in the ball.
/// assert!(!ball.is_hit_by(&Aabb::new([0.8f32, 0.8], [2.0, 2.0])));
/// assert!(ball.is_hit_by(&Aabb::new([1.0f32, 0.0], [2.0, 2.0])));
/// ```
pub trait HitBy<Q> {
    /// Returns `true` if `query` hits this primitive. It is called only for primitives whose boxes the query meets.
    fn is_hit_by(&self, query: &Q) -> bool;
}

/// A shape paired with a value; a query hits the pair if it hits the shape.
impl<Q, G: HitBy<Q>, V> HitBy<Q> for (G, V) {
    #[inline]
    fn is_hit_by(&self, query: &Q) -> bool {
        self.0.is_hit_by(query)
    }
}

/// Returns `true` if the distance of a shape from the centre of a sphere is at most the radius.
#[inline]
pub(crate) fn meets_ball<S: Scalar, const D: usize>(shape: &impl Distance<S, D>, ball: &Sphere<S, D>) -> bool {
    ball.radius >= 0.0 && shape.distance2_to(&ball.center) <= ball.radius * ball.radius
}

impl<S: Scalar, const D: usize> HitBy<Sphere<S, D>> for [S; D] {
    #[inline]
    fn is_hit_by(&self, query: &Sphere<S, D>) -> bool {
        meets_ball(self, query)
    }
}

impl<S: Scalar, const D: usize> HitBy<Sphere<S, D>> for Aabb<S, D> {
    #[inline]
    fn is_hit_by(&self, query: &Sphere<S, D>) -> bool {
        meets_ball(self, query)
    }
}

impl<S: Scalar, const D: usize> HitBy<Sphere<S, D>> for Sphere<S, D> {
    #[inline]
    fn is_hit_by(&self, query: &Sphere<S, D>) -> bool {
        let sum = self.radius + query.radius;
        self.radius >= 0.0 && query.radius >= 0.0 && Space::OPEN.distance2(&self.center, &query.center) <= sum * sum
    }
}

impl<S: Scalar, const D: usize> HitBy<Aabb<S, D>> for [S; D] {
    #[inline]
    fn is_hit_by(&self, query: &Aabb<S, D>) -> bool {
        query.contains(*self)
    }
}

impl<S: Scalar, const D: usize> HitBy<Aabb<S, D>> for Aabb<S, D> {
    #[inline]
    fn is_hit_by(&self, query: &Aabb<S, D>) -> bool {
        (0..D).all(|k| {
            // A box with its lower corner above its upper one is empty.
            let (lo, hi) = (self.lo[k].max(query.lo[k]), self.hi[k].min(query.hi[k]));
            self.lo[k] <= self.hi[k] && query.lo[k] <= query.hi[k] && lo <= hi
        })
    }
}

impl<S: Scalar, const D: usize> HitBy<Aabb<S, D>> for Sphere<S, D> {
    #[inline]
    fn is_hit_by(&self, query: &Aabb<S, D>) -> bool {
        (0..D).all(|k| query.lo[k] <= query.hi[k]) && meets_ball(query, self)
    }
}

impl<S: Scalar, const D: usize> HitBy<[S; D]> for [S; D] {
    #[inline]
    fn is_hit_by(&self, query: &[S; D]) -> bool {
        self == query
    }
}

impl<S: Scalar, const D: usize> HitBy<[S; D]> for Aabb<S, D> {
    #[inline]
    fn is_hit_by(&self, query: &[S; D]) -> bool {
        self.contains(*query)
    }
}

impl<S: Scalar, const D: usize> HitBy<[S; D]> for Sphere<S, D> {
    #[inline]
    fn is_hit_by(&self, query: &[S; D]) -> bool {
        meets_ball(query, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all boxes and spheres of a small grid with integer arithmetic.
    #[test]
    fn whole_numbers() {
        let places = || (-2..=2).flat_map(|x: i32| (-2..=2).map(move |y| [x, y]));
        let wide = |at: [i32; 2]| at.map(f64::from);
        let square = |gap: i32| gap.max(0).pow(2);
        let query = Aabb::new([-1.0f64, 0.0], [1.0, 1.0]);
        for at in places() {
            let to_box = square(at[0].abs() - 1) + square(-at[1]) + square(at[1] - 1);
            assert_eq!(wide(at).is_hit_by(&query), to_box == 0);
            for radius in -1..=3 {
                let ball = Sphere::new(wide(at), radius);
                let meets = radius >= 0 && to_box <= radius * radius;
                assert_eq!((ball.is_hit_by(&query), query.is_hit_by(&ball)), (meets, meets), "{ball:?}");
                assert!(!ball.is_hit_by(&Aabb::EMPTY) && !ball.is_hit_by(&Aabb::new([1.0, 0.0], [-1.0, 0.0])));
                let to_origin = at[0] * at[0] + at[1] * at[1];
                assert_eq!(
                    wide(at).is_hit_by(&Sphere::new([0.0, 0.0], radius)),
                    radius >= 0 && to_origin <= radius * radius
                );
                for other in -1..=3 {
                    let meets = radius >= 0 && other >= 0 && to_origin <= (radius + other).pow(2);
                    assert_eq!(ball.is_hit_by(&Sphere::new([0.0, 0.0], other)), meets, "{ball:?}");
                }
            }
            for to in places() {
                let within = |k: usize, lo: i32, hi: i32| (lo..=hi).any(|x| at[k] <= x && x <= to[k]);
                let meets = within(0, -1, 1) && within(1, 0, 1);
                assert_eq!(Aabb::new(wide(at), wide(to)).is_hit_by(&query), meets, "{at:?} {to:?}");
            }
        }
    }
}
