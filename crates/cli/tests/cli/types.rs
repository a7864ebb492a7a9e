//! Particle types: several linked types, attached types, and samples of the particles.

use std::fs;

use npyz::NpyFile;
use ropewalk_io::{GadgetOptions, Masses, Points, Species, Table, write_gadget};

use crate::data::root;
use crate::program::{Scratch, halos, run};

/// Writes a snapshot with a pair and a single of dark matter, and gas and a star near the pair.
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
    // By default the same types are attached.
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
    assert!(error(&["--attach", "0,0"]).contains("type 0 is given twice"));
    let line = error(&["--attach", "0,2,5"]);
    assert!(line.contains("--attach: "), "{line}");
    assert!(line.ends_with("snap has no particles of type 2, 5; types present: 0 (2), 1 (3), 4 (1)"), "{line}");
    assert!(error(&["--attach", "none,0"]).contains("none cannot be combined with types"));
    let table = scratch.write("points.csv", "x,y,z\n1,2,3\n");
    assert!(halos(&table, &scratch.path("no"), &["--attach", "0"]).error().contains("has no particle types"));
}

/// Unread types, with their share of the mass, are listed in the report, the header, the columns and the summary.
#[test]
fn types_that_are_left_out() {
    let scratch = Scratch::new();
    let path = snapshot(&scratch);
    let json = scratch.path("summary.json");
    let summary = json.display().to_string();
    let options = ["--eps", "1", "--min-members", "2", "--attach", "none", "--no-pictures", "--json", &summary];
    let printed = halos(&path, &scratch.path("out"), &options).success();
    // A mass of 0.875 of 12.875.
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
    // If all types are read, the report does not mention unread types.
    let printed = halos(&path, &scratch.path("all"), &["--eps", "1", "--min-members", "2", "--no-pictures"]).success();
    assert!(!printed.contains("not read"), "{printed}");
}

/// The description of each column lists the types it is over, except if the name of the column does, or if the column
/// names halos.
#[test]
fn columns_say_which_types_they_are_over() {
    let scratch = Scratch::new();
    let path = snapshot(&scratch);
    let all = "--eps 1 --min-members 2 --center mbp,mcp --softening 0.1 --so 200c --min-so-particles 1 --no-pictures \
               --length-unit Mpc/h --mass-unit 1e10Msun/h --velocity-unit km/s --redshift 0 --omega-m 0.3 --h 0.7";
    let by_name = "count_type0 count_type1 count_type4 label mass_type0 mass_type1 mass_type4 tag";
    for (types, silent) in [("none", "label tag"), ("0,4", by_name)] {
        let options: Vec<&str> = all.split(' ').chain(["--attach", types]).collect();
        halos(&path, &scratch.path(types), &options).success();
        let text = fs::read_to_string(scratch.path(types).join("halos.ecsv")).unwrap();
        let columns: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# - {name: ")).collect();
        assert!(columns.len() >= 33, "{columns:?}");
        let mut names: Vec<&str> = columns
            .iter()
            .filter(|column| !column.contains("; over "))
            .filter_map(|column| column.split(',').next()?.strip_prefix("fof_halo_"))
            .collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), silent);
    }
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
    // The mass of all matter is that of the file.
    assert!(printed.contains("1 of omega_m times the critical density"), "{printed}");
    let line = halos(&sample, &scratch.path("no"), &["--subsample", "2"]).error();
    assert!(line.contains("subsample is 2"), "{line}");
}

/// A type column in a table has the same effect as the types of a snapshot.
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
    assert!(report.contains("cannot store velocities, ids, masses, types"), "{report}");
    let table = scratch.path("table.parquet");
    let info = run(["info", table.to_str().unwrap()]).success();
    assert!(info.contains("type 4        1 (stars)\n") && info.contains("type: u64, read as types"), "{info}");
    assert!(
        halos(&table, &scratch.path("no"), &["--type", "3"]).error().contains("types present: 0 (2), 1 (3), 4 (1)")
    );
}

