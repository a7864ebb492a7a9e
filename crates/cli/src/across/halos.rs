//! `ropewalk halos --mpi`, and `ropewalk halos --device cuda:0,1`.

use std::collections::BTreeMap;
use std::rc::Rc;

use ropewalk::Error;
use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::halo::Particles;
use ropewalk_io::{SharedNpy, Snapshot};
use ropewalk_pipeline::{FoundHalos, LargestProfiles, Pipeline};
use ropewalk_table::Catalog;
use serde_json::Value;

use super::type_files::TypeFiles;
use super::{Rank, describe, read};
use crate::args::{Finder, Halos as Args};
use crate::device::{Device, DeviceArg, DevicesArg};
use crate::dimensions::with_rows;
use crate::failure::Failure;
use crate::halos::files::{Catalogs, DENSITY, LABELS, STANDARD_OUTPUT, TypeSet, files, typed};
use crate::halos::finished::result_options;
use crate::halos::options::{refused, runs};
use crate::halos::other_types;
use crate::halos::read::{inputs, read_options};
use crate::halos::report::{self, GroupCounts};
use crate::halos::snapshot::{Task, Written};
use crate::halos::writer::RunWriter;
use crate::output_units::of_report;
use crate::phases::Phases;
use crate::pictures::{Extent, Picture, check_slab, projection_across};
use crate::summary::Summary;

