//! Structures equal those of the definition for any number of threads and any order of points.

use std::ops::Range;

use common::random::Random;
use rayon::ThreadPoolBuilder;
use ropewalk::AdaptaHop;
use ropewalk::halo::{AdaptaHopAlgorithm, SubhaloSelection, Subhalos};

use super::definition::{Row, Rules, structures};

/// Returns clumps within clumps, and uniform points, of various masses.
fn clumps(n: usize, seed: u64) -> (Vec<[f64; 3]>, Vec<f64>) {
    let mut random = Random::new(seed);
    let mut centers: Vec<[f64; 3]> = (0..3).map(|_| std::array::from_fn(|_| random.unit())).collect();
    for i in 0..9 {
        centers.push(std::array::from_fn(|k| centers[i % 3][k] + 0.06 * random.normal()));
    }
    let point = |i: usize| -> [f64; 3] {
        let (which, width) = (i % 12, if i % 12 < 3 { 0.05 } else { 0.008 });
        std::array::from_fn(|k| {
            let x = if i.is_multiple_of(7) { random.unit() } else { centers[which][k] + width * random.normal() };
            x.rem_euclid(1.0)
        })
    };
    let points = (0..n).map(point).collect();
    let masses = (0..n).map(|_| 0.5 + random.unit()).collect();
    (points, masses)
}

/// Returns structures in the order of their peaks.
fn by_peak(found: &Subhalos) -> Vec<Row> {
    let row = |at: usize| {
        let row = found.rows()[at];
        let parent = row.parent.map(|parent| found.rows()[parent as usize].peak as usize);
        Row {
            parent,
            level: row.level,
            peak: row.peak,
            saddle: row.saddle,
            mass: row.mass,
            own: found.structures().members(at).to_vec(),
        }
    };
    let mut rows: Vec<Row> = (0..found.len()).map(row).collect();
    rows.sort_by_key(|row| row.peak);
    rows
}

#[test]
fn structures_are_those_of_the_definition() {
    compare_clumps(0..3, 12);
}

#[test]
#[ignore = "wide"]
fn wide_structures_are_those_of_the_definition() {
    compare_clumps(3..6, 10);
}

/// Compares with the definition. Some cloud must have at least `many` structures, and three levels.
fn compare_clumps(seeds: Range<u64>, many: usize) {
    let (mut deepest, mut most) = (0, 0);
    for seed in seeds {
        let (points, masses) = clumps(700, seed);
        let side = [None, Some(1.0)][seed as usize % 2];
        for algorithm in [AdaptaHopAlgorithm::Exact, AdaptaHopAlgorithm::Stepped] {
            for (i, (fudge, alpha, epsilon, least)) in
                [(4.0, 1.0, 0.05, 20), (0.5, 0.0, 0.0, 3), (0.0, 1.5, 0.05, 5), (0.2, 1.0, 0.08, 1)]
                    .into_iter()
                    .enumerate()
            {
                let fudge = if algorithm == AdaptaHopAlgorithm::Stepped { f64::max(fudge, 0.1) } else { fudge };
                let selection = [SubhaloSelection::Mass, SubhaloSelection::Density][i % 2];
                let (threshold, n_hop) = ([1.0, 5.0, 0.0001][seed as usize % 3], [8, 20][seed as usize / 2 % 2]);
                let finder =
                    AdaptaHop::new().n_density(12).n_hop(n_hop).density_threshold(threshold).fudge(fudge).alpha(alpha);
                let finder = finder.fudge_epsilon(epsilon).min_members(least).algorithm(algorithm).selection(selection);
                let found = finder.masses(masses.as_slice()).volume(1.0).periodic(side).run(&points).unwrap();
                let rules = Rules {
                    n_hop,
                    threshold,
                    fudge,
                    alpha,
                    min_members: least,
                    min_radius: epsilon * (1.0 / points.len() as f64).cbrt(),
                    selection,
                    algorithm,
                };
                let mut expected = structures(&points, &masses, found.density(), side, rules);
                let peaks: Vec<usize> = expected.iter().map(|row| row.peak as usize).collect();
                expected.iter_mut().for_each(|row| row.parent = row.parent.map(|parent| peaks[parent]));
                expected.sort_by_key(|row| row.peak);
                let mut rows = by_peak(&found);
                assert_eq!(rows.len(), expected.len(), "{algorithm:?} {seed} {i}");
                for (row, expected) in rows.iter_mut().zip(&expected) {
                    assert!((row.mass / expected.mass - 1.0).abs() < 1e-12, "{algorithm:?} {seed} {i}");
                    row.mass = expected.mass;
                    assert_eq!(row, expected, "{algorithm:?} {seed} {i}");
                }
                deepest = deepest.max(rows.iter().map(|row| row.level).max().unwrap_or(0));
                most = most.max(rows.len());
            }
        }
    }
    assert!(deepest >= 3 && most >= many, "{deepest} {most}");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (points, masses) = clumps(20_000, 1);
    for algorithm in [AdaptaHopAlgorithm::Exact, AdaptaHopAlgorithm::Stepped] {
        let finder =
            AdaptaHop::new().density_threshold(5.0).masses(masses.as_slice()).periodic(1.0).algorithm(algorithm);
        let run = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| finder.run(&points).unwrap())
        };
        let one = run(1);
        assert!(one.len() > 8, "{}", one.len());
        assert!(run(2) == one && run(5) == one);
    }
}

/// Equal to the last bit, since no two densities are equal.
#[test]
fn the_order_of_points_does_not_matter() {
    let (points, masses) = clumps(6000, 2);
    let mut random = Random::new(3);
    let mut order: Vec<usize> = (0..points.len()).collect();
    (1..order.len()).for_each(|at| order.swap(at, random.below(at + 1)));
    let rows: Vec<[f64; 3]> = order.iter().map(|&row| points[row]).collect();
    let row_masses: Vec<f64> = order.iter().map(|&row| masses[row]).collect();
    for algorithm in [AdaptaHopAlgorithm::Exact, AdaptaHopAlgorithm::Stepped] {
        let finder = AdaptaHop::new().density_threshold(2.0).fudge(1.0).periodic(1.0).algorithm(algorithm);
        let found = by_peak(&finder.clone().masses(masses.as_slice()).run(&points).unwrap());
        let mut other = by_peak(&finder.masses(row_masses.as_slice()).run(&rows).unwrap());
        for row in &mut other {
            row.peak = order[row.peak as usize] as u32;
            row.parent = row.parent.map(|peak| order[peak]);
            row.own.iter_mut().for_each(|member| *member = order[*member as usize] as u32);
            row.own.sort();
        }
        other.sort_by_key(|row| row.peak);
        assert!(found.len() > 8 && other == found, "{algorithm:?}");
    }
}

/// For hops and saddles, points in the plane are equivalent to points with a constant third coordinate.
#[test]
fn structures_in_the_plane() {
    let (points, _) = clumps(3000, 4);
    let flat: Vec<[f32; 2]> = points.iter().map(|&[x, y, _]| [x as f32, y as f32]).collect();
    let found = AdaptaHop::new().density_threshold(1.5).periodic(1.0).run(&flat).unwrap();
    assert!(found.len() > found.halos().len() && !found.halos().is_empty());
    for (row, own) in found.rows().iter().zip(found.structures()) {
        assert!(own.contains(&row.peak) && own.iter().all(|&at| found.density()[at as usize] > row.saddle));
    }
}
