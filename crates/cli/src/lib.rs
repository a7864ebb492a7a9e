//! The command line: `ropewalk halos`, `dbscan`, `hdbscan`, `kdist`, `knn`, `pairs`, `interpolate`, `emst`,
//! `linkage`, `tree`, `raycast`, `info`, `convert`, `sample`, `bench`, `completions` and `man`.
//!
//! The program is a library with one public function because cargo compiles a library while its dependencies are
//! still being compiled, but a binary only after them.

mod across;
mod args;
mod axis_names;
mod bench;
mod centers;
mod cluster_page;
mod clusters_picture;
mod config;
mod convert;
mod dbscan;
mod device;
mod dimensions;
mod failure;
mod grid;
mod halos;
mod hdbscan;
mod help;
mod info;
mod input;
mod interpolate;
mod kdist;
mod labelled;
mod largest;
mod memory;
mod mesh_input;
mod neighbors;
mod number;
mod outputs;
mod periodic;
mod phases;
mod pictures;
mod progress;
mod ray_hits;
mod raycast;
mod sample;
mod shell;
mod output_units;
mod signals;
mod stdout;
mod suggested;
mod summary;
mod text;
mod threads;
mod tree;
mod trees;
mod universe;
mod option_names;
mod usage;
mod verbosity;

use std::process::ExitCode;

use clap::error::ErrorKind;

use args::Args;
use config::ParseError;
use failure::{Failure, one_line};
use stdout::{Closed, print, say};
use threads::start_threads;

/// Runs the program on the arguments that it was started with.
pub fn main() -> ExitCode {
    let args = match config::parse(std::env::args_os().collect()) {
        Ok(args) => args,
        Err(ParseError::File(message)) => {
            say(&format!("error: {}\n", one_line(&message)));
            return ExitCode::from(2);
        }
        Err(ParseError::Clap(error)) => return help_or_error(&error),
    };
    args.verbosity.set();
    if across::uses_mpi(&args) {
        #[cfg(feature = "mpi")]
        return across::mpi::main(&args);
        #[cfg(not(feature = "mpi"))]
        {
            say("error: --mpi: this ropewalk was built without MPI; build it with --features mpi\n");
            return ExitCode::FAILURE;
        }
    }
    let is_shown = !verbosity::is_quiet() || args.command.reports_result();
    let done = run_in_memory(&args).and_then(|report| if is_shown { print(&report) } else { Ok(()) });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Closed>() => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {}\n", one_line(&option_names::error(&error.to_string(), &args.command))));
            ExitCode::FAILURE
        }
    }
}

/// Prints the help that was requested, or an error in the arguments.
fn help_or_error(error: &clap::Error) -> ExitCode {
    // Without arguments: the help, as for `ropewalk -h`.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say(&error.render().to_string());
        return ExitCode::from(2);
    }
    if error.use_stderr() {
        say(&format!("{}\n", usage::message(error)));
        return ExitCode::from(2);
    }
    match error.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("error: standard output: {error}\n"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Runs the command. Running out of memory is an error.
fn run_in_memory(args: &Args) -> Result<String, Failure> {
    let _reserve = ropewalk::memory::hold()?;
    ropewalk::Cancel::new().run(|| Ok(run(args)))?
}

/// Runs the command; returns the text for standard output.
fn run(args: &Args) -> Result<String, Failure> {
    // If this fails, a signal leaves temporary files behind; the results are the same.
    _ = signals::watch();
    match &args.command {
        args::Command::Halos(args) => find_halos(args),
        args::Command::Dbscan(args) => dbscan::run(args),
        args::Command::Hdbscan(args) => hdbscan::run(args),
        args::Command::Kdist(args) => kdist::run(args),
        args::Command::Knn(args) => neighbors::knn(args),
        args::Command::Pairs(args) => neighbors::pairs(args),
        args::Command::Interpolate(args) => interpolate::run(args),
        args::Command::Emst(args) => trees::emst(args),
        args::Command::Linkage(args) => trees::linkage(args),
        args::Command::Tree(args) => tree::run(args),
        args::Command::Raycast(args) => raycast::run(args),
        args::Command::Info(args) => info::run(args),
        args::Command::Convert(args) => convert::run(args),
        args::Command::Sample(args) => sample::run(args),
        args::Command::Bench(args) => time_operations(args),
        args::Command::Completions(args) => shell::completions(args),
        args::Command::Man(args) => shell::man(args),
    }
}

/// Finds halos on one device, or on several that share the work.
fn find_halos(args: &args::Halos) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let devices = args.device.find()?;
    // Refuse invalid options before looking for any file.
    halos::options::runs(args, &args.out)?;
    config::check(args)?;
    let report = match devices[..] {
        [device] => halos::run(args, device),
        _ => across::on_devices(&args.device, &devices, |rank| across::halos::run(args, rank)),
    }?;
    config::write(args)?;
    Ok(report)
}

/// Times operations on one device, or on several that share the work.
fn time_operations(args: &args::Bench) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let devices = args.device.find()?;
    match devices[..] {
        [device] => bench::run(args, device),
        _ => across::on_devices(&args.device, &devices, |rank| across::bench::run(args, rank)),
    }
}
