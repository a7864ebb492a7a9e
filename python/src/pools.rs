//! Threads: a pool for each call that runs, kept for the next one.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// What [`set_threads`] chose; 0 is all processors.
static DEFAULT: AtomicUsize = AtomicUsize::new(0);

/// So many pools are kept while no call needs them.
const MOST_IDLE: usize = 4;

/// More threads than this are a mistake.
const MOST_THREADS: usize = 4096;

/// The pools that no call uses, of one process: a forked one has none of its parent's threads.
struct Idle {
    process: u32,
    pools: Vec<ThreadPool>,
}

static IDLE: Mutex<Idle> = Mutex::new(Idle { process: 0, pools: vec![] });

/// Locked for moments only. With the interpreter's lock, which `fork` holds, too, no fork finds it locked; without that lock, one may.
fn idle<T>(_py: Python<'_>, change: impl FnOnce(&mut Vec<ThreadPool>) -> T) -> T {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if idle.process != process {
        idle.process = process;
        // Their threads are not here: dropping them would wait for these.
        std::mem::forget(std::mem::take(&mut idle.pools));
    }
    change(&mut idle.pools)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// The number of threads that `n_jobs` asks for: `None` is the default, -1 all processors, -2 all but one, and so on.
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

/// The number of an object, if it has one; none is too large for a sentence.
fn whole(n_jobs: &Bound<'_, PyAny>) -> PyResult<isize> {
    n_jobs.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(n_jobs.py()) {
            return error;
        }
        PyValueError::new_err(format!("n_jobs is {n_jobs}; it must be from {} to {MOST_THREADS}", isize::MIN))
    })
}

/// A pool of as many threads as `n_jobs` asks for, for one call alone: threads that wait take up no other call's work, which would
/// keep this one from ending when it is cancelled. [`give_back`] keeps it for the next call.
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

/// Keeps a pool for the next call, and ends the one that has waited longest for one.
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
///     -1 for all processors, -2 for all but one; None, as at the start, for all processors that the process may use.
///
/// Raises
/// ------
/// ValueError
///     For 0, for more than 4096, and for less than -2^63.
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

/// The number of threads of calls and estimators without `n_jobs`.
///
/// Returns
/// -------
/// int
///     What `set_threads` chose, otherwise the number of processors.
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
