//! The snapshot in a folder, beside other files.
//!
//! In: a folder. Out: the first file of the one snapshot in it, or a sentence that lists several. Cost: files are grouped by name, and the
//! first file of each group is opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ropewalk::{Error, Result};

use crate::registry::{Detected, detect, formats};

/// Snapshots that an error lists.
const MOST_LISTED: usize = 8;

/// The first files of the snapshots in a folder, and how many files belong to none of them.
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
        // Files of one name differ in a number; the shorter number is the smaller one. The name without a number is a view of the parts.
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

/// The name of a file without the number of a part: `snap_099.3.hdf5` and `snap_005.3` are parts 3.
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

/// The first file of the one snapshot in a folder, and a sentence about files that are ignored.
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
            let message = "is a folder without a snapshot of Gadget's kind (HDF5 or binary); name the file to read";
            Err(Error::file(folder, message))
        }
        (n, Some(last)) => {
            found.push(last);
            let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let listed: Vec<String> = found.iter().take(MOST_LISTED).map(name).collect();
            let more = if n > MOST_LISTED { " and others" } else { "" };
            let message = format!("is a folder with {n} snapshots: {}{more}; name one of them", listed.join(", "));
            Err(Error::file(folder, message))
        }
    }
}
