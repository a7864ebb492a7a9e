//! A global allocator with an emergency reserve of address space.
//!
//! Rust's collections abort the process if an allocation fails. Large buffers of this crate are allocated so that a
//! failure ends the call with an error (`memory`). All other allocations, mostly small ones, are covered by the
//! reserve: a mapping without pages that [`hold`] keeps while calls run. If the system refuses an allocation, the
//! allocator frees the reserve and tries again, so that the allocation succeeds. From then on the process is short of
//! memory, and every call ends when it next checks its flags (`cancel::check`).
//! Cost: two system calls per `hold`; none per allocation.
#![allow(unsafe_code)] // A global allocator, and calls of the system that map memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use crate::error::{Error, Result};

/// The system's allocator, with a reserve for when memory runs out.
///
/// Install it in programs whose calls should fail with [`ErrorKind::Memory`](crate::ErrorKind::Memory) instead of
/// aborting the process, for example under `ulimit -v`. Call [`hold`] around the calls. The Python package, the C
/// library and the command line program do so.
///
/// ```
/// use ropewalk::{Bvh, memory};
///
/// #[global_allocator]
/// static ALLOCATOR: memory::ReserveAllocator = memory::ReserveAllocator;
///
/// let _reserve = memory::hold()?;
/// let bvh = Bvh::build(&[[0.0f32, 1.0]])?;
/// assert_eq!(bvh.len(), 1);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ReserveAllocator;

/// The size in bytes of the unit in which [`RESERVE`] counts.
const UNIT: usize = 1 << 16;
/// The minimum size of the reserve. An eighth of the memory that the process uses is added, up to [`MOST`].
const LEAST: usize = 1 << 25;
/// The maximum size of the reserve.
const MOST: usize = 1 << 30;
/// The size of the reserve while no call runs.
const IDLE: usize = 1 << 20;
/// The number of bits that store the size of the reserve.
const SIZE_BITS: u32 = 20;

/// The reserve: its address and its size in units, or 0. A single word, so that one thread takes both.
static RESERVE: AtomicU64 = AtomicU64::new(0);
/// The number of calls that hold the reserve.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);
/// `true` if the reserve was used by a call that still runs.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Returns `true` if the process has used its reserve, so that calls must end.
#[inline]
pub(crate) fn is_out_of_memory() -> bool {
    IS_SHORT.load(Relaxed)
}

/// A guard that keeps the reserve until it is dropped.
#[derive(Debug)]
#[must_use = "the reserve shrinks when this is dropped"]
pub struct Held(());

/// Reserves address space for calls of this crate: 32 MiB plus an eighth of the memory that the process uses, at most
/// 1 GiB.
///
/// The reserve uses no memory. It has an effect only on Linux, and with [`ReserveAllocator`] as the global allocator.
///
/// # Errors
/// Fails with [`ErrorKind::Memory`](crate::ErrorKind::Memory) if the system refuses the mapping.
pub fn hold() -> Result<Held> {
    let size = (LEAST + resident() / 8).min(MOST).next_multiple_of(UNIT);
    HOLDERS.fetch_add(1, SeqCst);
    let held = Held(());
    let before = size_of_reserve();
    if before < size {
        release();
        if !reserve(size) {
            reserve(before);
            return Err(Error::memory(1, "reserve", size as u128));
        }
    }
    Ok(held)
}

impl Drop for Held {
    fn drop(&mut self) {
        if HOLDERS.fetch_sub(1, SeqCst) == 1 {
            IS_SHORT.store(false, SeqCst);
            release();
            reserve(IDLE);
        }
    }
}

/// Returns the allocation of `attempt`, of `size` bytes. If it fails, frees the reserve and tries again.
#[inline]
fn allocate(size: usize, attempt: impl Fn() -> *mut u8) -> *mut u8 {
    let start = attempt();
    if start.is_null() { with_reserve(size, &attempt) } else { start }
}

#[cold]
fn with_reserve(size: usize, attempt: &dyn Fn() -> *mut u8) -> *mut u8 {
    // Larger allocations would fail anyway. If the process is already short of memory, another thread may be freeing
    // the reserve.
    if size > size_of_reserve() && !is_out_of_memory() {
        return std::ptr::null_mut();
    }
    if release() && HOLDERS.load(SeqCst) > 0 {
        IS_SHORT.store(true, SeqCst);
    }
    for _ in 0..100 {
        let start = attempt();
        if !start.is_null() {
            return start;
        }
        std::thread::yield_now();
    }
    std::ptr::null_mut()
}

