//! The command line: `ropewalk halos`, `dbscan`, `kdist`, `info`, `sample` and `bench`.

mod cli;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use peak_alloc::PeakAlloc;

/// Counts the bytes in use, for the table of phases.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn main() -> ExitCode {
    let args = match cli::Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() => {
            eprintln!("{}", one_line(&cli::usage_error(&error)));
            return ExitCode::from(2);
        }
        Err(help) => {
            // There is nobody to tell that help could not be printed.
            _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let done = cli::run(&args).and_then(|report| match io::stdout().lock().write_all(report.as_bytes()) {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("standard output: {error}").into()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", one_line(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
