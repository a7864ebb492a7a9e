//! Particles that are only a part of the matter in their box, as in zoom runs. Mean separations and densities are
//! those of a box full of such particles, and reports note this.

use ropewalk::distributed::{Communicator, on_threads};
use ropewalk::{AdaptaHop, Hop};
use ropewalk_io::{Masses, Points, Snapshot, Table, TypeRun};
use ropewalk_pipeline::{Finder, LinkingLength, Note, Options, Pipeline};
use ropewalk_table::columns::Meta;

const SIDE: f64 = 10.0;
const OMEGA_M: f64 = 0.3;
/// The mass of each of 20^3 particles that are all matter of the box, in 1e10 Msun/h for Mpc/h.
const MASS: f64 = OMEGA_M * 27.753_662_7 / 8.0;

/// Returns particles of a 20^3 lattice in the corner `[0, edge)^3`, shifted by `shift`.
fn lattice(edge: usize, shift: f64) -> Vec<[f64; 3]> {
    let place = |i: usize| [i / edge / edge, i / edge % edge, i % edge].map(|k| 0.5 * k as f64 + shift);
    (0..edge.pow(3)).map(place).collect()
}

/// Returns particles of one type in a box with known units and matter.
fn snapshot(rows: Vec<[f64; 3]>, kind: u8, mass: f64, file_types: &[(u8, u64)], matter: f64) -> Snapshot {
    let count = rows.len();
    let mut snapshot = Snapshot::new(Points::F64(Table::new(3, rows.into_flattened()).unwrap()));
    snapshot.types = vec![TypeRun { particle_type: kind, count }];
    snapshot.masses = Masses::Equal(mass);
    snapshot.file_types = file_types.to_vec();
    snapshot.box_size = Some(SIDE);
    snapshot.background.omega_m = Some(OMEGA_M);
    snapshot.units.length = Some("Mpc/h".parse().unwrap());
    snapshot.units.mass = Some("1e10 Msun/h".parse().unwrap());
    snapshot.matter = Some(matter);
    snapshot
}

const ZOOM: [(u8, u64); 2] = [(1, 1000), (2, 875)];
const ALL: f64 = 8000.0 * MASS;

/// Returns an eighth of the box in high-resolution particles; the rest of the file is type 2.
fn zoom() -> Snapshot {
    snapshot(lattice(10, 0.0), 1, MASS, &ZOOM, ALL)
}

fn notes(pipeline: &Pipeline<'_>) -> Vec<String> {
    let meta = pipeline.meta();
    let lines = meta.iter().find_map(|(name, value)| match value {
        Meta::Lines(lines) if *name == "notes" => Some(lines.clone()),
        _ => None,
    });
    lines.unwrap_or_default()
}

#[test]
fn separations_are_those_of_a_full_box() {
    let (options, zoom) = (Options::default(), zoom());
    let pipeline = Pipeline::new(&zoom, &options).unwrap();
    let scales = pipeline.scales();
    assert!((scales.linking_length / 0.1 - 1.0).abs() < 1e-6, "{scales:?}");
    assert!((scales.share_of_matter.unwrap() / 0.125 - 1.0).abs() < 1e-6, "{scales:?}");
    assert_eq!((scales.separations, scales.volume), (Some(0.2), 1000.0));
    assert!(pipeline.meta().iter().any(|(name, _)| *name == "share_of_matter"));
    let said = "particles of type 1 have 12.5% of the matter of the box (omega_m times the critical density): the mean separation is that \
                within the volume that these particles fill; mass functions divide by the volume of the whole box";
    assert!(notes(&pipeline).contains(&said.to_string()), "{:?}", notes(&pipeline));
    assert_eq!(pipeline.part_of_volume().as_deref(), Some("12.5% of the matter of the box"));
    let output = ropewalk_pipeline::run(&zoom, &options).unwrap();
    assert!(output.notes.iter().any(|note| matches!(note, Note::PartOfVolume(_))), "{:?}", output.notes);

    // A linking length of the user is kept, but mass functions still divide by the volume of the whole box.
    let mut own = Options::default();
    own.linking_length = LinkingLength::Length(0.3);
    let pipeline = Pipeline::new(&zoom, &own).unwrap();
    assert_eq!(pipeline.scales().linking_length, 0.3);
    let said = notes(&pipeline);
    assert!(said.iter().any(|note| note.contains("mass functions divide") && !note.contains("separation")), "{said:?}");
}

