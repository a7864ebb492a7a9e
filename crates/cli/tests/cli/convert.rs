//! `ropewalk convert`: halos of converted files, and notes on lost data.

use std::fs;

use crate::program::{Scratch, halos, run, sample};

/// Returns the lines of a catalogue except those on the file name and on the source of its units.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("# - {snapshot:") && !line.starts_with("# - {units:")).collect()
}

#[test]
fn the_same_halos_in_each_format() {
    let scratch = Scratch::new();
    let catalog = |name: &str| fs::read_to_string(scratch.path(name).join("halos.ecsv")).unwrap();
    let options = ["--no-pictures", "--so", "200c"];
    halos(&sample(), &scratch.path("original"), &options).success();
    let original = catalog("original");
    for ending in ["gadget1", "gadget2", "hdf5", "ecsv", "parquet"] {
        let path = scratch.path(&format!("snapshot.{ending}"));
        let report = run([&"convert".into(), &sample(), &path]).success();
        assert!(report.starts_with("262,144 particles of ") && report.contains(ending), "{report}");
        halos(&path, &scratch.path(ending), &options).success();
        assert_eq!(lines(&catalog(ending)), lines(&original), "{ending}");
    }
    // The original is in format 1.
    assert!(fs::read(scratch.path("snapshot.gadget1")).unwrap() == fs::read(sample()).unwrap());
}

#[test]
fn what_a_format_has_no_place_for() {
    let scratch = Scratch::new();
    let report = |name: &str, more: &[&str]| {
        let (input, out) = (sample(), scratch.path(name));
        let arguments = ["convert".as_ref(), input.as_os_str(), out.as_os_str()];
        run(arguments.into_iter().chain(more.iter().map(AsRef::as_ref))).success()
    };
    let text = report("points.npy", &["--subsample", "0.01"]);
    assert!(
        text.contains("NumPy array cannot store velocities, ids, masses, the box, the redshift, the cosmology\n"),
        "{text}"
    );
    let points = fs::metadata(scratch.path("points.npy")).unwrap().len() / 12;
    assert!((2300..2900).contains(&points), "{points}");
    let text = report("points.csv", &["--type", "1"]);
    let left_out = "CSV cannot store the box, the redshift, the cosmology, the unit of velocities\n";
    assert!(text.contains(left_out), "{text}");
    let hdf5 = report("points.hdf5", &[]);
    assert!(hdf5.ends_with("points.hdf5 (HDF5 in Gadget's layout)\n"), "{hdf5}");
    assert_eq!(fs::read(scratch.path("points.hdf5")).unwrap()[..4], *b"\x89HDF");
}

#[test]
fn what_is_made_up_or_rounded() {
    let scratch = Scratch::new();
    let points =
        scratch.write("points.csv", "x,y,z,vx,vy,vz,id,mass,label\n1,2,3,4,5,6,7,0.1,8\n2,2,3,4,5,6,8,0.2,8\n");
    let report = |name: &str| run([&"convert".into(), &points, &scratch.path(name)]).success();
    for name in ["points.hdf5", "points.gadget2"] {
        let text = report(name);
        assert!(text.contains("note: the redshift is not known and is written as 0\n"), "{text}");
        assert!(text.contains("note: the unit of velocities is not known and is assumed to be km/s\n"), "{text}");
        assert!(!text.contains("rounded"), "{text}");
    }
    let text = report("points.tipsy");
    for note in [
        "the redshift is not known and the scale factor is written as 1",
        "softening lengths and potentials, densities and temperatures of gas, and metals are written as 0",
        "masses are rounded to 32-bit floats",
    ] {
        assert!(text.contains(&format!("note: {note}\n")), "{text}");
    }
    assert!(!report("points.ecsv").contains("written as"));
    // Fields that readers of snapshots ignore.
    let tipsy = scratch.path("points.tipsy");
    let text = run([&"convert".into(), &tipsy, &scratch.path("again.npz")]).success();
    assert!(text.contains("note: unread fields are left out: eps, phi\n"), "{text}");
}

/// Units are left out for one of two reasons, which the report states once.
#[test]
fn units_that_are_left_out() {
    let scratch = Scratch::new();
    let columns = ["x", "y", "z", "mass"].map(|name| (name, if name == "mass" { "Msun" } else { "Mpc" }));
    let columns =
        columns.map(|(name, unit)| format!("# - {{name: {name}, unit: {unit}, datatype: float64}}\n")).concat();
    let points =
        scratch.write("points.ecsv", format!("# %ECSV 1.0\n# ---\n# datatype:\n{columns}x,y,z,mass\n1,2,3,4\n"));
    for (ending, why) in [
        ("csv", Some("the format cannot store them")),
        ("gadget2", Some("the format cannot store them")),
        ("npz", Some("the format cannot store them")),
        ("hdf5", Some("Hubble")),
        ("parquet", None),
    ] {
        let report = run([&"convert".into(), &points, &scratch.path(&format!("points.{ending}"))]).success();
        let notes: Vec<&str> =
            report.lines().filter_map(|line| line.strip_prefix("note: units are left out: ")).collect();
        assert!(!report.contains("cannot store units"), "{report}");
        match (why, &notes[..]) {
            (None, []) => {}
            (Some(why), [note]) => assert!(note.contains(why), "{note}"),
            _ => panic!("{report}"),
        }
    }
}

#[test]
fn to_standard_output() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y\n0.5,1\n2,3\n");
    let output = run(["convert", points.to_str().unwrap(), "-", "--format", "csv"]);
    assert_eq!((output.status, output.stdout.as_str()), (0, "x,y\n0.5,1\n2,3\n"));
    assert!(output.stderr.starts_with("2 particles of "), "{}", output.stderr);
}

#[test]
fn what_is_refused() {
    let scratch = Scratch::new();
    let points = scratch.write("points.csv", "x,y\n0.5,1\n2,3\n");
    let error = |out: &str, more: &[&str]| {
        let out = scratch.path(out);
        let arguments = ["convert", points.to_str().unwrap(), out.to_str().unwrap()];
        run(arguments.into_iter().chain(more.iter().copied())).error()
    };
    assert!(error("points.csv", &[]).contains("the output would replace the input"));
    assert!(error("out.txt", &[]).contains("out.txt: unknown extension; use hdf5, h5,"));
    assert!(error("out.npz", &["--format", "csv"]).contains("--format contradicts the ending"));
    assert!(error("out.hdf5", &[]).contains("points have 2 components; Gadget's must have 3"));
    assert!(error("out.csv", &["--subsample", "2"]).contains("subsample is 2"));
    assert!(error("absent/out.csv", &[]).contains("absent"));
    let line = run(["convert", points.to_str().unwrap(), "-"]).line();
    assert!(line.contains("--format is required"), "{line}");
    assert_eq!(scratch.names(""), ["points.csv"]);
}
