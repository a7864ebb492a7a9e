//! Attached particles of other types across ranks, compared with one process byte for byte.

use ropewalk::distributed::Communicator;
use ropewalk_io::{Masses, Points, Snapshot, Table, TypeRun};
use ropewalk_pipeline::{CenterKind, Finder, LinkingLength, Options, Pipeline};

use super::distributions::{Distribution, distributions};
use super::halos::{options, part, text};
use crate::random::Random;

super::scenario::scenarios![
    others_join_halos_and_spheres,
    others_join_by_hop,
    members_with_and_without_ids,
    ranks_without_particles_of_a_kind,
    precisions_that_differ,
    other_particles_that_are_refused,
];

/// The side of the box of the particles.
const SIDE: f64 = 10.0;

/// Returns clumps with particles of the given types, with the units that spheres need. Some clumps are at faces of
/// the box.
fn clumps(types: &[(u8, usize)], seed: u64) -> Snapshot {
    let mut random = Random::new(seed);
    let places = [[0.0, 5.0, 5.0], [5.0, 9.97, 0.05], [3.0, 3.0, 3.0], [3.4, 3.0, 3.0], [7.0, 7.0, 2.0]];
    let n: usize = types.iter().map(|(_, count)| count).sum();
    let rows = (0..n).flat_map(|_| {
        let place = places[random.below(places.len())];
        // Some particles are far from all clumps.
        let width = if random.below(6) == 0 { 3.0 } else { 0.12 };
        place.map(|x| (x + width * random.normal()).rem_euclid(SIDE))
    });
    let mut whole = Snapshot::new(Points::F64(Table::new(3, rows.collect()).unwrap()));
    let speeds = (0..3 * n).map(|_| 100.0 * random.normal()).collect();
    whole.velocities = Some(Points::F64(Table::new(3, speeds).unwrap()));
    whole.masses = Masses::Each((0..n).map(|_| 20.0 * random.unit()).collect());
    whole.ids = Some((0..n as u64).map(|i| (i * 7919 + seed) % 100_003).collect());
    whole.types = types.iter().map(|&(particle_type, count)| TypeRun { particle_type, count }).collect();
    (whole.box_size, whole.redshift) = (Some(SIDE), Some(0.5));
    (whole.background.omega_m, whole.background.omega_lambda) = (Some(0.3), Some(0.7));
    whole.units = ropewalk::units::Units::GADGET.into();
    whole
}

/// Linked particles, and others to attach to their halos.
struct Particles {
    linked: Snapshot,
    others: Snapshot,
}

/// Returns dark matter of two resolutions as linked particles, and gas, stars and black holes as others.
fn both() -> Particles {
    Particles { linked: clumps(&[(1, 600), (2, 200)], 3), others: clumps(&[(0, 300), (4, 150), (5, 7)], 4) }
}

fn with_spheres() -> Options {
    let mut options = options(5, Some(CenterKind::MostBound));
    options.linking_length = LinkingLength::Length(0.15);
    options.overdensities = ["200c", "500m"].map(|text| text.parse().unwrap()).to_vec();
    (options.min_sphere_particles, options.profiles, options.most_connected) = (3, 4, true);
    options
}

/// Compares labels, catalogue, header, notes, profiles and lists of members with those of one process.
fn compare(
    ranks: &dyn Communicator,
    Particles { linked, others }: &Particles,
    options: &Options,
    share: [Distribution; 2],
) {
    let pipeline = Pipeline::new(linked, options).unwrap().attaching(others).unwrap();
    let mut found = pipeline.find().unwrap();
    pipeline.attach(&mut found).unwrap();
    let expected = pipeline.measure(&found).unwrap();
    let labels = &found.attached.as_ref().unwrap().labels;

    let range = share[0].of(linked.points.len(), ranks);
    let other_range = share[1].of(others.points.len(), ranks);
    let own = [part(linked, range.clone()), part(others, other_range.clone())];
    let across = Pipeline::across(ranks, &own[0], options).unwrap().attaching(&own[1]).unwrap();
    let mut shared = across.find().unwrap();
    across.attach(&mut shared).unwrap();
    assert_eq!(*shared.labels(), found.halos.labels().as_slice()[range]);
    assert_eq!(shared.attached.as_ref().unwrap().labels, labels[other_range], "labels of rank {}", ranks.rank());

    assert_eq!(across.meta(), pipeline.meta());
    assert_eq!(across.particle_sets(), pipeline.particle_sets());
    let own = across.measure(&shared).unwrap();
    let measured = across.gather(&shared, &own).unwrap();
    assert_eq!(measured.is_some(), ranks.rank() == 0);
    if let Some(measured) = measured {
        assert_eq!(text(&measured.catalog, &across.meta()), text(&expected.catalog, &pipeline.meta()));
        assert_eq!(measured.notes, expected.notes);
    }
    let members = across.members(&shared, &own.catalog).unwrap();
    assert_eq!(members.is_some(), ranks.rank() == 0);
    if members.is_some() {
        assert_eq!(members, pipeline.members(&found, &expected.catalog).unwrap());
    }
    if options.profiles > 0 {
        let one = pipeline.largest(&found, &expected.catalog, options.profiles).unwrap();
        let largest = across.largest(&shared, &own.catalog, options.profiles).unwrap();
        let profiles = across.profiles(&shared, &largest).unwrap();
        if let Some(profiles) = across.gather_profiles(&largest, profiles).unwrap() {
            assert_eq!(profiles.profiles, pipeline.profiles(&found, &one).unwrap());
        }
    }
}

