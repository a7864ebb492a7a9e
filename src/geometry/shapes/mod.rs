//! Shapes: segments, triangles, tetrahedra, boxes, capsules, ellipsoids and k-DOPs, with distance and intersection
//! tests.
//!
//! All shapes are convex, solid and closed; [`Convex`] has their methods. Each shape can be stored in a
//! [`Bvh`](crate::Bvh) by its box. Each can also be a query: `bvh.query(shape)` returns the boxes that the shape
//! itself intersects.
//!
//! | shape | dimensions | description |
//! |---|---|---|
//! | `[S; D]` | any | a point |
//! | [`Aabb`] | any | an axis-aligned box |
//! | [`Sphere`] | any | a solid sphere |
//! | [`Segment`] | any | the points between two ends |
//! | [`Capsule`] | any | all points within a radius of a segment |
//! | [`Triangle`] | any | |
//! | [`Tetrahedron`] | 3 | |
//! | [`Obb`] | any | a box of any orientation |
//! | [`Ellipsoid`] | any | axes of any orientation, radii may be zero |
//! | [`Kdop`] | 2 (8 planes), 3 (6, 14, 18, 26) | the points between pairs of parallel planes |
//! | [`Ray`] | any | [`Convex::ray_interval`]: the part of the ray inside a shape |
//!
//! # Pairs
//!
//! Every pair of shapes has [`distance2`](Convex::distance2) and [`intersects`](Convex::intersects), a point and a
//! shape have [`closest_point`](Convex::closest_point), and a ray and a shape have
//! [`ray_interval`](Convex::ray_interval). The table treats a sphere as its centre and a capsule as its segment: the
//! radius is subtracted from the distance.
//!
//! | | point | segment | triangle | tetrahedron | box | `Obb` | ellipsoid | k-DOP |
//! |---|---|---|---|---|---|---|---|---|
//! | point | F | F | F | F | F | F | N | P, I |
//! | segment | | F | A | A | A | A | E | I |
//! | triangle | | | A | A | A | A | E | I |
//! | tetrahedron | | | | A | A | A | E | I |
//! | box | | | | | F | A | E | I |
//! | `Obb` | | | | | | A | E | I |
//! | ellipsoid | | | | | | | E | E |
//! | k-DOP | | | | | | | | I |
//! | ray | F | F | F | F | F | F | F | F |
//!
//! - F: closed form. In more than three dimensions, a ray meets a triangle only if its line meets the triangle's
//!   plane exactly. If rounding separates the two, the ray misses.
//! - A: separating axes decide intersection, and the nearest pair of features (corners, edges, faces) gives the
//!   distance. Both are polynomials of coordinate differences, or quotients of these. They are correct for integers
//!   as long as third powers of differences (sixth powers for distances) are below 2^53, and otherwise up to the last
//!   digits. In more than three dimensions, pairs with a triangle or an oriented box are I, except with points.
//! - N: Newton's method to the last digits.
//! - P: intersection is as exact as sums of coordinates; the distance is I.
//! - I: iteration to the last digits (Gilbert, Johnson and Keerthi). Shapes closer than 1e-13 of their coordinates
//!   have distance 0 and may count as touching. If a radius equals the distance exactly, rounding decides.
//! - E: intersection is I in the coordinates in which the ellipsoid is the unit ball, so that rounding depends on
//!   axes and radii. Distances, and ellipsoids with one radius less than a millionth of another, are I.
//!
//! Distances are computed in `f64` for every scalar type. A degenerate shape is reduced to a simpler one. A triangle
//! on a line becomes a segment, a segment of length zero a point, and a sphere of radius zero its centre. A shape
//! that is not finite has no points: see [`Convex`].
//!
//! ```
//! use ropewalk::geometry::{Convex, Triangle};
//! use ropewalk::Bvh;
//!
//! let triangles = [0.0, 5.0].map(|x| Triangle::new([x, 0.0, 0.0], [x + 1.0, 0.0, 0.0], [x, 1.0, 1.0f32]));
//! let bvh = Bvh::build(&triangles)?;
//! let asked = Triangle::new([0.5, 0.5, 0.0], [0.5, 0.5, 2.0], [3.0, 3.0, 3.0]);
//! // The tree finds boxes that the triangle meets; the exact test then selects the shapes.
//! let hits: Vec<u32> = bvh.query(asked).filter(|&i| asked.intersects(&triangles[i as usize])).collect();
//! assert_eq!(hits, [0]);
//! # Ok::<(), ropewalk::Error>(())
//! ```

/// Calls the macro `$with` with each shape of this module: its type, its dimension and its generic parameters.
macro_rules! for_each_shape {
    ($with:ident) => {
        $with! {
            Segment<S, D>, D, [const D: usize];
            Capsule<S, D>, D, [const D: usize];
            Triangle<S, D>, D, [const D: usize];
            Tetrahedron<S>, 3, [];
            Obb<S, D>, D, [const D: usize];
            Ellipsoid<S, D>, D, [const D: usize];
            Kdop<S, D, N>, D, [const D: usize, const N: usize];
        }
    };
}

pub(crate) mod closest;
mod closest_on_ellipsoid;
mod convex;
pub(crate) mod core;
mod ellipsoid;
pub(crate) mod frame;
pub(crate) mod kdop;
mod minimum_norm;
mod obb;
pub(crate) mod pairs;
pub(crate) mod polytope;
mod query;
mod ray_interval;
mod segment;
pub(crate) mod slabs;
mod stored;
mod triangle;
pub(crate) mod vector;

pub use convex::Convex;
pub use ellipsoid::Ellipsoid;
pub use kdop::{Dop6, Dop8, Dop14, Dop18, Dop26, Kdop};
pub use obb::Obb;
pub use segment::{Capsule, Segment};
pub use triangle::{Tetrahedron, Triangle};

pub use crate::geometry::{Aabb, Ray, Sphere};
