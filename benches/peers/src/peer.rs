//! The interface of the compared libraries and their timed operations.

use crate::answer::Answer;
use crate::input::Input;
use crate::op::Op;

/// Turns a result into an answer after the clock has stopped: neither sums over a result nor its deallocation are
/// timed.
pub type FinishedRun<'a> = Box<dyn FnOnce() -> Answer + 'a>;

/// The timed part of an operation.
pub type Run<'a> = Box<dyn FnMut() -> FinishedRun<'a> + 'a>;

/// A library.
pub trait Peer {
    /// The name of the library for `--peers`.
    fn name(&self) -> &'static str;

    /// The package whose version is reported.
    fn package(&self) -> &'static str {
        self.name()
    }

    /// Does the untimed preparation and returns the timed part; `None` if the library has no such operation.
    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>>;

    /// Returns `true` if the operation always runs on one thread.
    fn is_serial(&self, _op: Op) -> bool {
        false
    }
}
