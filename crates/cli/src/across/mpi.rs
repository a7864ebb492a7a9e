//! `--mpi`: ranks that are processes.

use std::process::ExitCode;

use ropewalk::distributed::{Communicator, Mpi};

use super::{Rank, bench, dbscan, halos};
use crate::args::{Args, Command};
use crate::device::Device;
use crate::failure::Failure;
use crate::stdout::{Closed, print};
use crate::verbosity::is_quiet;
use crate::{config, signals, threads};

/// Runs a command on the ranks of MPI; rank 0 prints the report.
pub fn main(args: &Args) -> ExitCode {
    Mpi::run(|ranks| -> Result<(), Failure> {
        // If this fails, a signal leaves temporary files behind; the results are the same.
        _ = signals::watch();
        let on = |device| Rank { ranks, device, devices: None };
        let report = match &args.command {
            Command::Halos(args) => {
                start_threads(args.threads)?;
                config::check(args)?;
                let report = halos::run(args, &on(args.device.after(ranks.rank_on_host()?)?))?;
                if ranks.rank() == 0 {
                    config::write(args)?;
                }
                report
            }
            Command::Dbscan(args) => {
                start_threads(args.points.threads)?;
                dbscan::run(args, &on(Device::Cpu))?
            }
            Command::Bench(args) => {
                start_threads(args.threads)?;
                bench::run(args, &on(args.device.after(ranks.rank_on_host()?)?))?
            }
            _ => None,
        };
        match report.filter(|_| !is_quiet()).map_or(Ok(()), |report| print(&report)) {
            // The reader of standard output has ended, as `head` does.
            Err(error) if error.is::<Closed>() => Ok(()),
            other => other,
        }
    })
}

/// Starts the threads of a rank: one, unless `--threads` is given.
fn start_threads(threads: Option<u16>) -> Result<(), Failure> {
    threads::start_threads(threads.or(Some(1)))
}
