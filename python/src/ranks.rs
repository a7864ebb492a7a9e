//! Ranks that talk through a communicator of mpi4py.
//!
//! In: an intracommunicator that mpi4py has made, and bytes. Out: what other ranks have sent. The library of MPI is mpi4py's; its functions
//! are called with the interpreter's lock, which mpi4py lets go while it waits.
//!
//! What goes from rank to rank is cut into pieces that are copied into arrays of NumPy's: no memory of Rust is seen by Python, and no count
//! is beyond the 31 bits that MPI has for it. Both sides know the count, so they cut alike, and what is empty is not sent.
//! Cost: two copies of what is sent; of messages at most 2 * [`PARTNERS`] pieces at a time, of what all ranks tell all a second copy.

use std::mem::{forget, take};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::{Error, ErrorKind, Result};

/// The most bytes of a message between two ranks.
const PIECE: usize = 1 << 20;
/// The most bytes that a collective function of MPI gives to a rank.
const GATHERED: usize = 1 << 30;
/// Ranks that one sends to at a time.
const PARTNERS: usize = 16;
const TAG: i32 = 1;

/// One of the ranks of a communicator.
pub struct Ranks {
    comm: Py<PyAny>,
    rank: usize,
    size: usize,
    limits: Limits,
    raised: Arc<Raised>,
}

/// What tests reach by few points.
#[derive(Clone, Copy, FromPyObject)]
pub struct Limits {
    /// The most bytes of a message between two ranks.
    piece: usize,
    /// The most bytes that a collective function gives to a rank.
    gathered: usize,
    /// Ranks that one sends to at a time.
    partners: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { piece: PIECE, gathered: GATHERED, partners: PARTNERS }
    }
}

/// The first exception of a communicator.
#[derive(Default)]
pub struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    /// It, if it is one that ends programs, as `KeyboardInterrupt`, or one of memory: such an exception is no error of the communicator.
    pub fn ends(&self, py: Python<'_>) -> Option<PyErr> {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.filter(|error| !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyMemoryError>(py))
    }

    fn error(&self, py: Python<'_>, error: PyErr) -> Error {
        let sentence = format!("the communicator fails: {}", error.value(py));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Error::new(ErrorKind::Rank, sentence)
    }
}

impl Ranks {
    /// The ranks of a copy of a communicator, in which no other message is. Collective; [`Ranks::free`] ends it.
    pub fn new(comm: &Py<PyAny>, limits: Limits, raised: &Arc<Raised>) -> Result<Self> {
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

    /// Collective. Where ranks do not come to it together, as after a failure of MPI, the copy is left.
    pub fn free(self) -> Result<()> {
        self.with(|comm| comm.call_method0("Free").map(drop))
    }

    fn with<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| work(self.comm.bind(py)).map_err(|error| self.raised.error(py, error)))
    }

    /// The rank to which one sends, and the one from which one receives.
    fn partners(&self, distance: usize) -> (usize, usize) {
        ((self.rank + distance) % self.size, (self.rank + self.size - distance) % self.size)
    }

    /// One message to each of some ranks, and one from each: their next bytes, as many as fit one.
    fn pass(
        &self,
        comm: &Bound<'_, PyAny>,
        outgoing: &mut [&[u8]],
        incoming: &mut [&mut [u8]],
        distances: Range<usize>,
    ) -> PyResult<()> {
        let py = comm.py();
        let next = |bytes: &[u8]| bytes.len().min(self.limits.piece);
        // What may fail by itself does so before MPI knows of any of it.
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
        let mut posted = Posted { arriving, leaving, requests };
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

/// A rank, and the bytes that it sends or gets.
type Message<'py> = (usize, Bound<'py, PyArray1<u8>>);

/// What MPI reads and writes meanwhile. Unless all of it has ended, it stays for good: neither an exception nor a panic may free it.
struct Posted<'py> {
    arriving: Vec<Message<'py>>,
    leaving: Vec<Message<'py>>,
    requests: Vec<Bound<'py, PyAny>>,
}

impl<'py> Posted<'py> {
    fn post(&mut self, comm: &Bound<'py, PyAny>) -> PyResult<()> {
        for (from, array) in &self.arriving {
            self.requests.push(comm.call_method1("Irecv", (array, *from, TAG))?);
        }
        for (to, array) in &self.leaving {
            self.requests.push(comm.call_method1("Isend", (array, *to, TAG))?);
        }
        Ok(())
    }

    /// What has come, where all requests have ended.
    fn end(mut self) -> Vec<Message<'py>> {
        self.requests.clear();
        self.leaving.clear();
        take(&mut self.arriving)
    }
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        forget((take(&mut self.arriving), take(&mut self.leaving), take(&mut self.requests)));
    }
}

/// An array with any values. Where there is no memory for it, this is an exception; NumPy's own function in C would be a panic.
fn array<T: Element>(py: Python<'_>, length: usize) -> PyResult<Bound<'_, PyArray1<T>>> {
    Ok(py.import("numpy")?.call_method1("empty", (length, T::get_dtype(py)))?.cast_into()?)
}

/// An array with a copy of these values.
fn copied<'py, T: Element + Copy>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    let array = array(py, values.len())?;
    array.try_readwrite()?.as_slice_mut()?.copy_from_slice(values);
    Ok(array)
}

/// Copies the values of an array.
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
        // A rank waits in a pass only for ranks that are not beyond it, so the one that is furthest behind goes on.
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
                // mpi4py takes these for MPI_UNSIGNED_LONG, which Open MPI 4.1 compares as if it had a sign.
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

    /// What is calculated here splits none.
    fn split(&self, _color: usize, _key: usize) -> Result<Box<dyn Communicator>> {
        Err(Error::new(ErrorKind::Unsupported, "a communicator of mpi4py is split by its own Split"))
    }
}
