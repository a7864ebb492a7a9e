//! Cases in which other implementations are wrong or slow. `src/work.rs` counts the distances computed for such
//! clouds.

use ropewalk::{Dbscan, Scalar};

use super::assert_clusters;
use super::oracle::{Clusters, clusters};
use common::oracle::neighbors;
use common::random::Random;

/// Compares every algorithm and number of threads with the definition, for several `min_samples`.
fn assert_definition<S: Scalar, const D: usize>(points: &[[S; D]], eps: f64, what: &str) {
    let lists = neighbors(points, eps, None);
    for min_samples in [1, 2, 3, 5, points.len(), points.len() + 1] {
        let expected = clusters(&lists, min_samples, None, false);
        assert_clusters(&Dbscan::new(eps, min_samples), points, &expected, &|| what.into());
    }
}

/// A grid of cells of side eps / sqrt(D) whose extent is an exact multiple of the side. A point on the upper face
/// falls into a cell beyond the last one. If cells are numbered row by row, this is the first cell of the next row,
/// at the other end of the domain. ArborX's DenseBox joins the two.
fn upper_faces<S: Scalar, const D: usize>(cell: f64, per_side: usize) {
    let mut random = Random::new(D as u64);
    // The two corners determine the extent.
    let mut points = vec![[S::from_f64(0.0); D], [S::from_f64(per_side as f64 * cell); D]];
    for place in 0..40 {
        // A corner of a cell on an upper or lower face of the domain, with enough copies for a dense cell, or one
        // fewer.
        let mut at: [usize; D] = std::array::from_fn(|_| random.below(per_side + 1));
        at[random.below(D)] = if place % 2 == 0 { per_side } else { 0 };
        points.extend(vec![at.map(|x| S::from_f64(x as f64 * cell)); 1 + random.below(6)]);
    }
    assert_definition(&points, cell * (D as f64).sqrt(), "upper faces");
}

#[test]
fn an_extent_of_whole_cells() {
    for (cell, per_side) in [(1.0, 8), (0.25, 12), (1.0, 31)] {
        upper_faces::<f32, 1>(cell, per_side);
        upper_faces::<f64, 2>(cell, per_side);
        upper_faces::<f32, 2>(cell, per_side);
        upper_faces::<f64, 3>(cell, per_side);
        upper_faces::<f32, 3>(cell, per_side);
        // The root is an integer, so there is no rounding between eps and the cell.
        upper_faces::<f64, 4>(cell, per_side);
    }
}

/// The same case by hand: five points at the end of the first row, and five at the start of the second, seven units
/// apart.
#[test]
fn the_end_of_a_row_is_far_from_the_start_of_the_next() {
    let mut points = vec![[0.0f32, 0.0, 0.0, 9.0]];
    points.extend([[8.0, 0.0, 0.0, 0.0]; 5]);
    points.extend([[0.0, 1.0, 0.0, 0.0]; 5]);
    let labels = [&[-1][..], &[0; 5], &[1; 5]].concat();
    let core = labels.iter().map(|&label| label >= 0).collect();
    assert_clusters(&Dbscan::new(2.0, 5), &points, &Clusters { labels, core }, &|| "ends of rows".into());
}

/// Cells of side eps / sqrt(D) that are too many for integers, or smaller than the spacing of coordinates.
#[test]
fn tiny_radii_and_far_origins() {
    fn knots<S: Scalar, const D: usize>(origin: f64, step: f64) -> Vec<[S; D]> {
        let mut random = Random::new(41);
        let mut points = vec![[S::from_f64(-1.0); D], [S::from_f64(1.0); D]];
        points.extend((0..300).map(|_| std::array::from_fn(|_| S::from_f64(origin + step * random.below(6) as f64))));
        points
    }
    for eps in [1e-30, 1.5e-30, 3e-30] {
        assert_definition(&knots::<f32, 2>(0.0, 1e-30), eps, "steps of 1e-30");
        assert_definition(&knots::<f32, 3>(0.0, 1e-30), eps, "steps of 1e-30");
        assert_definition(&knots::<f64, 3>(0.0, 1e-30), eps, "steps of 1e-30");
        // Only copies are within eps.
        assert_definition(&knots::<f32, 2>(1e6, 1.0), eps, "copies at 1e6");
        assert_definition(&knots::<f64, 3>(1e6, 1.0), eps, "copies at 1e6");
    }
    // There the spacing of f32 is 1/16, and that of f64 1e-10. The last radii are just below and above a tie.
    for steps in [1.0, 1.5, 2.0f64.sqrt(), 1.0f64.next_down(), 1.0f64.next_up()] {
        assert_definition(&knots::<f32, 2>(1e6, 0.0625), 0.0625 * steps, "the smallest steps at 1e6");
        assert_definition(&knots::<f32, 3>(1e6, 0.0625), 0.0625 * steps, "the smallest steps at 1e6");
        assert_definition(&knots::<f64, 3>(1e6, 2f64.powi(-33)), 2f64.powi(-33) * steps, "the smallest steps at 1e6");
    }
}

