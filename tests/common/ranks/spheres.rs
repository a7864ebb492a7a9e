//! Overdensities, structure and profiles of the halos of all ranks, compared with one process byte for byte.

use std::sync::OnceLock;

use ropewalk::distributed::Communicator;
use ropewalk_io::{Masses, Points, Snapshot, Table};
use ropewalk_pipeline::{CenterKind, LinkingLength, Options};

use super::distributions::{Distribution, distributions};
use super::halos::{OneProcess, compare, compare_with, options, part};
use crate::random::Random;

super::scenario::scenarios![
    spheres_of_a_snapshot,
    spheres_about_clumps_at_faces,
    a_halo_larger_than_a_share,
    spheres_that_meet_their_images,
    spheres_of_unlike_and_of_equal_masses,
    spheres_where_ranks_have_no_halos,
];

/// Returns options with units in which the mean density is that of a thousand particles of mass 8 in a box of 10.
fn with_spheres(min_members: usize, overdensities: &[&str]) -> Options {
    let mut options = options(min_members, None);
    options.overdensities = overdensities.iter().map(|text| text.parse().unwrap()).collect();
    options.min_sphere_particles = 3;
    options.profiles = 4;
    (options.universe.units.length, options.universe.units.mass) =
        (Some("Mpc/h".parse().unwrap()), Some("1e10 Msun/h".parse().unwrap()));
    options.universe.units.velocity = Some("km/s".parse().unwrap());
    (options.universe.omega_m, options.universe.redshift) = (Some(0.3), Some(0.5));
    options
}

/// Returns clumps of particles around positions in a box of 10, in random order, with masses and velocities.
fn clumps(of: &[([f64; 3], f64, usize)], mass: f64) -> Snapshot {
    let mut random = Random::new(of.len() as u64);
    let mut rows: Vec<[f64; 3]> = vec![];
    for &(place, width, count) in of {
        rows.extend((0..count).map(|_| place.map(|x| x + width * random.normal())));
    }
    for at in (1..rows.len()).rev() {
        rows.swap(at, random.below(at + 1));
    }
    let n = rows.len();
    let mut whole = Snapshot::new(Points::F64(Table::new(3, rows.into_flattened()).unwrap()));
    whole.velocities = Some(Points::F64(Table::new(3, (0..3 * n).map(|_| 100.0 * random.normal()).collect()).unwrap()));
    whole.masses = Masses::Each((0..n).map(|_| mass * random.unit()).collect());
    whole.ids = Some((0..n as u64).map(|i| i * 7919 % 100_003).collect());
    whole.box_size = Some(10.0);
    whole
}

fn narrow(whole: &Snapshot) -> Snapshot {
    let Points::F64(table) = &whole.points else { return whole.clone() };
    let mut narrow = whole.clone();
    narrow.points = Points::F32(Table::new(3, table.as_slice().iter().map(|&x| x as f32).collect()).unwrap());
    narrow
}

fn compare_shared(ranks: &dyn Communicator, whole: &Snapshot, options: &Options, shares: &[Distribution]) {
    for share in shares {
        let range = share.of(whole.points.len(), ranks);
        compare(ranks, whole, options, &part(whole, range.clone()), range.start);
    }
}

fn spheres_of_a_snapshot(ranks: &dyn Communicator) {
    static ONE_PROCESS: OnceLock<OneProcess> = OnceLock::new();
    let mut all = options(20, Some(CenterKind::MostBound));
    all.overdensities = ["200c", "500c", "200m", "vir"].map(|text| text.parse().unwrap()).to_vec();
    all.profiles = 10;
    let known = ONE_PROCESS.get_or_init(|| OneProcess::new(&all));
    let range = Distribution::Uneven.of(known.whole.points.len(), ranks);
    compare_with(ranks, known, &all, &part(&known.whole, range.clone()), range.start);
}

/// Clumps at all faces, in both precisions, with points outside of the box. With open boundaries most of a clump is
/// far away.
fn spheres_about_clumps_at_faces(ranks: &dyn Communicator) {
    let places = [[0.0, 5.0, 5.0], [5.0, 10.0, 0.1], [9.9, 9.95, 0.05], [3.0, 3.0, 3.0], [3.4, 3.0, 3.0]];
    let whole = clumps(&places.map(|place| (place, 0.1, 100)), 16.0);
    let mut closed = with_spheres(5, &["200c", "500c", "vir"]);
    closed.linking_length = LinkingLength::Length(0.15);
    let mut open = closed.clone();
    (open.open, open.center) = (true, Some(CenterKind::CenterOfMass));
    open.softening = 0.02;
    for whole in [&whole, &narrow(&whole)] {
        compare_shared(ranks, whole, &closed, &distributions());
        compare_shared(ranks, whole, &open, &[Distribution::Even]);
    }
}

/// Nearly all particles are in one halo, whose spheres extend over all ranks.
fn a_halo_larger_than_a_share(ranks: &dyn Communicator) {
    let whole = clumps(&[([4.0; 3], 0.6, 900), ([8.0; 3], 0.1, 50)], 16.0);
    let mut options = with_spheres(10, &["200c", "20m", "3m"]);
    options.linking_length = LinkingLength::Length(0.4);
    compare_shared(ranks, &whole, &options, &[Distribution::Even, Distribution::First]);
}

/// Densities that decrease too slowly, and some that are too low at the centre.
fn spheres_that_meet_their_images(ranks: &dyn Communicator) {
    let mut random = Random::new(3);
    let spread: Vec<([f64; 3], f64, usize)> =
        (0..300).map(|_| ([(); 3].map(|()| 10.0 * random.unit()), 0.05, 2)).collect();
    let whole = clumps(&spread, 30.0);
    let mut options = with_spheres(2, &["1m", "2m", "100000c"]);
    options.linking_length = LinkingLength::Length(0.2);
    (options.center, options.profiles) = (Some(CenterKind::CenterOfMass), 300);
    compare_shared(ranks, &whole, &options, &[Distribution::Uneven]);
}

/// Every other mass is nearly zero, so that the order of summation matters; then all masses are equal.
fn spheres_of_unlike_and_of_equal_masses(ranks: &dyn Communicator) {
    let mut whole = clumps(&[([2.0; 3], 0.1, 60), ([7.0; 3], 0.1, 60)], 8.0);
    if let Masses::Each(masses) = &mut whole.masses {
        masses.iter_mut().step_by(2).for_each(|mass| *mass *= 1e-12);
    }
    let mut options = with_spheres(5, &["200c"]);
    options.linking_length = LinkingLength::Length(0.15);
    compare_shared(ranks, &whole, &options, &[Distribution::Even]);
    whole.masses = Masses::Equal(4.0);
    compare_shared(ranks, &whole, &options, &[Distribution::OneEmpty]);
}

/// One halo, or no halos.
fn spheres_where_ranks_have_no_halos(ranks: &dyn Communicator) {
    for (count, least) in [(30, 5), (30, 100), (1, 2), (0, 2)] {
        let whole = clumps(&[([0.0; 3], 0.1, count)], 16.0);
        let mut options = with_spheres(least, &["200c", "vir"]);
        options.linking_length = LinkingLength::Length(0.3);
        compare_shared(ranks, &whole, &options, &distributions());
    }
}
