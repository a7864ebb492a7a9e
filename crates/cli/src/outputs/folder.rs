//! A folder that holds the files of one run, and says which they are.
//!
//! - in: the files of a run, and `summary.json`, in which the earlier run listed its files
//! - out: the files of this run; those of the earlier one that are not written again are removed. Files that no run listed stay
//! - how: before the first file takes its name, `summary.json` lists the files of both runs and says that it is not complete. A run that is
//!   killed after that leaves a folder that says so, and whose files the next run knows

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
/// The program, as summaries name it.
const PROGRAM: &str = concat!("ropewalk ", env!("CARGO_PKG_VERSION"));

/// A file in the folder of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    name: String,
    /// The size. `None` for a file that holds the list itself, and in the list of a run that is not complete.
    bytes: Option<u64>,
}

impl Entry {
    /// A file of a list, if it is in the folder of the list.
    fn read(value: &Value) -> Option<Self> {
        let name = value.get("file")?.as_str()?;
        let is_inside = Path::new(name).file_name() == Some(name.as_ref());
        is_inside.then(|| Self { name: name.into(), bytes: value["bytes"].as_u64() })
    }

    /// The file that an output is in the folder.
    fn of(folder: &Path, path: &Path, bytes: Option<u64>) -> Option<Self> {
        let name = path.file_name().filter(|_| path.parent() == Some(folder))?.to_str()?;
        Some(Self { name: name.into(), bytes })
    }

    /// Returns `true` if the file is as it was written: a regular file of this size.
    fn is_unchanged(&self, folder: &Path) -> bool {
        let meta = fs::symlink_metadata(folder.join(&self.name)).ok().filter(fs::Metadata::is_file);
        meta.is_some_and(|meta| self.bytes.is_none_or(|bytes| bytes == meta.len()))
    }
}

fn list<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Value {
    entries.into_iter().map(|entry| json!({ "file": entry.name, "bytes": entry.bytes })).collect()
}

/// The summary of an earlier run.
pub struct Earlier(Value);

impl Earlier {
    /// Reads the summary in a folder. `None` if there is none.
    ///
    /// Errors: a file of this name that no run wrote.
    pub fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let path = folder.join(SUMMARY);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: cannot be read: {error}", path.display()).into()),
        };
        let is_own = |summary: &Value| summary["written"].is_array() && summary.get("snapshot").is_some();
        // The beginning of a summary of which the rest is lost.
        let is_damaged = bytes.is_empty()
            || ["assumed", "complete"].iter().any(|key| bytes.starts_with(format!("{{\n  \"{key}\"").as_bytes()));
        match serde_json::from_slice(&bytes) {
            Ok(summary) if is_own(&summary) => Ok(Some(Self(summary))),
            Err(_) if is_damaged => Ok(None),
            _ => Err(format!(
                "{}: is not a summary of ropewalk halos, and would be replaced by one; move it or name another --out",
                path.display()
            )
            .into()),
        }
    }

    /// Returns `true` if the run was described as `run`, and all files that it wrote into the folder have the size that they had then.
    pub fn is_finished(&self, folder: &Path, run: &Value) -> bool {
        let files = self.0["written"].as_array().map(|files| files.iter().map(Entry::read).collect::<Vec<_>>());
        self.0["complete"] == true
            && self.0.get("run") == Some(run)
            && files.is_some_and(|files| {
                files.iter().all(|file| file.as_ref().is_some_and(|file| file.is_unchanged(folder)))
            })
    }

    /// The files that it lists.
    fn files(&self) -> Vec<Entry> {
        self.0["written"].as_array().into_iter().flatten().filter_map(Entry::read).collect()
    }
}

/// The folder of a run.
pub struct Folder {
    path: PathBuf,
    /// The files of an earlier run.
    earlier: Vec<Entry>,
}

