//! Formats and quantities: after writing and reading, each quantity is equal, reported as lost, or was rejected.

use ropewalk::units::{KnownUnits, Units};
use ropewalk_io::{Background, Masses, Points, Snapshot, SnapshotFormat, TypeRun, write_snapshot};

use super::expected::{flat, types};
use super::{Folder, all, f32s, f64s};

const ENDINGS: [&str; 9] = ["hdf5", "gadget1", "gadget2", "npz", "npy", "csv", "ecsv", "tipsy", "parquet"];

/// Returns six particles, 0 to 5, with all quantities.
fn complete(wide: bool) -> Snapshot {
    let values = (0..18).map(|i| f64::from(i) / 3.0);
    let table = |values: Vec<f64>| match wide {
        true => f64s(3, values),
        false => f32s(3, values.into_iter().map(|x| x as f32).collect::<Vec<f32>>()),
    };
    let mut snapshot = Snapshot::new(table(values.clone().collect()));
    snapshot.types = [(0, 2), (1, 3), (4, 1)].map(|(particle_type, count)| TypeRun { particle_type, count }).to_vec();
    snapshot.velocities = Some(table(values.map(|x| 100.0 * x - 7.0).collect()));
    snapshot.ids = Some(vec![u64::from(u32::MAX) + 1, 2, 3, 4, 5, 1 << 62]);
    // Multiples of 1/2 have few digits, multiples of 1/3 do not.
    snapshot.masses = Masses::Each(vec![0.5, 1.0 / 3.0, 0.1, 0.1, 0.1, 0.7]);
    snapshot.box_size = Some(10.0);
    snapshot.redshift = Some(0.0);
    snapshot.background = Background { omega_m: Some(0.3), omega_lambda: Some(0.7), h: Some(0.7) };
    snapshot.units = Units::GADGET.into();
    snapshot
}

type Change = fn(&mut Snapshot);

/// The quantities that a snapshot may lack.
const CHANGES: [(&str, Change); 10] = [
    ("nothing", |_| {}),
    ("redshift", |snapshot| snapshot.redshift = None),
    ("box", |snapshot| snapshot.box_size = None),
    ("cosmology", |snapshot| snapshot.background = Background::default()),
    ("units", |snapshot| snapshot.units = KnownUnits::default()),
    ("velocity unit", |snapshot| snapshot.units.velocity = None),
    ("velocities", |snapshot| snapshot.velocities = None),
    ("ids", |snapshot| snapshot.ids = None),
    ("masses", |snapshot| snapshot.masses = Masses::Equal(0.1)),
    ("types", |snapshot| snapshot.types = vec![TypeRun { particle_type: 1, count: 6 }]),
];

fn masses(snapshot: &Snapshot) -> Vec<f64> {
    match &snapshot.masses {
        Masses::Each(masses) => masses.clone(),
        Masses::Equal(mass) => vec![*mass; snapshot.points.len()],
        _ => vec![],
    }
}

fn near(a: Option<&Points>, b: Option<&Points>, factor: f64) -> bool {
    let [a, b] = [a, b].map(|points| points.map(flat).unwrap_or_default());
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a * factor - b).abs() <= 2e-7 * b.abs())
}

