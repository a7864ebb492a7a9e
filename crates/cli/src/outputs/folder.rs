//! The folder of a run, and the list of its files in `summary.json`.
//!
//! - in: the files of a run, and the `summary.json` in which the earlier run listed its files
//! - out: the files of this run. Listed files of the earlier run that are not written again are removed; files that
//!   no run listed are kept
//! - order: before the first file gets its name, `summary.json` lists the files of both runs and is marked as not
//!   complete. If the run is killed after that, the next run finds this list and knows which files are results

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ropewalk_io::AtomicFile;
use serde_json::{Map, Value, json};

use super::committed::Committed;
use super::identity::{Identity, Inputs};
use crate::failure::Failure;

/// The file in which a run lists its files.
pub const SUMMARY: &str = "summary.json";
/// The name and version of the program in summaries.
const PROGRAM: &str = concat!("ropewalk ", env!("CARGO_PKG_VERSION"));

/// A file in the folder of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFile {
    name: String,
    /// The size in bytes. `None` for the file that holds the list itself, and for all files of an incomplete run.
    bytes: Option<u64>,
}

impl ListedFile {
    /// Reads an entry of a list. `None` if its name is not that of a file directly in the folder.
    fn read(value: &Value) -> Option<Self> {
        let name = value.get("file")?.as_str()?;
        let is_inside = Path::new(name).file_name() == Some(name.as_ref());
        is_inside.then(|| Self { name: name.into(), bytes: value["bytes"].as_u64() })
    }

    /// Returns the entry of an output. `None` if the output is not in the folder.
    fn new(folder: &Path, path: &Path, bytes: Option<u64>) -> Option<Self> {
        let name = path.file_name().filter(|_| path.parent() == Some(folder))?.to_str()?;
        Some(Self { name: name.into(), bytes })
    }

    /// Returns `true` if the file is still a regular file of the listed size.
    fn is_unchanged(&self, folder: &Path) -> bool {
        let meta = fs::symlink_metadata(folder.join(&self.name)).ok().filter(fs::Metadata::is_file);
        meta.is_some_and(|meta| self.bytes.is_none_or(|bytes| bytes == meta.len()))
    }
}

fn list<'a>(entries: impl IntoIterator<Item = &'a ListedFile>) -> Value {
    entries.into_iter().map(|entry| json!({ "file": entry.name, "bytes": entry.bytes })).collect()
}

/// The summary of an earlier run.
pub struct EarlierRun(Value);

impl EarlierRun {
    /// Reads the summary in a folder. `None` if the folder has no summary, or a truncated one.
    ///
    /// Errors: a file of this name that no run wrote.
    pub fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let path = folder.join(SUMMARY);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: cannot read: {error}", path.display()).into()),
        };
        let is_own = |summary: &Value| summary["written"].is_array() && summary.get("snapshot").is_some();
        // The beginning of a truncated summary.
        let is_damaged = bytes.is_empty()
            || ["assumed", "complete"].iter().any(|key| bytes.starts_with(format!("{{\n  \"{key}\"").as_bytes()));
        match serde_json::from_slice(&bytes) {
            Ok(summary) if is_own(&summary) => Ok(Some(Self(summary))),
            Err(_) if is_damaged => Ok(None),
            _ => Err(format!(
                "{}: not a summary of ropewalk halos, which would replace it; move it or give another --out",
                path.display()
            )
            .into()),
        }
    }

    /// Returns `true` if the run is complete, has the description `run`, and all files that it listed still have the
    /// listed sizes.
    pub fn is_finished(&self, folder: &Path, run: &Value) -> bool {
        let files = self.0["written"].as_array().map(|files| files.iter().map(ListedFile::read).collect::<Vec<_>>());
        self.0["complete"] == true
            && self.0.get("run") == Some(run)
            && files.is_some_and(|files| {
                files.iter().all(|file| file.as_ref().is_some_and(|file| file.is_unchanged(folder)))
            })
    }

    /// Returns the files that the summary lists.
    fn files(&self) -> Vec<ListedFile> {
        self.0["written"].as_array().into_iter().flatten().filter_map(ListedFile::read).collect()
    }
}

/// The folder of a run.
pub struct Folder {
    path: PathBuf,
    /// The files of an earlier run.
    earlier: Vec<ListedFile>,
}

impl Folder {
    /// Reads which files an earlier run has listed in the folder.
    ///
    /// Errors: as [`EarlierRun::read`].
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let earlier = EarlierRun::read(path)?.map_or_else(Vec::new, |earlier| earlier.files());
        Ok(Self { path: path.to_path_buf(), earlier })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the entries of those outputs, given with their sizes, that are in this folder.
    pub fn entries(&self, sizes: &[(&Path, u64)]) -> Vec<ListedFile> {
        sizes.iter().filter_map(|&(path, bytes)| ListedFile::new(&self.path, path, Some(bytes))).collect()
    }

