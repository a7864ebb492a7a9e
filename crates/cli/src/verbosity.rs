//! `--quiet` and `--verbose`: the messages that the program prints beside its results.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// The options that all commands share.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Verbosity {
    /// Print errors and results only, no report and no progress
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = "Messages")]
    pub quiet: bool,
    /// Print time, memory and steps of each phase to standard error when it ends
    #[arg(long, short, global = true, help_heading = "Messages")]
    pub verbose: bool,
}

impl Verbosity {
    /// Makes this the verbosity of the process.
    pub fn set(self) {
        QUIET.store(self.quiet, Relaxed);
        VERBOSE.store(self.verbose, Relaxed);
    }
}

/// Returns `true` with `--quiet`.
pub fn is_quiet() -> bool {
    QUIET.load(Relaxed)
}

/// Returns `true` with `--verbose`.
pub fn is_verbose() -> bool {
    VERBOSE.load(Relaxed)
}