/// All points are neighbours of each other: one cluster if there are at least `min_samples` points, else noise.
fn one_cluster_or_none<S: Scalar, const D: usize>(points: &[[S; D]], eps: f64) {
    let n = points.len();
    for (min_samples, is_cluster) in [(1, true), (2, true), (5, true), (n, true), (n + 1, false)] {
        let expected = Clusters { labels: vec![if is_cluster { 0 } else { -1 }; n], core: vec![is_cluster; n] };
        assert_clusters(&Dbscan::new(eps, min_samples), points, &expected, &|| format!("{n} points, eps {eps}"));
    }
}

#[test]
fn a_radius_larger_than_the_domain() {
    let mut random = Random::new(42);
    let points: Vec<[f32; 3]> = (0..100_000).map(|_| std::array::from_fn(|_| random.unit() as f32)).collect();
    // The square of the last one is infinite.
    for eps in [2.0, 1e20, 1e300] {
        one_cluster_or_none(&points[..if eps == 2.0 { 100_000 } else { 1000 }], eps);
    }
    let points: Vec<[f64; 2]> = points[..1000].iter().map(|point| [f64::from(point[0]), f64::from(point[1])]).collect();
    one_cluster_or_none(&points, 1e200);
}

#[test]
fn a_hundred_thousand_copies() {
    one_cluster_or_none(&vec![[0.1f32, 0.2, 0.3]; 100_000], 0.0);
    one_cluster_or_none(&vec![[0.1f64, 1e6]; 100_000], 1e-30);
    one_cluster_or_none(&vec![[-7.5f32, 0.0]; 100_000], 0.5);
}

/// Copies at two neighbouring positions. With weights, only some of them are heavy enough. The cost is still one step
/// per position.
#[test]
fn copies_with_weights() {
    let n = 100_000;
    let points: Vec<[f32; 2]> = (0..n).map(|i| [if i % 2 == 0 { 0.0 } else { 10.0 }, 0.0]).collect();
    let weights: Vec<f64> = (0..n).map(|i| if i == 77_777 { 9.0 } else { 0.0 }).collect();
    let labels = (0..n).map(|i| if i % 2 == 0 { -1 } else { 0 }).collect();
    let core = (0..n).map(|i| i % 2 == 1).collect();
    let expected = Clusters { labels, core };
    assert_clusters(&Dbscan::new(0.5, 9).weights(weights), &points, &expected, &|| "heavy copy".into());
}

/// Three heaps of copies among single points: core, border and noise depending on distant neighbours, not on their
/// own number.
#[test]
fn heaps_of_copies() {
    let heap = |x: f64, n: usize| vec![[x, 0.0]; n];
    // Within a radius of 1 there are 60000, 60001, 50001, 30001 and 50000 points.
    let heaps = [heap(0.0, 40_000), heap(1.0, 20_000), heap(1.8, 1), heap(2.5, 30_000), heap(50.0, 50_000)];
    let mut random = Random::new(43);
    let mut order: Vec<usize> = heaps.iter().enumerate().flat_map(|(heap, copies)| vec![heap; copies.len()]).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let points: Vec<[f64; 2]> = order.iter().map(|&heap| heaps[heap][0]).collect();
    let labels: Vec<i32> = order.iter().map(|&heap| if heap == 4 { -1 } else { 0 }).collect();
    let expected = |is_core: [bool; 5]| Clusters {
        labels: labels.clone(),
        core: order.iter().map(|&heap| is_core[heap]).collect(),
    };
    let core = expected([true, true, true, false, false]);
    assert_clusters(&Dbscan::new(1.0, 50_001), &points, &core, &|| "heaps".into());
    // The first heap consists of border points if its weight is halved.
    let weights: Vec<f64> = order.iter().map(|&heap| if heap == 0 || heap == 4 { 0.5 } else { 1.0 }).collect();
    let core = expected([false, true, true, false, false]);
    assert_clusters(&Dbscan::new(1.0, 40_001).weights(weights), &points, &core, &|| "weighted heaps".into());
}

/// A million copies of one point, as a cluster and as noise.
#[test]
fn a_million_copies() {
    let n = 1_000_000;
    let points = vec![[0.1f32, 0.2, 0.3]; n];
    for algorithm in super::ALGORITHMS {
        for (min_samples, label) in [(2, 0), (10, 0), (n, 0), (n + 1, -1)] {
            let labels = Dbscan::new(0.1, min_samples).algorithm(algorithm).run(&points).unwrap();
            assert!(labels.as_slice().iter().all(|&own| own == label), "{algorithm:?}, min_samples {min_samples}");
        }
    }
}

/// No points and one point, which need no tree.
#[test]
fn empty_and_single() {
    let none = Clusters { labels: vec![], core: vec![] };
    assert_clusters(&Dbscan::new(1.0, 1), &[[0.0f32; 3]; 0], &none, &|| "empty".into());
    assert_clusters(&Dbscan::new(1.0, 3).weights([]), &[[0.0f64; 2]; 0], &none, &|| "empty".into());
    for (min_samples, label) in [(1, 0), (2, -1)] {
        let one = Clusters { labels: vec![label], core: vec![label == 0] };
        assert_clusters(&Dbscan::new(0.0, min_samples), &[[1e6f32, -3.0]], &one, &|| "one".into());
        assert_clusters(&Dbscan::new(1.0, min_samples).periodic(2.0), &[[5.0f64]], &one, &|| "one".into());
    }
}