/// Returns the quantities that differ, each with a word that the report must contain.
fn lost(own: &Snapshot, back: &Snapshot) -> Vec<(&'static str, &'static str)> {
    let km_s = |snapshot: &Snapshot| snapshot.units.velocity.map_or(1.0, |unit| unit.km_s);
    let bare = |snapshot: &Snapshot| types(snapshot).iter().all(|&kind| kind == 1);
    let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs(),
        (a, b) => a == b,
    };
    let (a, b) = (own.background, back.background);
    let cosmology = close(a.omega_m, b.omega_m) && close(a.omega_lambda, b.omega_lambda) && close(a.h, b.h);
    // Either snapshot may have units that the other lacks, but units in the file must be equal.
    let scale = |snapshot: &Snapshot| {
        let h = |per_h: bool| if per_h { 0.7 } else { 1.0 };
        let KnownUnits { length, mass, .. } = snapshot.units;
        (length.map(|unit| unit.mpc / h(unit.per_h)), mass.map(|unit| unit.msun / h(unit.per_h)))
    };
    let ((own_length, own_mass), (length, mass)) = (scale(own), scale(back));
    let close_units =
        |a: Option<f64>, b: Option<f64>| a.is_none() || b.is_some() && (a.unwrap() / b.unwrap() - 1.0).abs() < 1e-12;
    let checks = [
        (flat(&own.points) == flat(&back.points), "positions", "positions"),
        (near(own.velocities.as_ref(), back.velocities.as_ref(), km_s(own) / km_s(back)), "velocities", "velocities"),
        (own.ids == back.ids, "ids", "ids"),
        (masses(own) == masses(back), "masses", "masses"),
        (types(own) == types(back) || bare(own) && bare(back), "types", "types"),
        (close(own.box_size, back.box_size), "box", "the box"),
        (close(own.redshift, back.redshift), "redshift", "redshift"),
        (cosmology, "cosmology", "the cosmology"),
        (close_units(own_length, length) && close_units(own_mass, mass), "units", "units"),
        (
            own.velocities.is_none() || own.units.velocity.is_some() == back.units.velocity.is_some(),
            "velocity unit",
            "unit",
        ),
    ];
    checks.into_iter().filter(|(is_same, ..)| !is_same).map(|(_, what, word)| (what, word)).collect()
}

#[test]
fn nothing_is_lost_in_silence() {
    let folder = Folder::new("losses");
    let mut report = vec![];
    for (wide, ending) in [false, true].into_iter().flat_map(|wide| ENDINGS.map(|ending| (wide, ending))) {
        for (without, change) in CHANGES {
            let mut snapshot = complete(wide);
            change(&mut snapshot);
            let path = folder.file(&format!("{wide}-{}.{ending}", without.replace(' ', "-")));
            let format = SnapshotFormat::from_path(&path).unwrap();
            // An error names the quantities that cannot be written.
            if let Err(error) = write_snapshot(&path, &snapshot, format) {
                report.push(format!("{ending} without {without}: refused: {error}"));
                continue;
            }
            let back = all(&path).unwrap();
            let told: Vec<String> = format
                .changes(&snapshot)
                .into_iter()
                .chain(format.lacks(&snapshot).into_iter().map(String::from))
                .chain(format.lacks_units(&snapshot).map(|why| format!("units: {why}")))
                .collect();
            for (what, word) in lost(&snapshot, &back) {
                let is_told = told.iter().any(|text| text.contains(word));
                assert!(is_told, "{ending} without {without}, wide {wide}: {what} is lost; told: {told:?}\n{back:?}");
            }
        }
    }
    // Exactly these cases are rejected.
    let refused: Vec<&str> = report.iter().filter_map(|text| Some(text.split_once(": refused")?.0)).collect();
    let mut wanted = vec!["gadget1 without velocities", "gadget1 without ids"];
    wanted.extend(wanted.clone());
    assert_eq!(refused, wanted, "{report:#?}");
}

/// A common mass of a type keeps all digits. Other masses are rounded, which is reported.
#[test]
fn masses_of_tables() {
    let folder = Folder::new("mass-tables");
    let mut snapshot = complete(false);
    for (masses, ending, is_exact) in [
        (vec![1.0 / 3.0, 1.0 / 3.0, 0.1, 0.1, 0.1, 0.7], "gadget2", true),
        (vec![0.5, 0.25, 0.1, 0.1, 0.1, 0.7], "gadget2", true),
        (vec![0.5, 1.0 / 3.0, 0.1, 0.1, 0.1, 0.7], "gadget2", false),
        (vec![0.5, 1.0 / 3.0, 0.1, 0.1, 0.1, 0.7], "hdf5", true),
        (vec![0.5, 0.25, 0.5, 0.5, 0.5, 2.0], "tipsy", true),
        (vec![0.5, 0.25, 0.1, 0.1, 0.1, 2.0], "tipsy", false),
    ] {
        snapshot.masses = Masses::Each(masses.clone());
        let path = folder.file(&format!("snap.{ending}"));
        let format = SnapshotFormat::from_path(&path).unwrap();
        write_snapshot(&path, &snapshot, format).unwrap();
        let is_told = format.changes(&snapshot).iter().any(|text| text == "masses are rounded to 32-bit floats");
        let back = super::losses::masses(&all(&path).unwrap());
        assert_eq!((is_told, back == masses), (!is_exact, is_exact), "{ending} {masses:?} {back:?}");
    }
}
