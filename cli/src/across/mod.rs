//! Runs that several processes share, with `--mpi`.

mod bench;
mod dbscan;
mod halos;

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use ropewalk::distributed::{Communicator, Mpi, Reduction, agree};
use ropewalk::io::{NpyNumber, ReadOptions, SharedNpy, SharedNpyRows, Snapshot};

use crate::args::{Args, Command};
use crate::phases::Phases;
use crate::summary::Summary;
use crate::{Failure, grouped, input, signals};

/// Whether the run is to be shared.
pub fn is_asked(args: &Args) -> bool {
    match &args.command {
        Command::Halos(args) => args.mpi,
        Command::Dbscan(args) => args.mpi,
        Command::Bench(args) => args.mpi,
        _ => false,
    }
}

/// The whole of such a run; rank 0 writes the report.
pub fn main(args: &Args) -> ExitCode {
    Mpi::run(|ranks| -> Result<(), Failure> {
        // Without it a signal leaves temporary files, and results are the same.
        _ = signals::watch();
        let report = match &args.command {
            Command::Halos(args) => halos::run(args, ranks)?,
            Command::Dbscan(args) => dbscan::run(args, ranks)?,
            Command::Bench(args) => bench::run(args, ranks)?,
            _ => None,
        };
        if let Some(report) = report {
            std::io::stdout().lock().write_all(report.as_bytes())?;
        }
        Ok(())
    })
}

/// Starts the threads of a rank: one, unless more are asked for.
fn start_threads(threads: Option<u16>) -> Result<(), Failure> {
    crate::start_threads(threads.or(Some(1)))
}

/// Reads this rank's part. Standard input has no parts.
fn read(path: &Path, options: ReadOptions, ranks: &Mpi, phases: &mut Phases) -> Result<Snapshot, Failure> {
    if path.as_os_str() == input::STANDARD_INPUT {
        return Err("--mpi: standard input cannot be read in parts; give a file".into());
    }
    let options = options.part(ranks.rank(), ranks.size());
    let part = phases.run("read", || agree(ranks, ropewalk::io::read(path, &options)))?;
    Ok(part)
}

/// An array whose rows all ranks write, each those of its part; rank 0 keeps it until all have.
struct Shared(Option<SharedNpy>);

impl Shared {
    /// Makes the file, which has no name yet.
    fn create<T: NpyNumber>(path: &Path, rows: u64, ranks: &Mpi) -> Result<Self, Failure> {
        let file = (ranks.rank() == 0).then(|| SharedNpy::create::<T>(path, rows, None));
        Ok(Self(agree(ranks, file.transpose())?))
    }

    /// Writes the rows of all ranks.
    fn write<T: NpyNumber>(&self, first: u64, rows: &[T], ranks: &Mpi) -> Result<(), Failure> {
        let temporary = self.0.as_ref().map(|file| file.temporary().as_os_str().as_bytes());
        let name = tell(ranks, temporary.unwrap_or_default())?;
        let written = SharedNpyRows::open(OsStr::from_bytes(&name)).and_then(|mut file| {
            file.write_rows(first, rows)?;
            file.finish()
        });
        Ok(agree(ranks, written)?)
    }

    /// Gives it its name.
    fn commit(self) -> Result<(), Failure> {
        Ok(self.0.map_or(Ok(()), SharedNpy::commit)?)
    }
}

/// The bytes that rank 0 has, on all ranks.
fn tell(ranks: &Mpi, own: &[u8]) -> Result<Vec<u8>, Failure> {
    let own = if ranks.rank() == 0 { own } else { &[] };
    let mut length = [own.len() as u64];
    ranks.all_reduce(&mut length, Reduction::Max)?;
    let mut counts = vec![0; ranks.size()];
    counts[0] = length[0] as usize;
    let mut told = vec![0; counts[0]];
    ranks.all_gather_v(own, &mut told, &counts)?;
    Ok(told)
}

/// What ranks say of the run: how many, and the memory of the one that took most.
fn describe(summary: &mut Summary, phases: &Phases, ranks: &Mpi) -> Result<(), Failure> {
    let mut most = [phases.peak() as u64];
    ranks.all_reduce(&mut most, Reduction::Max)?;
    summary.both("ranks", grouped(ranks.size() as u64), ranks.size());
    let mebibytes = most[0] as f64 / f64::from(1 << 20);
    summary.both("most memory", format!("{mebibytes:.1} MiB on a rank"), most[0]);
    Ok(())
}
