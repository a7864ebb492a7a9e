//! Pairs of segments, triangles, tetrahedra and boxes of any orientation, in up to three dimensions: the GPU
//! counterpart of `geometry::shapes::polytope`.
//!
//! In: cores. Out: intersection by separating axes, and the squared distance of disjoint polytopes by the nearest
//! features.
//! Cost: at most 80 axes, for two tetrahedra, and as many iterations of a loop. A distance takes one iteration for each
//! pair of edges.

use cubecl::prelude::*;

use crate::geometry::shapes::closest::FACES;
use crate::geometry::shapes::polytope::{CUBE, CUBE_DIRECTIONS, CUBE_FACES, TETRAHEDRON, TRIANGLE};
use crate::gpu::geometry::closest::{on_polytope, segments};
use crate::gpu::geometry::frame::{half, place};
use crate::gpu::geometry::solid::{CoreKind, SolidSpec};
use crate::gpu::geometry::vector::{cross, dot, extent, nth, sub, unit, vector_at};
use crate::gpu::primitives::rounding::product;

impl SolidSpec {
    fn n_corners(self) -> usize {
        match self.kind {
            CoreKind::Segment => 2,
            CoreKind::Triangle => 3,
            CoreKind::Tetrahedron => 4,
            _ => 8,
        }
    }

    fn edges(self) -> &'static [[usize; 2]] {
        match self.kind {
            CoreKind::Segment => &TRIANGLE[..1],
            CoreKind::Triangle => &TRIANGLE,
            CoreKind::Tetrahedron => &TETRAHEDRON,
            _ => &CUBE,
        }
    }

    /// One edge of each direction. None of boxes along the axes, because the coordinate axes are always tested.
    fn directions(self) -> &'static [[usize; 2]] {
        match self.kind {
            CoreKind::Box => &[],
            CoreKind::Oriented => &CUBE_DIRECTIONS,
            _ => self.edges(),
        }
    }

    /// One face of each direction.
    fn faces(self) -> &'static [[usize; 3]] {
        match self.kind {
            CoreKind::Triangle => &FACES[..1],
            CoreKind::Tetrahedron => &FACES,
            CoreKind::Oriented => &CUBE_FACES,
            _ => &[],
        }
    }
}

/// Returns a corner of a core.
#[cube]
fn corner_of(core: &Array<f64>, #[comptime] i: usize, #[comptime] spec: SolidSpec) -> Array<f64> {
    let d = comptime!(spec.d);
    if comptime!(spec.kind == CoreKind::Oriented) {
        // Bit k of a corner's number gives its side along axis k.
        let mut components = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            if comptime!(i >> k & 1 == 1) {
                components[k] = half(core, k, d);
            } else {
                components[k] = -half(core, k, d);
            }
        }
        place(core, &components, d)
    } else if comptime!(spec.kind == CoreKind::Box) {
        let mut corner = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            corner[k] = core[comptime!(if i >> k & 1 == 1 { d + k } else { k })];
        }
        corner
    } else {
        nth(core, i, d)
    }
}

/// Returns the corners of a core, in three dimensions.
#[cube]
fn corners_of(core: &Array<f64>, #[comptime] spec: SolidSpec) -> Array<f64> {
    let d = comptime!(spec.d);
    let n = comptime!(spec.n_corners());
    let mut out = Array::<f64>::new(comptime!(3 * n));
    #[unroll]
    for i in 0..n {
        let corner = corner_of(core, i, spec);
        #[unroll]
        for k in 0..3usize {
            if comptime!(k < d) {
                out[comptime!(3 * i + k)] = corner[k];
            } else {
                out[comptime!(3 * i + k)] = f64::new(0.0);
            }
        }
    }
    out
}

/// Returns the minimum and the maximum of at least two numbers.
#[cube]
fn ends(numbers: &Array<f64>, #[comptime] n: usize) -> (f64, f64) {
    let (mut lo, mut hi) = (min(numbers[0], numbers[1]), max(numbers[0], numbers[1]));
    #[unroll]
    for i in 2..n {
        lo = min(lo, numbers[i]);
        hi = max(hi, numbers[i]);
    }
    (lo, hi)
}

/// Returns the projections of corners on an axis.
#[cube]
fn projections(axis: &Array<f64>, corners: &Array<f64>, #[comptime] n: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(n);
    #[unroll]
    for i in 0..n {
        out[i] = dot(axis, &nth(corners, i, 3usize), 3usize);
    }
    out
}

