//! Standard output, whose reader may end before everything is printed.

use std::io::{self, Write};
use std::path::Path;

use super::failure::Failure;
use super::verbosity::is_quiet;

/// Prints and flushes `text`. If the reader of standard output has ended, as `head` does, returns [`Closed`].
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        other => other.map_err(|error| format!("standard output: {error}").into()),
    }
}

/// Prints the report of a run whose result goes to standard output: to standard error, but not with `--quiet`.
pub fn print_beside(report: &str) {
    if !is_quiet() {
        say(report);
    }
}

/// Prints to standard error, which may be closed.
pub fn say(text: &str) {
    // If the text cannot be printed, there is no other place for it.
    _ = io::stderr().write_all(text.as_bytes());
}

/// Returns the name of a file in reports; `standard output` for `-`.
pub fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard output".into() } else { path.display().to_string() }
}

/// The reader of standard output has ended, as `head` does. It ends the run without a message.
#[derive(Debug)]
pub struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for Closed {}

/// Returns `true` if `error` is caused by a pipe whose reader has ended.
pub fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
