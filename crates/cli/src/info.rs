//! `ropewalk info`: prints the contents of files.

use ropewalk::Scalar;
use ropewalk::halo::{Universe, UniverseOptions};
use ropewalk_io::{Contents, Field, Format, Masses, Points, ReadOptions, Role, Snapshot, Table, TypeContents, inspect};

use super::args::Info as Args;
use super::failure::Failure;
use super::halos::snapshots;
use super::input;
use super::option_names;
use super::phases::Phases;
use super::summary::Summary;
use super::text::{grouped, short};
use super::universe::describe_matter;

/// Bytes per particle that friends of friends need in addition to positions, velocities, ids and masses, for
/// positions of 32 and 64 bits. Measured on 2 million particles of a simulation.
const FOF_BYTES: [f64; 2] = [32.0, 47.0];

/// Bytes that attaching needs in addition to the particles read: per linked particle, and per attached particle
/// searched for at a time. For positions of 32 and 64 bits; measured on 87 thousand to 262 thousand particles of
/// either kind.
const ATTACH_BYTES: [[f64; 2]; 2] = [[31.0, 90.0], [72.0, 140.0]];
/// The maximum number of attached particles searched for at a time.
const ATTACHED_AT_A_TIME: f64 = 1_048_576.0;
/// Bytes of the label of an attached particle, and of its label and index among the members of a halo, in a list that
/// grows by doubling.
const LABEL_BYTES: [f64; 2] = [4.0, 12.0];

