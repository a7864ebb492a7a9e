//! Refits: results equal those of a new tree, however the points move. `conformance` also compares a refitted tree
//! with the definitions.

use common::oracle::{self, NearestQuery, Side};
use proptest::collection::vec;
use proptest::prelude::*;
use ropewalk::cluster::{DbscanAlgorithm, KernelDensity};
use ropewalk::{
    Aabb, Bvh, Csr, Dbscan, Error, ErrorKind, Fof, Hdbscan, Hop, MinimumSpanningTree, Nearest, Scalar, Sphere,
};

use super::{build, cloud, moved, with_threads};

fn sorted(lists: Csr<u32>) -> Vec<Vec<u32>> {
    lists
        .iter()
        .map(|list| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        })
        .collect()
}

/// Asserts that all results of two trees are equal.
#[track_caller]
fn same_answers<S: Scalar, const D: usize>(tree: &Bvh<S, D>, fresh: &Bvh<S, D>, radius: f64, what: &str) {
    tree.validate().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(tree.bounds(), fresh.bounds(), "{what}");
    let n = tree.len();
    assert_eq!(tree.count_neighbors(radius), fresh.count_neighbors(radius), "{what}");
    assert!(sorted(tree.neighbors(radius)) == sorted(fresh.neighbors(radius)), "{what}");
    assert_eq!(tree.count_pairs(radius), fresh.count_pairs(radius), "{what}");
    assert!(tree.pairs(radius) == fresh.pairs(radius), "{what}");
    let near = |tree: &Bvh<S, D>| tree.map_neighbors(radius, |_, near| near.to_vec());
    assert!(near(tree) == near(fresh), "{what}");
    for wanted in [Nearest::new(1), Nearest::new(7).excluding_self(), Nearest::new(40), Nearest::new(5).within(radius)]
    {
        assert!(tree.nearest_neighbors(wanted) == fresh.nearest_neighbors(wanted), "{what}: {wanted:?}");
    }
    let middle = tree.bounds().center();
    assert_eq!(tree.nearest(middle, 9), fresh.nearest(middle, 9), "{what}");
    let balls: Vec<Sphere<S, D>> = [0.1, 1.0, 10.0].map(|times| Sphere::new(middle, times * radius)).to_vec();
    assert_eq!(tree.count_all(&balls), fresh.count_all(&balls), "{what}");

    assert_eq!(
        Fof::new(radius).run_on(tree).unwrap().labels(),
        Fof::new(radius).run_on(fresh).unwrap().labels(),
        "{what}"
    );
    for min_samples in [3, 12] {
        for algorithm in [DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox] {
            let dbscan = Dbscan::new(radius, min_samples).algorithm(algorithm);
            assert_eq!(dbscan.run_on(tree).unwrap(), dbscan.run_on(fresh).unwrap(), "{what}: {algorithm:?}");
        }
        let weights: Vec<f64> = (0..n).map(|i| 0.25 * (i % 7) as f64).collect();
        let dbscan = Dbscan::new(radius, min_samples).weights(weights);
        assert_eq!(dbscan.run_on(tree).unwrap(), dbscan.run_on(fresh).unwrap(), "{what}: weights");
    }
    for samples in [1, 5] {
        let mst = MinimumSpanningTree::new().min_samples(samples);
        assert!(mst.run_on(tree).unwrap() == mst.run_on(fresh).unwrap(), "{what}: {samples} samples");
    }
    let hdbscan = Hdbscan::new(10);
    assert!(hdbscan.run_on(tree).unwrap().labels() == hdbscan.run_on(fresh).unwrap().labels(), "{what}");
}

/// Asserts equal densities and HOP halos, for points in two or three dimensions.
#[track_caller]
fn same_halos<S: Scalar, const D: usize>(tree: &Bvh<S, D>, fresh: &Bvh<S, D>, what: &str) {
    // Points without a volume have no densities.
    let density = KernelDensity::new();
    assert_eq!(density.run_on(tree).ok(), density.run_on(fresh).ok(), "{what}");
    let hop = Hop::new(2.0);
    let labels = |tree| hop.run_on(tree).ok().map(|halos| halos.labels().clone());
    assert_eq!(labels(tree), labels(fresh), "{what}");
}

