//! What tasks work in, kept by the program from one call to the next.
//!
//! Cost: a lock a task. What is kept is for as many tasks as have run at once, and each says itself what it is worth to keep.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

static UNUSED: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

fn unused() -> MutexGuard<'static, Vec<Box<dyn Any + Send>>> {
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes what each thread may need at once, so that tasks that follow allocate none.
pub(crate) fn reserve_kept<T: Default + Send + 'static>() {
    let mut unused = unused();
    let count = unused.iter().filter(|kept| kept.is::<T>()).count();
    for _ in count..rayon::current_num_threads() {
        unused.push(Box::new(T::default()));
    }
}

/// Runs a task with a value that is kept, or with a new one.
pub(crate) fn with_kept<T: Default + Send + 'static, R>(task: impl FnOnce(&mut T) -> R) -> R {
    let taken = {
        let mut unused = unused();
        let at = unused.iter().rposition(|kept| kept.is::<T>());
        at.map(|at| unused.swap_remove(at))
    };
    let mut kept: Box<T> = taken.and_then(|kept| kept.downcast().ok()).unwrap_or_default();
    let result = task(&mut kept);
    unused().push(kept);
    result
}
