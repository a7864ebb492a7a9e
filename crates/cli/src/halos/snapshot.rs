//! The halos of one snapshot: files, report and pictures around the library's pipeline.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ropewalk_io::{SharedNpy, Snapshot};
use ropewalk_pipeline::{FoundHalos, Pipeline};
use serde_json::Value;

use super::files::{Catalogs, STANDARD_OUTPUT, files, known};
use super::finished::description;
use super::options::{refused, runs};
use super::other_types::Others;
use super::read::read;
use super::report::{self, GroupCounts};
use super::writer::RunWriter;
use crate::args::Halos as Args;
use crate::device::Device;
use crate::failure::Failure;
use crate::output_units::of_report;
use crate::outputs::{FolderPlan, Inputs, Outputs};
use crate::phases::Phases;
use crate::pictures::{check_slab, extent};
use crate::summary::Summary;

/// A snapshot to find halos in: its path, the output folder, the summary file, and the files that the command reads.
pub struct Task<'a> {
    pub snapshot: &'a Path,
    pub out: &'a Path,
    pub json: Option<PathBuf>,
    pub inputs: &'a Rc<Inputs>,
    /// `true` if the snapshot is one of several.
    pub in_series: bool,
}

/// Files that a run has written into the folders of its task, and the summary of the run.
pub struct Written<'a> {
    pub summary: Summary,
    /// The JSON values of each run.
    pub runs: Vec<Value>,
    /// Arrays that ranks have written together.
    pub arrays: Vec<SharedNpy<'a>>,
    /// The folder of each run.
    pub folders: &'a [PathBuf],
    pub names: &'a [&'a str],
}

impl Task<'_> {
    /// Creates files of these names in each folder. The `shared` files are only reserved, because ranks write them
    /// together.
    pub fn create(&self, folders: &[PathBuf], names: &[&str], shared: &[&str]) -> Result<Outputs, Failure> {
        let plan = FolderPlan { root: self.out, folders, names, shared, known: known() };
        let mut outputs = Outputs::in_folders(plan, self.inputs)?;
        if let Some(json) = &self.json {
            outputs.add_summary(json)?;
        }
        Ok(outputs)
    }

    /// Commits all files; returns the report.
    pub fn finish(&self, outputs: &mut Outputs, written: Written<'_>) -> Result<String, Failure> {
        let Written { mut summary, runs, arrays, folders, names } = written;
        summary.value("snapshot", self.snapshot.display().to_string());
        let of = |runs: &[Value]| {
            let mut values = summary.values.clone();
            values.insert("runs".into(), runs.into());
            values
        };
        let each = runs.chunks(1).map(of).collect();
        let json = self.json.as_deref().map(|json| (json, of(&runs)));
        let committed = outputs.commit_folders(each, json, arrays)?;
        summary.text += &report::written(names, folders, &committed);
        Ok(committed.report(summary.text))
    }
}

