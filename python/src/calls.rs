//! Calls of the library: without the GIL, on a pool of threads, interruptible by Ctrl-C, with a display of progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rayon::ThreadPool;
use ropewalk::phases::LoopProgress;
use ropewalk::{Cancel, memory};
use ropewalk_io::{OnProgress, Progress};

use crate::errors::exception;
use crate::pools;

/// The interval at which a long call checks for signals such as Ctrl-C.
const EVERY: Duration = Duration::from_millis(50);

/// Runs `work` on `n_jobs` threads, while other Python threads run, too. If the handler of a signal raises (Ctrl-C),
/// the work is cancelled, and the exception is raised as soon as the work has ended. A failed allocation raises
/// `MemoryError`. A panic, which is a bug, raises `RuntimeError`. If the work takes longer than [`EVERY`], its progress
/// is shown where `ropewalk.progress` or a notebook asks for it.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: Option<isize>,
    work: impl FnOnce() -> ropewalk::Result<T> + Send,
) -> PyResult<T> {
    // Held before the threads start, since threads allocate memory, too.
    let _reserve = memory::hold().map_err(exception)?;
    let pool = pools::take(py, n_jobs)?;
    run_in(py, pool, work)
}

/// Runs `work` as [`run`] does. While it runs, calls `report` with the numbers of bytes that are read and to be read,
/// about 20 times per second, and once more at the end. An exception of `report` cancels the work.
pub fn run_reporting<T: Send>(
    py: Python<'_>,
    n_jobs: Option<isize>,
    report: Option<Py<PyAny>>,
    work: impl FnOnce(Option<OnProgress<'_>>) -> ropewalk::Result<T> + Send,
) -> PyResult<T> {
    let Some(report) = report else { return run(py, n_jobs, || work(None)) };
    let _reserve = memory::hold().map_err(exception)?;
    let pool = pools::take(py, n_jobs)?;
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let told = |progress: Progress| {
        // Several threads report, in any order.
        done.fetch_max(progress.done, Relaxed);
        total.fetch_max(progress.total, Relaxed);
    };
    let call = |py: Python<'_>| match total.load(Relaxed) {
        0 => Ok(()),
        total => report.call1(py, (done.load(Relaxed).min(total), total)).map(drop),
    };
    let result = watched(py, pool, || work(Some(&told)), &call)?;
    call(py)?;
    Ok(result)
}

/// Runs `work` on the given pool and keeps the pool for the next call. The caller holds the memory reserve.
pub fn run_in<T: Send>(
    py: Python<'_>,
    pool: ThreadPool,
    work: impl FnOnce() -> ropewalk::Result<T> + Send,
) -> PyResult<T> {
    let loops = LoopProgress::new();
    let display = Display::default();
    let result = watched(py, pool, || loops.observe(work), &|py| display.show(py, &loops));
    let ended = if result.is_ok() { display.show_end(py, &loops) } else { Ok(()) };
    let closed = display.close(py);
    // The error of the work comes first.
    result.and_then(|result| ended.and(closed).map(|()| result))
}

/// The Python object that shows the progress of a call, or `None` if nobody asked for one. It is created when it is
/// first needed.
#[derive(Default)]
struct Display(PyOnceLock<Option<Py<PyAny>>>);

impl Display {
    fn show(&self, py: Python<'_>, loops: &LoopProgress) -> PyResult<()> {
        let display = self.0.get_or_try_init(py, || {
            let display = py.import("ropewalk._progress")?.call_method0("of_call")?;
            PyResult::Ok((!display.is_none()).then(|| display.unbind()))
        })?;
        display.as_ref().map_or(Ok(()), |display| report(py, display, loops))
    }

    /// Shows the end of the last loop, if an earlier state was shown.
    fn show_end(&self, py: Python<'_>, loops: &LoopProgress) -> PyResult<()> {
        match self.0.get(py) {
            Some(Some(display)) => report(py, display, loops),
            _ => Ok(()),
        }
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.0.get(py) {
            Some(Some(display)) => display.call_method0(py, "close").map(drop),
            _ => Ok(()),
        }
    }
}

/// Reports the current loop to the display, if a loop has begun.
fn report(py: Python<'_>, display: &Py<PyAny>, loops: &LoopProgress) -> PyResult<()> {
    let state = loops.state();
    if state.total == 0 {
        return Ok(());
    }
    display.call_method1(py, "report", (state.number, state.done, state.total)).map(drop)
}

/// Runs `work` as [`run_in`] does, and calls `watch` regularly. An exception of `watch` cancels the work.
fn watched<T: Send>(
    py: Python<'_>,
    pool: ThreadPool,
    work: impl FnOnce() -> ropewalk::Result<T> + Send,
    watch: &(dyn Fn(Python<'_>) -> PyResult<()> + Sync),
) -> PyResult<T> {
    let result = py.detach(|| {
        let cancel = Cancel::new();
        let (sender, receiver) = channel();
        let mut raised = None;
        let ended = pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                let ended = catch_unwind(AssertUnwindSafe(|| cancel.run(work)));
                // Sending cannot fail, since the receiver lives until it has received the result.
                _ = sender.send(ended);
            });
            loop {
                match receiver.recv_timeout(EVERY) {
                    Ok(ended) => return Some(ended),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) => {
                        if raised.is_none()
                            && let Err(exception) = Python::attach(|py| py.check_signals().and_then(|()| watch(py)))
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
            Some(Err(_)) | None => Err(PyRuntimeError::new_err("internal error (panic); see standard error")),
        }
    });
    pools::give_back(py, pool);
    result
}
