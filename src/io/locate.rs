//! The files beside a snapshot that are read with it.
//!
//! In: the path of a snapshot. Out: paths, by their names alone: ids and parameters of Tipsy, ids of Abacus, parts of GenericIO, the parts
//! that a file in HDF5 shows as one, the files of a RAMSES output. Cost: the names in a folder.

use std::path::{Path, PathBuf};

use crate::io::{abacus, existing, genericio, hdf5, parts, ramses, tipsy};

/// The files beside `path`, its [`parts`] aside, that [`read`](crate::io::read) may look into, in the order of their names. By
/// their names alone: nothing is opened, and some may belong to another snapshot.
///
/// ```
/// let folder = std::env::temp_dir().join("ropewalk_companions");
/// std::fs::create_dir_all(&folder).unwrap();
/// for name in ["run.00080", "run.00080.iord", "run.param"] {
///     std::fs::write(folder.join(name), "").unwrap();
/// }
/// let names: Vec<_> = ropewalk::io::companions(folder.join("run.00080"))
///     .iter()
///     .map(|path| path.file_name().unwrap().to_os_string())
///     .collect();
/// assert_eq!(names, ["run.00080.iord", "run.param"]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
pub fn companions(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let (whole, own) = (existing(path.as_ref()), parts(path.as_ref()));
    // None of these formats has parts of its own: a look beside each part of another would cost its square.
    let mut beside = ramses::files(&whole);
    beside.extend(tipsy::beside(&whole));
    beside.extend(abacus::ids_beside(&whole));
    beside.extend(genericio::parts_by_name(&whole));
    beside.extend(hdf5::viewed(&whole));
    beside.retain(|path| !own.contains(path));
    beside.sort();
    beside.dedup();
    beside
}
