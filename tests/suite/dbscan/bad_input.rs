//! Invalid input is an error that names the value and the index, for every algorithm.

use ropewalk::geometry::BoxSize;
use ropewalk::{Bvh, Dbscan, Result, dbscan};

use super::ALGORITHMS;

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

/// Asserts an error whose message contains all of the words.
#[track_caller]
fn refused<T>(result: Result<T>, words: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for word in words {
        assert!(message.contains(word), "'{message}' does not say '{word}'");
    }
}

/// Asserts the error for every algorithm, with and without border points.
#[track_caller]
fn all_refuse<const D: usize>(options: &Dbscan, points: &[[f64; D]], words: &[&str]) {
    for algorithm in ALGORITHMS {
        for star in [false, true] {
            refused(options.clone().algorithm(algorithm).star(star).run(points), words);
        }
    }
}

/// Asserts the error also for runs on an existing tree.
#[track_caller]
fn options_refused(options: &Dbscan, words: &[&str]) {
    let points = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    all_refuse(options, &points, words);
    for tree in [Bvh::build(&points), Bvh::build_periodic(&points, 10.0)] {
        let tree = tree.unwrap();
        for algorithm in ALGORITHMS {
            refused(options.clone().algorithm(algorithm).run_on(&tree), words);
        }
    }
}

#[test]
fn coordinates_must_be_finite() {
    for (value, word) in [(NAN, "NaN"), (INFINITY, "inf"), (-INFINITY, "-inf")] {
        for index in [0, 7, 2999] {
            let mut points = vec![[1.0, 2.0, 3.0]; 3000];
            points[index][1] = value;
            let index = format!("point {index}:");
            let words = [&index, "coordinate 1", word, "finite"];
            // With and without the phase that counts neighbours.
            for min_samples in [1, 2, 5] {
                all_refuse(&Dbscan::new(0.5, min_samples), &points, &words);
                all_refuse(&Dbscan::new(0.5, min_samples).periodic(10.0), &points, &words);
                refused(dbscan(&points, 0.5, min_samples), &words);
            }
            all_refuse(&Dbscan::new(0.5, 5).weights(vec![1.0; 3000]), &points, &words);
            let points: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
            refused(dbscan(&points, 0.5, 5), &words);
        }
    }
}

#[test]
fn radii() {
    for (value, word) in [(NAN, "NaN"), (-0.5, "-0.5"), (-1e-300, "-"), (INFINITY, "inf"), (-INFINITY, "-inf")] {
        for min_samples in [1, 2, 5] {
            options_refused(&Dbscan::new(value, min_samples), &["eps", word]);
            options_refused(&Dbscan::new(value, min_samples).periodic(10.0), &["eps", word]);
            refused(dbscan(&[[0.0f32]], value, min_samples), &["eps", word]);
        }
    }
    refused(dbscan(&[[0.0f64]], f32::NAN, 2), &["eps", "NaN"]);
    // The value is checked even without points.
    refused(dbscan::<[f32; 3], _, _>(&[], NAN, 2), &["eps", "NaN"]);
    for value in [0.0, -0.0, 5e-324, f64::MAX] {
        for algorithm in ALGORITHMS {
            let labels = Dbscan::new(value, 1).algorithm(algorithm).run(&[[3.0f64]]).unwrap();
            assert_eq!(labels.as_slice(), [0], "eps {value}, {algorithm:?}");
        }
    }
}

#[test]
fn min_samples_of_zero() {
    options_refused(&Dbscan::new(0.5, 0), &["min_samples", "0", "at least 1"]);
    options_refused(&Dbscan::new(0.5, 0).weights([1.0; 3]), &["min_samples", "0", "at least 1"]);
    refused(dbscan::<[f32; 3], _, _>(&[], 0.5, 0), &["min_samples"]);
    // Large values are valid: all points are noise.
    assert_eq!(dbscan(&[[0.0f32]; 5], 0.5, usize::MAX).unwrap().n_noise(), 5);
}

#[test]
fn periodic_boxes() {
    let points = [[1.0, 2.0], [3.0, 4.0]];
    for (value, word) in [(0.0, " 0;"), (-3.0, " -3;"), (NAN, "NaN"), (INFINITY, "inf")] {
        for (size, axis) in [(BoxSize::from(value), "axis 0"), (BoxSize::from([9.0, value]), "axis 1")] {
            all_refuse(&Dbscan::new(0.1, 3).periodic(size), &points, &[word, axis, "positive and at most 1e150"]);
        }
    }
    all_refuse(&Dbscan::new(0.1, 3).periodic([5.0; 3]), &points, &["3 sides", "2 dimensions"]);
    // A side of exactly two radii is valid.
    for min_samples in [1, 2, 5] {
        let options = Dbscan::new(2.5, min_samples);
        all_refuse(&options.clone().periodic([9.0, 4.9]), &points, &["4.9", "axis 1", "eps = 2.5"]);
        for algorithm in ALGORITHMS {
            let tree = Bvh::build_periodic(&points, 4.9).unwrap();
            refused(options.clone().algorithm(algorithm).run_on(&tree), &["4.9", "axis 0", "eps = 2.5"]);
            assert!(options.clone().algorithm(algorithm).periodic(5.0).run(&points).is_ok());
        }
    }
}

#[test]
fn weights() {
    for (weights, count) in [(vec![], "0 weights"), (vec![1.0; 2], "2 weights"), (vec![1.0; 4], "4 weights")] {
        options_refused(&Dbscan::new(0.5, 3).weights(weights), &[count, "3 points"]);
    }
    for (value, word) in [(NAN, "NaN"), (-1.5, "-1.5"), (INFINITY, "inf"), (-INFINITY, "-inf")] {
        for index in 0..3 {
            let mut weights = vec![1.0; 3];
            weights[index] = value;
            let index = format!("point {index} ");
            // Including values of `min_samples` that need no counting.
            for min_samples in [1, 2, 5] {
                options_refused(&Dbscan::new(0.5, min_samples).weights(weights.clone()), &[&index, word, "weight"]);
            }
        }
    }
}
