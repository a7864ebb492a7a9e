//! Incomplete files: without a name if the system supports it, otherwise with a temporary name.
//!
//! On Linux, a file is opened without a name (`O_TMPFILE`) and linked when it is complete, so that no file remains
//! after SIGKILL. On other systems, and on file systems without unnamed files, the name is `.ropewalk-` and eight
//! random characters. The writing process holds a lock on the file. A temporary file without a lock belongs to a
//! killed process, and [`remove_stale`] removes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

use ropewalk::{Error, Result};

/// The beginning of temporary names.
const PREFIX: &str = ".ropewalk-";
/// The number of random characters after [`PREFIX`].
const RANDOM: usize = 8;

/// The temporary names of this process. While this is locked, no temporary file is created or renamed.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(super) fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // The list is valid after each step, so a panic while it is locked cannot corrupt it.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An incomplete file, which is removed when this handle is dropped.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// `None` while the file has no name, and after it was renamed to its target.
    path: Option<TempPath>,
    /// The temporary name in [`UNFINISHED`].
    name: Option<PathBuf>,
    /// The final path of the file, with links resolved.
    target: PathBuf,
}

impl Temporary {
    /// Creates a file for `target` in its directory, with the permissions of the file that it replaces. If
    /// `is_named`, the file has a temporary name by which other processes can open it.
    pub(super) fn create(target: PathBuf, is_named: bool) -> Result<(File, Self)> {
        if target.file_name().is_none() {
            return Err(Error::file(target, "is not the name of a file"));
        }
        let directory = directory_of(&target);
        let mut unfinished = unfinished();
        let (file, path) = match unnamed(directory).filter(|_| !is_named) {
            Some(file) => (file, None),
            None => {
                let (file, path) = named(directory).map_err(|error| {
                    Error::io(&target, "cannot be written: cannot write into this directory", error)
                })?;
                (file, Some(path))
            }
        };
        // If the permissions of the old file cannot be set, the default permissions are acceptable.
        if let Ok(old) = fs::metadata(&target) {
            _ = file.set_permissions(old.permissions());
        }
        let name = path.as_ref().map(|path| path.to_path_buf());
        unfinished.extend(name.clone());
        Ok((file, Self { path, name, target }))
    }

    /// Creates a file in the folder for temporary files, accessible only to its owner. Error messages call it `name`.
    pub(crate) fn scratch(name: &Path) -> Result<(File, Self)> {
        let mut unfinished = unfinished();
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM)
            .tempfile()
            .map_err(|error| Error::io(name, "cannot be copied into the temporary folder", error))?;
        let (file, path) = made.into_parts();
        let name = path.to_path_buf();
        unfinished.push(name.clone());
        Ok((file, Self { path: Some(path), name: Some(name.clone()), target: name }))
    }

    /// The temporary name, if the file has one.
    pub(crate) fn name(&self) -> Option<&Path> {
        self.name.as_deref()
    }

    /// The final path of the file.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns `true` if the file had a temporary name and no longer exists.
    pub(super) fn is_gone(&self) -> bool {
        self.path.as_ref().is_some_and(|path| !path.exists())
    }

    /// Gives an unnamed file a temporary name beside its target.
    pub(super) fn link(&mut self, file: &File, unfinished: &mut Vec<PathBuf>) -> io::Result<()> {
        if self.path.is_some() {
            return Ok(());
        }
        let path = linked(file, directory_of(&self.target))?;
        let name = path.to_path_buf();
        unfinished.push(name.clone());
        (self.path, self.name) = (Some(path), Some(name));
        Ok(())
    }

    /// Renames the file to its target.
    pub(super) fn persist(&mut self) -> io::Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        path.persist(&self.target).map_err(|error| {
            self.path = Some(error.path);
            error.error
        })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        drop(self.path.take());
        unfinished.retain(|name| Some(name) != self.name.as_ref());
    }
}

/// Returns the directory of a file; `.` for a file name without a directory.
fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a new file with a temporary name, and locks it.
fn named(directory: &Path) -> io::Result<(File, TempPath)> {
    loop {
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM)
            .make_in(directory, |path| OpenOptions::new().read(true).write(true).create_new(true).open(path))?;
        let (file, path) = made.into_parts();
        // Before the file is locked, another process may consider it stale and remove it.
        if lock(&file) != Lock::OfAnother && path.exists() {
            return Ok((file, path));
        }
    }
}

/// Creates a new file without a name, and locks it; `None` if the system or the file system does not support that.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).open(directory).ok()?;
    lock(&file);
    // Without /proc, the file cannot be linked.
    fs::metadata(descriptor(&file)).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

/// Returns a path by which this process can open an open file again, even if it has no name.
#[cfg(target_os = "linux")]
pub(crate) fn descriptor(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives an unnamed file a temporary name in a directory. If the file system refuses that, copies its contents to a
/// new file.
#[cfg(target_os = "linux")]
fn linked(file: &File, directory: &Path) -> io::Result<TempPath> {
    use rustix::fs::{AtFlags, CWD, linkat};

    let from = descriptor(file);
    let linked = tempfile::Builder::new()
        .prefix(PREFIX)
        .rand_bytes(RANDOM)
        .make_in(directory, |to| Ok(linkat(CWD, &from, CWD, to, AtFlags::SYMLINK_FOLLOW)?));
    if let Ok(linked) = linked {
        return Ok(linked.into_temp_path());
    }
    let (mut copy, path) = named(directory)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    _ = copy.set_permissions(file.metadata()?.permissions());
    Ok(path)
}

#[cfg(not(target_os = "linux"))]
fn linked(_: &File, _: &Path) -> io::Result<TempPath> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The result of locking a file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lock {
    Own,
    OfAnother,
    /// The system or the file system does not support locks.
    Unsupported,
}

/// Locks a file until it is closed. The system closes it when the process ends, even after a crash.
#[cfg(unix)]
fn lock(file: &File) -> Lock {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Lock::Own,
        Err(Errno::WOULDBLOCK) => Lock::OfAnother,
        Err(_) => Lock::Unsupported,
    }
}

#[cfg(not(unix))]
fn lock(_: &File) -> Lock {
    Lock::Unsupported
}

/// Removes the temporary files in a directory whose processes have ended. Files that cannot be removed remain.
pub(super) fn remove_stale(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_temporary =
            entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|random| {
                random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
        if !is_temporary || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        // Network file systems require write access for an exclusive lock.
        if let Ok(file) = OpenOptions::new().write(true).open(&path)
            && lock(&file) == Lock::Own
        {
            _ = fs::remove_file(path);
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let (file, temporary) = Temporary::create(target, true).unwrap();
        let name = temporary.name().unwrap().to_path_buf();
        // A file left after SIGKILL, and files with similar names.
        let left = folder.path().join(".ropewalk-AbCd1234");
        let others = [".ropewalk-AbCd12345", ".ropewalk-AbCd123_", "AbCd1234"].map(|name| folder.path().join(name));
        others.iter().chain([&left]).for_each(|path| fs::write(path, "x").unwrap());
        remove_stale(folder.path());
        assert!(name.exists() && !left.exists() && others.iter().all(|path| path.exists()));
        drop((file, temporary));
        assert!(!name.exists());
    }
}
