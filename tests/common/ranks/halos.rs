//! Catalogues of snapshots distributed over ranks, compared with one process byte for byte.

use std::sync::OnceLock;

use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::halo::Overdensity;
use ropewalk_io::{Masses, Points, ReadOptions, Snapshot, Table, TypeRun};
use ropewalk_pipeline::{CenterKind, Finder, LinkingLength, Options, Output, Pipeline};
use ropewalk_table::columns::Meta;

use super::distributions::{Distribution, distributions};
use crate::clouds;
use crate::data::root;
use crate::random::Random;

super::scenario::scenarios![
    catalogs_of_a_snapshot,
    catalogs_of_parts_of_a_file,
    catalogs_of_all_kinds_of_particles,
    catalogs_by_hop,
    hop_catalog_of_a_snapshot,
    halos_without_centers_are_noted,
    a_snapshot_without_halos,
    refusals,
];

fn rows(points: &Points, range: std::ops::Range<usize>) -> Points {
    let range = range.start * points.dim()..range.end * points.dim();
    match points {
        Points::F32(table) => Points::F32(Table::new(3, table.as_slice()[range].to_vec()).unwrap()),
        Points::F64(table) => Points::F64(Table::new(3, table.as_slice()[range].to_vec()).unwrap()),
    }
}

/// Returns the particles of a rank.
pub(super) fn part(whole: &Snapshot, range: std::ops::Range<usize>) -> Snapshot {
    let mut part = whole.clone();
    part.points = rows(&whole.points, range.clone());
    part.velocities = whole.velocities.as_ref().map(|velocities| rows(velocities, range.clone()));
    part.ids = whole.ids.as_ref().map(|ids| ids[range.clone()].to_vec());
    if let Masses::Each(masses) = &whole.masses {
        part.masses = Masses::Each(masses[range.clone()].to_vec());
    }
    let mut start = 0;
    part.types = vec![];
    for run in &whole.types {
        let count = (start + run.count).min(range.end).saturating_sub(range.start.max(start));
        start += run.count;
        part.types.push(TypeRun { count, ..*run });
    }
    part
}

