//! Triangles and tetrahedra.

use crate::geometry::shapes::closest;
use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::segment::around;
use crate::geometry::shapes::vector::to_f64;
use crate::geometry::{Aabb, Bounded, Convex, Scalar};

/// A solid triangle. Its corners may be collinear or coincide; it then is a segment or a point.
///
/// ```
/// use ropewalk::geometry::{Convex, Triangle};
///
/// let triangle = Triangle::new([0.0f32, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]);
/// assert_eq!(triangle.distance2(&[1.0, 1.0, 2.0]), 4.0);
/// assert_eq!(triangle.barycentric([1.0, 2.0, 7.0]), Some([0.25, 0.25, 0.5]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle<S, const D: usize> {
    /// The three corners.
    pub vertices: [[S; D]; 3],
}

impl<S: Scalar, const D: usize> Triangle<S, D> {
    /// Creates the triangle of three corners; accepts arrays and glam vectors.
    pub fn new(a: impl Into<[S; D]>, b: impl Into<[S; D]>, c: impl Into<[S; D]>) -> Self {
        Self { vertices: [a.into(), b.into(), c.into()] }
    }

    /// Computes the barycentric coordinates of a point, or of its projection on the plane of the triangle.
    ///
    /// They sum to 1, and none is negative inside. `None` if the triangle has no area or a coordinate is not finite.
    pub fn barycentric(&self, point: impl Into<[S; D]>) -> Option<[f64; 3]> {
        let vertices = self.vertices.map(|vertex| to_f64(&vertex));
        let (weights, all) = closest::weights(&to_f64(&point.into()), vertices.each_ref());
        let weights = weights.map(|weight| weight / all);
        weights.iter().all(|weight| weight.is_finite()).then_some(weights)
    }
}

impl<S: Scalar, const D: usize> Convex<S, D> for Triangle<S, D> {
    fn solid(&self) -> Solid<D> {
        Solid::new(Core::Triangle(self.vertices.map(|vertex| to_f64(&vertex))), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize> Bounded<S, D> for Triangle<S, D> {
    fn bounds(&self) -> Aabb<S, D> {
        around(&self.vertices)
    }
}

/// A solid tetrahedron with its corners in any order. It may be flat.
///
/// ```
/// use ropewalk::geometry::{Convex, Tetrahedron};
///
/// let corner = Tetrahedron::new([[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
/// assert!(corner.intersects(&[0.25, 0.25, 0.5])); // on a face
/// assert_eq!(corner.barycentric([0.5, 0.0, 0.25]), Some([0.25, 0.5, 0.0, 0.25]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tetrahedron<S> {
    /// The four corners.
    pub vertices: [[S; 3]; 4],
}

impl<S: Scalar> Tetrahedron<S> {
    /// Creates the tetrahedron of four corners; accepts arrays and glam vectors.
    pub fn new(vertices: [impl Into<[S; 3]>; 4]) -> Self {
        Self { vertices: vertices.map(Into::into) }
    }

    /// Computes the barycentric coordinates of a point. They sum to 1, and none is negative inside.
    ///
    /// `None` if the tetrahedron has no volume or a coordinate is not finite.
    pub fn barycentric(&self, point: impl Into<[S; 3]>) -> Option<[f64; 4]> {
        let vertices = self.vertices.map(|vertex| to_f64(&vertex));
        let volumes = closest::volumes(&to_f64(&point.into()), vertices.each_ref())?;
        let all: f64 = volumes.iter().sum();
        let weights = volumes.map(|volume| volume / all);
        weights.iter().all(|weight| weight.is_finite()).then_some(weights)
    }
}

impl<S: Scalar> Convex<S, 3> for Tetrahedron<S> {
    fn solid(&self) -> Solid<3> {
        Solid::new(Core::Tetrahedron(self.vertices.map(|vertex| to_f64(&vertex))), 0.0, S::LIMIT)
    }
}

impl<S: Scalar> Bounded<S, 3> for Tetrahedron<S> {
    fn bounds(&self) -> Aabb<S, 3> {
        around(&self.vertices)
    }
}
