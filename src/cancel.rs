//! Ending a long call from another thread.
//!
//! In: a flag, and a call. Out: what the call gives, or an error once the flag is set.
//! Each thread knows the flags of the call that it works for. The loops of `parallel` hand them on to their tasks and look at them before
//! each; long stretches on one thread look now and then ([`check`]). A flag that is set unwinds the stack, as a panic does but without its
//! message, to the [`Cancel::run`] that waits for it. A call without memory for a buffer ends in the same way ([`guarded`]).
//! Cost: a look at a thread-local variable a task.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{Error, ErrorKind, Result};
use crate::reserve::is_short;

/// Ends calls of this crate that take long: of a program whose user has waited enough, or changed a parameter.
///
/// Clones are one: any of them, on any thread, cancels what runs under any other. A call that is through before it looks gives its
/// result. Of 10 million uniform points each thread looks at least every 0.3 s of its own time, in searches, clusterings and files; a
/// disk that it waits for adds to that.
///
/// A call that is cancelled leaves nothing behind: memory is returned, temporary files are removed, files are not replaced
/// (`AtomicFile` of `ropewalk-io`), and the same call can be made again. Only what goes to a pipe or standard output may be half written.
///
/// Calls across ranks are the exception. One that waits for other ranks ends when they have come, and one that ends on one rank leaves the
/// others waiting for it: its communicator is good for nothing after that, and a program of MPI has to end on all ranks. Where all ranks
/// are cancelled, they may be in different steps.
///
/// Cancelling unwinds the stack: `Drop` runs, what the call borrowed mutably may be half changed, and a program that is compiled with
/// `panic = "abort"` ends.
///
/// Threads: what is called on the thread of [`Cancel::run`] is cancelled, on all threads that it uses. What the closure hands to threads
/// itself is not: in a pool of one's own, call `pool.install(|| cancel.run(..))`, not the other way around. Of calls that share a pool each
/// is cancelled by its own flag; one may have to wait for another whose work its threads have taken up. On a device a call ends between
/// kernels; those that were launched run on.
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
/// // Cancelled once, nothing runs under it any more.
/// assert_eq!(cancel.run(|| dbscan(&points, 1.0, 4)).unwrap_err().kind(), ErrorKind::Cancelled);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what runs under this flag, and what will.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether it is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Runs `work` until it is through or cancelled. Within another `run`, that one's flag ends it, too.
    ///
    /// # Errors
    /// Those of `work`; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled); [`ErrorKind::Memory`](crate::ErrorKind::Memory) if there is
    /// no memory for a large buffer of a call in `work`.
    ///
    /// # Panics
    /// If `work` does.
    pub fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        Flags::new(self.0.clone(), true).run(work)
    }
}

/// Runs `work`, a call of this crate. Without memory for a large buffer it ends with an error of kind `Memory`.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let flags = Flags::of_guarded();
    let result = flags.run(work);
    flags.keep();
    result
}

/// Runs `work`, a call across ranks. Without memory for a large buffer, outside of calls in `work` that are [`guarded`], the process ends:
/// if the call ended on this rank alone, the others would wait for it.
pub fn across<T>(ranks: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if ranks == 1 { work() } else { Flags::new(Arc::default(), false).run(work) }
}

/// Ends the call that this thread works for, since an allocation of so many bytes failed; returns if the thread works for none that may end.
pub(crate) fn fail_for_memory(bytes: u128) {
    if let Some(chain) = Flags::current().0.as_ref().filter(|chain| chain.ends_without_memory) {
        chain.is_without_memory.store(true, Relaxed);
        resume_unwind(Box::new(Ended::WithoutMemory(bytes)));
    }
}

/// What unwinds the stack of a call.
enum Ended {
    Cancelled,
    /// The bytes that were to be allocated, or 0 if they were another thread's.
    WithoutMemory(u128),
}

#[derive(Debug)]
struct Chain {
    flag: Arc<AtomicBool>,
    /// Whether the call ends if there is no memory for a buffer.
    ends_without_memory: bool,
    /// Whether a thread of the call had no memory for a buffer, so that the other threads need not go on.
    is_without_memory: AtomicBool,
    outer: Flags,
}

/// The flags that end what a thread works for; most often none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags(Option<Arc<Chain>>);

