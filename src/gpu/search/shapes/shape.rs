//! The types that a tree on a device stores, and their tests.

use crate::geometry::{
    Aabb, Bounded, Capsule, Convex, Ellipsoid, Kdop, Obb, Ray, Segment, Sphere, Tetrahedron, Triangle,
};
use crate::gpu::bvh::Coordinate;
use crate::gpu::geometry::{CoreKind, SolidSpec, write_solid};
use crate::gpu::search::shapes::tests::{
    CrossingTest, DistanceTest, HitTest, RayTest, SolidNumbers, SolidTest, TestedAs,
};

/// A kind of stored types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum ShapeKind {
    /// Boxes. A ray that certainly meets the box of such a value meets the value.
    Box,
    /// Triangles, whose distances have bounds in `f32`.
    Triangle,
    Other,
}

/// A type that a [`ValueBvh`](crate::gpu::ValueBvh) on a device stores: one of the library's
/// [shapes](crate::geometry::shapes), a user-defined type, or a pair of such a shape and a value.
///
/// Kernels see a value as numbers. A user-defined type writes them, and has its tests in a type of its own for each kind
/// of search: [`HitBy`] and [`Distance`]. [`HitBy`] has an example.
pub trait Shape<S: Coordinate, const D: usize>: Bounded<S, D> {
    /// The number of numbers of a value.
    const NUMBERS: usize;

    /// The kind of the type, if it has faster tests.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    const KIND: ShapeKind = ShapeKind::Other;

    /// Writes the numbers of the value.
    ///
    /// It may be called more than once for a value. `extra` is a common list of further numbers, for types whose values
    /// differ in length. A value appends to it, and can store the position of what it appended among its own numbers.
    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>);
}

/// A stored type with a test of queries of type `Q`: the GPU counterpart of [`crate::geometry::HitBy`].
///
/// The library's shapes implement it for each other and for rays, with the tests of the CPU.
///
/// ```no_run
/// use ropewalk::gpu::cubecl::prelude::*;
/// use ropewalk::gpu::{Device, HitBy, HitTest, Shape, ValueBvh, cubecl};
/// use ropewalk::{Aabb, Bounded, Sphere};
///
/// /// The points between two circles.
/// struct Ring { center: [f32; 2], inner: f64, outer: f64 }
///
/// impl Bounded<f32, 2> for Ring {
///     fn bounds(&self) -> Aabb<f32, 2> {
///         Sphere::new(self.center, self.outer).bounds()
///     }
/// }
///
/// impl Shape<f32, 2> for Ring {
///     const NUMBERS: usize = 4;
///     fn write(&self, numbers: &mut [f64], _: &mut Vec<f64>) {
///         numbers.copy_from_slice(&[self.center[0].into(), self.center[1].into(), self.inner, self.outer]);
///     }
/// }
///
/// struct RingAndPoint;
///
/// #[cube]
/// impl HitTest for RingAndPoint {
///     fn is_hit(ring: &Array<f64>, at: u32, _: &Array<f64>, point: &Array<f64>, from: u32, _: &Array<f64>) -> bool {
///         let (ring_at, point_at) = (at as usize, from as usize + 2); // after the state and the radius of a solid
///         let (x, y) = (point[point_at] - ring[ring_at], point[point_at + 1] - ring[ring_at + 1]);
///         let (distance2, inner, outer) = (x * x + y * y, ring[ring_at + 2], ring[ring_at + 3]);
///         inner * inner <= distance2 && distance2 <= outer * outer
///     }
/// }
///
/// impl HitBy<[f32; 2], f32, 2> for Ring {
///     type Test = RingAndPoint;
/// }
///
/// let rings = vec![Ring { center: [0.0, 0.0], inner: 1.0, outer: 2.0 }];
/// let bvh = ValueBvh::build(rings, Device::first()?)?;
/// assert_eq!(bvh.count_all(&[[1.5f32, 0.0], [0.5, 0.0]])?.read()?, [1, 0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub trait HitBy<Q, S: Coordinate, const D: usize>: Shape<S, D> {
    /// The test.
    type Test: HitTest;
}

/// A stored type with a distance from points: the GPU counterpart of [`crate::geometry::Distance`].
///
/// ```no_run
/// use ropewalk::gpu::cubecl::prelude::*;
/// use ropewalk::gpu::{Device, Distance, DistanceTest, Shape, ValueBvh, cubecl};
/// use ropewalk::{Aabb, Bounded};
///
/// /// A vertical wall from a point on the ground.
/// struct Wall { foot: [f64; 2], height: f64 }
///
/// impl Bounded<f64, 2> for Wall {
///     fn bounds(&self) -> Aabb<f64, 2> {
///         Aabb::new(self.foot, [self.foot[0], self.foot[1] + self.height])
///     }
/// }
///
/// impl Shape<f64, 2> for Wall {
///     const NUMBERS: usize = 3;
///     fn write(&self, numbers: &mut [f64], _: &mut Vec<f64>) {
///         numbers.copy_from_slice(&[self.foot[0], self.foot[1], self.height]);
///     }
/// }
///
/// struct FromWall;
///
/// #[cube]
/// impl DistanceTest for FromWall {
///     fn distance2(wall: &Array<f64>, at: u32, _: &Array<f64>, point: &Array<f64>) -> f64 {
///         let first = at as usize;
///         let (x, y) = (point[0] - wall[first], point[1] - wall[first + 1]);
///         let above = y - clamp(y, f64::new(0.0), wall[first + 2]);
///         x * x + above * above
///     }
/// }
///
/// impl Distance<f64, 2> for Wall {
///     type Test = FromWall;
/// }
///
/// let walls = vec![Wall { foot: [0.0, 0.0], height: 3.0 }, Wall { foot: [5.0, 0.0], height: 1.0 }];
/// let bvh = ValueBvh::build(walls, Device::first()?)?;
/// assert_eq!(bvh.nearest_all(&[[4.0, 2.0]], 1)?.read()?.of(0)[0].distance2, 2.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub trait Distance<S: Coordinate, const D: usize>: Shape<S, D> {
    /// The test.
    type Test: DistanceTest;
}