/// Returns one coordinate of each corner.
#[cube]
fn coordinates(corners: &Array<f64>, #[comptime] k: usize, #[comptime] n: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(n);
    #[unroll]
    for i in 0..n {
        out[i] = corners[comptime!(3 * i + k)];
    }
    out
}

/// Returns `true` if an axis separates the corners.
#[cube]
fn is_apart(
    axis: &Array<f64>,
    p: &Array<f64>,
    q: &Array<f64>,
    #[comptime] a: SolidSpec,
    #[comptime] b: SolidSpec,
) -> bool {
    let (of_a, of_b) = comptime!((a.n_corners(), b.n_corners()));
    let (lo, hi) = ends(&projections(axis, p, of_a), of_a);
    let (from, to) = ends(&projections(axis, q, of_b), of_b);
    hi < from || to < lo
}

/// Returns the corners relative to `origin`, multiplied by `unit`.
#[cube]
fn moved(corners: &Array<f64>, origin: &Array<f64>, unit: f64, #[comptime] n: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(comptime!(3 * n));
    #[unroll]
    for i in 0..n {
        #[unroll]
        for k in 0..3usize {
            out[comptime!(3 * i + k)] = product(corners[comptime!(3 * i + k)] - origin[k], unit);
        }
    }
    out
}

/// Writes the vectors along edges after the first `first` vectors.
#[cube]
fn write_edges(vectors: &mut Array<f64>, corners: &Array<f64>, #[comptime] first: usize, #[comptime] spec: SolidSpec) {
    #[unroll]
    for e in 0..comptime!(spec.directions().len()) {
        #[unroll]
        for k in 0..3usize {
            vectors[comptime!(3 * (first + e) + k)] = corners[comptime!(3 * spec.directions()[e][1] + k)]
                - corners[comptime!(3 * spec.directions()[e][0] + k)];
        }
    }
}

/// Writes the normals of faces after the first `first` vectors.
#[cube]
fn write_normals(
    vectors: &mut Array<f64>,
    corners: &Array<f64>,
    #[comptime] first: usize,
    #[comptime] spec: SolidSpec,
) {
    #[unroll]
    for f in 0..comptime!(spec.faces().len()) {
        let a = nth(corners, comptime!(spec.faces()[f][0]), 3usize);
        let e = sub(&nth(corners, comptime!(spec.faces()[f][1]), 3usize), &a, 3usize);
        let g = sub(&nth(corners, comptime!(spec.faces()[f][2]), 3usize), &a, 3usize);
        let normal = cross(&e, &g);
        #[unroll]
        for k in 0..3usize {
            vectors[comptime!(3 * (first + f) + k)] = normal[k];
        }
    }
}

/// Returns `true` if two cores have a common point.
#[cube]
pub(super) fn intersects(p: &Array<f64>, q: &Array<f64>, #[comptime] a: SolidSpec, #[comptime] b: SolidSpec) -> bool {
    let (p, q) = (corners_of(p, a), corners_of(q, b));
    let (of_a, of_b) = comptime!((a.n_corners(), b.n_corners()));
    // 1 if an axis separates the polytopes. Coordinates are compared before they are subtracted, because differences
    // are rounded.
    let mut found = Array::<u32>::new(1usize);
    found[0] = 0;
    #[unroll]
    for k in 0..3usize {
        let (lo, hi) = ends(&coordinates(&p, k, of_a), of_a);
        let (from, to) = ends(&coordinates(&q, k, of_b), of_b);
        if hi < from || to < lo {
            found[0] = 1;
        }
    }
    if comptime!(a.kind != CoreKind::Box || b.kind != CoreKind::Box) {
        if found[0] == 0 {
            let origin = nth(&p, 0usize, 3usize);
            let one = f64::new(1.0);
            let (near, far) = (moved(&p, &origin, one, of_a), moved(&q, &origin, one, of_b));
            let unit = unit(max(extent(&near, comptime!(3 * of_a)), extent(&far, comptime!(3 * of_b))));
            let (p, q) = (moved(&p, &origin, unit, of_a), moved(&q, &origin, unit, of_b));
            found[0] = u32::cast_from(are_separated(&p, &q, a, b));
        }
    }
    found[0] == 0
}

