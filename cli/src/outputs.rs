//! Output files that appear together, or not at all.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ropewalk::halo::csv_name;
use ropewalk::io::AtomicFile;
use ropewalk::plot::PictureFormat;

use super::{Failure, signals};

/// Files under temporary names, until [`Outputs::commit`] gives them their own. Dropped before that, they are removed, and so are
/// the directories that were made for them.
#[derive(Default)]
pub struct Outputs {
    made: Vec<PathBuf>,
    files: Vec<AtomicFile>,
    /// What an earlier run wrote and this one does not.
    stale: Vec<PathBuf>,
}

impl Outputs {
    /// Makes the directories if need be, and in each an empty file for each of `names`: what cannot be written shows now. Where an
    /// earlier run left the first of them, [`Outputs::commit`] removes those of `all_names` that this one does not write. None may be
    /// a file of `input`, which would be gone.
    pub fn create(directories: &[PathBuf], names: &[&str], all_names: &[&str], input: &Path) -> Result<Self, Failure> {
        let mut outputs = Self::default();
        let inputs = Inputs::of(input);
        for directory in directories {
            outputs.make(directory)?;
            for name in names {
                outputs.add(&directory.join(name), &inputs)?;
            }
            if names.first().is_some_and(|first| is_file(&directory.join(first))) {
                let others = all_names.iter().filter(|name| !names.contains(name)).map(|name| directory.join(name));
                outputs.stale.extend(others.filter(|path| is_file(path) && !inputs.contain(path)));
            }
        }
        Ok(outputs)
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

    /// The same for files in directories that are there. No two may be one file, and none may be a file of `input`.
    pub fn files(targets: &[&Path], input: &Path) -> Result<Self, Failure> {
        let mut outputs = Self::default();
        let inputs = Inputs::of(input);
        let mut known = Vec::new();
        for &target in targets {
            let real = target
                .canonicalize()
                .ok()
                .or_else(|| Some(parent(target).canonicalize().ok()?.join(target.file_name()?)));
            if real.is_some() && known.contains(&real) {
                return Err(format!("{}: is named for two outputs", target.display()).into());
            }
            known.push(real);
            outputs.add(target, &inputs)?;
        }
        Ok(outputs)
    }

    /// Whether none of the files is one of another input.
    pub fn spare(&self, input: &Path) -> Result<(), Failure> {
        let inputs = Inputs::of(input);
        match self.files.iter().find(|file| inputs.contain(file.path())) {
            Some(file) => Err(replaced(file.path())),
            None => Ok(()),
        }
    }

    /// One more file, in a directory that is there.
    pub fn also(&mut self, target: &Path, input: &Path) -> Result<(), Failure> {
        self.stale.retain(|stale| stale != target);
        self.add(target, &Inputs::of(input))
    }

    fn add(&mut self, target: &Path, inputs: &Inputs) -> Result<(), Failure> {
        if inputs.contain(target) {
            return Err(replaced(target));
        }
        self.files.push(AtomicFile::create(target)?);
        Ok(())
    }

    /// Writes the contents of a file, one of those given.
    pub fn write<E: Display>(
        &mut self,
        target: impl AsRef<Path>,
        write: impl FnOnce(&mut AtomicFile) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let target = target.as_ref();
        let file = self.files.iter_mut().find(|file| file.path() == target);
        let file = file.ok_or_else(|| format!("{}: is not one of the outputs", target.display()))?;
        write(file).map_err(|error| format!("{}: cannot be written: {error}", target.display()).into())
    }

    /// Gives the files their names, replacing older ones; then removes what an earlier run left beside them. If it fails, directories that were
    /// made go when this is dropped.
    pub fn commit(&mut self) -> Result<Committed, Failure> {
        let to_stdout = self.files.iter().any(AtomicFile::is_stdout);
        AtomicFile::commit_all(std::mem::take(&mut self.files))?;
        signals::with_made(|made| made.retain(|path| !self.made.contains(path)));
        self.made.clear();
        let mut removed = Vec::new();
        for path in &self.stale {
            fs::remove_file(path)
                .map_err(|error| format!("{}: is of an earlier run and cannot be removed: {error}", path.display()))?;
            removed.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
        Ok(Committed { removed, to_stdout })
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

/// Outputs that have their names.
pub struct Committed {
    /// Names of files of an earlier run that are gone.
    pub removed: Vec<String>,
    /// Whether one was written to standard output.
    to_stdout: bool,
}

impl Committed {
    /// What is left to print: where standard output took a result, the report goes to standard error.
    pub fn report(&self, report: String) -> String {
        if self.to_stdout {
            // A report that cannot be printed has no other place to go.
            _ = io::stderr().write_all(report.as_bytes());
            return String::new();
        }
        report
    }
}

/// What a report says of the files that were written, if there are any.
pub fn written(targets: &[impl AsRef<Path>]) -> String {
    if targets.is_empty() {
        return String::new();
    }
    let names: Vec<String> = targets.iter().map(|target| target.as_ref().display().to_string()).collect();
    format!("\nwritten: {}\n", names.join(", "))
}

/// The files that are read.
struct Inputs(Vec<PathBuf>);

impl Inputs {
    fn of(input: &Path) -> Self {
        Self(ropewalk::io::parts(input).iter().filter_map(|part| part.canonicalize().ok()).collect())
    }

    fn contain(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.0.contains(&path))
    }
}

/// Whether it is a file itself, not a link to one.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

fn replaced(target: &Path) -> Failure {
    format!("{}: is the input, which the output would replace", target.display()).into()
}

/// The directory of a file; `.` for a bare name.
fn parent(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How a column of values is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Column {
    Npy,
    Csv,
}

impl Column {
    /// As the name's ending says; text for `-`, standard output; for a link without one, as /dev/stdout, that of what it leads to. A pipe or a device without an
    /// ending takes an array.
    pub fn of(option: &str, path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Csv);
        }
        let bare = path.extension().is_none();
        if bare && fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            return Ok(Self::Npy);
        }
        let real = path.canonicalize().ok().filter(|_| bare);
        let found = ending(option, real.as_deref().unwrap_or(path), &["npy", "csv"])?;
        Ok(if found == "csv" { Self::Csv } else { Self::Npy })
    }
}

/// The ending of a name, in lower case, if it is one of those that can be written.
pub fn ending(option: &str, path: &Path, known: &[&'static str]) -> Result<&'static str, Failure> {
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    let found = known.iter().find(|known| ending.as_deref() == Some(OsStr::new(known)));
    found.copied().ok_or_else(|| {
        let endings: Vec<String> = known.iter().map(|known| format!(".{known}")).collect();
        format!("{option} {}: the name must end in {}", path.display(), endings.join(" or ")).into()
    })
}

/// The format of a picture, as the name's ending says.
pub fn picture_format(option: &str, path: &Path) -> Result<PictureFormat, Failure> {
    let found = ending(option, path, &PictureFormat::ALL.map(PictureFormat::ending))?;
    Ok(PictureFormat::ALL.into_iter().find(|format| format.ending() == found).unwrap_or_default())
}

/// A text table: names, and rows of as many values. Numbers read back are the same numbers.
pub fn write_csv<T: std::fmt::Debug>(mut out: impl Write, names: &[&str], values: &[T]) -> Result<(), Failure> {
    writeln!(out, "{}", names.iter().map(|name| csv_name(name)).collect::<Vec<_>>().join(","))?;
    for row in values.chunks_exact(names.len().max(1)) {
        for (k, value) in row.iter().enumerate() {
            // Debug has an exponent where digits would be many.
            write!(out, "{}{value:?}", if k > 0 { "," } else { "" })?;
        }
        writeln!(out)?;
    }
    Ok(())
}