/// Returns a stored snapshot with gas, dark matter, and a star near the dark matter.
fn stored(name: &str) -> std::path::PathBuf {
    root().join("tests/data/snapshots").join(name)
}

const PAIR: [&str; 5] = ["--eps", "1", "--min-members", "2", "--no-pictures"];

/// Types without ids have labels only, and other types keep their ids. The report and the header say so. No file is
/// empty.
#[test]
fn ids_of_some_types() {
    let scratch = Scratch::new();
    let options = [&PAIR[..], &["--members", "--group-catalog"]].concat();
    let lacking = "attached particles (type 4) have no readable ids; in lists of members they are indices from 0 among the \
                   particles of their type, and a group catalogue has no list of ids";
    for (name, note) in [
        ("stars_without_ids.hdf5", lacking),
        ("stars_with_float_ids.hdf5", "PartType4/ParticleIDs holds floats, among them 0.5"),
    ] {
        let printed = halos(&stored(name), &scratch.path(name), &options).success();
        assert!(printed.contains(note) && printed.contains("\nattached        2 of 3 joined a group\n"), "{printed}");
        assert!(printed.contains(&format!("\nnote            {lacking}\n")), "{printed}");
        let mut files =
            vec!["fof_subhalo_tab_000.0.hdf5", "halos.ecsv", "ids_type0.npy", "labels.npy", "labels_type0.npy"];
        files.extend(["labels_type4.npy", "members.npz", "summary.json"]);
        assert_eq!(scratch.names(name), files);
        assert_eq!((labels(&scratch, name, 0), labels(&scratch, name, 4)), (vec![0, -1], vec![0]));
        let text = fs::read_to_string(scratch.path(name).join("halos.ecsv")).unwrap();
        assert!(text.contains(note) && text.contains(lacking), "{text}");
        // The names of datasets and the notes are plain text in the file.
        let catalog = fs::read(scratch.path(name).join("fof_subhalo_tab_000.0.hdf5")).unwrap();
        let has = |text: &str| catalog.windows(text.len()).any(|bytes| bytes == text.as_bytes());
        assert!(has(lacking) && has("GroupLenType"));
        assert_eq!(has("IDs"), note.contains("ParticleIDs"), "a group of that name, or the note");
    }
    // Without any ids, the group catalogue and the report say so, too.
    let table = scratch.write("t.csv", "x,y,z,mass,type\n1,1,1,1,1\n1,1,1.5,1,1\n1,1.5,1,1,0\n");
    let printed = halos(&table, &scratch.path("table"), &[&options[..], &["--box", "10"]].concat()).success();
    let note = "\nnote            the snapshot has no particle ids; tags are indices from 0, and a group catalogue has no list of ids\n";
    assert!(printed.contains(note), "{printed}");
    // Ids that cannot be read, of linked or attached dark matter, and readable ids of gas.
    let linked = [&options[..], &["--type", "0", "--attach", "1"]].concat();
    halos(&stored("stars_without_ids.hdf5"), &scratch.path("gas"), &linked).success();
    assert_eq!(ids(&scratch, "gas", 1).len(), 3);
    let members = fs::File::open(scratch.path("stars_without_ids.hdf5/ids_type0.npy")).unwrap();
    let gas: Vec<u64> = NpyFile::new(members).unwrap().into_vec().unwrap();
    let linked = [&options[..], &["--type", "4", "--attach", "0,1"]].concat();
    halos(&stored("stars_without_ids.hdf5"), &scratch.path("star"), &linked).success();
    assert_eq!((ids(&scratch, "star", 0), ids(&scratch, "star", 1).len()), (gas, 3));
}

