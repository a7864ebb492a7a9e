//! The tests that select hits, as kernels: a query against a box, a query against a stored value, and the distance of a
//! stored value from a point.
//!
//! In: rows of numbers. Out: `true` for a hit, or a squared distance. Tests of user-defined types are compiled into
//! the walk in the same way as those of the library's shapes, which are here.

use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::gpu::geometry::ray_interval::ray_interval;
use crate::gpu::geometry::triangle_bounds::triangle_bounds;
use crate::gpu::geometry::{CoreKind, SolidSpec, distance2_to_point, intersects};
use crate::gpu::primitives::rounding::product;

/// The test of a user-defined query against a box, compiled into the walk.
///
/// See [`Query`](crate::gpu::Query) for an example, and [`Visitor`](crate::gpu::Visitor) for the pitfalls of kernels.
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait BoxTest: Send + Sync + 'static {
    /// Returns `true` if the query meets the box of a stored value.
    ///
    /// The numbers of the query begin at `query[at]`. `extra` has what [`Query::write`](crate::gpu::Query::write)
    /// appended for all queries. `corners` holds the lower corner of the box, followed by the upper one.
    fn meets(query: &Array<f64>, at: u32, extra: &Array<f64>, corners: &Array<f64>) -> bool;
}

/// The test of a query against a stored value of a user-defined type, compiled into the walk.
///
/// See [`HitBy`](crate::gpu::HitBy) for an example.
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait HitTest: Send + Sync + 'static {
    /// Returns `true` if the query hits the stored value.
    ///
    /// The numbers of the stored value begin at `stored[at]`, those of the query at `query[query_at]`. `extra` and
    /// `query_extra` have what the `write` methods appended for all values.
    fn is_hit(
        stored: &Array<f64>,
        at: u32,
        extra: &Array<f64>,
        query: &Array<f64>,
        query_at: u32,
        query_extra: &Array<f64>,
    ) -> bool;
}

/// The distance of a stored value of a user-defined type from a point, compiled into the walk.
///
/// See [`Distance`](crate::gpu::Distance) for an example.
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait DistanceTest: Send + Sync + 'static {
    /// Returns the squared distance from a point to the stored value; NaN if it has no points.
    ///
    /// The numbers of the stored value begin at `stored[at]`. `extra` has what [`Shape::write`](crate::gpu::Shape::write)
    /// appended for all values.
    fn distance2(stored: &Array<f64>, at: u32, extra: &Array<f64>, point: &Array<f64>) -> f64;
}

/// The part of a ray inside a stored value of a user-defined type, compiled into a kernel.
///
/// See [`Crossed`](crate::gpu::Crossed).
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait CrossingTest: Send + Sync + 'static {
    /// Returns the first and the last parameter of the ray in the stored value, both in the range of the ray.
    ///
    /// `ray` holds origin, direction, and the first and last parameter of the ray. The numbers of the stored value begin
    /// at `stored[at]`. It is called only for values that the ray hits.
    fn crossing(stored: &Array<f64>, at: u32, extra: &Array<f64>, ray: &Array<f64>) -> Array<f64>;
}

/// A convex shape of the library, whose numbers are those of a solid.
#[doc(hidden)]
pub trait SolidNumbers: Send + Sync + 'static {
    #[allow(private_interfaces)]
    const SPEC: SolidSpec;
    #[allow(private_interfaces)]
    const TESTED_AS: TestedAs;
}

/// The tests of a shape. On the CPU, points, boxes and spheres have tests of their own
/// ([`HitBy`](crate::geometry::HitBy)), which accept coordinates that a solid may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum TestedAs {
    Point,
    Box,
    Sphere,
    Solid,
}

/// The tests of a convex shape: as a query against boxes, and its distance from a point.
#[doc(hidden)]
pub struct SolidTest<T>(PhantomData<T>);

/// The test of two convex shapes.
#[doc(hidden)]
pub struct SolidPair<T, Q>(PhantomData<(T, Q)>);

/// The test of a convex shape and a ray.
#[doc(hidden)]
pub struct RayTest<T>(PhantomData<T>);

#[cube]
impl<T: SolidNumbers> BoxTest for SolidTest<T> {
    fn meets(query: &Array<f64>, at: u32, extra: &Array<f64>, corners: &Array<f64>) -> bool {
        let d = comptime!(T::SPEC.d);
        // The box as a solid, which is a point if the corners are equal.
        let mut of_box = Array::<f64>::new(comptime!(2 + 2 * d));
        let mut is_point = true.runtime();
        #[unroll]
        for k in 0..d {
            of_box[2 + k] = corners[k];
            of_box[2 + d + k] = corners[d + k];
            is_point = is_point && corners[k] == corners[d + k];
        }
        of_box[0] = select(is_point, f64::new(2.0), f64::new(1.0));
        of_box[1] = f64::new(0.0);
        let spec = comptime!(SolidSpec { kind: CoreKind::Box, d });
        intersects(query, at, extra, &of_box, 0u32.runtime(), extra, comptime!(T::SPEC), spec)
    }
}

