//! Errors about columns of catalogues and about pictures of trees.

use ropewalk::{Error, ErrorKind};

/// A column whose name is already taken.
pub(super) fn column_taken(name: &str) -> Error {
    Error::new(ErrorKind::Input, format!("column {name} already exists"))
}

/// A name that no column has. `known` lists the names of the columns.
pub(super) fn column_unknown(name: &str, known: &str) -> Error {
    Error::new(ErrorKind::Input, format!("unknown column {name}; the columns are {known}"))
}

/// Points with more dimensions than a format for pictures of trees shows.
pub(super) fn tree_format(format: &str, dim: usize) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{format} does not show trees of points with {dim} coordinates; use Graphviz (.dot), which shows all"),
    )
}
