//! Particle types: several that are linked, others that are attached, and parts of the particles.

use std::fs;

use npyz::NpyFile;
use ropewalk::io::{GadgetOptions, Masses, Points, Species, Table, write_gadget};

use crate::program::{Scratch, halos, run};

/// A pair and a single of dark matter, gas and a star near the pair.
fn snapshot(scratch: &Scratch) -> std::path::PathBuf {
    let rows = |rows: &[[f32; 3]]| Points::F32(Table::new(3, rows.concat()).unwrap());
    let gas = rows(&[[1.0, 1.0, 0.5], [8.0, 8.0, 8.0]]);
    let dark = rows(&[[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [5.0, 5.0, 5.0]]);
    let star = rows(&[[1.0, 1.5, 2.0]]);
    let ids: Vec<u64> = (1..=6).collect();
    let of = |particle_type, positions, ids, masses| Species {
        particle_type,
        positions,
        velocities: Some(positions),
        ids: Some(ids),
        masses,
    };
    let gas_masses = Masses::Each(vec![0.5, 0.25]);
    let species = [
        of(0, &gas, &ids[..2], &gas_masses),
        of(1, &dark, &ids[2..5], &Masses::Equal(4.0)),
        of(4, &star, &ids[5..], &Masses::Equal(0.125)),
    ];
    let mut options = GadgetOptions::default();
    options.box_size = Some(10.0);
    let path = scratch.path("snap");
    write_gadget(&path, &species, &options).unwrap();
    path
}

#[test]
fn attached_types() {
    let scratch = Scratch::new();
    let path = snapshot(&scratch);
    let options = ["--eps", "1", "--min-members", "2", "--attach", "0,4", "--no-pictures"];
    let printed = halos(&path, &scratch.path("out"), &options).success();
    assert!(printed.contains("\nattached        2 of 3 joined a group\n"), "{printed}");
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row: Vec<&str> = lines.next().unwrap().split(',').collect();
    let value = |name: &str| row[names.iter().position(|other| *other == name).unwrap()];
    let counts = ["fof_halo_count", "fof_halo_count_type0", "fof_halo_count_type1", "fof_halo_count_type4"];
    assert_eq!(counts.map(value), ["2", "1", "2", "1"]);
    assert_eq!(["fof_halo_mass_type0", "fof_halo_mass_type1", "fof_halo_mass_type4"].map(value), ["0.5", "8", "0.125"]);
    assert_eq!(["fof_halo_count_total", "fof_halo_mass_total"].map(value), ["4", "8.625"]);
    assert_eq!((labels(&scratch, "out", 0), ids(&scratch, "out", 0)), (vec![0, -1], vec![1, 2]));
    assert_eq!((labels(&scratch, "out", 4), ids(&scratch, "out", 4)), (vec![0], vec![6]));
    assert!(!scratch.path("out/labels_type1.npy").exists());
    // The same types are attached where none are named.
    halos(&path, &scratch.path("default"), &["--eps", "1", "--min-members", "2", "--no-pictures"]).success();
    assert_eq!(
        fs::read(scratch.path("default/halos.ecsv")).unwrap(),
        fs::read(scratch.path("out/halos.ecsv")).unwrap()
    );

    let linked = ["--eps", "1", "--min-members", "2", "--type", "1,4", "--no-pictures"];
    let printed = halos(&path, &scratch.path("linked"), &linked).success();
    assert!(printed.contains("\ntypes           type 1: 3, type 4: 1\n"), "{printed}");
    assert!(printed.contains("largest         3 particles, mass 8.125, 8.625 with attached types\n"), "{printed}");
    assert_eq!(labels(&scratch, "linked", 1), [0, 0, -1]);
    assert_eq!((labels(&scratch, "linked", 4), ids(&scratch, "linked", 4)), (vec![0], vec![6]));

    let error = |options: &[&str]| halos(&path, &scratch.path("no"), options).error();
    assert!(error(&["--attach", "1"]).contains("type 1 is linked"));
    assert!(error(&["--attach", "0,0"]).contains("type 0 is named twice"));
    // Early snapshots of a series have no black holes yet.
    let printed = halos(&path, &scratch.path("early"), &["--attach", "5", "--no-pictures"]).success();
    assert!(printed.contains("\nattached        0 of 0 joined a group\n"), "{printed}");
    assert!(error(&["--attach", "0", "--finder", "adaptahop"]).contains("--attach"));
    assert!(error(&["--attach", "none,0"]).contains("none and types exclude each other"));
    let table = scratch.write("points.csv", "x,y,z\n1,2,3\n");
    assert!(halos(&table, &scratch.path("no"), &["--attach", "0"]).error().contains("has no particle types"));
}

/// Types that are not read: the report, the header, the columns and the summary say which, and what share of the mass they have.
#[test]
fn types_that_are_left_out() {
    let scratch = Scratch::new();
    let path = snapshot(&scratch);
    let json = scratch.path("summary.json");
    let summary = json.display().to_string();
    let options = ["--eps", "1", "--min-members", "2", "--attach", "none", "--no-pictures", "--json", &summary];
    let printed = halos(&path, &scratch.path("out"), &options).success();
    // 0.875 of 12.875.
    assert!(printed.contains("\nnot read        types 0 and 4: 6.8% of the mass in the file\n"), "{printed}");
    assert!(
        printed.contains("note            types 0 and 4 were not read (6.8% of the mass in the file); "),
        "{printed}"
    );
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    for line in [
        "# - {linked_types: \"1\"}\n",
        "# - {types_not_read: \"0, 4\"}\n",
        "# - {mass_share_not_read: 0.0679611650485",
        "\"mass of the members; over linked particles: type 1; types 0 and 4 not read, 6.8% of the mass in the file\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(summary["types_not_read"], serde_json::json!([0, 4]));
    assert_eq!(scratch.names("out"), ["halos.ecsv", "labels.npy", "summary.json"]);
    // Where all types are read nothing is said of others.
    let printed = halos(&path, &scratch.path("all"), &["--eps", "1", "--min-members", "2", "--no-pictures"]).success();
    assert!(!printed.contains("not read"), "{printed}");
}

fn array(scratch: &Scratch, folder: &str, name: &str) -> NpyFile<fs::File> {
    NpyFile::new(fs::File::open(scratch.path(folder).join(name)).unwrap()).unwrap()
}

fn labels(scratch: &Scratch, folder: &str, kind: u8) -> Vec<i32> {
    array(scratch, folder, &format!("labels_type{kind}.npy")).into_vec().unwrap()
}

fn ids(scratch: &Scratch, folder: &str, kind: u8) -> Vec<u64> {
    array(scratch, folder, &format!("ids_type{kind}.npy")).into_vec().unwrap()
}

#[test]
fn a_part_of_the_particles() {
    let scratch = Scratch::new();
    let sample = crate::program::sample();
    let printed = halos(&sample, &scratch.path("out"), &["--subsample", "0.5", "--no-pictures"]).success();
    let particles = printed.lines().next().unwrap().rsplit(' ').next().unwrap().replace(',', "");
    let particles: f64 = particles.parse().unwrap();
    assert!((particles / 131_072.0 - 1.0).abs() < 0.02, "{particles}");
    // All matter is that of the file.
    assert!(printed.contains("1 of omega_m times the critical density"), "{printed}");
    let line = halos(&sample, &scratch.path("no"), &["--subsample", "2"]).error();
    assert!(line.contains("subsample is 2"), "{line}");
}

/// Tables have types in a column: the same are linked and attached.
#[test]
fn the_same_types_of_each_format() {
    let scratch = Scratch::new();
    let path = snapshot(&scratch);
    let options =
        ["--eps", "1", "--min-members", "2", "--box", "10", "--type", "1", "--attach", "0,4", "--no-pictures"];
    let catalog = |path: &std::path::Path, out: &str| {
        let printed = halos(path, &scratch.path(out), &options).success();
        assert!(printed.contains("\nattached        2 of 3 joined a group\n"), "{printed}");
        let text = fs::read_to_string(scratch.path(out).join("halos.ecsv")).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).map(String::from).collect::<Vec<_>>()
    };
    let original = catalog(&path, "original");
    for ending in ["hdf5", "csv", "ecsv", "npz", "parquet"] {
        let table = scratch.path(&format!("table.{ending}"));
        let report = run([&"convert".into(), &path, &table]).success();
        assert!(!report.contains("types"), "{report}");
        assert_eq!(catalog(&table, ending), original, "{ending}");
    }
    let report = run([&"convert".into(), &path, &scratch.path("points.npy")]).success();
    assert!(report.contains("has no place for velocities, ids and masses, types"), "{report}");
    let table = scratch.path("table.parquet");
    let info = run(["info", table.to_str().unwrap()]).success();
    assert!(info.contains("type 4        1 (stars)\n") && info.contains("type: u64, read as types"), "{info}");
    assert!(
        halos(&table, &scratch.path("no"), &["--type", "3"]).error().contains("types present: 0 (2), 1 (3), 4 (1)")
    );
}
