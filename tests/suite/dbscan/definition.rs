//! The definition, for cases that scikit-learn does not cover: DBSCAN*, periodic boxes, a radius of 0, other
//! dimensions, and sets large enough for several threads to interact.

use ropewalk::{Dbscan, Scalar};

use super::assert_clusters;
use super::oracle::{Clusters, clusters};
use common::clouds::{self, Cloud};
use common::oracle::{neighbors, wrap_point};
use common::random::Random;

/// Checks a cloud at each of its radii, open and periodic, with and without border points and weights.
fn assert_cloud<S: Scalar, const D: usize>(cloud: &Cloud<S, D>) {
    let n = cloud.points.len();
    let mut random = Random::new(n as u64);
    // Multiples of 1/2, so that sums are exact; some are 0.
    let weights: Vec<f64> = (0..n).map(|_| 0.5 * random.below(6) as f64).collect();
    for side in [None, Some(cloud.side)] {
        let points: Vec<[S; D]> = cloud.points.iter().map(|point| wrap_point(point, side)).collect();
        for &eps in cloud.radii.iter().filter(|&&eps| side.is_none_or(|side| side >= 2.0 * eps)) {
            let lists = neighbors(&points, eps, side);
            for (min_samples, star, weighted) in [
                (1, true, false),
                (2, false, false),
                (2, true, true),
                (3, false, false),
                (4, false, true),
                (5, true, false),
                (8, false, false),
                (n.max(1), false, false),
                (n + 1, false, false),
            ] {
                let mut dbscan = Dbscan::new(eps, min_samples).star(star);
                if let Some(side) = side {
                    dbscan = dbscan.periodic(side);
                }
                if weighted {
                    dbscan = dbscan.weights(weights.clone());
                }
                let expected = clusters(&lists, min_samples, weighted.then_some(&weights), star);
                let what = || format!("{}, {n} points of {} {D}", cloud.name, std::any::type_name::<S>());
                assert_clusters(&dbscan, &cloud.points, &expected, &what);
            }
        }
    }
}

#[test]
fn clouds_in_f32() {
    clouds::all::<f32, 2>().iter().for_each(assert_cloud);
    clouds::small::<f32, 3>().iter().for_each(assert_cloud);
}

#[test]
fn clouds_in_f64() {
    clouds::all::<f64, 3>().iter().for_each(assert_cloud);
    clouds::small::<f64, 2>().iter().for_each(assert_cloud);
}

#[test]
fn one_dimension() {
    clouds::all::<f32, 1>().iter().for_each(assert_cloud);
    clouds::small::<f64, 1>().iter().for_each(assert_cloud);
}

#[test]
fn seven_dimensions() {
    clouds::small::<f32, 7>().iter().for_each(assert_cloud);
}

#[test]
fn ten_dimensions() {
    clouds::small::<f64, 10>().iter().for_each(assert_cloud);
}

/// Returns clumps, strings between them and a background, in random order, with hundreds of core points, contested
/// border points and noise points.
fn web(n: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut random = Random::new(seed);
    let mut place = || -> [f64; 3] { std::array::from_fn(|_| random.unit()) };
    let knots: Vec<[f64; 3]> = (0..12).map(|_| place()).collect();
    let mut random = Random::new(seed + 1);
    let point = |i: usize| -> [f32; 3] {
        let (a, b) = (knots[random.below(12)], knots[random.below(12)]);
        let along = random.unit();
        std::array::from_fn(|k| match i % 4 {
            0 | 1 => a[k] + 0.02 * random.normal(),
            2 => a[k] + along * (b[k] - a[k]) + 0.004 * random.normal(),
            _ => random.unit(),
        } as f32)
    };
    (0..n).map(point).collect()
}

#[test]
fn thousands_of_points() {
    let points = web(6000, 3);
    for side in [None, Some(1.0)] {
        let wrapped: Vec<[f32; 3]> = points.iter().map(|point| wrap_point(point, side)).collect();
        let lists = neighbors(&wrapped, 0.02, side);
        for (min_samples, star) in [(2, false), (4, false), (4, true), (15, false), (60, false)] {
            let dbscan = Dbscan::new(0.02, min_samples).star(star);
            let dbscan = if let Some(side) = side { dbscan.periodic(side) } else { dbscan };
            let expected = clusters(&lists, min_samples, None, star);
            if min_samples == 4 {
                let borders = expected.labels.iter().zip(&expected.core).filter(|&(&label, &core)| label >= 0 && !core);
                assert!(star || borders.count() > 100, "too easy");
                assert!(expected.labels.contains(&5) && expected.labels.contains(&-1), "too easy");
            }
            assert_clusters(&dbscan, &points, &expected, &|| "web".into());
        }
    }
}

