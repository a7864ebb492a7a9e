//! The progress of the current phase on standard error: a bar on a terminal, otherwise a line every ten seconds.
//!
//! A thread looks at the phase several times a second. Without a terminal it allocates no memory, of which there may
//! be none.

use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ropewalk::phases::LoopProgress;

/// The time between two lines without a terminal.
const LINE_PERIOD: Duration = Duration::from_secs(10);
/// The time between two looks at the phase.
const TICK: Duration = Duration::from_millis(100);
/// The maximum number of bytes of a line; the rest is cut.
const LINE_BYTES: usize = 200;

/// The phase that runs now.
static CURRENT: Mutex<Option<Phase>> = Mutex::new(None);

fn current() -> MutexGuard<'static, Option<Phase>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The source of the share of a phase.
#[derive(Clone)]
pub enum Source {
    /// The tasks of parallel loops. Each loop is a step of the phase.
    Loops(LoopProgress),
    Bytes(Arc<Bytes>),
}

/// Bytes that are read.
#[derive(Default)]
pub struct Bytes {
    pub done: AtomicU64,
    pub total: AtomicU64,
}

impl Source {
    /// Returns the number of the step, and its share; `None` between steps.
    fn step(&self) -> (Option<u64>, Option<f64>) {
        let (number, done, total) = match self {
            Self::Loops(progress) => {
                let state = progress.state();
                (Some(state.number), state.done, state.total)
            }
            Self::Bytes(bytes) => (None, bytes.done.load(Relaxed), bytes.total.load(Relaxed)),
        };
        (number, (done < total && total > 1).then(|| done as f64 / total as f64))
    }
}

struct Phase {
    name: &'static str,
    begin: Instant,
    source: Source,
    /// The number of the current step, and the time when it was first seen.
    step: (Option<u64>, Instant),
    /// The number of lines that were printed.
    lines: u32,
    /// `None` without a terminal.
    bar: Option<ProgressBar>,
}

/// Shows a phase until it is dropped.
pub struct Shown(());

/// Shows a phase that begins now.
pub fn show(name: &'static str, source: Source) -> Shown {
    let bar = ProgressBar::new(100);
    let begin = Instant::now();
    let bar = (!bar.is_hidden()).then(|| bar.with_prefix(name));
    *current() = Some(Phase { name, begin, source, step: (None, begin), lines: 0, bar });
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without memory for a thread there is no progress.
        _ = std::thread::Builder::new().name("progress".into()).spawn(|| {
            loop {
                std::thread::sleep(TICK);
                current().iter_mut().for_each(Phase::tick);
            }
        });
    });
    Shown(())
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(Phase { bar: Some(bar), .. }) = current().take() {
            bar.finish_and_clear();
        }
    }
}

impl Phase {
    /// Updates the bar, or prints a line if it is time.
    fn tick(&mut self) {
        let (number, share) = self.source.step();
        if number != self.step.0 {
            self.step = (number, Instant::now());
        }
        let elapsed = self.begin.elapsed();
        let status = Status { elapsed, share, number, of_step: self.step.1.elapsed() };
        let Some(bar) = &self.bar else {
            if elapsed >= LINE_PERIOD * (self.lines + 1) {
                self.lines += 1;
                print_line(self.name, &status);
            }
            return;
        };
        let template = if share.is_some() { "{prefix} {wide_bar} {msg}" } else { "{spinner} {prefix} {msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_position((100.0 * share.unwrap_or(0.0)) as u64);
        bar.set_message(status.to_string());
        bar.tick();
    }
}

/// Prints a line in one call, so that lines of several processes do not mix.
fn print_line(name: &str, status: &Status) {
    let mut bytes = [0; LINE_BYTES];
    let mut rest = &mut bytes[..LINE_BYTES - 1];
    // A line that is too long is cut.
    _ = write!(rest, "progress: {name}, {status}");
    let end = LINE_BYTES - 1 - rest.len();
    bytes[end] = b'\n';
    // If the line cannot be printed, there is no other place for it.
    _ = std::io::stderr().write_all(&bytes[..=end]);
}

/// The state of a phase, for people.
struct Status {
    elapsed: Duration,
    /// The share of the step that is done.
    share: Option<f64>,
    /// The number of the step, if the phase has steps.
    number: Option<u64>,
    /// The time since the step began.
    of_step: Duration,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(share) = self.share {
            match self.number {
                Some(number) => write!(f, "step {number}: {:.0}%, ", (100.0 * share).floor())?,
                None => write!(f, "{:.0}%, ", (100.0 * share).floor())?,
            }
        }
        write!(f, "{} elapsed", Time(self.elapsed))?;
        match self.share.filter(|&share| share > 0.0 && self.of_step >= Duration::from_secs(1)) {
            Some(share) => {
                let left = self.of_step.as_secs_f64() * (1.0 - share) / share;
                let of = if self.number.is_some() { " in this step" } else { "" };
                write!(f, ", about {} left{of}", Time(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)))
            }
            None => Ok(()),
        }
    }
}

/// A time in seconds, minutes or hours.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ ..60 => write!(f, "{seconds} s"),
            seconds @ ..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            seconds => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_times() {
        let status = |elapsed, share, number, of_step| {
            let [elapsed, of_step] = [elapsed, of_step].map(Duration::from_secs);
            Status { elapsed, share, number, of_step }.to_string()
        };
        assert_eq!(status(7, None, Some(3), 2), "7 s elapsed");
        assert_eq!(status(70, Some(0.255), None, 70), "25%, 1 min 10 s elapsed, about 3 min 24 s left");
        assert_eq!(status(20, Some(0.5), Some(4), 5), "step 4: 50%, 20 s elapsed, about 5 s left in this step");
        assert_eq!(status(7300, Some(0.0), Some(1), 9), "step 1: 0%, 2 h 1 min elapsed");
        assert_eq!(status(3, Some(0.1), None, 0), "10%, 3 s elapsed");
    }

    #[test]
    fn shares_of_sources() {
        let bytes = Arc::new(Bytes::default());
        let source = Source::Bytes(bytes.clone());
        assert_eq!(source.step(), (None, None));
        bytes.total.store(8, Relaxed);
        bytes.done.store(2, Relaxed);
        assert_eq!(source.step(), (None, Some(0.25)));
        bytes.done.store(8, Relaxed);
        assert_eq!(source.step(), (None, None));
        assert_eq!(Source::Loops(LoopProgress::new()).step(), (Some(0), None));
    }
}
