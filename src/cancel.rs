//! Cancellation of a long call from another thread.
//!
//! In: a flag, and a call. Out: the result of the call, or an error once the flag is set.
//! Each thread knows the flags of the call that it works for. The loops of `parallel` pass them to their tasks and
//! check them before each task; long loops on one thread check them regularly ([`check`]). If a flag is set, the
//! stack is unwound like in a panic, but without a message, up to the [`Cancel::run`] that owns the flag. A call that
//! cannot allocate a buffer ends in the same way ([`guarded`]).
//! Cost: a read of a thread-local variable per task.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{Error, ErrorKind, Result};
use crate::reserve::is_out_of_memory;

/// A flag that cancels long calls of this crate, for example when a user aborts them or changes a parameter.
///
/// Clones share one flag: each, on any thread, cancels the calls that run under any other. A call that finishes
/// before its next check returns its result. With 10 million uniform points, each thread checks the flag at least
/// every 0.3 s of its own time. This holds for searches, clusterings and file operations; waiting for a disk adds to
/// that.
///
/// A cancelled call leaves nothing behind: memory is freed, temporary files are removed, files are not replaced
/// (`AtomicFile` of `ropewalk-io`), and the call can be repeated. Only output to a pipe or to standard output may be
/// incomplete.
///
/// Calls across ranks are the exception. A rank that waits for other ranks is only cancelled once they arrive. A rank
/// that is cancelled leaves the others waiting for it; its communicator is unusable after that, and an MPI program
/// has to end on all ranks. If all ranks are cancelled, they may be in different steps.
///
/// Cancelling unwinds the stack: `Drop` runs, data that the call borrowed mutably may be partly changed, and a
/// program compiled with `panic = "abort"` aborts.
///
/// Threads: calls on the thread of [`Cancel::run`] are cancelled, on all threads that they use. Work that the closure
/// itself moves to other threads is not: with a pool of your own, call `pool.install(|| cancel.run(..))`, not the
/// other way around. Calls that share a pool are cancelled independently. A cancelled call may have to wait for
/// another one whose work its threads have picked up. On a device, a call ends between kernels; kernels already
/// launched run to completion.
///
/// ```
/// use ropewalk::{Cancel, ErrorKind, dbscan};
///
/// let points: Vec<[f64; 2]> = (0..300_000).map(|i| [f64::from(i % 600), f64::from(i / 600)]).collect();
/// let cancel = Cancel::new();
/// let again = cancel.clone();
/// let waiting = std::thread::spawn(move || again.cancel());
/// match cancel.run(|| dbscan(&points, 1.0, 4)) {
///     Ok(labels) => assert_eq!(labels.n_clusters(), 1), // it was faster
///     Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
/// }
/// # waiting.join().unwrap();
/// // The flag stays set: it cancels later calls, too.
/// assert_eq!(cancel.run(|| dbscan(&points, 1.0, 4)).unwrap_err().kind(), ErrorKind::Cancelled);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the calls that run under this flag, and later ones.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Returns `true` if the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Runs `work` until it finishes or is cancelled. Nested inside another `run`, it is also cancelled by the outer
    /// flag.
    ///
    /// # Errors
    /// Returns the error of `work`, or [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled). Returns
    /// [`ErrorKind::Memory`](crate::ErrorKind::Memory) if a large buffer of a call in `work` cannot be allocated.
    ///
    /// # Panics
    /// Panics if `work` does.
    pub fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        CallFlags::new(self.0.clone(), true).run(work)
    }
}

/// Runs `work`, a call of this crate. If a large buffer cannot be allocated, the call ends with an error of kind
/// `Memory`.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let flags = CallFlags::guarded();
    let result = flags.run(work);
    flags.keep();
    result
}

/// Runs `work`, a call across ranks. If a large buffer cannot be allocated outside of [`guarded`] calls in `work`,
/// the process is aborted: if only this rank ended, the others would wait for it forever.
pub fn across<T>(ranks: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if ranks == 1 { work() } else { CallFlags::new(Arc::default(), false).run(work) }
}

/// Ends the call that this thread works for, since an allocation of `bytes` bytes failed. Returns if the thread works
/// for no call that may end this way.
pub(crate) fn fail_for_memory(bytes: u128) {
    if let Some(state) = CallFlags::current().0.as_ref().filter(|state| state.ends_without_memory) {
        state.is_without_memory.store(true, Relaxed);
        resume_unwind(Box::new(Ended::WithoutMemory(bytes)));
    }
}

/// The payload that unwinds the stack of a call.
enum Ended {
    Cancelled,
    /// The size of the failed allocation in bytes, 0 if it failed on another thread.
    WithoutMemory(u128),
}

#[derive(Debug)]
struct CallState {
    flag: Arc<AtomicBool>,
    /// `true` if the call ends when a buffer cannot be allocated.
    ends_without_memory: bool,
    /// `true` if an allocation failed on a thread of the call, so that the other threads stop.
    is_without_memory: AtomicBool,
    outer: CallFlags,
}