/// Small and large steps, and points that merge, disperse, and leave the box.
fn steps<S: Scalar, const D: usize>(n: usize, side: Side, radius: f64) {
    let start = cloud::<S, D>(n, 1);
    let mut tree = build(&start, side);
    let one_place = vec![start[0]; n];
    let heaps: Vec<[S; D]> = (0..n).map(|i| start[i * 7 % 5]).collect();
    let some_copies: Vec<[S; D]> = (0..n).map(|i| if i % 3 == 0 { start[1] } else { start[i] }).collect();
    let swapped: Vec<[S; D]> = start.iter().rev().copied().collect();
    let lattice: Vec<[S; D]> =
        (0..n).map(|i| std::array::from_fn(|k| S::from_f64(0.125 * (i / 8usize.pow(k as u32) % 8) as f64))).collect();
    let steps = [
        ("the same", start.clone()),
        ("small", moved(&start, 1e-3, 2)),
        ("huge", moved(&start, 5.0, 3)),
        ("one place", one_place),
        ("again the same", start.clone()),
        ("heaps", heaps),
        ("some copies", some_copies),
        ("swapped", swapped),
        ("lattice", lattice),
        ("far away", start.iter().map(|point| point.map(|x| S::from_f64(Into::<f64>::into(x) - 7.3))).collect()),
    ];
    for (what, points) in steps {
        tree.refit(&points).unwrap();
        let fresh = build(&points, side);
        same_answers(&tree, &fresh, radius, what);
        if D == 2 || D == 3 {
            same_halos(&tree, &fresh, what);
        }
        let points: Vec<_> = points.iter().map(|point| oracle::wrap_point(point, side)).collect();
        let counts = tree.count_neighbors(radius);
        for i in (0..n).step_by(n / 20 + 1) {
            let expected = oracle::in_ball(&points, &points[i], radius, side);
            assert_eq!(counts[i] as usize, expected.len(), "{what}: {i}");
        }
    }
}

#[test]
fn in_2_dimensions() {
    steps::<f32, 2>(600, None, 0.02);
    steps::<f64, 2>(600, Some(1.0), 0.02);
}

#[test]
fn in_3_dimensions() {
    steps::<f32, 3>(600, Some(1.0), 0.05);
    steps::<f64, 3>(600, None, 0.05);
}

#[test]
fn in_5_dimensions() {
    steps::<f32, 5>(300, None, 0.2);
    steps::<f64, 5>(300, Some(1.0), 0.2);
}

#[test]
fn a_refit_to_the_same_points_is_the_same_tree() {
    for side in [None, Some(1.0)] {
        let points = cloud::<f32, 3>(20_000, 4);
        let fresh = build(&points, side);
        let mut tree = build(&points, side);
        tree.refit(&moved(&points, 0.1, 5)).unwrap();
        assert!(tree != fresh && tree.degradation() > 1.5, "{}", tree.degradation());
        tree.refit(&points).unwrap();
        assert!(tree == fresh);
        assert_eq!(tree.degradation(), 1.0);
        let copy = tree.clone();
        assert!(copy == fresh && copy.degradation() == 1.0);
    }
}

#[test]
fn trees_do_not_depend_on_threads() {
    let points = cloud::<f32, 3>(100_000, 6);
    let mut steps =
        vec![moved(&points, 0.01, 7), points.clone(), vec![points[0]; points.len()], moved(&points, 1.0, 8)];
    steps.push((0..points.len()).map(|i| points[i * 31 % 40]).collect());
    let refitted = |threads| {
        with_threads(threads, || {
            let mut tree = build(&points, Some(1.0));
            let step = |points: &Vec<[f32; 3]>| {
                tree.refit(points).unwrap();
                (tree.clone(), tree.degradation())
            };
            steps.iter().map(step).collect::<Vec<_>>()
        })
    };
    let one = refitted(1);
    for threads in [2, 5] {
        assert!(refitted(threads) == one, "{threads} threads");
    }
}

/// Returns the sum over all nodes as documented.
fn cost<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> f64 {
    let surface = |bounds: &Aabb<S, D>| {
        let side = |k: usize| Into::<f64>::into(bounds.hi[k]) - Into::<f64>::into(bounds.lo[k]);
        if D == 1 {
            return side(0);
        }
        (0..D).map(|k| (0..D).filter(|&j| j != k).map(side).product::<f64>()).sum()
    };
    tree.nodes().iter().map(|node| surface(&node.bounds)).sum()
}

