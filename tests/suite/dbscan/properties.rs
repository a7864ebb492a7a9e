//! Every algorithm, compared with the definition on input from proptest. Half of the sets are on a coarse grid, so
//! that distances equal the radius, points coincide, and border points are near several clusters.

use proptest::collection::vec;
use proptest::prelude::*;
use ropewalk::{Dbscan, Scalar};

use super::oracle::clusters;
use super::{ALGORITHMS, POOLS, difference};
use common::oracle::{Side, neighbors, wrap_point};

#[derive(Debug)]
struct Question<const D: usize> {
    points: Vec<[f64; D]>,
    eps: f64,
    min_samples: usize,
    weights: Option<Vec<f64>>,
    star: bool,
    side: Side,
}

/// A coordinate in general position, or on the grid.
fn coordinate(on_grid: bool) -> BoxedStrategy<f64> {
    if on_grid { (-8i32..24).prop_map(|i| f64::from(i) * 0.25).boxed() } else { (-2.0..6.0).boxed() }
}

fn eps(on_grid: bool) -> BoxedStrategy<f64> {
    if on_grid {
        // Distances on the grid, as rounded square roots.
        (0i32..20).prop_map(|i| f64::from(i).sqrt() * 0.25).boxed()
    } else {
        (0.0..1.5).boxed()
    }
}

fn question<const D: usize>() -> impl Strategy<Value = Question<D>> {
    (any::<bool>(), 0usize..200).prop_flat_map(|(on_grid, n)| {
        let points = vec(vec(coordinate(on_grid), D).prop_map(|x| -> [f64; D] { x.try_into().unwrap() }), n);
        // Multiples of 1/2, so that sums are exact in any order.
        let weights = prop::option::of(vec((0i32..6).prop_map(|i| 0.5 * f64::from(i)), n));
        let min_samples = prop_oneof![8 => 1usize..8, 1 => Just(n.max(1)), 1 => Just(n + 1)];
        let side = prop::option::of(prop_oneof![Just(4.0), Just(4.85), 3.0..20.0]);
        (points, eps(on_grid), min_samples, weights, any::<bool>(), side).prop_map(
            |(points, eps, min_samples, weights, star, side)| Question {
                points,
                eps,
                min_samples,
                weights,
                star,
                side,
            },
        )
    })
}

fn answers_are_right<S: Scalar, const D: usize>(question: &Question<D>) -> Result<(), TestCaseError> {
    let &Question { eps, min_samples, star, side, .. } = question;
    let stored: Vec<[S; D]> = question.points.iter().map(|point| point.map(S::from_f64)).collect();
    let points: Vec<[S; D]> = stored.iter().map(|point| wrap_point(point, side)).collect();
    let expected = clusters(&neighbors(&points, eps, side), min_samples, question.weights.as_deref(), star);

    let mut dbscan = Dbscan::new(eps, min_samples).star(star);
    if let Some(side) = side {
        dbscan = dbscan.periodic(side);
    }
    if let Some(weights) = &question.weights {
        dbscan = dbscan.weights(weights.clone());
    }
    for algorithm in ALGORITHMS {
        for pool in POOLS.iter() {
            let found = pool.install(|| dbscan.clone().algorithm(algorithm).run(&stored)).unwrap();
            prop_assert_eq!(difference(&found, &expected), None, "{:?}", algorithm);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_right_in_f32(question in question::<3>()) {
        answers_are_right::<f32, 3>(&question)?;
    }

    #[test]
    fn answers_are_right_in_f64(question in question::<2>()) {
        answers_are_right::<f64, 2>(&question)?;
    }
}
