//! Tables that name some units only: these are kept, and messages name the missing ones.

use std::fs;

use crate::program::{Scratch, halos, run};

/// Writes two particles at one place, with units for some columns.
fn table(scratch: &Scratch, name: &str, units: &[(&str, &str)], row: &str) -> std::path::PathBuf {
    let column = |(name, unit): &(&str, &str)| match *unit {
        "" => format!("# - {{name: {name}, datatype: float64}}\n"),
        unit => format!("# - {{name: {name}, unit: {unit}, datatype: float64}}\n"),
    };
    let columns: String = units.iter().map(column).collect();
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    let names = names.join(" ");
    scratch.write(
        name,
        format!("# %ECSV 1.0\n# ---\n# datatype:\n{columns}# schema: astropy-2.0\n{names}\n{row}\n{row}\n"),
    )
}

const MOVING: [(&str, &str); 6] =
    [("x", "Mpc"), ("y", "Mpc"), ("z", "Mpc"), ("vx", "km / s"), ("vy", "km / s"), ("vz", "km / s")];

#[test]
fn units_without_masses() {
    let scratch = Scratch::new();
    let path = table(&scratch, "points.ecsv", &MOVING, "1 2 3 4 5 6");
    let options = ["--eps", "1", "--min-members", "2"];
    let printed = halos(&path, &scratch.path("out"), &options).success();
    let said = "units           lengths in comoving Mpc, velocities in km/s, as specified; the unit of masses is not known: the file does not specify it, \
                and inferring it from the density of matter also needs the masses of all particles, omega_m, a periodic box\n";
    assert!(printed.contains(said), "{printed}");
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    for column in [
        "mean_x, unit: Mpc,",
        "mean_vx, unit: km / s,",
        "vel_disp, unit: km / s,",
        "max_radius, unit: Mpc,",
        "mass, datatype",
    ] {
        assert!(text.contains(&format!("name: fof_halo_{column}")), "{column}: {text}");
    }
    assert!(!text.contains("which is unknown\""), "{text}");
    assert!(fs::read_to_string(scratch.path("out/mass_function.svg")).is_ok());

    for ending in ["parquet", "hdf5", "ecsv"] {
        let copy = scratch.path(&format!("copy.{ending}"));
        let printed = run([&"convert".into(), &path, &copy]).success();
        assert_eq!(printed.contains("the unit of masses is not known"), ending == "hdf5", "{printed}");
        assert!(!printed.contains("left out: not known"), "{printed}");
        let printed = halos(&copy, &scratch.path(&format!("out_{ending}")), &options).success();
        assert!(
            printed.contains("units           lengths in comoving Mpc, velocities in km/s, as specified; "),
            "{printed}"
        );
    }
}

#[test]
fn units_that_need_h() {
    let scratch = Scratch::new();
    let columns = [&MOVING[..], &[("mass", "solMass")]].concat();
    let path = table(&scratch, "points.ecsv", &columns, "1 2 3 4 5 6 1e10");
    let options = ["--eps", "1", "--min-members", "2", "--no-pictures"];
    let printed = halos(&path, &scratch.path("out"), &options).success();
    let said = "units           lengths in comoving Mpc, masses in Msun, velocities in km/s, as specified; the Hubble constant h is not known, \
                which Mpc needs\n";
    assert!(printed.contains(said), "{printed}");
    let text = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    for column in ["mass, unit: solMass,", "mean_z, unit: Mpc,", "mean_vz, unit: km / s,"] {
        assert!(text.contains(&format!("name: fof_halo_{column}")), "{column}: {text}");
    }
    let line =
        halos(&path, &scratch.path("no"), &[&options[..], &["--so", "200c", "--omega-m", "0.3"]].concat()).error();
    assert!(
        line.contains("--so: overdensities need the Hubble constant h, which is not known, for units in Mpc"),
        "{line}"
    );
    assert!(line.ends_with("; give --h"), "{line}");

    let columns = [&MOVING[..], &[("mass", "")]].concat();
    let path = table(&scratch, "bare.ecsv", &columns, "1 2 3 4 5 6 1e10");
    let line =
        halos(&path, &scratch.path("no"), &[&options[..], &["--so", "200c", "--omega-m", "0.3"]].concat()).error();
    assert!(line.contains("overdensities need the unit of masses, which is not known"), "{line}");
    assert!(line.ends_with("; give --mass-unit"), "{line}");
}

/// A velocity column of text makes the table unreadable; following the advice makes it readable.
#[test]
fn velocities_of_text() {
    let scratch = Scratch::new();
    let path = scratch.write("points.csv", "x,y,z,vx,vy,vz\n1,2,3,a,b,c\n1,2,4,a,b,c\n");
    let line = halos(&path, &scratch.path("no"), &["--eps", "1"]).error();
    assert!(
        line.contains("column vx holds text, which cannot be read as numbers; its name makes it a velocity: rename it"),
        "{line}"
    );
    assert!(!line.contains("--coordinates"), "{line}");
    let path = scratch.write("renamed.csv", "x,y,z,ax,ay,az\n1,2,3,a,b,c\n1,2,4,a,b,c\n");
    halos(&path, &scratch.path("out"), &["--eps", "1", "--no-pictures"]).success();
}
