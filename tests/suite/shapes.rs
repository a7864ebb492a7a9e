//! All pairs of shapes on a coarse grid, where ties are common, compared with the definition in integers.
//!
//! The distance between two polytopes is that from the origin to the hull of the differences of their corners. All
//! subsets of up to three differences are tried, since one of them contains the nearest point (Carathéodory). Subsets
//! of four are also tried, and a tetrahedron that contains the origin is an intersection. Weights and squared
//! distances are exact fractions of `i128`.

use proptest::prelude::*;
use ropewalk::geometry::{
    Capsule, Convex, Dop6, Dop8, Dop14, Dop18, Dop26, Ellipsoid, Kdop, Obb, Segment, Tetrahedron, Triangle,
};
use ropewalk::{Aabb, Bounded, Bvh, Ray, Scalar, Sphere};

type V = [i128; 3];

fn sub(a: V, b: V) -> V {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: V, b: V) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: V, b: V) -> V {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the squared distance between two hulls of corners as a fraction.
fn exact(a: &[V], b: &[V]) -> [i128; 2] {
    let mut corners: Vec<V> = a.iter().flat_map(|&p| b.iter().map(move |&q| sub(p, q))).collect();
    corners.sort_unstable();
    corners.dedup();
    let mut best = [i128::MAX, 1];
    let mut consider = |n: i128, d: i128| {
        if best[0] == i128::MAX || n * best[1] < best[0] * d {
            best = [n, d];
        }
    };
    for (i, &p) in corners.iter().enumerate() {
        consider(dot(p, p), 1);
        for (j, &q) in corners.iter().enumerate().skip(i + 1) {
            let e = sub(q, p);
            if (0..=dot(e, e)).contains(&-dot(p, e)) {
                consider(dot(cross(p, e), cross(p, e)), dot(e, e));
            }
            for (k, &r) in corners.iter().enumerate().skip(j + 1) {
                let n = cross(e, sub(r, p));
                let n2 = dot(n, n);
                let inside = [[p, q], [q, r], [r, p]].iter().all(|&[s, t]| dot(cross(s, t), n) >= 0);
                if n2 > 0 && inside {
                    let h = dot(p, n);
                    consider(h * h, n2);
                }
                for &s in &corners[k + 1..] {
                    let all = dot(n, sub(s, p)).signum();
                    let parts = [dot(q, cross(r, s)), -dot(p, cross(r, s)), dot(p, cross(q, s)), -dot(p, cross(q, r))];
                    if all != 0 && parts.iter().all(|part| part * all >= 0) {
                        return [0, 1];
                    }
                }
            }
        }
    }
    best
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Point,
    Segment,
    Triangle,
    Tetrahedron,
    Box,
    Obb,
    Dop(usize),
}

/// A shape on the grid, and its corners.
#[derive(Clone, Debug)]
struct Shape {
    kind: Kind,
    given: Vec<V>,
    corners: Vec<V>,
}

fn cube(lo: V, hi: V) -> Vec<V> {
    (0..8).map(|i| std::array::from_fn(|k| if i >> k & 1 == 1 { hi[k] } else { lo[k] })).collect()
}

fn shapes(flat: bool) -> impl Strategy<Value = Shape> {
    let kinds = [Kind::Point, Kind::Segment, Kind::Triangle, Kind::Tetrahedron, Kind::Box, Kind::Obb, Kind::Dop(0)];
    let z = if flat { 0i128..=0 } else { -3..=3 };
    let corner = (-3i128..=3, -3i128..=3, z).prop_map(|(x, y, z)| [x, y, z]);
    let of = if flat { 0..6usize } else { 0..7 };
    (of, prop::collection::vec(corner, 4), 0..4usize).prop_map(move |(kind, given, dop)| {
        let kind = match kinds[kind] {
            Kind::Tetrahedron if flat => Kind::Triangle,
            Kind::Dop(_) => Kind::Dop(dop),
            kind => kind,
        };
        let lo = std::array::from_fn(|k| given[0][k].min(given[1][k]));
        let hi = std::array::from_fn(|k| given[0][k].max(given[1][k]));
        let corners = match kind {
            Kind::Point => given[..1].to_vec(),
            Kind::Segment => given[..2].to_vec(),
            Kind::Triangle => given[..3].to_vec(),
            Kind::Tetrahedron => given.clone(),
            // Half extents are multiples of 1/2.
            Kind::Box | Kind::Obb => cube(lo, hi),
            // A k-DOP around one point, or around two that make it an axis-aligned box.
            Kind::Dop(0) => cube(lo, hi),
            Kind::Dop(_) => given[..1].to_vec(),
        };
        Shape { kind, given, corners }
    })
}

fn number<S: Scalar, const D: usize>(v: V) -> [S; D] {
    std::array::from_fn(|k| S::from_f64(v[k] as f64))
}

/// Calls `$use` with the library's shape of the given kind.
macro_rules! with {
    ($shape:expr, $scalar:ty, $dim:literal, $extra:tt, |$name:ident| $use:expr) => {{
        let shape: &Shape = $shape;
        let at = |i: usize| number::<$scalar, $dim>(shape.given[i]);
        match shape.kind {
            Kind::Point => { let $name = at(0); $use }
            Kind::Segment => { let $name = Segment::new(at(0), at(1)); $use }
            Kind::Triangle => { let $name = Triangle::new(at(0), at(1), at(2)); $use }
            Kind::Box => {
                let $name = Aabb::point(at(0)).union(&Aabb::point(at(1)));
                $use
            }
            Kind::Obb => {
                let (lo, hi) = (number::<f64, $dim>(shape.corners[0]), number::<f64, $dim>(shape.corners[7]));
                let center: [$scalar; $dim] = std::array::from_fn(|k| (0.5 * (lo[k] + hi[k])) as $scalar);
                // Cyclically permuted axes, one of them inverted.
                let axes = std::array::from_fn(|i| std::array::from_fn(|k| if (i + 1) % $dim == k { if i == 0 { -1.0 } else { 1.0 } } else { 0.0 }));
                let half = std::array::from_fn(|i| 0.5 * (hi[(i + 1) % $dim] - lo[(i + 1) % $dim]));
                let $name = Obb::<$scalar, $dim>::new(center, axes, half);
                $use
            }
            kind => with!(@$extra, kind, at, |$name| $use),
        }
    }};
    (@solid, $kind:expr, $at:expr, |$name:ident| $use:expr) => {
        match $kind {
            Kind::Dop(0) => { let $name = Dop6::around(&[$at(0), $at(1)]); $use }
            Kind::Dop(1) => { let $name = Dop14::around(&[$at(0)]); $use }
            Kind::Dop(2) => { let $name = Dop18::around(&[$at(0)]); $use }
            Kind::Dop(_) => { let $name = Dop26::around(&[$at(0)]); $use }
            _ => { let $name = Tetrahedron::new([$at(0), $at(1), $at(2), $at(3)]); $use }
        }
    };
    (@flat, $kind:expr, $at:expr, |$name:ident| $use:expr) => {
        unreachable!("{:?} {}", $kind, $at(0).len())
    };
}

fn near(found: f64, [n, d]: [i128; 2]) -> bool {
    let right = n as f64 / d as f64;
    (found - right).abs() <= 1e-12 * right + if right == 0.0 { 0.0 } else { 1e-15 }
}

fn pair_is_right<S: Scalar, const D: usize, A: Convex<S, D>, B: Convex<S, D>>(
    a: &A,
    b: &B,
    right: [i128; 2],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.intersects(b), right[0] == 0, "intersects, {:?}", right);
    prop_assert_eq!(b.intersects(a), right[0] == 0, "intersects the other way, {:?}", right);
    let (found, other) = (a.distance2(b), b.distance2(a));
    prop_assert!(near(found, right) && near(other, right), "{found} and {other} for {right:?}");
    Ok(())
}

