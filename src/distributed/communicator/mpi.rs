//! Ranks that are processes of MPI.
//!
//! In: a program that `mpirun` or `srun` starts many times. Out: a [`Communicator`] of all of them. The feature `mpi` compiles a few
//! functions in C against the library of MPI that is found when the crate is built: by `pkg-config`, by `mpicc`, or as the variables
//! `MPICC` and `MPI_PKG_CONFIG` say. A program runs with that library alone, and is started by its `mpirun`. Which libraries are
//! tried is written in the package `ferrompi`.
//!
//! What goes from rank to rank is cut into messages of at most 2^30 bytes, as counts of MPI have 31 bits. Both sides know the count, so
//! they cut alike, and what is empty is not sent. Cost: no copy of what is sent.
//!
//! Of what another program has set up, as mpi4py or a simulation, nothing is taken over: its communicator is wrapped in a type of the
//! caller's which implements [`Communicator`] with its own calls.

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

/// The most bytes of a message.
const MESSAGE: usize = 1 << 30;
/// Ranks that one sends to at a time.
const PARTNERS: usize = 32;
const TAG: i32 = 1;
/// How long a rank that has failed waits for the others to end as well.
const GRACE: Duration = Duration::from_secs(5);
/// Between two looks at whether they have.
const PAUSE: Duration = Duration::from_millis(1);

/// One of several ranks that are processes of MPI.
///
/// A panic on one rank ends all of them. So does a rank that exits or is killed, if the program that has started them watches over them
/// as Open MPI's `mpirun` does. MPI ends when this and all that were split from it are dropped, and waits until it does so on all ranks.
///
/// It stays on the thread that made it.
pub struct Mpi {
    ranks: ferrompi::Communicator,
    message: usize,
    engine: Rc<Engine>,
}

/// MPI itself, which ends when it is dropped: after all communicators.
struct Engine {
    /// Nothing else talks here.
    end: ferrompi::Communicator,
    /// Is dropped last.
    _mpi: ferrompi::Mpi,
}

impl Mpi {
    /// Starts MPI, once in a process: a communicator of all ranks. A program that nothing has started many times is one rank.
    ///
    /// A program that may fail on some ranks uses [`Mpi::run`]. A library of MPI that cannot start ends the process by itself.
    ///
    /// # Errors
    /// If MPI was started before; if the library is not made for programs with threads.
    pub fn init() -> Result<Self> {
        let mpi = ferrompi::Mpi::init_thread(ThreadLevel::Funneled).map_err(failed)?;
        if mpi.thread_level() < ThreadLevel::Funneled {
            return Err(failed("this library is not made for programs with threads (MPI_THREAD_FUNNELED)"));
        }
        let world = mpi.world();
        let (ranks, end) = (world.duplicate().map_err(failed)?, world.duplicate().map_err(failed)?);
        Ok(Self { ranks, message: MESSAGE, engine: Rc::new(Engine { end, _mpi: mpi }) })
    }

    /// The number of this rank among those of its host, as for which of its devices it takes. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn rank_on_host(&self) -> Result<usize> {
        Ok(self.ranks.split_shared().map_err(failed)?.rank() as usize)
    }

    /// Starts MPI, works, and ends with the status of the program: the whole of `main`.
    ///
    /// If ranks have failed, all of them give the status of a failure, and the sentence of the first is written to standard error. If
    /// others do not know of it, as they would by [`agree`](crate::distributed::agree), and wait for this rank, all are ended after five
    /// seconds.
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

    /// The same ranks, with messages of at most so many bytes, from 1 to 2^30: for tests. All ranks give the same number.
    pub fn with_message_bytes(mut self, bytes: usize) -> Self {
        self.message = bytes.clamp(1, MESSAGE);
        self
    }

    /// Whether a rank has failed, after one that did has said so.
    fn finish(&self, failure: Option<&(dyn std::error::Error + 'static)>) -> Result<bool> {
        self.meet(failure)?;
        // A program that starts ranks may end all when the first returns, so nothing is written later. As in `agree`, those that have
        // the error of another rank come last.
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

    /// Waits until all ranks are here: not for long if this one has failed, as the others may be waiting for it elsewhere.
    fn meet(&self, failure: Option<&(dyn std::error::Error + 'static)>) -> Result<()> {
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

    /// Ends all ranks.
    fn abort(&self, why: impl Display) -> ! {
        write(&format_args!("rank {}: {why}; all ranks are ended", self.engine.end.rank()));
        self.engine.end.abort(1)
    }

    /// One message to each of some ranks, and one from each: their next bytes, as many as fit one.
    fn pass(&self, outgoing: &mut [&[u8]], incoming: &mut [&mut [u8]], distances: Range<usize>) -> Result<()> {
        // What is posted ends only if the other sides post, too, so that there is no way back from half of it.
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

    /// The rank to which one sends, and the one from which one receives.
    fn partners(&self, distance: usize) -> (usize, usize) {
        ((self.rank() + distance) % self.size(), (self.rank() + self.size() - distance) % self.size())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort("it has panicked");
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
        // A rank waits in a pass only for ranks that are not beyond it, so the one that is furthest behind goes on.
        for first in (1..self.size()).step_by(PARTNERS) {
            let distances = first..self.size().min(first + PARTNERS);
            let bytes = distances.clone().map(|distance| {
                let (to, from) = self.partners(distance);
                outgoing[to].len().max(incoming[from].len())
            });
            for _ in 0..bytes.max().unwrap_or(0).div_ceil(self.message) {
                self.pass(&mut outgoing, &mut incoming, distances.clone())?;
            }
        }
        Ok(())
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        if receive.len() <= self.message {
            // All numbers are at most 2^30.
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
        // Numbers of MPI have 31 bits, so it gets those of ranks.
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

/// A line of standard error, in one piece, as other ranks write, too.
fn write(line: &dyn Display) {
    // If it cannot be written, there is no better place to say so.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn failed(cause: impl Display) -> Error {
    Error::new(ErrorKind::Rank, format!("MPI failed: {cause}"))
}
