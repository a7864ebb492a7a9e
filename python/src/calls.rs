//! How the library is called: without the interpreter's lock, by a pool of threads, and so that Ctrl-C ends it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use ropewalk::{Cancel, memory};

use crate::errors::exception;
use crate::pools;

/// How often a long call asks whether Ctrl-C was pressed.
const EVERY: Duration = Duration::from_millis(50);

/// Runs `work` by `n_jobs` threads. Other Python threads run meanwhile. A signal whose handler raises (Ctrl-C) cancels the work,
/// and its exception is raised as soon as the work has ended. A lack of memory is a `MemoryError`; a panic, which is a bug, a `RuntimeError`.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: Option<isize>,
    work: impl FnOnce() -> ropewalk::Result<T> + Send,
) -> PyResult<T> {
    // Also for the threads, which take memory, too.
    let _reserve = memory::hold().map_err(exception)?;
    let pool = pools::take(py, n_jobs)?;
    run_in(py, pool, work)
}

/// The same by the threads of a pool, which is kept for the next call; the caller holds the reserve of memory.
pub fn run_in<T: Send>(
    py: Python<'_>,
    pool: ThreadPool,
    work: impl FnOnce() -> ropewalk::Result<T> + Send,
) -> PyResult<T> {
    let result = py.detach(|| {
        let cancel = Cancel::new();
        let (sender, receiver) = channel();
        let mut raised = None;
        let ended = pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                let ended = catch_unwind(AssertUnwindSafe(|| cancel.run(work)));
                // The receiver is there until it has received.
                _ = sender.send(ended);
            });
            loop {
                match receiver.recv_timeout(EVERY) {
                    Ok(ended) => return Some(ended),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) => {
                        if raised.is_none()
                            && let Err(exception) = Python::attach(|py| py.check_signals())
                        {
                            raised = Some(exception);
                            cancel.cancel();
                        }
                    }
                }
            }
        });
        if let Some(exception) = raised {
            return Err(exception);
        }
        match ended {
            Some(Ok(result)) => result.map_err(exception),
            Some(Err(_)) | None => Err(PyRuntimeError::new_err("ropewalk: a bug: its message is on standard error")),
        }
    });
    pools::give_back(py, pool);
    result
}
