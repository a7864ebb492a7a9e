//! The queries of trees on a device: the GPU counterpart of `geometry::Query`.

use cubecl::prelude::{ComputeClient, Runtime};

use crate::error::Result;
use crate::geometry::shapes::core::Core;
use crate::geometry::{
    Aabb, Bounded, Capsule, Convex, Ellipsoid, Kdop, Obb, Ray, Scalar, Segment, Space, Sphere, Tetrahedron, Triangle,
};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::search::boxes::Boxes;
use crate::gpu::search::shapes::rows::{RowShape, write_box, write_ray, write_sphere};
use crate::gpu::search::shapes::shape::{HitBy, Shape};
use crate::gpu::search::shapes::tests::{BoxTest, HitTest, RayTest, SolidNumbers, SolidPair, SolidTest};
use crate::gpu::search::sorted_shapes::{SortedShapes, SortedSpheres};

/// A shape for batched queries of a tree on a device: the GPU counterpart of [`crate::geometry::Query`].
///
/// Points, boxes, spheres, rays, the other [shapes](crate::geometry::shapes) and user-defined types are queries. A
/// user-defined type implements the required items; the others are for the library's own shapes.
///
/// Tests of user-defined stored types ([`HitBy`](crate::gpu::HitBy)) read the numbers of queries:
///
/// | query | numbers |
/// |---|---|
/// | point | state, 0, coordinates |
/// | [`Sphere`] | state, radius, centre |
/// | [`Capsule`], [`Segment`] | state, radius (0 for a segment), both ends |
/// | [`Aabb`] | state, 0, lower corner, upper corner |
/// | [`Triangle`], [`Tetrahedron`] | state, 0, corners |
/// | [`Ray`] | origin, direction, first and last parameter |
///
/// The state is 0 for a shape without points, which has no hits; otherwise it is positive.
///
/// In a periodic box, a query other than a sphere, box, point or ray meets a stored box if it meets any image of it.
/// The test is called with each image that overlaps [`Query::extent`], shifted by whole sides in `f64`. If there are
/// more than a million images, the box counts as met.
///
/// ```no_run
/// use ropewalk::gpu::cubecl::prelude::*;
/// use ropewalk::gpu::{BoxTest, Bvh, Device, Query, cubecl};
/// use ropewalk::Aabb;
///
/// /// Everything with `x + y <= limit` between 0 and 9.
/// struct HalfPlane { limit: f64 }
///
/// struct BelowLimit;
///
/// #[cube]
/// impl BoxTest for BelowLimit {
///     fn meets(plane: &Array<f64>, at: u32, _: &Array<f64>, corners: &Array<f64>) -> bool {
///         corners[0] + corners[1] <= plane[at as usize]
///     }
/// }
///
/// impl Query<f32, 2> for HalfPlane {
///     const NUMBERS: usize = 1;
///     type BoxTest = BelowLimit;
///     fn extent(&self) -> Aabb<f32, 2> {
///         Aabb::new([0.0, 0.0], [9.0, 9.0])
///     }
///     fn write(&self, numbers: &mut [f64], _: &mut Vec<f64>) {
///         numbers[0] = self.limit;
///     }
/// }
///
/// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 1.0], [0.5, 0.0]], Device::first()?)?;
/// assert_eq!(bvh.count_all(&[HalfPlane { limit: 0.5 }])?.read()?, [2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub trait Query<S: Coordinate, const D: usize>: Sync {
    /// The number of numbers of a query.
    const NUMBERS: usize;

    /// The test of the box of a stored primitive.
    type BoxTest: BoxTest;

    /// Returns a box that contains the query. Only primitives whose boxes meet it are tested. A query whose box is
    /// inverted or has a NaN has no hits.
    fn extent(&self) -> Aabb<S, D>;

    /// Writes the numbers of the query. It may be called more than once for a query.
    ///
    /// `extra` is a common list of further numbers, for queries that differ in length. A query appends to it, and can store the position of what it appended among its own numbers.
    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>);

    /// The first part of the row of a query, with which nodes are tested.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    const SHAPE: RowShape = RowShape::Extent;

    /// Returns a point of the query, by which queries are sorted.
    #[doc(hidden)]
    fn middle(&self) -> [S; D] {
        self.extent().center()
    }

    /// Writes the first part of the row.
    #[doc(hidden)]
    fn write_row(&self, _space: &Space<D>, row: &mut [f64]) {
        write_box(&Space::OPEN, &self.extent(), row);
    }

    /// Copies queries of a tree of points to the device and sorts them; `None` if rows are used. There is at least
    /// one query.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn sorted<R: Runtime>(
        _client: &ComputeClient<R>,
        _bvh: &Bvh<S, D>,
        _shapes: &[Self],
    ) -> Result<Option<SortedShapes<S>>>
    where
        Self: Sized,
    {
        Ok(None)
    }
}

/// A query with a test of each of the library's shapes.
#[doc(hidden)]
pub trait SolidQuery<S: Coordinate, const D: usize>: Query<S, D> {
    /// The test of a stored shape.
    type HitTest<T: SolidNumbers>: HitTest;
}

impl<S: Coordinate, const D: usize, T: SolidNumbers + Shape<S, D>, Q: SolidQuery<S, D>> HitBy<Q, S, D> for T {
    type Test = Q::HitTest<T>;
}

impl<S: Coordinate, const D: usize> Query<S, D> for Sphere<S, D> {
    const NUMBERS: usize = <Self as Shape<S, D>>::NUMBERS;
    type BoxTest = SolidTest<Self>;

