//! Wall-clock times of the steps of a computation, and the progress of its parallel loops.
//!
//! Long functions of this crate mark the end of each step. That reads a thread-local variable, and does no more unless
//! [`timed`] is listening. Parallel loops count their tasks while a [`LoopProgress`] observes them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

type Steps = Vec<(&'static str, Duration)>;

/// The end of the last step, and the steps so far.
type Listener = (Instant, Steps);

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// Runs `work` and returns the duration of each of its steps, in order. Only steps marked on this thread are
/// recorded; the parallel parts of a step may run on any thread.
///
/// ```
/// use ropewalk::{Bvh, phases::timed};
///
/// let (bvh, steps) = timed(|| Bvh::build(&[[0.0f32], [1.0]]));
/// assert!(bvh.is_ok());
/// assert_eq!(steps[0].0, "bounds");
/// ```
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Vec<(&'static str, Duration)>) {
    let mut outer = Outer(LISTENER.replace(Some((Instant::now(), Steps::new()))));
    let result = work();
    (result, outer.put_back().map(|(_, steps)| steps).unwrap_or_default())
}

/// The previous listener, restored even if the work panics.
struct Outer(Option<Listener>);

impl Outer {
    /// Restores the previous listener, and returns the current one.
    fn put_back(&mut self) -> Option<Listener> {
        LISTENER.replace(self.0.take())
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.put_back();
        }
    }
}

thread_local! {
    static OBSERVER: RefCell<Option<LoopProgress>> = const { RefCell::new(None) };
}

/// The progress of the parallel loop that a call is in. Clones share it, so another thread can read it.
///
/// A call may consist of many loops. Only loops begun on the thread of [`LoopProgress::observe`] are counted, not
/// those within their tasks.
///
/// Cost: an atomic addition per task of a loop.
///
/// ```
/// use ropewalk::{dbscan, phases::LoopProgress};
///
/// let points: Vec<[f64; 2]> = (0..100_000).map(|i| [f64::from(i % 300), f64::from(i / 300)]).collect();
/// let progress = LoopProgress::new();
/// progress.observe(|| dbscan(&points, 1.0, 4))?;
/// let last = progress.state();
/// assert!(last.number > 1 && last.done == last.total);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoopProgress(Arc<LoopCounts>);

#[derive(Debug, Default)]
struct LoopCounts {
    loops: AtomicU64,
    tasks: AtomicU64,
    ended: AtomicU64,
}

/// The state of a [`LoopProgress`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LoopState {
    /// The number of the loop, from 1; 0 before the first loop.
    pub number: u64,
    /// The number of tasks of the loop that ended, at most `total`.
    pub done: u64,
    /// The number of tasks of the loop.
    pub total: u64,
}

impl LoopProgress {
    /// Creates a progress before the first loop.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `work` and counts the tasks of its loops.
    pub fn observe<R>(&self, work: impl FnOnce() -> R) -> R {
        let _outer = OuterObserver(OBSERVER.replace(Some(self.clone())));
        work()
    }

    /// Returns the current or last loop.
    pub fn state(&self) -> LoopState {
        let LoopCounts { loops, tasks, ended } = &*self.0;
        let total = tasks.load(Relaxed);
        LoopState { number: loops.load(Relaxed), done: ended.load(Relaxed).min(total), total }
    }
}

/// A loop that is observed. Until it is dropped, other loops of its thread are not: they are within its tasks.
pub(crate) struct ObservedLoop(LoopProgress);

impl ObservedLoop {
    /// Counts a task that ended.
    pub(crate) fn end_task(&self) {
        self.0.0.ended.fetch_add(1, Relaxed);
    }
}

impl Drop for ObservedLoop {
    fn drop(&mut self) {
        OBSERVER.set(Some(self.0.clone()));
    }
}

/// Begins a loop of `tasks` tasks, if there are any and loops of this thread are observed.
pub(crate) fn begin_loop(tasks: usize) -> Option<ObservedLoop> {
    // A loop without tasks would hide the end of the loop before it.
    if tasks == 0 {
        return None;
    }
    let observer = OBSERVER.take()?;
    observer.0.ended.store(0, Relaxed);
    observer.0.tasks.store(tasks as u64, Relaxed);
    observer.0.loops.fetch_add(1, Relaxed);
    Some(ObservedLoop(observer))
}

/// The previous observer, restored even if the work panics.
struct OuterObserver(Option<LoopProgress>);

impl Drop for OuterObserver {
    fn drop(&mut self) {
        OBSERVER.set(self.0.take());
    }
}

/// Returns `true` if steps are being recorded on this thread.
#[cfg(feature = "gpu")]
pub(crate) fn is_heard() -> bool {
    LISTENER.with_borrow(Option::is_some)
}

/// Ends a step.
pub(crate) fn mark(step: &'static str) {
    LISTENER.with_borrow_mut(|listener| {
        if let Some((last, steps)) = listener {
            let now = Instant::now();
            steps.push((step, now - *last));
            *last = now;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_counted_one_after_the_other() {
        count_loops();
        // Tasks may run on the thread of the call if that is one of the pool.
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(count_loops);
    }

    fn count_loops() {
        let progress = LoopProgress::new();
        assert_eq!(progress.state(), LoopState::default());
        progress.observe(|| {
            crate::parallel::for_tasks(100, 10, &|range| {
                let state = progress.state();
                assert!(state.number == 1 && state.total == 10 && state.done < 10);
                // The loop within a task is not counted.
                crate::parallel::for_tasks(range.len(), 1, &|_| {});
            });
            assert_eq!(progress.state(), LoopState { number: 1, done: 10, total: 10 });
            crate::parallel::for_tasks(7, 1, &|_| {});
            crate::parallel::for_tasks(0, 1, &|_| {});
        });
        crate::parallel::for_tasks(50, 1, &|_| {});
        assert_eq!(progress.state(), LoopState { number: 2, done: 7, total: 7 });
    }

    #[test]
    fn a_panic_ends_observing() {
        let progress = LoopProgress::new();
        std::panic::catch_unwind(|| progress.observe(|| panic!("on purpose"))).unwrap_err();
        assert!(begin_loop(5).is_none());
    }

    #[test]
    fn a_panic_ends_listening() {
        let (_, steps) = timed(|| {
            mark("before");
            std::panic::catch_unwind(|| timed(|| panic!("on purpose"))).unwrap_err();
            mark("after");
        });
        assert_eq!(steps.iter().map(|(step, _)| *step).collect::<Vec<_>>(), ["before", "after"]);
        std::panic::catch_unwind(|| timed(|| panic!("on purpose"))).unwrap_err();
        assert!(LISTENER.take().is_none());
    }
}
