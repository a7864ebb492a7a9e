//! Allocation of large buffers, which ends a call with an error if it fails.
//!
//! Buffers as large as the input or the output are allocated by the functions of this module. If an allocation fails,
//! the call ends with an error of kind `Memory`; the stack is unwound as in a cancelled call (`cancel`). Other
//! allocations fall back on a reserve (`reserve`).
//!
//! Large buffers request huge pages. A fresh page costs a page fault, which takes locks that all threads share, and
//! random access costs a translation per page. The request is made only on Linux, where many machines use huge pages
//! only on request. Cost: that of any allocation; at most two regions below 2 MiB at the ends of a buffer remain
//! small pages.
#![allow(unsafe_code)] // Measured in benches/LOG.md: fresh large pages take a third of the time of small ones.

#[cfg(any(target_os = "linux", test))]
use std::ops::Range;

use bytemuck::Zeroable;

pub use crate::reserve::{Held, ReserveAllocator, hold};

/// The size of a huge page in bytes.
#[cfg(any(target_os = "linux", test))]
const PAGE: usize = 1 << 21;

/// Returns `n` zeros; fresh zeroed pages are not written. If the allocation fails, the call ends ([`out_of_memory`]).
pub fn zeroed<T: Zeroable>(n: usize) -> Vec<T> {
    try_zeroed(n).unwrap_or_else(|| out_of_memory::<T>(n))
}

/// Resizes a buffer to `n` values of arbitrary contents. Keeps its memory if that has room for `n + spare / 2`
/// values; otherwise allocates room for `n + spare`.
pub(crate) fn renew<T: Zeroable>(values: &mut Vec<T>, n: usize, spare: usize) {
    if values.capacity() < n + spare / 2 {
        // Free the old buffer before allocating the new one.
        *values = Vec::new();
        *values = zeroed(n + spare);
    }
    values.resize_with(n, T::zeroed);
}

/// Returns `n` zeros; `None` if the allocation fails.
pub fn try_zeroed<T: Zeroable>(n: usize) -> Option<Vec<T>> {
    let all: Vec<T> = bytemuck::allocation::try_zeroed_vec(n).ok()?;
    advise(all.as_ptr().cast(), n * size_of::<T>());
    Some(all)
}

/// Returns an empty vector with capacity for `n` values. If the allocation fails, the call ends with an error of kind
/// `Memory`.
pub fn with_capacity<T>(n: usize) -> Vec<T> {
    try_with_capacity(n).unwrap_or_else(|| out_of_memory::<T>(n))
}

/// Returns an empty vector with capacity for `n` values; `None` if the allocation fails.
pub fn try_with_capacity<T>(n: usize) -> Option<Vec<T>> {
    let mut all: Vec<T> = Vec::new();
    all.try_reserve_exact(n).ok()?;
    advise(all.as_ptr().cast(), n * size_of::<T>());
    Some(all)
}

/// Returns `n` copies of `value`.
pub(crate) fn filled<T: Clone>(n: usize, value: T) -> Vec<T> {
    let mut all = with_capacity(n);
    all.resize(n, value);
    all
}

/// Returns a copy of `values`.
pub fn copy_of<T: Clone>(values: &[T]) -> Vec<T> {
    let mut all = with_capacity(values.len());
    all.extend_from_slice(values);
    all
}

/// Collects the items of an iterator. Allocates for the lower bound of its size hint; grows by doubling beyond that.
pub fn collected<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let items = items.into_iter();
    let mut all = with_capacity(items.size_hint().0);
    append(&mut all, items);
    all
}

/// Appends the items of an iterator.
#[inline]
pub fn append<T>(all: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    let items = items.into_iter();
    let (least, most) = items.size_hint();
    grow(all, least);
    if most == Some(least) {
        return all.extend(items);
    }
    for item in items {
        if all.len() == all.capacity() {
            grow(all, 1);
        }
        all.push(item);
    }
}

