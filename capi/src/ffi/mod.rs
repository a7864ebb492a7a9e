//! The functions of the C headers, with their unsafe code.
//!
//! A null pointer is an error where the header does not allow it. Callers guarantee that other pointers lead to the
//! memory that the header describes, and that nothing writes to it during a call. A panic does not leave a function,
//! but becomes the status `ROPEWALK_BUG`.

#![allow(unsafe_code)] // This module alone reads pointers of C.

pub mod clusters;
mod cuda;
mod memory;
pub mod mesh;
mod ranks;
pub mod spheres;
pub mod tree;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ropewalk::distributed::{Alone, Communicator};
use ropewalk::{Cancel, ErrorKind, Result};
use ropewalk_io::Snapshot;

use self::ranks::Ranks;
use crate::find::{self, invalid};
use crate::types::{self, DbscanOptions, FofOptions, Halo, HopOptions, Particles, RunResult};

thread_local! {
    /// The error message of the last call that failed.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Runs `work` and returns its status. Keeps the message of an error for `ropewalk_error_message`.
pub(crate) fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    let (status, sentence) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return types::OK,
        Ok(Err(error)) => {
            let status = match error.kind() {
                ErrorKind::Memory => types::MEMORY,
                ErrorKind::Rank => types::COMMUNICATION,
                ErrorKind::Internal => types::BUG,
                _ => types::INVALID,
            };
            (status, error.to_string())
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("panic without a message");
            (types::BUG, format!("internal error: {text}"))
        }
    };
    let message = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
    MESSAGE.with(|kept| kept.replace(message));
    status
}

/// Runs a call of this process alone, which ends with an error if memory runs out.
fn alone(work: impl FnOnce() -> Result<()>) -> c_int {
    status(|| {
        let _reserve = ropewalk::memory::hold()?;
        Cancel::new().run(work)
    })
}

/// Returns the value that a pointer of an argument leads to.
///
/// # Safety
/// `argument` is null, or leads to a value that nothing writes to during `'a`.
unsafe fn required<'a, T>(name: &str, argument: *const T) -> Result<&'a T> {
    // SAFETY: the contract of this function.
    unsafe { argument.as_ref() }.ok_or_else(|| invalid(format!("{name} is NULL")))
}

/// Stores the result of `work` in `*place`, or NULL if it fails. The caller frees it by [`free`].
///
/// # Safety
/// `place` is null, or leads to a pointer that may be written, and may be uninitialized.
unsafe fn store<T>(name: &str, place: *mut *mut T, work: impl FnOnce() -> Result<T>) -> Result<()> {
    if place.is_null() {
        return Err(invalid(format!("{name} is NULL")));
    }
    // SAFETY: `place` is not null, so by the contract it may be written.
    unsafe { place.write(ptr::null_mut()) };
    let found = Box::new(work()?);
    // SAFETY: as for the first write.
    unsafe { place.write(Box::into_raw(found)) };
    Ok(())
}

/// Frees a result of [`store`] or [`call`]. Does nothing for null.
///
/// # Safety
/// `stored` is null, or a pointer that `store` or `call` has stored and that has not been freed.
unsafe fn free<T>(stored: *mut T) {
    if !stored.is_null() {
        // SAFETY: `stored` is not null, so by the contract it comes from `Box::into_raw`, and has not been freed.
        drop(unsafe { Box::from_raw(stored) });
    }
}

/// A calculation on all ranks, given the particles and options of this rank, or the error of reading them.
type Find<O> = fn(&dyn Communicator, Result<(Snapshot, O)>) -> Result<RunResult>;

