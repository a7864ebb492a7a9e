//! Output files that appear together, or not at all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::Failure;

/// Files of a directory under temporary names, until [`Outputs::commit`] gives them their own. Dropped before that, they
/// are removed, and so are the directories that were made for them.
pub struct Outputs {
    directory: PathBuf,
    made: Vec<PathBuf>,
    files: Vec<(PathBuf, PathBuf)>,
}

impl Outputs {
    /// Makes the directory if need be, and an empty file for each name: what cannot be written shows now.
    pub fn create(directory: &Path, names: &[&str]) -> Result<Self, Failure> {
        let mut outputs = Self { directory: directory.to_path_buf(), made: Vec::new(), files: Vec::new() };
        let missing: Vec<&Path> =
            directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
        for path in missing.into_iter().rev() {
            fs::create_dir(path)
                .map_err(|error| format!("{}: the output directory cannot be made: {error}", path.display()))?;
            outputs.made.push(path.to_path_buf());
        }
        if !directory.is_dir() {
            return Err(format!("{}: is a file, not an output directory", directory.display()).into());
        }
        for name in names {
            let (target, temporary) = (directory.join(name), directory.join(format!(".{name}.{}", std::process::id())));
            if target.is_dir() {
                return Err(format!("{}: is a directory; the result cannot replace it", target.display()).into());
            }
            File::create(&temporary)
                .map_err(|error| format!("{}: cannot write into this directory: {error}", directory.display()))?;
            outputs.files.push((temporary, target));
        }
        Ok(outputs)
    }

    /// Writes the contents of the file `name` by way of its temporary path.
    pub fn write<E: std::fmt::Display>(
        &self,
        name: &str,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let target = self.directory.join(name);
        let file = self.files.iter().find(|(_, own)| *own == target);
        let (temporary, _) = file.ok_or_else(|| format!("{}: is not one of the outputs", target.display()))?;
        write(temporary).map_err(|error| format!("{}: cannot be written: {error}", target.display()).into())
    }

    /// Gives the files their names, replacing older ones.
    pub fn commit(mut self) -> Result<(), Failure> {
        while let Some((temporary, target)) = self.files.last() {
            fs::rename(temporary, target)
                .map_err(|error| format!("{}: cannot be written: {error}", target.display()))?;
            self.files.pop();
            self.made.clear();
        }
        Ok(())
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        // What cannot be removed stays; the error that led here is the one to report.
        for (temporary, _) in &self.files {
            _ = fs::remove_file(temporary);
        }
        for directory in self.made.iter().rev() {
            _ = fs::remove_dir(directory);
        }
    }
}
