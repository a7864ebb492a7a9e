//! A [`Communicator`] over an mpi4py communicator.
//!
//! In: an intracommunicator of mpi4py, and bytes to send. Out: bytes from other ranks. The MPI library is that of
//! mpi4py. Its functions are called with the GIL, which mpi4py releases while it waits.
//!
//! Messages are split into pieces that are copied to NumPy arrays. Python therefore never refers to Rust memory, and
//! counts fit the 31 bits that MPI has for them. Both sides know the count and split alike; empty messages are not
//! sent. Cost: two copies of the data. The buffers hold at most 2 * [`PARTNERS`] pieces at a time, and for gathered
//! data a second copy.

use std::mem::{forget, take};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::{Error, ErrorKind, Result};

/// The maximum number of bytes of a message between two ranks.
const PIECE: usize = 1 << 20;
/// The maximum number of bytes that a rank receives in one collective MPI call.
const GATHERED: usize = 1 << 30;
/// The number of ranks to which a rank sends at a time.
const PARTNERS: usize = 16;
const TAG: i32 = 1;

/// This process as a rank of a communicator.
pub struct Ranks {
    comm: Py<PyAny>,
    rank: usize,
    size: usize,
    limits: Limits,
    raised: Arc<FirstException>,
}

/// Limits on messages, which tests lower so that few points reach them.
#[derive(Clone, Copy, FromPyObject)]
pub struct Limits {
    /// The maximum number of bytes of a message between two ranks.
    piece: usize,
    /// The maximum number of bytes that a rank receives in one collective MPI call.
    gathered: usize,
    /// The number of ranks to which a rank sends at a time.
    partners: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { piece: PIECE, gathered: GATHERED, partners: PARTNERS }
    }
}

/// The first exception that the communicator raised.
#[derive(Default)]
pub struct FirstException(Mutex<Option<PyErr>>);

impl FirstException {
    /// Returns the exception if it is one that ends programs, such as `KeyboardInterrupt`, or a `MemoryError`. Such
    /// an exception is not an error of the communicator, and is raised unchanged.
    pub fn ends(&self, py: Python<'_>) -> Option<PyErr> {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.filter(|error| !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyMemoryError>(py))
    }

    fn error(&self, py: Python<'_>, error: PyErr) -> Error {
        let sentence = format!("the communicator failed: {}", error.value(py));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Error::new(ErrorKind::Rank, sentence)
    }
}

impl Ranks {
    /// Duplicates a communicator, so that no other messages interfere. Collective. [`Ranks::free`] frees the
    /// duplicate.
    pub fn new(comm: &Py<PyAny>, limits: Limits, raised: &Arc<FirstException>) -> Result<Self> {
        let opened = Python::attach(|py| {
            let open = || {
                let comm = comm.bind(py).call_method0("Dup")?;
                let number = |name: &str| comm.call_method0(name)?.extract::<usize>();
                let (rank, size) = (number("Get_rank")?, number("Get_size")?);
                Ok((comm.unbind(), rank, size))
            };
            open().map_err(|error| raised.error(py, error))
        });
        let (comm, rank, size) = opened?;
        Ok(Self { comm, rank, size, limits, raised: Arc::clone(raised) })
    }

    /// Frees the duplicate. Collective. If not all ranks get here, as after a failure of MPI, the duplicate must be
    /// leaked instead.
    pub fn free(self) -> Result<()> {
        self.with(|comm| comm.call_method0("Free").map(drop))
    }

    fn with<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| work(self.comm.bind(py)).map_err(|error| self.raised.error(py, error)))
    }

    /// Returns the rank to send to and the rank to receive from, at a distance in the ring of ranks.
    fn partners(&self, distance: usize) -> (usize, usize) {
        ((self.rank + distance) % self.size, (self.rank + self.size - distance) % self.size)
    }

    /// Exchanges one message with each of the partners at `distances`: the next bytes in each direction, at most one
    /// piece.
    fn pass(
        &self,
        comm: &Bound<'_, PyAny>,
        outgoing: &mut [&[u8]],
        incoming: &mut [&mut [u8]],
        distances: Range<usize>,
    ) -> PyResult<()> {
        let py = comm.py();
        let next = |bytes: &[u8]| bytes.len().min(self.limits.piece);
        // All allocations, which may fail, happen before MPI knows about any message.
        let (mut arriving, mut leaving) = (vec![], vec![]);
        for (to, from) in distances.map(|distance| self.partners(distance)) {
            let length = next(incoming[from]);
            if length > 0 {
                arriving.push((from, array(py, length)?));
            }
            let length = next(outgoing[to]);
            if let Some(piece) = outgoing[to].split_off(..length).filter(|piece| !piece.is_empty()) {
                leaving.push((to, copied(py, piece)?));
            }
        }
        let requests = Vec::with_capacity(arriving.len() + leaving.len());
        let mut posted = InFlightMessages { arriving, leaving, requests };
        posted.post(comm)?;
        for request in &posted.requests {
            request.call_method0("Wait")?;
        }
        posted.end().iter().try_for_each(|(from, array)| {
            let length = next(incoming[*from]);
            incoming[*from].split_off_mut(..length).map_or(Ok(()), |piece| copy_to(array, piece))
        })
    }
}

/// A rank, and the bytes that are sent to it or received from it.
type Message<'py> = (usize, Bound<'py, PyArray1<u8>>);