fn degradation_is_defined<S: Scalar, const D: usize>() {
    let points = cloud::<S, D>(3000, 9);
    let mut tree = build(&points, None);
    let built = cost(&tree);
    assert_eq!(tree.degradation(), 1.0);
    let mut before = 1.0;
    for step in [1e-3, 1e-2, 0.1, 1.0] {
        tree.refit(&moved(&points, step, 10)).unwrap();
        let expected = cost(&tree) / built;
        assert!((tree.degradation() / expected - 1.0).abs() < 1e-10, "{} {expected}", tree.degradation());
        assert!(tree.degradation() > before);
        before = tree.degradation();
    }
    let scaled: Vec<[S; D]> = points.iter().map(|point| point.map(|x| x * S::from_f64(2.0))).collect();
    tree.refit(&scaled).unwrap();
    let expected = 2f64.powi((D as i32 - 1).max(1));
    assert!((tree.degradation() / expected - 1.0).abs() < 1e-6);
}

#[test]
fn degradation() {
    degradation_is_defined::<f64, 1>();
    degradation_is_defined::<f32, 2>();
    degradation_is_defined::<f64, 3>();
    degradation_is_defined::<f64, 6>();
}

#[test]
fn degradation_without_extent() {
    let mut tree = Bvh::build(&[[0.5f64; 10]; 100]).unwrap();
    tree.refit(&[[0.25; 10]; 100]).unwrap();
    assert_eq!(tree.degradation(), 1.0);
    let far: Vec<[f64; 10]> = (0..100).map(|i| [if i % 2 == 0 { 1e150 } else { -1e150 }; 10]).collect();
    tree.refit(&far).unwrap();
    assert_eq!(tree.degradation(), f64::INFINITY);
    for n in [0, 1] {
        let mut tree = Bvh::build(&vec![[0.0f32; 2]; n]).unwrap();
        tree.refit(&vec![[3.0f32; 2]; n]).unwrap();
        tree.validate().unwrap();
        assert_eq!((tree.len(), tree.degradation()), (n, 1.0));
    }
}

fn boxes<S: Scalar, const D: usize>(points: &[[S; D]], sizes: f64) -> Vec<Aabb<S, D>> {
    let sides = cloud::<S, D>(points.len(), 77);
    let corner = |(point, side): (&[S; D], &[S; D])| -> [S; D] {
        std::array::from_fn(|k| point[k] + S::from_f64(sizes * Into::<f64>::into(side[k]).abs()))
    };
    let hi = points.iter().zip(&sides).map(corner);
    points.iter().zip(hi).map(|(&lo, hi)| Aabb { lo, hi }).collect()
}

#[test]
fn boxes_that_move() {
    for side in [None, Some(1.0)] {
        let start = cloud::<f64, 2>(800, 11);
        let mut tree = build(&boxes(&start, 0.01), side);
        for (step, size) in [(0.0, 0.01), (1e-3, 0.01), (0.3, 0.02), (3.0, 0.001), (0.0, 0.0)] {
            let boxes = boxes(&moved(&start, step, 12), size);
            tree.refit(&boxes).unwrap();
            let fresh = build(&boxes, side);
            same_answers(&tree, &fresh, 0.03, "boxes");
            assert!(tree.overlapping_pairs() == fresh.overlapping_pairs());
        }
        // Copies of one box.
        let copies = vec![Aabb::point(start[0]); 800];
        tree.refit(&copies).unwrap();
        same_answers(&tree, &build(&copies, side), 0.03, "copies");
        // Points in a tree built from boxes, and boxes in a tree built from points.
        tree.refit(&start).unwrap();
        same_answers(&tree, &build(&start, side), 0.03, "points");
        let mut tree = build(&start, side);
        let boxes = boxes(&start, 0.02);
        tree.refit(&boxes).unwrap();
        same_answers(&tree, &build(&boxes, side), 0.03, "from points to boxes");
    }
}

#[test]
fn vectors_and_shapes_of_other_types() {
    let points = cloud::<f32, 3>(500, 13);
    let vectors: Vec<glam::Vec3> = points.iter().map(|&point| point.into()).collect();
    let mut tree = Bvh::build(&vectors).unwrap();
    let moved: Vec<glam::Vec3> = moved(&points, 0.2, 14).into_iter().map(Into::into).collect();
    tree.refit(&moved).unwrap();
    same_answers(&tree, &Bvh::build(&moved).unwrap(), 0.1, "glam");
    let spheres: Vec<Sphere<f32, 3>> = moved.iter().map(|&at| Sphere::new(at, 0.01)).collect();
    let mut tree = Bvh::build(&spheres).unwrap();
    let spheres: Vec<Sphere<f32, 3>> = points.iter().map(|&at| Sphere::new(at, 0.02)).collect();
    tree.refit(&spheres).unwrap();
    same_answers(&tree, &Bvh::build(&spheres).unwrap(), 0.1, "spheres");
}

