//! Parallel loops, each compiled once.
//!
//! rayon's adaptors are instantiated for each closure. Here closures are called through a pointer, once per task,
//! which is negligible compared with the thousands of operations of a task. Before each task, the flags of the caller
//! are checked for cancellation.

mod scratch_pool;
mod parts;

use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::cancel::{CallFlags, check};
use crate::memory::{collected, with_capacity, zeroed};
use crate::phases::{ObservedLoop, begin_loop};
pub use parts::fold_tasks;
pub(crate) use parts::{Part, for_parts};
pub(crate) use scratch_pool::ScratchPool;

/// Calls `task` with consecutive ranges of `size` indices, the last one shorter, that cover `0..n`.
pub(crate) fn for_tasks(n: usize, size: usize, task: &(dyn Fn(Range<usize>) + Sync)) {
    let (flags, _waiting) = CallFlags::pass_to_tasks();
    let tasks = n.div_ceil(size);
    let progress = begin_loop(tasks);
    (0..tasks).into_par_iter().for_each(|at| {
        flags.during(|| task(at * size..((at + 1) * size).min(n)));
        progress.iter().for_each(ObservedLoop::end_task);
    });
}

/// Calls `task` with consecutive ranges of `size` indices that cover `0..n`, in reverse order.
pub(crate) fn for_tasks_reversed(n: usize, size: usize, task: &(dyn Fn(Range<usize>) + Sync)) {
    let tasks = n.div_ceil(size);
    for_tasks(tasks, 1, &|turn| {
        let at = tasks - 1 - turn.start;
        task(at * size..((at + 1) * size).min(n));
    });
}

/// Maps consecutive ranges of `size` indices to values, in order.
pub fn map_tasks<T: Send + Sync>(n: usize, size: usize, task: &(dyn Fn(Range<usize>) -> T + Sync)) -> Vec<T> {
    let results: Vec<OnceLock<T>> = collected((0..n.div_ceil(size)).map(|_| OnceLock::new()));
    for_tasks(n, size, &|range| _ = results[range.start / size].set(task(range)));
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// Concatenates the lists that `task` returns for consecutive ranges of `size` indices, in order.
pub fn list_tasks<T: Send + Sync>(n: usize, size: usize, task: &(dyn Fn(Range<usize>) -> Vec<T> + Sync)) -> Vec<T> {
    let lists = map_tasks(n, size, task);
    let mut all = with_capacity(lists.iter().map(Vec::len).sum());
    for list in lists {
        check();
        all.extend(list);
    }
    all
}

/// Maps each index to a value, in order, written in place; tasks have `size` indices.
pub fn map<T: Send>(n: usize, size: usize, value: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    // The allocation comes first: while a thread waits, it has no flags, so a failed allocation would abort the
    // process.
    let mut all = with_capacity(n);
    let (flags, _waiting) = CallFlags::pass_to_tasks();
    let task = (0..n).into_par_iter().with_min_len(size).with_max_len(size);
    // Each task enters the flags once, and leaves them when it ends.
    task.map_init(|| flags.enter(), |_, at| value(at)).collect_into_vec(&mut all);
    all
}

/// Sorts in ascending order; the sort is not stable.
pub fn sort<T: Ord + Send>(values: &mut [T]) {
    let (flags, _waiting) = CallFlags::pass_to_tasks();
    if flags.is_some() { sort_parts(values, &flags) } else { values.par_sort_unstable() }
}

/// The maximum number of values that are sorted without a check of the flags. With a check in each comparison,
/// sorting the edges of a spanning tree takes seven times as many instructions.
const SORTED_AT_ONCE: usize = 1 << 20;

/// Sorts, and unwinds between parts if a flag is set.
fn sort_parts<T: Ord + Send>(values: &mut [T], flags: &CallFlags) {
    flags.check();
    if values.len() <= SORTED_AT_ONCE {
        return values.par_sort_unstable();
    }
    let (low, _, high) = values.select_nth_unstable(values.len() / 2);
    rayon::join(|| sort_parts(low, flags), || sort_parts(high, flags));
}

/// Calls `task` with each item and its index.
pub fn for_each<T: Send>(items: Vec<T>, task: &(dyn Fn(usize, T) + Sync)) {
    let slots: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    for_tasks(slots.len(), 1, &|at| {
        // Each mutex is locked once, so it cannot be poisoned.
        let item = slots[at.start].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.into_iter().for_each(|item| task(at.start, item));
    });
}

/// Calls `value` with ranges of `size` indices and the values at these, to fill them.
pub fn fill<T: Send>(values: &mut [T], size: usize, value: &(dyn Fn(Range<usize>, &mut [T]) + Sync)) {
    let n = values.len();
    for_each(values.chunks_mut(size).collect(), &|at, own| value(at * size..((at + 1) * size).min(n), own));
}

/// Returns `n` atomic integers, each equal to `value`.
pub(crate) fn atomics(n: usize, value: u32) -> Vec<AtomicU32> {
    // Fresh zeroed pages are not written.
    let mut all: Vec<AtomicU32> = zeroed(n);
    if value != 0 {
        fill(&mut all, 1 << 15, &|_, own| own.iter_mut().for_each(|slot| *slot.get_mut() = value));
    }
    all
}

/// Converts atomic integers to plain ones, once no other thread writes them.
pub(crate) fn plain(values: Vec<AtomicU32>) -> Vec<u32> {
    // In place: this compiles to nothing.
    values.into_iter().map(AtomicU32::into_inner).collect()
}

/// Converts plain integers to atomic ones.
pub(crate) fn shared(values: Vec<u32>) -> Vec<AtomicU32> {
    values.into_iter().map(AtomicU32::new).collect()
}

/// Converts atomic integers to signed ones.
pub(crate) fn signed(values: Vec<AtomicU32>) -> Vec<i32> {
    values.into_iter().map(|value| value.into_inner() as i32).collect()
}

/// Runs `a` and `b`, in parallel if a thread is idle.
pub(crate) fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    let (flags, _waiting) = CallFlags::pass_to_tasks();
    rayon::join(|| flags.during(a), || flags.during(b));
}

