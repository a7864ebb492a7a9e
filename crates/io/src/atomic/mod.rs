//! Files that take their names only when they are complete.
//!
//! - in: a path, and bytes through [`Write`]
//! - out: the file under its name after [`AtomicFile::commit`]; nothing before that, and nothing if there is an error
//! - how: an incomplete file in the directory of the target ([`temporary`]), which is renamed

mod temporary;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub(super) use temporary::Temporary;
#[cfg(target_os = "linux")]
pub(super) use temporary::descriptor;
use temporary::{remove_stale, unfinished};

use ropewalk::internals::cancel::check;
use ropewalk::{Error, Result};

/// Bytes written at a time.
const CHUNK: usize = 1 << 18;
/// Bytes written between looks whether the call is cancelled.
const LOOK: usize = 1 << 22;

/// A file that appears under its name when it is complete, and then replaces what was there.
///
/// A link is followed: the file that it leads to is replaced, and the link stays. What is there but is no file, as `/dev/null`,
/// `/dev/stdout` or a named pipe, is written through as bytes come; so is a file that standard output goes to. The name `-` is
/// standard output itself.
///
/// ```
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join("ropewalk_atomic_file.txt");
/// let mut file = ropewalk_io::AtomicFile::create(&path)?;
/// file.write_all(b"complete\n").unwrap();
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"complete\n");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    /// As it was named.
    name: PathBuf,
    out: BufWriter<File>,
    /// What is to be renamed; `None` if bytes are written through.
    temporary: Option<Temporary>,
    is_stdout: bool,
    /// Whether standard output lost its reader.
    is_closed: bool,
    written: u64,
}

impl AtomicFile {
    /// An empty file that will be `path`. A named pipe is waited for until it has a reader.
    ///
    /// # Errors
    /// If `path` is a directory, if it is a link that leads nowhere or to a file that may not be written, or if its directory
    /// is not there or may not be written into.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_as(path.as_ref(), false)
    }

    /// [`AtomicFile::create`] of a file with a temporary name, by which other processes open it.
    pub(super) fn create_named(path: &Path) -> Result<Self> {
        Self::create_as(path, true)
    }

    fn create_as(path: &Path, is_named: bool) -> Result<Self> {
        if path.as_os_str() == "-" {
            let file = own_output().map_err(|error| Error::io(path, "standard output cannot be written", error))?;
            let out = BufWriter::with_capacity(CHUNK, file);
            let name = path.to_path_buf();
            return Ok(Self { name, out, temporary: None, is_stdout: true, is_closed: false, written: 0 });
        }
        let there = fs::metadata(path).ok();
        if there.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Error::file(path, "is a directory; the result cannot replace it"));
        }
        let open =
            || OpenOptions::new().write(true).open(path).map_err(|error| Error::io(path, "cannot be written", error));
        let (file, temporary, is_stdout) = match there.as_ref().and_then(standard_output) {
            Some(file) => (file, None, true),
            None if there.as_ref().is_some_and(|there| !there.is_file()) => (open()?, None, false),
            None => {
                let mut target = path.to_path_buf();
                if fs::symlink_metadata(path).is_ok_and(|own| own.is_symlink()) {
                    target =
                        path.canonicalize().map_err(|error| Error::io(path, "is a link that leads nowhere", error))?;
                    // The system does not follow every link, and this asks it.
                    drop(open()?);
                }
                let (file, temporary) = Temporary::create(target, is_named)?;
                (file, Some(temporary), false)
            }
        };
        let (name, out) = (path.to_path_buf(), BufWriter::with_capacity(CHUNK, file));
        Ok(Self { name, out, temporary, is_stdout, is_closed: false, written: 0 })
    }

    /// The name it was created with.
    pub fn path(&self) -> &Path {
        &self.name
    }

    /// Whether bytes go to standard output. False if that is a terminal or another device.
    pub fn is_stdout(&self) -> bool {
        self.is_stdout
    }

    /// Returns `true` if bytes go to standard output and a write failed because its reader has ended, as `head` does.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The number of bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The temporary name, if the file has one.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().and_then(Temporary::name)
    }

    /// Gives the file a length, whatever of it is written.
    pub(super) fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().set_len(len)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it cannot be written; what was there is then unchanged.
    pub fn commit(self) -> Result<()> {
        Self::commit_all(vec![self])
    }

    /// Gives the files their names, in order. All are written and all targets looked at before the first is renamed.
    ///
    /// # Errors
    /// If one cannot be written. What was there is then unchanged, unless the system fails to rename one of them that could be
    /// renamed by all signs: the error names those that are new by then.
    pub fn commit_all(mut files: Vec<Self>) -> Result<()> {
        for file in &mut files {
            file.out.flush().map_err(|error| cannot_be_written(&file.name, error))?;
        }
        // A signal's cleaner waits until all are renamed. The files are dropped after this, for they lock it, too.
        let mut locked = unfinished();
        let renamed = rename_all(&mut files, &mut locked);
        drop(locked);
        renamed
    }

    /// Removes the temporary files of all that are not committed, then calls `then`; meanwhile none is made or committed by
    /// another thread. For a process that is about to end by a signal, which drops no files.
    pub fn remove_unfinished(then: impl FnOnce()) {
        let mut locked = unfinished();
        for path in locked.drain(..) {
            // What cannot be removed stays; there is nothing else to do about it.
            _ = fs::remove_file(path);
        }
        then();
    }

    /// Removes the temporary files in a directory that processes left which were killed. On Linux most incomplete files have no name, and
    /// nothing is left of them. A file that another process writes stays, and so does one that cannot be removed.
    pub fn remove_stale(directory: impl AsRef<Path>) {
        remove_stale(directory.as_ref());
    }

    /// Notes that standard output is closed.
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        let is_broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        self.is_closed |= self.is_stdout && result.as_ref().is_err_and(is_broken);
        result
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check();
        let written = self.out.write(bytes);
        self.written += *written.as_ref().unwrap_or(&0) as u64;
        self.noted(written)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(LOOK).try_for_each(|part| {
            check();
            let written = self.out.write_all(part);
            self.written += part.len() as u64;
            self.noted(written)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.noted(flushed)
    }
}

