//! Every particle, compared with all pairs, for any number of threads and any order of particles.

use common::random::Random;
use rayon::ThreadPoolBuilder;
use ropewalk::halo::{Bound, BoundStructure, CenterFinder, Particles, Subhalos, Unbinding};
use ropewalk::{AdaptaHop, Center, Fof};

use super::clumps::{Clump, MovingClumps};
use super::definition::{Rules, unbind, v_max};

/// Returns a host with three clumps, one of which has a clump of its own, and another halo, of various masses. Some
/// particles are hot, and the second clump moves fast.
fn clumps(scale: usize, seed: u64) -> (MovingClumps, Vec<f64>) {
    let mut random = Random::new(seed);
    let mut clumps = MovingClumps::default();
    let mut clump = |n: usize, radius: f64, center: [f64; 3], velocity: f64, heat: f64| {
        let speed = velocity * (6.0 * scale as f64 / 0.15).sqrt();
        let velocity = [speed, -0.5 * speed, 0.0];
        clumps.add(&mut random, &Clump { n: n * scale, radius, center, velocity, heat });
    };
    clump(6, 0.15, [0.5, 0.5, 0.5], 0.0, 0.7);
    clump(2, 0.02, [0.42, 0.5, 0.5], 0.5, 0.8);
    clump(1, 0.012, [0.5, 0.59, 0.52], 3.0, 0.5);
    clump(1, 0.012, [0.57, 0.45, 0.42], 0.3, 2.5);
    clump(1, 0.004, [0.43, 0.509, 0.5], 1.0, 0.5);
    clump(2, 0.05, [0.1, 0.1, 0.2], 0.0, 1.1);
    let masses = (0..clumps.points.len()).map(|_| 0.5 + random.unit()).collect();
    (clumps, masses)
}

fn finder(masses: &[f64]) -> AdaptaHop {
    AdaptaHop::new().density_threshold(5.0).fudge(1.0).volume(1.0).min_members(25).masses(masses)
}

#[track_caller]
fn assert_near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-11 * b.abs().max(1e-3), "{a} {b}");
}

/// Compares all results, and returns the number of dissolved structures and the maximum number of rounds.
#[track_caller]
pub fn assert_as_defined(before: &Subhalos, bound: &Bound<Subhalos>, rules: Rules) -> (usize, u32) {
    let own: Vec<Vec<usize>> =
        before.structures().iter().map(|list| list.iter().map(|&i| i as usize).collect()).collect();
    let parents: Vec<Option<usize>> = before.rows().iter().map(|row| row.parent.map(|at| at as usize)).collect();
    let expected = unbind(&own, &parents, rules);
    let after = &bound.structures;
    let from = |row: &BoundStructure| row.from as usize;
    let mut numbers: Vec<usize> = bound.rows.iter().map(from).collect();
    numbers.sort();
    assert!(numbers.iter().copied().eq(expected.iter().map(|row| row.from)), "{numbers:?}");
    let sizes: Vec<usize> = after.structures().iter().map(<[u32]>::len).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    for (at, (row, place)) in bound.rows.iter().zip(after.rows()).enumerate() {
        let expected = expected.iter().find(|expected| expected.from == row.from as usize).unwrap();
        let own: Vec<usize> = after.structures().members(at).iter().map(|&i| i as usize).collect();
        assert_eq!((own, row.rounds), (expected.own.clone(), expected.rounds), "structure {}", row.from);
        let all: Vec<usize> = after.members(at).iter().map(|&i| i as usize).collect();
        assert_eq!(all, expected.all);
        assert_eq!(place.parent.map(|parent| bound.rows[parent as usize].from as usize), expected.parent);
        assert_eq!(place.level, place.parent.map_or(1, |parent| after.rows()[parent as usize].level + 1));
        assert_eq!(place.host, place.parent.map_or(at as u32, |parent| after.rows()[parent as usize].host));
        let n_children = after.rows().iter().filter(|row| row.parent == Some(at as u32)).count();
        assert_eq!(place.n_children as usize, n_children);
        let densest = expected.own.iter().map(|&i| before.density()[i]).fold(0.0, f64::max);
        assert_eq!((place.peak_density, before.density()[place.peak as usize]), (densest, densest));
        let mass: f64 = all.iter().map(|&i| rules.masses[i]).sum();
        assert_near(row.mass, mass);
        assert_near(place.mass, mass);
        (0..3).for_each(|k| assert_near(row.velocity[k], expected.velocity[k]));
        let (v, r) = v_max(row.most_bound.unwrap() as usize, &all, rules);
        assert_near(row.v_max, v);
        assert_near(row.v_max_radius, r);
    }
    (before.len() - after.len(), bound.rows.iter().map(|row| row.rounds).max().unwrap_or(0))
}

