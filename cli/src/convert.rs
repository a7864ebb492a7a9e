//! `ropewalk convert`.

use std::io::Write;

use ropewalk::io::{ReadOptions, Snapshot, SnapshotFormat, write_snapshot};

use super::args::Convert as Args;
use super::input::{self, STANDARD_INPUT};
use super::outputs::Outputs;
use super::phases::Phases;
use super::{Failure, grouped, start_threads};

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let named = SnapshotFormat::of(&args.out);
    let format = match (args.format, named) {
        (Some(format), Ok(named)) if format != named => {
            return Err(format!("OUT {}: its ending and --format say different formats", args.out.display()).into());
        }
        (Some(format), _) => format,
        (None, _) if args.out.as_os_str() == STANDARD_INPUT => {
            return Err("OUT -: --format says which format goes to standard output".into());
        }
        (None, named) => named?,
    };
    // What cannot be written shows before the reading.
    drop(Outputs::files(&[&args.out], &args.input)?);
    let mut options = ReadOptions::default();
    options.types.clone_from(&args.types);
    options.subsample = args.subsample;
    options.columns.clone_from(&args.coordinates);
    options.skip_missing = args.skip_missing;
    options.velocity_unit = args.velocity_unit;
    options.redshift = args.redshift;
    options.open = args.open;
    // Arrays of points have no place for more.
    let has_all = format != SnapshotFormat::Npy;
    (options.velocities, options.ids, options.masses) = (has_all, has_all, has_all);
    let mut phases = Phases::default();
    let mut snapshot = input::read(&args.input, &options, &mut phases)?;
    snapshot.redshift = args.redshift.or(snapshot.redshift);
    phases.run("write", || write_snapshot(&args.out, &snapshot, format))?;
    let report = report(args, &snapshot, format);
    if args.out.as_os_str() == STANDARD_INPUT {
        // A report that cannot be printed has no other place to go.
        _ = std::io::stderr().write_all(report.as_bytes());
        return Ok(String::new());
    }
    Ok(report)
}

fn report(args: &Args, snapshot: &Snapshot, format: SnapshotFormat) -> String {
    let (n, from) = (grouped(snapshot.points.len() as u64), args.input.display());
    let mut report =
        format!("{n} particles of {from} ({}) are in {} ({format})\n", snapshot.format, args.out.display());
    for note in &snapshot.notes {
        report += &format!("note: {note}\n");
    }
    if let Some(why) = format.lacks_units(snapshot) {
        report += &format!("note: units are left out: {why}\n");
    }
    let left_out = left_out(snapshot, format);
    if !left_out.is_empty() {
        report += &format!("{format} has no place for {}\n", left_out.join(", "));
    }
    report
}

/// What the snapshot has, and the format does not.
fn left_out(snapshot: &Snapshot, format: SnapshotFormat) -> Vec<&'static str> {
    use SnapshotFormat::{Csv, Npy};
    let parts = [
        // They have not been read.
        ("velocities, ids and masses", format == Npy),
        ("types", snapshot.has_types() && format == Npy),
        ("the box", snapshot.box_size.is_some() && matches!(format, Npy | Csv)),
        ("the redshift", snapshot.redshift.is_some() && matches!(format, Npy | Csv)),
    ];
    parts.into_iter().filter(|(_, is_left_out)| *is_left_out).map(|(what, _)| what).collect()
}
