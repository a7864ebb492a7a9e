//! Errors about columns of catalogues.

use ropewalk::{Error, ErrorKind};

/// A column whose name is already taken.
pub(super) fn column_taken(name: &str) -> Error {
    Error::new(ErrorKind::Input, format!("column {name} already exists"))
}

/// A name that no column has. `known` lists the names of the columns.
pub(super) fn column_unknown(name: &str, known: &str) -> Error {
    Error::new(ErrorKind::Input, format!("unknown column {name}; the columns are {known}"))
}
