//! Files that take their names only when they are complete.
//!
//! - in: a path, and bytes through [`Write`]
//! - out: the file under its name after [`AtomicFile::commit`]; no file before that or after an error
//! - how: an incomplete file is written in the directory of the target ([`temporary`]), and then renamed

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
/// Bytes written between two checks for cancellation.
const CANCEL_CHECK_BYTES: usize = 1 << 22;

/// A file that appears under its name only when it is complete, and then replaces an existing file.
///
/// A symbolic link is followed: the file that it points to is replaced, and the link stays. A path that is not a
/// regular file, such as `/dev/null` or a named pipe, is written to directly, and so is a file that standard output
/// goes to. The name `-` means standard output.
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
    /// The path passed to `create`.
    name: PathBuf,
    out: BufWriter<File>,
    /// The temporary file to be renamed; `None` if bytes are written to the target directly.
    temporary: Option<Temporary>,
    is_stdout: bool,
    /// If `true`, the reader of standard output has ended.
    is_closed: bool,
    written: u64,
}

impl AtomicFile {
    /// Creates an empty file that will become `path`. If `path` is a named pipe, waits until it has a reader.
    ///
    /// # Errors
    /// If `path` is a directory, or a link to a missing file or to a file that is not writable. If the directory of
    /// `path` does not exist or is not writable.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_as(path.as_ref(), false)
    }

    /// Creates a file as [`AtomicFile::create`] does, with a temporary name by which other processes can open it.
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
                    target = path
                        .canonicalize()
                        .map_err(|error| Error::io(path, "is a link to a file that does not exist", error))?;
                    // The system may refuse to follow a link; opening the file detects that.
                    drop(open()?);
                }
                let (file, temporary) = Temporary::create(target, is_named)?;
                (file, Some(temporary), false)
            }
        };
        let (name, out) = (path.to_path_buf(), BufWriter::with_capacity(CHUNK, file));
        Ok(Self { name, out, temporary, is_stdout, is_closed: false, written: 0 })
    }

    /// Returns the path passed to `create`.
    pub fn path(&self) -> &Path {
        &self.name
    }

    /// Returns `true` if bytes go to standard output: for the name `-`, and for a path to the file or pipe of
    /// standard output. For a path to a terminal or another device, returns `false`.
    pub fn is_stdout(&self) -> bool {
        self.is_stdout
    }

    /// Returns `true` if bytes go to standard output and a write failed because its reader has ended, as `head` does.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns the number of bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The temporary name, if the file has one.
    pub(super) fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().and_then(Temporary::name)
    }

    /// Sets the length of the file, regardless of the bytes written.
    pub(super) fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().set_len(len)
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// If the file cannot be written; an existing file is then unchanged.
    pub fn commit(self) -> Result<()> {
        Self::commit_all(vec![self])
    }

    /// Renames the files to their final names, in order. All files are flushed and all targets checked before the
    /// first is renamed.
    ///
    /// # Errors
    /// If a file cannot be written. Existing files are then unchanged, unless the system fails to rename a file that
    /// passed all checks. In that case the error names the files that are already replaced.
    pub fn commit_all(mut files: Vec<Self>) -> Result<()> {
        for file in &mut files {
            file.out.flush().map_err(|error| cannot_be_written(&file.name, error))?;
        }
        // The lock keeps the signal handler from removing files until all are renamed. Dropping the files also takes
        // this lock, so they are dropped afterwards.
        let mut locked = unfinished();
        let renamed = rename_all(&mut files, &mut locked);
        drop(locked);
        renamed
    }

    /// Removes the temporary files that are not committed, then calls `then`. Meanwhile no other thread can create or
    /// commit a file. For a process that is about to be ended by a signal, which does not drop its files.
    pub fn remove_unfinished(then: impl FnOnce()) {
        let mut locked = unfinished();
        for path in locked.drain(..) {
            // A file that cannot be removed remains, since no other remedy exists.
            _ = fs::remove_file(path);
        }
        then();
    }

    /// Removes temporary files in a directory that killed processes left behind. On Linux, most incomplete files have
    /// no name, and vanish by themselves. Files that another process is still writing, and files that cannot be
    /// removed, remain.
    pub fn remove_stale(directory: impl AsRef<Path>) {
        remove_stale(directory.as_ref());
    }

    /// Records whether the result means that standard output is closed.
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
        bytes.chunks(CANCEL_CHECK_BYTES).try_for_each(|part| {
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

/// Returns standard output as a file.
#[cfg(unix)]
fn own_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Returns standard output as a file.
#[cfg(windows)]
fn own_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

#[cfg(not(any(unix, windows)))]
fn own_output() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns standard output, if it goes to the file or pipe that `there` describes. If the file were opened a second
/// time, other output would overwrite it from its start.
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
            return Err(cannot_be_written(&file.name, "its name now belongs to something that is not a regular file"));
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
            let new = if done.is_empty() { String::new() } else { format!("; already replaced: {}", done.join(", ")) };
            return Err(Error::io(&file.name, format!("cannot be written{new}"), error));
        }
        done.push(file.name.display().to_string());
    }
    Ok(())
}

fn cannot_be_written(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::file(path, format!("cannot be written: {why}"))
}

/// Writes `path` as an [`AtomicFile`], and commits it if `write` succeeds.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|error| Error::io(path, "cannot be written", error))?;
    file.commit()
}