    /// Creates the summary of an incomplete run, which also lists the files of the earlier run.
    pub fn unfinished_summary(&self, written: &[ListedFile]) -> Result<AtomicFile, Failure> {
        let both = self.earlier.iter().chain(written).map(|entry| ListedFile { bytes: None, ..entry.clone() });
        let both = list(&both.collect::<Vec<_>>());
        self.summary(&json!({ "program": PROGRAM, "complete": false, "snapshot": null, "written": both }))
    }

    /// Creates the summary of a complete run.
    pub fn complete_summary(
        &self,
        mut summary: Map<String, Value>,
        written: &[ListedFile],
    ) -> Result<AtomicFile, Failure> {
        summary.insert("program".into(), PROGRAM.into());
        summary.insert("complete".into(), true.into());
        summary.insert("written".into(), list(written));
        self.summary(&Value::Object(summary))
    }

    /// Creates a summary file that is not committed yet.
    fn summary(&self, value: &Value) -> Result<AtomicFile, Failure> {
        let path = self.path.join(SUMMARY);
        let bytes = pretty(value)?;
        let mut file = AtomicFile::create(&path)?;
        let written = file.write_all(&bytes).and_then(|()| file.flush());
        written.map_err(|error| format!("{}: cannot write: {error}", path.display()))?;
        Ok(file)
    }

    /// Removes the listed files of the earlier run that this run has not written. Changed files and inputs are kept.
    pub fn remove_earlier(
        &self,
        written: &[ListedFile],
        inputs: &Inputs,
        committed: &mut Committed,
    ) -> Result<(), Failure> {
        let is_written = |entry: &ListedFile| written.iter().any(|own| own.name == entry.name);
        for entry in self.earlier.iter().filter(|entry| !is_written(entry)) {
            let path = self.path.join(&entry.name);
            if !entry.is_unchanged(&self.path) {
                if path.exists() {
                    committed.kept.push(format!("{} (changed since an earlier run wrote it)", entry.name));
                }
            } else if inputs.contain(&Identity::from_output(&path)) {
                committed.kept.push(format!("{} (the input)", entry.name));
            } else {
                fs::remove_file(&path).map_err(|error| {
                    format!("{}: cannot remove the file of an earlier run: {error}", path.display())
                })?;
                committed.removed.push(entry.name.clone());
            }
        }
        Ok(())
    }

    /// Records files with names of results that no known run has listed.
    pub fn note_others(&self, written: &[ListedFile], known: &[&str], committed: &mut Committed) {
        let is_listed = |name: &str| written.iter().chain(&self.earlier).any(|entry| entry.name == name);
        let others = known.iter().filter(|name| !is_listed(name) && self.path.join(name).is_file());
        committed.kept.extend(others.map(|name| format!("{name} (not of this run)")));
    }
}

/// Describes the results of earlier runs next to those of this run: in the folder that the user specified, and in the
/// folders of linking lengths in it.
pub fn other_runs(root: &Path, folders: &[Folder]) -> Vec<String> {
    let is_of_this_run = |path: &Path| folders.iter().any(|folder| folder.path == path);
    let entries = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_length = |path: &PathBuf| {
        let length = path.file_name().and_then(|name| name.to_str()?.strip_prefix('b')?.parse::<f64>().ok());
        length.is_some()
    };
    let mut all: Vec<PathBuf> = entries.filter(is_length).chain([root.to_path_buf()]).collect();
    all.sort();
    all.iter().filter(|path| !is_of_this_run(path)).filter_map(|path| other_run(path)).collect()
}

/// Describes the results of a run in a folder; `None` if there is no summary of a run.
pub fn other_run(folder: &Path) -> Option<String> {
    let earlier = EarlierRun::read(folder).ok().flatten();
    earlier.map(|_| format!("{} and the files that it lists (of an earlier run)", folder.join(SUMMARY).display()))
}

/// Formats a value as indented JSON text.
pub fn pretty(value: &Value) -> Result<Vec<u8>, Failure> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_files_in_their_folder_alone() {
        let read = |file: &str| ListedFile::read(&json!({ "file": file, "bytes": 1 }));
        assert_eq!(read("halos.ecsv"), Some(ListedFile { name: "halos.ecsv".into(), bytes: Some(1) }));
        for bad in ["/etc/passwd", "../x", "a/x", "..", "", "./x", "x/"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(ListedFile::read(&json!("x")), None);
    }
}