/// The buffers that MPI reads and writes during an exchange. Unless all requests have completed, they are leaked:
/// neither an exception nor a panic may free them while MPI uses them.
struct InFlightMessages<'py> {
    arriving: Vec<Message<'py>>,
    leaving: Vec<Message<'py>>,
    requests: Vec<Bound<'py, PyAny>>,
}

impl<'py> InFlightMessages<'py> {
    fn post(&mut self, comm: &Bound<'py, PyAny>) -> PyResult<()> {
        for (from, array) in &self.arriving {
            self.requests.push(comm.call_method1("Irecv", (array, *from, TAG))?);
        }
        for (to, array) in &self.leaving {
            self.requests.push(comm.call_method1("Isend", (array, *to, TAG))?);
        }
        Ok(())
    }

    /// Returns the received messages. To be called after all requests have completed.
    fn end(mut self) -> Vec<Message<'py>> {
        self.requests.clear();
        self.leaving.clear();
        take(&mut self.arriving)
    }
}

impl Drop for InFlightMessages<'_> {
    fn drop(&mut self) {
        forget((take(&mut self.arriving), take(&mut self.leaving), take(&mut self.requests)));
    }
}

/// Returns an uninitialized array. Raises `MemoryError` if memory is insufficient, where NumPy's C function would
/// panic.
fn array<T: Element>(py: Python<'_>, length: usize) -> PyResult<Bound<'_, PyArray1<T>>> {
    Ok(py.import("numpy")?.call_method1("empty", (length, T::get_dtype(py)))?.cast_into()?)
}

/// Returns an array with a copy of the values.
fn copied<'py, T: Element + Copy>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    let array = array(py, values.len())?;
    array.try_readwrite()?.as_slice_mut()?.copy_from_slice(values);
    Ok(array)
}

/// Copies the values of an array to a slice.
fn copy_to<T: Element + Copy>(array: &Bound<'_, PyArray1<T>>, values: &mut [T]) -> PyResult<()> {
    values.copy_from_slice(array.try_readonly()?.as_slice()?);
    Ok(())
}

impl Communicator for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_to_all_v(&self, send: &[u8], sent: &[usize], receive: &mut [u8], received: &[usize]) -> Result<()> {
        let (mut send, mut receive) = (send, receive);
        let mut outgoing: Vec<&[u8]> = sent.iter().filter_map(|&count| send.split_off(..count)).collect();
        let mut incoming: Vec<&mut [u8]> =
            received.iter().filter_map(|&count| receive.split_off_mut(..count)).collect();
        incoming[self.rank].copy_from_slice(outgoing[self.rank]);
        // No deadlock: within a round, a rank waits only for ranks that have not got further than itself. So the rank
        // that is furthest behind can always continue.
        for first in (1..self.size).step_by(self.limits.partners) {
            let distances = first..self.size.min(first + self.limits.partners);
            let bytes = distances.clone().map(|distance| {
                let (to, from) = self.partners(distance);
                outgoing[to].len().max(incoming[from].len())
            });
            for _ in 0..bytes.max().unwrap_or(0).div_ceil(self.limits.piece) {
                self.with(|comm| self.pass(comm, &mut outgoing, &mut incoming, distances.clone()))?;
            }
        }
        Ok(())
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        if receive.len() <= self.limits.gathered {
            return self.with(|comm| {
                let py = comm.py();
                let (own, all) = (copied(py, own)?, array(py, receive.len())?);
                comm.call_method1("Allgatherv", (own, (&all, PyList::new(py, counts)?)))?;
                copy_to(&all, receive)
            });
        }
        let mut free = receive;
        for (root, &count) in counts.iter().enumerate() {
            let (block, others) = free.split_at_mut(count);
            if root == self.rank {
                block.copy_from_slice(own);
            }
            for piece in block.chunks_mut(self.limits.piece) {
                self.with(|comm| {
                    let array = copied(comm.py(), piece)?;
                    comm.call_method1("Bcast", (&array, root))?;
                    copy_to(&array, piece)
                })?;
            }
            free = others;
        }
        Ok(())
    }

    fn all_reduce(&self, numbers: &mut [u64], reduction: Reduction) -> Result<()> {
        let name = match reduction {
            Reduction::Sum => "SUM",
            Reduction::Min => "MIN",
            Reduction::Max => "MAX",
        };
        for piece in numbers.chunks_mut((self.limits.piece / size_of::<u64>()).max(1)) {
            self.with(|comm| {
                let py = comm.py();
                let (own, all) = (copied(py, piece)?, array::<u64>(py, piece.len())?);
                let mpi = py.import("mpi4py.MPI")?;
                // By default mpi4py maps this type to MPI_UNSIGNED_LONG, which Open MPI 4.1 compares as a signed
                // type.
                let kind = mpi.getattr("UINT64_T")?;
                comm.call_method1("Allreduce", ((own, &kind), (&all, &kind), mpi.getattr(name)?))?;
                copy_to(&all, piece)
            })?;
        }
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.with(|comm| comm.call_method0("Barrier").map(drop))
    }

    /// Unsupported, since none of the functions called here splits a communicator.
    fn split(&self, _color: usize, _key: usize) -> Result<Box<dyn Communicator>> {
        Err(Error::new(ErrorKind::Unsupported, "use comm.Split to split an mpi4py communicator"))
    }
}
