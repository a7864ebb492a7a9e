//! Ranks that are MPI processes.
//!
//! The feature `mpi` compiles a few C functions against an MPI library. The build finds the library by `pkg-config` or
//! `mpicc`, or as the variables `MPICC` and `MPI_PKG_CONFIG` specify. A program runs only with that library, and is
//! started by its `mpirun` or by `srun`. The package `ferrompi` documents which libraries are tested.
//!
//! Data is split into messages of at most 2^30 bytes, as MPI counts have 31 bits. Both sides know the count, so they
//! split alike; empty messages are not sent. Cost: data is not copied.
//!
//! MPI communicators created by other programs, such as mpi4py or a simulation, cannot be passed in. The caller wraps
//! such a communicator in a type that implements [`Communicator`] with its own MPI calls.

use std::fmt::Display;
use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ferrompi::{ReduceOp, ThreadLevel, scope};

use crate::distributed::communicator::agree::NO_RANK;
use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::distributed::communicator::typed::all_gather;
use crate::distributed::communicator::typed::offsets_of;
use crate::error::{Error, ErrorKind, Result};

/// The maximum number of bytes per message.
const MESSAGE: usize = 1 << 30;
/// The number of ranks that a rank exchanges messages with at a time.
const PARTNERS: usize = 32;
const TAG: i32 = 1;
/// The time that a failed rank waits for the other ranks to finish.
const GRACE: Duration = Duration::from_secs(5);
/// The interval between checks whether all ranks have finished.
const PAUSE: Duration = Duration::from_millis(1);

/// A rank that is an MPI process.
///
/// A panic on one rank ends all ranks. So does a rank that exits or is killed, if the launcher monitors its
/// processes, as Open MPI's `mpirun` does. MPI is finalized when this communicator and all communicators split from
/// it are dropped; finalization waits for all ranks.
///
/// It cannot be sent to another thread.
pub struct Mpi {
    ranks: ferrompi::Communicator,
    message: usize,
    engine: Rc<MpiSession>,
}

/// The MPI library, finalized on drop, after all communicators.
struct MpiSession {
    /// A communicator that is used only to finish or abort.
    end: ferrompi::Communicator,
    /// Dropped last.
    _mpi: ferrompi::Mpi,
}

impl Mpi {
    /// Starts MPI and returns a communicator of all ranks. May be called once per process. A program started without
    /// a launcher is a single rank.
    ///
    /// If some ranks may fail, use [`Mpi::run`]. An MPI library that cannot start ends the process itself.
    ///
    /// # Errors
    /// Fails if MPI was already started, or if the library does not support threads.
    pub fn init() -> Result<Self> {
        let mpi = ferrompi::Mpi::init_thread(ThreadLevel::Funneled).map_err(failed)?;
        if mpi.thread_level() < ThreadLevel::Funneled {
            return Err(failed("the MPI library does not support MPI_THREAD_FUNNELED"));
        }
        let world = mpi.world();
        let (ranks, end) = (world.duplicate().map_err(failed)?, world.duplicate().map_err(failed)?);
        Ok(Self { ranks, message: MESSAGE, engine: Rc::new(MpiSession { end, _mpi: mpi }) })
    }

    /// Returns the number of this rank among the ranks of its host, for example to choose a device. Collective.
    ///
    /// # Errors
    /// Fails if MPI fails.
    pub fn rank_on_host(&self) -> Result<usize> {
        Ok(self.ranks.split_shared().map_err(failed)?.rank() as usize)
    }