#[test]
fn as_all_pairs_have_it() {
    let (mut dissolved, mut most_rounds, mut lost) = (0, 0, 0);
    for (seed, scale) in [(0, 25), (1, 40), (2, 60), (3, 250)] {
        let (clumps, masses) = clumps(scale, seed);
        let n = clumps.points.len();
        // Every other case is across the faces of the box.
        let side = [None, Some(1.0)][seed as usize % 2];
        let move_by = |x: &f64| side.map_or(*x, |side| (x + 0.55) % side);
        let points: Vec<[f64; 3]> = clumps.points.iter().map(|point| point.each_ref().map(move_by)).collect();
        let found = finder(&masses).periodic(side).run(&points).unwrap();
        assert!(found.rows().iter().any(|row| row.level > 1), "{seed}");
        let mut options = vec![(1.0, 0.0, 0.25, 20), (2.0, 0.002, 1.0, 5), (0.3, 0.01, 0.1, 1), (0.5, 0.0, 0.5, 60)];
        let flows = [40.0, 0.0, 200.0, 0.0];
        // The large case is for the tree.
        options.truncate(if scale > 100 { 1 } else { 4 });
        for ((gravity, softening, max_removed, min_members), hubble_flow) in options.into_iter().zip(flows) {
            let unbinding = Unbinding::new(gravity).softening(softening).hubble_flow(hubble_flow);
            let unbinding = unbinding.max_removed(max_removed).min_members(min_members);
            let particles = Particles::new(&points).velocities(&clumps.velocities).masses(&masses);
            let bound = found.unbind(&particles, &unbinding).unwrap();
            let rules = Rules {
                points: &points,
                velocities: &clumps.velocities,
                masses: &masses,
                side,
                gravity,
                softening,
                hubble_flow,
                max_removed,
                min_members,
            };
            let (gone, rounds) = assert_as_defined(&found, &bound, rules);
            dissolved += gone;
            most_rounds = most_rounds.max(rounds);
            let n_noise = |found: &Subhalos| found.structures().labels().n_noise();
            lost += n_noise(&bound.structures) - n_noise(&found);
            // The most bound particle is that of the library.
            let center = CenterFinder::new(Center::MostBoundBrute { softening }).masses(&masses);
            let centers = center.run(&points, bound.structures.structures()).unwrap();
            assert!(bound.rows.iter().zip(&centers).all(|(row, center)| row.most_bound == center.member));
            assert_eq!(n, bound.structures.density().len());
        }
    }
    assert!(dissolved > 5 && most_rounds > 6 && lost > 500, "{dissolved} {most_rounds} {lost}");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (clumps, masses) = clumps(700, 4);
    let found = finder(&masses).run(&clumps.points).unwrap();
    let particles = Particles::new(&clumps.points).velocities(&clumps.velocities).masses(&masses);
    let run = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| found.unbind(&particles, &Unbinding::new(0.8).softening(0.001)).unwrap())
    };
    let one = run(1);
    assert!(one.structures.len() > 3 && one.rows.iter().any(|row| row.rounds > 3));
    assert!(run(2) == one && run(5) == one);
}

/// Equal to the last bit.
#[test]
fn the_order_of_particles_does_not_matter() {
    let (clumps, masses) = clumps(100, 5);
    let n = clumps.points.len();
    let mut random = Random::new(6);
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).for_each(|at| order.swap(at, random.below(at + 1)));
    let shuffled = MovingClumps {
        points: order.iter().map(|&at| clumps.points[at]).collect(),
        velocities: order.iter().map(|&at| clumps.velocities[at]).collect(),
    };
    let shuffled_masses: Vec<f64> = order.iter().map(|&at| masses[at]).collect();
    let run = |clumps: &MovingClumps, masses: &[f64]| {
        let found = finder(masses).run(&clumps.points).unwrap();
        let particles = Particles::new(&clumps.points).velocities(&clumps.velocities).masses(masses);
        found.unbind(&particles, &Unbinding::new(0.8).softening(0.001)).unwrap()
    };
    let (one, mut other) = (run(&clumps, &masses), run(&shuffled, &shuffled_masses));
    let labels = other.structures.structures().labels().as_slice();
    assert!((0..n).all(|at| labels[at] == one.structures.structures().labels().as_slice()[order[at]]));
    other.rows.iter_mut().for_each(|row| row.most_bound = row.most_bound.map(|at| order[at as usize] as u32));
    assert!(one.rows.len() > 3);
    for (mut other, one) in other.rows.into_iter().zip(one.rows) {
        // The previous numbers are in the order of the finder, ties by index.
        other.from = one.from;
        assert_eq!(other, one);
    }
}

/// Halos are structures without substructures.
#[test]
fn halos_as_all_pairs_have_them() {
    let (clumps, masses) = clumps(60, 7);
    let halos = Fof::new(0.012).min_members(30).run(&clumps.points).unwrap();
    let particles = Particles::new(&clumps.points).velocities(&clumps.velocities).masses(&masses);
    let bound = halos.unbind(&particles, &Unbinding::new(1.0).softening(0.002)).unwrap();
    let own: Vec<Vec<usize>> = halos.iter().map(|list| list.iter().map(|&i| i as usize).collect()).collect();
    let rules = Rules {
        points: &clumps.points,
        velocities: &clumps.velocities,
        masses: &masses,
        side: None,
        gravity: 1.0,
        softening: 0.002,
        hubble_flow: 0.0,
        max_removed: 0.25,
        min_members: 20,
    };
    let expected = unbind(&own, &vec![None; own.len()], rules);
    assert_eq!(bound.structures.len(), expected.len());
    assert!(expected.len() > 1 && expected.iter().any(|row| row.own.len() < own[row.from].len()));
    for (row, members) in bound.rows.iter().zip(&bound.structures) {
        let expected = expected.iter().find(|expected| expected.from == row.from as usize).unwrap();
        assert!(members.iter().map(|&i| i as usize).eq(expected.own.iter().copied()));
    }
    assert_eq!(bound.structures.boundary(), halos.boundary());
}
