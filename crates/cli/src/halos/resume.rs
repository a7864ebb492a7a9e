//! Runs of a series that are finished: the options and files of a run, as its summary keeps them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::options::runs;
use crate::args::Halos as Args;
use crate::outputs::Earlier;

/// The options that results depend on, after defaults and in the words of the program: all but where results go, and threads.
pub fn result_options(args: &Args) -> Args {
    Args { snapshots: vec![], out: PathBuf::new(), json: None, again: false, threads: None, ..args.clone() }
}

/// The options and files that the results of a run depend on, and the version of the program. Threads change nothing.
pub fn description(args: &Args, snapshot: &Path) -> Value {
    let particles = &args.particles;
    let beside = [&particles.velocities, &particles.masses, &particles.ids].into_iter().flatten().cloned();
    let mut known = BTreeSet::new();
    let files = ropewalk_io::parts(snapshot).into_iter().chain(ropewalk_io::companions(snapshot)).chain(beside);
    let files = files.map(|part| part.canonicalize().unwrap_or(part)).filter(|part| known.insert(part.clone()));
    let files: Vec<Value> = files
        .map(|part| {
            let meta = fs::metadata(&part).ok();
            let modified = meta.as_ref().and_then(|meta| meta.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            json!({
                "path": text(&part),
                "bytes": meta.map(|meta| meta.len()),
                "modified_ns": modified.map(|since| since.as_nanos().to_string()),
            })
        })
        .collect();
    json!({ "options": format!("{:?}", result_options(args)), "files": files, "version": env!("CARGO_PKG_VERSION") })
}

/// A path as text, different for different paths.
fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), String::from)
}

/// Returns `true` if the folder, or the folder in it of each linking length, holds the results of such a run, each file of the size that it
/// had when it was written.
pub fn is_finished(args: &Args, folder: &Path, run: &Value) -> bool {
    let is_finished =
        |folder: &Path| Earlier::read(folder).ok().flatten().is_some_and(|earlier| earlier.is_finished(folder, run));
    runs(args, folder).is_ok_and(|runs| runs.iter().all(|run| is_finished(&run.folder)))
}