#[cube]
impl<T: SolidNumbers> DistanceTest for SolidTest<T> {
    fn distance2(stored: &Array<f64>, at: u32, extra: &Array<f64>, point: &Array<f64>) -> f64 {
        distance2_to_point(stored, at, extra, point, comptime!(T::SPEC))
    }
}

#[cube]
impl<T: SolidNumbers, Q: SolidNumbers> HitTest for SolidPair<T, Q> {
    fn is_hit(
        stored: &Array<f64>,
        at: u32,
        extra: &Array<f64>,
        query: &Array<f64>,
        query_at: u32,
        query_extra: &Array<f64>,
    ) -> bool {
        let (own, other) = comptime!((T::TESTED_AS, Q::TESTED_AS));
        if comptime!(T::SPEC.kind == CoreKind::Triangle && other == TestedAs::Sphere) {
            let mut found = false.runtime();
            let radius = query[query_at as usize + 1];
            let mut center = Array::<f64>::new(comptime!(T::SPEC.d));
            #[unroll]
            for k in 0..comptime!(T::SPEC.d) {
                center[k] = query[query_at as usize + comptime!(2 + k)];
            }
            let bounds = triangle_bounds(stored, at as usize + 2, &center, comptime!(T::SPEC.d));
            let (lower, upper) = (f64::cast_from(bounds.0), f64::cast_from(bounds.1));
            let are_proper = stored[at as usize] != f64::new(0.0) && query[query_at as usize] != f64::new(0.0);
            if are_proper && bounds.1 < f32::new(f32::MAX) && upper <= radius {
                found = true.runtime();
            } else if are_proper && lower <= radius {
                found =
                    intersects(stored, at, extra, query, query_at, query_extra, comptime!(T::SPEC), comptime!(Q::SPEC));
            }
            found
        } else if comptime!(own == TestedAs::Solid || other == TestedAs::Solid) {
            intersects(stored, at, extra, query, query_at, query_extra, comptime!(T::SPEC), comptime!(Q::SPEC))
        } else if comptime!(own == TestedAs::Sphere) {
            sphere_is_hit(stored, at, query, query_at, other, comptime!(T::SPEC.d))
        } else {
            // The test of the box has decided.
            true.runtime()
        }
    }
}

/// Returns `true` if a stored sphere has a common point with a point, a box or a sphere.
#[cube]
fn sphere_is_hit(
    stored: &Array<f64>,
    at: u32,
    query: &Array<f64>,
    query_at: u32,
    #[comptime] query_is: TestedAs,
    #[comptime] d: usize,
) -> bool {
    let (center, other) = (at as usize + 2, query_at as usize + 2);
    let zero = f64::new(0.0);
    let mut radius = stored[at as usize + 1] + zero;
    let mut is_proper = radius >= zero;
    let mut distance2 = zero + zero;
    #[unroll]
    for k in 0..d {
        let x = stored[center + k];
        if comptime!(query_is == TestedAs::Box) {
            let (lo, hi) = (query[other + k], query[other + d + k]);
            is_proper = is_proper && lo <= hi;
            let gap = (lo - x).max(x - hi).max(zero);
            distance2 += product(gap, gap);
        } else {
            let gap = x - query[other + k];
            distance2 += product(gap, gap);
        }
    }
    if comptime!(query_is == TestedAs::Sphere) {
        let own = query[query_at as usize + 1];
        is_proper = is_proper && own >= zero;
        radius += own;
    }
    is_proper && distance2 <= product(radius, radius)
}

#[cube]
impl<T: SolidNumbers> HitTest for RayTest<T> {
    fn is_hit(
        stored: &Array<f64>,
        at: u32,
        _extra: &Array<f64>,
        query: &Array<f64>,
        query_at: u32,
        _query_extra: &Array<f64>,
    ) -> bool {
        let count = comptime!(2 * T::SPEC.d + 2);
        let mut ray = Array::<f64>::new(count);
        #[unroll]
        for k in 0..count {
            ray[k] = query[query_at as usize + k];
        }
        let interval = ray_interval(stored, at, &ray, comptime!(T::SPEC));
        interval[0] <= interval[1]
    }
}

#[cube]
impl<T: SolidNumbers> CrossingTest for RayTest<T> {
    fn crossing(stored: &Array<f64>, at: u32, _extra: &Array<f64>, ray: &Array<f64>) -> Array<f64> {
        ray_interval(stored, at, ray, comptime!(T::SPEC))
    }
}
