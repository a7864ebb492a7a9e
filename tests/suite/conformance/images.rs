//! The conformance suite on lattice points in a periodic box. The expected results come from all images in integer
//! arithmetic, which shares no formula with the crate.

use std::sync::LazyLock;

use super::{Case, NearCase, Shape, conforms};
use common::images::{self, Sides};
use common::oracle::NearestQuery;
use common::random::Random;
use ropewalk::reference::BruteForce;
use ropewalk::{Aabb, Bvh, Fof, Nearest, Scalar, Sphere};

/// Spheres and boxes around positions in the periodic box, on its faces and several periods away.
struct Questions<const D: usize> {
    balls: Vec<([i64; D], i64)>,
    boxes: Vec<[[i64; D]; 2]>,
}

impl<const D: usize> Questions<D> {
    fn new(sides: &Sides<D>) -> Self {
        let mut random = Random::new(7);
        let mut centers: Vec<[i64; D]> = vec![[0; D], *sides, sides.map(|side| side / 2), sides.map(|side| -3 * side)];
        for _ in 0..12 {
            centers.push(sides.map(|side| random.below(9 * side as usize) as i64 - 4 * side));
        }
        let least = *sides.iter().min().unwrap();
        let radii = [0, 16, 37, least / 2, least / 2 + 1, least + 3];
        let mut boxes = vec![];
        for &lo in &centers {
            for part in [0, 1, 2, 5, 8, 9, 17] {
                // Up to twice the side, including exactly the side.
                let along = |k: usize| lo[k] + part * sides[k] / 8 - i64::from(part > 0 && random.below(2) == 0);
                boxes.push([lo, std::array::from_fn(along)]);
            }
        }
        let balls = centers.iter().flat_map(|&center| radii.map(|radius| (center, radius))).collect();
        Self { balls, boxes }
    }
}

/// Returns a cubic box as a case of the suite.
fn case<S: Scalar, const D: usize>(n: usize, side: i64) -> Case<S, D> {
    let (sides, points) = ([side; D], images::points::<D>(n, &[side; D]));
    let Questions { balls, boxes } = Questions::new(&sides);
    let shape = |&[lo, hi]: &[[i64; D]; 2]| Shape::Box(Aabb::new(images::point(&lo), images::point(&hi)));
    let ball =
        |&(center, radius): &([i64; D], i64)| Shape::Ball(Sphere::new(images::point(&center), images::length(radius)));
    let shapes = balls.iter().map(ball).chain(boxes.iter().map(shape)).collect();
    let in_balls = balls.iter().map(|(center, radius)| images::in_ball(&points, center, *radius, &sides));
    let in_boxes = boxes.iter().map(|[lo, hi]| images::in_box(&points, [lo, hi], &sides));
    let hits = in_balls.chain(in_boxes).collect();

    let lists = |radius: i64| points.iter().map(|point| images::in_ball(&points, point, radius, &sides)).collect();
    let neighbors = [0, 16, 20, side / 2].map(|radius| (images::length(radius), lists(radius))).to_vec();

    let centers: Vec<[i64; D]> = balls.iter().map(|ball| ball.0).step_by(6).collect();
    let [one, nine, thirty, all] = [1, 9, 30, n + 1].map(images::NearestQuery::new);
    let (nine, thirty) =
        (images::NearestQuery { excluded: Some(2), ..nine }, images::NearestQuery { radius: Some(48), ..thirty });
    let near = [one, nine, thirty, all].map(|query| {
        let expected = centers.iter().map(|center| images::nearest(&points, center, query, &sides)).collect();
        let images::NearestQuery { k, radius, excluded } = query;
        let query = NearestQuery { k, radius: radius.map_or(f64::INFINITY, images::length), excluded };
        NearCase { query, centers: centers.iter().map(images::point).collect(), expected }
    });
    let cloud = images::cloud("lattice and images", &points, side);
    Case { side: Some(cloud.side), cloud, shapes, hits, neighbors, near: near.into() }
}

/// Returns a case with a side that is a power of two, and one with another side.
fn cases<S: Scalar, const D: usize>() -> Vec<Case<S, D>> {
    vec![case(150, 512), case(220, 7 * images::STEPS - 3)]
}

macro_rules! stamp {
    ($($name:ident: $scalar:ty, $dim:literal;)*) => {$(
        #[test]
        fn $name() {
            static CASES: LazyLock<Vec<Case<$scalar, $dim>>> = LazyLock::new(cases);
            conforms::<$scalar, $dim, BruteForce<$scalar, $dim>>(&CASES, 2);
            conforms::<$scalar, $dim, Bvh<$scalar, $dim>>(&CASES, 1);
            conforms::<$scalar, $dim, Bvh<$scalar, $dim>>(&CASES, 2);
        }
    )*};
}

stamp! {
    f32_in_2: f32, 2;
    f32_in_3: f32, 3;
    f64_in_2: f64, 2;
    f64_in_3: f64, 3;
}

/// A box with different sides.
#[test]
fn slabs() {
    let sides: Sides<3> = [512, 445, 160];
    let points = images::points::<3>(300, &sides);
    let stored: Vec<[f32; 3]> = points.iter().map(images::point).collect();
    let tree = Bvh::build_periodic(&stored, sides.map(images::length)).unwrap();
    let Questions { balls, boxes } = Questions::new(&sides);
    let sorted = |mut hits: Vec<u32>| {
        hits.sort_unstable();
        hits
    };
    for (center, radius) in &balls {
        let ball = Sphere::new(images::point::<f32, 3>(center), images::length(*radius));
        let expected = images::in_ball(&points, center, *radius, &sides);
        assert_eq!(sorted(tree.query(ball).collect()), expected, "{ball:?}");
        let near = tree.nearest(ball.center, Nearest::new(10));
        let expected = images::nearest(&points, center, images::NearestQuery::new(10), &sides);
        assert!(near.iter().map(|near| (near.index, near.distance2)).eq(expected), "{ball:?}");
    }
    for [lo, hi] in &boxes {
        let query = Aabb::new(images::point::<f32, 3>(lo), images::point(hi));
        assert_eq!(sorted(tree.query(query).collect()), images::in_box(&points, [lo, hi], &sides), "{query:?}");
    }
    for radius in [16, 24, 80] {
        let lists: Vec<_> = points.iter().map(|point| images::in_ball(&points, point, radius, &sides)).collect();
        let halos = Fof::new(images::length(radius)).run_on(&tree).unwrap();
        assert_eq!(halos.labels().as_slice(), common::oracle::components(&lists), "radius {radius}");
    }
}
