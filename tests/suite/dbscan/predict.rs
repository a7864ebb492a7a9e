//! Labels of new points from existing clusters.

use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::geometry::Space;
use ropewalk::{Dbscan, Result, Scalar, Sphere};

use common::random::Random;

const SIDE: f64 = 8.0;

/// Returns the label of the core point nearest to each new point, by brute force.
fn expected<S: Scalar, const D: usize>(
    space: &Space<D>,
    points: &[[S; D]],
    labels: &ropewalk::Labels,
    eps: f64,
    new: &[[S; D]],
) -> Vec<i32> {
    let nearest = |at: &[S; D]| {
        let core = (0..points.len()).filter(|&i| labels.is_core(i)).map(|i| (space.distance2(at, &points[i]), i));
        let within = core.filter(|&(distance2, _)| distance2 <= eps * eps);
        within.min_by(|a, b| a.partial_cmp(b).unwrap()).map_or(-1, |(_, i)| labels.as_slice()[i])
    };
    new.iter().map(nearest).collect()
}

fn check<S: Scalar, const D: usize>(seed: u64) {
    let mut random = Random::new(seed);
    // On a grid, so that distances to core points tie.
    let mut cloud = |n: usize| -> Vec<[S; D]> {
        (0..n).map(|_| std::array::from_fn(|_| S::from_f64(0.5 * random.below(17) as f64))).collect()
    };
    let (points, new) = (cloud(150), cloud(300));
    let mut seen = [false; 2];
    for (eps, min_samples) in [(0.5, 3), (1.0, 5), (0.0, 2)] {
        for periodic in [false, true] {
            let (mut dbscan, mut space) = (Dbscan::new(eps, min_samples), Space::OPEN);
            if periodic {
                (dbscan, space) = (dbscan.periodic(SIDE), Space::periodic(SIDE).unwrap());
            }
            let labels = dbscan.run(&points).unwrap();
            let found = dbscan.predict(&points, &labels, &new).unwrap();
            assert_eq!(found, expected(&space, &points, &labels, eps, &new), "eps {eps}, periodic {periodic}");
            seen[0] |= found.contains(&-1);
            seen[1] |= found.iter().any(|&label| label > 0);
            // The core point nearest to a core point is itself or a copy.
            let own = dbscan.predict(&points, &labels, &points).unwrap();
            assert!((0..points.len()).all(|i| !labels.is_core(i) || own[i] == labels.as_slice()[i]));
        }
    }
    assert_eq!(seen, [true; 2], "nothing was to be told apart");
}

#[test]
fn the_nearest_core_point_decides() {
    check::<f32, 2>(2);
    check::<f64, 2>(3);
    check::<f64, 3>(4);
}

#[test]
fn nothing_to_join() -> Result<()> {
    let dbscan = Dbscan::new(1.0, 2).algorithm(DbscanAlgorithm::DenseBox);
    let none: [[f32; 2]; 0] = [];
    let labels = dbscan.run(&none)?;
    assert_eq!(dbscan.predict(&none, &labels, &[[0.0f32, 0.0]])?, [-1]);
    assert_eq!(dbscan.predict(&none, &labels, &none)?, [0; 0]);
    // Spheres have extents: the nearest sphere is that with the nearest box.
    let balls = [Sphere::new([0.0f32, 0.0], 3.0), Sphere::new([3.5, 0.0], 0.5), Sphere::new([9.0, 0.0], 0.5)];
    let labels = dbscan.run(&balls)?;
    assert_eq!(labels.as_slice(), [0, 0, -1]);
    assert_eq!(dbscan.predict(&balls, &labels, &[[3.75f32, 0.0], [5.5, 0.0]])?, [0, -1]);
    Ok(())
}

#[test]
fn refusals() {
    let refused = |result: Result<Vec<i32>>, words: &[&str]| {
        let message = result.expect_err("an error").to_string();
        assert!(words.iter().all(|word| message.contains(word)), "'{message}' does not say {words:?}");
    };
    let points = [[0.0f64], [1.0]];
    let dbscan = Dbscan::new(1.0, 1);
    let labels = dbscan.run(&points).unwrap();
    refused(dbscan.predict(&points[..1], &labels, &points), &["2 labels", "1 "]);
    refused(dbscan.predict(&points, &labels, &[[1.0], [f64::NAN]]), &["point 1", "NaN"]);
    refused(Dbscan::new(-1.0, 1).predict(&points, &labels, &points), &["eps", "-1"]);
    refused(Dbscan::new(1.0, 0).predict(&points, &labels, &points), &["min_samples", "0"]);
    refused(dbscan.clone().periodic(1.5).predict(&points, &labels, &points), &["1.5", "eps"]);
}
