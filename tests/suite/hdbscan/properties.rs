//! Invariance of clusters: under the order of points, the number of threads, the unit of length, and the way of
//! calling.

use std::collections::HashMap;

use common::random::Random;
use ropewalk::cluster::{HdbscanClusters, Ties};
use ropewalk::{Bvh, Hdbscan, MinimumSpanningTree};
use ropewalk_table::{Points, Table};

use super::definition::{draw, tied};

/// Maps labels of reordered rows back to the original order, and renumbers them by their smallest member.
fn mapped_back(labels: &[i32], order: &[usize]) -> Vec<i32> {
    let mut back = vec![-1; labels.len()];
    order.iter().zip(labels).for_each(|(&row, &label)| back[row] = label);
    let mut numbers = HashMap::from([(-1, -1)]);
    let mut number = |label: &i32| {
        let next = numbers.len() as i32 - 1;
        *numbers.entry(*label).or_insert(next)
    };
    back.iter().map(&mut number).collect()
}

fn shuffled(random: &mut Random, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).for_each(|at| order.swap(at, random.below(at + 1)));
    order
}

/// Returns a few thousand points in steps of 1/16: clusters, noise, and thousands of ties.
fn coarse(n: usize) -> Vec<[f32; 2]> {
    let mut random = Random::new(7);
    let mut point = |i: usize| {
        let center = i % 9;
        let (width, at) =
            if i.is_multiple_of(5) { (0.0, [0, 0]) } else { (0.2 + 0.1 * center as f64, [center % 3, center / 3]) };
        at.map(|k| {
            let x = if width == 0.0 { 30.0 * random.unit() } else { 10.0 * k as f64 + 5.0 + width * random.normal() };
            ((16.0 * x).round() / 16.0) as f32
        })
    };
    (0..n).map(&mut point).collect()
}

/// Includes lattices, where nearly all weights are tied.
#[test]
fn the_order_of_points_does_not_matter() {
    for case in 0..300 {
        let mut random = Random::new(5000 + case);
        let n = 2 + random.below(80);
        let points: Vec<[f64; 2]> = tied(&mut random, case as usize, n);
        let options = draw(&mut random, n).options();
        let clusters = options.run(&points).unwrap();
        for _ in 0..3 {
            let order = shuffled(&mut random, n);
            let rows: Vec<_> = order.iter().map(|&row| points[row]).collect();
            let found = options.run(&rows).unwrap();
            let labels = mapped_back(found.labels().as_slice(), &order);
            assert_eq!(labels, clusters.labels().as_slice(), "case {case}, {options:?}");
            for (at, &row) in order.iter().enumerate() {
                assert_eq!(found.probabilities()[at], clusters.probabilities()[row]);
                assert_eq!(found.outlier_scores()[at], clusters.outlier_scores()[row]);
            }
            let mut stabilities = [&clusters, &found].map(|found| {
                found.condensed_tree().clusters().iter().map(|cluster| cluster.stability).collect::<Vec<_>>()
            });
            stabilities.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
            assert_eq!(stabilities[0], stabilities[1], "to the last bit");
        }
    }
}

#[test]
fn thousands_in_any_order() {
    let points = coarse(6000);
    let mut random = Random::new(11);
    for samples in [1, 5] {
        let options = Hdbscan::new(20).min_samples(samples);
        let clusters = options.run(&points).unwrap();
        assert!(clusters.labels().n_clusters() >= 5, "{}", clusters.labels().n_clusters());
        let order = shuffled(&mut random, points.len());
        let rows: Vec<_> = order.iter().map(|&row| points[row]).collect();
        let found = options.run(&rows).unwrap();
        assert_eq!(mapped_back(found.labels().as_slice(), &order), clusters.labels().as_slice());
    }
}

#[test]
fn threads() {
    let points = coarse(6000);
    for ties in [Ties::Together, Ties::Sequential] {
        let options = Hdbscan::new(10).min_samples(4).ties(ties);
        let expected = options.run(&points).unwrap();
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| options.run(&points).unwrap()) == expected, "{threads} threads");
        }
    }
}

/// Scaling by powers of two is exact.
#[test]
fn the_unit_does_not_matter() {
    let points = coarse(3000);
    for ties in [Ties::Together, Ties::Sequential] {
        let options = Hdbscan::new(10).ties(ties);
        let expected = options.run(&points).unwrap();
        for factor in [0.25f32, 1024.0] {
            let scaled: Vec<_> = points.iter().map(|point| point.map(|x| factor * x)).collect();
            let found = options.run(&scaled).unwrap();
            assert_eq!(found.labels(), expected.labels());
            assert_eq!(found.probabilities(), expected.probabilities());
        }
    }
}

#[test]
fn every_way_to_ask() {
    let points = coarse(2000);
    let options = Hdbscan::new(10).min_samples(3);
    let expected = options.run(&points).unwrap();
    assert!(options.run_on(&Bvh::build(&points).unwrap()).unwrap() == expected);
    let tree = MinimumSpanningTree::new().min_samples(3).run(&points).unwrap();
    assert!(options.run_on_spanning_tree(&tree).unwrap() == expected);
    let rows = Points::F32(Table::new(2, points.concat()).unwrap());
    assert!(ropewalk_table::hdbscan(&rows, &options).unwrap() == expected);
    // By default, the number of samples is the minimum size of a cluster.
    assert!(Hdbscan::new(10).run(&points).unwrap() == Hdbscan::new(10).min_samples(10).run(&points).unwrap());
}

/// The invariants of a condensed tree with thousands of clusters.
#[test]
fn the_condensed_tree_is_whole() {
    let points = coarse(4000);
    for ties in [Ties::Together, Ties::Sequential] {
        let clusters = Hdbscan::new(2).min_samples(1).ties(ties).run(&points).unwrap();
        check_tree(&clusters, points.len());
    }
}

fn check_tree(found: &HdbscanClusters, n: usize) {
    let tree = found.condensed_tree();
    let clusters = tree.clusters();
    assert!(clusters.len() > 300 && tree.n_points() == n);
    let mut sizes = vec![0; clusters.len()];
    let mut largest = vec![0.0f64; clusters.len()];
    let mut children = vec![];
    for row in tree.rows() {
        let parent = row.parent as usize - n;
        sizes[parent] += row.size;
        largest[parent] = largest[parent].max(row.lambda);
        assert!(row.lambda >= clusters[parent].birth);
        children.push(row.child);
    }
    children.sort_unstable();
    assert!(children.iter().copied().eq((0..(n + clusters.len()) as u64).filter(|&child| child != n as u64)));
    for (at, cluster) in clusters.iter().enumerate() {
        assert_eq!((sizes[at], largest[at]), (cluster.size, cluster.death));
        assert!(cluster.children.len() != 1 && (cluster.parent.is_none() == (at == 0)));
        assert!(
            cluster
                .children
                .clone()
                .all(|child| child > at as u32 && clusters[child as usize].parent == Some(at as u32))
        );
    }
    for (label, &share) in found.persistence().iter().enumerate() {
        assert!((0.0..=1.0).contains(&share));
        assert_eq!(clusters.iter().filter(|cluster| cluster.label == Some(label as u32)).count(), 1);
    }
}
