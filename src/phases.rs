//! Wall-clock times of the steps of a computation.
//!
//! Long functions of this crate mark the end of each step. That reads a thread-local variable, and does no more unless
//! [`timed`] is listening.

use std::cell::RefCell;
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
