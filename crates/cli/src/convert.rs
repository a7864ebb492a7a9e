//! `ropewalk convert`: converts a snapshot to another format.

use ropewalk_io::{Format, ReadOptions, Role, Snapshot, SnapshotFormat, TypeContents, inspect, write_snapshot};

use super::args::Convert as Args;
use super::failure::Failure;
use super::input::{self, STANDARD_INPUT};
use super::outputs::Outputs;
use super::phases::Phases;
use super::stdout::{Closed, is_closed_pipe, print_beside, shown};
use super::text::counted;
use super::threads::start_threads;

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let named = SnapshotFormat::from_path(&args.out);
    let format = match (args.format, named) {
        (Some(format), Ok(named)) if format != named => {
            return Err(format!("OUT {}: --format contradicts the ending of the name", args.out.display()).into());
        }
        (Some(format), _) => format,
        (None, _) if args.out.as_os_str() == STANDARD_INPUT => {
            return Err("OUT -: --format is required for standard output".into());
        }
        (None, named) => named?,
    };
    // Check before reading that the output can be written.
    let mut outputs = Outputs::files(&[&args.out], &[&args.input])?;
    if format == SnapshotFormat::Tipsy {
        // Ids and units are written to files of their own.
        for ending in [".iord", ".param"] {
            let mut name = args.out.clone().into_os_string();
            name.push(ending);
            outputs.reserve(name.as_ref())?;
        }
    }
    drop(outputs);
    let mut options = ReadOptions::default();
    options.types.clone_from(&args.types);
    options.subsample = args.subsample;
    options.columns.clone_from(&args.coordinates);
    options.skip_missing = args.skip_missing;
    options.velocity_unit = args.velocity_unit;
    options.redshift = args.redshift;
    options.open = args.open;
    options.single_part = args.single_part;
    // An array of points cannot store anything else.
    let has_all = format != SnapshotFormat::Npy;
    (options.velocities, options.ids, options.masses) = (has_all, has_all, has_all);
    let mut phases = Phases::default();
    let mut snapshot = input::read(&args.input, &options, &mut phases)?;
    snapshot.redshift = args.redshift.or(snapshot.redshift);
    let is_stdout = args.out.as_os_str() == STANDARD_INPUT;
    match phases.run("write", || write_snapshot(&args.out, &snapshot, format)) {
        Err(error) if is_stdout && is_closed_pipe(&error) => return Err(Closed.into()),
        other => other?,
    }
    let report = report(args, &snapshot, format);
    if is_stdout {
        print_beside(&report);
        return Ok(String::new());
    }
    Ok(report)
}

fn report(args: &Args, snapshot: &Snapshot, format: SnapshotFormat) -> String {
    let (particles, from) = (counted(snapshot.points.len() as u64, "particle"), args.input.display());
    let mut report = format!("{particles} of {from} ({}) are in {} ({format})\n", snapshot.format, shown(&args.out));
    for note in &snapshot.notes {
        report += &format!("note: {note}\n");
    }
    if let Some(why) = format.lacks_units(snapshot) {
        report += &format!("note: units are left out: {why}\n");
    }
    for change in format.changes(snapshot) {
        report += &format!("note: {change}\n");
    }
    let fields = unread_fields(args, snapshot.format);
    if !fields.is_empty() {
        report += &format!("note: unread fields are left out: {}\n", fields.join(", "));
    }
    let mut left_out = format.lacks(snapshot);
    let unread = if format == SnapshotFormat::Npy { unread_particle_data(args, snapshot.format) } else { vec![] };
    left_out.splice(0..0, unread);
    if !left_out.is_empty() {
        report += &format!("{format} cannot store {}\n", left_out.join(", "));
    }
    report
}

/// Returns which of velocities, ids and masses the input has. They are not read for an array of positions.
fn unread_particle_data(args: &Args, format: Format) -> Vec<&'static str> {
    if format == Format::Npy {
        return vec![];
    }
    if args.input.as_os_str() == STANDARD_INPUT {
        return vec!["velocities, ids and masses, if the input has them"];
    }
    let options = ReadOptions::default().columns(args.coordinates.iter().cloned());
    let Ok(contents) = inspect(&args.input, &options) else { return vec![] };
    let kinds: Vec<&TypeContents> = contents.types.iter().filter(|kind| is_wanted(args, kind)).collect();
    let has = |role: Role| kinds.iter().any(|kind| kind.fields.iter().any(|field| field.role == role));
    let all = [
        (has(Role::Velocity), "velocities"),
        (has(Role::Id), "ids"),
        (has(Role::Mass) || kinds.iter().any(|kind| kind.mass.is_some()), "masses"),
    ];
    all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name).collect()
}

/// Returns `true` if particles of the type are converted.
fn is_wanted(args: &Args, kind: &TypeContents) -> bool {
    args.types.is_empty() || kind.particle_type.is_none_or(|number| args.types.contains(&number))
}

/// Returns the names of the fields that the reader of a snapshot ignores. Readers of tables list such columns in
/// notes instead.
fn unread_fields(args: &Args, format: Format) -> Vec<String> {
    let is_table = matches!(format, Format::Csv | Format::Npy | Format::Npz | Format::Parquet);
    if is_table || args.input.as_os_str() == STANDARD_INPUT {
        return vec![];
    }
    let options = ReadOptions::default().columns(args.coordinates.iter().cloned());
    let Ok(contents) = inspect(&args.input, &options) else { return vec![] };
    let fields = contents.types.iter().filter(|kind| is_wanted(args, kind)).flat_map(|kind| &kind.fields);
    let mut names: Vec<String> = vec![];
    for field in fields.filter(|field| field.role == Role::Other) {
        let name = field.name.escape_debug().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
