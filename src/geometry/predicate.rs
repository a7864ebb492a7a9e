//! The trait of shapes with which a tree is queried.

use crate::geometry::{Aabb, Scalar, Space, Sphere};

/// A query shape: points, [`Sphere`], [`Aabb`], the other [shapes](crate::geometry::shapes), or your own type.
///
/// ```
/// use ropewalk::geometry::{Query, Space};
/// use ropewalk::{Aabb, Bvh};
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
    /// Returns `true` if the shape meets a box.
    ///
    /// For the box of a primitive, this decides whether the primitive is a hit. For the box of a node, it must be
    /// `true` if it is `true` for any box inside, unless [`Query::may_meet`] covers that case.
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool;

    /// Returns `true` if the shape may meet any box inside `bounds`, the box of a node. `true` is always allowed.
    ///
    /// Default: [`Query::meets`]. Override it if rounding can make `meets` miss a box but meet a box inside it.
    fn may_meet(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        self.meets(bounds, space)
    }

    /// Returns `true` only if every box inside `bounds` is certainly met. `false` is always allowed.
    fn covers(&self, _bounds: &Aabb<S, D>, _space: &Space<D>) -> bool {
        false
    }

    /// Returns a point of the shape, by which batches of queries are sorted. Default: none, and queries keep their
    /// order.
    fn center(&self) -> Option<[S; D]> {
        None
    }

    /// Returns the sphere, if the shape is one. Leaves are then tested with vector instructions.
    #[doc(hidden)]
    fn as_ball(&self) -> Option<&Sphere<S, D>> {
        None
    }
}

impl<S: Scalar, const D: usize> Query<S, D> for Sphere<S, D> {
    // All steps of these tests round monotonically, so a result for a box holds for the boxes inside it.
    #[inline]
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        let center = Aabb::point(space.wrap(self.center));
        // Without this test, a NaN would be near to everything.
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
    /// Boxes meet if they overlap or touch.
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
