//! Bound and unbound clumps, and particles whose structure is known.

use common::random::Random;
use ropewalk::halo::{Bound, Particles, Subhalos, Unbinding};
use ropewalk::{AdaptaHop, Fof, Halos};

use super::clumps::{Clump, MovingClumps};

/// Returns a clump at rest around the origin, with a radius of 1 and `n` particles.
fn one_clump(n: usize, heat: f64) -> MovingClumps {
    let mut clumps = MovingClumps::default();
    clumps.add(&mut Random::new(1), &Clump { n, radius: 1.0, center: [0.0; 3], velocity: [0.0; 3], heat });
    clumps
}

/// Unbinds all particles as one halo.
fn as_one(clumps: &MovingClumps, options: &Unbinding) -> Bound<Halos> {
    let n = clumps.points.len();
    let all: Vec<u32> = (0..n as u32).collect();
    let particles = Particles::new(&clumps.points).velocities(&clumps.velocities);
    Halos::from_lists(n, &[0, n], &all).unwrap().unbind(&particles, options).unwrap()
}

#[test]
fn a_cold_cloud_stays_and_a_hot_one_dissolves() {
    for n in [500, 4000] {
        let cold = as_one(&one_clump(n, 0.5), &Unbinding::new(1.0));
        assert_eq!((cold.structures.members(0).len(), cold.rows[0].rounds, cold.rows[0].mass), (n, 1, n as f64));
        // The number within r is proportional to r.
        assert!((cold.rows[0].v_max / (n as f64).sqrt() - 1.0).abs() < 0.5, "{}", cold.rows[0].v_max);
        assert!(as_one(&one_clump(n, 4.0), &Unbinding::new(1.0)).structures.is_empty());
        // Whether a clump is bound depends on the gravitational constant and on the softening.
        assert_eq!(as_one(&one_clump(n, 4.0), &Unbinding::new(64.0)).structures.members(0).len(), n);
        assert!(as_one(&one_clump(n, 0.5), &Unbinding::new(1.0).softening(30.0)).structures.is_empty());
    }
}

/// Two particles that are just bound, and unbound with slightly more energy.
#[test]
fn an_energy_of_zero_is_bound() {
    let points = [[0.0; 3], [1.0, 0.0, 0.0]];
    let halos = Fof::new(1.0).run(&points).unwrap();
    let run = |v: f64, options: Unbinding| {
        let velocities = [[v, 1.0, 5.0], [-v, -1.0, 5.0]];
        let particles = Particles::new(&points).velocities(&velocities);
        halos.unbind(&particles, &options.min_members(2)).unwrap().structures.len()
    };
    assert_eq!(run(1.0, Unbinding::new(1.0)), 1);
    assert_eq!(run(1.0 + f64::EPSILON, Unbinding::new(1.0)), 0);
    // m / sqrt(1 + 3) is one half.
    assert_eq!(run(1.0, Unbinding::new(2.0).softening(3f64.sqrt())), 1);
    assert_eq!(run(1.0, Unbinding::new(2.0 - 1e-15).softening(3f64.sqrt())), 0);
    // Of the other unbound particles, both are removed at once.
    assert_eq!(run(9.0, Unbinding::new(1.0).min_members(1).max_removed(0.1)), 0);
}

/// Passing particles change the mean velocity, relative to which all particles at rest seem fast. They are kept until
/// the mean is that of the cloud again.
#[test]
fn a_cloud_at_rest_stays_though_others_pass() {
    let mut clumps = one_clump(1000, 0.0);
    clumps.velocities[..10].fill([1e6, 0.0, 0.0]);
    let bound = as_one(&clumps, &Unbinding::new(1.0));
    assert_eq!((bound.structures.members(0), bound.rows[0].rounds), (&(10..1000).collect::<Vec<u32>>()[..], 2));
}

/// Comoving and physical lengths: G / a for the former is equivalent to G for the latter.
#[test]
fn the_scale_factor_is_in_the_constant_of_gravity() {
    let clumps = one_clump(2000, 1.3);
    let mut physical = clumps.clone();
    physical.points.iter_mut().flatten().for_each(|x| *x *= 0.25);
    let comoving = as_one(&clumps, &Unbinding::new(4.0 * 0.5).softening(0.04));
    let physical = as_one(&physical, &Unbinding::new(0.5).softening(0.01));
    assert!((1..2000).contains(&comoving.structures.members(0).len()));
    assert_eq!(comoving.structures, physical.structures);
    assert_eq!(comoving.rows[0].v_max_radius, 4.0 * physical.rows[0].v_max_radius);
    assert_eq!(comoving.rows[0].v_max, physical.rows[0].v_max);
}

fn subhalos(clumps: &MovingClumps) -> Subhalos {
    AdaptaHop::new()
        .density_threshold(10.0)
        .volume(1000.0)
        .fudge_epsilon(0.001)
        .min_members(100)
        .run(&clumps.points)
        .unwrap()
}

