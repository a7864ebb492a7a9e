//! Output files that appear together, or not at all.

mod column;
mod committed;
mod folder;
mod identity;
mod run_folders;

use std::fmt::Display;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ropewalk_io::AtomicFile;

use super::failure::Failure;
use super::signals;
pub use column::{Column, ending, picture_format, write_csv};
pub use committed::{Committed, written};
use folder::Folder;
pub use folder::{Earlier, SUMMARY, other_run};
pub use identity::{Identity, Inputs};
pub use run_folders::Plan;

/// The outputs of a run, no two of them one file and none of them an input. They are incomplete until [`Outputs::commit`] gives them their
/// names. Dropped before that, they are removed, and so are the directories that were made for them.
#[derive(Default)]
pub struct Outputs {
    inputs: Rc<Inputs>,
    /// All outputs, also those that are written by other means.
    targets: Vec<(PathBuf, Identity)>,
    made: Vec<PathBuf>,
    files: Vec<AtomicFile>,
    folders: Vec<Folder>,
    /// The folder that the user names, which is the folder of a run or has the folders of runs in it.
    root: PathBuf,
    /// The names that any run may write into its folder.
    known: Vec<&'static str>,
}

impl Outputs {
    fn new(inputs: Rc<Inputs>) -> Self {
        let mut outputs = Self::default();
        outputs.inputs = inputs;
        outputs
    }

    /// Creates outputs in directories that exist, of a run that reads `inputs`.
    pub fn files(targets: &[&Path], inputs: &[&Path]) -> Result<Self, Failure> {
        let mut outputs = Self::new(Rc::new(Inputs::of(inputs)));
        for target in targets {
            outputs.reserve(target)?;
            AtomicFile::remove_stale(
                target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
            );
        }
        targets.iter().try_for_each(|target| outputs.create(target))?;
        Ok(outputs)
    }

    /// Registers an output that is written by other means.
    ///
    /// Errors: an output that is one file with another one, or with an input.
    pub fn reserve(&mut self, target: &Path) -> Result<(), Failure> {
        let identity = Identity::of_output(target);
        if self.inputs.contain(&identity) {
            return Err(format!("{}: is the input, which the output would replace", target.display()).into());
        }
        if let Some((other, _)) = self.targets.iter().find(|(_, other)| other.is_same(&identity)) {
            let (other, target) = (other.display().to_string(), target.display().to_string());
            return Err(match other == target {
                true => format!("{target}: is named for two outputs").into(),
                false => format!("{other} and {target} are one file, and are named for two outputs").into(),
            });
        }
        self.targets.push((target.to_path_buf(), identity));
        Ok(())
    }

    /// Adds an output in a directory that exists.
    pub fn add(&mut self, target: &Path) -> Result<(), Failure> {
        self.reserve(target)?;
        self.create(target)
    }

    fn create(&mut self, target: &Path) -> Result<(), Failure> {
        self.files.push(AtomicFile::create(target)?);
        Ok(())
    }

    /// Makes a directory and those that it is in.
    fn make(&mut self, directory: &Path) -> Result<(), Failure> {
        let missing: Vec<&Path> =
            directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
        for path in missing.into_iter().rev() {
            signals::with_made(|made| {
                fs::create_dir(path)?;
                made.push(path.to_path_buf());
                self.made.push(path.to_path_buf());
                Ok(())
            })
            .map_err(|error: io::Error| format!("{}: the output directory cannot be made: {error}", path.display()))?;
        }
        if !directory.is_dir() {
            return Err(format!("{}: is a file, not an output directory", directory.display()).into());
        }
        Ok(())
    }

    /// Writes the contents of a file, one of those given. If standard output loses its reader, as `head` ends, the rest of its contents is
    /// left out, and the run goes on for the other outputs.
    pub fn write<E: Display>(
        &mut self,
        target: impl AsRef<Path>,
        write: impl FnOnce(&mut AtomicFile) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let target = target.as_ref();
        let file = self.files.iter_mut().find(|file| file.path() == target);
        let file = file.ok_or_else(|| format!("{}: is not one of the outputs", target.display()))?;
        let failed = |error: &dyn Display| format!("{}: cannot be written: {error}", target.display());
        let mut written = write(file).map_err(|error| failed(&error));
        if file.is_stdout() {
            written = written.and_then(|()| file.flush().map_err(|error| failed(&error)));
        }
        match written {
            Err(_) if file.is_closed() => Ok(()),
            other => Ok(other?),
        }
    }

    /// Gives the files their names, replacing older ones. If it fails, directories that were made are removed when this is dropped.
    pub fn commit(&mut self) -> Result<Committed, Failure> {
        let to_stdout = self.files.iter().any(AtomicFile::is_stdout);
        self.files.retain(|file| !file.is_closed());
        AtomicFile::commit_all(std::mem::take(&mut self.files))?;
        signals::with_made(|made| made.retain(|path| !self.made.contains(path)));
        self.made.clear();
        Ok(Committed { removed: vec![], kept: vec![], to_stdout })
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        // What cannot be removed stays; the error that led here is the one to report.
        self.files.clear();
        signals::with_made(|made| {
            for directory in self.made.iter().rev() {
                _ = fs::remove_dir(directory);
            }
            made.retain(|path| !self.made.contains(path));
        });
    }
}
