//! Thread pools: one for each running call, kept for later calls.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The number of threads set by [`set_threads`]; 0 means all processors.
static DEFAULT: AtomicUsize = AtomicUsize::new(0);

/// The maximum number of idle pools that are kept.
const MOST_IDLE: usize = 4;

/// The maximum number of threads that `n_jobs` accepts; larger values are mistakes.
const MOST_THREADS: usize = 4096;

/// The idle pools of one process. A forked process has no threads of its parent.
struct Idle {
    process: u32,
    pools: Vec<ThreadPool>,
}

static IDLE: Mutex<Idle> = Mutex::new(Idle { process: 0, pools: vec![] });

/// Calls `change` with the idle pools of this process, under a lock that is held only briefly. With the GIL, which
/// `fork` holds, no fork finds it locked. Without the GIL, a fork may find it locked.
fn idle<T>(_py: Python<'_>, change: impl FnOnce(&mut Vec<ThreadPool>) -> T) -> T {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if idle.process != process {
        idle.process = process;
        // The pools' threads do not exist in this process, and dropping a pool would wait for its threads.
        std::mem::forget(std::mem::take(&mut idle.pools));
    }
    change(&mut idle.pools)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// Returns the number of threads for `n_jobs`: `None` means the default, -1 all processors, -2 all but one, and so
/// on.
fn count(n_jobs: Option<isize>) -> PyResult<usize> {
    match n_jobs {
        None => Ok(threads()),
        Some(0) => Err(PyValueError::new_err("n_jobs is 0; it must be a number of threads, or -1 for all processors")),
        Some(jobs @ 1..) if jobs.unsigned_abs() > MOST_THREADS => {
            Err(PyValueError::new_err(format!("n_jobs is {jobs}; it must be at most {MOST_THREADS}")))
        }
        Some(jobs @ 1..) => Ok(jobs.unsigned_abs()),
        Some(jobs) => Ok((processors() + 1).saturating_sub(jobs.unsigned_abs()).max(1)),
    }
}

/// Extracts an integer. One that is out of the range of `isize` is a `ValueError` with the value.
fn whole(n_jobs: &Bound<'_, PyAny>) -> PyResult<isize> {
    n_jobs.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(n_jobs.py()) {
            return error;
        }
        PyValueError::new_err(format!("n_jobs is {n_jobs}; it must be from {} to {MOST_THREADS}", isize::MIN))
    })
}

/// Returns a pool of `n_jobs` threads for a single call. With a shared pool, waiting threads would take up work of
/// another call, and this call could not end when cancelled. [`give_back`] keeps the pool for the next call.
pub fn take(py: Python<'_>, n_jobs: Option<isize>) -> PyResult<ThreadPool> {
    let threads = count(n_jobs)?;
    let kept = idle(py, |pools| {
        let place = pools.iter().position(|pool| pool.current_num_threads() == threads)?;
        Some(pools.remove(place))
    });
    if let Some(pool) = kept {
        return Ok(pool);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("ropewalk-{i}")).build();
    pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start {threads} threads: {error}")))
}

/// Keeps a pool for later calls, and ends the pool that has been idle longest if there are too many.
pub fn give_back(py: Python<'_>, pool: ThreadPool) {
    let ended = idle(py, |pools| {
        pools.push(pool);
        (pools.len() > MOST_IDLE).then(|| pools.remove(0))
    });
    drop(ended);
}

/// Sets the number of threads of calls and estimators without `n_jobs`.
///
/// Parameters
/// ----------
/// n_jobs : int, optional
///     The number of threads; -1 means all processors, -2 all but one. Default: all processors that the process may
///     use, which is also the initial setting.
///
/// Raises
/// ------
/// ValueError
///     If the number is 0, more than 4096, or less than -2^63.
///
/// Examples
/// --------
/// >>> import ropewalk
/// >>> ropewalk.set_threads(2)
/// >>> ropewalk.threads()
/// 2
/// >>> ropewalk.set_threads()
#[pyfunction]
#[pyo3(signature = (n_jobs=None))]
pub fn set_threads(n_jobs: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let threads = match n_jobs {
        None => 0,
        Some(jobs) => count(Some(whole(jobs)?))?,
    };
    DEFAULT.store(threads, Relaxed);
    Ok(())
}

/// Returns the number of threads of calls and estimators without `n_jobs`.
///
/// Returns
/// -------
/// int
///     The number set by `set_threads`, by default the number of processors.
///
/// Examples
/// --------
/// >>> import ropewalk
/// >>> ropewalk.threads() >= 1
/// True
#[pyfunction]
pub fn threads() -> usize {
    match DEFAULT.load(Relaxed) {
        0 => processors(),
        threads => threads,
    }
}
