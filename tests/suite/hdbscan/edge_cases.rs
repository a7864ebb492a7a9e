//! Edge cases of the definition, one by one.

use common::random::Random;
use ropewalk::cluster::{ClusterSelection, Ties};
use ropewalk::{Hdbscan, MinimumSpanningTree};

use super::Choice;
use super::definition::expected;

const TIES: [Ties; 2] = [Ties::Together, Ties::Sequential];

fn labels<const D: usize>(options: &Hdbscan, points: &[[f64; D]]) -> Vec<i32> {
    let clusters = options.run(points).unwrap();
    let parts = [clusters.probabilities(), &clusters.outlier_scores()].concat();
    assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)), "{parts:?}");
    assert!(clusters.persistence().iter().all(|share| (0.0..f64::INFINITY).contains(share)));
    assert!(clusters.condensed_tree().clusters().iter().all(|cluster| cluster.stability >= 0.0));
    assert_eq!(clusters.persistence().len(), clusters.labels().n_clusters());
    clusters.labels().as_slice().to_vec()
}

#[test]
fn no_points_and_one() {
    for ties in TIES {
        for options in [Hdbscan::new(5), Hdbscan::new(2).min_samples(1), Hdbscan::new(3).allow_single_cluster(true)] {
            for options in [options.clone(), options.cluster_selection(ClusterSelection::Leaf)] {
                assert!(labels::<2>(&options.clone().ties(ties).min_samples(1), &[]).is_empty());
                assert_eq!(labels(&options.ties(ties), &[[0.5, 0.5]]), [-1]);
            }
        }
    }
    let clusters = Hdbscan::new(2).run::<[f32; 3], f32, 3>(&[]).unwrap();
    assert_eq!((clusters.condensed_tree().clusters().len(), clusters.condensed_tree().rows().count()), (0, 0));
    assert!(clusters.dbscan_labels(1.0).unwrap().as_slice().is_empty());
    let clusters = Hdbscan::new(2).run(&[[1.0f32]]).unwrap();
    let rows: Vec<_> = clusters.condensed_tree().rows().map(|row| (row.parent, row.child, row.lambda)).collect();
    assert_eq!(rows, [(1, 0, 0.0)]);
    assert_eq!(clusters.dbscan_labels(f64::INFINITY).unwrap().as_slice(), [-1]);
}

#[test]
fn two_points() {
    for ties in TIES {
        let options = Hdbscan::new(2).ties(ties);
        assert_eq!(labels(&options, &[[0.0], [1.0]]), [-1, -1]);
        assert_eq!(labels(&options.allow_single_cluster(true), &[[0.0], [1.0]]), [0, 0]);
    }
}

#[test]
fn fewer_points_than_a_cluster_has() {
    for ties in TIES {
        for single in [false, true] {
            let options = Hdbscan::new(5).ties(ties).allow_single_cluster(single);
            assert_eq!(labels(&options, &[[0.0], [1.0], [2.0], [4.0]]), [-1; 4]);
            // The tree still contains all points.
            let clusters = options.run(&[[0.0], [1.0], [2.0], [4.0]]).unwrap();
            assert_eq!(clusters.condensed_tree().clusters()[0].size, 4);
            assert!(clusters.condensed_tree().rows().all(|row| row.lambda > 0.0));
        }
    }
}

#[test]
fn equal_points() {
    for ties in TIES {
        let options = Hdbscan::new(5).ties(ties);
        assert_eq!(labels(&options, &[[0.25, 0.5]; 20]), [-1; 20]);
        assert_eq!(labels(&options.clone().allow_single_cluster(true), &[[0.25, 0.5]; 20]), [0; 20]);
        assert_eq!(labels(&options.cluster_selection(ClusterSelection::Leaf), &[[0.25, 0.5]; 20]), [-1; 20]);
    }
}

/// Two positions with copies: two clusters of infinite stability, which no parent cluster exceeds.
#[test]
fn two_groups_of_copies() {
    let points: Vec<[f64; 2]> = (0..24).map(|i| [f64::from(i % 2), 3.0]).chain([[0.0, 90.0], [0.5, 2.0]]).collect();
    let expected: Vec<i32> = (0..24).map(|i| i % 2).collect();
    for ties in TIES {
        for samples in [1, 5] {
            let options = Hdbscan::new(5).min_samples(samples).ties(ties);
            let found = labels(&options, &points);
            assert_eq!(found[..24], expected);
            let clusters = options.run(&points).unwrap();
            assert!(clusters.probabilities()[..24].iter().all(|&p| p == 1.0));
            assert_eq!(clusters.condensed_tree().clusters()[1].stability, f64::INFINITY);
        }
    }
}