/// A box with different sides, which the shared reference does not support. Some points are outside of the box.
#[test]
fn boxes_that_are_no_cubes() {
    let sides = [4.0, 1.0, 2.0];
    let mut random = Random::new(17);
    let points: Vec<[f64; 3]> =
        (0..500).map(|_| std::array::from_fn(|k| sides[k] * (3.0 * random.unit() - 1.0))).collect();
    let inside: Vec<[f64; 3]> =
        points.iter().map(|point| std::array::from_fn(|k| wrap_point(&[point[k]], Some(sides[k]))[0])).collect();
    let near = |a: &[f64; 3], b: &[f64; 3]| {
        let axis = |k: usize| (a[k] - b[k]).abs().min(sides[k] - (a[k] - b[k]).abs());
        axis(0).powi(2) + axis(1).powi(2) + axis(2).powi(2) <= 0.25 * 0.25
    };
    let others = |a| (0..500).filter(|&j| near(a, &inside[j as usize])).collect();
    let lists: Vec<Vec<u32>> = inside.iter().map(others).collect();
    for (min_samples, star) in [(3, false), (5, false), (5, true)] {
        let expected = clusters(&lists, min_samples, None, star);
        let dbscan = Dbscan::new(0.25, min_samples).star(star).periodic(sides);
        assert_clusters(&dbscan, &points, &expected, &|| "sides 4, 1, 2".into());
    }
}

/// At a radius of 0, only copies are neighbours. Expected results by hand.
#[test]
fn a_radius_of_zero() {
    let next = 1.0f32.next_up();
    let points =
        [[1.0f32, 2.0], [next, 2.0], [1.0, 2.0], [5.0, 5.0], [next, 2.0], [1.0, 2.0], [-0.0, 0.0], [0.0, -0.0]];
    for (min_samples, labels) in [
        (1, [0, 1, 0, 2, 1, 0, 3, 3]),
        (2, [0, 1, 0, -1, 1, 0, 2, 2]),
        (3, [0, -1, 0, -1, -1, 0, -1, -1]),
        (4, [-1; 8]),
    ] {
        // Copies are either all core or all noise, so there are no border points.
        let expected = Clusters { labels: labels.to_vec(), core: labels.map(|label| label >= 0).to_vec() };
        for star in [false, true] {
            assert_clusters(&Dbscan::new(0.0, min_samples).star(star), &points, &expected, &|| "radius 0".into());
            assert_clusters(&Dbscan::new(0.0, min_samples).periodic(8.0), &points, &expected, &|| "radius 0".into());
        }
    }
}

/// Weights, with expected results by hand. Points 0 to 4 are in a row with distance 1; point 5 is distant.
#[test]
fn weights_by_hand() {
    let points = [[0.0f64], [1.0], [2.0], [3.0], [4.0], [9.0]];
    for (min_samples, weights, labels, core) in [
        // One heavy point is a cluster. A point of weight 0 may be core because of its neighbour.
        (3, [0.0, 0.0, 0.0, 0.0, 0.0, 3.0], [-1, -1, -1, -1, -1, 0], &[5][..]),
        (3, [3.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0, 0, 0, -1, -1, -1], &[0, 1]),
        // Sums that equal the minimum, or are just below.
        (2, [0.5, 0.5, 1.0, 0.5, 0.0, 1.5], [0, 0, 0, 0, -1, -1], &[1, 2]),
        // A total weight of 0 is below any min_samples.
        (1, [0.0; 6], [-1; 6], &[]),
    ] {
        let flags = (0..6).map(|i| core.contains(&i)).collect();
        let expected = Clusters { labels: labels.to_vec(), core: flags };
        assert_clusters(&Dbscan::new(1.0, min_samples).weights(weights), &points, &expected, &|| "weights".into());
    }
}