/// Errors about particles that are attached by default name the option that ignores them.
#[test]
fn attached_types_that_cannot_be_used() {
    let scratch = Scratch::new();
    let options = [&PAIR[..], &["--group-catalog"]].concat();
    let error = |path: &std::path::Path, options: &[&str]| halos(path, &scratch.path("no"), options).error();
    let line = error(&stored("stars_without_velocities.hdf5"), &options);
    assert!(line.contains("has no PartType4/Velocities"), "{line}");
    assert!(line.ends_with("; --attach none leaves other types out"), "{line}");
    let line = error(&stored("stars_with_nan.hdf5"), &options);
    let said = "stars_with_nan.hdf5: type 4: particle 0: velocity 2 is NaN; velocities must be finite";
    assert!(line.ends_with(&format!("{said}; --attach none leaves other types out")), "{line}");
    halos(&stored("stars_with_nan.hdf5"), &scratch.path("none"), &[&options[..], &["--attach", "none"]].concat())
        .success();

    // A star far outside of the box, and one that has drifted out of it.
    let place = |star: &str| format!("x,y,z,type,mass\n1,1,1,1,4\n1,1,2,1,4\n5,5,5,1,4\n1,1,0.5,0,1\n{star},4,1\n");
    let boxed = [&PAIR[..], &["--box", "10"]].concat();
    let far = scratch.write("far.csv", place("1,1500,2"));
    let line = error(&far, &boxed);
    assert!(line.contains("along axis 1 the linked and attached points run from 1 to 1500"), "{line}");
    assert!(line.contains("specify the box of these points; --attach none leaves other types out"), "{line}");
    let drifted = scratch.write("drifted.csv", place("1,1,10.5"));
    let printed = halos(&drifted, &scratch.path("drifted"), &boxed).success();
    assert!(printed.contains("\nwrapped         1 point outside of the box from 0 to 10\n"), "{printed}");
    assert_eq!(labels(&scratch, "drifted", 4), [0]);
}

/// Mean separations of a single part are refused as the length for attaching, for any finder.
#[test]
fn lengths_of_single_parts() {
    let scratch = Scratch::new();
    let error = |options: &[&str]| {
        let options = [&["--single-part"][..], options].concat();
        halos(&stored("tng.0.hdf5"), &scratch.path("no"), &options).error()
    };
    let line = error(&["--finder", "hop"]);
    assert!(line.contains("--single-part: other types join halos within the linking length"), "{line}");
    for finder in ["hop", "adaptahop"] {
        let line = error(&["--finder", finder, "--attach", "none", "--center", "mcp"]);
        assert!(line.contains("give the linking length with --eps"), "{line}");
    }
    let small = ["--finder", "hop", "--n-density", "8", "--n-hop", "8", "--min-members", "2", "--no-pictures"];
    let alone = [&["--single-part", "--attach", "none"][..], &small].concat();
    let printed = halos(&stored("tng.0.hdf5"), &scratch.path("alone"), &alone).success();
    assert!(!printed.contains("linking length"), "{printed}");
    let with_length = [&["--single-part", "--eps", "2"][..], &small].concat();
    let printed = halos(&stored("tng.0.hdf5"), &scratch.path("attached"), &with_length).success();
    assert!(printed.contains("\nlinking length  2 of attached types\n"), "{printed}");
    let text = fs::read_to_string(scratch.path("attached/halos.ecsv")).unwrap();
    assert!(text.contains("# - {linking_length: 2"), "{text}");
}

