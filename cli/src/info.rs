//! `ropewalk info`.

use std::fmt::Write;

use ropewalk::Scalar;
use ropewalk::halo::pipeline::{Universe, UniverseOptions};
use ropewalk::io::{Masses, Points, ReadOptions, Table};

use super::args::Info as Args;
use super::phases::Phases;
use super::universe::describe_matter;
use super::{Failure, grouped, short};

/// Gadget's names of the particle types.
const TYPES: [&str; 6] = ["gas", "halo", "disk", "bulge", "stars", "boundary"];

pub fn run(args: &Args) -> Result<String, Failure> {
    let snapshot = Phases::default().run("read", || ropewalk::io::read(&args.snapshot, &ReadOptions::default()))?;
    let mut report = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string does not fail.
        _ = writeln!(report, "{name:<16}{value}");
    };
    line("format", snapshot.format.to_string());
    line("particles", grouped(snapshot.points.len() as u64));
    if let Some(header) = &snapshot.header {
        for (kind, &count) in header.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let mass = match header.mass_table[kind] {
                0.0 => "masses each".into(),
                mass => format!("mass {}", short(mass)),
            };
            line(&format!("  type {kind}"), format!("{} ({}), {mass}", grouped(count), TYPES[kind]));
        }
        line("files", header.files.to_string());
    }
    if !snapshot.columns.is_empty() {
        line("columns", snapshot.columns.join(", "));
    }
    line("box", snapshot.box_size.map_or("none".into(), |side| format!("{}, periodic", short(side))));
    line(
        "masses",
        match &snapshot.masses {
            Masses::Equal(mass) => format!("all {}", short(*mass)),
            Masses::Each(masses) => {
                let (lo, hi) = range(masses.iter().copied());
                format!("{} to {}", short(lo), short(hi))
            }
            _ => "unknown".into(),
        },
    );
    if let Some(header) = &snapshot.header {
        line("time", format!("{} (redshift {})", short(header.time), short(header.redshift)));
        line(
            "cosmology",
            format!(
                "Omega_m {}, Omega_Lambda {}, h {}",
                short(header.omega_m),
                short(header.omega_lambda),
                short(header.hubble)
            ),
        );
    }
    let universe = Universe::new(&UniverseOptions::default(), &snapshot, snapshot.box_size);
    line("units", universe.describe_units());
    if let Some(matter) = describe_matter(&universe) {
        line("matter", matter);
    }
    if let Some(side) = snapshot.box_size.filter(|_| !snapshot.points.is_empty()) {
        line("separation", format!("{}, mean, of all particles", short(side / (snapshot.points.len() as f64).cbrt())));
    }
    line(
        "ids",
        match &snapshot.ids {
            Some(ids) => match (ids.iter().min(), ids.iter().max()) {
                (Some(lo), Some(hi)) => format!("{lo} to {hi}"),
                _ => "yes".into(),
            },
            None => "none".into(),
        },
    );
    for (name, points) in [("coordinates", Some(&snapshot.points)), ("velocities", snapshot.velocities.as_ref())] {
        match points {
            Some(Points::F32(table)) => describe(&mut line, name, "32-bit floats", table),
            Some(Points::F64(table)) => describe(&mut line, name, "64-bit floats", table),
            None => line(name, "none".into()),
        }
    }
    Ok(report)
}

/// The precision of a table, and what each of its columns spans.
fn describe<S: Scalar>(line: &mut impl FnMut(&str, String), name: &str, precision: &str, table: &Table<S>) {
    line(name, format!("{} of {precision}", table.dim()));
    let values = table.as_slice();
    if values.is_empty() {
        return;
    }
    for axis in 0..table.dim() {
        let column = values.iter().skip(axis).step_by(table.dim()).map(|&x| x.into());
        let bad = column.clone().filter(|x: &f64| !x.is_finite()).count();
        let (lo, hi) = range(column);
        let label = ["  x", "  y", "  z"].get(axis).map_or_else(|| format!("  axis {axis}"), |label| (*label).into());
        let bad = if bad > 0 { format!("; {} not finite", grouped(bad as u64)) } else { String::new() };
        line(&label, format!("{} to {}{bad}", short(lo), short(hi)));
    }
}

/// The least and the largest; NaN is passed over.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)))
}
