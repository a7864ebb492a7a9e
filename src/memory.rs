//! Memory for large buffers.
//!
//! In: how many values. Out: a buffer, whose pages are asked to be large ones: each fresh page costs a trip into the system, whose locks all
//! threads share, and random access looks up the address of each page. Cost: as for any allocation; at most two pages of 2 MiB at its ends
//! remain small ones. Only Linux is asked, where many machines give large pages on request alone.
#![allow(unsafe_code)] // Measured in benches/README.md: fresh large pages take a third of the time of small ones.

#[cfg(any(target_os = "linux", test))]
use std::ops::Range;

use bytemuck::Zeroable;

/// Bytes of a large page.
#[cfg(any(target_os = "linux", test))]
const PAGE: usize = 1 << 21;

/// `n` zeros. Fresh ones come from the system without being written.
pub(crate) fn zeroed<T: Zeroable>(n: usize) -> Vec<T> {
    let all: Vec<T> = bytemuck::zeroed_vec(n);
    advise(all.as_ptr().cast(), n * size_of::<T>());
    all
}

/// Makes a buffer one of `n` values, of which those that are there are any, in the memory that it has if that is enough; `spare` is room
/// for more, of which at least half must be there.
pub(crate) fn renew<T: Zeroable>(values: &mut Vec<T>, n: usize, spare: usize) {
    if values.capacity() < n + spare / 2 {
        // Given back first.
        *values = Vec::new();
        *values = zeroed(n + spare);
    }
    values.resize_with(n, T::zeroed);
}

/// `n` zeros, if there is memory for them.
pub(crate) fn try_zeroed<T: Zeroable>(n: usize) -> Option<Vec<T>> {
    let all: Vec<T> = bytemuck::allocation::try_zeroed_vec(n).ok()?;
    advise(all.as_ptr().cast(), n * size_of::<T>());
    Some(all)
}

/// Room for `n` values.
pub(crate) fn with_capacity<T>(n: usize) -> Vec<T> {
    let all: Vec<T> = Vec::with_capacity(n);
    advise(all.as_ptr().cast(), n * size_of::<T>());
    all
}

/// Room for `n` values, if there is memory for them.
#[cfg(feature = "io")]
pub(crate) fn try_with_capacity<T>(n: usize) -> Option<Vec<T>> {
    let mut all: Vec<T> = Vec::new();
    all.try_reserve_exact(n).ok()?;
    advise(all.as_ptr().cast(), n * size_of::<T>());
    Some(all)
}

/// Asks for large pages where they lie wholly within a buffer.
#[cfg(target_os = "linux")]
fn advise(start: *const u8, bytes: usize) {
    if let Some(pages) = large_pages(start.addr(), bytes) {
        let start = start.with_addr(pages.start).cast_mut().cast();
        // SAFETY: the pages lie within the buffer. The advice changes nothing of what is in them, and where it is not taken nothing is lost.
        unsafe { libc::madvise(start, pages.len(), libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _bytes: usize) {}

/// The addresses of the large pages within a buffer, if there are any and they are worth asking for.
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
    }
}
