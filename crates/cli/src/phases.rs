//! The time and peak memory of each phase of a run, with a spinner or progress bar while it runs.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ropewalk_io::Progress;
use serde_json::Value;

use crate::memory::MEMORY;

/// The phases so far: name, time, and peak memory in bytes.
#[derive(Default)]
pub struct Phases {
    rows: Vec<(&'static str, Duration, usize)>,
    is_hidden: bool,
}

impl Phases {
    /// Returns the phases of a thread that runs the same phases as another. They are not shown, and their memory is
    /// not measured.
    pub fn hidden() -> Self {
        Self { is_hidden: true, ..Self::default() }
    }

    /// Runs `work` as a phase, with a spinner on standard error if that is a terminal. The times of phases with the
    /// same name are added.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        if self.is_hidden {
            return self.time(name, work);
        }
        let spinner = ProgressBar::new_spinner().with_message(name);
        // The spinner needs a thread, for which there may be no memory.
        if !spinner.is_hidden() {
            spinner.enable_steady_tick(Duration::from_millis(100));
        }
        let result = self.time(name, work);
        spinner.finish_and_clear();
        result
    }

    /// Runs `work` as a phase, with a progress bar that `work` updates.
    pub fn run_with_bar<T>(&mut self, name: &'static str, work: impl FnOnce(&(dyn Fn(Progress) + Sync)) -> T) -> T {
        let bar = ProgressBar::new(0).with_message(name);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes} of {total_bytes}") {
            bar.set_style(style);
        }
        let result = self.time(name, || {
            work(&|Progress { done, total, .. }| {
                bar.set_length(total);
                bar.set_position(done);
            })
        });
        bar.finish_and_clear();
        result
    }

    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        if !self.is_hidden {
            MEMORY.reset_peak();
        }
        let start = Instant::now();
        let result = work();
        let (time, bytes) = (start.elapsed(), if self.is_hidden { 0 } else { MEMORY.peak() });
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
