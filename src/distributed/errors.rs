//! Errors of ranks.

use crate::error::{Error, ErrorKind};

/// Creates the error that another rank reported.
pub(super) fn on_rank(rank: usize, kind: ErrorKind, sentence: &str) -> Error {
    Error::new(kind, format!("rank {rank}: {sentence}")).of_another_rank()
}

/// Creates the error for a rank that ended before a collective call.
pub(super) fn rank_gone(rank: usize) -> Error {
    Error::new(ErrorKind::Rank, format!("rank {rank} has ended before a collective call")).of_another_rank()
}

/// Creates the error for a column that only some ranks have.
pub fn some_ranks_lack(what: &'static str) -> Error {
    Error::new(ErrorKind::Input, format!("only some ranks pass {what}; pass it on all ranks or on none"))
}
