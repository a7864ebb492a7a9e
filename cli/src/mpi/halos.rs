//! `ropewalk halos --mpi`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use ropewalk::distributed::{Communicator, Mpi};
use ropewalk::halo::Meta;
use ropewalk::halo::pipeline::{self, Across, Measured, Pipeline};
use ropewalk::io::{Snapshot, TableWriter};

use super::dbscan::narrow;
use super::{Shared, describe, read, start_threads};
use crate::args::{Finder, Halos as Args};
use crate::device::Name;
use crate::halos::files::{ALL, CATALOGS, Catalogs, DENSITY, LABELS, STANDARD_OUTPUT, in_units};
use crate::halos::one::read_options;
use crate::halos::options::{Run, refused, runs};
use crate::halos::report;
use crate::outputs::Outputs;
use crate::phases::Phases;
use crate::pictures::{all_files, linking_length, mass_function, mass_function_files};
use crate::summary::Summary;
use crate::{Failure, grouped, periodic, short};

/// Halos of one snapshot; the report is rank 0's.
pub fn run(args: &Args, ranks: &Mpi) -> Result<Option<String>, Failure> {
    start_threads(args.threads)?;
    check(args)?;
    let runs = runs(args, &args.out)?;
    let ([run], [snapshot]) = (&runs[..], &args.snapshots[..]) else {
        return Err("--mpi: one snapshot and one linking length".into());
    };
    // First, so that hours of work do not end at a full disk's closed door.
    let catalogs = Catalogs::new(args, &runs)?;
    let outputs = if ranks.rank() == 0 { Some(create(args, &catalogs, snapshot)?) } else { None };

    let mut phases = Phases::default();
    let part = read(snapshot, read_options(args, &args.particles.types), ranks, &mut phases)?;
    ranks.barrier()?;
    let labels = Shared::create::<i32>(&run.folder.join(LABELS), part.total_rows(), ranks)?;
    let density = args.density.then(|| Shared::create::<f64>(&run.folder.join(DENSITY), part.total_rows(), ranks));
    let density = density.transpose()?;
    let across = phases
        .run("find halos", || Across::find(ranks, &part, &run.options))
        .map_err(|error| refused(args, snapshot, &error))?;
    let pipeline = across.pipeline()?;
    let measured = phases.run("catalogue", || across.measure(ranks, &pipeline))?;
    let own = narrow(across.halos().labels())?;
    phases.run("labels", || labels.write(part.first_row(), &own, ranks))?;
    if let (Some(file), Some(density)) = (&density, across.halos().density()) {
        phases.run("density", || file.write(part.first_row(), density, ranks))?;
    }

    let mut summary = Summary::default();
    describe(&mut summary, &phases, ranks)?;
    let (Some(mut outputs), Some(measured)) = (outputs, measured) else { return Ok(None) };
    about(&mut summary, &across, &pipeline, &part);
    let run = Shares { args, catalogs: &catalogs, snapshot, run };
    let remarks = phases.run("catalogue", || write(&run, &across, &pipeline, &measured, &mut outputs))?;
    found(&mut summary, args, &across, &pipeline, &measured, &remarks);
    summary.value("snapshot", snapshot.display().to_string());
    let mut names: Vec<&str> = catalogs.names.iter().map(|(name, _)| name.as_str()).collect();
    names.extend(mass_function_files(args));
    names.push(LABELS);
    names.extend(density.is_some().then_some(DENSITY));
    let written: Vec<PathBuf> = names.iter().map(|name| args.out.join(name)).collect();
    summary.finish(&phases, &written);
    if let Some(json) = &args.json {
        let bytes = summary.json()?;
        outputs.write(json, |out| out.write_all(&bytes))?;
    }
    let committed = outputs.commit()?;
    labels.commit()?;
    density.map_or(Ok(()), Shared::commit)?;
    summary.text += &format!("\n{} are in {}\n", names.join(", "), args.out.display());
    if !committed.removed.is_empty() {
        summary.text += &format!("removed: {}, of an earlier run\n", committed.removed.join(", "));
    }
    Ok(Some(committed.report(summary.text)))
}