/// Standard output as a file.
#[cfg(unix)]
fn own_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output as a file.
#[cfg(windows)]
fn own_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

#[cfg(not(any(unix, windows)))]
fn own_output() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Standard output, if it goes to the file or pipe that `there` describes. Opened once more, a file would be overwritten from its
/// start by whatever else is printed.
#[cfg(unix)]
fn standard_output(there: &fs::Metadata) -> Option<File> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    if there.file_type().is_char_device() {
        return None;
    }
    let own = own_output().ok()?;
    let place = |meta: &fs::Metadata| (meta.dev(), meta.ino());
    let is_same = own.metadata().is_ok_and(|own| place(&own) == place(there));
    is_same.then_some(own)
}

#[cfg(not(unix))]
fn standard_output(_: &fs::Metadata) -> Option<File> {
    None
}

fn rename_all(files: &mut [AtomicFile], unfinished: &mut Vec<PathBuf>) -> Result<()> {
    for file in files.iter() {
        let Some(temporary) = &file.temporary else { continue };
        if fs::metadata(temporary.target()).is_ok_and(|target| !target.is_file()) {
            return Err(cannot_be_written(&file.name, "what has its name now is no file"));
        }
        if temporary.is_gone() {
            return Err(cannot_be_written(&file.name, "its temporary file is gone"));
        }
    }
    for file in files.iter_mut() {
        if let Some(temporary) = &mut file.temporary {
            let linked = temporary.link(file.out.get_ref(), unfinished);
            linked.map_err(|error| Error::io(&file.name, "cannot be written", error))?;
        }
    }
    let mut done: Vec<String> = Vec::new();
    for file in files.iter_mut() {
        if let Some(temporary) = &mut file.temporary
            && let Err(error) = temporary.persist()
        {
            let new = if done.is_empty() { String::new() } else { format!("; new are already {}", done.join(", ")) };
            return Err(Error::io(&file.name, format!("cannot be written{new}"), error));
        }
        done.push(file.name.display().to_string());
    }
    Ok(())
}

fn cannot_be_written(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::file(path, format!("cannot be written: {why}"))
}

/// Writes `path` as an [`AtomicFile`], which is committed when `write` has succeeded.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|error| Error::io(path, "cannot be written", error))?;
    file.commit()
}
