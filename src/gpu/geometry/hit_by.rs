//! Hits between points, boxes and spheres: the GPU counterpart of `geometry::hit_by`.
//!
//! In: rows of plain shapes. Out: `true` if they have a common point, decided by the arithmetic of the CPU. Unlike
//! `pairs`, this module compares coordinates of points and boxes without subtracting them, and boxes may be infinite.

use cubecl::prelude::*;

use crate::gpu::geometry::vector::{length2, nth, sub, vector_at};
use crate::gpu::primitives::rounding::product;

/// The kind of a plain shape.
///
/// The row of a point has its coordinates, that of a box the lower and the upper corner, and that of a sphere the
/// centre and the radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum PlainKind {
    Point,
    Box,
    Sphere,
}

impl PlainKind {
    /// Returns the number of numbers per row.
    pub fn width(self, d: usize) -> usize {
        match self {
            Self::Point => d,
            Self::Box => 2 * d,
            Self::Sphere => d + 1,
        }
    }
}

/// Returns `true` if the query whose row begins at `query_at` hits the stored shape whose row begins at `at`.
#[cube]
pub(in crate::gpu) fn is_hit_by(
    rows: &Array<f64>,
    at: u32,
    queries: &Array<f64>,
    query_at: u32,
    #[comptime] stored: PlainKind,
    #[comptime] query: PlainKind,
    #[comptime] d: usize,
) -> bool {
    let p = vector_at(rows, at, comptime!(stored.width(d)));
    let q = vector_at(queries, query_at, comptime!(query.width(d)));
    if comptime!(stored == PlainKind::Sphere && query == PlainKind::Sphere) {
        let (r, s) = (p[d], q[d]);
        let distance2 = length2(&sub(&p, &q, d), d);
        r >= f64::new(0.0) && s >= f64::new(0.0) && distance2 <= product(r + s, r + s)
    } else if comptime!(query == PlainKind::Sphere) {
        meets_ball(&p, &q, stored, d)
    } else if comptime!(stored == PlainKind::Sphere) {
        meets_ball(&q, &p, query, d)
    } else {
        overlap(&p, &q, stored, query, d)
    }
}

/// Returns `true` if the distance of a point or a box from the centre of a sphere is at most the radius.
#[cube]
fn meets_ball(shape: &Array<f64>, ball: &Array<f64>, #[comptime] kind: PlainKind, #[comptime] d: usize) -> bool {
    let zero = f64::new(0.0);
    let radius = ball[d];
    let mut off = sub(&nth(shape, 0usize, d), ball, d);
    let mut is_proper = radius >= zero;
    if comptime!(kind == PlainKind::Box) {
        #[unroll]
        for k in 0..d {
            let (lo, hi) = (shape[k], shape[comptime!(d + k)]);
            // The last condition excludes NaN.
            is_proper = is_proper && lo <= hi && (ball[k] >= zero || ball[k] < zero);
            off[k] = max(max(lo - ball[k], ball[k] - hi), zero);
        }
    }
    is_proper && length2(&off, d) <= product(radius, radius)
}

