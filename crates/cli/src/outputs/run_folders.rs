//! Outputs of runs with a folder each.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ropewalk_io::{AtomicFile, SharedNpy};
use serde_json::{Map, Value, json};

use super::Outputs;
use super::committed::Committed;
use super::folder::{Folder, SUMMARY, other_runs, pretty};
use super::identity::{Identity, Inputs};
use crate::failure::Failure;

/// The files that runs will write into their folders.
pub struct FolderPlan<'a> {
    /// The folder that the user specified: the only folder, or the parent of the folders.
    pub root: &'a Path,
    /// The folders. Each gets a file of each name.
    pub folders: &'a [PathBuf],
    pub names: &'a [&'a str],
    /// The names of arrays that ranks write together.
    pub shared: &'a [&'a str],
    /// The names that any run may write.
    pub known: Vec<&'static str>,
}

impl Outputs {
    /// Creates the folders and an empty file for each name, so that a file that cannot be written is an error before
    /// hours of work.
    pub fn in_folders(plan: FolderPlan<'_>, inputs: &Rc<Inputs>) -> Result<Self, Failure> {
        let mut outputs = Self::new(inputs.clone());
        for folder in plan.folders {
            outputs.make(folder)?;
            AtomicFile::remove_stale(folder);
            let own = Folder::read(folder)?;
            outputs.reserve(&folder.join(SUMMARY))?;
            plan.names.iter().try_for_each(|name| outputs.reserve(&folder.join(name)))?;
            outputs.folders.push(own);
        }
        let created = || plan.names.iter().filter(|name| !plan.shared.contains(name));
        for folder in plan.folders {
            created().try_for_each(|name| outputs.create(&folder.join(name)))?;
        }
        (outputs.root, outputs.known) = (plan.root.to_path_buf(), plan.known);
        Ok(outputs)
    }

    /// Adds a file for the summary of all runs, unless it is the `summary.json` of the only folder.
    pub fn add_summary(&mut self, json: &Path) -> Result<(), Failure> {
        let identity = Identity::from_output(json);
        match &self.folders[..] {
            [one] if Identity::from_output(&one.path().join(SUMMARY)).is_same(&identity) => Ok(()),
            _ => self.add(json),
        }
    }

    /// Commits the files and the arrays of ranks, lists them in the `summary.json` of each folder, and removes files
    /// of an earlier run. `summaries` has the summary of each folder; `json` is the file of `--json` with the summary
    /// of all runs.
    pub fn commit_folders(
        &mut self,
        summaries: Vec<Map<String, Value>>,
        json: Option<(&Path, Map<String, Value>)>,
        arrays: Vec<SharedNpy<'_>>,
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
        let (mut unfinished, mut complete, mut lists) = (vec![], vec![], vec![]);
        for (folder, summary) in self.folders.iter().zip(summaries) {
            let written = folder.entries(&sizes);
            unfinished.push(folder.unfinished_summary(&written)?);
            complete.push(folder.complete_summary(summary, &written)?);
            lists.push(written);
        }
        unfinished.append(&mut self.files);
        self.files = unfinished;
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
