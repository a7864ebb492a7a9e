//! DBSCAN on a device with weights, and predictions for new points.

use common::clouds::{Cloud, small, snapshot};
use common::random::Random;
use ropewalk::Sphere;
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::geometry::Space;
use ropewalk::gpu::{self, Bvh, Coordinate, Device, Points};
use ropewalk::reference::BruteForce;
use ropewalk::sample::Sample;

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Returns weights that are integers, multiples of 1/2, multiples of 1/10 (with rounded sums), and of all magnitudes.
fn weights(n: usize, kind: usize) -> Vec<f64> {
    let mut random = Random::new(kind as u64);
    let mut weight = || match kind {
        0 => random.below(4) as f64,
        1 => 0.5 * random.below(6) as f64,
        2 => 0.1 * (1 + random.below(3)) as f64,
        _ => 10f64.powi(random.below(40) as i32 - 20) * random.unit(),
    };
    (0..n).map(|_| weight()).collect()
}

fn compare_weights<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    let Ok(open) = ropewalk::Bvh::build(&cloud.points) else { return };
    let periodic = ropewalk::Bvh::build_periodic(&cloud.points, cloud.side).unwrap();
    for theirs in [open, periodic] {
        let ours = Bvh::upload(&theirs, device()).unwrap();
        for &eps in &cloud.radii[..cloud.radii.len().min(2)] {
            for (kind, min_samples) in [(0, 5), (1, 1), (2, 1), (2, 2), (3, 4)] {
                let weights = weights(theirs.len(), kind);
                for algorithm in [DbscanAlgorithm::DenseBox, DbscanAlgorithm::Fdbscan] {
                    let name = format!("{}, {:?}, eps {eps}, {kind}, {algorithm:?}", cloud.name, theirs.space());
                    let dbscan = ropewalk::Dbscan::new(eps, min_samples).weights(weights.clone()).algorithm(algorithm);
                    let on_device = gpu::Dbscan::new(eps, min_samples).weights(weights.clone()).algorithm(algorithm);
                    match (on_device.run_on(&ours), dbscan.run_on(&theirs)) {
                        (Ok(ours), Ok(theirs)) => assert!(ours.read().unwrap() == theirs, "{name}"),
                        (ours, theirs) => {
                            let message = |error: Option<ropewalk::Error>| error.map(|error| error.to_string());
                            assert_eq!(message(ours.err()), message(theirs.err()), "{name}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn weights_in_f32() {
    small::<f32, 2>().iter().for_each(compare_weights);
    snapshot::<f32, 3>().iter().for_each(compare_weights);
}

#[test]
#[ignore = "wide"]
fn wide_weights_in_f64() {
    small::<f64, 3>().iter().for_each(compare_weights);
}

/// Sums of tenths that reach the threshold in one order of addition and miss it in another. On a lattice, many sums
/// are so close to `min_samples` that only the order decides. Copies of a point wait for the first of them.
#[test]
fn weights_that_only_their_order_decides() {
    let lattice = Sample::parse("lattice:n=12^3,box=12").unwrap().points().unwrap();
    let mut points = lattice.clone();
    points.extend(std::iter::repeat_n(lattice[100], 70));
    let theirs = ropewalk::Bvh::build(&points).unwrap();
    let ours = Bvh::upload(&theirs, device()).unwrap();
    let brute_force = BruteForce::build(&points).unwrap();
    let tenths_near = |weights: &[f64], i: usize| -> i64 {
        let near = brute_force.query(Sphere::new(points[i], 1.0));
        near.map(|other| (10.0 * weights[other as usize]).round() as i64).sum()
    };
    // The numbers of points whose exact sum is `min_samples`, that are not core and that are core; then the same for
    // copies.
    let (mut undecided, mut copies) = ([0; 2], [0; 2]);
    for (tenths, min_samples) in [([1, 2], 1), ([7, 1], 3), ([3, 3], 2), ([1, 6], 8), ([3, 7], 5)] {
        let mut weights: Vec<f64> = (0..points.len()).map(|i| 0.1 * f64::from(tenths[i % 7 % 2])).collect();
        // The exact sum around the copies is an integer, too.
        let of_copies = (tenths_near(&weights, 100) + 9) / 10 * 10;
        weights[100] = 0.1 * (of_copies - tenths_near(&weights, 100) + (10.0 * weights[100]).round() as i64) as f64;
        for min_samples in [min_samples, of_copies / 10] {
            let dbscan = ropewalk::Dbscan::new(1.0, min_samples as usize).weights(weights.clone());
            let on_device = gpu::Dbscan::new(1.0, min_samples as usize).weights(weights.clone());
            let labels = on_device.run_on(&ours).unwrap().read().unwrap();
            assert!(labels == dbscan.run_on(&theirs).unwrap(), "{tenths:?}, {min_samples}");
            // Compares with exact sums in integer tenths.
            for i in 0..points.len() {
                let (sum, enough) = (tenths_near(&weights, i), 10 * min_samples);
                if sum == enough {
                    undecided[usize::from(labels.is_core(i))] += 1;
                    copies[usize::from(labels.is_core(i))] += usize::from(i >= lattice.len());
                } else {
                    assert_eq!(labels.is_core(i), sum > enough, "{tenths:?}, point {i}: {sum} tenths");
                }
            }
        }
    }
    assert!(undecided.iter().all(|&count| count > 50), "{undecided:?}");
    assert!(copies.iter().sum::<usize>() >= 70, "{copies:?}");
}

#[test]
fn weights_that_are_refused() {
    let points = Points::new(&[[0.0f32; 3]; 3], device()).unwrap();
    for weights in [vec![], vec![1.0; 2], vec![1.0, f64::NAN, 1.0], vec![1.0, 1.0, -1.0], vec![f64::INFINITY; 3]] {
        let ours = gpu::Dbscan::new(1.0, 3).weights(weights.clone()).run(&points).unwrap_err();
        let theirs = ropewalk::Dbscan::new(1.0, 3).weights(weights).run(&[[0.0f32; 3]; 3]).unwrap_err();
        assert_eq!((ours.to_string(), ours.kind()), (theirs.to_string(), theirs.kind()));
    }
    let none = Points::<f32, 3>::new(&[], device()).unwrap();
    assert!(gpu::Dbscan::new(1.0, 1).weights([]).run(&none).unwrap().read().unwrap().as_slice().is_empty());
}

const SIDE: f64 = 8.0;

fn compare_predictions<S: Coordinate, const D: usize>(seed: u64) {
    let mut random = Random::new(seed);
    // On a grid, so that distances to core points tie.
    let mut cloud = |n: usize| -> Vec<[S; D]> {
        (0..n).map(|_| std::array::from_fn(|_| S::from_f64(0.5 * random.below(17) as f64))).collect()
    };
    let (points, new) = (cloud(150), cloud(300));
    let mut seen = [false; 2];
    for (eps, min_samples) in [(0.5, 3), (1.0, 5), (0.0, 2)] {
        for side in [None, Some(SIDE)] {
            let upload = |points: &[[S; D]]| match side {
                Some(side) => Points::new_periodic(points, side, device()).unwrap(),
                None => Points::new(points, device()).unwrap(),
            };
            let on_device = gpu::Dbscan::new(eps, min_samples);
            let (our_points, our_new) = (upload(&points), upload(&new));
            let our_labels = on_device.run(&our_points).unwrap();
            let found = on_device.predict(&our_points, &our_labels, &our_new).unwrap().read().unwrap();
            let dbscan = ropewalk::Dbscan::new(eps, min_samples).periodic(side);
            let labels = dbscan.run(&points).unwrap();
            assert_eq!(found, dbscan.predict(&points, &labels, &new).unwrap(), "eps {eps}, {side:?}");
            // The label of the nearest core point, by brute force.
            let space = Space::<D>::periodic(side).unwrap();
            for (at, &label) in new.iter().zip(&found) {
                let core = (0..points.len()).filter(|&i| labels.is_core(i));
                let within = core.map(|i| (space.distance2(at, &points[i]), i)).filter(|near| near.0 <= eps * eps);
                let nearest = within.min_by(|a, b| a.partial_cmp(b).unwrap());
                assert_eq!(label, nearest.map_or(-1, |(_, i)| labels.as_slice()[i]), "{at:?}");
            }
            seen[0] |= found.contains(&-1);
            seen[1] |= found.iter().any(|&label| label > 0);
        }
    }
    assert_eq!(seen, [true; 2], "nothing was to be told apart");
}

#[test]
fn predictions() {
    compare_predictions::<f32, 2>(2);
    compare_predictions::<f64, 3>(4);
}

#[test]
fn predictions_of_nothing() {
    let upload = |points: &[[f32; 3]]| Points::new(points, device()).unwrap();
    let (none, some) = (upload(&[]), upload(&[[0.0; 3], [5.0; 3]]));
    let dbscan = gpu::Dbscan::new(1.0, 3);
    for (points, new, expected) in [(&none, &some, vec![-1; 2]), (&some, &none, vec![]), (&some, &some, vec![-1; 2])] {
        let labels = dbscan.run(points).unwrap();
        assert_eq!(dbscan.predict(points, &labels, new).unwrap().read().unwrap(), expected);
    }
    let labels = dbscan.run(&some).unwrap();
    let boxed = Points::new_periodic(&[[0.0f32; 3]], 9.0, device()).unwrap();
    let message =
        |points: &Points<f32, 3>, new: &Points<f32, 3>| dbscan.predict(points, &labels, new).unwrap_err().to_string();
    assert!(message(&some, &boxed).contains("the new points are in"), "{}", message(&some, &boxed));
    assert!(message(&none, &some).contains("2 labels"), "{}", message(&none, &some));
}
