//! A folder that holds the files of one run, and says which they are.
//!
//! - in: the files of a run, and `summary.json`, in which the earlier run listed its files
//! - out: the files of this run; those of the earlier one that are not written again are removed. Files that no run listed stay
//! - how: before the first file takes its name, `summary.json` lists the files of both runs and says that it is not complete. A run that is
//!   killed after that leaves a folder that says so, and whose files the next run knows

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ropewalk::io::{AtomicFile, SharedNpy};
use serde_json::{Map, Value, json};

use super::identity::{Identity, Inputs};
use super::{Committed, Outputs};
use crate::failure::Failure;

/// The file in which a run lists its files.
pub const SUMMARY: &str = "summary.json";

/// A file in the folder of a run.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
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

/// The files that runs are about to write into their folders.
pub struct Plan<'a> {
    /// The folder that the user names: the only folder, or the one that the folders are in.
    pub root: &'a Path,
    /// The folders, which get a file of each name.
    pub folders: &'a [PathBuf],
    pub names: &'a [&'a str],
    /// Those among the names that ranks write together, as arrays of their own.
    pub shared: &'a [&'a str],
    /// The names that any run may write.
    pub known: Vec<&'static str>,
}

impl Outputs {
    /// Makes the folders, and an empty file for each name: a file that cannot be written is refused now, before hours of work.
    pub fn in_folders(plan: Plan<'_>, inputs: &Rc<Inputs>) -> Result<Self, Failure> {
        let mut outputs = Self::new(inputs.clone());
        for folder in plan.folders {
            outputs.make(folder)?;
            AtomicFile::remove_stale(folder);
            let earlier = Earlier::read(folder)?.map_or_else(Vec::new, |earlier| earlier.files());
            outputs.reserve(&folder.join(SUMMARY))?;
            plan.names.iter().try_for_each(|name| outputs.reserve(&folder.join(name)))?;
            outputs.folders.push(Folder { path: folder.clone(), earlier });
        }
        let created = || plan.names.iter().filter(|name| !plan.shared.contains(name));
        for folder in plan.folders {
            created().try_for_each(|name| outputs.create(&folder.join(name)))?;
        }
        (outputs.root, outputs.known) = (plan.root.to_path_buf(), plan.known);
        Ok(outputs)
    }

    /// Adds a file for the summary of all runs. A single folder has it in any case.
    pub fn add_summary(&mut self, json: &Path) -> Result<(), Failure> {
        let identity = Identity::of_output(json);
        match &self.folders[..] {
            [one] if Identity::of_output(&one.path.join(SUMMARY)).is_same(&identity) => Ok(()),
            _ => self.add(json),
        }
    }

    /// Gives the files and the arrays of ranks their names, lists those of each folder in its `summary.json`, and removes what an earlier run
    /// left there. `summaries` has the summary of each folder, and `json` the file with that of all.
    pub fn commit_folders(
        &mut self,
        summaries: Vec<Map<String, Value>>,
        json: Option<(&Path, Map<String, Value>)>,
        arrays: Vec<SharedNpy>,
    ) -> Result<Committed, Failure> {
        if let Some((path, mut summary)) = json.filter(|(path, _)| self.files.iter().any(|file| file.path() == *path)) {
            let outputs = self.files.iter().filter(|file| file.path() != path);
            let outputs = outputs.map(|file| (file.path(), file.written()));
            let all = outputs.chain(arrays.iter().map(|array| (array.path(), array.bytes())));
            let written = all.map(|(path, bytes)| json!({ "file": path.to_string_lossy(), "bytes": bytes })).collect();
            summary.insert("written".into(), written);
            let bytes = pretty(&Value::Object(summary))?;
            self.write(path, |out| out.write_all(&bytes))?;
        }
        let sizes = self.files.iter().map(|file| (file.path(), file.written()));
        let sizes: Vec<_> = sizes.chain(arrays.iter().map(|array| (array.path(), array.bytes()))).collect();
        let (mut begun, mut complete, mut lists) = (vec![], vec![], vec![]);
        for (folder, mut summary) in self.folders.iter().zip(summaries) {
            let written: Vec<Entry> =
                sizes.iter().filter_map(|&(path, bytes)| Entry::of(&folder.path, path, Some(bytes))).collect();
            let program = concat!("ropewalk ", env!("CARGO_PKG_VERSION"));
            let both = folder.earlier.iter().chain(&written).map(|entry| Entry { bytes: None, ..entry.clone() });
            let both = list(&both.collect::<Vec<_>>());
            let unfinished = json!({ "program": program, "complete": false, "snapshot": null, "written": both });
            begun.push(folder.summary(&unfinished)?);
            summary.insert("program".into(), program.into());
            summary.insert("complete".into(), true.into());
            summary.insert("written".into(), list(&written));
            complete.push(folder.summary(&Value::Object(summary))?);
            lists.push(written);
        }
        begun.append(&mut self.files);
        self.files = begun;
        let mut committed = self.commit()?;
        arrays.into_iter().try_for_each(SharedNpy::commit)?;
        for (folder, written) in self.folders.iter().zip(&lists) {
            folder.remove_earlier(written, &self.inputs, &mut committed)?;
            folder.note_others(written, &self.known, &mut committed);
        }
        AtomicFile::commit_all(complete)?;
        committed.kept.extend(other_runs(&self.root, &self.folders));
        Ok(committed)
    }
}

impl Folder {
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
    fn remove_earlier(&self, written: &[Entry], inputs: &Inputs, committed: &mut Committed) -> Result<(), Failure> {
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
    fn note_others(&self, written: &[Entry], known: &[&str], committed: &mut Committed) {
        let is_listed = |name: &str| written.iter().chain(&self.earlier).any(|entry| entry.name == name);
        let others = known.iter().filter(|name| !is_listed(name) && self.path.join(name).is_file());
        committed.kept.extend(others.map(|name| format!("{name} (not of this run)")));
    }
}

/// The results of earlier runs that are beside those of this run: in the folder that the user names, and in the folders of linking lengths
/// in it.
fn other_runs(root: &Path, folders: &[Folder]) -> Vec<String> {
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

fn pretty(value: &Value) -> Result<Vec<u8>, Failure> {
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