/// Checks spheres and capsules around a point and a segment, with a radius on the grid.
fn round_pairs_are_right<S: Scalar, const D: usize, A: Convex<S, D>>(
    a: &A,
    shape: &Shape,
    ends: [V; 2],
    radius: i128,
) -> Result<(), TestCaseError> {
    let point = exact(&shape.corners, &ends[..1]);
    let segment = exact(&shape.corners, &ends);
    let ball = Sphere::new(number::<S, D>(ends[0]), radius as f64);
    let capsule = Capsule::new(number::<S, D>(ends[0]), number::<S, D>(ends[1]), radius as f64);
    let touches = |[n, d]: [i128; 2]| n <= radius * radius * d;
    prop_assert_eq!(a.intersects(&ball), touches(point), "ball {:?}", point);
    prop_assert_eq!(ball.intersects(a), touches(point));
    // The distance between a k-DOP and a capsule is computed by iteration and rounded.
    let is_sure = !(matches!(shape.kind, Kind::Dop(_)) && segment[0] == radius * radius * segment[1]);
    prop_assert!(!is_sure || a.intersects(&capsule) == touches(segment), "capsule {segment:?}");
    for (found, [n, d]) in [(a.distance2(&ball), point), (a.distance2(&capsule), segment)] {
        let right = ((n as f64 / d as f64).sqrt() - radius as f64).max(0.0);
        prop_assert!((found.sqrt() - right).abs() < 1e-12, "{found} for {right}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_in_space(a in shapes(false), b in shapes(false)) {
        let right = exact(&a.corners, &b.corners);
        with!(&a, f64, 3, solid, |p| with!(&b, f64, 3, solid, |q| pair_is_right::<f64, 3, _, _>(&p, &q, right)?));
        with!(&a, f32, 3, solid, |p| with!(&b, f32, 3, solid, |q| pair_is_right::<f32, 3, _, _>(&p, &q, right)?));
    }

    #[test]
    fn pairs_in_the_plane(a in shapes(true), b in shapes(true)) {
        let right = exact(&a.corners, &b.corners);
        with!(&a, f64, 2, flat, |p| with!(&b, f64, 2, flat, |q| pair_is_right::<f64, 2, _, _>(&p, &q, right)?));
    }

    #[test]
    fn balls_and_capsules(a in shapes(false), ends in shapes(false), radius in 0i128..4) {
        with!(&a, f32, 3, solid, |p| round_pairs_are_right::<f32, 3, _>(&p, &a, [ends.given[0], ends.given[1]], radius)?);
    }

    /// The closest point is in the shape, at the computed distance.
    #[test]
    fn closest_points(a in shapes(false), at in shapes(false)) {
        let right = exact(&a.corners, &at.given[..1]);
        let asked = number::<f64, 3>(at.given[0]);
        with!(&a, f64, 3, solid, |p| {
            let found = p.closest_point(asked);
            let far: f64 = (0..3).map(|k| (found[k] - asked[k]).powi(2)).sum();
            prop_assert!((far - right[0] as f64 / right[1] as f64).abs() < 1e-12, "{found:?} is {far} away, not {right:?}");
            prop_assert!(p.distance2(&found) < 1e-26, "{found:?} lies outside");
            prop_assert!(right[0] != 0 || found == asked);
        });
    }

    /// A long ray is equivalent to a segment.
    #[test]
    fn rays(a in shapes(false), ends in shapes(false)) {
        let [from, to] = [ends.given[0], ends.given[1]];
        prop_assume!(from != to);
        let direction = sub(to, from);
        let ray = Ray::new(number::<f64, 3>(from), number::<f64, 3>(direction)).between(0.0, 32.0);
        let far = std::array::from_fn(|k| from[k] + 32 * direction[k]);
        let right = exact(&a.corners, &[from, far]);
        with!(&a, f64, 3, solid, |p| {
            let found = p.ray_interval(&ray);
            // A k-DOP around two points may be as thin as a segment.
            prop_assert_eq!(found.is_some(), right[0] == 0, "{:?}", right);
            if let Some(interval) = found {
                for t in interval {
                    prop_assert!(p.distance2(&ray.at(t)) < 1e-24, "{t} lies outside");
                }
                // Just before and after the interval, the ray is outside of the shape.
                for t in [interval[0] - 1e-3, interval[1] + 1e-3] {
                    prop_assert!(!(0.0..=32.0).contains(&t) || p.distance2(&ray.at(t)) > 0.0, "{t} lies inside");
                }
            }
        });
    }
}

/// A box of slabs that touches a sphere, where the iteration had a rounding error.
#[test]
fn a_ball_that_touches_slabs() {
    let dop = Dop6::around(&[[2.0f32, -3.0, -3.0], [-2.0, -3.0, 2.0]]);
    let ball = Sphere::new([1.0f32, -2.0, 1.0], 1.0);
    assert!(dop.intersects(&ball) && ball.intersects(&dop));
    assert_eq!(dop.distance2(&ball.center), 1.0);
}

/// Asserts that boxes with a corner of a k-DOP's points on their face intersect the k-DOP, and that boxes farther by
/// one rounding do not.
fn boxes_touch<const N: usize>(points: &[[f64; 3]], extents: [f64; 3]) {
    let dop = Kdop::<f64, 3, N>::around(points);
    for k in 0..3 {
        let farthest = points.iter().copied().max_by(|p, q| p[k].total_cmp(&q[k])).unwrap();
        let [mut lo, mut hi] = [farthest, farthest];
        for j in 0..3 {
            (lo[j], hi[j]) = (farthest[j] - extents[j], farthest[j] + extents[(j + 1) % 3]);
        }
        lo[k] = farthest[k];
        let around = Dop6::around(&[lo, hi]);
        assert!(around.intersects(&dop) && dop.intersects(&around), "{dop:?} {around:?}");
        assert!(Aabb::new(lo, hi).intersects(&dop) && dop.intersects(&Aabb::new(lo, hi)), "{dop:?} {around:?}");
        lo[k] = farthest[k].next_up();
        let apart = Dop6::around(&[lo, hi]);
        assert!(!apart.intersects(&dop) && !dop.intersects(&apart), "{dop:?} {apart:?}");
    }
}

proptest! {
    #[test]
    fn boxes_that_touch_slabs(
        points in prop::collection::vec(prop::array::uniform3(-4.0..4.0f64), 1..8),
        extents in prop::array::uniform3(0.01..4.0f64),
    ) {
        boxes_touch::<3>(&points, extents);
        boxes_touch::<7>(&points, extents);
        boxes_touch::<9>(&points, extents);
        boxes_touch::<13>(&points, extents);
    }
}

/// Checks the results of all shapes for a shape without points.
fn meets_nothing<const D: usize>(odd: &impl Convex<f64, D>, what: &str) {
    let (origin, one) = ([0.0; D], [1.0; D]);
    let ray = Ray::new(origin, one);
    let far = |other: f64, meets: bool| assert!(other == f64::INFINITY && !meets, "{what}: {other} {meets}");
    far(odd.distance2(&origin), odd.intersects(&origin));
    far(odd.distance2(&Segment::new(origin, one)), odd.intersects(&Segment::new(origin, one)));
    far(odd.distance2(&Sphere::new(origin, 1e9)), Sphere::new(origin, 1e9).intersects(odd));
    far(Triangle::new(origin, one, origin).distance2(odd), Triangle::new(origin, one, origin).intersects(odd));
    let round = Ellipsoid::new(origin, std::array::from_fn(|i| std::array::from_fn(|k| f64::from(i == k))), [1.0; D]);
    far(round.distance2(odd), round.intersects(odd));
    far(odd.distance2(odd), odd.intersects(odd));
    assert!(odd.closest_point(origin).iter().all(|x| x.is_nan()), "{what}");
    assert_eq!(odd.ray_interval(&ray), None, "{what}");
}

#[test]
fn what_is_not_finite_has_no_points() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
        let (p, o, i) = ([0.0, bad, 0.0], [0.0; 3], [1.0; 3]);
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        meets_nothing(&p, "point");
        meets_nothing(&Segment::new(o, p), "segment");
        meets_nothing(&Triangle::new(o, p, i), "triangle");
        meets_nothing(&Tetrahedron::new([o, i, [0.0, 1.0, 0.0], p]), "tetrahedron");
        meets_nothing(&Aabb::new(p, i), "box");
        meets_nothing(&Aabb::new(o, p), "box");
        meets_nothing(&Sphere::new(p, 1.0), "ball");
        meets_nothing(&Capsule::new(o, p, 1.0), "capsule");
        meets_nothing(&Obb::new(p, axes, i), "oriented box");
        meets_nothing(&Obb::new(o, axes, p), "oriented box");
        meets_nothing(&Ellipsoid::new(p, axes, i), "ellipsoid");
        meets_nothing(&Ellipsoid::new(o, axes, p), "ellipsoid");
        meets_nothing(&Dop14::around(&[o, p, i]), "k-DOP");
        meets_nothing(&Dop26::around(&[o, i]).union(&Dop26::around(&[p])), "k-DOP");
        assert!([o, i].iter().all(|&p| p.closest_point([bad, 0.0, 0.0])[0].is_nan()));
        assert!(Bvh::build(&[Triangle::new(o, p, i)]).is_err() && Bvh::build(&[Capsule::new(o, p, 1.0)]).is_err());
    }
    let (o, i) = ([0.0; 2], [1.0; 2]);
    meets_nothing(&Sphere::new(o, -1.0), "negative ball");
    meets_nothing(&Capsule::new(o, i, f64::NAN), "capsule without a radius");
    meets_nothing(&Aabb::new(i, o), "box upside down");
    meets_nothing(&Aabb::<f64, 2>::EMPTY, "empty box");
    meets_nothing(&Dop8::<f64>::EMPTY, "empty k-DOP");
    meets_nothing(&Dop8::new([0.0, 0.0, 3.0, -1.0], [1.0, 1.0, 4.0, 1.0]), "k-DOP of slabs that do not meet");
    meets_nothing(&Obb::new(o, [[1.0, 1.0], [2.0, 2.0]], i), "axes that are one");
    meets_nothing(&Obb::new(o, [[1.0, 0.0], [0.0, 0.0]], i), "an axis that is none");
    meets_nothing(&Ellipsoid::new(o, [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]), "negative ellipsoid");
    let ball = Sphere::new(o, 1.0);
    for odd in [
        Ray::new(o, o),
        Ray::new(o, [f64::NAN, 1.0]),
        Ray::new([f64::INFINITY, 0.0], i),
        Ray::new(o, i).between(1.0, 0.5),
    ] {
        assert_eq!(ball.ray_interval(&odd), None);
    }
    assert!(Sphere::new(o, f64::INFINITY).intersects(&[1e100, 0.0]), "an infinite ball holds everything");
}

