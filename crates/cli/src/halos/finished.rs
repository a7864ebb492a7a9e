//! Skipping of finished snapshots in a series: the description of a run in its summary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::{Map, Value, json};

use super::options::runs;
use crate::args::Halos as Args;
use crate::outputs::EarlierRun;

/// Returns the options that the results depend on, including defaults: all except input and output paths, `--again`,
/// the files of options and the number of threads.
pub fn result_options(args: &Args) -> Args {
    let report = args.report.as_ref().map(|_| None);
    Args {
        snapshots: vec![],
        out: PathBuf::new(),
        json: None,
        report,
        again: false,
        threads: None,
        config: None,
        write_config: None,
        config_text: String::new(),
        recorded: Map::new(),
        ..args.clone()
    }
}

/// Describes a run: the options and files that its results depend on, and the version of the program. The number of
/// threads is left out, since it does not change results.
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
    json!({ "options": args.recorded, "files": files, "version": env!("CARGO_PKG_VERSION") })
}

/// Returns a path as text. Different paths have different texts.
fn text(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), String::from)
}

/// Returns `true` if the folder, or the folder of each linking length in it, holds the complete results of the run
/// described by `run`. Each file must have the size with which it was written.
pub fn is_finished(args: &Args, folder: &Path, run: &Value) -> bool {
    let is_finished =
        |folder: &Path| EarlierRun::read(folder).ok().flatten().is_some_and(|earlier| earlier.is_finished(folder, run));
    runs(args, folder).is_ok_and(|runs| runs.iter().all(|run| is_finished(&run.folder)))
}
