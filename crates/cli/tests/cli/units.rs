//! One physical state in many units must give the same catalogue.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use ropewalk_io::{GadgetOptions, Masses, Points, Snapshot, Species, Table};

use crate::program::{Scratch, halos, run, sample};
use crate::reference::table;

/// The Hubble constant of the sample, in 100 km/s/Mpc.
const H: f64 = 0.68;
/// The options of all runs.
const OPTIONS: [&str; 6] = ["--so", "200c,200m,vir", "--min-members", "100", "--no-pictures", "--profiles=2"];

/// The units of a copy of the sample: factors of lengths and masses, and the scale factor.
#[derive(Clone, Copy)]
struct Case {
    length: f64,
    mass: f64,
    scale_factor: f64,
}

impl Case {
    /// Returns the factor between a column of the copy and that of the sample.
    fn factor(&self, name: &str) -> f64 {
        let velocities = ["_mean_v", "vel_disp", "vmax"];
        let lengths =
            ["_mean_x", "_mean_y", "_mean_z", "_center_x", "_center_y", "_center_z", "radius", "rvmax", "sod_halo_r"];
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if has(&["shell_inner", "shell_outer"]) {
            return self.length;
        }
        if has(&["density"]) {
            return self.mass / self.length.powi(3);
        }
        if name == "fof_halo_rvmax" || (has(&lengths) && !has(&velocities)) {
            self.length
        } else if has(&["mass", "sod_halo_m"]) && !has(&["half_mass"]) {
            self.mass
        } else {
            1.0
        }
    }

    /// Returns the cosmology of the header. With a = 1/2 the physical state is that of the sample: twice the comoving
    /// lengths, an eighth of the matter today, and the same expansion rate at that time.
    fn options(&self) -> GadgetOptions {
        let a = self.scale_factor;
        let omega_m = 0.31 * a.powi(3);
        // E^2 = omega_m a^-3 + (1 - omega_m - omega_lambda) a^-2 + omega_lambda = 1.
        let omega_lambda =
            if a == 1.0 { 0.69 } else { (1.0 - 0.31 - (1.0 - omega_m) / (a * a)) / (1.0 - 1.0 / (a * a)) };
        GadgetOptions::default()
            .time(a)
            .redshift(1.0 / a - 1.0)
            .box_size(32.0 * self.length)
            .omega_m(omega_m)
            .omega_lambda(omega_lambda)
            .hubble(H)
    }
}

fn scaled(points: &Points, factor: f64) -> Points {
    let Points::F32(table) = points else { panic!("the sample is in f32") };
    Points::F64(Table::new(3, table.as_slice().iter().map(|&x| f64::from(x) * factor).collect()).unwrap())
}

fn write_case(path: &Path, snapshot: &Snapshot, case: Case) {
    let Masses::Equal(mass) = snapshot.masses else { panic!("the sample's masses are equal") };
    let (positions, masses) = (scaled(&snapshot.points, case.length), Masses::Equal(mass * case.mass));
    let velocities = scaled(snapshot.velocities.as_ref().unwrap(), 1.0);
    let ids = snapshot.ids.as_deref();
    let species =
        Species { particle_type: 1, positions: &positions, velocities: Some(&velocities), ids, masses: &masses };
    ropewalk_io::write_gadget(path, &[species], &case.options()).unwrap();
}

#[track_caller]
fn assert_same(out: &Path, expected: &Path, case: Case) {
    for file in ["halos.ecsv", "profiles.ecsv"] {
        let (names, rows) = table(&out.join(file));
        let (expected_names, expected) = table(&expected.join(file));
        assert_eq!((&names, rows.len()), (&expected_names, expected.len()));
        assert!(rows.len() >= 40);
        for (row, expected) in rows.iter().zip(&expected) {
            for ((name, found), expected) in names.iter().zip(row).zip(expected) {
                let found = found / case.factor(name);
                let same =
                    (found - expected).abs() <= 1e-6 * expected.abs() + 1e-12 || (found.is_nan() && expected.is_nan());
                assert!(same, "{name} is {found}, should be {expected}");
            }
        }
    }
}

