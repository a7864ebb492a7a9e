//! The time and peak memory of each phase of a run, and its progress while it runs.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ropewalk::phases::{LoopProgress, timed};
use ropewalk_io::Progress;
use serde_json::Value;

use crate::memory::MEMORY;
use crate::progress::{Bytes, Source, show};
use crate::stdout::say;
use crate::verbosity::{is_quiet, is_verbose};

/// The phases so far: name, time, and peak memory in bytes.
#[derive(Default)]
pub struct Phases {
    rows: Vec<(&'static str, Duration, usize)>,
    is_unshown: bool,
    is_unmeasured: bool,
}

impl Phases {
    /// Returns the phases of a thread that runs the same phases as another. They are not shown, and their memory is
    /// not measured.
    pub fn hidden() -> Self {
        Self { is_unshown: true, is_unmeasured: true, ..Self::default() }
    }

    /// Returns the phases of a process that runs the same phases as another. They are not shown.
    pub fn unshown() -> Self {
        Self { is_unshown: true, ..Self::default() }
    }

    /// Runs `work` as a phase, and shows its progress: the share of each of its parallel loops. The times of phases
    /// with the same name are added.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let progress = LoopProgress::new();
        self.show(name, Source::Loops(progress.clone()), || progress.observe(work))
    }

    /// Runs `work` as a phase, and shows the share of bytes that `work` passes to its argument.
    pub fn run_with_bar<T>(&mut self, name: &'static str, work: impl FnOnce(&(dyn Fn(Progress) + Sync)) -> T) -> T {
        let bytes = Arc::new(Bytes::default());
        self.show(name, Source::Bytes(bytes.clone()), || {
            work(&|Progress { done, total, .. }| {
                bytes.total.store(total, Relaxed);
                bytes.done.store(done, Relaxed);
            })
        })
    }

    fn show<T>(&mut self, name: &'static str, source: Source, work: impl FnOnce() -> T) -> T {
        if self.is_unshown || is_quiet() {
            return self.time(name, work);
        }
        let shown = show(name, source);
        if !is_verbose() {
            return self.time(name, work);
        }
        let start = Instant::now();
        let (result, steps) = timed(|| self.time(name, work));
        drop(shown);
        let bytes = MEMORY.peak();
        say(&details(name, start.elapsed(), bytes, &steps));
        result
    }

    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        if !self.is_unmeasured {
            MEMORY.reset_peak();
        }
        let start = Instant::now();
        let result = work();
        let (time, bytes) = (start.elapsed(), if self.is_unmeasured { 0 } else { MEMORY.peak() });
        match self.rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => *row = (name, row.1 + time, row.2.max(bytes)),
            None => self.rows.push((name, time, bytes)),
        }
        result
    }

    /// Returns the seconds of each phase, by name.
    pub fn seconds(&self) -> Value {
        self.rows.iter().map(|(name, time, _)| ((*name).to_string(), Value::from(time.as_secs_f64()))).collect()
    }

    /// Returns the name of each phase with its time and peak memory, as text.
    pub fn lines(&self) -> Vec<(String, String)> {
        let line = |&(name, time, bytes): &(&str, Duration, usize)| {
            let mebibytes = bytes as f64 / f64::from(1 << 20);
            (name.into(), format!("{:.3} s, up to {mebibytes:.1} MiB", time.as_secs_f64()))
        };
        self.rows.iter().map(line).collect()
    }

    /// Returns the maximum number of bytes allocated at a time.
    pub fn peak(&self) -> usize {
        self.rows.iter().map(|row| row.2).max().unwrap_or(0)
    }

    /// Returns a table with a line per phase and their total. Memory is the peak during the phase, including
    /// allocations of earlier phases.
    pub fn table(&self) -> String {
        let total =
            ("total", self.rows.iter().map(|row| row.1).sum(), self.rows.iter().map(|row| row.2).max().unwrap_or(0));
        let mut table = format!("{:<16}{:>10}{:>14}\n", "phase", "time", "peak memory");
        for (name, time, bytes) in self.rows.iter().copied().chain([total]) {
            let mebibytes = bytes as f64 / f64::from(1 << 20);
            // Writing to a string does not fail.
            _ = writeln!(table, "{name:<16}{:>8.3} s{mebibytes:>10.1} MiB", time.as_secs_f64());
        }
        table
    }
}

/// Describes a phase and its steps for `--verbose`. The times of steps with the same name are added.
fn details(name: &str, time: Duration, bytes: usize, steps: &[(&'static str, Duration)]) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    let mut text = format!("{name}: {:.3} s, peak memory {mebibytes:.1} MiB\n", time.as_secs_f64());
    let mut sums: Vec<(&str, Duration)> = vec![];
    for &(step, time) in steps {
        match sums.iter_mut().find(|sum| sum.0 == step) {
            Some(sum) => sum.1 += time,
            None => sums.push((step, time)),
        }
    }
    for (step, time) in sums {
        // Writing to a string does not fail.
        _ = writeln!(text, "  {step}: {:.3} s", time.as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_same_name_are_one_line() {
        let steps = [("sort", 250), ("walk", 100), ("sort", 500)].map(|(name, ms)| (name, Duration::from_millis(ms)));
        let text = details("find halos", Duration::from_secs(1), 3 << 19, &steps);
        assert_eq!(text, "find halos: 1.000 s, peak memory 1.5 MiB\n  sort: 0.750 s\n  walk: 0.100 s\n");
    }
}
