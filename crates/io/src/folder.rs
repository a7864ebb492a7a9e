//! The search for the snapshot in a folder that contains other files, too.
//!
//! In: a folder. Out: the first file of the only snapshot in it, or an error that lists several. Cost: files are
//! grouped by name, and the first file of each group is opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ropewalk::{Error, Result};

use crate::registry::{Detected, detect, formats};

/// The maximum number of snapshots that an error lists.
const MAX_LISTED: usize = 8;

/// Returns the first file of each snapshot in a folder, and the number of files that belong to no snapshot.
fn snapshots(folder: &Path) -> (Vec<PathBuf>, usize) {
    let mut groups: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_file() {
            groups.entry(common_name(&path)).or_default().push(path);
        }
    }
    let (mut found, mut others) = (vec![], 0);
    for files in groups.values_mut() {
        // The files of a group differ in a number, and a shorter number is smaller. The name without a number is a
        // virtual file that refers to the parts.
        files.sort_by_key(|file| (file.as_os_str().len(), file.clone()));
        let first = files.iter().find(|file| is_part(file)).or(files.first());
        match first.filter(|file| is_snapshot(file)) {
            Some(first) => found.push(first.clone()),
            None => others += files.len(),
        }
    }
    (found, others)
}

fn is_part(file: &Path) -> bool {
    common_name(file) != file
}

/// Returns the name of a file without its part number: `snap_099.3.hdf5` and `snap_005.3` are parts 3.
fn common_name(file: &Path) -> PathBuf {
    formats().find_map(|format| format.without_part_number(file)).unwrap_or_else(|| file.to_path_buf())
}

fn is_snapshot(file: &Path) -> bool {
    let mut prefix = vec![];
    let read = std::fs::File::open(file)
        .and_then(|open| std::io::Read::read_to_end(&mut std::io::Read::take(open, 4096), &mut prefix));
    match read.map(|_| detect(&prefix)) {
        Ok(Detected::Known(format)) => format.is_snapshot_in_folder(file),
        _ => false,
    }
}

/// Returns the first file of the only snapshot in a folder, and a note about files that are ignored.
///
/// # Errors
/// If there is no snapshot in the folder, or more than one.
pub(super) fn only_snapshot(folder: &Path) -> Result<(PathBuf, Option<String>)> {
    let (mut found, others) = snapshots(folder);
    match (found.len(), found.pop()) {
        (1, Some(one)) => {
            let name = one.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let note = format!("{}: read from {name}; {others} other files are ignored", folder.display());
            Ok((one, (others > 0).then_some(note)))
        }
        (0, _) | (_, None) => {
            let message = "is a folder without Gadget snapshots (HDF5 or binary); give the path of the file to read";
            Err(Error::file(folder, message))
        }
        (n, Some(last)) => {
            found.push(last);
            let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let listed: Vec<String> = found.iter().take(MAX_LISTED).map(name).collect();
            let more = if n > MAX_LISTED { " and others" } else { "" };
            let message =
                format!("is a folder with {n} snapshots: {}{more}; give the path of one of them", listed.join(", "));
            Err(Error::file(folder, message))
        }
    }
}