pub fn run(args: &Args) -> Result<String, Failure> {
    if args.snapshots.iter().any(|name| name.as_os_str() == input::STANDARD_INPUT) {
        return Err("info: standard input can be read only once; give a file".into());
    }
    let snapshots = snapshots(&args.snapshots, false)?;
    let options = ReadOptions::default().columns(&args.columns);
    let mut text = String::new();
    for path in &snapshots {
        let mut summary = Summary::default();
        if snapshots.len() > 1 {
            summary.line("snapshot", path.display().to_string());
        }
        about(&mut summary, &inspect(path, &options)?)?;
        if args.ranges {
            let snapshot = input::read(path, &options.clone().open(true), &mut Phases::default())?;
            ranges(&mut summary, &snapshot);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text += &summary.text;
    }
    Ok(text)
}

/// Adds the metadata of a file to the summary.
fn about(summary: &mut Summary, contents: &Contents) -> Result<(), Failure> {
    let code = contents.code.as_ref().map_or(String::new(), |code| format!(", written by {code}"));
    summary.line("format", format!("{}{code}", contents.format));
    match &contents.files[..] {
        [first, .., last] => {
            let n = contents.files.len();
            summary.line("files", format!("{n}, {} to {}", first.display(), last.display()));
        }
        _ => summary.line("files", "1"),
    }
    summary.line("particles", grouped(contents.total()));
    for kind in &contents.types {
        let mass = kind.mass.map_or(String::new(), |mass| format!(", mass {}", short(mass)));
        match kind.particle_type {
            Some(number) => {
                summary.line(&format!("  type {number}"), format!("{} ({}){mass}", grouped(kind.count), kind.name));
            }
            None if contents.types.len() > 1 => {
                summary.line(&format!("  {}", kind.name), format!("{} rows{mass}", grouped(kind.count)));
            }
            None if !mass.is_empty() => summary.line("  mass", short(kind.mass.unwrap_or(0.0))),
            None => {}
        }
        for field in &kind.fields {
            summary.line("", describe(field));
        }
    }
    summary.line("box", contents.box_size.map_or("none".into(), |side| format!("{}, periodic", short(side))));
    for note in &option_names::notes(&contents.notes) {
        summary.line("note", note);
    }
    if let Some(redshift) = contents.redshift {
        summary.line("redshift", short(redshift));
    }
    let background = contents.background;
    let numbers = [("Omega_m", background.omega_m), ("Omega_Lambda", background.omega_lambda), ("h", background.h)];
    let known: Vec<String> =
        numbers.iter().filter_map(|(name, value)| Some(format!("{name} {}", short((*value)?)))).collect();
    summary.line("cosmology", if known.is_empty() { "none".into() } else { known.join(", ") });
    let universe = universe(contents)?;
    summary.line("units", universe.describe_units());
    if let Some(matter) = describe_matter(&universe) {
        summary.line("matter", matter);
    }
    memory(summary, contents);
    Ok(())
}

/// Describes a field: its name, number type, unit and role.
fn describe(field: &Field) -> String {
    let width = if field.width == 1 { String::new() } else { format!("{} x ", field.width) };
    let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
    let role = match field.role {
        Role::Position => ", read as positions",
        Role::Velocity => ", read as velocities",
        Role::Id => ", read as ids",
        Role::Mass => ", read as masses",
        Role::Type => ", read as types",
        _ => "",
    };
    format!("{}: {width}{}{unit}{role}", field.name, field.number)
}

/// Returns the units of the file. If the file does not name them, they are inferred from the mean density of matter,
/// provided that the masses of all types are known without reading them.
fn universe(contents: &Contents) -> Result<Universe, Failure> {
    let mass = |kind: &ropewalk_io::TypeContents| Some(kind.mass? * kind.count as f64);
    let matter: Option<f64> = contents.types.iter().filter(|kind| kind.count > 0).map(mass).sum();
    let mut snapshot = Snapshot::new(Points::F32(Table::new(3, vec![])?));
    // A file of Abacus has only a part of the particles.
    snapshot.matter = matter.filter(|&matter| matter > 0.0 && contents.format != Format::Abacus);
    snapshot.units = contents.units;
    snapshot.redshift = contents.redshift;
    snapshot.box_size = contents.box_size;
    snapshot.background = contents.background;
    Ok(snapshot.universe(&UniverseOptions::default(), contents.box_size))
}

/// Adds the memory for reading the particles and for finding halos to the summary.
fn memory(summary: &mut Summary, contents: &Contents) {
    let size = |bytes: f64| match bytes {
        bytes if bytes < 1e5 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e8 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    };
    let all = contents.bytes(&ReadOptions::default()) as f64;
    // Halos are found among type 1 unless --type is given.
    let is_linked = |number: Option<u8>| number.is_none_or(|number| number == 1);
    let Some(linked) = contents.types.iter().find(|kind| is_linked(kind.particle_type) && kind.count > 0) else {
        summary.line("memory", format!("{} for all particles", size(all)));
        return;
    };
    let n = linked.count as f64;
    let options = ReadOptions::default().types(linked.particle_type);
    let linked_bytes = contents.bytes(&options) as f64;
    let find = FOF_BYTES[usize::from(is_wide(linked))] * n;
    let of = linked.particle_type.map_or(String::new(), |number| format!(" of type {number}"));
    let alone = format!("{} to find the halos{of} by friends of friends", size(linked_bytes + find));
    // All other types with positions are attached unless --attach is given.
    let has_positions = |kind: &TypeContents| kind.fields.iter().any(|field| field.role == Role::Position);
    let others: Vec<&TypeContents> = contents
        .types
        .iter()
        .filter(|kind| !is_linked(kind.particle_type) && kind.count > 0 && has_positions(kind))
        .collect();
    let text = if others.is_empty() {
        format!("{} for all particles, {alone}", size(all))
    } else {
        let n_others = others.iter().map(|kind| kind.count as f64).sum::<f64>();
        let wide = usize::from(is_wide(linked) || others.iter().any(|kind| is_wide(kind)));
        let [each_linked, each_other] = ATTACH_BYTES[wide];
        let [label, label_and_index] = LABEL_BYTES.map(|bytes| bytes * n_others);
        let search = each_linked * n + each_other * n_others.min(ATTACHED_AT_A_TIME) + label;
        let attach = search.max(label_and_index);
        let with_others = linked_bytes + attached_bytes(contents, &others) + find.max(attach);
        format!(
            "{} for all particles, {} with other types attached, {alone} with --attach none",
            size(all),
            size(with_others)
        )
    };
    summary.line("memory", text);
}

/// Returns `true` if positions are read as 64-bit floats.
fn is_wide(kind: &TypeContents) -> bool {
    kind.fields.iter().any(|field| field.role == Role::Position && !matches!(field.number.as_str(), "f16" | "f32"))
}

/// Returns the number of bytes of the attached particles, which are read without velocities. If one type has 64-bit
/// positions or a mass for each particle, all types are stored so.
fn attached_bytes(contents: &Contents, others: &[&TypeContents]) -> f64 {
    let options = ReadOptions::default().types(others.iter().filter_map(|kind| kind.particle_type)).velocities(false);
    let has_masses = |kind: &TypeContents| kind.fields.iter().any(|field| field.role == Role::Mass);
    let (any_wide, any_masses) = (others.iter().any(|kind| is_wide(kind)), others.iter().any(|kind| has_masses(kind)));
    let widened = |kind: &TypeContents| {
        let positions = if any_wide && !is_wide(kind) { 12.0 } else { 0.0 };
        let masses = if any_masses && !has_masses(kind) { 8.0 } else { 0.0 };
        kind.count as f64 * (positions + masses)
    };
    contents.bytes(&options) as f64 + others.iter().map(|kind| widened(kind)).sum::<f64>()
}

/// Adds the ranges of the particles' values to the summary.
fn ranges(summary: &mut Summary, snapshot: &Snapshot) {
    if !snapshot.columns.is_empty() {
        summary.line("columns", snapshot.columns.join(", "));
    }
    let masses = match &snapshot.masses {
        Masses::Equal(mass) => format!("all {}", short(*mass)),
        Masses::Each(masses) => {
            let (lo, hi) = range(masses.iter().copied());
            format!("{} to {}", short(lo), short(hi))
        }
        _ => "unknown".into(),
    };
    summary.line("masses", masses);
    let ids = match snapshot.ids.as_ref().map(|ids| (ids.iter().min(), ids.iter().max())) {
        Some((Some(lo), Some(hi))) => format!("{lo} to {hi}"),
        Some(_) => "yes".into(),
        None => "none".into(),
    };
    summary.line("ids", ids);
    for (name, points) in [("coordinates", Some(&snapshot.points)), ("velocities", snapshot.velocities.as_ref())] {
        match points {
            Some(Points::F32(table)) => spans(summary, name, "32-bit floats", table),
            Some(Points::F64(table)) => spans(summary, name, "64-bit floats", table),
            None => summary.line(name, "none"),
        }
    }
}

/// Adds the precision of a table and the range of each of its columns to the summary.
fn spans<S: Scalar>(summary: &mut Summary, name: &str, precision: &str, table: &Table<S>) {
    summary.line(name, format!("{} of {precision}", table.dim()));
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
        summary.line(&label, format!("{} to {}{bad}", short(lo), short(hi)));
    }
}

/// Returns the minimum and the maximum; NaN is ignored.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)))
}