/// Distances so small that their squares are 0, although points differ. The halves of a chain meet at an infinite
/// lambda. If its edges are removed one by one, they create clusters born at infinity.
#[test]
fn clusters_born_at_infinity() {
    let step = 1.5e-162;
    let chain = |from: f64| [0.0, 3.0, 2.0, 1.0].map(|at| [step * at, from]);
    let points = [chain(0.0), chain(1.0), chain(5.0)].concat();
    let tree = MinimumSpanningTree::new().run(&points).unwrap();
    assert!(tree.edges()[..9].iter().all(|edge| edge.weight2 == 0.0));
    for ties in TIES {
        let options = Hdbscan::new(2).min_samples(1).ties(ties);
        let found = labels(&options, &points);
        assert!(found.chunks(4).all(|chain| chain == [chain[0]; 4]), "{found:?}");
        assert!(found[0] != found[4] && found[4] != found[8] && found.iter().max() == Some(&2), "{found:?}");
        let clusters = options.run(&points).unwrap();
        let births = clusters.condensed_tree().clusters().iter().map(|cluster| cluster.birth);
        let at_infinity = births.filter(|birth| birth.is_infinite()).count();
        assert_eq!(at_infinity, if ties == Ties::Sequential { 6 } else { 0 });
        // Leaf selection and limits also use the sums.
        let found = labels(&options.clone().cluster_selection(ClusterSelection::Leaf), &points);
        assert_eq!(found.iter().max(), Some(if ties == Ties::Sequential { &5 } else { &2 }));
        labels(&options.clone().max_cluster_size(3), &points);
        labels(&options.cluster_selection_epsilon(2.0).allow_single_cluster(true), &points);
    }
}

/// Growing steps: points leave one by one, and no cluster ever splits.
#[test]
fn a_tree_that_never_splits() {
    let points: Vec<[f64; 1]> = (0..30).map(|i| [f64::from(i * i)]).collect();
    for ties in TIES {
        let options = Hdbscan::new(4).min_samples(1).ties(ties);
        assert_eq!(labels(&options, &points), [-1; 30]);
        // As a single cluster it contains the points that stay to its end: the last four, at most 9 apart, which
        // leave when the step of 5 is removed.
        let single = options.clone().allow_single_cluster(true);
        assert_eq!(labels(&single, &points), [vec![0; 4], vec![-1; 26]].concat());
        // With an epsilon, it contains the points within epsilon; 11 is the step from 25 to 36.
        let within = single.clone().cluster_selection_epsilon(11.0);
        assert_eq!(labels(&within, &points), [vec![0; 7], vec![-1; 23]].concat());
        assert_eq!(labels(&single.clone().cluster_selection_epsilon(0.5), &points), [-1; 30]);
        for options in [options, single] {
            assert_eq!(labels(&options.cluster_selection(ClusterSelection::Leaf), &points), [-1; 30]);
        }
    }
}

/// The points 0 and 0.5 split off at exactly epsilon, and the clusters beside them at less. So these are replaced by a
/// cluster that contains 0 and 0.5, which stay a cluster. The labels are those of scikit-learn 1.9.
#[test]
fn a_chosen_cluster_in_another() {
    let points = [0.0, 0.5, 2.5, 2.625, 3.625, 3.875, 100.0, 100.75].map(|x| [x]);
    for selection in [ClusterSelection::ExcessOfMass, ClusterSelection::Leaf] {
        for single in [false, true] {
            let options = Hdbscan::new(2).min_samples(1).cluster_selection(selection).allow_single_cluster(single);
            let options = options.cluster_selection_epsilon(2.0);
            assert_eq!(labels(&options, &points), [0, 0, 1, 1, 1, 1, 2, 2], "{selection:?}, {single}");
            let sequential = labels(&options.clone().ties(Ties::Sequential), &points);
            assert_eq!(sequential, [2, 2, 0, 0, 0, 0, 1, 1], "{selection:?}, {single}");
            // A cluster that splits off at less than epsilon is replaced, too.
            let found = labels(&options.cluster_selection_epsilon(2.0f64.next_up()), &points);
            assert_eq!(found, [0, 0, 0, 0, 0, 0, 1, 1], "{selection:?}, {single}");
        }
    }
}

/// Two blobs of 50 points: leaf selection and size limits leave many of them as noise.
#[test]
fn two_blobs() {
    let mut random = Random::new(4);
    let points: Vec<[f64; 2]> =
        (0..100).map(|i| [f64::from(i / 50) * 10.0 + random.normal(), random.normal()]).collect();
    let plain = Choice::new(5, 5);
    let limited = Choice { max_cluster_size: Some(20), ..plain };
    let leaf = Choice { leaf: true, ..plain };
    let noise = [plain, limited, leaf].map(|choice| {
        let clusters = choice.options().run(&points).unwrap();
        assert_eq!(clusters.labels().as_slice(), expected(&points, None, &choice).labels, "{choice:?}");
        (clusters.labels().n_noise(), clusters.labels().sizes().into_iter().max())
    });
    assert_eq!(Hdbscan::new(5).run(&points).unwrap().labels().n_clusters(), 2);
    assert!(noise[0].0 < 10 && noise[1].0 > 20 && noise[1].1 <= Some(20) && noise[2].0 > 20, "{noise:?}");
}
