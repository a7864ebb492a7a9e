//! What a tree can be asked with.

use crate::geometry::{Aabb, Scalar, Space, Sphere};

/// A shape to ask a tree with: points, [`Sphere`], [`Aabb`], the other [shapes](crate::shapes), or your own.
///
/// ```
/// use ropewalk::{Aabb, Bvh, Query, Space};
///
/// /// Everything with `x + y <= limit`.
/// struct HalfPlane { limit: f32 }
///
/// impl Query<f32, 2> for HalfPlane {
///     fn meets(&self, bounds: &Aabb<f32, 2>, _: &Space<2>) -> bool {
///         bounds.lo[0] + bounds.lo[1] <= self.limit
///     }
/// }
///
/// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 1.0], [0.5, 0.0]])?;
/// assert_eq!(bvh.query(HalfPlane { limit: 0.5 }).count(), 2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub trait Query<S: Scalar, const D: usize>: Sync {
    /// Whether the shape meets a box. For a stored primitive's box this decides whether it is a hit; for a node's box it must
    /// be true if it is for any box inside, unless [`Query::may_meet`] is.
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool;

    /// Whether the shape may meet any box inside a node's; `true` is always allowed. [`Query::meets`], unless that is rounded in such a way that
    /// a box may be missed where one inside is met.
    fn may_meet(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        self.meets(bounds, space)
    }

    /// Whether every box inside `bounds` is surely met; `false` is always allowed.
    fn covers(&self, _bounds: &Aabb<S, D>, _space: &Space<D>) -> bool {
        false
    }

    /// A point of the shape, by which many queries are put in order; without it they are taken as they come.
    fn center(&self) -> Option<[S; D]> {
        None
    }

    /// The ball, if the shape is one: leaves are then tested by vector instructions.
    #[doc(hidden)]
    fn as_ball(&self) -> Option<&Sphere<S, D>> {
        None
    }
}

impl<S: Scalar, const D: usize> Query<S, D> for Sphere<S, D> {
    // All steps of these round monotonically, so what holds for a box holds for the boxes inside.
    #[inline]
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        let center = Aabb::point(space.wrap(self.center));
        // A NaN would be near to everything.
        self.radius >= 0.0 && center.is_finite() && space.min_distance2(&center, bounds) <= self.radius * self.radius
    }

    #[inline]
    fn covers(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        let mut sum = 0.0;
        for (k, at) in space.wrap(self.center).into_iter().enumerate() {
            let [at, lo, hi]: [f64; 3] = [at.into(), bounds.lo[k].into(), bounds.hi[k].into()];
            let span = (hi - at).max(at - lo);
            sum += span * span;
        }
        self.radius >= 0.0 && sum <= self.radius * self.radius
    }

    fn center(&self) -> Option<[S; D]> {
        Some(self.center)
    }

    #[inline]
    fn as_ball(&self) -> Option<&Sphere<S, D>> {
        Some(self)
    }
}

impl<S: Scalar, const D: usize> Query<S, D> for Aabb<S, D> {
    /// Boxes meet where they overlap or touch.
    #[inline]
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        (0..D).all(|k| {
            self.lo[k] <= self.hi[k]
                && space.meets_along(k, [self.lo[k], self.hi[k]], [bounds.lo[k].into(), bounds.hi[k].into()])
        })
    }

    #[inline]
    fn covers(&self, bounds: &Aabb<S, D>, _: &Space<D>) -> bool {
        (0..D).all(|k| self.lo[k] <= bounds.lo[k] && bounds.hi[k] <= self.hi[k])
    }

    fn center(&self) -> Option<[S; D]> {
        Some(Aabb::center(self))
    }
}

/// A point, which meets the boxes that contain it.
impl<S: Scalar, const D: usize> Query<S, D> for [S; D] {
    #[inline]
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        Aabb::point(*self).meets(bounds, space)
    }

    fn center(&self) -> Option<[S; D]> {
        Some(*self)
    }
}

impl<S: Scalar, const D: usize, Q: Query<S, D>> Query<S, D> for &Q {
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        (**self).meets(bounds, space)
    }

    fn may_meet(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        (**self).may_meet(bounds, space)
    }

    fn covers(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        (**self).covers(bounds, space)
    }

    fn center(&self) -> Option<[S; D]> {
        (**self).center()
    }

    fn as_ball(&self) -> Option<&Sphere<S, D>> {
        (**self).as_ball()
    }
}