/// Finds the halos of a snapshot and writes the results.
pub fn run(args: &Args, task: &Task<'_>, device: Device) -> Result<String, Failure> {
    // Computed before anything is read, so that a file that changes during the run makes the results outdated.
    let description = description(args, task.snapshot);
    let runs = runs(args, task.out)?;
    // Create the outputs first, so that a file that cannot be written is an error before hours of work.
    let catalogs = Catalogs::new(args, &runs)?;
    let mut files = files(args, &catalogs);
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let folders: Vec<PathBuf> = runs.iter().map(|run| run.folder.clone()).collect();
    let mut outputs = task.create(&folders, &names, &[])?;
    if let Some(Some(page)) = &args.report {
        outputs.add(page)?;
    }
    if catalogs.to_stdout {
        outputs.add(Path::new(STANDARD_OUTPUT))?;
    }

    let mut phases = Phases::default();
    let mut snapshot = read(args, task.snapshot, &mut phases)?;
    check_slab(args, &snapshot, || Ok(extent(&snapshot)))?;
    let others = Others::read(args, task.snapshot, task.in_series, &mut snapshot, &mut phases)?;
    let more_notes = others.more_notes(&snapshot.notes);
    snapshot.notes.extend(more_notes);
    for (_, names) in others.typed(args, &snapshot) {
        for name in names {
            folders.iter().try_for_each(|folder| outputs.add(&folder.join(name)))?;
            files.push(name.into());
        }
    }
    let mut tree = None;
    let (mut summary, mut about) = (Summary::default(), vec![]);
    let mut all_runs = vec![];
    for run in &runs {
        let pipeline = Pipeline::new(&snapshot, &run.options).map_err(|error| refused(args, task.snapshot, &error))?;
        let pipeline = others.join(task.snapshot, pipeline)?;
        if tree.is_none() && !args.linking_lengths.is_empty() {
            tree = Some(phases.run("spanning tree", || pipeline.spanning_tree())?);
        }
        let mut found = phases.run("find halos", || match (&tree, device) {
            (Some(tree), _) => pipeline.find_by_spanning_tree(tree),
            (None, Device::Cpu) => pipeline.find(),
            #[cfg(feature = "gpu")]
            (None, Device::Gpu(device)) => pipeline.find_on(device),
        })?;
        if others.snapshot.is_some() {
            phases.run("attach", || pipeline.attach(&mut found))?;
        }
        if summary.text.is_empty() {
            let (types, factors) = (report::type_counts(&snapshot), of_report(args, &pipeline)?);
            report::about(&mut summary, &snapshot, &types, &pipeline, factors.as_ref());
            about.clone_from(&summary.lines);
        }
        if tree.is_some() {
            summary.text.push('\n');
        }
        let mut writer = RunWriter::new(args, &catalogs, &run.folder, task.snapshot, &pipeline, &mut outputs);
        let of_run = write(args, &snapshot, &others, &pipeline, &found, &about, &mut writer, &mut phases)?;
        summary.text += &of_run.text;
        all_runs.push(Value::Object(of_run.values));
    }
    summary.value("run", description);
    summary.times(&phases);
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    task.finish(&mut outputs, Written { summary, runs: all_runs, arrays: vec![], folders: &folders, names: &names })
}

/// Writes all files of one linking length into its folder; returns the summary of its halos. `about` has the lines on
/// the snapshot for the report.
fn write(
    args: &Args,
    snapshot: &Snapshot,
    others: &Others,
    pipeline: &Pipeline<'_>,
    found: &FoundHalos<'_>,
    about: &[(String, String)],
    writer: &mut RunWriter<'_>,
    phases: &mut Phases,
) -> Result<Summary, Failure> {
    let (catalog, mut remarks) = phases.run("catalogue", || -> Result<_, Failure> {
        let measured = pipeline.measure(found)?;
        let catalog = measured.catalog;
        let members = args.members.then(|| pipeline.members(found, &catalog)).transpose()?.flatten();
        writer.catalogs(&catalog, members)?;
        if args.group_catalog {
            writer.group_catalog(found, &catalog)?;
        }
        let rows = pipeline.halo_rows(Some(&catalog))?;
        writer.labels(found, &rows)?;
        writer.types(others, snapshot, found, &rows)?;
        Ok((catalog, measured.notes.iter().map(report::remark).collect::<Vec<String>>()))
    })?;
    if args.group_catalog {
        let new: Vec<String> = pipeline.notes_on_ids().into_iter().filter(|note| !remarks.contains(note)).collect();
        remarks.extend(new);
    }
    if !args.no_pictures {
        phases.run("pictures", || writer.pictures(snapshot, &catalog, &mut remarks))?;
    }
    if args.profiles > 0 {
        phases.run("profiles", || -> Result<(), Failure> {
            let largest = pipeline.largest(found, &catalog, args.profiles)?;
            writer.profiles(&largest.names, &pipeline.profiles(found, &largest)?, &largest.r200c)
        })?;
    }
    if args.gallery > 0 {
        phases.run("gallery", || writer.gallery(found, &catalog))?;
    }
    let joined = found.attached.as_ref().map(|attached| {
        let of_groups = attached.labels.iter().filter(|&&label| label >= 0).count();
        [of_groups as u64, attached.labels.len() as u64]
    });
    let counts = GroupCounts { groups: found.n_groups(), joined };
    let factors = of_report(args, pipeline)?;
    let summary = report::halos(args, pipeline, factors.as_ref(), &counts, Some(found), &catalog, &remarks);
    if args.report.is_some() {
        let lines = [about, &summary.lines];
        let timing = phases.lines();
        phases.run("report", || writer.page(snapshot, found, &catalog, &lines, timing))?;
    }
    Ok(summary)
}
