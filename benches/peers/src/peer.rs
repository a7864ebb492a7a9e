//! The interface of the compared libraries and their timed operations.

use crate::answer::Answer;
use crate::op::Op;
use crate::work::Work;

/// Turns a result into an answer after the clock has stopped: neither sums over a result nor its deallocation are
/// timed.
pub type Done<'a> = Box<dyn FnOnce() -> Answer + 'a>;

/// The timed part of an operation.
pub type Run<'a> = Box<dyn FnMut() -> Done<'a> + 'a>;

/// A library.
pub trait Peer {
    /// The name of the library for `--peers`.
    fn name(&self) -> &'static str;

    /// The package whose version is reported.
    fn package(&self) -> &'static str {
        self.name()
    }

    /// Does the untimed preparation and returns the timed part; `None` if the library has no such operation.
    fn enter<'a>(&self, op: Op, work: &'a Work) -> Option<Run<'a>>;

    /// Returns `true` if the operation always runs on one thread.
    fn is_serial(&self, _op: Op) -> bool {
        false
    }
}
