//! Several snapshots in one command: their paths, a folder for each, and skipping of finished ones.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::finished::{description, is_finished};
use super::snapshot::{self, Task};
use crate::args::Halos as Args;
use crate::device::Device;
use crate::failure::{Failure, one_line};
use crate::outputs::{Identity, Inputs, other_run};
use crate::verbosity::is_quiet;

/// Returns the named snapshots. A name is a snapshot itself, one or all of its files, or a pattern. Each snapshot is
/// listed once, in the given order. If `are_parts` is `true`, each file is a snapshot of its own.
pub fn snapshots(named: &[PathBuf], are_parts: bool) -> Result<Vec<PathBuf>, Failure> {
    let mut known = BTreeSet::new();
    let mut all = vec![];
    for name in named {
        for path in matching(name)? {
            let parts = if are_parts { vec![] } else { ropewalk_io::parts(&path) };
            let first = parts.into_iter().min().unwrap_or_else(|| path.clone());
            if known.insert(first.canonicalize().unwrap_or(first)) {
                all.push(path);
            }
        }
    }
    Ok(all)
}

/// Expands a pattern that the shell has not expanded. Any other name is returned as it is.
fn matching(name: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = name.to_string_lossy();
    if name.exists() || !text.contains(['*', '?', '[']) {
        return Ok(vec![name.to_path_buf()]);
    }
    let paths = glob::glob(&text).map_err(|error| format!("{text}: invalid pattern: {error}"))?;
    let found: Vec<PathBuf> = paths.filter_map(Result::ok).collect();
    if found.is_empty() {
        return Err(format!("{text}: no file matches the pattern").into());
    }
    Ok(found)
}

/// Finds the halos of each snapshot in a folder of its own. If one snapshot fails, the others are still processed.
pub fn run(args: &Args, snapshots: &[PathBuf], inputs: &Rc<Inputs>, device: Device) -> Result<String, Failure> {
    if args.json.is_some() {
        return Err("--json requires a single snapshot; each snapshot has a summary.json in its folder".into());
    }
    if let Some(Some(page)) = &args.report {
        let why = "a name requires a single snapshot; without one each snapshot has a report.html in its folder";
        return Err(format!("--report {}: {why}", page.display()).into());
    }
    let folders: Vec<PathBuf> = snapshots.iter().map(|snapshot| args.out.join(stem(snapshot))).collect();
    let places: Vec<Identity> = folders.iter().map(|folder| Identity::from_output(folder)).collect();
    for (at, place) in places.iter().enumerate() {
        if let Some(other) = places[..at].iter().position(|other| other.is_same(place)) {
            let (a, b, folder) = (snapshots[other].display(), snapshots[at].display(), folders[at].display());
            return Err(format!("the results of {a} and {b} would share the folder {folder}; use two commands").into());
        }
    }
    let mut report = String::new();
    let mut failed = vec![];
    for (snapshot, folder) in snapshots.iter().zip(&folders) {
        let (path, out) = (snapshot.display(), folder.display());
        if !args.again && is_finished(args, folder, &description(args, snapshot)) {
            _ = writeln!(report, "{path}: already finished, in {out}");
            continue;
        }
        let task = Task { snapshot, out: folder, json: None, inputs, in_series: true };
        match snapshot::run(args, &task, device) {
            Ok(text) => {
                let halos = text.lines().filter_map(|line| line.strip_prefix("halos ")).map(str::trim);
                _ = writeln!(report, "{path}: halos {}, in {out}", halos.collect::<Vec<_>>().join("; "));
                for line in passed_on(&text) {
                    _ = writeln!(report, "{path}: {line}");
                }
            }
            Err(error) => failed.push(one_line(&error.to_string())),
        }
    }
    if let Some(kept) = other_run(&args.out) {
        _ = writeln!(report, "kept: {kept}");
    }
    if failed.is_empty() {
        return Ok(report);
    }
    let (failed, all, why) = (failed.len(), snapshots.len(), failed.join("; "));
    if !is_quiet() {
        // If the report cannot be printed, there is no other place for it.
        _ = std::io::stdout().write_all(report.as_bytes());
    }
    Err(format!("{failed} of {all} snapshots failed: {why}").into())
}

/// Returns the lines of the report on one snapshot that the report on the series repeats, each line once. They are
/// about unread or assumed data and files of earlier runs.
fn passed_on(report: &str) -> Vec<String> {
    let is_passed_on = |line: &&str| {
        ["not read ", "wrapped ", "note ", "removed: ", "kept: "].iter().any(|name| line.starts_with(name))
    };
    let mut lines: Vec<String> = vec![];
    for line in report.lines().filter(is_passed_on).map(one_line) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Returns the name of a snapshot without its endings: `snap_099` for `snap_099.0.hdf5`.
fn stem(snapshot: &Path) -> PathBuf {
    let mut stem = PathBuf::from(snapshot.file_name().unwrap_or(OsStr::new("snapshot")));
    for _ in 0..2 {
        let ending = stem.extension().map(|ending| ending.to_string_lossy().into_owned());
        let is_known = |ending: &str| {
            ["hdf5", "h5", "gadget2", "npy", "npz", "csv", "gz", "parquet", "asdf"].contains(&ending)
                || ending.bytes().all(|byte| byte.is_ascii_digit())
        };
        if ending.is_some_and(|ending| is_known(&ending)) {
            stem.set_extension("");
        }
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_snapshots() {
        let names = ["a/snap_099.0.hdf5", "snapshot_000", "p3m_64.gadget2", "points.csv.gz", "z0.5_run", "snap_005.12"];
        let stems = ["snap_099", "snapshot_000", "p3m_64", "points", "z0.5_run", "snap_005"];
        assert_eq!(names.map(|name| stem(Path::new(name))), stems.map(PathBuf::from));
    }
}
