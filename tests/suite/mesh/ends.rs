//! The ends of a ray's range are inclusive, exact, and the same for all triangles that the ray hits at one point.

use common::random::Random;
use ropewalk::search::RayHit;
use ropewalk::{Mesh, Ray};

type Point = [i128; 3];

fn minus(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] - b[k])
}

fn cross(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
}

fn dot(a: Point, b: Point) -> i128 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the exact `t` of a ray and a triangle as a fraction with a positive denominator; edges are inclusive.
fn exact(origin: Point, direction: Point, [a, b, c]: [Point; 3]) -> Option<[i128; 2]> {
    let normal = cross(minus(b, a), minus(c, a));
    let (height, slope) = (dot(minus(a, origin), normal), dot(direction, normal));
    let edge = |p: Point, q: Point| dot(direction, cross(minus(p, origin), minus(q, origin))).signum();
    let signs = [edge(a, b), edge(b, c), edge(c, a)];
    let is_met = slope != 0 && !(signs.contains(&1) && signs.contains(&-1));
    is_met.then(|| [height * slope.signum(), slope.abs()])
}

/// Compares a fraction of integers with a number without rounding.
fn is_at_most([height, slope]: [i128; 2], limit: f64) -> bool {
    if limit == 0.0 || height == 0 || (limit > 0.0) != (height > 0) {
        return if limit == 0.0 { height <= 0 } else { limit > 0.0 };
    }
    // limit = mantissa * 2^exponent. Products of three 17-bit numbers and a 53-bit number are below 2^127.
    let bits = limit.abs().to_bits();
    let exponent = (bits >> 52) as i32 - 1075;
    let mantissa = i128::from(bits & ((1 << 52) - 1) | 1 << 52);
    // By long division: the integer part, then 120 bits one by one.
    let (whole, mut rest) = (height.abs() / slope, height.abs() % slope);
    let order = if exponent >= 0 {
        (whole, rest).cmp(&(mantissa << exponent, 0))
    } else {
        let shift = -exponent as u32;
        let number = if shift < 127 { mantissa >> shift } else { 0 };
        let mut order = whole.cmp(&number);
        for bit in (0..shift).rev() {
            rest *= 2;
            let own = rest / slope;
            rest %= slope;
            let other = if bit < 127 { mantissa >> bit & 1 } else { 0 };
            order = order.then(own.cmp(&other));
        }
        order.then(rest.cmp(&0))
    };
    if limit > 0.0 { order.is_le() } else { order.is_ge() }
}

fn real(at: Point) -> [f64; 3] {
    at.map(|x| x as f64)
}

/// Compares all queries for the hits of one ray, and returns the first hit.
fn first(mesh: &Mesh<f64>, ray: Ray<f64, 3>) -> Option<RayHit> {
    let found = mesh.first_hit(&ray);
    let rays = [ray; 9];
    assert!(mesh.first_hits(&rays).iter().all(|&hit| hit == found));
    assert_eq!(mesh.any_hit(&ray), found.is_some());
    assert_eq!(mesh.any_hits(&rays), [found.is_some(); 9]);
    found
}

#[test]
fn a_segment_that_ends_on_a_triangle() {
    let mesh = Mesh::build(&[[9.0, 1.0, 0.0], [-5.0, -11.0, 0.0], [-16.0, -3.0, 0.0]], &[[0, 1, 2]]).unwrap();
    let ray = Ray::new([0.0, -5.0, -3.0], [-9.0, -2.0, 3.0]);
    assert_eq!(first(&mesh, ray).unwrap().t, 1.0);
    assert_eq!(first(&mesh, ray.between(0.0, 1.0)).unwrap().t, 1.0);
    assert_eq!(first(&mesh, ray.between(1.0, 2.0)).unwrap().t, 1.0);
    assert_eq!(first(&mesh, ray.between(0.0, 1.0f64.next_down())), None);
    assert_eq!(first(&mesh, ray.between(1.0f64.next_up(), 2.0)), None);
}