/// Tables and figures say that one file of several was read, and have no expected mass functions.
#[test]
fn outputs_of_single_parts() {
    let scratch = Scratch::new();
    let formats = ["--catalog", "halos.ecsv,halos.hdf5,halos.parquet", "--group-catalog"];
    let options = [&["--single-part", "--eps", "20", "--min-members", "2"][..], &formats].concat();
    let printed = halos(&stored("tng.0.hdf5"), &scratch.path("out"), &options).success();
    assert!(printed.contains("no expected mass functions: the particles are one of 3 files"), "{printed}");
    let said = "one of 3 files of the snapshot was read";
    for name in ["halos.ecsv", "halos.hdf5", "halos.parquet", "mass_function.ecsv", "fof_subhalo_tab_000.0.hdf5"] {
        let bytes = fs::read(scratch.path("out").join(name)).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(said), "{name}");
    }
    let table = fs::read_to_string(scratch.path("out/mass_function.ecsv")).unwrap();
    assert!(table.contains("# - {one_of_files: 3}") && !table.contains("Warren"), "{table}");
    assert!(fs::read_to_string(scratch.path("out/mass_function.svg")).unwrap().contains(", one of 3 files"));
    assert!(fs::read_to_string(scratch.path("out/summary.json")).unwrap().contains("\"one_of_files\": 3"));
}

/// Figures and notes say that masses are of some types only. In a sample the share of the unread types is unknown.
#[test]
fn figures_of_some_types() {
    let scratch = Scratch::new();
    let path = snapshot(&scratch);
    let pair = ["--eps", "1", "--min-members", "2", "--dpi", "30"];
    let title = |folder: &str| {
        let text = fs::read_to_string(scratch.path(folder).join("mass_function.svg")).unwrap();
        text.contains("linking length 1, mass of type 1 alone")
    };
    halos(&path, &scratch.path("alone"), &[&pair[..], &["--attach", "none"]].concat()).success();
    assert!(title("alone"));
    halos(&path, &scratch.path("all"), &pair).success();
    assert!(!title("all"));
    let sample = [&pair[..], &["--attach", "none", "--subsample", "0.99"]].concat();
    let printed = halos(&path, &scratch.path("sample"), &sample).success();
    assert!(printed.contains("\nnot read        types 0 and 4: share of the mass unknown\n"), "{printed}");
}

/// `info` reports the memory of a run that attaches all types, and of one that attaches none.
#[test]
fn memory_of_attached_types() {
    let scratch = Scratch::new();
    let n = 30_000;
    let rows = |shift: usize| {
        let place = |i: usize| [97, 193, 389].map(|step| ((i * step + shift) % 9973) as f32 / 100.0);
        Points::F32(Table::new(3, (0..n).flat_map(place).collect()).unwrap())
    };
    let (dark, gas, ids) = (rows(0), rows(7), (0..n as u64).collect::<Vec<u64>>());
    let of = |particle_type, positions, masses| Species {
        particle_type,
        positions,
        velocities: Some(positions),
        ids: Some(&ids[..]),
        masses,
    };
    let gas_masses = Masses::Each(vec![0.5; n]);
    let species = [of(0, &gas, &gas_masses), of(1, &dark, &Masses::Equal(4.0))];
    let mut options = GadgetOptions::default();
    options.box_size = Some(100.0);
    let path = scratch.path("snap");
    write_gadget(&path, &species, &options).unwrap();
    let info = run(["info".as_ref(), path.as_os_str()]).success();
    let line = info.lines().find(|line| line.starts_with("memory ")).unwrap();
    let estimate = |words: &str| -> f64 {
        let before = line.split(words).next().unwrap().trim_end().rsplit(", ").next().unwrap();
        let (number, unit) = before.split_once(' ').unwrap();
        number.parse::<f64>().unwrap() * if unit == "MB" { 1e6 } else { 1e3 }
    };
    for (words, attach) in [("with other types attached", "0"), ("to find the halos of type 1", "none")] {
        let options = ["--eps", "0.2", "--no-pictures", "--threads", "1", "--attach", attach];
        let printed = halos(&path, &scratch.path("out"), &options).success();
        let total = printed.lines().find(|line| line.starts_with("total ")).unwrap();
        let measured = total.split_whitespace().rev().nth(1).unwrap().parse::<f64>().unwrap() * 1_048_576.0;
        let ratio = estimate(words) / measured;
        assert!((0.75..1.5).contains(&ratio), "{attach}: {line}, {total}");
    }
}
