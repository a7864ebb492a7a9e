//! Minimum spanning trees on a device, compared with the CPU edge by edge.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::ErrorKind;
use ropewalk::gpu::{self, Coordinate, Device, Points};
use ropewalk::sample::Sample;

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn upload<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>) -> gpu::Bvh<S, D> {
    gpu::Bvh::from_points(&Points::new_periodic(points, side, device()).unwrap()).unwrap()
}

/// Returns both trees, or None if there are fewer points than samples.
fn trees<S: Coordinate, const D: usize>(
    ours: &gpu::Bvh<S, D>,
    theirs: &ropewalk::Bvh<S, D>,
    min_samples: usize,
    alpha: f64,
) -> Option<(gpu::SpanningTree, ropewalk::cluster::SpanningTree)> {
    let ours = gpu::MinimumSpanningTree::new().min_samples(min_samples).alpha(alpha).run_on(ours);
    let theirs = ropewalk::MinimumSpanningTree::new().min_samples(min_samples).alpha(alpha).run_on(theirs);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => Some((ours, theirs)),
        (ours, theirs) => {
            let message = |error: Option<ropewalk::Error>| error.map(|error| error.to_string());
            assert_eq!(message(ours.err()), message(theirs.err()));
            None
        }
    }
}

fn compare_in<S: Coordinate, const D: usize>(name: &str, points: &[[S; D]], samples: &[usize], side: Option<f64>) {
    compare_alphas(name, points, samples, &[1.0], side);
}

fn compare_alphas<S: Coordinate, const D: usize>(
    name: &str,
    points: &[[S; D]],
    samples: &[usize],
    alphas: &[f64],
    side: Option<f64>,
) {
    let ours = upload(points, side);
    let theirs = ropewalk::Bvh::build_periodic(points, side).unwrap();
    for (&min_samples, &alpha) in samples.iter().flat_map(|samples| alphas.iter().map(move |alpha| (samples, alpha))) {
        let Some((tree, expected)) = trees(&ours, &theirs, min_samples, alpha) else { continue };
        let tree = tree.read().unwrap();
        assert_eq!((tree.n_points(), tree.edges().len()), (points.len(), expected.edges().len()), "{name}");
        let pair = tree.edges().iter().zip(expected.edges()).find(|(ours, theirs)| ours != theirs);
        assert_eq!(pair, None, "{name}, {min_samples} samples, alpha {alpha}, {side:?}");
    }
}

/// Tests open space with distances, and a periodic box with mutual reachability. Each other combination would take
/// the software driver seconds to compile.
fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    compare_in(cloud.name, &cloud.points, &[1], None);
    compare_in(cloud.name, &cloud.points, &[5], Some(cloud.side));
}

#[test]
fn clouds_in_f32() {
    clouds::small::<f32, 2>().iter().for_each(compare);
    clouds::small::<f32, 3>().iter().for_each(compare);
    for cloud in clouds::small::<f32, 3>() {
        compare_in(cloud.name, &cloud.points, &[1], Some(cloud.side));
        compare_in(cloud.name, &cloud.points, &[2, 5], None);
    }
    let cloud = clouds::clustered::<f32, 3>();
    compare_in(cloud.name, &cloud.points, &[10, 65, 66], None);
}

#[test]
fn clouds_in_f64() {
    for cloud in clouds::small::<f64, 2>() {
        compare_in(cloud.name, &cloud.points, &[1], Some(cloud.side));
    }
    for cloud in clouds::small::<f64, 3>() {
        compare_in(cloud.name, &cloud.points, &[5], None);
    }
}

/// Core distances that need several searches.
#[test]
#[ignore = "wide"]
fn wide_many_samples() {
    let cloud = clouds::clustered::<f32, 3>();
    compare_in(cloud.name, &cloud.points, &[66, 129, 130, 350], None);
    compare_in(cloud.name, &cloud.points, &[200], Some(cloud.side));
    let mut random = Random::new(4);
    let lattice: Vec<[f64; 2]> = (0..600).map(|_| std::array::from_fn(|_| random.below(12) as f64)).collect();
    compare_in("lattice with copies", &lattice, &[66, 129, 193, 600], None);
}

/// Few different distances, so that many edges have equal weights.
#[test]
fn lattices_and_copies() {
    let mut random = Random::new(3);
    for (n, cells) in [(300, 3), (1500, 12)] {
        let mut point = || std::array::from_fn(|_| random.below(cells) as f32);
        let points: Vec<[f32; 3]> = (0..n).map(|_| point()).collect();
        compare(&Cloud { name: "lattice with copies", points, radii: vec![], side: cells as f64 });
    }
}

const ALPHAS: [f64; 5] = [0.5, 0.7, 1.0, 1.3, 4.0];

