//! Threads: one pool for each number of them that was asked for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// What [`set_threads`] chose; 0 is all processors.
static DEFAULT: AtomicUsize = AtomicUsize::new(0);

/// The pools of one process: a forked one has none of its parent's threads.
struct Pools {
    process: u32,
    by_threads: HashMap<usize, Arc<ThreadPool>>,
}

/// Locked by threads that are attached to the interpreter, and for moments: no fork finds it locked.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// The number of threads that `n_jobs` asks for: `None` is the default, -1 all processors, -2 all but one, and so on.
fn count(n_jobs: Option<isize>) -> PyResult<usize> {
    match n_jobs {
        None => Ok(threads()),
        Some(0) => Err(PyValueError::new_err("n_jobs is 0; it must be a number of threads, or -1 for all processors")),
        Some(jobs @ 1..) => Ok(jobs.unsigned_abs()),
        Some(jobs) => Ok((processors() + 1).saturating_sub(jobs.unsigned_abs()).max(1)),
    }
}

/// The pool that `n_jobs` asks for.
pub fn pool(_py: Python<'_>, n_jobs: Option<isize>) -> PyResult<Arc<ThreadPool>> {
    let threads = count(n_jobs)?;
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(of_parent) = pools.take_if(|pools| pools.process != process) {
        // Its threads are not here: dropping it would wait for them.
        std::mem::forget(of_parent);
    }
    let pools = pools.get_or_insert_with(|| Pools { process, by_threads: HashMap::new() });
    if let Some(pool) = pools.by_threads.get(&threads) {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("ropewalk-{i}")).build();
    let pool = Arc::new(pool.map_err(|error| PyRuntimeError::new_err(format!("{threads} threads: {error}")))?);
    pools.by_threads.insert(threads, pool.clone());
    Ok(pool)
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
///     For 0.
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
pub fn set_threads(n_jobs: Option<isize>) -> PyResult<()> {
    let threads = match n_jobs {
        None => 0,
        jobs => count(jobs)?,
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