/// Returns the structure that contains most particles of a range.
fn structure_of(found: &Subhalos, part: std::ops::Range<usize>) -> usize {
    let labels = &found.structures().labels().as_slice()[part];
    let count = |at: usize| labels.iter().filter(|&&label| label == at as i32).count();
    (0..found.len()).max_by_key(|&at| count(at)).unwrap()
}

/// A clump passes through another one. Before unbinding, its structure contains particles of both; afterwards only
/// its own. The particles of the larger clump are bound to that.
#[test]
fn two_clumps_fly_through_each_other() {
    let mut random = Random::new(2);
    let mut clumps = MovingClumps::default();
    let clump =
        |n, radius, x, speed| Clump { n, radius, center: [x, 0.0, 0.0], velocity: [speed, 0.0, 0.0], heat: 0.6 };
    clumps.add(&mut random, &clump(12_000, 1.0, 0.0, 0.0));
    // There, the escape velocity of the larger clump is below 200.
    clumps.add(&mut random, &clump(1500, 0.2, 0.6, 1000.0));
    let found = subhalos(&clumps);
    let small = structure_of(&found, 12_000..13_500);
    assert_eq!((found.len(), found.rows()[small].level), (2, 2));
    let others = |found: &Subhalos, at: usize| {
        found.structures().members(at).iter().filter(|&&i| i < 12_000).count() as f64
            / found.structures().members(at).len() as f64
    };
    assert!(others(&found, small) > 0.03, "{}", others(&found, small));
    let particles = Particles::new(&clumps.points).velocities(&clumps.velocities);
    let bound = found.unbind(&particles, &Unbinding::new(1.0).softening(0.01)).unwrap();
    let (small, after) = (structure_of(&bound.structures, 12_000..13_500), &bound.structures);
    assert_eq!((after.len(), others(after, small), others(after, 1 - small)), (2, 0.0, 1.0));
    assert!(after.rows()[1].parent == Some(0) && after.rows()[1].mass > 1300.0, "{:?}", after.rows());
    let speeds = [0, 1].map(|at| bound.rows[at].velocity[0]);
    assert!(speeds[0].abs() < 5.0 && (speeds[1] - 1000.0).abs() < 10.0, "{speeds:?}");
    // All particles of the larger clump have returned to it.
    assert!(after.rows()[0].mass - after.rows()[1].mass > 11_900.0, "{:?}", after.rows());
}

/// In a fast stream, the mean velocity is that of no particle. The clump is found if each round removes only some of
/// the unbound particles.
#[test]
fn a_clump_in_a_stream() {
    let mut clumps = one_clump(1000, 0.5);
    let stream = Clump { n: 400, radius: 1.0, center: [0.0; 3], velocity: [500.0, 0.0, 0.0], heat: 0.1 };
    clumps.add(&mut Random::new(3), &stream);
    let bound = as_one(&clumps, &Unbinding::new(1.0));
    let members = bound.structures.members(0);
    assert!(members.len() > 950 && members.iter().all(|&i| i < 1000), "{:?}", bound.rows);
    assert!(as_one(&clumps, &Unbinding::new(1.0).max_removed(1.0)).structures.is_empty());
}

/// A hot subhalo between its host and its own subhalo; then a hot host.
#[test]
fn what_is_in_a_dissolved_structure_goes_up() {
    let with = |host: f64, middle: f64| {
        let mut random = Random::new(4);
        let mut clumps = MovingClumps::default();
        let mut add = |n, radius, x, heat| {
            clumps.add(&mut random, &Clump { n, radius, center: [x, 0.0, 0.0], velocity: [0.0; 3], heat });
        };
        add(20_000, 1.5, 0.0, host);
        add(6000, 0.18, 1.0, middle);
        add(1200, 0.02, 1.12, 0.5);
        let found = subhalos(&clumps);
        let parts = [0..20_000, 20_000..26_000, 26_000..27_200].map(|part| structure_of(&found, part));
        let rows = parts.map(|at| found.rows()[at]);
        assert_eq!(rows.map(|row| row.level), [1, 2, 3]);
        assert_eq!(found.len(), 3);
        let particles = Particles::new(&clumps.points).velocities(&clumps.velocities);
        (parts, found.unbind(&particles, &Unbinding::new(1.0).softening(0.001).min_members(100)).unwrap())
    };
    let (parts, bound) = with(0.6, 9.0);
    let [host, inner] = [0, 2].map(|part| bound.rows.iter().position(|row| row.from as usize == parts[part]).unwrap());
    let rows = bound.structures.rows();
    assert_eq!((rows.len(), rows[inner].parent, rows[inner].level), (2, Some(host as u32), 2));
    assert_eq!(rows[host].n_children, 1);

    let (parts, bound) = with(30.0, 0.6);
    let [middle, inner] =
        [1, 2].map(|part| bound.rows.iter().position(|row| row.from as usize == parts[part]).unwrap());
    let rows = bound.structures.rows();
    assert_eq!((rows.len(), rows[middle].level, rows[middle].parent), (2, 1, None));
    assert_eq!((rows[inner].parent, rows[inner].host), (Some(middle as u32), middle as u32));
}
