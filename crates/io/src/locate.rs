//! The files that a path names, found by their names.
//!
//! In: a path: a file, the common part of the names of a split snapshot, or a folder. Out: the file to read, the
//! parts of the snapshot, and the files beside it that are read with it. These are ids and parameters of Tipsy, ids
//! of Abacus, parts of GenericIO, the parts of a virtual HDF5 file, and the files of a RAMSES output. Cost: the names
//! in a folder; no file is opened, unless the path is a folder.

use std::path::{Path, PathBuf};

use ropewalk::Result;

use crate::folder::only_snapshot;
use crate::registry::{formats, owner};

/// Returns the files that [`read`](crate::read) reads for `path`: `path` itself, or all parts of the split snapshot
/// that it names or belongs to. Only names are considered: no file is opened.
///
/// ```
/// assert_eq!(ropewalk_io::parts("points.npy"), [std::path::PathBuf::from("points.npy")]);
/// ```
pub fn parts(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let path = existing(path.as_ref());
    let others: Vec<PathBuf> = formats().flat_map(|format| format.parts(&path)).filter(|part| *part != path).collect();
    std::iter::once(path).chain(others).collect()
}

/// Returns the files beside `path`, except its [`parts`], that [`read`](crate::read) may open, sorted by name. Only
/// names are considered: no file is opened, and some of the files may belong to another snapshot.
///
/// ```
/// let folder = std::env::temp_dir().join("ropewalk_companions");
/// std::fs::create_dir_all(&folder).unwrap();
/// for name in ["run.00080", "run.00080.iord", "run.param"] {
///     std::fs::write(folder.join(name), "").unwrap();
/// }
/// let names: Vec<_> = ropewalk_io::companions(folder.join("run.00080"))
///     .iter()
///     .map(|path| path.file_name().unwrap().to_os_string())
///     .collect();
/// assert_eq!(names, ["run.00080.iord", "run.param"]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
pub fn companions(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let (whole, own) = (existing(path.as_ref()), parts(path.as_ref()));
    // Only the first file is considered: a search for each part would cost the square of their number.
    let mut beside: Vec<PathBuf> = formats().flat_map(|format| format.companions(&whole)).collect();
    beside.retain(|path| !own.contains(path));
    beside.sort();
    beside.dedup();
    beside
}

/// Returns `path` itself, or the first part of the split snapshot that it names.
pub(super) fn existing(path: &Path) -> PathBuf {
    let whole = path.to_path_buf();
    if path.is_file() {
        return whole;
    }
    if path.is_dir() && owner(path).is_none() {
        return only_snapshot(path).map_or(whole, |(first, _)| first);
    }
    formats().find_map(|format| format.first_part(path)).unwrap_or(whole)
}

/// Returns the file that `path` names, and a note about other files in a folder.
///
/// Errors: a folder without a snapshot, or with several.
pub(super) fn located(path: &Path) -> Result<(PathBuf, Option<String>)> {
    if path.is_dir() && owner(path).is_none() {
        return only_snapshot(path);
    }
    Ok((existing(path), None))
}
