//! Comparison of the headers of the files of one snapshot.

use std::path::Path;

use ropewalk::{Error, Result};

/// Returns an error if the file `path` is not part of the same snapshot as the first file. `first` and `here` list
/// the named fields that all files of a snapshot share.
pub(super) fn check_same(first: &[(&'static str, String)], here: &[(&'static str, String)], path: &Path) -> Result<()> {
    for ((name, first), (_, here)) in first.iter().zip(here) {
        if first != here {
            let message = format!("its header has {name} {here}, but that of the first file has {first}");
            return Err(Error::file(path, message));
        }
    }
    Ok(())
}