thread_local! {
    static CURRENT: RefCell<Flags> = const { RefCell::new(Flags(None)) };
    /// The flags of the last guarded call, for the next: loops over moving points allocate nothing.
    static SPARE: RefCell<Flags> = const { RefCell::new(Flags(None)) };
}

impl Flags {
    /// Those of a new call, which `flag` cancels, within what this thread works for.
    fn new(flag: Arc<AtomicBool>, ends_without_memory: bool) -> Self {
        let is_without_memory = AtomicBool::new(false);
        Self(Some(Arc::new(Chain { flag, ends_without_memory, is_without_memory, outer: Self::current() })))
    }

    /// Those of a guarded call, within what this thread works for.
    fn of_guarded() -> Self {
        let mut spare = SPARE.take();
        let Some(chain) = spare.0.as_mut().and_then(Arc::get_mut) else { return Self::new(Arc::default(), true) };
        chain.outer = Self::current();
        spare
    }

    /// Keeps them for the next guarded call of this thread, if no other thread has them.
    fn keep(mut self) {
        if let Some(chain) = self.0.as_mut().and_then(Arc::get_mut) {
            *chain.is_without_memory.get_mut() = false;
            chain.outer = Self(None);
            SPARE.set(self);
        }
    }

    /// Runs a call, and returns as an error what ended it.
    fn run<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // What `work` borrowed is its caller's to look after, as `Cancel` says.
        let result = catch_unwind(AssertUnwindSafe(|| self.during(work)));
        result.unwrap_or_else(|payload| match payload.downcast::<Ended>() {
            Ok(ended) => Err(match *ended {
                Ended::Cancelled => Error::new(ErrorKind::Cancelled, "the call was cancelled"),
                Ended::WithoutMemory(0) => Error::new(ErrorKind::Memory, "not enough memory for this call"),
                Ended::WithoutMemory(bytes) => {
                    let sentence = format!("not enough memory for this call: cannot allocate {bytes} bytes");
                    Error::new(ErrorKind::Memory, sentence)
                }
            }),
            Err(payload) => resume_unwind(payload),
        })
    }

    /// Those of this thread. None while it unwinds: what is dropped then has to come to its end.
    fn current() -> Self {
        if std::thread::panicking() { Self(None) } else { CURRENT.with_borrow(Self::clone) }
    }

    /// Those of this thread, for the tasks that it hands to others; it has none itself until what is returned is dropped. While a thread
    /// waits for others it takes up other calls' work, which these flags must not end.
    pub fn hand_on() -> (Self, Entered) {
        if CURRENT.with_borrow(|flags| flags.0.is_none()) {
            return (Self(None), Entered(None));
        }
        (Self::current(), Entered(Some(CURRENT.take())))
    }

    /// Makes them those of this thread as long as what is returned lives, unless they are set: then it unwinds.
    #[inline]
    pub fn enter(&self) -> Entered {
        if self.0.is_none() && CURRENT.with_borrow(|flags| flags.0.is_none()) {
            return Entered(None);
        }
        let entered = Entered(Some(CURRENT.replace(self.clone())));
        self.check();
        entered
    }

    /// Runs `work` with them, unless they are set: then it unwinds.
    #[inline]
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.enter();
        work()
    }

    /// Whether there are any.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Unwinds if one of them is set.
    #[inline]
    pub fn check(&self) {
        let mut next = &self.0;
        let ends_without_memory = next.as_ref().is_some_and(|chain| chain.ends_without_memory);
        while let Some(chain) = next {
            let is_without_memory = chain.is_without_memory.load(Relaxed) || (ends_without_memory && is_short());
            if (chain.flag.load(Relaxed) || is_without_memory) && !std::thread::panicking() {
                resume_unwind(Box::new(if is_without_memory { Ended::WithoutMemory(0) } else { Ended::Cancelled }));
            }
            next = &chain.outer.0;
        }
    }
}

/// The flags of this thread before, which come back when this is dropped.
pub(crate) struct Entered(Option<Flags>);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            CURRENT.set(before);
        }
    }
}

/// Unwinds if the call that this thread works for is cancelled.
#[inline]
pub fn check() {
    CURRENT.with_borrow(Flags::check);
}

/// The same at each 2^16th item of a long loop on one thread; `at` counts the items.
#[inline(always)]
pub fn check_at(at: usize) {
    if at.is_multiple_of(1 << 16) {
        check();
    }
}
