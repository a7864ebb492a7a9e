//! Errors about columns of catalogues.

use ropewalk::{Error, ErrorKind};

/// A column with the name of another.
pub(super) fn column_taken(name: &str) -> Error {
    Error::new(ErrorKind::Input, format!("there is a column {name} already"))
}

/// The name of no column. `known` lists the names that there are.
pub(super) fn column_unknown(name: &str, known: &str) -> Error {
    Error::new(ErrorKind::Input, format!("there is no column {name}; there are {known}"))
}
