//! The files in a folder that belong together by their names.
//!
//! In: a folder and a condition on names, or the names of the parts of a split snapshot. Out: the files that exist,
//! and notes or errors about those that do not. Cost: the names in the folder are listed once.

use std::path::{Path, PathBuf};

/// Returns `true` if a name ends with a dot and a number, as `snap_005.3`.
pub(super) fn ends_with_number(path: &Path) -> bool {
    path.extension().is_some_and(|end| !end.is_empty() && end.as_encoded_bytes().iter().all(u8::is_ascii_digit))
}

/// Returns the files in a folder whose names satisfy `is_wanted`.
pub(super) fn named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_wanted)).map(|entry| entry.path()).collect()
}

/// Returns the numbers of the files of a split snapshot that exist, ascending. The folder is listed, so that a header
/// that states billions of files costs no time.
pub(super) fn present(files: u32, part: &dyn Fn(u32) -> PathBuf) -> Vec<u32> {
    let folder = part(0).parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(".".into(), Path::to_path_buf);
    let number = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let words = name.to_str()?.split('.').filter_map(|word| word.parse().ok());
        words.filter(|&k| k < files).find(|&k| part(k).file_name() == Some(&name))
    };
    let mut present: Vec<u32> = std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(number).collect();
    present.sort_unstable();
    present
}

/// Returns a sentence about the files of a split snapshot that do not exist; `None` if all exist.
pub(super) fn absent(files: u32, present: &[u32], part: &dyn Fn(u32) -> PathBuf) -> Option<String> {
    let first = (0..files).zip(present).find(|(k, own)| k != *own).map_or(present.len() as u32, |(k, _)| k);
    let n = files as usize - present.len();
    (n > 0).then(|| {
        format!("{n} of {files} files of the snapshot are missing, the first of them {}", part(first).display())
    })
}

/// Returns a sentence about a missing file.
pub(super) fn missing(files: u32) -> String {
    format!(
        "is missing: the snapshot is split over {files} files; one of them can be read alone \
         (ReadOptions::single_part)"
    )
}
