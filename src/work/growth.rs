//! Growth of work with the number of points, on scale-free point sets.

use super::distances;
use super::sets::{copies, exponential, outlier, progression, uniform};
use crate::interpolate::MovingLeastSquares;
use crate::{Bvh, Dbscan, Fof, Hdbscan, MinimumSpanningTree, Nearest, Sphere, ValueBvh, minimum_spanning_tree};

/// The numbers of points for which work is compared.
const SIZES: [usize; 2] = [1 << 10, 1 << 13];

/// The maximum exponent of the growth of work with n.
const EXPONENT: f64 = 1.2;

/// The work of operations: a name, and the number of distances computed.
type Work = Vec<(&'static str, u64)>;

/// Runs all searches. Their radii are below the extents of the larger parts of a scale-free set.
fn searches<const D: usize>(points: &[[f64; D]]) -> Work {
    searches_within(points, [1e-40, 1e-30, 1e-20])
}

fn searches_within<const D: usize>(points: &[[f64; D]], [pairs, linking, eps]: [f64; 3]) -> Work {
    let tree = Bvh::build(points).unwrap();
    let some: Vec<[f64; D]> = points.iter().step_by(8).copied().collect();
    vec![
        ("nearest of all", distances(|| tree.nearest_neighbors(Nearest::new(8).excluding_self()))),
        ("nearest of some", distances(|| tree.nearest_all(&some, 8))),
        ("pairs", distances(|| tree.count_pairs(pairs))),
        ("FOF", distances(|| Fof::new(linking).run_on(&tree).unwrap())),
        ("DBSCAN", distances(|| Dbscan::new(eps, 5).run_on(&tree).unwrap())),
        ("EMST", distances(|| minimum_spanning_tree(points).unwrap())),
        ("HDBSCAN", distances(|| Hdbscan::new(5).run(points).unwrap())),
        ("MLS", distances(|| MovingLeastSquares::new(1).prepare(points, &some).unwrap())),
    ]
}

fn densities(points: &[[f64; 3]]) -> Work {
    let tree = Bvh::build(points).unwrap();
    let density = crate::cluster::KernelDensity::new().volume(1.0);
    let hop = crate::Hop::new(1.0).volume(1.0);
    let finder = crate::AdaptaHop::new().density(density.clone());
    vec![
        ("densities", distances(|| density.run_on(&tree).unwrap())),
        ("HOP", distances(|| hop.run_on(&tree).unwrap())),
        ("AdaptaHOP", distances(|| finder.run_on(&tree).unwrap())),
    ]
}

/// Asserts that the work of no operation grows faster than n^[`EXPONENT`].
fn assert_growth<P>(name: &str, operations: impl Fn(&[P]) -> Work, of: impl Fn(usize) -> Vec<P>) {
    let [few, many] = SIZES.map(|n| operations(&of(n)));
    let by = (SIZES[1] as f64 / SIZES[0] as f64).ln();
    for ((what, few), (_, many)) in few.iter().zip(&many) {
        let exponent = (*many as f64 / *few as f64).ln() / by;
        assert!(exponent <= EXPONENT, "{name}, {what}: {few} and {many} distances, n^{exponent:.2}");
    }
}

#[test]
fn radii_of_all_sizes() {
    assert_growth("exponential radii", searches, |n| exponential::<3>(n, 300.0));
}

/// Tens of points per octave of radius: leaves enclose everything nearer to the middle.
#[test]
#[ignore = "wide"]
fn wide_leaves_around_the_middle() {
    let work = [1 << 12, 1 << 15].map(|n| {
        let points = exponential::<3>(n, 300.0);
        let tree = Bvh::build(&points).unwrap();
        [
            ("nearest of all", distances(|| tree.nearest_neighbors(Nearest::new(8).excluding_self()))),
            ("EMST", distances(|| minimum_spanning_tree(&points).unwrap())),
        ]
    });
    for ((what, few), (_, many)) in work[0].iter().zip(&work[1]) {
        let exponent = (*many as f64 / *few as f64).ln() / 8f64.ln();
        assert!(exponent <= EXPONENT, "{what}: {few} and {many} distances, n^{exponent:.2}");
    }
}

/// Starts at 2^13 points; with fewer, most kernels enclose the middle.
#[test]
#[ignore = "wide"]
fn wide_densities_without_a_scale() {
    let [few, many] = [1 << 13, 1 << 15].map(|n| {
        let tree = Bvh::build(&exponential::<3>(n, 300.0)).unwrap();
        distances(|| crate::cluster::KernelDensity::new().volume(1.0).run_on(&tree).unwrap())
    });
    let exponent = (many as f64 / few as f64).ln() / 4f64.ln();
    assert!(exponent <= EXPONENT, "{few} and {many} distances, n^{exponent:.2}");
}

#[test]
fn copies_of_a_point() {
    assert_growth("copies", searches, copies);
    assert_growth("copies", densities, copies);
}

#[test]
fn an_outlier() {
    // About four neighbours per point.
    let searches = |points: &[[f64; 3]]| searches_within(points, [(points.len() as f64).cbrt().recip(); 3]);
    assert_growth("outlier", searches, outlier);
    assert_growth("outlier", densities, outlier);
}

#[test]
fn a_progression() {
    assert_growth("progression", searches, progression);
}

/// In `f32`, with a coordinate of 1e30 such as a missing-value marker: squares of most distances underflow beside
/// that of the outlier.
#[test]
fn an_outlier_in_single_precision() {
    let of = |n: usize| -> Vec<[f32; 3]> {
        outlier(n).into_iter().map(|point| point.map(|x| if x > 2.0 { 1e30 } else { x as f32 })).collect()
    };
    let work = SIZES.map(|n| {
        let points = of(n);
        let tree = Bvh::build(&points).unwrap();
        let boxes = Bvh::build(&points.iter().map(|&point| crate::Aabb::point(point)).collect::<Vec<_>>()).unwrap();
        let shapes = ValueBvh::build(points.iter().map(|&point| (Sphere::new(point, 0.0), ())).collect()).unwrap();
        let some: Vec<[f32; 3]> = points.iter().step_by(8).map(|point| point.map(|x| x + 1e-3)).collect();
        let one_by_one =
            |tree: &Bvh<f32, 3>| distances(|| some.iter().for_each(|&point| drop(tree.nearest(point, 40))));
        [
            ("one", distances(|| tree.nearest_all(&some, 1))),
            ("eight", distances(|| tree.nearest_all(&some, 8))),
            ("forty", one_by_one(&tree)),
            ("of all", distances(|| tree.nearest_neighbors(8))),
            ("boxes", one_by_one(&boxes)),
            ("shapes", distances(|| some.iter().for_each(|&point| drop(shapes.nearest(point, 8))))),
            ("EMST", distances(|| minimum_spanning_tree(&points).unwrap())),
            ("HDBSCAN", distances(|| Hdbscan::new(5).run(&points).unwrap())),
        ]
    });
    for ((what, few), (_, many)) in work[0].iter().zip(&work[1]) {
        let exponent = (*many as f64 / *few as f64).ln() / (SIZES[1] as f64 / SIZES[0] as f64).ln();
        assert!(exponent <= EXPONENT, "{what}: {few} and {many} distances, n^{exponent:.2}");
    }
}

/// Searches in a periodic box of side 1, in which rounding hides the distances between close points.
fn searches_in_a_box(points: &[[f32; 3]]) -> Work {
    let tree = Bvh::build_periodic(points, 1.0).unwrap();
    let some: Vec<[f32; 3]> = points.iter().step_by(8).copied().collect();
    vec![
        ("nearest of all", distances(|| tree.nearest_neighbors(8))),
        ("17 of all", distances(|| tree.nearest_neighbors(17))),
        ("nearest of some", distances(|| tree.nearest_all(&some, 8))),
        ("pairs", distances(|| tree.count_pairs(1e-40))),
        ("DBSCAN", distances(|| Dbscan::new(1e-40, 1).run_on(&tree).unwrap())),
        ("EMST", distances(|| MinimumSpanningTree::new().periodic(1.0).run(points).unwrap())),
        ("HDBSCAN", distances(|| Hdbscan::new(5).periodic(1.0).run(points).unwrap())),
    ]
}

#[test]
fn copies_and_groups_in_a_periodic_box() {
    for apart in [0.0, 1e-37] {
        let of = |n: usize| groups(n, apart).map(narrow).collect::<Vec<_>>();
        assert_growth(&format!("{apart} apart in a box"), searches_in_a_box, of);
    }
    let of = |n: usize| uniform(n).into_iter().map(narrow).collect::<Vec<_>>();
    assert_growth("uniform in a box", searches_in_a_box, of);
}

/// Searches in `f32`, in which squares of small distances underflow beside those of large ones.
fn neighbors_in_single_precision(points: &[[f32; 3]]) -> Work {
    let tree = Bvh::build(points).unwrap();
    let some: Vec<[f32; 3]> = points.iter().step_by(8).copied().collect();
    vec![
        ("of all", distances(|| tree.nearest_neighbors(8))),
        ("17 of all", distances(|| tree.nearest_neighbors(17))),
        ("of some", distances(|| tree.nearest_all(&some, 8))),
        ("within 0", distances(|| tree.nearest_all(&some, Nearest::new(40).within(0.0)))),
        ("HOP", distances(|| crate::Hop::new(1.0).n_density(32).volume(1.0).run_on(&tree).unwrap())),
    ]
}

fn clusters_in_single_precision(points: &[[f32; 3]]) -> Work {
    vec![
        ("EMST", distances(|| minimum_spanning_tree(points).unwrap())),
        ("HDBSCAN", distances(|| Hdbscan::new(5).run(points).unwrap())),
    ]
}

/// Twenty points at each of n/20 sites: copies if `apart` is 0, otherwise `apart` from each other along the last
/// axis.
fn groups(n: usize, apart: f64) -> impl Iterator<Item = [f64; 3]> {
    let sites = uniform(n / 20);
    (0..n).map(move |i| {
        let [x, y, z] = sites[i % sites.len()];
        [x, y, if apart > 0.0 { (i / sites.len()) as f64 * apart } else { z }]
    })
}

fn narrow(point: [f64; 3]) -> [f32; 3] {
    point.map(|x| x as f32)
}

#[test]
fn copies_and_an_outlier() {
    let of = |n: usize| groups(n - 1, 0.0).chain([[1e30; 3]]).map(narrow).collect::<Vec<_>>();
    assert_growth("copies and 1e30", neighbors_in_single_precision, of);
    assert_growth("copies and 1e30", clusters_in_single_precision, of);
}

#[test]
fn points_much_nearer_than_their_groups() {
    let of = |n: usize| groups(n, 1e-37).map(narrow).collect::<Vec<_>>();
    assert_growth("groups", neighbors_in_single_precision, of);
    assert_growth("groups", clusters_in_single_precision, of);
    let of_all = |points: &[[f64; 3]]| {
        let tree = Bvh::build(points).unwrap();
        vec![("17 of all", distances(|| tree.nearest_neighbors(17)))]
    };
    assert_growth("groups in f64", of_all, |n| groups(n, 1e-60).collect());
}

/// Four clouds of sizes from 1e30 down to 1e-30, and copies of one point; each has a fifth of the points.
#[test]
fn clouds_of_all_sizes() {
    let of = |n: usize| -> Vec<[f32; 3]> {
        let points = uniform(n);
        let sizes = [1e30, 1.0, 1e-10, 1e-30, 0.0];
        points.iter().enumerate().map(|(i, point)| narrow(point.map(|x| x * sizes[i % 5]))).collect()
    };
    assert_growth("clouds", neighbors_in_single_precision, of);
    assert_growth("clouds", clusters_in_single_precision, of);
}

/// Twenty copies of each point, in units in which squares of distances underflow or overflow in `f32`.
#[test]
#[ignore = "wide"]
fn wide_copies_in_small_and_large_units() {
    for unit in [1e-24, 1e24] {
        let of = |n: usize| groups(n, 0.0).map(|point| narrow(point.map(|x| x * unit))).collect::<Vec<_>>();
        assert_growth(&format!("copies in units of {unit}"), neighbors_in_single_precision, of);
        assert_growth(&format!("copies in units of {unit}"), clusters_in_single_precision, of);
    }
}