fn expected(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("expected");
    halos(&sample(), &path, &OPTIONS).success();
    path
}

const LENGTHS: [(&str, f64); 4] = [("Mpc/h", 1.0), ("kpc/h", 1e3), ("Mpc", 1.0 / H), ("kpc", 1e3 / H)];
const MASSES: [(&str, f64); 4] = [("1e10 Msun/h", 1.0), ("Msun/h", 1e10), ("1e10 Msun", 1.0 / H), ("Msun", 1e10 / H)];

/// Units inferred from the mean density of matter, and units of options.
#[test]
fn gadget_snapshots() {
    let scratch = Scratch::new();
    let expected = expected(&scratch);
    let snapshot = ropewalk_io::read(sample(), &ropewalk_io::ReadOptions::default()).unwrap();
    for (length_unit, length) in LENGTHS {
        for (mass_unit, mass) in [MASSES[0], MASSES[3]] {
            for scale_factor in [1.0, 0.5] {
                let case = Case { length: length / scale_factor, mass, scale_factor };
                let path = scratch.path("snapshot");
                write_case(&path, &snapshot, case);
                let out = scratch.path("out");
                let report = halos(&path, &out, &OPTIONS).success();
                let told = format!(
                    "lengths in comoving {length_unit}, masses in {mass_unit}, velocities in km/s, inferred from the mean"
                );
                assert!(report.contains(&told), "{report}");
                assert_same(&out, &expected, case);
                let units = ["--length-unit", length_unit, "--mass-unit", mass_unit, "--velocity-unit", "gadget"];
                halos(&path, &out, &[&OPTIONS[..], &units].concat()).success();
                assert_same(&out, &expected, case);
            }
        }
    }
}

/// Units from the header of the file, the only source for physical lengths at a = 1/2.
#[test]
fn tables_with_units() {
    let scratch = Scratch::new();
    let expected = expected(&scratch);
    let snapshot = ropewalk_io::read(sample(), &ropewalk_io::ReadOptions::default()).unwrap();
    let rows = |points: &Points| scaled(points, 1.0);
    let (Points::F64(positions), Points::F64(velocities)) =
        (rows(&snapshot.points), rows(snapshot.velocities.as_ref().unwrap()))
    else {
        panic!("scaled points are f64")
    };
    let (ids, Masses::Equal(mass)) = (snapshot.ids.unwrap(), snapshot.masses) else { panic!("masses are equal") };
    let cases = [
        ("kpc / littleh", "1e10 solMass / littleh", "km / s", 1e3, 1.0, 1.0, "0"),
        ("pkpc", "solMass", "km/s sqrt(a)", 1e3 / H, 1e10 / H, 2f64.sqrt(), "1"),
    ];
    for (length_unit, mass_unit, velocity_unit, length, mass_factor, velocity, redshift) in cases {
        let mut text =
            "# %ECSV 1.0\n# ---\n# delimiter: ','\n# datatype:\n# - {name: id, datatype: uint64}\n".to_string();
        let columns = [(["x", "y", "z"], length_unit), (["vx", "vy", "vz"], velocity_unit)];
        for (names, unit) in columns {
            names
                .iter()
                .for_each(|name| writeln!(text, "# - {{name: {name}, unit: {unit}, datatype: float64}}").unwrap());
        }
        writeln!(text, "# - {{name: mass, unit: {mass_unit}, datatype: float64}}\n# schema: astropy-2.0").unwrap();
        text.push_str("id,x,y,z,vx,vy,vz,mass\n");
        for ((id, at), v) in ids.iter().zip(positions.rows::<3>().unwrap()).zip(velocities.rows::<3>().unwrap()) {
            let (at, v) = (at.map(|x| x * length), v.map(|x| x * velocity));
            writeln!(text, "{id},{},{},{},{},{},{},{}", at[0], at[1], at[2], v[0], v[1], v[2], mass * mass_factor)
                .unwrap();
        }
        let path = scratch.write("table.ecsv", text);
        let case = Case { length, mass: mass_factor, scale_factor: 1.0 };
        let GadgetOptions { omega_m, omega_lambda, .. } =
            Case { scale_factor: if redshift == "1" { 0.5 } else { 1.0 }, ..case }.options();
        let (omega_m, omega_lambda) = (omega_m.to_string(), omega_lambda.to_string());
        let side = (32.0 * length).to_string();
        let known = [
            "--box",
            &side,
            "--omega-m",
            &omega_m,
            "--omega-lambda",
            &omega_lambda,
            "--h",
            "0.68",
            "--redshift",
            redshift,
        ];
        let out = scratch.path("out");
        let report = halos(&path, &out, &[&OPTIONS[..], &known].concat()).success();
        assert!(report.contains(", as specified"), "{report}");
        assert_same(&out, &expected, case);
    }
}