#[test]
fn limits_of_integer_rays() {
    let mut random = Random::new(71);
    let (mut met, mut touched) = (0, 0);
    for round in 0..2_400 {
        let wide = [5, 20, 1000, 60_000][round % 4];
        let mut number = || random.below(2 * wide + 1) as i128 - wide as i128;
        let mut point = || [number(), number(), number()];
        let (corners, origin) = ([point(), point(), point()], point());
        let mut direction = point();
        if round % 3 > 0 {
            // A segment that ends near or in the plane.
            direction = minus(corners[round % 2], origin);
        }
        if direction == [0; 3] {
            continue;
        }
        let expected = exact(origin, direction, corners);
        let mesh = Mesh::build(&corners.map(real), &[[0, 1, 2], [2, 1, 0], [1, 2, 0]]).unwrap();
        let ray = Ray::new(real(origin), real(direction)).between(f64::NEG_INFINITY, f64::INFINITY);
        let found = first(&mesh, ray);
        assert_eq!(found.is_some(), expected.is_some(), "{corners:?} {origin:?} {direction:?}");
        let (Some(found), Some(fraction)) = (found, expected) else { continue };
        met += 1;
        assert_eq!(found.triangle, 0);
        // The smallest number that is not below the exact value.
        if found.t.abs() > 1e-12 {
            assert!(
                is_at_most(fraction, found.t) && !is_at_most(fraction, found.t.next_down()),
                "{fraction:?} {}",
                found.t
            );
        } else {
            assert_eq!(fraction[0] == 0, found.t == 0.0);
        }
        for limit in [found.t.next_down(), found.t, found.t.next_up(), 1.0, 1.0f64.next_down(), 0.0, 1.0 / 3.0] {
            if limit.abs() < 1e-12 && limit != 0.0 {
                continue;
            }
            let is_within = is_at_most(fraction, limit);
            let hit = first(&mesh, ray.between(f64::NEG_INFINITY, limit));
            assert_eq!(hit, is_within.then_some(found), "{fraction:?} {limit}");
            touched += u32::from(fraction[0] == fraction[1] && limit == 1.0);
        }
        assert_eq!(first(&mesh, ray.between(found.t, found.t)), Some(found));
    }
    assert!(met > 300 && touched > 100, "{met} {touched}");
}

/// Overlapping triangles of one plane, with corners in any order: at equal `t` the lowest index is the hit.
#[test]
fn copies_and_triangles_of_one_plane() {
    let mut random = Random::new(72);
    for round in 0..300 {
        let mut point = || -> [f64; 3] { std::array::from_fn(|_| random.unit() - 0.5) };
        let (a, b, c) = (point(), point(), point());
        // Reflected and rotated copies of a triangle with any coordinates, or overlapping triangles in a plane of
        // integer points.
        let whole = |x: [f64; 3]| x.map(|x| (x * 40.0).round());
        let corners: Vec<[f64; 3]> = if round % 2 == 0 {
            vec![a, b, c]
        } else {
            let (u, v, o) = (whole(a), whole(b), whole(c));
            (0..12)
                .map(|i| std::array::from_fn(|k| o[k] + f64::from(i % 4 - 2) * u[k] + f64::from(i / 4 * 2 - 1) * v[k]))
                .collect()
        };
        let faces: Vec<[u32; 3]> = if round % 2 == 0 {
            vec![[2, 1, 0], [0, 1, 2], [1, 2, 0], [1, 0, 2], [0, 2, 1]]
        } else {
            (0..40).map(|_| std::array::from_fn(|_| random.below(12) as u32)).collect()
        };
        let mesh = Mesh::build(&corners, &faces).unwrap();
        for _ in 0..40 {
            let origin: [f64; 3] = std::array::from_fn(|k| corners[0][k] + 100.0 * (random.unit() - 0.5));
            let [p, q] = [0, 1].map(|_| corners[random.below(corners.len())]);
            let to: [f64; 3] = std::array::from_fn(|k| 0.5 * (p[k] + q[k]) - origin[k]);
            let ray = Ray::new(origin, to);
            let one = |face: &[u32; 3]| Mesh::build(&corners, &[*face]).unwrap().first_hit(&ray).map(|hit| hit.t);
            let each: Vec<Option<f64>> = faces.iter().map(one).collect();
            let least = each.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            assert!(each.iter().flatten().all(|&t| t == least), "{each:?}");
            let lowest = each.iter().position(|t| t.is_some()).map(|at| at as u32);
            assert_eq!(first(&mesh, ray).map(|hit| hit.triangle), lowest);
        }
    }
}