/// Calls `find` with the ranks, the particles and the options, and stores its result in `*result`.
///
/// # Safety
/// Each pointer is null or valid as `ropewalk.h` requires for `ropewalk_fof`; this includes the pointers in `*ranks`
/// and `*particles`. `read` requires no more.
unsafe fn call<O: Copy>(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const O,
    result: *mut *mut RunResult,
    read: unsafe fn(&Particles) -> Result<Snapshot>,
    find: Find<O>,
) -> c_int {
    // With a communicator a rank must not return alone when memory runs out, because the other ranks would wait for
    // it. So the process ends.
    let is_alone = ranks.is_null();
    let find_all = || {
        // SAFETY: by the contract, `ranks` is null or leads to a communicator.
        let ranks = unsafe { ranks.as_ref() }.map(Ranks::new).transpose()?;
        let ranks: &dyn Communicator = ranks.as_ref().map_or(&Alone, |ranks| ranks);
        let own = match result.is_null() {
            true => Err(invalid("result is NULL")),
            // SAFETY: by the contract, both pointers are null or lead to particles and options.
            false => match unsafe { (particles.as_ref(), options.as_ref()) } {
                (None, _) => Err(invalid("particles is NULL")),
                (_, None) => Err(invalid("options is NULL")),
                // SAFETY: by the contract, the pointers in `particles` are valid as the header says. `find` consumes
                // the snapshot, so that it is dropped before this function returns.
                (Some(particles), Some(options)) => unsafe { read(particles) }.map(|part| (part, *options)),
            },
        };
        if result.is_null() {
            return find(ranks, own).map(drop);
        }
        // SAFETY: `result` is not null, so by the contract it leads to a pointer that this function may write. That
        // pointer may be uninitialized, so no reference to it is made.
        unsafe { result.write(ptr::null_mut()) };
        let found = Box::new(find(ranks, own)?);
        // SAFETY: as for the first write.
        unsafe { result.write(Box::into_raw(found)) };
        Ok(())
    };
    status(|| {
        let _reserve = is_alone.then(ropewalk::memory::hold).transpose()?;
        if is_alone { Cancel::new().run(find_all) } else { find_all() }
    })
}

/// See `ropewalk.h`.
///
/// # Safety
/// Pointers are null or valid as `ropewalk.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_fof(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const FofOptions,
    result: *mut *mut RunResult,
) -> c_int {
    // SAFETY: the contract of this function is that of `call`.
    unsafe { call(ranks, particles, options, result, memory::snapshot, find::fof) }
}

/// See `ropewalk.h`.
///
/// # Safety
/// Pointers are null or valid as `ropewalk.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_dbscan(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const DbscanOptions,
    result: *mut *mut RunResult,
) -> c_int {
    // SAFETY: the contract of this function is that of `call`.
    unsafe { call(ranks, particles, options, result, memory::positions, find::dbscan) }
}

/// See `ropewalk.h`.
///
/// # Safety
/// Pointers are null or valid as `ropewalk.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_hop(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const HopOptions,
    result: *mut *mut RunResult,
) -> c_int {
    // SAFETY: the contract of this function is that of `call`.
    unsafe { call(ranks, particles, options, result, memory::snapshot, find::hop) }
}

/// Defines functions that return a part of a result of the given type.
macro_rules! getters {
    ($of:ty: $($name:ident -> $type:ty, $missing:expr, |$found:ident| $value:expr;)*) => {$(
        /// See the header.
        ///
        /// # Safety
        /// `result` is null, or a result of this library that has not been freed.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(result: *const $of) -> $type {
            // SAFETY: by the contract, `result` is null or leads to a live result.
            unsafe { result.as_ref() }.map_or($missing, |$found| $value)
        }
    )*};
}
use getters;

/// Returns the address of the values, null if there are none.
fn address<T>(values: Option<&Vec<T>>) -> *const T {
    values.map_or(ptr::null(), |values| values.as_ptr())
}

getters! { RunResult:
    ropewalk_result_count -> u64, 0, |found| found.labels.len() as u64;
    ropewalk_result_labels -> *const i64, ptr::null(), |found| found.labels.as_ptr();
    ropewalk_result_core -> *const u8, ptr::null(), |found| address(found.core.as_ref());
    ropewalk_result_probabilities -> *const f64, ptr::null(), |found| address(found.probabilities.as_ref());
    ropewalk_result_outlier_scores -> *const f64, ptr::null(), |found| address(found.outlier_scores.as_ref());
    ropewalk_result_density -> *const f64, ptr::null(), |found| address(found.density.as_ref());
    ropewalk_result_clusters -> u64, 0, |found| found.clusters;
    ropewalk_result_halos -> u64, 0, |found| found.halos;
    ropewalk_result_rows -> *const Halo, ptr::null(), |found| found.rows.as_ptr();
    ropewalk_result_row_count -> u64, 0, |found| found.rows.len() as u64;
}

/// See `ropewalk.h`.
///
/// # Safety
/// `result` is null, or a result of this library that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_result_free(result: *mut RunResult) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(result) }
}

/// See `ropewalk.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_error_message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// See `ropewalk.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_set_threads(threads: u32) -> c_int {
    status(|| {
        if threads == 0 {
            return Err(invalid("threads is 0; it must be at least 1"));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize);
        pool.build_global().map_err(|error| invalid(format!("{threads} threads: {error}")))
    })
}

/// See `ropewalk.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_version() -> *const c_char {
    VERSION.as_ptr()
}

/// See `ropewalk.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_abi_version() -> u32 {
    types::ABI_VERSION
}
