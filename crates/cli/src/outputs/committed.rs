//! The report on outputs that have their names.

use std::io::{self, Write as _};
use std::path::Path;

/// Outputs that have their names.
pub struct Committed {
    /// Files of an earlier run that are removed.
    pub removed: Vec<String>,
    /// Files in the folder of the run that are not of this run, and why they stay.
    pub kept: Vec<String>,
    /// `true` if an output was written to standard output.
    pub(super) to_stdout: bool,
}

impl Committed {
    /// Returns the report to print. If standard output took a result, writes the report to standard error and returns nothing to print.
    pub fn report(&self, report: String) -> String {
        if self.to_stdout {
            // A report that cannot be printed has no other place to go.
            _ = io::stderr().write_all(report.as_bytes());
            return String::new();
        }
        report
    }
}

/// The line of a report that lists the files that were written, if there are any.
pub fn written(targets: &[impl AsRef<Path>]) -> String {
    if targets.is_empty() {
        return String::new();
    }
    let names: Vec<String> = targets.iter().map(|target| target.as_ref().display().to_string()).collect();
    format!("\nwritten: {}\n", names.join(", "))
}