    /// Starts MPI, calls `work`, and returns the exit status: the whole body of `main`.
    ///
    /// If ranks fail, all ranks return a failure status, and the error message of the first one is written to
    /// standard error. If the other ranks do not learn of the failure through [`agree`](crate::distributed::agree)
    /// and wait for the failed rank elsewhere, all ranks are aborted after five seconds.
    ///
    /// ```no_run
    /// use ropewalk::distributed::{Communicator, Mpi, Reduction};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     Mpi::run(|ranks| -> Result<(), ropewalk::Error> {
    ///         let mut points = [1000];
    ///         ranks.all_reduce(&mut points, Reduction::Sum)?;
    ///         assert_eq!(points, [1000 * ranks.size() as u64]);
    ///         Ok(())
    ///     })
    /// }
    /// ```
    pub fn run<E: Into<Box<dyn std::error::Error>>>(
        work: impl FnOnce(&Self) -> std::result::Result<(), E>,
    ) -> ExitCode {
        let worked = Self::init().and_then(|ranks| {
            let failure: Option<Box<dyn std::error::Error>> = work(&ranks).err().map(Into::into);
            ranks.finish(failure.as_deref())
        });
        match worked {
            Ok(false) => ExitCode::SUCCESS,
            Ok(true) => ExitCode::FAILURE,
            Err(error) => {
                write(&error);
                ExitCode::FAILURE
            }
        }
    }

    /// Limits messages to `bytes` bytes, from 1 to 2^30; for tests. All ranks pass the same number.
    pub fn with_message_bytes(mut self, bytes: usize) -> Self {
        self.message = bytes.clamp(1, MESSAGE);
        self
    }

