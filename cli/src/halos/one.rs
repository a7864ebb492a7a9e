//! The halos of one snapshot: files, report and pictures around the library's pipeline.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ropewalk::halo::pipeline::{Found, Pipeline};
use ropewalk::halo::{Catalog, Meta};
use ropewalk::io::{Masses, ReadOptions, Snapshot};

use super::files::{Catalogs, DENSITY, GROUPS, LABELS, STANDARD_OUTPUT, files, known, write_catalogs};
use super::options::{refused, runs};
use super::others::Others;
use super::report;
use super::resume::description;
use crate::args::Halos as Args;
use crate::device::Device;
use crate::failure::Failure;
use crate::outputs::{Inputs, Outputs, Plan};
use crate::phases::Phases;
use crate::pictures::{Picture, check_slab, extent, pictures};
use crate::shown_units::of_report;
use crate::summary::Summary;
use crate::{input, largest};

/// Which snapshot, where its files go, the file of its summary beside the one in the folder, and all files that the call reads.
pub struct Task<'a> {
    pub snapshot: &'a Path,
    pub out: &'a Path,
    pub json: Option<PathBuf>,
    pub inputs: &'a Rc<Inputs>,
}

/// Finds and writes the halos of a snapshot.
pub fn run(args: &Args, task: &Task<'_>, device: Device) -> Result<String, Failure> {
    // Before anything is read: a file that is changed while the run goes on makes another run.
    let description = description(args, task.snapshot);
    let runs = runs(args, task.out)?;
    // First, so that hours of work do not end at a full disk's closed door.
    let catalogs = Catalogs::new(args, &runs)?;
    let mut files = files(args, &catalogs);
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let folders: Vec<PathBuf> = runs.iter().map(|run| run.folder.clone()).collect();
    let plan = Plan { root: task.out, folders: &folders, names: &names, shared: &[], known: known() };
    let mut outputs = Outputs::in_folders(plan, task.inputs)?;
    if let Some(json) = &task.json {
        outputs.add_summary(json)?;
    }
    if catalogs.to_stdout {
        outputs.add(Path::new(STANDARD_OUTPUT))?;
    }

    let mut phases = Phases::default();
    let mut snapshot = read(args, task.snapshot, &mut phases)?;
    check_slab(args, &snapshot, || Ok(extent(&snapshot)))?;
    let others = Others::read(args, task.snapshot, &snapshot, &mut phases)?;
    let more_notes = others.more_notes(&snapshot.notes);
    snapshot.notes.extend(more_notes);
    for (_, names) in others.typed(args, &snapshot) {
        for name in names {
            folders.iter().try_for_each(|folder| outputs.add(&folder.join(name)))?;
            files.push(name.into());
        }
    }
    let mut tree = None;
    let mut summary = Summary::default();
    let mut all_runs = vec![];
    for run in &runs {
        let pipeline = Pipeline::new(&snapshot, &run.options).map_err(|error| refused(args, task.snapshot, &error))?;
        let pipeline = others.join(task.snapshot, pipeline)?;
        if tree.is_none() && !args.linking_lengths.is_empty() {
            tree = Some(phases.run("spanning tree", || pipeline.spanning_tree())?);
        }
        let mut found = phases.run("find halos", || match (&tree, device) {
            (Some(tree), _) => pipeline.find_in(tree),
            (None, Device::Cpu) => pipeline.find(),
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            (None, Device::Gpu(device)) => pipeline.find_on(device),
        })?;
        if others.snapshot.is_some() {
            phases.run("attach", || pipeline.attach(&mut found))?;
        }
        if summary.text.is_empty() {
            let of_all = (snapshot.points.len() as u64, &report::type_counts(&snapshot));
            let factors = of_report(args, &pipeline)?;
            report::about(&mut summary, &snapshot, of_all, (&pipeline, factors.as_ref()));
        }
        if tree.is_some() {
            summary.text.push('\n');
        }
        let of_run = write(
            args,
            (task, &catalogs),
            (&run.folder, &others),
            &snapshot,
            &pipeline,
            &found,
            &mut outputs,
            &mut phases,
        )?;
        summary.text += &of_run.text;
        all_runs.push(serde_json::Value::Object(of_run.values));
    }
    summary.value("snapshot", task.snapshot.display().to_string());
    summary.value("run", description);
    summary.times(&phases);
    let of = |runs: &[serde_json::Value]| {
        let mut values = summary.values.clone();
        values.insert("runs".into(), runs.into());
        values
    };
    let each = all_runs.chunks(1).map(of).collect();
    let json = task.json.as_deref().map(|json| (json, of(&all_runs)));
    let committed = outputs.commit_folders(each, json, vec![])?;
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    summary.text += &report::written(&names, &folders, &committed);
    Ok(committed.report(summary.text))
}

