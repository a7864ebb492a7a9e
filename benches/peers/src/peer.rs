//! A library that takes part, and its operations, ready to be timed.

use crate::answer::Answer;
use crate::op::Op;
use crate::work::Work;

/// A result that is kept, and from which the answer is taken when the clock has stopped: neither sums over a result nor
/// its release are timed.
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

    /// Does what is not timed and returns what is; none if the library has no such operation.
    fn enter<'a>(&self, op: Op, work: &'a Work) -> Option<Run<'a>>;

    /// Returns `true` if the operation takes one thread, whatever it is given.
    fn is_serial(&self, _op: Op) -> bool {
        false
    }
}