    /// Returns `true` if a rank has failed. The first rank that failed writes its error before any rank returns.
    fn finish(&self, failure: Option<&(dyn std::error::Error + 'static)>) -> Result<bool> {
        self.wait_for_all(failure)?;
        // A launcher may end all ranks when the first one exits, so the error is written before that. As in `agree`,
        // ranks that report the error of another rank come last.
        let (rank, size) = (self.engine.end.rank() as u64, self.engine.end.size() as u64);
        let own = failure.map_or(NO_RANK, |error| {
            let another = error.downcast_ref::<Error>().is_some_and(Error::is_of_another_rank);
            rank + if another { size } else { 0 }
        });
        let mut first = [own];
        self.engine.end.allreduce_inplace(&mut first, ReduceOp::Min).map_err(failed)?;
        match failure {
            Some(error) if first == [own] => write(&format_args!("rank {rank}: {error}")),
            _ => {}
        }
        self.engine.end.barrier().map_err(failed)?;
        Ok(first != [NO_RANK])
    }

    /// Waits until all ranks are here. If this rank has failed, aborts after a grace period, as the others may be
    /// waiting for it elsewhere.
    fn wait_for_all(&self, failure: Option<&(dyn std::error::Error + 'static)>) -> Result<()> {
        let since = Instant::now();
        let all_are_here = scope(|requests| {
            let mut barrier = self.engine.end.ibarrier(requests)?;
            while barrier.test()?.is_none() {
                if let Some(error) = failure
                    && since.elapsed() > GRACE
                {
                    self.abort(error);
                }
                std::thread::sleep(PAUSE);
            }
            Ok(())
        });
        all_are_here.map_err(failed)
    }

    /// Aborts all ranks.
    fn abort(&self, why: impl Display) -> ! {
        write(&format_args!("rank {}: {why}; aborting all ranks", self.engine.end.rank()));
        self.engine.end.abort(1)
    }

    /// Exchanges one message with each of some ranks: the next bytes for each, up to the size limit.
    fn exchange_messages(
        &self,
        outgoing: &mut [&[u8]],
        incoming: &mut [&mut [u8]],
        distances: Range<usize>,
    ) -> Result<()> {
        // Posted requests complete only if the other ranks post theirs, so an error here cannot be returned.
        let give_up = |error| self.abort(failed(error));
        let exchanged = scope(|requests| {
            for distance in distances {
                let (to, from) = self.partners(distance);
                let length = incoming[from].len().min(self.message);
                if let Some(piece) = incoming[from].split_off_mut(..length).filter(|piece| !piece.is_empty()) {
                    self.ranks.irecv(requests, piece, from as i32, TAG).map_or_else(give_up, drop);
                }
                let length = outgoing[to].len().min(self.message);
                if let Some(piece) = outgoing[to].split_off(..length).filter(|piece| !piece.is_empty()) {
                    self.ranks.isend(requests, piece, to as i32, TAG).map_or_else(give_up, drop);
                }
            }
            Ok(())
        });
        exchanged.map_err(failed)
    }

    /// Returns the rank to send to and the rank to receive from, at a distance.
    fn partners(&self, distance: usize) -> (usize, usize) {
        ((self.rank() + distance) % self.size(), (self.rank() + self.size() - distance) % self.size())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort("panicked");
        }
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.ranks.rank() as usize
    }

    fn size(&self) -> usize {
        self.ranks.size() as usize
    }

    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()> {
        let (mut send, mut receive) = (send, receive);
        let mut outgoing: Vec<&[u8]> = sent.iter().filter_map(|&count| send.split_off(..count)).collect();
        let mut incoming: Vec<&mut [u8]> =
            received.iter().filter_map(|&count| receive.split_off_mut(..count)).collect();
        incoming[self.rank()].copy_from_slice(outgoing[self.rank()]);
        // In a pass, a rank waits only for ranks that have not gone beyond it, so the rank furthest behind always
        // proceeds.
        for first in (1..self.size()).step_by(PARTNERS) {
            let distances = first..self.size().min(first + PARTNERS);
            let bytes = distances.clone().map(|distance| {
                let (to, from) = self.partners(distance);
                outgoing[to].len().max(incoming[from].len())
            });
            for _ in 0..bytes.max().unwrap_or(0).div_ceil(self.message) {
                self.exchange_messages(&mut outgoing, &mut incoming, distances.clone())?;
            }
        }
        Ok(())
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        if receive.len() <= self.message {
            // All counts are at most 2^30.
            let numbers: Vec<i32> = counts.iter().map(|&count| count as i32).collect();
            let starts: Vec<i32> = offsets_of(counts).iter().map(|&start| start as i32).collect();
            return self.ranks.allgatherv(own, receive, &numbers, &starts[..counts.len()]).map_err(failed);
        }
        let mut free = receive;
        for (root, &count) in counts.iter().enumerate() {
            let (block, others) = free.split_at_mut(count);
            if root == self.rank() {
                block.copy_from_slice(own);
            }
            for piece in block.chunks_mut(self.message) {
                self.ranks.broadcast(piece, root as i32).map_err(failed)?;
            }
            free = others;
        }
        Ok(())
    }

    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()> {
        let operation = match reduction {
            Reduction::Sum => ReduceOp::Sum,
            Reduction::Min => ReduceOp::Min,
            Reduction::Max => ReduceOp::Max,
        };
        let mut pieces = numbers.chunks_mut((self.message / size_of::<u64>()).max(1));
        pieces.try_for_each(|piece| self.ranks.allreduce_inplace(piece, operation)).map_err(failed)
    }

    fn barrier(&self) -> Result<()> {
        self.ranks.barrier().map_err(failed)
    }

    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>> {
        // MPI numbers have 31 bits; colors and keys may not fit, rank numbers do.
        let all = all_gather(self, [color as u64, key as u64])?;
        let mut members: Vec<usize> = (0..self.size()).filter(|&rank| all[rank][0] == color as u64).collect();
        let first = members[0];
        members.sort_by_key(|&rank| all[rank][1]);
        let place = members.iter().position(|&rank| rank == self.rank()).unwrap_or(0);
        match self.ranks.split(Some(first as i32), place as i32).map_err(failed)? {
            Some(ranks) => Ok(Box::new(Self { ranks, message: self.message, engine: Rc::clone(&self.engine) })),
            None => Err(failed("MPI_Comm_split gives this rank no communicator")),
        }
    }
}

/// Writes a line to standard error in a single call, as other ranks write too.
fn write(line: &dyn Display) {
    // An error here cannot be reported anywhere else.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn failed(cause: impl Display) -> Error {
    Error::new(ErrorKind::Rank, format!("MPI failed: {cause}"))
}