/// Products neither overflow nor underflow for lengths far from 1.
#[test]
fn large_and_small() {
    for unit in [1.0, 1e-100, 1e-140, 1e-46, 1e46, 1e100, 1e140] {
        // A power of two, so that no rounding occurs.
        let unit = f64::from_bits(f64::to_bits(unit) & f64::INFINITY.to_bits());
        let at = |x: f64, y: f64, z: f64| [x * unit, y * unit, z * unit];
        let triangle = Triangle::new(at(0.0, 0.0, 0.0), at(4.0, 0.0, 0.0), at(0.0, 4.0, 0.0));
        let near = Triangle::new(at(1.0, 1.0, 1.0), at(3.0, 0.0, 2.0), at(0.0, 4.0, 5.0));
        let through = Segment::new(at(1.0, 1.0, -1.0), at(1.0, 1.0, 7.0));
        let solid = Tetrahedron::new([at(0.0, 0.0, 0.0), at(4.0, 0.0, 0.0), at(0.0, 4.0, 0.0), at(0.0, 0.0, 4.0)]);
        assert_eq!(triangle.distance2(&near), unit * unit);
        assert!(triangle.intersects(&through) && !triangle.intersects(&near) && solid.intersects(&near));
        assert_eq!(
            Segment::new(at(0.0, 0.0, 0.0), at(4.0, 0.0, 0.0))
                .distance2(&Segment::new(at(1.0, -1.0, 2.0), at(1.0, 3.0, 2.0))),
            4.0 * unit * unit
        );
        assert_eq!(triangle.closest_point(at(1.0, 1.0, 3.0)), at(1.0, 1.0, 0.0));
        assert_eq!(triangle.barycentric(at(1.0, 2.0, 3.0)), Some([0.25, 0.25, 0.5]));
        assert_eq!(solid.barycentric(at(1.0, 1.0, 1.0)), Some([0.25; 4]));
        assert!(solid.intersects(&at(1.0, 1.0, 2.0)) && !solid.intersects(&at(1.0, 1.0, 2.5)));
        for step in [unit, 1.0 / unit, 1.0] {
            let ray = Ray::new(at(1.0, 1.0, -2.0), [0.0, 0.0, step]);
            let t = unit / step;
            if !t.is_finite() || t == 0.0 {
                continue;
            }
            assert_eq!(triangle.ray_interval(&ray), Some([2.0 * t; 2]));
            assert_eq!(through.ray_interval(&ray), Some([t, 9.0 * t]));
            assert_eq!(solid.ray_interval(&ray), Some([2.0 * t, 4.0 * t]));
            assert_eq!(Sphere::new(at(1.0, 1.0, 0.0), unit).ray_interval(&ray), Some([t, 3.0 * t]));
            assert_eq!(Capsule::new(at(1.0, 0.0, 0.0), at(1.0, 8.0, 0.0), unit).ray_interval(&ray), Some([t, 3.0 * t]));
        }
    }
    // The extremes of single precision.
    for unit in [f32::MIN_POSITIVE, 2f32.powi(126)] {
        let triangle = Triangle::new([0.0f32; 3], [unit, 0.0, 0.0], [0.0, unit, 0.0]);
        let size = f64::from(unit);
        assert_eq!(triangle.distance2(&[0.0, 0.0, unit]), size * size);
        assert!(
            triangle.intersects(&Segment::new([0.25 * unit, 0.25 * unit, -unit], [0.25 * unit, 0.25 * unit, unit]))
        );
    }
}

/// Bounding boxes contain their shapes, even in a narrow scalar type.
#[test]
fn boxes_are_rounded_outwards() {
    for x in [0.1f32, 1e-30, 3e7, -0.7, 1e-44] {
        let center = [x, 2.0 * x, -x];
        let radius = f64::from(x).abs() / 3.0;
        let axes = [[1.0, 2.0, 0.5], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let boxes = [
            Capsule::new(center, center, radius).bounds(),
            Ellipsoid::new(center, axes, [radius; 3]).bounds(),
            Obb::new(center, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [radius; 3]).bounds(),
        ];
        for bounds in boxes {
            for (k, middle) in center.into_iter().map(f64::from).enumerate() {
                let (lo, hi) = (f64::from(bounds.lo[k]), f64::from(bounds.hi[k]));
                assert!(lo <= middle - radius && middle + radius <= hi, "{bounds:?} of {middle} and {radius}");
                assert!(hi - lo <= 2.0 * radius + 1e-6 * middle.abs() + 1e-44);
            }
        }
        let dop = Dop26::around(&[center, [0.3, 0.1, 0.7]]);
        assert!(dop.intersects(&center) && dop.intersects(&[0.3, 0.1, 0.7]));
    }
}