impl Folder {
    /// Reads which files an earlier run left in the folder.
    ///
    /// Errors: as [`Earlier::read`].
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let earlier = Earlier::read(path)?.map_or_else(Vec::new, |earlier| earlier.files());
        Ok(Self { path: path.to_path_buf(), earlier })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Selects the files in the folder, from files with their sizes.
    pub fn entries(&self, sizes: &[(&Path, u64)]) -> Vec<Entry> {
        sizes.iter().filter_map(|&(path, bytes)| Entry::of(&self.path, path, Some(bytes))).collect()
    }

    /// The summary of a run that is not complete: it lists the files of the earlier run, too.
    pub fn unfinished_summary(&self, written: &[Entry]) -> Result<AtomicFile, Failure> {
        let both = self.earlier.iter().chain(written).map(|entry| Entry { bytes: None, ..entry.clone() });
        let both = list(&both.collect::<Vec<_>>());
        self.summary(&json!({ "program": PROGRAM, "complete": false, "snapshot": null, "written": both }))
    }

    /// The summary of a run that is complete.
    pub fn complete_summary(&self, mut summary: Map<String, Value>, written: &[Entry]) -> Result<AtomicFile, Failure> {
        summary.insert("program".into(), PROGRAM.into());
        summary.insert("complete".into(), true.into());
        summary.insert("written".into(), list(written));
        self.summary(&Value::Object(summary))
    }

    /// A summary that is not committed yet.
    fn summary(&self, value: &Value) -> Result<AtomicFile, Failure> {
        let path = self.path.join(SUMMARY);
        let bytes = pretty(value)?;
        let mut file = AtomicFile::create(&path)?;
        let written = file.write_all(&bytes).and_then(|()| file.flush());
        written.map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
        Ok(file)
    }

    /// Removes the files of the earlier run that are not of this one and are as they were written.
    pub fn remove_earlier(&self, written: &[Entry], inputs: &Inputs, committed: &mut Committed) -> Result<(), Failure> {
        let is_written = |entry: &Entry| written.iter().any(|own| own.name == entry.name);
        for entry in self.earlier.iter().filter(|entry| !is_written(entry)) {
            let path = self.path.join(&entry.name);
            if !entry.is_unchanged(&self.path) {
                if path.exists() {
                    committed.kept.push(format!("{} (changed since an earlier run wrote it)", entry.name));
                }
            } else if inputs.contain(&Identity::of_output(&path)) {
                committed.kept.push(format!("{} (the input)", entry.name));
            } else {
                fs::remove_file(&path).map_err(|error| {
                    format!("{}: is of an earlier run and cannot be removed: {error}", path.display())
                })?;
                committed.removed.push(entry.name.clone());
            }
        }
        Ok(())
    }

    /// Notes files that look like those of a run and are of none that is known.
    pub fn note_others(&self, written: &[Entry], known: &[&str], committed: &mut Committed) {
        let is_listed = |name: &str| written.iter().chain(&self.earlier).any(|entry| entry.name == name);
        let others = known.iter().filter(|name| !is_listed(name) && self.path.join(name).is_file());
        committed.kept.extend(others.map(|name| format!("{name} (not of this run)")));
    }
}

/// The results of earlier runs that are beside those of this run: in the folder that the user names, and in the folders of linking lengths
/// in it.
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

/// The results of a run in a folder, in words; `None` if no run wrote a summary there.
pub fn other_run(folder: &Path) -> Option<String> {
    let earlier = Earlier::read(folder).ok().flatten();
    earlier.map(|_| format!("{} and the files that it lists (of an earlier run)", folder.join(SUMMARY).display()))
}

/// A JSON text.
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
        let read = |file: &str| Entry::read(&json!({ "file": file, "bytes": 1 }));
        assert_eq!(read("halos.ecsv"), Some(Entry { name: "halos.ecsv".into(), bytes: Some(1) }));
        for bad in ["/etc/passwd", "../x", "a/x", "..", "", "./x", "x/"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(Entry::read(&json!("x")), None);
    }
}
