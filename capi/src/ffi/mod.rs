//! The functions of `ropewalk.h`: what is not Rust's to check.
//!
//! That a pointer is null is an error. That it leads to as much memory as the header says, which nothing writes to during a call, is asked
//! of the caller. No panic leaves a function: it becomes the status `ROPEWALK_BUG`.

#![allow(unsafe_code)] // Pointers of C are read here, and nowhere else.

mod memory;
mod ranks;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ropewalk::distributed::{Alone, Communicator};
use ropewalk::{Cancel, ErrorKind, Result};
use ropewalk_io::Snapshot;

use self::ranks::Ranks;
use crate::find::{self, refused};
use crate::types::{self, DbscanOptions, FofOptions, Found, Halo, Particles};

thread_local! {
    /// Why the last call failed.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The status of what was done; its error is kept for `ropewalk_error_message`.
pub(crate) fn status(work: impl FnOnce() -> Result<()>) -> c_int {
    let (status, sentence) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return types::OK,
        Ok(Err(error)) => {
            let status = match error.kind() {
                ErrorKind::Memory => types::MEMORY,
                ErrorKind::Rank => types::COMMUNICATION,
                ErrorKind::Internal => types::BUG,
                _ => types::REFUSED,
            };
            (status, error.to_string())
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it has no message");
            (types::BUG, format!("a bug of ropewalk: {text}"))
        }
    };
    let message = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
    MESSAGE.with(|kept| kept.replace(message));
    status
}

/// A calculation of all ranks, with what each gives or why it cannot.
type Find<O> = fn(&dyn Communicator, Result<(Snapshot, O)>) -> Result<Found>;

/// Calls `find` with the ranks, the particles and the options, and hands out what it finds.
///
/// # Safety
/// As the header says of `ropewalk_fof`.
unsafe fn call<O: Copy>(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const O,
    result: *mut *mut Found,
    read: unsafe fn(&Particles) -> Result<Snapshot>,
    find: Find<O>,
) -> c_int {
    // A rank that ends alone would leave the others waiting: without memory the process ends.
    let is_alone = ranks.is_null();
    let find_all = || {
        // SAFETY: not null, it leads to a pointer that the caller lets be written.
        let result = unsafe { result.as_mut() };
        // SAFETY: not null, it leads to a communicator.
        let ranks = unsafe { ranks.as_ref() }.map(Ranks::new).transpose()?;
        let ranks: &dyn Communicator = ranks.as_ref().map_or(&Alone, |ranks| ranks);
        let own = match &result {
            None => Err(refused("result is NULL")),
            // SAFETY: not null, they lead to particles and options; what the particles' pointers lead to is as the header says.
            Some(_) => match unsafe { (particles.as_ref(), options.as_ref()) } {
                (None, _) => Err(refused("particles is NULL")),
                (_, None) => Err(refused("options is NULL")),
                // SAFETY: as above; the snapshot is dropped before this function returns.
                (Some(particles), Some(options)) => unsafe { read(particles) }.map(|part| (part, *options)),
            },
        };
        let Some(result) = result else { return find(ranks, own).map(drop) };
        *result = ptr::null_mut();
        *result = Box::into_raw(Box::new(find(ranks, own)?));
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
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_fof(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const FofOptions,
    result: *mut *mut Found,
) -> c_int {
    // SAFETY: as the header asks of the caller.
    unsafe { call(ranks, particles, options, result, memory::snapshot, find::fof) }
}

/// See `ropewalk.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_dbscan(
    ranks: *const types::Communicator,
    particles: *const Particles,
    options: *const DbscanOptions,
    result: *mut *mut Found,
) -> c_int {
    // SAFETY: as the header asks of the caller.
    unsafe { call(ranks, particles, options, result, memory::positions, find::dbscan) }
}

/// Functions that tell a part of a result.
macro_rules! getters {
    ($($name:ident -> $type:ty, $missing:expr, |$found:ident| $value:expr;)*) => {$(
        /// See `ropewalk.h`.
        ///
        /// # Safety
        /// As the header says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(result: *const Found) -> $type {
            // SAFETY: not null, it is a result that has not been freed.
            unsafe { result.as_ref() }.map_or($missing, |$found| $value)
        }
    )*};
}

getters! {
    ropewalk_result_count -> u64, 0, |found| found.labels.len() as u64;
    ropewalk_result_labels -> *const i64, ptr::null(), |found| found.labels.as_ptr();
    ropewalk_result_core -> *const u8, ptr::null(), |found| found.core.as_ref().map_or(ptr::null(), |core| core.as_ptr());
    ropewalk_result_clusters -> u64, 0, |found| found.clusters;
    ropewalk_result_halos -> u64, 0, |found| found.halos;
    ropewalk_result_rows -> *const Halo, ptr::null(), |found| found.rows.as_ptr();
    ropewalk_result_row_count -> u64, 0, |found| found.rows.len() as u64;
}

/// See `ropewalk.h`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_result_free(result: *mut Found) {
    if !result.is_null() {
        // SAFETY: it is from `call`, which made it of a box, and has not been freed.
        drop(unsafe { Box::from_raw(result) });
    }
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
            return Err(refused("threads is 0; it must be at least 1"));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize);
        pool.build_global().map_err(|error| refused(format!("{threads} threads: {error}")))
    })
}

/// See `ropewalk.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_version() -> *const c_char {
    VERSION.as_ptr()
}
