//! Output files that are all written, or none of them.

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
use super::stdout::shown;
pub use column::{Column, PointsFormat, ending, picture_format, plot_format, write_csv};
pub use committed::{Committed, written};
use folder::Folder;
pub use folder::{EarlierRun, SUMMARY, other_run};
pub use identity::{Identity, Inputs};
pub use run_folders::FolderPlan;

/// The outputs of a run. No two of them are the same file, and none is an input. They are temporary files until
/// [`Outputs::commit`] gives them their names. If they are dropped before that, they are removed together with the
/// directories that were created for them.
#[derive(Default)]
pub struct Outputs {
    inputs: Rc<Inputs>,
    /// All outputs, including those that are written by other code.
    targets: Vec<(PathBuf, Identity)>,
    made: Vec<PathBuf>,
    files: Vec<AtomicFile>,
    folders: Vec<Folder>,
    /// The folder that the user specified: the folder of the run, or the parent of the folders of runs.
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

    /// Creates outputs in existing directories, for a run that reads `inputs`.
    pub fn files(targets: &[&Path], inputs: &[&Path]) -> Result<Self, Failure> {
        let mut outputs = Self::new(Rc::new(Inputs::from_paths(inputs)));
        for target in targets {
            outputs.reserve(target)?;
            AtomicFile::remove_stale(
                target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
            );
        }
        targets.iter().try_for_each(|target| outputs.create(target))?;
        Ok(outputs)
    }

    /// Registers an output that is written by other code.
    ///
    /// Errors: an output that is the same file as another output or an input.
    pub fn reserve(&mut self, target: &Path) -> Result<(), Failure> {
        let identity = Identity::from_output(target);
        if self.inputs.contain(&identity) {
            return Err(format!("{}: the output would replace the input", target.display()).into());
        }
        if let Some((other, _)) = self.targets.iter().find(|(_, other)| other.is_same(&identity)) {
            let (other, target) = (other.display().to_string(), target.display().to_string());
            return Err(match other == target {
                true => format!("{target}: used for two outputs").into(),
                false => format!("{other} and {target} are the same file, used for two outputs").into(),
            });
        }
        self.targets.push((target.to_path_buf(), identity));
        Ok(())
    }

    /// Adds an output in an existing directory.
    pub fn add(&mut self, target: &Path) -> Result<(), Failure> {
        self.reserve(target)?;
        self.create(target)
    }

    fn create(&mut self, target: &Path) -> Result<(), Failure> {
        self.files.push(AtomicFile::create(target)?);
        Ok(())
    }

    /// Creates a directory and its missing parents.
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
            .map_err(|error: io::Error| format!("{}: cannot create the output directory: {error}", path.display()))?;
        }
        if !directory.is_dir() {
            return Err(format!("{}: is a file, not an output directory", directory.display()).into());
        }
        Ok(())
    }

    /// Writes the contents of an output. If the reader of standard output ends, as `head` does, the rest of its
    /// contents is dropped, and the other outputs are still written.
    pub fn write<E: Display>(
        &mut self,
        target: impl AsRef<Path>,
        write: impl FnOnce(&mut AtomicFile) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let target = target.as_ref();
        let file = self.files.iter_mut().find(|file| file.path() == target);
        let file = file.ok_or_else(|| format!("{}: not an output of this run", target.display()))?;
        let failed = |error: &dyn Display| format!("{}: cannot write: {error}", shown(target));
        let mut written = write(file).map_err(|error| failed(&error));
        if file.is_stdout() {
            written = written.and_then(|()| file.flush().map_err(|error| failed(&error)));
        }
        match written {
            Err(_) if file.is_closed() => Ok(()),
            other => Ok(other?),
        }
    }

    /// Gives the files their names and replaces existing files. If this fails, the directories that were created are
    /// removed when `self` is dropped.
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
        // Directories that cannot be removed stay; the error that led here is the one to report.
        self.files.clear();
        signals::with_made(|made| {
            for directory in self.made.iter().rev() {
                _ = fs::remove_dir(directory);
            }
            made.retain(|path| !self.made.contains(path));
        });
    }
}
