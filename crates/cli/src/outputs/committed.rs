//! The report on outputs that are committed.

use std::path::Path;

use crate::stdout::{print_beside, shown};

/// The effects of committing outputs.
pub struct Committed {
    /// The files of an earlier run that were removed.
    pub removed: Vec<String>,
    /// Files in the folder that are not of this run, and the reason why each is kept.
    pub kept: Vec<String>,
    /// `true` if an output was written to standard output.
    pub(super) to_stdout: bool,
}

impl Committed {
    /// Returns the report to print. If a result went to standard output, writes the report to standard error and
    /// returns an empty string.
    pub fn report(&self, report: String) -> String {
        if self.to_stdout {
            print_beside(&report);
            return String::new();
        }
        report
    }
}

/// Returns the line of a report that lists the written files; empty if there are none.
pub fn written(targets: &[impl AsRef<Path>]) -> String {
    if targets.is_empty() {
        return String::new();
    }
    let names: Vec<String> = targets.iter().map(|target| shown(target.as_ref())).collect();
    format!("\nwritten: {}\n", names.join(", "))
}
