//! How long the steps of a computation take, for whoever wants to know.
//!
//! Long functions call [`mark`] as they finish a step. It costs a look at a thread-local variable, unless [`phases`] listens.

use std::cell::RefCell;
use std::time::{Duration, Instant};

type Steps = Vec<(&'static str, Duration)>;

thread_local! {
    /// When the last step ended, and the steps so far.
    static LISTENER: RefCell<Option<(Instant, Steps)>> = const { RefCell::new(None) };
}

/// Runs `work` and says how long each of its steps took, in order. Only what is called on this thread is heard; the parallel
/// parts of a step may run anywhere.
///
/// ```
/// use ropewalk::{Bvh, phases};
///
/// let (bvh, steps) = phases(|| Bvh::build(&[[0.0f32], [1.0]]));
/// assert!(bvh.is_ok());
/// assert_eq!(steps[0].0, "bounds");
/// ```
pub fn phases<R>(work: impl FnOnce() -> R) -> (R, Vec<(&'static str, Duration)>) {
    let outer = LISTENER.replace(Some((Instant::now(), Steps::new())));
    let result = work();
    let steps = LISTENER.replace(outer).map(|(_, steps)| steps).unwrap_or_default();
    (result, steps)
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