pub(super) fn text(catalog: &ropewalk_table::Catalog, meta: &[(&'static str, Meta)]) -> String {
    let mut text = vec![];
    catalog.write_ecsv(&mut text, meta).unwrap();
    String::from_utf8(text).unwrap()
}

/// Compares labels, catalogue, header and notes of a part with those of the whole snapshot.
pub(super) fn compare(ranks: &dyn Communicator, whole: &Snapshot, options: &Options, own: &Snapshot, first: usize) {
    let known = OneProcess { whole: whole.clone(), expected: ropewalk_pipeline::run(whole, options).unwrap() };
    compare_with(ranks, &known, options, own, first);
}

pub(super) fn compare_with(
    ranks: &dyn Communicator,
    OneProcess { whole, expected }: &OneProcess,
    options: &Options,
    own: &Snapshot,
    first: usize,
) {
    let pipeline = Pipeline::across(ranks, own, options).unwrap();
    let found = pipeline.find().unwrap();
    let one = &expected.halos.labels().as_slice()[first..first + own.points.len()];
    assert!(*found.labels() == *one, "labels of rank {}", ranks.rank());
    assert_eq!(found.n_groups(), expected.halos.labels().n_clusters() as u64);
    assert_eq!((pipeline.n_particles(), found.n_halos()), (whole.points.len() as u64, expected.halos.len() as u64));
    assert_eq!(pipeline.meta(), expected.meta);
    assert_eq!(pipeline.universe(), &expected.universe);
    let measured = pipeline.measure(&found).unwrap();
    let (owned, all) = (&measured.catalog, &expected.catalog);
    let mut count = [owned.halos().len() as u64];
    ranks.all_reduce(&mut count, Reduction::Sum).unwrap();
    assert_eq!(count, [all.halos().len() as u64]);
    for (row, label) in owned.halos().iter().zip(owned.labels()) {
        let at = all.labels().iter().position(|other| other == label).expect("labels are those of all ranks");
        assert_eq!(row, &all.halos()[at]);
    }
    assert!(owned.halos().is_sorted_by_key(|row| (std::cmp::Reverse(row.count), row.tag)));
    let gathered = pipeline.gather(&found, &measured).unwrap();
    assert_eq!(gathered.is_some(), ranks.rank() == 0);
    if let Some(gathered) = gathered {
        assert_eq!(text(&gathered.catalog, &pipeline.meta()), text(&expected.catalog, &expected.meta));
        assert_eq!(gathered.catalog.halos(), expected.catalog.halos());
        assert_eq!(gathered.catalog.labels(), expected.catalog.labels());
        assert_eq!(gathered.notes, expected.notes);
    }
    if let Some(one) = &expected.largest {
        let largest = pipeline.largest(&found, owned, options.profiles).unwrap();
        assert_eq!(largest.count, one.names.len());
        for (at, &place) in largest.places.iter().enumerate() {
            assert_eq!(largest.centers.as_slice()[at].position, one.centers.as_slice()[place].position);
        }
        let profiles = pipeline.profiles(&found, &largest).unwrap();
        let profiles = pipeline.gather_profiles(&largest, profiles).unwrap();
        assert_eq!(profiles.is_some(), ranks.rank() == 0);
        if let Some(profiles) = profiles {
            assert_eq!((profiles.names, profiles.r200c), (one.names.clone(), one.r200c.clone()));
            assert_eq!(profiles.profiles, expected.profiles);
        }
    }
}

pub(super) fn options(min_members: usize, center: Option<CenterKind>) -> Options {
    let mut options = Options::default();
    (options.min_members, options.center) = (min_members, center);
    options
}

/// The result of one process for the sample, shared by all ranks that are threads.
pub(super) struct OneProcess {
    pub whole: Snapshot,
    pub expected: Output,
}

impl OneProcess {
    pub fn new(options: &Options) -> Self {
        let whole = ropewalk_io::read(sample(), &ReadOptions::default()).unwrap();
        let expected = ropewalk_pipeline::run(&whole, options).unwrap();
        Self { whole, expected }
    }
}

fn sample() -> std::path::PathBuf {
    root().join("data/p3m_64.gadget2")
}

fn catalogs_of_a_snapshot(ranks: &dyn Communicator) {
    static ONE_PROCESS: OnceLock<OneProcess> = OnceLock::new();
    let mut all = options(20, Some(CenterKind::MostBound));
    all.most_connected = true;
    let known = ONE_PROCESS.get_or_init(|| OneProcess::new(&all));
    let range = Distribution::Uneven.of(known.whole.points.len(), ranks);
    compare_with(ranks, known, &all, &part(&known.whole, range.clone()), range.start);
}

fn catalogs_of_parts_of_a_file(ranks: &dyn Communicator) {
    static ONE_PROCESS: OnceLock<OneProcess> = OnceLock::new();
    let options = options(2, None);
    let known = ONE_PROCESS.get_or_init(|| OneProcess::new(&options));
    let read = ReadOptions::default().part(ranks.rank(), ranks.size());
    let own = ropewalk_io::read(sample(), &read).unwrap();
    let first = own.first_row() as usize;
    compare_with(ranks, known, &options, &own, first);
}

/// Returns a thousand particles in clumps, with everything that a snapshot can have.
fn mixed() -> Snapshot {
    let n = 1000;
    let mut random = Random::new(7);
    let clumps: Vec<[f64; 3]> = (0..12).map(|_| [(); 3].map(|()| random.unit() * 10.0)).collect();
    let points: Vec<f64> = (0..n)
        .flat_map(|_| {
            let clump = clumps[random.below(12)];
            clump.map(|x| x + 0.2 * random.normal())
        })
        .collect();
    let mut whole = Snapshot::new(Points::F64(Table::new(3, points).unwrap()));
    let speeds = (0..3 * n).map(|_| random.normal() as f32).collect();
    whole.velocities = Some(Points::F32(Table::new(3, speeds).unwrap()));
    whole.ids = Some((0..n as u64).map(|i| i * 7919 % 100_003).collect());
    whole.masses = Masses::Each((0..n).map(|_| random.unit()).collect());
    whole.types =
        [(1, 400), (0, 350), (4, 250)].map(|(particle_type, count)| TypeRun { particle_type, count }).to_vec();
    whole.box_size = Some(10.0);
    whole
}

fn catalogs_of_all_kinds_of_particles(ranks: &dyn Communicator) {
    let whole = mixed();
    let mut bare = mixed();
    (bare.velocities, bare.ids, bare.masses, bare.types) = (None, None, Masses::Unknown, vec![]);
    let mut open = options(5, Some(CenterKind::CenterOfMass));
    (open.open, open.linking_length) = (true, LinkingLength::Length(0.15));
    let mut chosen = options(3, Some(CenterKind::MostBound));
    chosen.columns = vec!["fof_halo_count".into(), "fof_halo_mass".into()];
    for whole in [&whole, &bare] {
        for options in [&options(2, Some(CenterKind::MostBound)), &open, &chosen] {
            for share in distributions() {
                let range = share.of(1000, ranks);
                compare(ranks, whole, options, &part(whole, range.clone()), range.start);
            }
        }
    }
}

/// Tests with and without masses, in a box and in open space.
fn catalogs_by_hop(ranks: &dyn Communicator) {
    let whole = mixed();
    let mut bare = mixed();
    (bare.velocities, bare.ids, bare.masses, bare.types) = (None, None, Masses::Unknown, vec![]);
    for whole in [&whole, &bare] {
        for open in [false, true] {
            let mut options = options(5, Some(CenterKind::MostBound));
            options.open = open;
            options.finder = Finder::Hop(ropewalk::Hop::new(8.0).n_density(20).n_hop(12));
            let range = Distribution::Uneven.of(1000, ranks);
            compare(ranks, whole, &options, &part(whole, range.clone()), range.start);
        }
    }
}

fn hop_catalog_of_a_snapshot(ranks: &dyn Communicator) {
    static ONE_PROCESS: OnceLock<OneProcess> = OnceLock::new();
    let mut options = options(20, Some(CenterKind::MostBound));
    options.finder = Finder::Hop(ropewalk::Hop::new(80.0));
    let known = ONE_PROCESS.get_or_init(|| OneProcess::new(&options));
    let range = Distribution::Even.of(known.whole.points.len(), ranks);
    compare_with(ranks, known, &options, &part(&known.whole, range.clone()), range.start);
}

/// Three rows of particles through the whole box.
fn halos_without_centers_are_noted(ranks: &dyn Communicator) {
    let row = |y: f32| (0..100).flat_map(move |i| [i as f32 / 10.0, y, 5.0]);
    let points = [1.0, 4.0, 8.0].into_iter().flat_map(row).collect();
    let mut whole = Snapshot::new(Points::F32(Table::new(3, points).unwrap()));
    whole.box_size = Some(10.0);
    let mut options = options(2, Some(CenterKind::MostBound));
    options.linking_length = LinkingLength::Length(0.11);
    let range = Distribution::Even.of(300, ranks);
    compare(ranks, &whole, &options, &part(&whole, range.clone()), range.start);
}

fn a_snapshot_without_halos(ranks: &dyn Communicator) {
    for n in [0, 1, 5] {
        let points = (0..3 * n).map(|i| i as f32).collect();
        let mut whole = Snapshot::new(Points::F32(Table::new(3, points).unwrap()));
        whole.box_size = Some(100.0);
        let range = Distribution::Even.of(n, ranks);
        compare(ranks, &whole, &options(2, None), &part(&whole, range.clone()), range.start);
    }
    let clustered = clouds::clustered::<f64, 3>();
    let whole = Snapshot::new(Points::F64(Table::new(3, clustered.points.as_flattened().to_vec()).unwrap()));
    let range = Distribution::Even.of(clustered.points.len(), ranks);
    compare(ranks, &whole, &options(2, Some(CenterKind::MostBound)), &part(&whole, range.clone()), range.start);
}

fn refusals(ranks: &dyn Communicator) {
    let whole = mixed();
    let range = Distribution::Even.of(1000, ranks);
    let own = part(&whole, range.clone());
    let refused = |options: &Options, own: &Snapshot| {
        let pipeline = Pipeline::across(ranks, own, options);
        let measured = pipeline.and_then(|pipeline| pipeline.measure(&pipeline.find()?));
        measured.unwrap_err().to_string()
    };
    let mut spheres = options(2, None);
    spheres.overdensities = vec![Overdensity::Critical(200.0)];
    let one = ropewalk_pipeline::run(&whole, &spheres).unwrap_err().to_string();
    assert!(refused(&spheres, &own).ends_with(&one), "{one}");
    if ranks.size() > 1 {
        let mut other = options(2, None);
        other.most_connected = ranks.rank() == 1;
        assert!(refused(&other, &own).ends_with("options differ between ranks; all ranks must specify the same"));
    }
    let mut fast = own.clone();
    if let (Some(Points::F32(table)), true) = (&own.velocities, ranks.rank() + 1 == ranks.size()) {
        let mut speeds = table.as_slice().to_vec();
        // The velocity of a particle that is in no halo.
        speeds[3 * (whole.points.len() - 1 - range.start) + 1] = f32::NAN;
        fast.velocities = Some(Points::F32(Table::new(3, speeds).unwrap()));
    }
    assert!(refused(&options(2, None), &fast).contains("velocity"));
    if ranks.size() > 1 {
        let pairs = options(2, None);
        let mut subhalos = options(2, None);
        subhalos.finder = Finder::AdaptaHop { finder: ropewalk::halo::AdaptaHop::new(), unbind: false };
        assert!(refused(&subhalos, &own).contains("AdaptaHOP: not across ranks"));
        let pipeline = Pipeline::across(ranks, &own, &pairs).unwrap();
        assert!(pipeline.spanning_tree().unwrap_err().to_string().contains("spanning trees: not across ranks"));
    }
    // The error of one process for the whole snapshot.
    let mut narrow = options(2, None);
    narrow.box_size = Some(3.0);
    let one = ropewalk_pipeline::run(&whole, &narrow).unwrap_err().to_string();
    let told = refused(&narrow, &own);
    assert!(told == one || told == format!("rank 0: {one}"), "{told}");
    if ranks.size() > 1 {
        let mut without = own.clone();
        if ranks.rank() == 1 {
            without.velocities = None;
        }
        assert!(refused(&options(2, None), &without).contains("only some ranks pass velocities"));
    }
}