/// A stored type that rays cross: the GPU counterpart of [`crate::geometry::Crossed`].
pub trait Crossed<S: Coordinate, const D: usize>: HitBy<Ray<S, D>, S, D> {
    /// The test.
    type Crossing: CrossingTest;

    /// `true` if the first parameter exceeds the last one for rays that miss the value, so that [`HitBy`] is not needed.
    #[doc(hidden)]
    const DECIDES: bool = false;
}

/// A shape paired with a value; its tests are those of the shape.
impl<S: Coordinate, const D: usize, G: Shape<S, D>, V: Sync> Shape<S, D> for (G, V) {
    const NUMBERS: usize = G::NUMBERS;
    #[allow(private_interfaces)]
    const KIND: ShapeKind = G::KIND;

    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
        self.0.write(numbers, extra);
    }
}

impl<Q, S: Coordinate, const D: usize, G: HitBy<Q, S, D>, V: Sync> HitBy<Q, S, D> for (G, V) {
    type Test = G::Test;
}

impl<S: Coordinate, const D: usize, G: Distance<S, D>, V: Sync> Distance<S, D> for (G, V) {
    type Test = G::Test;
}

impl<S: Coordinate, const D: usize, G: Crossed<S, D>, V: Sync> Crossed<S, D> for (G, V) {
    type Crossing = G::Crossing;
    const DECIDES: bool = G::DECIDES;
}

impl<S: Coordinate, const D: usize, T: SolidNumbers + Shape<S, D>> Crossed<S, D> for T {
    type Crossing = RayTest<T>;
    const DECIDES: bool = true;
}

/// Writes the numbers of a point, a box or a sphere: also those of a shape that is not a proper solid, because the
/// tests of these shapes read them.
fn write_plain<S: Coordinate, const D: usize>(
    spec: SolidSpec,
    shape: &impl Convex<S, D>,
    radius: f64,
    coordinates: &[[S; D]],
    numbers: &mut [f64],
) {
    write_solid(spec, &shape.solid(), numbers, &mut vec![]);
    numbers[1] = radius;
    for (to, &x) in numbers[2..].iter_mut().zip(coordinates.as_flattened()) {
        *to = x.into();
    }
}

macro_rules! solid {
    ($shape:ty, $dim:expr, [$($generics:tt)*], $kind:expr, $tests:expr, $write:expr) => {
        impl<S: Coordinate, $($generics)*> SolidNumbers for $shape {
            #[allow(private_interfaces)]
            const SPEC: SolidSpec = SolidSpec { kind: $kind, d: $dim };
            #[allow(private_interfaces)]
            const TESTED_AS: TestedAs = $tests;
        }

        impl<S: Coordinate, $($generics)*> Shape<S, $dim> for $shape {
            const NUMBERS: usize = <$shape as SolidNumbers>::SPEC.width();
            #[allow(private_interfaces)]
            const KIND: ShapeKind = match $kind {
                CoreKind::Box if matches!($tests, TestedAs::Box) => ShapeKind::Box,
                CoreKind::Triangle => ShapeKind::Triangle,
                _ => ShapeKind::Other,
            };

            fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
                let write: fn(SolidSpec, &$shape, &mut [f64], &mut Vec<f64>) = $write;
                write(<$shape as SolidNumbers>::SPEC, self, numbers, extra);
            }
        }

        impl<S: Coordinate, $($generics)*> Distance<S, $dim> for $shape {
            type Test = SolidTest<$shape>;
        }
    };
}

solid!([S; D], D, [const D: usize], CoreKind::Point, TestedAs::Point, |spec, own, numbers, _| {
    write_plain(spec, own, 0.0, &[*own], numbers)
});
solid!(Aabb<S, D>, D, [const D: usize], CoreKind::Box, TestedAs::Box, |spec, own, numbers, _| {
    write_plain(spec, own, 0.0, &[own.lo, own.hi], numbers)
});
solid!(Sphere<S, D>, D, [const D: usize], CoreKind::Point, TestedAs::Sphere, |spec, own, numbers, _| {
    write_plain(spec, own, own.radius, &[own.center], numbers)
});

macro_rules! solids {
    ($($shape:ty, $dim:expr, [$($generics:tt)*], $kind:expr;)*) => {$(
        solid!($shape, $dim, [$($generics)*], $kind, TestedAs::Solid, |spec, own, numbers, extra| {
            write_solid(spec, &own.solid(), numbers, extra)
        });
    )*};
}

solids! {
    Segment<S, D>, D, [const D: usize], CoreKind::Segment;
    Capsule<S, D>, D, [const D: usize], CoreKind::Segment;
    Triangle<S, D>, D, [const D: usize], CoreKind::Triangle;
    Tetrahedron<S>, 3, [], CoreKind::Tetrahedron;
    Obb<S, D>, D, [const D: usize], CoreKind::Oriented;
    Ellipsoid<S, D>, D, [const D: usize], CoreKind::Ellipsoid;
    Kdop<S, D, N>, D, [const D: usize, const N: usize], if N == D { CoreKind::Box } else { CoreKind::Slabs(N) };
}