/// Returns `true` if points or boxes overlap. A box with its lower corner above its upper one is empty.
#[cube]
fn overlap(
    p: &Array<f64>,
    q: &Array<f64>,
    #[comptime] a: PlainKind,
    #[comptime] b: PlainKind,
    #[comptime] d: usize,
) -> bool {
    let mut found = true.runtime();
    #[unroll]
    for k in 0..d {
        // A point is its own upper corner.
        let of_p = comptime!(if a == PlainKind::Box { d + k } else { k });
        let of_q = comptime!(if b == PlainKind::Box { d + k } else { k });
        let (lo, hi, from, to) = (p[k], p[of_p], q[k], q[of_q]);
        found = found && lo <= hi && from <= to && lo <= to && from <= hi;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Aabb, HitBy, Sphere};
    use crate::gpu::Device;
    use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
    use crate::gpu::device::on;
    use crate::gpu::geometry::tests::{Random, STYLES};

    #[cube(launch)]
    fn test_hits(
        rows: &Array<f64>,
        queries: &Array<f64>,
        found: &mut Array<u32>,
        n: u32,
        #[comptime] stored: PlainKind,
        #[comptime] query: PlainKind,
        #[comptime] d: usize,
    ) {
        let i = ABSOLUTE_POS as u32;
        if i < n {
            let (at, query_at) = (i * comptime!(stored.width(d) as u32), i * comptime!(query.width(d) as u32));
            found[i as usize] = u32::cast_from(is_hit_by(rows, at, queries, query_at, stored, query, d));
        }
    }

    fn random_point<const D: usize>(random: &mut Random) -> ([f64; D], Vec<f64>) {
        let point = random.point::<D>();
        (point, point.to_vec())
    }

    fn random_box<const D: usize>(random: &mut Random) -> (Aabb<f64, D>, Vec<f64>) {
        let (a, b) = (random.point::<D>(), random.point::<D>());
        let mut found = Aabb::point(a).union(&Aabb::point(b));
        let kind = random.next();
        if kind < 0.1 {
            found.hi[0] = f64::INFINITY;
        } else if kind < 0.2 {
            found = Aabb::new(a, b);
        }
        (found, [found.lo, found.hi].concat())
    }

    fn random_sphere<const D: usize>(random: &mut Random) -> (Sphere<f64, D>, Vec<f64>) {
        let radius = if random.next() < 0.1 { f64::NAN } else { random.coordinate() };
        let ball = Sphere::new(random.point::<D>(), radius);
        (ball, [ball.center.as_slice(), &[radius]].concat())
    }

    fn compare<const D: usize, T: HitBy<Q>, Q>(
        (stored, shape): (PlainKind, impl Fn(&mut Random) -> (T, Vec<f64>)),
        (query, ask): (PlainKind, impl Fn(&mut Random) -> (Q, Vec<f64>)),
    ) {
        let device = Device::first().unwrap();
        let (mut rows, mut queries, mut expected) = (vec![], vec![], vec![]);
        for (style, scale) in STYLES.into_iter().chain([(0, 1e-170)]) {
            let mut random = Random { state: 3, style, scale };
            for _ in 0..100 {
                let ((own, row), (other, asked)) = (shape(&mut random), ask(&mut random));
                expected.push(u32::from(own.is_hit_by(&other)));
                rows.extend(row);
                queries.extend(asked);
            }
        }
        let found = on!(device, client => {
            let found = Buffer::<u32>::filled(client, expected.len(), 7);
            let (n, dim) = (expected.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
            let (rows, queries) = (Buffer::from_slice(client, &rows), Buffer::from_slice(client, &queries));
            let (rows, queries, results) = (rows.arg(), queries.arg(), found.arg());
            test_hits::launch(client, blocks_for(n), dim, rows, queries, results, n as u32, stored, query, D);
            found.read(client)
        });
        assert_eq!(found.unwrap(), expected, "{stored:?} {query:?} {D}");
    }

    fn compare_all<const D: usize>() {
        let points = || (PlainKind::Point, random_point::<D>);
        let boxes = || (PlainKind::Box, random_box::<D>);
        let spheres = || (PlainKind::Sphere, random_sphere::<D>);
        compare::<D, _, _>(points(), points());
        compare::<D, _, _>(points(), boxes());
        compare::<D, _, _>(points(), spheres());
        compare::<D, _, _>(boxes(), points());
        compare::<D, _, _>(boxes(), boxes());
        compare::<D, _, _>(boxes(), spheres());
        compare::<D, _, _>(spheres(), points());
        compare::<D, _, _>(spheres(), boxes());
        compare::<D, _, _>(spheres(), spheres());
    }

    #[test]
    fn hits() {
        compare_all::<2>();
        compare_all::<4>();
    }
}
