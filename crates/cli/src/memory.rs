//! How much memory the program uses, and used at most.
//!
//! The library's allocator, which has a reserve for when memory runs out, with two counters. What asks for zeros gets them from the system, which gives fresh ones without writing them:
//! each thread then touches its own part first.
#![allow(unsafe_code)] // An allocator is unsafe to write; this one hands everything on.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ropewalk::memory::ReserveAllocator;

/// Counts the bytes in use, for the table of phases.
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

    /// Bytes in use.
    pub fn current(&self) -> usize {
        self.current.load(Relaxed)
    }

    /// The most bytes in use at a time since the last reset.
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// Forgets what was in use and is no more.
    pub fn reset_peak(&self) {
        self.peak.store(self.current(), Relaxed);
    }

    fn add(&self, bytes: usize) {
        let current = self.current.fetch_add(bytes, Relaxed) + bytes;
        // Most often it is no more than before: look before writing.
        if current > self.peak.load(Relaxed) {
            self.peak.fetch_max(current, Relaxed);
        }
    }

    fn subtract(&self, bytes: usize) {
        self.current.fetch_sub(bytes, Relaxed);
    }
}

// SAFETY: each call is the library allocator's own, with the caller's arguments.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let start = unsafe { ReserveAllocator.alloc(layout) };
        if !start.is_null() {
            self.add(layout.size());
        }
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let start = unsafe { ReserveAllocator.alloc_zeroed(layout) };
        if !start.is_null() {
            self.add(layout.size());
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { ReserveAllocator.dealloc(start, layout) };
        self.subtract(layout.size());
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let moved = unsafe { ReserveAllocator.realloc(start, layout, size) };
        if !moved.is_null() {
            // What grows is not in two places: the system moves pages, not bytes, where there are many.
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
        // SAFETY: the layout has a size, and what is given back is what was taken.
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