fn others_join_halos_and_spheres(ranks: &dyn Communicator) {
    let particles = both();
    let closed = with_spheres();
    let mut open = closed.clone();
    (open.open, open.center) = (true, Some(CenterKind::CenterOfMass));
    for share in distributions() {
        compare(ranks, &particles, &closed, [share; 2]);
    }
    compare(ranks, &particles, &open, [Distribution::Uneven, Distribution::Even]);
    // Equal masses within linked and within other particles; then no masses at all.
    let (mut equal, mut bare) = (both(), both());
    (equal.linked.masses, equal.others.masses) = (Masses::Equal(8.0), Masses::Equal(3.0));
    compare(ranks, &equal, &closed, [Distribution::Even; 2]);
    (bare.linked.masses, bare.others.masses) = (Masses::Unknown, Masses::Unknown);
    let mut counts = options(5, None);
    counts.linking_length = closed.linking_length;
    compare(ranks, &bare, &counts, [Distribution::Even; 2]);
}

fn others_join_by_hop(ranks: &dyn Communicator) {
    let particles = both();
    let mut options = with_spheres();
    options.finder = Finder::Hop(ropewalk::Hop::new(8.0).n_density(20).n_hop(12));
    compare(ranks, &particles, &options, [Distribution::Uneven, Distribution::Even]);
}

/// Ids of linked particles only, of attached particles only, and of neither.
fn members_with_and_without_ids(ranks: &dyn Communicator) {
    for (linked_have, others_have) in [(true, false), (false, true), (false, false)] {
        let mut particles = both();
        particles.linked.ids = particles.linked.ids.filter(|_| linked_have);
        particles.others.ids = particles.others.ids.filter(|_| others_have);
        let mut options = options(5, None);
        options.linking_length = LinkingLength::Length(0.15);
        compare(ranks, &particles, &options, [Distribution::Uneven, Distribution::OneEmpty]);
    }
    // One type without ids.
    let mut particles = both();
    particles.others.types_without_ids = vec![4];
    let mut options = options(5, None);
    options.linking_length = LinkingLength::Length(0.15);
    compare(ranks, &particles, &options, [Distribution::Even; 2]);
}

/// One rank has all linked or all other particles; there are no other particles, or only one.
fn ranks_without_particles_of_a_kind(ranks: &dyn Communicator) {
    let mut particles = both();
    let options = with_spheres();
    for share in [[Distribution::First, Distribution::Even], [Distribution::Even, Distribution::First]] {
        compare(ranks, &particles, &options, share);
    }
    for types in [&[][..], &[(4, 1)]] {
        particles.others = clumps(types, 5);
        compare(ranks, &particles, &options, [Distribution::Even; 2]);
    }
}

fn narrow(points: &Points) -> Points {
    match points {
        Points::F64(table) => Points::F32(Table::new(3, table.as_slice().iter().map(|&x| x as f32).collect()).unwrap()),
        same => same.clone(),
    }
}

/// Linked particles in 32 bits and others in 64 bits, and vice versa; velocities in another precision than positions.
fn precisions_that_differ(ranks: &dyn Communicator) {
    let options = with_spheres();
    let narrowed = |snapshot: &Snapshot, points: bool, velocities: bool| {
        let mut other = snapshot.clone();
        other.points = if points { narrow(&other.points) } else { other.points };
        other.velocities = other.velocities.map(|of| if velocities { narrow(&of) } else { of });
        other
    };
    let Particles { linked, others } = both();
    for [a, b, c, d] in [[true, true, false, false], [false, false, true, true], [true, true, true, false], [true; 4]] {
        let particles = Particles { linked: narrowed(&linked, a, b), others: narrowed(&others, c, d) };
        compare(ranks, &particles, &options, [Distribution::Uneven, Distribution::Even]);
    }
}

/// All ranks have the same error.
fn other_particles_that_are_refused(ranks: &dyn Communicator) {
    let Particles { linked, others } = both();
    let own = |whole: &Snapshot| part(whole, Distribution::Even.of(whole.points.len(), ranks));
    let options = with_spheres();
    let refused = |linked: &Snapshot, others: &Snapshot| {
        let (linked, others) = (own(linked), own(others));
        Pipeline::across(ranks, &linked, &options).unwrap().attaching(&others).unwrap_err().to_string()
    };
    let mut bare = others.clone();
    bare.masses = Masses::Unknown;
    assert!(refused(&linked, &bare).contains("the linked particles have masses, and the attached particles do not"));
    let mut negative = others.clone();
    if let Masses::Each(masses) = &mut negative.masses {
        masses[456] = -1.0;
    }
    assert!(refused(&linked, &negative).contains("its mass is -1"));
    let Points::F64(table) = &others.points else { panic!("points have 64 bits") };
    let mut values = table.as_slice().to_vec();
    values[3 * 456 + 1] = f64::NAN;
    let mut astray = others.clone();
    astray.points = Points::F64(Table::new(3, values).unwrap());
    assert!(refused(&linked, &astray).contains("coordinate 1 is NaN"));
}
