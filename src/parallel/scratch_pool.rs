//! A pool of scratch values for parallel tasks, kept with a tree from one call to the next.
//!
//! Cost: a lock per task. The pool holds as many values as tasks that have run at the same time; a task decides what
//! its value keeps.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pool of values of any type. Tasks take values from it and return them.
#[derive(Default)]
pub(crate) struct ScratchPool(Mutex<Vec<Box<dyn Any + Send>>>);

impl ScratchPool {
    fn unused(&self) -> MutexGuard<'_, Vec<Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates values until there is one for each of `tasks` that can run at the same time, so that no task
    /// allocates.
    pub fn reserve<T: Default + Send + 'static>(&self, tasks: usize) {
        let mut unused = self.unused();
        let count = unused.iter().filter(|kept| kept.is::<T>()).count();
        for _ in count..tasks.min(rayon::current_num_threads()) {
            unused.push(Box::new(T::default()));
        }
    }

    /// Runs a task with a pooled value, or with a new one if the pool holds no value of this type.
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

impl std::fmt::Debug for ScratchPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
