//! Errors of nearest-neighbour searches.

use crate::error::{Error, ErrorKind, Result};

/// Returns an error unless there are options for each of `n` queries.
pub(crate) fn check_options(len: usize, n: usize) -> Result<()> {
    if len == n {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Input, format!("expected options for each query, got {len} for {n} queries")))
}
