//! Formats of catalogues by the ending of the name, and conversion to other units.

use std::fs;

use crate::program::{Output, Scratch, column, halos, sample};

#[test]
fn several_at_once() {
    let scratch = Scratch::new();
    let names = "halos.ecsv,plain.csv,halos.hdf5,halos.parquet";
    let options = ["--catalog", names, "--members", "--group-catalog", "--no-pictures"];
    halos(&sample(), &scratch.path("out"), &options).success();
    let written = [
        "fof_subhalo_tab_000.0.hdf5",
        "halos.ecsv",
        "halos.hdf5",
        "halos.parquet",
        "labels.npy",
        "members.npz",
        "plain.csv",
        "summary.json",
    ];
    assert_eq!(scratch.names("out"), written);
    let read = |name: &str| fs::read(scratch.path("out").join(name)).unwrap();
    let (ecsv, csv) = (read("halos.ecsv"), read("plain.csv"));
    let ecsv = String::from_utf8(ecsv).unwrap();
    let rows: String = ecsv.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(rows.as_bytes(), csv);
    assert!(read("halos.hdf5").starts_with(b"\x89HDF") && read("halos.parquet").starts_with(b"PAR1"));
    // Files of an earlier run that this run does not write are removed.
    halos(&sample(), &scratch.path("out"), &["--no-pictures"]).success();
    assert_eq!(scratch.names("out"), ["halos.ecsv", "labels.npy", "summary.json"]);

    // Standard output has the catalogue only.
    let output: Output = halos(&sample(), &scratch.path("o"), &["--catalog", "-", "--no-pictures"]);
    assert_eq!((output.status, scratch.names("o")), (0, ["labels.npy", "summary.json"].map(String::from).to_vec()));
    assert!(output.stdout == ecsv && output.stderr.contains("\nhalos "), "{}", output.stderr);

    let error = |options: &[&str]| halos(&sample(), &scratch.path("no"), options).error();
    assert!(error(&["--catalog", "halos.txt"]).contains("--catalog halos.txt: unknown extension"));
    assert!(error(&["--catalog", "a/halos.csv"]).contains("must be a file name without a folder"));
    assert!(error(&["--catalog", "a.csv,a.csv"]).contains("used for two outputs"));
    assert!(error(&["--catalog", "-", "--linking-lengths", "0.1,0.2"]).contains("can go to standard output"));
}

/// Numbers of particles without masses have no unit, even if a unit of masses is given, and are not converted.
#[test]
fn counts_are_no_masses() {
    let scratch = Scratch::new();
    let table = scratch.write("p.csv", "x,y,z\n1,1,1\n1,1,1.1\n1,1,1.2\n");
    let known = "--box 10 --eps 0.2 --min-members 2 --length-unit Mpc/h --h 0.7 --redshift 0 --units physical";
    let options: Vec<&str> = known.split(' ').chain(["--mass-unit", "1e10 Msun/h", "--group-catalog"]).collect();
    let printed = halos(&table, &scratch.path("out"), &options).success();
    let note = "the snapshot has no masses; masses are particle counts, without a unit, and are not converted";
    assert!(printed.contains("largest         3 particles, mass 3\n"), "{printed}");
    assert!(printed.contains(&format!("note            {note}\n")), "{printed}");
    let text = |name: &str| fs::read_to_string(scratch.path("out").join(name)).unwrap();
    for (name, column, first) in [("halos.ecsv", "fof_halo_mass", "3"), ("mass_function.ecsv", "mass_min", "2.5")] {
        let text = text(name);
        assert!(text.contains(note), "{text}");
        let declared = text.lines().find(|line| line.contains(&format!("name: {column},"))).unwrap();
        assert!(!declared.contains("unit:") && declared.contains("; number of particles"), "{declared}");
        let mut rows = text.lines().filter(|line| !line.starts_with('#'));
        let place = rows.next().unwrap().split(',').position(|name| name == column).unwrap();
        assert_eq!(rows.next().unwrap().split(',').nth(place), Some(first), "{text}");
    }
    assert!(text("mass_function.svg").contains("[particles]"));
}

/// The sample p3m_64 has h = 0.68 at redshift 0.
#[test]
fn other_units() {
    let scratch = Scratch::new();
    let catalog = |options: &[&str]| {
        halos(&sample(), &scratch.path("out"), &[options, &["--no-pictures", "--so", "200c"]].concat()).success();
        fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap()
    };
    let (own, h, physical) = (catalog(&[]), catalog(&["--units", "h"]), catalog(&["--units", "physical"]));
    assert!(h.contains("name: fof_halo_mass, unit: solMass / littleh,"), "{}", &h[..600]);
    assert!(physical.contains("name: fof_halo_mass, unit: solMass,"), "{}", &physical[..600]);
    let header = |text: &str, name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(&format!("# - {{{name}:"))).unwrap();
        line.rsplit(' ').next().unwrap().trim_end_matches('}').parse().unwrap()
    };
    let (little_h, a) = (header(&own, "h"), header(&own, "scale_factor"));
    assert!((header(&physical, "box_size") / (header(&own, "box_size") * a / little_h) - 1.0).abs() < 1e-12);
    for (name, to_h, to_physical) in [
        ("fof_halo_mass", 1e10, 1e10 / little_h),
        ("sod_halo_m200c", 1e10, 1e10 / little_h),
        ("fof_halo_mean_x", 1.0, a / little_h),
        ("sod_halo_r200c", 1.0, a / little_h),
        ("fof_halo_mean_vx", 1.0, 1.0),
        ("fof_halo_count", 1.0, 1.0),
    ] {
        let [own, h, physical] = [&own, &h, &physical].map(|text| column(text, name));
        for row in 0..own.len() {
            let is_near = |x: f64, factor: f64| (x - own[row] * factor).abs() <= 2e-8 * (own[row] * factor).abs();
            assert!(is_near(h[row], to_h) || own[row].is_nan(), "{name}: {} {}", own[row], h[row]);
            assert!(is_near(physical[row], to_physical) || own[row].is_nan(), "{name}: {} {}", own[row], physical[row]);
        }
    }
    let table = scratch.write("points.csv", "x,y,z\n0,0,0\n1,1,1\n");
    let line = halos(&table, &scratch.path("no"), &["--units", "h", "--min-members", "2", "--eps", "2"]).error();
    assert!(line.contains("--units: ") && line.contains("units"), "{line}");
}
