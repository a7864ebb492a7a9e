//! A pool of values that parallel tasks work in, kept with a tree from one call to the next.
//!
//! Cost: a lock a task. What is kept is for as many tasks as have run at once, and each says itself what it is worth to keep.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values of any types that tasks take and give back.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<Box<dyn Any + Send>>>);

impl Kept {
    fn unused(&self) -> MutexGuard<'_, Vec<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a value for each of `tasks` that can run at once, so that none of them allocates.
    pub fn reserve<T: Default + Send + 'static>(&self, tasks: usize) {
        let mut unused = self.unused();
        let count = unused.iter().filter(|kept| kept.is::<T>()).count();
        for _ in count..tasks.min(rayon::current_num_threads()) {
            unused.push(Box::new(T::default()));
        }
    }

    /// Runs a task with a value that is kept, or with a new one.
    pub fn with<T: Default + Send + 'static, R>(&self, task: impl FnOnce(&mut T) -> R) -> R {
        let taken = {
            let mut unused = self.unused();
            let at = unused.iter().rposition(|kept| kept.is::<T>());
            at.map(|at| unused.swap_remove(at))
        };
        let mut kept: Box<T> = taken.and_then(|kept| kept.downcast().ok()).unwrap_or_default();
        let result = task(&mut kept);
        self.unused().push(kept);
        result
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
