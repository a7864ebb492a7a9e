//! Runs that ranks share: processes of MPI with `--mpi`, or threads of this process with one device each with
//! `--device cuda:0,1`.

pub mod bench;
#[cfg(feature = "mpi")]
mod dbscan;
pub mod halos;
mod type_files;
#[cfg(feature = "mpi")]
pub mod mpi;

use std::path::Path;

use ropewalk::distributed::{Communicator, Reduction, agree, on_threads};
use ropewalk::internals::distributed::broadcast;
use ropewalk::{Error, ErrorKind};
use ropewalk_io::{ReadOptions, Snapshot, agree_on_files};

use crate::args::{Args, Command};
use crate::device::{Device, DevicesArg};
use crate::failure::Failure;
use crate::input;
use crate::option_names;
use crate::phases::Phases;
use crate::summary::Summary;
use crate::text::grouped;

/// Returns `true` if `--mpi` is given.
pub fn uses_mpi(args: &Args) -> bool {
    match &args.command {
        Command::Halos(args) => args.mpi,
        Command::Dbscan(args) => args.mpi,
        Command::Bench(args) => args.mpi,
        _ => false,
    }
}

/// One of the ranks of a run.
pub struct Rank<'a> {
    ranks: &'a dyn Communicator,
    device: Device,
    /// The devices of `--device`, if ranks are threads of this process.
    devices: Option<&'a DevicesArg>,
}

impl Rank<'_> {
    /// Returns the option that requests ranks.
    fn option(&self) -> String {
        self.devices.map_or("--mpi".into(), |devices| format!("--device {devices}"))
    }

    /// Returns the error for an option that ranks do not support.
    fn refuse(&self, option: &str) -> Failure {
        let instead = if self.devices.is_some() { "give one device" } else { "run one process without it" };
        format!("{option}: not with {}; {instead}", self.option()).into()
    }

    /// Returns an error on all ranks if the options of any rank differ from those of rank 0. Callers leave out output
    /// paths and the number of threads.
    fn check_options(&self, options: &dyn std::fmt::Debug) -> Result<(), Failure> {
        let options = format!("{options:?}").into_bytes();
        let is_same = broadcast(self.ranks, &options, 0)? == options;
        agree(
            self.ranks,
            match is_same {
                true => Ok(()),
                false => Err(Error::new(
                    ErrorKind::Parameter,
                    "options differ from those of rank 0; all ranks must have the same options",
                )),
            },
        )?;
        Ok(())
    }

    /// Returns empty phases. Only rank 0 shows them. If ranks are threads, only rank 0 measures the memory, which all
    /// share.
    fn phases(&self) -> Phases {
        match self.devices {
            _ if self.ranks.rank() == 0 => Phases::default(),
            Some(_) => Phases::hidden(),
            None => Phases::unshown(),
        }
    }
}

/// Runs `work` on one thread per device, each as a rank. Returns the report of rank 0.
pub fn on_devices(
    devices: &DevicesArg,
    found: &[Device],
    work: impl Fn(&Rank<'_>) -> Result<Option<String>, Failure> + Sync,
) -> Result<String, Failure> {
    let reports = on_threads(found.len(), |ranks| {
        work(&Rank { ranks, device: found[ranks.rank()], devices: Some(devices) }).map_err(sendable)
    })?;
    Ok(reports.into_iter().flatten().collect())
}

/// Converts an error so that it can be sent to another thread. It stays known whether it is the error of another
/// rank.
fn sendable(failure: Failure) -> Error {
    failure.downcast().map_or_else(|other| Error::new(ErrorKind::Parameter, other.to_string()), |error| *error)
}

/// Reads this rank's part of a file. Refuses standard input, which cannot be read in parts.
fn read(path: &Path, options: ReadOptions, rank: &Rank<'_>, phases: &mut Phases) -> Result<Snapshot, Failure> {
    let ranks = rank.ranks;
    if path.as_os_str() == input::STANDARD_INPUT {
        return Err(format!("{}: standard input cannot be split between ranks; give a file", rank.option()).into());
    }
    agree_on_files(ranks, path)?;
    let options = options.part(ranks.rank(), ranks.size());
    let reword = |error: Error| match error.is_of_another_rank() {
        true => Failure::from(error),
        false => option_names::sentence(&error.to_string()).into(),
    };
    let read = || {
        let part = ropewalk_io::read(path, &options)?;
        input::check_finite(path, &part.points, part.first_row())?;
        Ok(part)
    };
    let read = phases.run("read", || agree(ranks, read()));
    let mut part = read.map_err(reword)?;
    part.notes = option_names::notes(&part.notes);
    Ok(part)
}

/// Adds the number of ranks and the peak memory: of all ranks if they share a process, otherwise of the rank with the
/// largest.
fn describe(summary: &mut Summary, phases: &Phases, rank: &Rank<'_>) -> Result<(), Failure> {
    let ranks = rank.ranks;
    let mut most = [phases.peak() as u64];
    ranks.all_reduce(&mut most, Reduction::Max)?;
    summary.both("ranks", grouped(ranks.size() as u64), ranks.size());
    let mebibytes = most[0] as f64 / f64::from(1 << 20);
    let whose = if rank.devices.is_some() { "of all ranks" } else { "on a rank" };
    summary.both("most memory", format!("{mebibytes:.1} MiB {whose}"), most[0]);
    Ok(())
}