/// The flags that can end the calls that a thread works for; usually none.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallFlags(Option<Arc<CallState>>);

thread_local! {
    static CURRENT: RefCell<CallFlags> = const { RefCell::new(CallFlags(None)) };
    /// The flags of the last guarded call, reused by the next one, so that loops over moving points do not allocate.
    static SPARE: RefCell<CallFlags> = const { RefCell::new(CallFlags(None)) };
}

impl CallFlags {
    /// Creates the flags of a new call, which `flag` cancels, nested in the calls that this thread works for.
    fn new(flag: Arc<AtomicBool>, ends_without_memory: bool) -> Self {
        let is_without_memory = AtomicBool::new(false);
        Self(Some(Arc::new(CallState { flag, ends_without_memory, is_without_memory, outer: Self::current() })))
    }

    /// Creates or reuses the flags of a guarded call, nested in the calls that this thread works for.
    fn guarded() -> Self {
        let mut spare = SPARE.take();
        let Some(state) = spare.0.as_mut().and_then(Arc::get_mut) else { return Self::new(Arc::default(), true) };
        state.outer = Self::current();
        spare
    }

    /// Keeps the flags for the next guarded call of this thread, unless another thread still holds them.
    fn keep(mut self) {
        if let Some(state) = self.0.as_mut().and_then(Arc::get_mut) {
            *state.is_without_memory.get_mut() = false;
            state.outer = Self(None);
            SPARE.set(self);
        }
    }

    /// Runs a call. If it is ended by a flag or a failed allocation, returns an error.
    fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // `AssertUnwindSafe`: what `work` borrowed mutably may be partly changed, as documented at `Cancel`.
        let result = catch_unwind(AssertUnwindSafe(|| self.during(work)));
        result.unwrap_or_else(|payload| match payload.downcast::<Ended>() {
            Ok(ended) => Err(match *ended {
                Ended::Cancelled => Error::new(ErrorKind::Cancelled, "the call was cancelled"),
                Ended::WithoutMemory(0) => {
                    Error::new(ErrorKind::Memory, "not enough memory: an allocation failed on another thread")
                }
                Ended::WithoutMemory(bytes) => {
                    let sentence = format!("not enough memory: cannot allocate {bytes} bytes");
                    Error::new(ErrorKind::Memory, sentence)
                }
            }),
            Err(payload) => resume_unwind(payload),
        })
    }

    /// Returns the flags of this thread; none while it unwinds, because destructors must complete.
    fn current() -> Self {
        if std::thread::panicking() { Self(None) } else { CURRENT.with_borrow(Self::clone) }
    }

    /// Returns the flags of this thread, for the tasks that it passes to other threads, and clears them until the
    /// guard is dropped. While a thread waits for other threads it picks up work of other calls, which these flags
    /// must not end.
    pub fn pass_to_tasks() -> (Self, FlagsGuard) {
        if CURRENT.with_borrow(|flags| flags.0.is_none()) {
            return (Self(None), FlagsGuard(None));
        }
        (Self::current(), FlagsGuard(Some(CURRENT.take())))
    }

    /// Makes these the flags of this thread until the guard is dropped. Unwinds if one of them is set.
    #[inline]
    pub fn enter(&self) -> FlagsGuard {
        if self.0.is_none() && CURRENT.with_borrow(|flags| flags.0.is_none()) {
            return FlagsGuard(None);
        }
        let entered = FlagsGuard(Some(CURRENT.replace(self.clone())));
        self.check();
        entered
    }

    /// Runs `work` under these flags. Unwinds if one of them is set.
    #[inline]
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.enter();
        work()
    }

    /// Returns `true` if there is at least one flag.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Unwinds if one of the flags is set.
    #[inline]
    pub fn check(&self) {
        let mut next = &self.0;
        let ends_without_memory = next.as_ref().is_some_and(|state| state.ends_without_memory);
        while let Some(state) = next {
            let is_without_memory =
                state.is_without_memory.load(Relaxed) || (ends_without_memory && is_out_of_memory());
            if (state.flag.load(Relaxed) || is_without_memory) && !std::thread::panicking() {
                resume_unwind(Box::new(if is_without_memory { Ended::WithoutMemory(0) } else { Ended::Cancelled }));
            }
            next = &state.outer.0;
        }
    }
}

/// A guard that restores the previous flags of this thread when it is dropped.
pub(crate) struct FlagsGuard(Option<CallFlags>);

impl Drop for FlagsGuard {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            CURRENT.set(before);
        }
    }
}

/// Unwinds if the call that this thread works for is cancelled.
#[inline]
pub fn check() {
    CURRENT.with_borrow(CallFlags::check);
}

/// Calls [`check`] at every 2^16th item of a long loop on one thread; `at` is the number of the item.
#[inline(always)]
pub fn check_at(at: usize) {
    if at.is_multiple_of(1 << 16) {
        check();
    }
}