#[test]
fn bad_input_leaves_the_tree() {
    let points = cloud::<f64, 3>(5000, 15);
    for side in [None, Some(1.0)] {
        let mut tree = build(&points, side);
        tree.refit(&moved(&points, 0.01, 16)).unwrap();
        let (before, degradation) = (tree.clone(), tree.degradation());
        let mut refuses = |points: &[[f64; 3]]| -> Error {
            let error = tree.refit(points).unwrap_err();
            assert!(tree == before && tree.degradation() == degradation);
            error
        };
        for bad in [f64::NAN, f64::INFINITY, 1e151] {
            let mut points = points.clone();
            points[4321][1] = bad;
            let error = refuses(&points);
            assert_eq!(error.index(), Some(4321));
            assert_eq!(error.kind(), if bad == 1e151 { ErrorKind::Input } else { ErrorKind::NotFinite });
        }
        for n in [0, 4999] {
            let error = refuses(&points[..n]);
            assert_eq!(error.kind(), ErrorKind::Input);
            assert!(error.to_string().contains("5000") && error.to_string().contains(&n.to_string()), "{error}");
        }
        tree.refit(&points).unwrap();
        assert!(tree == build(&points, side));
    }
    let mut tree = Bvh::build(&[Aabb::new([0.0f32], [1.0])]).unwrap();
    let upside_down = Aabb { lo: [1.0f32], hi: [0.0] };
    assert_eq!(tree.refit(&[upside_down]).unwrap_err().index(), Some(0));
    assert_eq!(tree.bounds(), Aabb::new([0.0], [1.0]));
}

/// A coordinate in general position, or on a grid.
fn coordinate(on_grid: bool) -> BoxedStrategy<f64> {
    if on_grid { (-20i32..60).prop_map(|i| f64::from(i) * 0.25).boxed() } else { (-5.0..15.0).boxed() }
}

/// Several positions for the same points, a radius, and the side of a box.
fn journey() -> impl Strategy<Value = (Vec<Vec<[f64; 2]>>, f64, Side)> {
    (any::<bool>(), 1usize..150).prop_flat_map(|(on_grid, n)| {
        let places = vec(vec((coordinate(on_grid), coordinate(on_grid)).prop_map(|(x, y)| [x, y]), n), 2..5);
        let side = prop::option::of(prop_oneof![Just(8.0), 8.0..30.0]);
        (places, (0i32..16).prop_map(|i| f64::from(i) * 0.25), side)
    })
}

fn journey_is_exact<S: Scalar>(places: &[Vec<[f64; 2]>], radius: f64, side: Side) -> Result<(), TestCaseError> {
    let places: Vec<Vec<[S; 2]>> =
        places.iter().map(|points| points.iter().map(|point| point.map(S::from_f64)).collect()).collect();
    let mut tree = build(&places[0], side);
    for points in &places[1..] {
        tree.refit(points).unwrap();
        tree.validate().unwrap();
        let points: Vec<_> = points.iter().map(|point| oracle::wrap_point(point, side)).collect();
        prop_assert_eq!(sorted(tree.neighbors(radius)), oracle::neighbors(&points, radius, side));
        let near = tree.nearest_neighbors(Nearest::new(6).excluding_self());
        for (i, list) in near.iter().enumerate() {
            let expected = oracle::nearest(&points, &points[i], NearestQuery::new(6).excluding(i as u32), side);
            prop_assert_eq!(list.iter().map(|near| (near.index, near.distance2)).collect::<Vec<_>>(), expected);
        }
        let spanning: Vec<_> = MinimumSpanningTree::new()
            .run_on(&tree)
            .unwrap()
            .edges()
            .iter()
            .map(|edge| (edge.weight2, edge.low, edge.high))
            .collect();
        prop_assert_eq!(spanning, oracle::spanning_tree(&points, 1, 1.0, side));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn journeys((places, radius, side) in journey()) {
        journey_is_exact::<f32>(&places, radius, side)?;
        journey_is_exact::<f64>(&places, radius, side)?;
    }
}
