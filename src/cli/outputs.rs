//! Output files that appear together, or not at all.

use std::ffi::OsString;
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
            outputs.add(&directory.join(name))?;
        }
        Ok(outputs)
    }

    /// The same for files in directories that are there. No two may be one file, and none may be `input`, which would be gone.
    pub fn files(targets: &[&Path], input: &Path) -> Result<Self, Failure> {
        let mut outputs = Self { directory: PathBuf::new(), made: Vec::new(), files: Vec::new() };
        let mut known = Vec::new();
        for &target in targets {
            outputs.add(target)?;
            let real =
                parent(target).canonicalize().ok().zip(target.file_name()).map(|(parent, name)| parent.join(name));
            if real.is_some() && known.contains(&real) {
                return Err(format!("{}: is named for two outputs", target.display()).into());
            }
            known.push(real);
            if target.canonicalize().is_ok_and(|target| input.canonicalize().is_ok_and(|input| input == target)) {
                return Err(format!("{}: is the input, which the output would replace", target.display()).into());
            }
        }
        Ok(outputs)
    }

    fn add(&mut self, target: &Path) -> Result<(), Failure> {
        if target.is_dir() {
            return Err(format!("{}: is a directory; the result cannot replace it", target.display()).into());
        }
        let directory = parent(target);
        let Some(name) = target.file_name() else {
            return Err(format!("{}: is not the name of a file", target.display()).into());
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let temporary = directory.join(hidden);
        File::create(&temporary)
            .map_err(|error| format!("{}: cannot write into this directory: {error}", directory.display()))?;
        self.files.push((temporary, target.to_path_buf()));
        Ok(())
    }

    /// The names of the files, for a sentence.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.files.iter().filter_map(|(_, target)| target.file_name()?.to_str()).collect();
        match &names[..] {
            [] => String::new(),
            [one] => (*one).into(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        }
    }

    /// Writes the contents of the file `name`, one of those given, by way of its temporary path.
    pub fn write<E: std::fmt::Display>(
        &self,
        name: impl AsRef<Path>,
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

/// The directory of a file; `.` for a bare name.
fn parent(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
