//! Pairs of points, segments, triangles, tetrahedra and boxes of any orientation, in up to three dimensions.
//!
//! Input: corners. Output: an intersection test by separating axes, and a distance by the nearest features. The test
//! evaluates polynomials of coordinate differences of up to the third degree, and compares the coordinates themselves
//! along the coordinate axes.
//! The axes are those of the Minkowski sum of two shapes and an infinitesimal box. Its volume is positive, so that
//! they suffice for flat shapes, too. They are the coordinate axes, the normals of faces, and the products of edges
//! with edges and with coordinate axes.
//! Cost: 32 axes for two triangles; the first axis that separates ends the search.
//! Source: Gottschalk, Lin and Manocha 1996 (separating axes).

use crate::geometry::shapes::closest::{FACES, segments};
use crate::geometry::shapes::core::Core;
use crate::geometry::shapes::vector::{cross, dot, sub, times, to_3d, unit};

/// The corners of a polytope, and the corner indices of its edges and faces.
pub struct Polytope {
    corners: [[f64; 3]; 8],
    count: usize,
    edges: &'static [[usize; 2]],
    /// One edge of each direction; `faces` likewise has one face of each. Both are empty for boxes along the axes,
    /// because the coordinate axes are always tested.
    directions: &'static [[usize; 2]],
    faces: &'static [[usize; 3]],
}

pub const TRIANGLE: [[usize; 2]; 3] = [[0, 1], [1, 2], [2, 0]];
pub const TETRAHEDRON: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];
/// Bit k of a corner's index gives its side along axis k.
pub const CUBE: [[usize; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];
pub const CUBE_DIRECTIONS: [[usize; 2]; 3] = [[0, 1], [0, 2], [0, 4]];
pub const CUBE_FACES: [[usize; 3]; 3] = [[0, 1, 2], [0, 1, 4], [0, 2, 4]];
const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

impl Polytope {
    /// Converts a core to a polytope; `None` for ellipsoids, k-DOPs, empty cores and more than three dimensions.
    pub fn new<const D: usize>(core: &Core<D>) -> Option<Self> {
        if D > 3 {
            return None;
        }
        let of = |corners: &[[f64; D]], edges, directions, faces| {
            let mut all = [[0.0; 3]; 8];
            for (to, from) in all.iter_mut().zip(corners) {
                *to = to_3d(from);
            }
            Some(Self { corners: all, count: corners.len().min(8), edges, directions, faces })
        };
        let cube = |corner: &dyn Fn([bool; D]) -> [f64; D]| {
            let corners: [[f64; D]; 8] = std::array::from_fn(|i| corner(std::array::from_fn(|k| i >> k & 1 == 1)));
            corners
        };
        match core {
            Core::Point(a) => of(&[*a], &[], &[], &[]),
            Core::Segment(ends) => of(ends, &TRIANGLE[..1], &TRIANGLE[..1], &[]),
            Core::Triangle(corners) => of(corners, &TRIANGLE, &TRIANGLE, &FACES[..1]),
            Core::Tetrahedron(corners) => of(corners, &TETRAHEDRON, &TETRAHEDRON, &FACES),
            Core::Box([lo, hi]) => {
                let corner = |upper: [bool; D]| std::array::from_fn(|k| if upper[k] { hi[k] } else { lo[k] });
                of(&cube(&corner), &CUBE, &[], &[])
            }
            Core::Oriented(frame) => {
                let corner = |upper: [bool; D]| {
                    frame.place(&std::array::from_fn(|k| if upper[k] { frame.half[k] } else { -frame.half[k] }))
                };
                of(&cube(&corner), &CUBE, &CUBE_DIRECTIONS, &CUBE_FACES)
            }
            Core::Ellipsoid(_) | Core::Slabs(_) | Core::Empty => None,
        }
    }

    fn corners(&self) -> &[[f64; 3]] {
        &self.corners[..self.count]
    }

    fn edge(&self, [from, to]: [usize; 2]) -> [f64; 3] {
        sub(&self.corners[to], &self.corners[from])
    }

    fn normals(&self) -> impl Iterator<Item = [f64; 3]> + '_ {
        self.faces.iter().map(|&[a, b, c]| cross(&self.edge([a, b]), &self.edge([a, c])))
    }

    /// The corners relative to `origin`, multiplied by `unit`.
    fn moved(&self, origin: &[f64; 3], unit: f64) -> Self {
        Self { corners: self.corners.map(|corner| times(&sub(&corner, origin), unit)), ..*self }
    }

    /// The interval of the corners along a coordinate axis, without rounding.
    fn extent(&self, axis: usize) -> [f64; 2] {
        self.corners()
            .iter()
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], corner| [lo.min(corner[axis]), hi.max(corner[axis])])
    }

    /// The projection of the polytope on an axis.
    fn projection(&self, axis: &[f64; 3]) -> [f64; 2] {
        self.corners().iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], corner| {
            let at = dot(axis, corner);
            [lo.min(at), hi.max(at)]
        })
    }

    /// Returns `true` if the polytopes have a common point.
    pub fn intersects(&self, other: &Self) -> bool {
        // Coordinates are compared before they are subtracted, because differences are rounded.
        let is_apart_along = |axis: usize| {
            let ([lo, hi], [from, to]) = (self.extent(axis), other.extent(axis));
            hi < from || to < lo
        };
        if (0..3).any(is_apart_along) {
            return false;
        }
        let origin = self.corners[0];
        let extent = self.corners().iter().chain(other.corners()).flat_map(|corner| sub(corner, &origin));
        let unit = unit(&[&[extent.fold(0.0, |most: f64, x| most.max(x.abs()))]]);
        let (a, b) = (self.moved(&origin, unit), other.moved(&origin, unit));
        let is_apart = |axis: [f64; 3]| {
            let ([lo, hi], [from, to]) = (a.projection(&axis), b.projection(&axis));
            hi < from || to < lo
        };
        if a.normals().any(is_apart) || b.normals().any(is_apart) {
            return false;
        }
        let edges = |of: &Self| of.directions.iter().map(|&edge| of.edge(edge)).collect::<Vec<_>>();
        let (of_a, of_b) = (edges(&a), edges(&b));
        let by_axes = of_a.iter().chain(&of_b).any(|e| AXES.iter().any(|axis| is_apart(cross(e, axis))));
        !by_axes && !of_a.iter().any(|e| of_b.iter().any(|f| is_apart(cross(e, f))))
    }
}

/// Computes the squared distance of two cores; `None` unless both are polytopes with few corners.
pub fn distance2<const D: usize>(a: &Core<D>, b: &Core<D>) -> Option<f64> {
    let (p, q) = (Polytope::new(a)?, Polytope::new(b)?);
    if p.intersects(&q) {
        return Some(0.0);
    }
    // The polytopes are disjoint, so a corner of one or an edge of each attains the distance.
    let mut least = f64::INFINITY;
    for (corners, to) in [(&p, b), (&q, a)] {
        for corner in corners.corners() {
            least = least.min(to.closest(&std::array::from_fn(|k| corner[k])).distance2);
        }
    }
    for e in p.edges.iter().map(|edge| edge.map(|i| &p.corners[i])) {
        for f in q.edges.iter().map(|edge| edge.map(|i| &q.corners[i])) {
            least = least.min(segments(e, f));
        }
    }
    Some(least)
}
