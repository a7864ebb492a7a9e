//! Shapes: segments, triangles, tetrahedra, boxes, capsules, ellipsoids, k-DOPs; how far they are from each other, and whether they touch.
//!
//! All are convex, solid and closed; [`Convex`] has the questions. Each can be stored in a [`Bvh`](crate::Bvh), by its box, and each
//! can be asked: `bvh.query(shape)` then gives the boxes that the shape itself intersects.
//!
//! | shape | dimensions | what it is |
//! |---|---|---|
//! | `[S; D]` | any | a point |
//! | [`Aabb`] | any | a box along the axes |
//! | [`Sphere`] | any | a ball |
//! | [`Segment`] | any | what lies between two points |
//! | [`Capsule`] | any | all points within a radius of a segment |
//! | [`Triangle`] | any | |
//! | [`Tetrahedron`] | 3 | |
//! | [`Obb`] | any | a box of any orientation |
//! | [`Ellipsoid`] | any | axes of any orientation, radii may be zero |
//! | [`Kdop`] | 2 (8 planes), 3 (6, 14, 18, 26) | what lies between pairs of parallel planes |
//! | [`Ray`] | any | [`Convex::ray_interval`]: the part of it inside a shape |
//!
//! # Pairs
//!
//! Every pair has [`distance2`](Convex::distance2) and [`intersects`](Convex::intersects), a point and a shape
//! [`closest_point`](Convex::closest_point), a ray and a shape [`ray_interval`](Convex::ray_interval). A sphere is as its centre here, a capsule as its segment:
//! a radius is taken from the distance.
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
//! - F: a closed form; of a ray and a triangle beyond three dimensions it needs the ray to lie in the triangle's space exactly, and rounding
//!   that lifts the two apart makes them miss. A: separating axes decide about touching, and of the features (corners, edges, faces) the nearest give the distance. Both
//!   are polynomials of differences of coordinates, and quotients of these: right for integers as long as the third powers of
//!   differences, sixth powers for distances, are below 2^53, and else to the last digits. Beyond three dimensions pairs with a triangle, and with an
//!   oriented box, are I, but for points.
//! - N: Newton's method to the last digits.
//! - P: touching is exact as sums of coordinates are; the distance is I.
//! - I: iteration to the last digits (Gilbert, Johnson and Keerthi). Shapes that are apart by less than 1e-13 of their coordinates
//!   have distance 0 and may count as touching; where a radius is exactly the distance,
//!   rounding decides.
//! - E: touching is I, in the coordinates that make a ball of the ellipsoid, so that the axes and radii round it; if a radius is less
//!   than a millionth of another, and for distances, I.
//!
//! Distances are those of `f64`, whatever the scalar. Degenerate shapes are what is left of them: a triangle on a line is a segment,
//! a segment of no length a point, a ball of radius zero its centre. A shape that is not finite has no points: see [`Convex`].
//!
//! ```
//! use ropewalk::{Bvh, Convex, Triangle};
//!
//! let triangles = [0.0, 5.0].map(|x| Triangle::new([x, 0.0, 0.0], [x + 1.0, 0.0, 0.0], [x, 1.0, 1.0f32]));
//! let bvh = Bvh::build(&triangles)?;
//! let asked = Triangle::new([0.5, 0.5, 0.0], [0.5, 0.5, 2.0], [3.0, 3.0, 3.0]);
//! // The tree finds boxes that the triangle meets; the shapes themselves decide.
//! let hits: Vec<u32> = bvh.query(asked).filter(|&i| asked.intersects(&triangles[i as usize])).collect();
//! assert_eq!(hits, [0]);
//! # Ok::<(), ropewalk::Error>(())
//! ```

/// Calls a macro with each shape of this room: its type, its dimension and its other parameters.
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

mod closest;
mod closest_on_ellipsoid;
mod convex;
mod core;
mod ellipsoid;
mod frame;
mod kdop;
mod minimum_norm;
mod obb;
mod pairs;
mod polytope;
mod query;
mod ray_interval;
mod segment;
mod slabs;
mod stored;
mod triangle;
mod vector;

pub use convex::Convex;
pub use ellipsoid::Ellipsoid;
pub use kdop::{Dop6, Dop8, Dop14, Dop18, Dop26, Kdop};
pub use obb::Obb;
pub use segment::{Capsule, Segment};
pub use triangle::{Tetrahedron, Triangle};

pub use crate::geometry::{Aabb, Ray, Sphere};