    fn extent(&self) -> Aabb<S, D> {
        self.bounds()
    }

    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
        Shape::write(self, numbers, extra);
    }

    #[allow(private_interfaces)]
    const SHAPE: RowShape = RowShape::Sphere;

    fn middle(&self) -> [S; D] {
        self.center
    }

    fn write_row(&self, space: &Space<D>, row: &mut [f64]) {
        write_sphere(space, self, row);
    }

    #[allow(private_interfaces)]
    fn sorted<R: Runtime>(
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        spheres: &[Self],
    ) -> Result<Option<SortedShapes<S>>> {
        Ok(Some(SortedShapes::Balls(SortedSpheres::new(client, bvh, spheres)?)))
    }
}

impl<S: Coordinate, const D: usize> Query<S, D> for Aabb<S, D> {
    const NUMBERS: usize = <Self as Shape<S, D>>::NUMBERS;
    type BoxTest = SolidTest<Self>;

    fn extent(&self) -> Aabb<S, D> {
        *self
    }

    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
        Shape::write(self, numbers, extra);
    }

    #[allow(private_interfaces)]
    const SHAPE: RowShape = RowShape::Box;

    fn write_row(&self, space: &Space<D>, row: &mut [f64]) {
        write_box(space, self, row);
    }

    #[allow(private_interfaces)]
    fn sorted<R: Runtime>(
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        boxes: &[Self],
    ) -> Result<Option<SortedShapes<S>>> {
        Ok(Some(SortedShapes::Boxes(Boxes::new(client, bvh.space(), boxes)?)))
    }
}

impl<S: Coordinate, const D: usize> Query<S, D> for [S; D] {
    const NUMBERS: usize = <Self as Shape<S, D>>::NUMBERS;
    type BoxTest = SolidTest<Self>;

    fn extent(&self) -> Aabb<S, D> {
        Aabb::point(*self)
    }

    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
        Shape::write(self, numbers, extra);
    }

    #[allow(private_interfaces)]
    const SHAPE: RowShape = RowShape::Box;

    fn write_row(&self, space: &Space<D>, row: &mut [f64]) {
        write_box(space, &Aabb::point(*self), row);
    }

    #[allow(private_interfaces)]
    fn sorted<R: Runtime>(
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        points: &[Self],
    ) -> Result<Option<SortedShapes<S>>> {
        let boxes: Vec<Aabb<S, D>> = points.iter().map(|&point| Aabb::point(point)).collect();
        Aabb::sorted(client, bvh, &boxes)
    }
}

/// A ray in a periodic box does not re-enter, and meets no images, as on the CPU.
impl<S: Coordinate, const D: usize> Query<S, D> for Ray<S, D> {
    const NUMBERS: usize = 2 * D + 2;
    type BoxTest = SolidTest<[S; D]>;

    fn extent(&self) -> Aabb<S, D> {
        Aabb { lo: [Scalar::NEG_INFINITY; D], hi: [Scalar::INFINITY; D] }
    }

    fn write(&self, numbers: &mut [f64], _extra: &mut Vec<f64>) {
        let ends = self.origin.iter().chain(&self.direction).map(|&x| x.into()).chain([self.from, self.to]);
        for (to, x) in numbers.iter_mut().zip(ends) {
            *to = x;
        }
    }

    #[allow(private_interfaces)]
    const SHAPE: RowShape = RowShape::Ray;

    fn middle(&self) -> [S; D] {
        self.origin
    }

    fn write_row(&self, _space: &Space<D>, row: &mut [f64]) {
        write_ray(self, row);
    }
}

impl<S: Coordinate, const D: usize> SolidQuery<S, D> for Ray<S, D> {
    type HitTest<T: SolidNumbers> = RayTest<T>;
}

macro_rules! solid_queries {
    ($($shape:ty, $dim:expr, [$($generics:tt)*];)*) => {$(
        impl<S: Coordinate, $($generics)*> SolidQuery<S, $dim> for $shape {
            type HitTest<T: SolidNumbers> = SolidPair<T, $shape>;
        }
    )*};
}

macro_rules! queries {
    ($($shape:ty, $dim:expr, [$($generics:tt)*];)*) => {$(
        impl<S: Coordinate, $($generics)*> Query<S, $dim> for $shape {
            const NUMBERS: usize = <Self as Shape<S, $dim>>::NUMBERS;
            type BoxTest = SolidTest<$shape>;

            fn extent(&self) -> Aabb<S, $dim> {
                self.bounds()
            }

            fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
                Shape::write(self, numbers, extra);
            }

            fn write_row(&self, _space: &Space<$dim>, row: &mut [f64]) {
                write_box(&Space::OPEN, &self.bounds(), row);
                if matches!(self.solid().core, Core::Empty) {
                    row[0] = 0.0;
                }
            }
        }

        solid_queries!($shape, $dim, [$($generics)*];);
    )*};
}

solid_queries! {
    [S; D], D, [const D: usize];
    Aabb<S, D>, D, [const D: usize];
    Sphere<S, D>, D, [const D: usize];
}

queries! {
    Segment<S, D>, D, [const D: usize];
    Capsule<S, D>, D, [const D: usize];
    Triangle<S, D>, D, [const D: usize];
    Tetrahedron<S>, 3, [];
    Obb<S, D>, D, [const D: usize];
    Ellipsoid<S, D>, D, [const D: usize];
    Kdop<S, D, N>, D, [const D: usize, const N: usize];
}
