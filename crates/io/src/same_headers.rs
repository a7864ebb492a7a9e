//! Headers of the files of one snapshot.

use std::path::Path;

use ropewalk::{Error, Result};

/// An error if the file `path` is not of the snapshot of the first file. `first` and `here` are the fields that all files of a snapshot
/// share, by name.
pub(super) fn check_same(first: &[(&'static str, String)], here: &[(&'static str, String)], path: &Path) -> Result<()> {
    for ((name, first), (_, here)) in first.iter().zip(here) {
        if first != here {
            let message = format!("its header has {name} {here}, that of the first file has {first}");
            return Err(Error::file(path, message));
        }
    }
    Ok(())
}