/// Units that neither the file nor the density determines are not guessed.
#[test]
fn what_does_not_fit_is_refused() {
    let scratch = Scratch::new();
    let snapshot = ropewalk_io::read(sample(), &ropewalk_io::ReadOptions::default()).unwrap();
    let path = scratch.path("gas");
    let case = Case { length: 1.0, mass: 0.157, scale_factor: 1.0 };
    write_case(&path, &snapshot, case);
    let refused = halos(&path, &scratch.path("out"), &OPTIONS).error();
    assert!(
        ["--so", "omega_m = 0.31", "0.157 times the mass expected", "--length-unit"]
            .iter()
            .all(|part| refused.contains(part)),
        "{refused}"
    );
    assert!(refused.ends_with("the masses, or give --length-unit and --mass-unit"), "{refused}");
    // Halos alone need no units; the report says that they are unknown.
    let report = halos(&path, &scratch.path("out"), &[]).success();
    assert!(report.contains("the units of lengths and masses are not known"), "{report}");
    assert!(report.contains("no expected mass functions"), "{report}");
    let catalog = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    assert!(
        catalog.lines().filter(|line| line.contains("unit: ")).all(|line| line.contains("unit: km / s")),
        "{catalog}"
    );
    let told = ["--length-unit", "Mpc/h", "--mass-unit", "1e10 Msun/h"];
    let report = halos(&path, &scratch.path("out"), &[&OPTIONS[..], &told].concat()).success();
    assert!(report.contains("matter          0.157 of omega_m"), "{report}");

    let refused = run(["halos", "x", "--out", "y", "--length-unit", "parsec"]);
    assert!(refused.status == 2 && refused.line().contains("kpc/h"));
}

/// An invalid cosmology in the header loses the expected curves, not the catalogue.
#[test]
fn odd_universes() {
    let scratch = Scratch::new();
    let snapshot = ropewalk_io::read(sample(), &ropewalk_io::ReadOptions::default()).unwrap();
    let Masses::Equal(mass) = snapshot.masses else { panic!("masses are equal") };
    let odd = [
        GadgetOptions::default().omega_m(0.03).omega_lambda(0.97),
        GadgetOptions::default().redshift(-1.0).omega_m(0.31),
        GadgetOptions::default().omega_m(0.31).omega_lambda(f64::NAN),
    ];
    for (i, options) in odd.into_iter().enumerate() {
        let options = options.box_size(32.0).hubble(H);
        let masses = Masses::Equal(mass * options.omega_m / 0.31);
        let species =
            Species { particle_type: 1, positions: &snapshot.points, velocities: None, ids: None, masses: &masses };
        let path = scratch.path("odd");
        ropewalk_io::write_gadget(&path, &[species], &options).unwrap();
        let run = |options: &[&str]| halos(&path, &scratch.path("out"), options);
        let few = ["--min-members", "300"];
        if i == 1 {
            // A redshift of -1 and a time of 1 contradict each other, so the unit of velocities is unknown.
            assert!(run(&few).error().contains("--velocity-unit"));
            assert!(run(&["--velocity-unit", "km/s"]).error().contains("has redshift -1; it must be above -1"));
            continue;
        }
        let report = run(&few).success();
        assert_eq!(report.contains("no expected mass functions"), i > 0, "{report}");
        assert_eq!(run(&["--so", "200c"]).status, i32::from(i > 0));
    }
}