/// Refuses what one process alone can do.
fn check(args: &Args) -> Result<(), Failure> {
    let particles = &args.particles;
    let refused = [
        (args.finder == Finder::AdaptaHop, "--finder adaptahop"),
        (!args.linking_lengths.is_empty(), "--linking-lengths"),
        (!particles.attach.is_empty(), "--attach"),
        (particles.velocities.is_some(), "--velocities"),
        (particles.masses.is_some(), "--mass"),
        (particles.ids.is_some(), "--ids"),
        (!args.so.is_empty(), "--so"),
        (args.profiles > 0, "--profiles"),
        (args.gallery > 0, "--gallery"),
        (args.members, "--members"),
        (args.group_catalog, "--group-catalog"),
        (args.device != Name::Cpu, "--device"),
        (args.catalog.iter().any(|name| name.as_os_str() == STANDARD_OUTPUT), "--catalog -"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(format!("{option}: not with --mpi; run one process without it").into()),
        None => Ok(()),
    }
}

/// The files of rank 0: all but labels and densities, which all ranks write.
fn create(args: &Args, catalogs: &Catalogs, snapshot: &Path) -> Result<Outputs, Failure> {
    let names: Vec<&str> =
        catalogs.names.iter().map(|(name, _)| name.as_str()).chain(mass_function_files(args)).collect();
    let all: Vec<&str> = ALL
        .into_iter()
        .filter(|name| *name != LABELS && (*name != DENSITY || !args.density))
        .chain(CATALOGS)
        .chain(all_files())
        .collect();
    let mut outputs = Outputs::create(std::slice::from_ref(&args.out), &names, &all, snapshot)?;
    if let Some(json) = &args.json {
        outputs.also(json, snapshot)?;
    }
    Ok(outputs)
}

struct Shares<'a> {
    args: &'a Args,
    catalogs: &'a Catalogs,
    snapshot: &'a Path,
    run: &'a Run,
}

/// Writes catalogues and mass function; returns remarks on them.
fn write(
    run: &Shares<'_>,
    across: &Across,
    pipeline: &Pipeline<'_>,
    measured: &Measured,
    outputs: &mut Outputs,
) -> Result<Vec<String>, Failure> {
    let Shares { args, catalogs, snapshot, run } = *run;
    let mut meta = vec![("snapshot", Meta::Text(snapshot.display().to_string()))];
    meta.extend(pipeline.meta());
    let catalog = &measured.catalog;
    let columns = in_units(args, pipeline, catalog.columns(), catalog.column_units(), &meta)?;
    for (name, format) in &catalogs.names {
        let table = TableWriter::new(&columns.columns).units(columns.units.as_ref()).meta(&columns.meta);
        outputs.write(run.folder.join(name), |out| table.write(out, *format))?;
    }
    let mut remarks: Vec<String> = measured.notes.iter().map(report::remark).collect();
    if !args.no_pictures {
        let about = (&meta[..], &mut remarks);
        for (name, picture) in mass_function(args, across.members(), pipeline, catalog, about)? {
            outputs.write(run.folder.join(name), |out| out.write_all(&picture))?;
        }
    }
    Ok(remarks)
}

/// The snapshot.
fn about(summary: &mut Summary, across: &Across, pipeline: &Pipeline<'_>, part: &Snapshot) {
    summary.both("particles", grouped(across.particles()), across.particles());
    let side = pipeline.period();
    summary.both("box", side.map_or("open".into(), |side| format!("{}, periodic", short(side))), side);
    if let Some(side) = side.filter(|_| pipeline.outside() > 0) {
        summary.both("wrapped", periodic::sentence(pipeline.outside(), side), pipeline.outside());
    }
    let units = pipeline.universe().describe_units();
    summary.both("units", &units, units.clone());
    for note in &part.notes {
        summary.line("note", note);
    }
    summary.value("assumed", part.notes.clone());
}

/// The halos.
fn found(
    summary: &mut Summary,
    args: &Args,
    across: &Across,
    pipeline: &Pipeline<'_>,
    measured: &Measured,
    remarks: &[String],
) {
    let smallest = if args.finder == Finder::Fof { "two" } else { "one" };
    match pipeline.finder() {
        pipeline::Finder::FriendsOfFriends => {
            summary.both("linking length", linking_length(pipeline), pipeline.scales().linking_length);
        }
        other => summary.both("finder", other.to_string(), other.to_string()),
    }
    let (groups, rows) = (across.halos().labels().n_clusters(), across.halos().len());
    summary.both("groups", format!("{} of {smallest} or more", grouped(groups)), groups);
    summary.both("halos", format!("{} of {} or more", grouped(rows), args.min_members), rows);
    summary.value("min_members", args.min_members);
    if let Some(halo) = measured.catalog.halos().first() {
        summary.line("largest", format!("{} particles, mass {}", grouped(halo.count as u64), short(halo.mass)));
        summary.value("largest_count", halo.count);
        summary.value("largest_mass", halo.mass);
    }
    for remark in remarks {
        summary.line("note", remark);
    }
    summary.value("notes", remarks.to_vec());
}