// SAFETY: each method forwards the caller's arguments to `System`, once or several times. All calls but the last
// return null, so they allocate, move and free nothing. No method unwinds.
unsafe impl GlobalAlloc for ReserveAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout.size() > 0`, as the contract of `alloc` demands of the caller.
        allocate(layout.size(), || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `layout.size() > 0`, as the contract of `alloc_zeroed` demands of the caller.
        allocate(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: `start` was allocated with `layout` by this allocator, which forwards to `System`.
        unsafe { System.dealloc(start, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `start` was allocated with `layout` by `System`, and remains allocated if an attempt fails. The
        // contract of `realloc` demands a valid `size` of the caller.
        allocate(size, || unsafe { System.realloc(start, layout, size) })
    }
}

/// Returns the size of the reserve in bytes.
fn size_of_reserve() -> usize {
    (RESERVE.load(SeqCst) & ((1 << SIZE_BITS) - 1)) as usize * UNIT
}

/// Creates a reserve of `size` bytes unless one exists. Returns `false` if the system refuses it.
#[cfg(target_os = "linux")]
fn reserve(size: usize) -> bool {
    if size == 0 {
        return true;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: creates a new mapping at an address chosen by the system, so no existing memory is affected.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return false;
    }
    let packed = ((start.expose_provenance() >> 12) as u64) << SIZE_BITS | (size / UNIT) as u64;
    if RESERVE.compare_exchange(0, packed, SeqCst, SeqCst).is_err() {
        // SAFETY: `start` and `size` are those of the mapping above, whose address has not been published.
        unsafe { libc::munmap(start, size) };
    }
    true
}

/// Frees the reserve. Returns `false` if there is no reserve.
#[cfg(target_os = "linux")]
fn release() -> bool {
    let packed = RESERVE.swap(0, SeqCst);
    if packed == 0 {
        return false;
    }
    let start = std::ptr::with_exposed_provenance_mut(((packed >> SIZE_BITS) as usize) << 12);
    // SAFETY: the address and the size of a mapping of `reserve`, which only this thread took out of `RESERVE`, by
    // the swap above. The mapping is `PROT_NONE`, so no reference points into it.
    unsafe { libc::munmap(start, (packed & ((1 << SIZE_BITS) - 1)) as usize * UNIT) };
    true
}

#[cfg(not(target_os = "linux"))]
fn reserve(_size: usize) -> bool {
    true
}

#[cfg(not(target_os = "linux"))]
fn release() -> bool {
    false
}

/// Returns the resident memory of the process in bytes, 0 if it is unknown. Allocates nothing.
fn resident() -> usize {
    use std::io::Read;

    let mut text = [0; 128];
    let read = std::fs::File::open("/proc/self/statm").and_then(|mut file| file.read(&mut text));
    let text = std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or("");
    let pages: Option<usize> = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0).saturating_mul(page_size())
}

/// Returns the size in bytes of a page of memory. It depends on the machine: 4096 on x86, up to 65536 elsewhere.
#[cfg(target_os = "linux")]
fn page_size() -> usize {
    // SAFETY: `sysconf` takes a number and reads no memory of this process.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Other systems have no `/proc/self/statm`.
#[cfg(not(target_os = "linux"))]
fn page_size() -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single test, because the reserve belongs to the process.
    #[test]
    fn an_allocation_that_fails_is_given_the_reserve() {
        let held = hold().unwrap();
        assert!(size_of_reserve() >= LEAST || cfg!(not(target_os = "linux")));
        assert!(page_size().is_power_of_two() || cfg!(not(target_os = "linux")));
        let memory = |_| std::ptr::dangling_mut();
        // The allocation exceeds the reserve, which is kept.
        assert!(allocate(MOST + 1, std::ptr::null_mut).is_null());
        assert!(!is_out_of_memory());
        // The second attempt succeeds.
        let attempts = AtomicUsize::new(0);
        let second = || if attempts.fetch_add(1, Relaxed) == 0 { std::ptr::null_mut() } else { memory(()) };
        assert_eq!(allocate(1000, second).is_null(), cfg!(not(target_os = "linux")));
        assert_eq!((is_out_of_memory(), size_of_reserve()), (cfg!(target_os = "linux"), 0));
        drop(held);
        assert!(!is_out_of_memory());
        assert_eq!(size_of_reserve(), if cfg!(target_os = "linux") { IDLE } else { 0 });
    }
}