/// A pool of scratch values. A task takes a free value or creates one, and returns it.
pub(crate) struct Scratch<T> {
    unused: Mutex<Vec<T>>,
    make: fn() -> T,
}

impl<T: Send> Scratch<T> {
    pub fn new(make: fn() -> T) -> Self {
        Self { unused: Mutex::new(vec![]), make }
    }

    /// Creates values until there are `count`, and prepares each.
    pub fn reserve(&mut self, count: usize, prepare: &dyn Fn(&mut T)) {
        let unused = self.unused.get_mut().unwrap_or_else(PoisonError::into_inner);
        unused.reserve(count.saturating_sub(unused.len()));
        while unused.len() < count {
            unused.push((self.make)());
        }
        unused.iter_mut().for_each(prepare);
    }

    pub fn with<R>(&self, task: impl FnOnce(&mut T) -> R) -> R {
        let unused = || self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = unused().pop();
        let mut scratch = taken.unwrap_or_else(self.make);
        let result = task(&mut scratch);
        unused().push(scratch);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cancel, ErrorKind};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// A thread may be in a task when the call is cancelled, but starts no other task.
    #[test]
    fn no_task_is_begun_after_it_is_cancelled() {
        type Loop = fn(&(dyn Fn() + Sync));
        let loops: [Loop; 7] = [
            |see| for_tasks(100_000, 10, &|_| see()),
            |see| for_tasks_reversed(100_000, 10, &|_| see()),
            |see| drop(map_tasks(100_000, 10, &|_| see())),
            |see| for_each(vec![(); 10_000], &|_, ()| see()),
            |see| fill(&mut [0; 100_000], 10, &|_, _| see()),
            |see| drop(map(10_000, 1, &|_| see())),
            |see| for_tasks(100, 1, &|_| for_tasks(100, 1, &|_| see())),
        ];
        for begin in loops {
            let cancel = Cancel::new();
            let begun = AtomicUsize::new(0);
            let see = || {
                begun.fetch_add(1, Relaxed);
                cancel.cancel();
            };
            let result = cancel.run(|| {
                begin(&see);
                Ok(())
            });
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(begun.into_inner() <= rayon::current_num_threads());
        }
        let cancel = Cancel::new();
        let ran = AtomicUsize::new(0);
        let mut first = || cancel.cancel();
        let mut second = || {
            for_tasks(1000, 1, &|_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                ran.fetch_add(1, Relaxed);
            });
        };
        assert!(
            cancel
                .run(|| {
                    join(&mut first, &mut second);
                    Ok(())
                })
                .is_err()
        );
        assert!(ran.into_inner() < 1000);
    }

    /// A value whose comparison cancels the call that sorts it.
    struct Cancels<'a>(u32, &'a Cancel);

    impl Ord for Cancels<'_> {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.1.cancel();
            self.0.cmp(&other.0)
        }
    }
    impl PartialOrd for Cancels<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl PartialEq for Cancels<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }
    impl Eq for Cancels<'_> {}

    /// More values than are sorted at once: sorted correctly, all equal, and in a call that is cancelled.
    #[test]
    fn long_sorts() {
        let n = 3 * SORTED_AT_ONCE as u32 + 1;
        // A permutation, as 7 does not divide n.
        let scattered = |i: u32| (u64::from(i) * 7 % u64::from(n)) as u32;
        let cancel = Cancel::new();
        let sorted = |mut values: Vec<u32>| {
            cancel.run(|| {
                sort(&mut values);
                Ok(values)
            })
        };
        assert_eq!(sorted((0..n).map(scattered).collect()).unwrap(), (0..n).collect::<Vec<u32>>());
        assert_eq!(sorted(vec![5; n as usize]).unwrap(), vec![5; n as usize]);
        let mut values: Vec<_> = (0..n).map(|i| Cancels(scattered(i), &cancel)).collect();
        let result = cancel.run(|| {
            sort(&mut values);
            Ok(())
        });
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(!values.is_sorted_by_key(|value| value.0));
    }

    /// A thread that waits for a task of a cancelled call picks up another call, which completes.
    #[test]
    fn calls_in_one_pool_are_cancelled_apart() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let [first, second] = [Cancel::new(), Cancel::new()];
        let wait_for = |count: &AtomicUsize, least| {
            while count.load(Relaxed) < least {
                std::thread::yield_now();
            }
        };
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let long = scope.spawn(|| {
                let mut ends = || {
                    begun.fetch_add(1, Relaxed);
                    wait_for(&begun, 2);
                };
                // The other thread waits for this one.
                let mut waits = || {
                    begun.fetch_add(1, Relaxed);
                    wait_for(&ended, 1);
                };
                pool.install(|| {
                    first.run(|| {
                        join(&mut ends, &mut waits);
                        Ok(())
                    })
                })
            });
            wait_for(&begun, 2);
            let other = pool.install(|| {
                first.cancel();
                second.run(|| {
                    for_tasks(10, 1, &|_| {});
                    check();
                    Ok(())
                })
            });
            ended.fetch_add(1, Relaxed);
            assert!(other.is_ok());
            // The task that it waited for was its last one.
            assert!(long.join().unwrap().is_ok());
        });
    }

    #[test]
    fn every_index_once() {
        for n in [0, 1, 9, 10, 11, 1000] {
            let seen: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            let see = |range: Range<usize>| range.for_each(|at| _ = seen[at].fetch_add(1, Relaxed));
            for_tasks(n, 10, &see);
            for_tasks_reversed(n, 10, &see);
            assert!(map_tasks(n, 10, &|range| range).into_iter().flatten().eq(0..n));
            assert!(map(n, 10, &|at| 3 * at).into_iter().eq((0..n).map(|at| 3 * at)));
            let odd = list_tasks(n, 10, &|range| range.filter(|at| at % 2 == 1).collect());
            assert!(odd.into_iter().eq((0..n).filter(|at| at % 2 == 1)));
            for_each((0..n).collect(), &|at, item| {
                assert_eq!(at, item);
                see(at..at + 1);
            });
            assert!(seen.into_iter().all(|seen| seen.into_inner() == 3));
            let mut values = vec![0; n];
            fill(&mut values, 7, &|range, own| own.iter_mut().zip(range).for_each(|(value, at)| *value = at));
            assert!(values.into_iter().eq(0..n));
        }
    }
}
