//! Errors about columns of catalogues.

use ropewalk::{Error, ErrorKind};

/// A column whose name is already taken.
pub(super) fn column_taken(name: &str) -> Error {
    Error::new(ErrorKind::Input, format!("there is a column {name} already"))
}

/// A name that no column has. `known` lists the names of the columns.
pub(super) fn column_unknown(name: &str, known: &str) -> Error {
    Error::new(ErrorKind::Input, format!("there is no column {name}; there are {known}"))
}