/// Finds the halos of one snapshot. Rank 0 returns the report.
pub fn run(args: &Args, rank: &Rank<'_>) -> Result<Option<String>, Failure> {
    let ranks = rank.ranks;
    check(args, rank)?;
    rank.check_options(&Args { device: DevicesArg::cpu(), ..result_options(args) })?;
    let runs = runs(args, &args.out)?;
    let ([run], [snapshot]) = (&runs[..], &args.snapshots[..]) else {
        return Err(format!("{}: only one snapshot and one linking length", rank.option()).into());
    };
    // Create the outputs first, so that a file that cannot be written is an error before hours of work.
    let catalogs = Catalogs::new(args, &runs)?;
    // The outputs of the task are declared before `labels` and `density`, so that after an error they are dropped
    // later: only an empty folder is removed.
    let task = Task {
        snapshot,
        out: &args.out,
        json: args.json.clone(),
        inputs: &Rc::new(inputs(args, std::slice::from_ref(snapshot))),
        in_series: false,
    };
    let (folders, names) = (std::slice::from_ref(&run.folder), files(args, &catalogs));
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    let outputs = (ranks.rank() == 0).then(|| task.create(folders, &names, &[LABELS, DENSITY]));
    let mut outputs = outputs.transpose()?;

    let mut phases = rank.phases();
    let mut part = read(snapshot, read_options(args, &args.particles.types), rank, &mut phases)?;
    check_slab(args, &part, || extent(&part, ranks))?;
    let others = read_others(args, &mut part, rank, &mut phases)?;
    let more_notes = other_types::more_notes(others.as_ref(), &part.notes);
    part.notes.extend(more_notes);
    let wanted = other_types::wanted(args, &part);
    let attached = if others.is_some() { &wanted[..] } else { &[] };
    let have_ids = have_ids(&part, ranks, false)?;
    let linked = other_types::kinds(args, &part);
    let without_ids = match &others {
        Some(others) if self::have_ids(others, ranks, have_ids)? => &others.types_without_ids,
        _ => attached,
    };
    let files_by_type = typed(
        TypeSet { kinds: &linked, without_ids: if have_ids { &[] } else { &linked } },
        TypeSet { kinds: attached, without_ids },
    );
    // Reserve the names and create the files before the work, so that a file that cannot be written is an early
    // error.
    let mut shared = vec![];
    for (kind, names) in files_by_type {
        let values = match &others {
            Some(others) if attached.contains(&kind) => others,
            _ => &part,
        };
        if let Some(outputs) = &mut outputs {
            names.iter().try_for_each(|name| outputs.reserve(&run.folder.join(name)))?;
        }
        shared.push(TypeFiles::create(&run.folder, kind, &names, values, ranks)?);
    }
    ranks.barrier()?;
    let rows = part.points.len() as u64;
    let labels = SharedNpy::create::<i32>(ranks, run.folder.join(LABELS), rows, None)?;
    let density = args.density.then(|| SharedNpy::create::<f64>(ranks, run.folder.join(DENSITY), rows, None));
    let density = density.transpose()?;
    let reword = |error: Error| match error.parameter() {
        Some("attach" | "masses") if others.is_some() => other_types::refused(snapshot, &error),
        _ => refused(args, snapshot, &error),
    };
    let found = phases.run("find halos", || {
        let mut pipeline = Pipeline::across(ranks, &part, &run.options)?;
        if let Some(others) = &others {
            pipeline = pipeline.attaching(others)?;
        }
        let mut found = match rank.device {
            Device::Cpu => pipeline.find()?,
            #[cfg(feature = "gpu")]
            Device::Gpu(device) => pipeline.find_on(device)?,
        };
        pipeline.attach(&mut found)?;
        Ok((pipeline, found))
    });
    let (pipeline, found) = found.map_err(reword)?;
    let (own, measured) = phases.run("catalogue", || -> Result<_, Failure> {
        let own = pipeline.measure(&found)?;
        let measured = pipeline.gather(&found, &own)?;
        Ok((own, measured))
    })?;
    let profiles = phases.run("profiles", || profiles(args, &pipeline, &found, &own.catalog))?;
    let projection = match &measured {
        _ if args.no_pictures => None,
        measured => phases.run("pictures", || {
            let catalog = measured.as_ref().map(|found| &found.catalog);
            projection_across(args, ranks, &part, &pipeline, catalog)
        })?,
    };
    // Gathered last, so that rank 0 does not hold the members together with the sums of the picture.
    let members = args.members.then(|| phases.run("members", || pipeline.members(&found, &own.catalog)));
    let members = members.transpose()?.flatten();
    drop(own);
    let halo_rows = pipeline.halo_rows(measured.as_ref().map(|measured| &measured.catalog))?;
    let own = halo_rows.of(&found.labels())?;
    phases.run("labels", || labels.write(&own))?;
    let joined = found.attached.as_ref().map(|attached| halo_rows.of(&attached.labels));
    let joined = joined.transpose()?;
    for files in &shared {
        let (values, labels) = match (&others, &joined) {
            (Some(others), Some(joined)) if attached.contains(&files.kind) => (others, &joined[..]),
            _ => (&part, &own[..]),
        };
        phases.run("labels", || files.write(values, labels))?;
    }
    let n_joined = found.attached.as_ref().map(|attached| n_joined(&attached.labels, ranks)).transpose()?;
    if let (Some(file), Some(density)) = (&density, found.density()) {
        phases.run("density", || file.write(density))?;
    }

    let types = type_counts(&part, ranks)?;
    let mut summary = Summary::default();
    describe(&mut summary, &phases, rank)?;
    let (Some(outputs), Some(measured)) = (&mut outputs, measured) else { return Ok(None) };
    let factors = of_report(args, &pipeline)?;
    let factors = factors.as_ref();
    report::about(&mut summary, &part, &types, &pipeline, factors);
    let mut writer = RunWriter::new(args, &catalogs, &run.folder, snapshot, &pipeline, outputs);
    if let Some(picture) = &projection {
        writer.picture(Picture::Projection, picture)?;
    }
    let catalog = &measured.catalog;
    let remarks = phases.run("catalogue", || -> Result<_, Failure> {
        writer.catalogs(catalog, members)?;
        let mut remarks: Vec<String> = measured.notes.iter().map(report::remark).collect();
        if !args.no_pictures {
            writer.mass_function(catalog, &mut remarks)?;
        }
        Ok(remarks)
    })?;
    if let Some(LargestProfiles { names, profiles, r200c, .. }) = &profiles {
        phases.run("profiles", || writer.profiles(names, profiles, r200c))?;
    }
    let counts = GroupCounts { groups: found.n_groups(), joined: n_joined };
    let of_run = report::halos(args, &pipeline, factors, &counts, None, catalog, &remarks);
    summary.text += &of_run.text;
    summary.value("run", Value::Null);
    summary.times(&phases);
    names.extend(shared.iter().flat_map(|files| files.names.clone()));
    let arrays = [Some(labels), density].into_iter().flatten();
    let arrays = arrays.chain(shared.into_iter().flat_map(TypeFiles::into_arrays)).collect();
    let runs = vec![Value::Object(of_run.values)];
    task.finish(outputs, Written { summary, runs, arrays, folders, names: &names }).map(Some)
}