/// Spheres of fewer than 20 particles have no mass and no radius.
#[test]
fn small_spheres_are_nan() {
    let scratch = Scratch::new();
    halos(&sample(), &scratch.path("out"), &["--so", "500c", "--no-pictures"]).success();
    let (names, rows) = table(&scratch.path("out/halos.ecsv"));
    let column = |name: &str| names.iter().position(|other| other == name).unwrap();
    let [count, mass, radius, spin] =
        ["sod_halo_count_500c", "sod_halo_m500c", "sod_halo_r500c", "fof_halo_spin"].map(column);
    let small = rows.iter().filter(|row| row[count] < 20.0).count();
    assert!(small > 100 && small < rows.len());
    for row in &rows {
        assert!([mass, radius, spin].iter().all(|&i| row[i].is_nan() == (row[count] < 20.0)), "{row:?}");
    }
}

/// Labels correspond to rows of the catalogue.
#[test]
fn labels_join_the_catalogue() {
    let scratch = Scratch::new();
    halos(&sample(), &scratch.path("out"), &["--no-pictures"]).success();
    let (names, rows) = table(&scratch.path("out/halos.ecsv"));
    let column = |name: &str| names.iter().position(|other| other == name).unwrap();
    let file = fs::File::open(scratch.path("out/labels.npy")).unwrap();
    let labels: Vec<i32> = npyz::NpyFile::new(std::io::BufReader::new(file)).unwrap().into_vec().unwrap();
    for row in rows.iter().take(50) {
        let label = row[column("fof_halo_label")] as i32;
        assert_eq!(labels.iter().filter(|&&other| other == label).count() as f64, row[column("fof_halo_count")]);
    }
}

/// Returns a table of a few particles as enhanced CSV; `of` has the unit of each column.
fn few(of: &[(&str, &str)], meta: &str) -> String {
    let mut text = "# %ECSV 1.0\n# ---\n# datatype:\n".to_string();
    for (name, unit) in of {
        writeln!(text, "# - {{name: {name}, unit: {unit}, datatype: float64}}").unwrap();
    }
    text += meta;
    text += "x,y,z,vx,vy,vz,mass\n";
    for i in 0..60 {
        let (t, r) = (f64::from(i), 0.01 * f64::from(i % 7 + 1));
        let [x, y, z] = [5.0 + r * t.sin(), 5.0 + r * t.cos(), 5.0 + 0.02 * (3.0 * t).sin()];
        writeln!(text, "{x},{y},{z},{},{},{},10", 300.0 * t.cos(), -200.0 * t.sin(), 50.0 * (5.0 * t).cos()).unwrap();
    }
    text
}

const KNOWN: [&str; 14] = [
    "--length-unit",
    "Mpc/h",
    "--mass-unit",
    "1e10 Msun/h",
    "--box",
    "10",
    "--omega-m",
    "0.3",
    "--eps",
    "0.1",
    "--so",
    "200c",
    "--no-pictures",
    "--threads=1",
];

/// The spin does not depend on the order of the axes, because velocities follow their coordinates.
#[test]
fn velocities_follow_coordinates() {
    let scratch = Scratch::new();
    let path = scratch.write("few.csv", few(&[], ""));
    let spin = |order: &str| {
        let options = ["--velocity-unit", "km/s", "--coordinates", order];
        halos(&path, &scratch.path("out"), &[&KNOWN[..], &options].concat()).success();
        let (names, rows) = table(&scratch.path("out/halos.ecsv"));
        rows[0][names.iter().position(|name| name == "fof_halo_spin").unwrap()]
    };
    let expected = spin("x,y,z");
    assert!(expected > 0.0);
    for order in ["y,z,x", "y,x,z"] {
        assert!((spin(order) / expected - 1.0).abs() < 1e-6, "{order}");
    }
}

