//! The clusters of DBSCAN* at any distance, compared with loops over all pairs and with `Dbscan`.

use common::oracle::{core_distances2, distance2};
use common::random::Random;
use ropewalk::cluster::Ties;
use ropewalk::{Dbscan, Labels};

use super::definition::{draw, tied};

/// Returns the expected labels: core points within eps of each other share a cluster of at least `least` points.
fn expected<const D: usize>(points: &[[f64; D]], samples: usize, eps: f64, least: usize) -> Vec<i32> {
    let n = points.len();
    let core2 = core_distances2(points, samples, None);
    let linked = |a: usize, b: usize| distance2(&points[a], &points[b], None).max(core2[a]).max(core2[b]) <= eps * eps;
    let (mut labels, mut done, mut next) = (vec![-1; n], vec![false; n], 0);
    for first in 0..n {
        let (mut cluster, mut at) = (vec![first], 0);
        while !done[first] && at < cluster.len() {
            cluster.extend((0..n).filter(|&p| !cluster.contains(&p) && linked(cluster[at], p)).collect::<Vec<_>>());
            at += 1;
        }
        if cluster.len() >= least && !done[first] {
            cluster.iter().for_each(|&p| labels[p] = next);
            next += 1;
        }
        cluster.iter().for_each(|&p| done[p] = true);
    }
    labels
}

#[test]
fn any_distance() {
    for case in 0..300 {
        let mut random = Random::new(1000 + case);
        let n = 1 + random.below(50);
        let points: Vec<[f64; 2]> = tied(&mut random, case as usize, n);
        let choice = draw(&mut random, n);
        let core2 = core_distances2(&points, choice.min_samples, None);
        let tie = core2[random.below(n)].sqrt();
        for eps in [0.0, tie, tie.next_down().max(0.0), 1.0, 2.0 * random.unit(), 7.0, 100.0] {
            let expected = expected(&points, choice.min_samples, eps, choice.min_cluster_size);
            for ties in [Ties::Together, Ties::Sequential] {
                let clusters = choice.options().ties(ties).run(&points).unwrap();
                let found = clusters.dbscan_labels(eps).unwrap();
                assert_eq!(found, Labels::from_slice(&expected).unwrap(), "case {case}, eps {eps}, {choice:?}");
            }
        }
    }
}

/// Comparison with the library's own DBSCAN* without a minimum size.
#[test]
fn equal_to_dbscan() {
    let points = common::clouds::clustered::<f32, 3>().points;
    let clusters = ropewalk::Hdbscan::new(2).min_samples(4).run(&points).unwrap();
    for eps in [0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 1.0] {
        let star = Dbscan::new(eps, 4).star(true).run(&points).unwrap();
        let sizes = star.sizes();
        // In DBSCAN*, a core point without core neighbours is a cluster.
        let mut kept = 0;
        let numbers: Vec<i32> = sizes
            .iter()
            .map(|&size| {
                kept += i32::from(size > 1);
                if size > 1 { kept - 1 } else { -1 }
            })
            .collect();
        let renumbered = star.as_slice().iter().map(|&label| if label < 0 { -1 } else { numbers[label as usize] });
        assert!(clusters.dbscan_labels(eps).unwrap().as_slice().iter().copied().eq(renumbered), "eps {eps}");
    }
}
