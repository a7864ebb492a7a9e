//! Parallel loops without allocations: work is halved recursively, and idle threads take halves.
//!
//! Cost: a `join` per task, except one. Work is divided alike for any number of threads, so a fold of rounded numbers
//! is reproducible.

use std::ops::Range;

use crate::cancel::CallFlags;

/// Work that can be split in two: a range, or slices of equal length.
pub(crate) trait Part: Sized + Send {
    /// Removes the first `len` items and returns them.
    fn take_front(&mut self, len: usize) -> Self;
}

impl Part for Range<usize> {
    fn take_front(&mut self, len: usize) -> Self {
        let start = self.start;
        self.start = self.end.min(start + len);
        start..self.start
    }
}

impl<T: Sync> Part for &[T] {
    fn take_front(&mut self, len: usize) -> Self {
        self.split_off(..len).unwrap_or_default()
    }
}

impl<T: Send> Part for &mut [T] {
    fn take_front(&mut self, len: usize) -> Self {
        self.split_off_mut(..len).unwrap_or_default()
    }
}

impl<P: Part, const N: usize> Part for [P; N] {
    fn take_front(&mut self, len: usize) -> Self {
        self.each_mut().map(|part| part.take_front(len))
    }
}

impl<P: Part> Part for Option<P> {
    fn take_front(&mut self, len: usize) -> Self {
        self.as_mut().map(|part| part.take_front(len))
    }
}

impl<A: Part, B: Part> Part for (A, B) {
    fn take_front(&mut self, len: usize) -> Self {
        (self.0.take_front(len), self.1.take_front(len))
    }
}

impl<A: Part, B: Part, C: Part> Part for (A, B, C) {
    fn take_front(&mut self, len: usize) -> Self {
        (self.0.take_front(len), self.1.take_front(len), self.2.take_front(len))
    }
}

/// Calls `task` with parts of `size` items, the last one shorter; `part` has `n` items.
pub(crate) fn for_parts<P: Part>(n: usize, size: usize, mut part: P, task: &(dyn Fn(P) + Sync)) {
    if n <= size {
        return task(part);
    }
    let half = (n.div_ceil(size) / 2) * size;
    let first = part.take_front(half);
    let (flags, _waiting) = CallFlags::pass_to_tasks();
    rayon::join(
        || flags.during(|| for_parts(half, size, first, task)),
        || flags.during(|| for_parts(n - half, size, part, task)),
    );
}

/// Calls `task` with ranges of `size` indices and combines the results with `join`, in order.
pub fn fold_tasks<T: Send>(
    range: Range<usize>,
    size: usize,
    task: &(dyn Fn(Range<usize>) -> T + Sync),
    join: &(dyn Fn(T, T) -> T + Sync),
) -> T {
    if range.len() <= size {
        return task(range);
    }
    let mut rest = range;
    let first = rest.take_front((rest.len().div_ceil(size) / 2) * size);
    let (flags, _waiting) = CallFlags::pass_to_tasks();
    let (a, b) = rayon::join(
        || flags.during(|| fold_tasks(first, size, task, join)),
        || flags.during(|| fold_tasks(rest, size, task, join)),
    );
    join(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_once() {
        for n in [0, 1, 9, 10, 11, 1000] {
            let (mut a, mut b) = (vec![0; n], vec![0; n]);
            for_parts(n, 10, (0..n, &mut a[..], [Some(&mut b[..])]), &|(range, a, [b])| {
                assert!(range.len() <= 10 && range.start % 10 == 0);
                for ((a, b), at) in a.iter_mut().zip(b.unwrap()).zip(range) {
                    *a += at;
                    *b += 2 * at;
                }
            });
            assert!(a.into_iter().zip(b).eq((0..n).map(|at| (at, 2 * at))));
            let all = fold_tasks(0..n, 10, &|range| range.collect(), &|a: Vec<usize>, b| [a, b].concat());
            assert!(all.into_iter().eq(0..n));
        }
    }
}