/// Reserves capacity for `more` values, so that pushing them allocates nothing. The capacity is at least doubled if
/// it grows.
#[inline]
pub fn grow<T>(all: &mut Vec<T>, more: usize) {
    if all.capacity() - all.len() < more && all.try_reserve(more).is_err() {
        out_of_memory::<T>(all.len() + more);
    }
}

/// Ends the call that this thread works for with an error of kind `Memory` (`cancel::guarded`). Outside of such a
/// call it aborts the process, like a failed allocation of the standard library.
#[cold]
pub fn out_of_memory<T>(n: usize) -> ! {
    crate::cancel::fail_for_memory(n as u128 * size_of::<T>() as u128);
    std::alloc::handle_alloc_error(std::alloc::Layout::array::<T>(n).unwrap_or(std::alloc::Layout::new::<T>()))
}

/// Requests huge pages where they lie completely within a buffer.
#[cfg(target_os = "linux")]
fn advise(start: *const u8, bytes: usize) {
    if let Some(pages) = large_pages(start.addr(), bytes) {
        let start = start.with_addr(pages.start).cast_mut().cast();
        // SAFETY: `pages` lies within the buffer, see `large_pages`. The advice does not change the contents, and may
        // fail without effect.
        unsafe { libc::madvise(start, pages.len(), libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _bytes: usize) {}

/// Returns the addresses of the huge pages within a buffer; `None` for buffers that are too small.
#[cfg(any(target_os = "linux", test))]
fn large_pages(start: usize, bytes: usize) -> Option<Range<usize>> {
    (bytes >= 2 * PAGE).then(|| start.next_multiple_of(PAGE)..(start + bytes) / PAGE * PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_lie_within() {
        for (start, bytes) in [(0, 0), (16, PAGE), (16, 2 * PAGE - 1)] {
            assert_eq!(large_pages(start, bytes), None);
        }
        assert_eq!(large_pages(PAGE, 2 * PAGE), Some(PAGE..3 * PAGE));
        assert_eq!(large_pages(PAGE + 16, 2 * PAGE), Some(2 * PAGE..3 * PAGE));
        assert_eq!(large_pages(PAGE - 16, 3 * PAGE + 8), Some(PAGE..3 * PAGE));
        assert_eq!(large_pages(PAGE - 16, 3 * PAGE + 16), Some(PAGE..4 * PAGE));
    }

    #[test]
    fn buffers_of_all_sizes() {
        for n in [0, 1, PAGE / 4, PAGE / 2 - 1, PAGE / 2, PAGE, 3 * PAGE + 1] {
            let mut all: Vec<u32> = zeroed(n);
            assert!(all.len() == n && all.iter().all(|&value| value == 0));
            all.fill(7);
            assert_eq!(try_zeroed::<u32>(n).unwrap(), vec![0; n]);
            assert!(with_capacity::<u32>(n).capacity() >= n);
        }
        assert!(try_zeroed::<u64>(1 << 60).is_none());
        assert_eq!(filled(3, 7), [7; 3]);
        assert_eq!(copy_of(&[1, 2]), [1, 2]);
        assert!(collected((0..1000).filter(|i| i % 3 == 0)).into_iter().eq((0..1000).step_by(3)));
    }

    #[test]
    fn a_buffer_without_memory_is_an_error_of_its_call() {
        type Buffer = fn() -> Vec<u64>;
        let buffers: [Buffer; 3] = [|| zeroed(1 << 60), || with_capacity(1 << 60), || filled(usize::MAX, 0)];
        for buffer in buffers {
            let error = crate::cancel::guarded(|| Ok(buffer())).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Memory);
            let cancel = crate::Cancel::new();
            assert_eq!(cancel.run(|| Ok(buffer())).unwrap_err().kind(), crate::ErrorKind::Memory);
            // The flag can be reused, and no thread is blocked.
            assert_eq!(cancel.run(|| Ok(1)).unwrap(), 1);
            let both = crate::cancel::guarded(|| {
                crate::parallel::for_tasks(1000, 1, &|range| assert!(range.start != 500 || buffer().is_empty()));
                Ok(())
            });
            assert_eq!(both.unwrap_err().kind(), crate::ErrorKind::Memory);
        }
    }
}