/// Refuses options that only one process supports.
fn check(args: &Args, rank: &Rank<'_>) -> Result<(), Failure> {
    let particles = &args.particles;
    let refused = [
        (args.finder == Finder::AdaptaHop, "--finder adaptahop"),
        (!args.linking_lengths.is_empty(), "--linking-lengths"),
        (particles.velocities.is_some(), "--velocities"),
        (particles.masses.is_some(), "--mass"),
        (particles.particle_mass.is_some(), "--particle-mass"),
        (particles.ids.is_some(), "--ids"),
        (args.gallery > 0, "--gallery"),
        (args.group_catalog, "--group-catalog"),
        (args.report.is_some(), "--report"),
        (rank.devices.is_some() && args.finder == Finder::Hop, "--finder hop"),
        (args.device != DeviceArg::Cpu && args.finder == Finder::Hop, "--finder hop with --device"),
        (args.catalog.iter().any(|name| name.as_os_str() == STANDARD_OUTPUT), "--catalog -"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(rank.refuse(option)),
        None => Ok(()),
    }
}

/// Returns the box around the particles of all ranks, as [`crate::pictures::extent`] does in one process. Collective.
fn extent(part: &Snapshot, ranks: &dyn Communicator) -> Result<Option<Extent>, Failure> {
    let extent = with_rows!(&part.points, f32 [3], f64 [3], rows => Particles::new(rows).extent_across(ranks));
    Ok(extent.transpose()?.filter(|_| part.total_rows() > 0))
}

/// Returns the profiles of `--profiles` on rank 0. Collective.
fn profiles(
    args: &Args,
    pipeline: &Pipeline<'_>,
    found: &FoundHalos<'_>,
    catalog: &Catalog,
) -> Result<Option<LargestProfiles>, Failure> {
    if args.profiles == 0 {
        return Ok(None);
    }
    let largest = pipeline.largest(found, catalog, args.profiles)?;
    Ok(pipeline.gather_profiles(&largest, pipeline.profiles(found, &largest)?)?)
}

/// Returns the number of particles of each type on all ranks. Collective.
fn type_counts(part: &Snapshot, ranks: &dyn Communicator) -> Result<BTreeMap<u8, u64>, Failure> {
    // Two entries per type: whether this part has the type, and the number of its particles.
    let mut counts = [0; 512];
    for (kind, count) in report::type_counts(part) {
        let at = 2 * usize::from(kind);
        (counts[at], counts[at + 1]) = (1, count);
    }
    ranks.all_reduce(&mut counts, Reduction::Sum)?;
    let counts = (0..=u8::MAX).zip(counts.chunks_exact(2));
    Ok(counts.filter(|(_, count)| count[0] > 0).map(|(kind, count)| (kind, count[1])).collect())
}

/// Reads this rank's part of the particles of other types; `None` if no types are to be read. Collective.
fn read_others(
    args: &Args,
    part: &mut Snapshot,
    rank: &Rank<'_>,
    phases: &mut Phases,
) -> Result<Option<Snapshot>, Failure> {
    let path = &args.snapshots[0];
    if part.file_types.is_empty() && args.particles.attached().is_some_and(|kinds| !kinds.is_empty()) {
        return Err(format!("--attach: {} has no particle types", path.display()).into());
    }
    let wanted = other_types::wanted(args, part);
    if wanted.is_empty() {
        return Ok(None);
    }
    other_types::check_length(args, &wanted)?;
    other_types::check_there(args, path, part, false)?;
    match &other_types::there(&wanted, part)[..] {
        [] => other_types::nothing().map(Some),
        there => read(path, other_types::options(args, there), rank, phases).map(Some).map_err(other_types::left_out),
    }
}

/// Returns `true` if the particles of all ranks have ids. If there are no particles and no ids, returns `otherwise`.
/// Collective.
fn have_ids(part: &Snapshot, ranks: &dyn Communicator, otherwise: bool) -> Result<bool, Failure> {
    let has_ids = part.ids.is_some();
    let mut counts = [u64::from(has_ids), u64::from(!has_ids && !part.points.is_empty()), part.points.len() as u64];
    ranks.all_reduce(&mut counts, Reduction::Sum)?;
    let [have, lack, n] = counts;
    Ok(lack == 0 && (have > 0 || (n == 0 && otherwise)))
}

/// Returns the number of particles on all ranks that joined a group, and the number of all. Collective.
fn n_joined(labels: &[i32], ranks: &dyn Communicator) -> Result<[u64; 2], Failure> {
    let mut counts = [labels.iter().filter(|&&label| label >= 0).count() as u64, labels.len() as u64];
    ranks.all_reduce(&mut counts, Reduction::Sum)?;
    Ok(counts)
}
