//! Half lists and their expansion, and searches with own radii, compared with the definition.

use common::oracle::{self, Side};
use common::random::Random;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use ropewalk::{Bvh, Csr, Scalar, Sphere, ValueBvh};

/// Checks `lists` against the entries of `expected` that `keep` selects.
fn hold_the_same(lists: &Csr<u32>, expected: &[Vec<u32>], keep: impl Fn(u32, u32) -> bool) {
    assert_eq!(lists.len(), expected.len());
    for (i, all) in (0..).zip(expected) {
        let kept: Vec<u32> = all.iter().copied().filter(|&j| keep(i, j)).collect();
        assert_eq!(lists.of(i as usize), kept, "list {i}");
    }
}

fn are_those_of_the_definition<S: Scalar, const D: usize>(points: &[[f64; D]], radius: f64, side: Side) {
    let (tree, points) = super::stored::<S, D>(points, side);
    let expected = oracle::neighbors(&points, radius, side);
    let half = tree.half_neighbors(radius);
    hold_the_same(&half, &expected, |i, j| j > i);
    hold_the_same(&half.symmetric().unwrap(), &expected, |i, j| j != i);

    let radii: Vec<f64> =
        (0..points.len()).map(|i| radius * [1.0, 0.0, 0.5, 2.0, -1.0, f64::NAN, f64::INFINITY][i % 7]).collect();
    let within = tree.neighbors_within(&radii).unwrap();
    for (i, point) in points.iter().enumerate() {
        let mut list = within.of(i).to_vec();
        list.sort_unstable();
        assert_eq!(list, oracle::in_ball(&points, point, radii[i], side), "list {i}");
    }
    assert_eq!(tree.neighbors_within(&vec![radius; points.len()]).unwrap(), tree.neighbors(radius));
}

/// The points as spheres, of which some overlap at a distance of exactly the sum of their radii.
fn overlap_as_defined<S: Scalar, const D: usize>(points: &[[f64; D]], radius: f64, side: Side) {
    let radius_of = |i: usize| radius * [0.5, 0.0, 0.25, 1.0][i % 4];
    let spheres: Vec<Sphere<S, D>> =
        points.iter().enumerate().map(|(i, point)| Sphere::new(point.map(S::from_f64), radius_of(i))).collect();
    let centers: Vec<[S; D]> = spheres.iter().map(|sphere| oracle::wrap_point(&sphere.center, side)).collect();
    let overlaps = |&[i, j]: &[u32; 2]| {
        let sum = spheres[i as usize].radius + spheres[j as usize].radius;
        oracle::distance2(&centers[i as usize], &centers[j as usize], side) <= sum * sum
    };
    let n = points.len() as u32;
    let expected: Vec<[u32; 2]> = (0..n).flat_map(|i| (i + 1..n).map(move |j| [i, j])).filter(overlaps).collect();
    let tree = Bvh::build_periodic(&spheres, side).unwrap();
    assert_eq!(tree.overlapping_spheres(&spheres).unwrap(), expected);
    if side.is_none() {
        assert_eq!(ValueBvh::build(spheres).unwrap().overlapping_pairs(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn are_right_in_f32((points, radius) in super::cloud::<3>(), side in super::side()) {
        are_those_of_the_definition::<f32, 3>(&points, radius, side);
        overlap_as_defined::<f32, 3>(&points, radius.abs(), side);
    }

    #[test]
    fn are_right_in_f64((points, radius) in super::cloud::<2>(), side in super::side()) {
        are_those_of_the_definition::<f64, 2>(&points, radius, side);
        overlap_as_defined::<f64, 2>(&points, radius.abs(), side);
    }
}

#[test]
fn few_points_and_radii_that_hold_nothing() {
    let empty = Bvh::build(&[] as &[[f32; 2]]).unwrap().half_neighbors(1.0);
    assert!(empty.is_empty() && empty.symmetric().unwrap().is_empty());
    let tree = Bvh::build(&[[1.0f64]; 3]).unwrap();
    for radius in [-1.0, f64::NAN] {
        assert_eq!(tree.half_neighbors(radius).symmetric().unwrap().offsets(), [0; 4]);
    }
    assert_eq!(tree.half_neighbors(0.0).into_parts(), (vec![0, 2, 3, 3], vec![1, 2, 2]));
}

#[test]
fn the_same_on_any_number_of_threads() {
    let mut random = Random::new(9);
    let points: Vec<[f32; 3]> = (0..20_000).map(|_| std::array::from_fn(|_| 10.0 * random.unit() as f32)).collect();
    let tree = Bvh::build_periodic(&points, 10.0).unwrap();
    let lists = [1, 2, 5].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| tree.half_neighbors(0.5).symmetric().unwrap())
    });
    assert!(lists[0] == lists[1] && lists[0] == lists[2]);
    assert_eq!(lists[0].values().len() as u64, 2 * tree.count_pairs(0.5));
}

/// Lists of queries are not half lists.
#[test]
fn other_lists() {
    let tree = Bvh::build(&[[0.0f32], [1.0], [2.0]]).unwrap();
    let error = tree.neighbors(1.0).symmetric().unwrap_err();
    assert!(error.to_string().contains("0 in list 0 of 3"), "{error}");
}

#[test]
fn own_radii_of_boxes() {
    let boxes = [[0.0f32, 1.0], [2.0, 4.0], [4.5, 5.0]].map(|[lo, hi]| ropewalk::Aabb::new([lo], [hi]));
    let tree = Bvh::build_periodic(&boxes, 6.0).unwrap();
    let sorted = |list: &[u32]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    let lists = tree.neighbors_within(&[1.0, 0.5, 0.25]).unwrap();
    let lists: Vec<Vec<u32>> = lists.iter().map(sorted).collect();
    assert_eq!(lists, [vec![0, 1, 2], vec![1, 2], vec![2]]);
}

#[test]
fn numbers_of_radii_and_spheres() {
    let tree = Bvh::build(&[[0.0f32], [1.0]]).unwrap();
    let error = tree.neighbors_within(&[1.0]).unwrap_err();
    assert!(error.to_string().contains("1 radii for 2 stored primitives"), "{error}");
    let error = tree.overlapping_spheres(&[]).unwrap_err();
    assert!(error.to_string().contains("0 spheres for 2 stored primitives"), "{error}");
    let spheres = [f64::NAN, -1.0].map(|radius| Sphere::new([0.0f32], radius));
    assert_eq!(tree.overlapping_spheres(&spheres).unwrap(), [[0; 2]; 0]);
}
