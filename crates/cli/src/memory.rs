//! The current and peak memory of the program.
//!
//! The allocator is that of the library, which has a reserve for running out of memory, with two counters.
//! `alloc_zeroed` is passed on, so that the system can provide fresh zero pages without writing them. Each thread is
//! then the first to touch its own part.
#![allow(unsafe_code)] // A global allocator is unsafe to implement; this one passes all calls on.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ropewalk::memory::ReserveAllocator;

/// Counts the allocated bytes for the table of phases.
#[global_allocator]
pub static MEMORY: Counted = Counted::new();

/// The allocator of the program.
pub struct Counted {
    current: AtomicUsize,
    peak: AtomicUsize,
}

impl Counted {
    pub const fn new() -> Self {
        Self { current: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }

    /// The number of allocated bytes.
    pub fn current(&self) -> usize {
        self.current.load(Relaxed)
    }

    /// The maximum number of bytes allocated at a time since the last reset.
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// Sets the peak to the current number of bytes.
    pub fn reset_peak(&self) {
        self.peak.store(self.current(), Relaxed);
    }

    fn add(&self, bytes: usize) {
        let current = self.current.fetch_add(bytes, Relaxed) + bytes;
        // Read before writing: the peak rarely changes.
        if current > self.peak.load(Relaxed) {
            self.peak.fetch_max(current, Relaxed);
        }
    }

    fn subtract(&self, bytes: usize) {
        self.current.fetch_sub(bytes, Relaxed);
    }
}

// SAFETY: each method passes its arguments unchanged to `ReserveAllocator`, which is a valid `GlobalAlloc`.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout.size() > 0`, required of the caller by `GlobalAlloc::alloc`.
        let start = unsafe { ReserveAllocator.alloc(layout) };
        if !start.is_null() {
            self.add(layout.size());
        }
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout.size() > 0`, required of the caller by `GlobalAlloc::alloc_zeroed`.
        let start = unsafe { ReserveAllocator.alloc_zeroed(layout) };
        if !start.is_null() {
            self.add(layout.size());
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: `start` was allocated with `layout` by this allocator, required of the caller by
        // `GlobalAlloc::dealloc`, and so by `ReserveAllocator`.
        unsafe { ReserveAllocator.dealloc(start, layout) };
        self.subtract(layout.size());
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `start` was allocated with `layout` by this allocator, and so by `ReserveAllocator`. `size > 0`,
        // and rounded up to the alignment it is at most `isize::MAX`. Both are required of the caller by
        // `GlobalAlloc::realloc`.
        let moved = unsafe { ReserveAllocator.realloc(start, layout, size) };
        if !moved.is_null() {
            // A block that grows is not counted twice: for large blocks the system moves pages instead of copying
            // bytes.
            self.add(size.saturating_sub(layout.size()));
            self.subtract(layout.size().saturating_sub(size));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_counted() {
        let counted = Counted::new();
        let layout = Layout::from_size_align(1000, 8).unwrap();
        // SAFETY: the layouts have sizes above 0. Each block is read within its size, and freed once with its current
        // layout.
        unsafe {
            let zeros = counted.alloc_zeroed(layout);
            assert!(std::slice::from_raw_parts(zeros, 1000).iter().all(|&byte| byte == 0));
            let other = counted.alloc(layout);
            assert_eq!((counted.current(), counted.peak()), (2000, 2000));
            let larger = counted.realloc(other, layout, 3000);
            assert_eq!(counted.current(), 4000);
            counted.dealloc(larger, Layout::from_size_align(3000, 8).unwrap());
            assert_eq!((counted.current(), counted.peak()), (1000, 4000));
            counted.reset_peak();
            assert_eq!(counted.peak(), 1000);
            counted.dealloc(zeros, layout);
        }
        assert_eq!((counted.current(), counted.peak()), (0, 1000));
    }
}