#[test]
fn alpha_in_f32() {
    for (i, cloud) in clouds::small::<f32, 3>().iter().enumerate() {
        compare_alphas(cloud.name, &cloud.points, &[1, 5], &[0.7, 1.3, 4.0], [None, Some(cloud.side)][i % 2]);
    }
    let cloud = clouds::clustered::<f32, 3>();
    compare_alphas(cloud.name, &cloud.points, &[10, 65], &[0.5, 1.3], None);
}

#[test]
#[ignore = "wide"]
fn wide_alpha() {
    for cloud in clouds::small::<f32, 3>() {
        compare_alphas(cloud.name, &cloud.points, &[1, 5], &ALPHAS, None);
        compare_alphas(cloud.name, &cloud.points, &[1, 5], &ALPHAS, Some(cloud.side));
    }
    let cloud = clouds::clustered::<f32, 3>();
    compare_alphas(cloud.name, &cloud.points, &[10, 65], &ALPHAS, None);
    for cloud in clouds::small::<f64, 2>() {
        compare_alphas(cloud.name, &cloud.points, &[1], &ALPHAS, Some(cloud.side));
    }
    for cloud in clouds::small::<f64, 3>() {
        compare_alphas(cloud.name, &cloud.points, &[5], &ALPHAS, None);
    }
}

/// Equal distances, groups of coincident points, and distances that differ by their rounding only.
#[test]
fn alpha_of_lattices_and_copies() {
    let mut random = Random::new(5);
    for (n, cells, step) in [(300, 3, 1.0), (1500, 12, 1.0), (1500, 12, 0.1)] {
        let mut point = || std::array::from_fn(|_| random.below(cells) as f64 * step);
        let points: Vec<[f64; 3]> = (0..n).map(|_| point()).collect();
        let side = cells as f64 * step;
        compare_alphas("lattice with copies", &points, &[5], &ALPHAS, None);
        compare_alphas("lattice with copies", &points, &[1, 5], &ALPHAS, Some(side));
    }
}

/// Pairs of points whose weights differ in the last bit, in descending order, and have equal quotients. Edges of equal
/// quotients are in the order of their indices.
#[test]
fn quotients_tie() {
    let alpha = 0.7;
    let points: Vec<[f64; 3]> = (0..100u8)
        .flat_map(|i| {
            let step = (f64::from(100 - i) * 2.0 * f64::EPSILON).sqrt();
            [[4.0 * f64::from(i), 0.0, 0.0], [4.0 * f64::from(i), 2.8 * 0.5f64.sqrt(), step]]
        })
        .collect();
    let ties = |alpha: f64| {
        let tree = ropewalk::MinimumSpanningTree::new().alpha(alpha).run(&points).unwrap();
        tree.edges()[..100].windows(2).filter(|two| two[0].weight2 == two[1].weight2).count()
    };
    assert!(ties(1.0) < 30 && ties(alpha) > 40, "{} {}", ties(1.0), ties(alpha));
    compare_alphas("pairs", &points, &[1], &[1.0, alpha], Some(500.0));
}

/// Pairs of coincident points, whose edge weighs as much as their core distances.
fn pairs() -> Vec<[f64; 3]> {
    let mut random = Random::new(7);
    let mut points: Vec<[f64; 3]> = (0..200).map(|_| std::array::from_fn(|_| random.unit())).collect();
    points.extend_from_within(..);
    points
}

/// Products and quotients that are subnormal, 0 or infinite.
#[test]
fn alpha_beyond_all_distances() {
    let alphas = [1.5e-154, 1e-153, 1e-152, 1e-150, 1e-100, 1e100, 1e150, 1.3e154];
    for scale in [1.0, 1e-5, 1e5] {
        let points: Vec<[f64; 3]> = pairs().iter().map(|point| point.map(|x| x * scale)).collect();
        compare_alphas("pairs", &points, &[1, 5], &alphas, None);
    }
}

/// The tests above detect a device that ignores alpha, multiplies distances by its inverse, or divides core distances.
#[test]
fn alpha_changes_weights() {
    let points = pairs();
    let weights2 = |alpha: f64, min_samples| -> Vec<f64> {
        let options = ropewalk::MinimumSpanningTree::new().min_samples(min_samples).alpha(alpha);
        options.run(&points).unwrap().edges().iter().map(|edge| edge.weight2).collect()
    };
    for alpha in [0.5, 0.7, 1.3, 4.0] {
        let plain = weights2(1.0, 1);
        assert!(weights2(alpha, 1) != plain && weights2(alpha, 5) != weights2(1.0, 5), "{alpha}");
        let divided: Vec<f64> = weights2(1.0, 5).iter().map(|weight2| weight2 / (alpha * alpha)).collect();
        assert!(weights2(alpha, 5) != divided, "{alpha}");
    }
    for alpha in [0.7, 1.3] {
        let by_inverse: Vec<f64> = weights2(1.0, 1).iter().map(|weight2| weight2 * (1.0 / (alpha * alpha))).collect();
        assert!(weights2(alpha, 1) != by_inverse, "{alpha}");
    }
}