/// Velocities of unknown unit have no unit in the catalogue, and no spin.
#[test]
fn velocities_without_unit() {
    let scratch = Scratch::new();
    let path = scratch.write("few.csv", few(&[], ""));
    let report = halos(&path, &scratch.path("out"), &KNOWN).success();
    assert!(report.contains("no spins") && !report.contains("km/s") && report.contains("unknown redshift"), "{report}");
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    assert!(
        text.contains("name: fof_halo_mean_vx, datatype") && text.contains("name: fof_halo_vmax, unit: km / s"),
        "{text}"
    );
    assert!(!text.contains("fof_halo_spin") && !text.contains("- {redshift"));
}

/// Units and redshift in the header of a table are used.
#[test]
fn headers_of_tables() {
    let scratch = Scratch::new();
    let units = [("x", "Mpc / littleh"), ("y", "lyr"), ("z", "Mpc / littleh")];
    let path = scratch.write("mixed.ecsv", few(&units, ""));
    let refused = halos(&path, &scratch.path("out"), &KNOWN).error();
    assert!(refused.contains("column y has lyr"), "{refused}");

    let units = ["x", "y", "z"].map(|name| (name, "Mpc / littleh"));
    let path = scratch.write("far.ecsv", few(&units, "# meta: !!omap\n# - {redshift: 1.0}\n"));
    halos(&path, &scratch.path("out"), &KNOWN).success();
    assert!(fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap().contains("# - {redshift: 1}"));

    // A catalogue with physical lengths is read back in the same units.
    let path = scratch.write("few.csv", few(&[], ""));
    let physical = ["--length-unit", "pMpc/h", "--redshift", "1"];
    halos(&path, &scratch.path("physical"), &[&KNOWN[2..], &physical].concat()).success();
    let means = ["--coordinates", "fof_halo_mean_x,fof_halo_mean_y,fof_halo_mean_z", "--eps", "0.1", "--no-pictures"];
    let told = ["--mass-unit", "Msun/h"];
    let report =
        halos(&scratch.path("physical/halos.ecsv"), &scratch.path("out"), &[&means[..], &told].concat()).success();
    assert!(report.contains("lengths in physical Mpc/h"), "{report}");
}

/// Contradictory options are refused before the work. Without halos, the chosen columns form a table without rows.
#[test]
fn columns_are_those_asked_for() {
    let scratch = Scratch::new();
    let refused = |options: &[&str]| halos(&sample(), &scratch.path("out"), options).error();
    assert!(refused(&["--so", "200c,0200c"]).contains("twice"));
    assert!(refused(&["--columns", "fof_halo_tag,fof_halo_tag"]).contains("twice"));
    assert!(refused(&["--center", "mbp,com"]).contains("must be mcp"));
    let options =
        ["--center", "mbp", "--so", "200c", "--min-members", "100000", "--columns", "fof_halo_center_id,fof_halo_spin"];
    halos(&sample(), &scratch.path("out"), &options).success();
    assert_eq!(table(&scratch.path("out/halos.ecsv")).1.len(), 0);
}

/// Figures, report and summary use the units of the catalogue.
#[test]
fn figures_and_reports_follow_units() {
    let scratch = Scratch::new();
    let json = scratch.path("summary.json");
    let summary = json.display().to_string();
    let options = ["--units", "physical", "--json", &summary, "--format", "svg", "--min-members", "100"];
    let printed = halos(&sample(), &scratch.path("out"), &options).success();
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let factor = 1.0 / (number(&summary["h"]) * (1.0 + number(&summary["redshift"])));
    assert!((number(&summary["box"]) / (32.0 * factor) - 1.0).abs() < 1e-12, "{summary}");
    let length = number(&summary["runs"][0]["linking_length"]);
    assert!((length / (0.1 * factor) - 1.0).abs() < 1e-6, "{summary}");
    assert!(printed.contains("report units    lengths in physical Mpc"), "{printed}");
    for name in ["mass_function.svg", "projection.svg"] {
        let text = fs::read_to_string(scratch.path("out").join(name)).unwrap();
        assert!(text.contains("physical Mpc") && !text.contains("Mpc/h"), "{name}");
    }
}