/// The particles that are linked, with what files beside theirs say of them.
fn read(args: &Args, path: &Path, phases: &mut Phases) -> Result<Snapshot, Failure> {
    let particles = &args.particles;
    let mut snapshot = input::read(path, &read_options(args, &particles.types), phases)?;
    let n = snapshot.points.len();
    let beside = [&particles.velocities, &particles.masses, &particles.ids];
    if beside.into_iter().any(Option::is_some) && particles.subsample.is_some() {
        return Err("--subsample: files of velocities, masses or ids are of all particles".into());
    }
    if let Some(file) = &particles.velocities {
        if args.universe.velocity_unit.is_some_and(|unit| unit.is_internal) {
            return Err(
                "--velocities: such a file has peculiar velocities; --velocity-unit km/s and its like say so".into()
            );
        }
        let read = ropewalk::io::read(file, &ReadOptions::default())?;
        snapshot.notes.extend(input::notes_of("--velocities", &read.notes));
        let velocities = read.points;
        if (velocities.len(), velocities.dim()) != (n, 3) {
            let (file, len, dim) = (file.display(), velocities.len(), velocities.dim());
            return Err(format!("--velocities {file}: has {len} rows of {dim}; it must have {n} of 3").into());
        }
        snapshot.velocities = Some(velocities);
        snapshot.units.velocity = args.universe.velocity_unit.or(snapshot.units.velocity);
    }
    if let Some(file) = &particles.masses {
        let masses = input::values("--mass", file, n, &mut snapshot.notes)?;
        // Those of other types are not known with them.
        snapshot.matter = (snapshot.file_types.len() < 2).then(|| masses.iter().sum());
        snapshot.masses = Masses::Each(masses);
    }
    if let Some(file) = &particles.ids {
        let ids = ropewalk::io::read_npy_u64(file)?;
        if ids.len() != n {
            return Err(format!("--ids {}: has {} ids; it must have {n}", file.display(), ids.len()).into());
        }
        snapshot.ids = Some(ids);
    }
    Ok(snapshot)
}

pub fn read_options(args: &Args, types: &[u8]) -> ReadOptions {
    let mut read = ReadOptions::default().types(types.iter().copied());
    read.columns = args.particles.coordinates.clone();
    read.velocity_unit = args.universe.velocity_unit;
    read.redshift = args.universe.redshift;
    read.subsample = args.particles.subsample;
    // A box that the user names is a cube.
    read.open = args.open || args.box_size.is_some();
    read.single_part = args.particles.single_part;
    read
}

/// Writes all files of one linking length into its folder; returns what is to be said about its halos.
fn write(
    args: &Args,
    (task, catalogs): (&Task<'_>, &Catalogs),
    (folder, others): (&Path, &Others),
    snapshot: &Snapshot,
    pipeline: &Pipeline<'_>,
    found: &Found<'_>,
    outputs: &mut Outputs,
    phases: &mut Phases,
) -> Result<Summary, Failure> {
    let mut meta = vec![("snapshot", Meta::Text(task.snapshot.display().to_string()))];
    meta.extend(pipeline.meta());
    let (catalog, mut remarks) = phases.run("catalogue", || -> Result<_, Failure> {
        let measured = pipeline.measure(found)?;
        let catalog = measured.catalog;
        let members = args.members.then(|| pipeline.members(found, &catalog));
        write_catalogs(args, (catalogs, folder), pipeline, &catalog, (members, &meta), outputs)?;
        if args.group_catalog {
            outputs.write(folder.join(GROUPS), |out| pipeline.write_group_catalog(out, found, &catalog))?;
        }
        write_labels(args, folder, found, outputs)?;
        others.write(args, folder, snapshot, found, outputs)?;
        Ok((catalog, measured.notes.iter().map(report::remark).collect::<Vec<String>>()))
    })?;
    if !args.no_pictures {
        phases.run("pictures", || -> Result<(), Failure> {
            for (name, picture) in pictures(args, snapshot, pipeline, &catalog, (&meta, &mut remarks))? {
                outputs.write(folder.join(name), |out| out.write_all(&picture))?;
            }
            Ok(())
        })?;
    }
    write_largest(args, folder, (pipeline, found, &catalog), &meta, outputs, phases)?;
    let groups = found.halos.labels().n_clusters() as u64;
    let joined = found.attached.as_ref().map(|attached| {
        let of_groups = attached.labels.iter().filter(|&&label| label >= 0).count();
        [of_groups as u64, attached.labels.len() as u64]
    });
    let factors = of_report(args, pipeline)?;
    Ok(report::halos(args, (pipeline, factors.as_ref()), (groups, Some(found), joined), &catalog, &remarks))
}

/// What each particle is in.
fn write_labels(args: &Args, folder: &Path, found: &Found<'_>, outputs: &mut Outputs) -> Result<(), Failure> {
    let labels = found.halos.labels();
    outputs.write(folder.join(LABELS), |out| ropewalk::io::write_npy_i32_to(out, labels.as_slice()))?;
    if let Some(density) = found.density().filter(|_| args.density) {
        outputs.write(folder.join(DENSITY), |out| ropewalk::io::write_npy_f64_to(out, density))?;
    }
    Ok(())
}

/// Profiles and gallery of the largest halos.
fn write_largest(
    args: &Args,
    folder: &Path,
    (pipeline, found, catalog): (&Pipeline<'_>, &Found<'_>, &Catalog),
    meta: &[(&str, Meta)],
    outputs: &mut Outputs,
    phases: &mut Phases,
) -> Result<(), Failure> {
    if args.profiles > 0 {
        phases.run("profiles", || -> Result<(), Failure> {
            let largest = pipeline.largest(found, catalog, args.profiles)?;
            let profiles = pipeline.profiles(&largest)?;
            let found = (&largest.tags[..], &profiles[..], &largest.r200c[..]);
            largest::write_profiles(args, folder, pipeline, found, meta, outputs)
        })?;
    }
    if args.gallery > 0 {
        phases.run("gallery", || -> Result<(), Failure> {
            let largest = pipeline.largest(found, catalog, args.gallery.into())?;
            let picture = largest::gallery(args, pipeline, &largest)?;
            outputs.write(folder.join(Picture::Gallery.file(args)), |out| out.write_all(&picture))
        })?;
    }
    Ok(())
}