/// Returns `true` if a normal of a face, or a product of two edges or of an edge and a coordinate axis, separates the
/// corners.
#[cube]
fn are_separated(p: &Array<f64>, q: &Array<f64>, #[comptime] a: SolidSpec, #[comptime] b: SolidSpec) -> bool {
    let (faces_a, faces_b) = comptime!((a.faces().len(), b.faces().len()));
    let (edges_a, edges_b) = comptime!((a.directions().len(), b.directions().len()));
    let mut found = Array::<u32>::new(2usize);
    found[0] = 0;
    if comptime!(faces_a + faces_b > 0) {
        let mut normals = Array::<f64>::new(comptime!(3 * (faces_a + faces_b)));
        write_normals(&mut normals, p, 0usize, a);
        write_normals(&mut normals, q, faces_a, b);
        found[1] = 0;
        while found[1] < comptime!((faces_a + faces_b) as u32) {
            let axis = vector_at(&normals, 3 * found[1], 3usize);
            let is_apart = is_apart(&axis, p, q, a, b);
            found[0] = u32::cast_from(is_apart);
            found[1] = select(is_apart, comptime!((faces_a + faces_b) as u32).runtime(), found[1] + 1);
        }
    }
    // The coordinate axes, the edges of `b`, those of `a`, and those of `b` again. Each edge of `a` is multiplied by
    // the axes and the edges of `b`, each edge of `b` by the axes.
    let mut vectors = Array::<f64>::new(comptime!(3 * (3 + edges_a + 2 * edges_b)));
    #[unroll]
    for i in 0..9usize {
        vectors[i] = f64::new(comptime!(if i % 4 == 0 { 1.0 } else { 0.0 }));
    }
    write_edges(&mut vectors, q, 3usize, b);
    write_edges(&mut vectors, p, comptime!(3 + edges_b), a);
    write_edges(&mut vectors, q, comptime!(3 + edges_b + edges_a), b);
    let of_a = comptime!((edges_a * (3 + edges_b)) as u32);
    let all = comptime!((edges_a * (3 + edges_b) + 3 * edges_b) as u32);
    found[1] = select(found[0] == 1, all.runtime(), 0u32.runtime());
    while found[1] < all {
        let at = found[1];
        let partners = select(at < of_a, comptime!((3 + edges_b) as u32).runtime(), 3u32.runtime());
        let left = select(at < of_a, at, at - of_a);
        let first = select(
            at < of_a,
            comptime!((3 + edges_b) as u32).runtime(),
            comptime!((3 + edges_b + edges_a) as u32).runtime(),
        );
        let edge = vector_at(&vectors, 3 * (first + left / partners), 3usize);
        let other = vector_at(&vectors, 3 * (left % partners), 3usize);
        let is_apart = is_apart(&cross(&edge, &other), p, q, a, b);
        found[0] = u32::cast_from(is_apart);
        found[1] = select(is_apart, all.runtime(), at + 1);
    }
    found[0] == 1
}

/// Returns the squared distance of two disjoint cores. A corner of one or an edge of each attains it.
#[cube]
pub(super) fn distance2(p: &Array<f64>, q: &Array<f64>, #[comptime] a: SolidSpec, #[comptime] b: SolidSpec) -> f64 {
    let (of_p, of_q) = (corners_of(p, a), corners_of(q, b));
    let mut least = Array::<f64>::new(1usize);
    least[0] = on_polytope(q, &nth(&of_p, 0usize, 3usize), b);
    for i in 1..comptime!(a.n_corners() as u32) {
        least[0] = min(least[0], on_polytope(q, &vector_at(&of_p, 3 * i, 3usize), b));
    }
    for i in 0..comptime!(b.n_corners() as u32) {
        least[0] = min(least[0], on_polytope(p, &vector_at(&of_q, 3 * i, 3usize), a));
    }
    let (of_a, of_b) = (ends_of_edges(a), ends_of_edges(b));
    for i in 0..comptime!((a.edges().len() * b.edges().len()) as u32) {
        let e = 2 * (i / comptime!(b.edges().len() as u32));
        let f = 2 * (i % comptime!(b.edges().len() as u32));
        let between = segments(
            &vector_at(&of_p, 3 * of_a[e as usize], 3usize),
            &vector_at(&of_p, 3 * of_a[e as usize + 1], 3usize),
            &vector_at(&of_q, 3 * of_b[f as usize], 3usize),
            &vector_at(&of_q, 3 * of_b[f as usize + 1], 3usize),
            3usize,
        );
        least[0] = min(least[0], between);
    }
    least[0]
}

/// Returns the numbers of the corners of edges.
#[cube]
fn ends_of_edges(#[comptime] spec: SolidSpec) -> Array<u32> {
    let mut out = Array::<u32>::new(comptime!(2 * spec.edges().len()));
    #[unroll]
    for i in 0..comptime!(2 * spec.edges().len()) {
        out[i] = comptime!(spec.edges()[i / 2][i % 2] as u32);
    }
    out
}