/// Fewer points than lists hold, and sizes close to those of leaves and blocks.
#[test]
fn few_points() {
    for n in [0, 1, 2, 3, 5, 7, 8, 32, 33, 256, 257, 1025] {
        let points = Sample::parse(&format!("halos:n={n},seed=5")).unwrap().points().unwrap();
        compare_in(&n.to_string(), &points, if n < 5 { &[1, 2, 3] } else { &[1, 5] }, None);
    }
}

/// A chain: each point except two is nearest to the previous one, so that all components of a round have one root.
#[test]
fn chain() {
    let points: Vec<[f32; 2]> = (0..1000u16).map(|i| [f32::from(i) * (4000.0 - f32::from(i)), 0.0]).rev().collect();
    compare_in("chain", &points, &[1], None);
}

/// Halos with voids between, where the last rounds search far. Twenty runs are equal, whatever the order of threads.
#[test]
fn runs_are_one() {
    let points = Sample::parse("halos:n=20000,seed=3").unwrap().points().unwrap();
    let (ours, theirs) = (upload(&points, None), ropewalk::Bvh::build(&points).unwrap());
    let (tree, expected) = trees(&ours, &theirs, 1, 1.0).unwrap();
    assert!(tree.read().unwrap() == expected);
    let columns = (tree.low().read().unwrap(), tree.high().read().unwrap(), tree.weights2().read().unwrap());
    for (edge, ((low, high), weight2)) in
        expected.edges().iter().zip(columns.0.into_iter().zip(columns.1).zip(columns.2))
    {
        assert_eq!((edge.low, edge.high, edge.weight2), (low, high, weight2));
    }
    let points = &points[..4000];
    let run = |min_samples| {
        let tree = gpu::MinimumSpanningTree::new().min_samples(min_samples).run_on(&upload(points, None)).unwrap();
        tree.read().unwrap()
    };
    let first = [run(1), run(5)];
    for _ in 1..20 {
        assert!([run(1), run(5)] == first);
    }
}

#[test]
fn cuts() {
    let mut lattice = clouds::whole_lattice::<f32, 3>();
    lattice.radii = vec![0.0, 0.99, 1.0, 1.5];
    for cloud in [clouds::two(), clouds::clustered(), clouds::plummer(), lattice] {
        let points = Points::new(&cloud.points, device()).unwrap();
        let ours = gpu::minimum_spanning_tree(&points).unwrap();
        let theirs = ropewalk::minimum_spanning_tree(&cloud.points).unwrap();
        for &length in &cloud.radii {
            assert_eq!(ours.cut(length).unwrap().read().unwrap(), theirs.cut(length).unwrap(), "{}", cloud.name);
        }
        for clusters in [1, 2, cloud.points.len() / 2, cloud.points.len()] {
            let labels = ours.cut_into(clusters).unwrap();
            assert_eq!(labels.read().unwrap(), theirs.cut_into(clusters).unwrap(), "{}", cloud.name);
        }
    }
}

#[test]
fn bad_input() {
    let span = |n: usize, min_samples| {
        let points = Points::new(&vec![[0.5f32, 0.5]; n], device()).unwrap();
        gpu::MinimumSpanningTree::new().min_samples(min_samples).run(&points)
    };
    for (n, min_samples) in [(5, 0), (2, 3), (0, 2), (70, 71)] {
        let error = span(n, min_samples).unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some("min_samples")), "{error}");
    }
    let points = Points::new(&[[0.0f32], [1.0]], device()).unwrap();
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-154, 1e155] {
        let error = gpu::MinimumSpanningTree::new().alpha(alpha).run(&points).unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some("alpha")), "{error}");
        let theirs = ropewalk::MinimumSpanningTree::new().alpha(alpha).run(&[[0.0f32], [1.0]]).unwrap_err();
        assert_eq!(error.to_string(), theirs.to_string());
    }
    let empty = span(0, 1).unwrap();
    assert!(empty.read().unwrap().edges().is_empty() && empty.cut(1.0).unwrap().is_empty());
    let one = span(1, 1).unwrap();
    assert_eq!(one.cut(1.0).unwrap().read().unwrap().as_slice(), [-1]);
    assert_eq!(one.cut_into(1).unwrap().read().unwrap().as_slice(), [0]);
    assert!(
        one.cut(-1.0).is_err() && one.cut(f64::NAN).is_err() && one.cut_into(0).is_err() && one.cut_into(2).is_err()
    );
}