/// Gas in the zoomed region counts as matter that fills it, and low-resolution dark matter does not.
#[test]
fn baryons_count_and_coarse_particles_do_not() {
    let types = [(0, 1000), (1, 1000), (2, 875)];
    let dark = snapshot(lattice(10, 0.0), 1, 0.84 * MASS, &types, ALL);
    let mut others = snapshot(lattice(10, 0.2), 0, 0.16 * MASS, &types, ALL);
    let Points::F64(gas) = &others.points else { panic!() };
    let coarse: Vec<f64> = lattice(5, 5.0).into_flattened();
    others.points = Points::F64(Table::new(3, [gas.as_slice(), &coarse].concat()).unwrap());
    others.types.push(TypeRun { particle_type: 2, count: 125 });
    others.masses = Masses::Each([vec![0.16 * MASS; 1000], vec![8.0 * MASS; 125]].concat());
    let options = Options::default();
    let pipeline = Pipeline::new(&dark, &options).unwrap().attaching(&others).unwrap();
    assert!((pipeline.scales().linking_length / 0.1 - 1.0).abs() < 1e-6, "{:?}", pipeline.scales());
    let said = notes(&pipeline);
    assert!(said.iter().any(|note| note.starts_with("particles of types 0 and 1 have 12.5%")), "{said:?}");

    for n_ranks in [1, 3] {
        let lengths = on_threads(n_ranks, |ranks| {
            let part = |whole: &Snapshot| {
                let mut part = whole.clone();
                if ranks.rank() > 0 {
                    part.points = Points::F64(Table::new(3, vec![]).unwrap());
                    part.types.iter_mut().for_each(|run| run.count = 0);
                    part.masses =
                        if let Masses::Each(_) = whole.masses { Masses::Each(vec![]) } else { whole.masses.clone() };
                }
                part
            };
            let (dark, others) = (part(&dark), part(&others));
            let pipeline = Pipeline::across(ranks, &dark, &options)?.attaching(&others)?;
            Ok((pipeline.scales().linking_length, notes(&pipeline)))
        });
        for (length, lines) in lengths.unwrap() {
            assert_eq!((length, &lines), (pipeline.scales().linking_length, &said));
        }
    }
}

#[test]
fn full_boxes_stay_as_they_are() {
    let full = snapshot(lattice(20, 0.0), 1, MASS, &[(1, 8000)], ALL);
    // Stars are a small share of the matter, and fill the box together with the other types.
    let stars = snapshot(lattice(10, 0.0), 4, 0.001, &[(1, 8000), (4, 1000)], ALL);
    let options = Options::default();
    for (snapshot, n) in [(&full, 8000.0), (&stars, 1000.0f64)] {
        let pipeline = Pipeline::new(snapshot, &options).unwrap();
        assert_eq!(pipeline.scales().linking_length, 0.2 * (SIDE.powi(3) / n).cbrt());
        assert_eq!((pipeline.scales().share_of_matter, pipeline.part_of_volume()), (None, None));
        assert!(!notes(&pipeline).iter().any(|note| note.contains("of the matter of the box")));
    }
}

/// The unit of densities in HOP and AdaptaHOP is the mean density of a box full of such particles.
#[test]
fn densities_are_in_mean_densities_of_a_full_box() {
    let full = snapshot(lattice(20, 0.0), 1, MASS, &[(1, 8000)], ALL);
    let mut options = Options::default();
    options.finder = Finder::Hop(Hop::new(80.0).n_density(8).n_hop(8));
    options.min_members = 2;
    let density = |snapshot: &Snapshot, place: usize| {
        let pipeline = Pipeline::new(snapshot, &options).unwrap();
        pipeline.find().unwrap().density().unwrap()[place]
    };
    // The same particle in both, far from the edges of the zoomed region.
    let (inside, whole) = (density(&zoom(), 555), density(&full, (5 * 20 + 5) * 20 + 5));
    assert!((inside / whole - 1.0).abs() < 1e-6, "{inside} {whole}");

    options.finder = Finder::AdaptaHop { finder: AdaptaHop::new(), unbind: false };
    let zoom = zoom();
    let said = notes(&Pipeline::new(&zoom, &options).unwrap());
    assert!(said.iter().any(|note| note.contains("the mean density is that within the volume")), "{said:?}");
}

/// Without masses or omega_m, nothing is inferred, and a note names what is missing.
#[test]
fn what_is_missing_is_said() {
    let mut without = zoom();
    without.background.omega_m = None;
    let mut bare = zoom();
    (bare.masses, bare.matter) = (Masses::Unknown, None);
    let options = Options::default();
    for (snapshot, lacks) in [(&without, "omega_m is unknown"), (&bare, "masses are unknown")] {
        let pipeline = Pipeline::new(snapshot, &options).unwrap();
        assert_eq!(pipeline.scales().linking_length, 0.2);
        let said = notes(&pipeline);
        let is_said = |note: &String| note.contains("the file also has type 2") && note.contains(lacks);
        assert!(said.iter().any(is_said), "{said:?}");
        let output = ropewalk_pipeline::run(snapshot, &options).unwrap();
        assert!(output.notes.iter().any(|note| matches!(note, Note::FillingUnknown(_))), "{:?}", output.notes);
    }
}
