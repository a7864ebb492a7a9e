//! Edge cases of shapes: points on faces, flat tetrahedra, shapes without points.

use common::random::Random;
use ropewalk::geometry::{Capsule, Convex, Distance, Ellipsoid, HitBy, Tetrahedron};
use ropewalk::{Aabb, Bounded, Bvh, Sphere, ValueBvh};

/// Returns tetrahedra that fill a cube of `n` cells a side, six around the diagonal of each cell (Kuhn), with
/// displaced corners.
fn kuhn(n: usize, random: &mut Random) -> Vec<Tetrahedron<f64>> {
    let side = n + 1;
    let corners: Vec<[f64; 3]> = (0..side.pow(3))
        .map(|i| [i / side / side, i / side % side, i % side].map(|at| at as f64 + 0.2 * (random.unit() - 0.5)))
        .collect();
    let mut all = vec![];
    for cell in 0..n.pow(3) {
        let cell = [cell / n / n, cell / n % n, cell % n];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut at = cell;
            let mut next = |axis: Option<usize>| {
                axis.into_iter().for_each(|axis| at[axis] += 1);
                corners[(at[0] * side + at[1]) * side + at[2]]
            };
            all.push(Tetrahedron::new([next(None), next(Some(order[0])), next(Some(order[1])), next(Some(order[2]))]));
        }
    }
    all
}

/// If tetrahedra fill space, each query finds each point in at least one of them.
#[test]
fn points_on_faces_are_found() {
    let mut random = Random::new(1);
    let tetrahedra = kuhn(6, &mut random);
    let tree = ValueBvh::build(tetrahedra.clone()).unwrap();
    let mut points = vec![];
    for tetrahedron in &tetrahedra {
        for skipped in 0..4 {
            let weights = [0; 3].map(|_| random.unit());
            let sum: f64 = weights.iter().sum();
            let face = (0..4).filter(|&i| i != skipped).zip(weights);
            let mut point = [0.0; 3];
            face.for_each(|(i, weight)| (0..3).for_each(|k| point[k] += weight / sum * tetrahedron.vertices[i][k]));
            if point.iter().all(|x| (0.5..5.5).contains(x)) {
                points.push(point);
            }
        }
    }
    let stored = Bvh::build(&points).unwrap();
    let mut found = vec![false; points.len()];
    for tetrahedron in &tetrahedra {
        stored.query(*tetrahedron).for_each(|i| found[i as usize] = true);
    }
    assert!(points.len() > 2000 && found.iter().all(|&found| found));
    for (at, &point) in points.iter().enumerate() {
        let mut as_box: Vec<u32> = tree.query(Aabb::point(point)).map(|hit| hit.index).collect();
        let mut as_point: Vec<u32> = tree.query(point).map(|hit| hit.index).collect();
        let mut as_ball: Vec<u32> = tree.query(Sphere::new(point, 0.0)).map(|hit| hit.index).collect();
        [&mut as_box, &mut as_point, &mut as_ball].into_iter().for_each(|found| found.sort_unstable());
        assert!(!as_ball.is_empty() && as_box == as_ball && as_point == as_ball, "{point:?}: {as_box:?}, {as_ball:?}");
        if at % 50 > 0 {
            continue;
        }
        let exact: Vec<u32> =
            (0..).zip(&tetrahedra).filter(|(_, own)| own.intersects(&point)).map(|(i, _)| i).collect();
        assert_eq!(as_box, exact, "{point:?}");
    }
}

