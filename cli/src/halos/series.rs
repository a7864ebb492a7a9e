//! Several snapshots in one call: which they are, a folder for each, and which of them are finished.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::files::SUMMARY;
use super::one::{self, Task};
use crate::args::Halos as Args;
use crate::device::Device;
use crate::{Failure, one_line};

/// The snapshots that are named, by themselves, by one or all of their files, or by a pattern; each once, in order. If `are_parts` is
/// set, each file is one.
pub fn snapshots(named: &[PathBuf], are_parts: bool) -> Result<Vec<PathBuf>, Failure> {
    let mut known = BTreeSet::new();
    let mut all = vec![];
    for name in named {
        for path in matching(name)? {
            let parts = if are_parts { vec![] } else { ropewalk::io::parts(&path) };
            let first = parts.into_iter().min().unwrap_or_else(|| path.clone());
            if known.insert(first.canonicalize().unwrap_or(first)) {
                all.push(path);
            }
        }
    }
    Ok(all)
}

/// The paths of a pattern that the shell left as it is; any other name by itself.
fn matching(name: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = name.to_string_lossy();
    if name.exists() || !text.contains(['*', '?', '[']) {
        return Ok(vec![name.to_path_buf()]);
    }
    let paths = glob::glob(&text).map_err(|error| format!("{text}: is no pattern: {error}"))?;
    let found: Vec<PathBuf> = paths.filter_map(Result::ok).collect();
    if found.is_empty() {
        return Err(format!("{text}: no file has such a name").into());
    }
    Ok(found)
}

/// The halos of each snapshot in a folder of its own. One that fails does not keep the others from being done.
pub fn run(args: &Args, snapshots: &[PathBuf], device: Device) -> Result<String, Failure> {
    if args.json.is_some() {
        return Err("--json: several snapshots have a summary.json each, in their folders".into());
    }
    let mut folders: Vec<PathBuf> = vec![];
    for snapshot in snapshots {
        let folder = args.out.join(stem(snapshot));
        if let Some(other) = folders.iter().position(|other| *other == folder) {
            let (a, b, folder) = (snapshots[other].display(), snapshot.display(), folder.display());
            return Err(format!("{a} and {b} would both be in {folder}; find their halos in two calls").into());
        }
        folders.push(folder);
    }
    let mut report = String::new();
    let mut failed = vec![];
    for (snapshot, folder) in snapshots.iter().zip(&folders) {
        let (path, out) = (snapshot.display(), folder.display());
        let note = note(args, snapshot);
        if !args.again && is_finished(folder, &note) {
            _ = writeln!(report, "{path}: is finished, in {out}");
            continue;
        }
        let task = Task { snapshot, out: folder, json: Some(folder.join(SUMMARY)) };
        match one::run(args, &task, device, note) {
            Ok(text) => {
                let halos = text.lines().filter_map(|line| line.strip_prefix("halos ")).map(str::trim);
                _ = writeln!(report, "{path}: halos {}, in {out}", halos.collect::<Vec<_>>().join("; "));
            }
            Err(error) => failed.push(one_line(&error.to_string())),
        }
    }
    if failed.is_empty() {
        return Ok(report);
    }
    let (failed, all, why) = (failed.len(), snapshots.len(), failed.join("; "));
    // A report that cannot be printed has no other place to go.
    _ = std::io::stdout().write_all(report.as_bytes());
    Err(format!("{failed} of {all} snapshots have no halos: {why}").into())
}

/// The name of a snapshot without its endings: `snap_099` of `snap_099.0.hdf5`.
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

/// What a run depends on: its options, its files, and those beside them. Threads change nothing.
fn note(args: &Args, snapshot: &Path) -> Value {
    let named: Vec<&OsStr> = args.snapshots.iter().map(|path| path.as_os_str()).collect();
    let mut options = vec![];
    let mut arguments = std::env::args_os().skip(2).filter(|argument| !named.contains(&argument.as_os_str()));
    while let Some(argument) = arguments.next() {
        match argument.to_string_lossy().as_ref() {
            "--threads" | "--out" => _ = arguments.next(),
            "--again" => {}
            text if text.starts_with("--threads=") || text.starts_with("--out=") => {}
            text => options.push(text.to_string()),
        }
    }
    let particles = &args.particles;
    let beside = [&particles.velocities, &particles.masses, &particles.ids].into_iter().flatten().cloned();
    let files = ropewalk::io::parts(snapshot).into_iter().chain(ropewalk::io::companions(snapshot)).chain(beside);
    let files: Vec<Value> = files
        .map(|part| {
            let meta = fs::metadata(&part).ok();
            let modified = meta.as_ref().and_then(|meta| meta.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            json!({
                "path": part.display().to_string(),
                "bytes": meta.map(|meta| meta.len()),
                "modified_ns": modified.map(|since| since.as_nanos().to_string()),
            })
        })
        .collect();
    json!({ "options": options, "files": files, "version": env!("CARGO_PKG_VERSION") })
}

/// Whether the summary of a folder is of such a run, and all that it wrote is there.
fn is_finished(folder: &Path, note: &Value) -> bool {
    let summary = fs::read(folder.join(SUMMARY)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let Some(summary) = summary.filter(|summary| summary.get("run") == Some(note)) else { return false };
    let written = summary.get("written").and_then(Value::as_array);
    written.is_some_and(|files| files.iter().all(|file| file.as_str().is_some_and(|file| Path::new(file).is_file())))
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
