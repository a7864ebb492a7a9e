//! `--mpi`: ranks that are processes.

use std::process::ExitCode;

use ropewalk::distributed::Mpi;

use super::{Rank, bench, dbscan, halos};
use crate::args::{Args, Command};
use crate::device::Device;
use crate::failure::Failure;
use crate::stdout::{Closed, print};
use crate::{signals, threads};

/// The whole of such a run; rank 0 writes the report.
pub fn main(args: &Args) -> ExitCode {
    Mpi::run(|ranks| -> Result<(), Failure> {
        // Without it a signal leaves temporary files, and results are the same.
        _ = signals::watch();
        let on = |device| Rank { ranks, device, devices: None };
        let report = match &args.command {
            Command::Halos(args) => {
                start_threads(args.threads)?;
                halos::run(args, &on(args.device.after(ranks.rank_on_host()?)?))?
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
        match report.map_or(Ok(()), |report| print(&report)) {
            // `head` has seen enough.
            Err(error) if error.is::<Closed>() => Ok(()),
            other => other,
        }
    })
}

/// Starts the threads of a rank: one, unless more are asked for.
fn start_threads(threads: Option<u16>) -> Result<(), Failure> {
    threads::start_threads(threads.or(Some(1)))
}