/// Integers so large that products of three are rounded; `i128` holds them exactly.
#[test]
fn flat_tetrahedra_have_no_weights() {
    let mut random = Random::new(2);
    let mut number = |n: u64| random.below(n as usize) as i64 - n as i64 / 2;
    for round in 0..2000 {
        let mut vector = || [0; 3].map(|_| number(1 << 30));
        let (a, e, f) = (vector(), vector(), vector());
        let point = vector().map(|x| x as f64);
        let [i, j] = [0; 2].map(|_| number(9));
        // A third of the tetrahedra are one unit from flat.
        let bump = i64::from(round % 3 == 0);
        let g: [i64; 3] = std::array::from_fn(|k| i * e[k] + j * f[k] + if k == 0 { bump } else { 0 });
        let plus = |by: [i64; 3]| -> [f64; 3] { std::array::from_fn(|k| (a[k] + by[k]) as f64) };
        let tetrahedron = Tetrahedron::new([a.map(|x| x as f64), plus(e), plus(f), plus(g)]);
        let [e, f, g] = [e, f, g].map(|x| x.map(i128::from));
        let volume = g[0] * (e[1] * f[2] - e[2] * f[1])
            + g[1] * (e[2] * f[0] - e[0] * f[2])
            + g[2] * (e[0] * f[1] - e[1] * f[0]);
        match tetrahedron.barycentric(point) {
            None => assert_eq!(volume, 0),
            Some(weights) => {
                let size = weights.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                assert!(
                    volume != 0 && (weights.iter().sum::<f64>() - 1.0).abs() <= 4.0 * f64::EPSILON * size,
                    "{weights:?}"
                );
            }
        }
    }
}

/// A shape without points is at infinite distance from everything and is never hit, in all queries.
#[test]
fn shapes_without_points() {
    let numbers = [-1.0, 0.0, 1.0, f64::NAN];
    let points: Vec<[f64; 2]> = numbers.iter().flat_map(|&x| [[x, 0.0], [0.5, x]]).collect();
    let balls: Vec<Sphere<f64, 2>> =
        points.iter().flat_map(|&at| numbers.map(|radius| Sphere::new(at, radius))).collect();
    let boxes: Vec<Aabb<f64, 2>> =
        points.iter().flat_map(|&lo| points.iter().map(move |&hi| Aabb::new(lo, hi))).collect();
    fn check<T, U>(a: &T, b: &U)
    where
        T: Convex<f64, 2> + HitBy<U> + std::fmt::Debug,
        U: Convex<f64, 2> + std::fmt::Debug,
    {
        assert_eq!(a.is_hit_by(b), a.intersects(b), "{a:?} {b:?}");
    }
    fn near<T: Convex<f64, 2> + Distance<f64, 2> + std::fmt::Debug>(a: &T, point: &[f64; 2]) {
        let (own, convex) = (a.distance2_to(point), a.distance2(point));
        assert!(if convex.is_finite() { own == convex } else { own.is_nan() }, "{a:?} {point:?}: {own}, {convex}");
    }
    for point in &points {
        points.iter().for_each(|other| (near(other, point), check(other, point)).0);
        balls.iter().for_each(|ball| {
            near(ball, point);
            check(point, ball);
            check(ball, point);
            check(ball, &Aabb::point(*point));
        });
        boxes.iter().for_each(|own| {
            near(own, point);
            check(point, own);
            check(own, point);
        });
    }
    for ball in &balls {
        balls.iter().for_each(|other| check(ball, other));
        boxes.iter().for_each(|own| (check(ball, own), check(own, ball)).0);
    }
    for own in &boxes {
        boxes.iter().for_each(|other| check(own, other));
    }
    // Trees reject all of them.
    for radii in [[-1.0, 1.0], [1.0, -1e-30], [f64::NAN, 1.0]] {
        for center in [[0.0, 0.0], [1e9, 1.0]] {
            let ellipse = Ellipsoid::new(center, [[1.0, 1.0], [-1.0, 1.0]], radii);
            assert!(!ellipse.intersects(&center) && Bvh::build(&[ellipse]).is_err(), "{:?}", ellipse.bounds());
        }
    }
}

/// A capsule with an infinite radius meets every box, also if only its bounds are infinite in `f32`.
#[test]
fn infinite_capsules() {
    let points = [[0.5f32, 0.5], [3.0, -7.0]];
    for radius in [1e39, f64::INFINITY] {
        let capsule = Capsule::new([0.0f32, 0.0], [1.0, 1.0], radius);
        assert_eq!(Bvh::build(&points).unwrap().query(capsule).count(), 2, "{radius}");
        assert_eq!(Bvh::build_periodic(&points, 8.0).unwrap().query(capsule).count(), 2, "{radius}, periodic");
    }
    let empty = Capsule::new([0.0f32, 0.0], [1.0, 1.0], -f64::INFINITY);
    assert_eq!(Bvh::build(&points).unwrap().query(empty).count(), 0);
}
