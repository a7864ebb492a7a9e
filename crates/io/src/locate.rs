//! The files that a path stands for, by their names.
//!
//! In: a path: a file, the name that the parts of a split snapshot have in common, or a folder. Out: the file to read, the parts of the
//! snapshot, and the files beside it that are read with it: ids and parameters of Tipsy, ids of Abacus, parts of GenericIO, the parts that a
//! file in HDF5 shows as one, the files of a RAMSES output. Cost: the names in a folder; no file is opened, unless the path is a folder.

use std::path::{Path, PathBuf};

use ropewalk::Result;

use crate::folder::only_snapshot;
use crate::registry::{formats, owner};

/// The files that [`read`](crate::read) takes `path` for: itself, or the parts of the split snapshot that it names or is one of. By their
/// names alone: nothing is opened.
///
/// ```
/// assert_eq!(ropewalk_io::parts("points.npy"), [std::path::PathBuf::from("points.npy")]);
/// ```
pub fn parts(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let path = existing(path.as_ref());
    let others: Vec<PathBuf> = formats().flat_map(|format| format.parts(&path)).filter(|part| *part != path).collect();
    std::iter::once(path).chain(others).collect()
}

/// The files beside `path`, its [`parts`] aside, that [`read`](crate::read) may look into, in the order of their names. By
/// their names alone: nothing is opened, and some may belong to another snapshot.
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
    // Beside the first file alone: a look beside each part would cost the square of their number.
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

/// Returns the file that `path` names, and a sentence about other files in a folder.
///
/// Errors: a folder without a snapshot, or with several.
pub(super) fn located(path: &Path) -> Result<(PathBuf, Option<String>)> {
    if path.is_dir() && owner(path).is_none() {
        return only_snapshot(path);
    }
    Ok((existing(path), None))
}
