//! Ranks that talk through a communicator of mpi4py.
//!
//! In: an intracommunicator that mpi4py has made, and bytes. Out: what other ranks have sent. The library of MPI is mpi4py's; its functions
//! are called with the interpreter's lock, which mpi4py lets go while it waits.
//!
//! What goes from rank to rank is cut into pieces that are copied into arrays of NumPy's: no memory of Rust is seen by Python, and no count
//! is beyond the 31 bits that MPI has for it. Both sides know the count, so they cut alike, and what is empty is not sent.
//! Cost: two copies of what is sent; at most 2 * [`PARTNERS`] pieces at a time.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyList;
use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::{Error, ErrorKind, Result};

/// The most bytes of a message between two ranks.
const PIECE: usize = 1 << 24;
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
    piece: usize,
    raised: Arc<Raised>,
}

/// The first exception of a communicator.
#[derive(Default)]
pub struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    /// It, if it is one that ends programs, as `KeyboardInterrupt`: such an exception is no error of the call.
    pub fn ends(&self, py: Python<'_>) -> Option<PyErr> {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.filter(|error| !error.is_instance_of::<PyException>(py))
    }

    fn error(&self, py: Python<'_>, error: PyErr) -> Error {
        let sentence = format!("the communicator fails: {}", error.value(py));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Error::new(ErrorKind::Rank, sentence)
    }
}

impl Ranks {
    /// The ranks of a copy of a communicator, in which no other message is. Collective; [`Ranks::free`] ends it. `piece` is for tests: the
    /// most bytes of a message, if it is less than [`PIECE`].
    pub fn new(comm: &Py<PyAny>, piece: Option<usize>, raised: &Arc<Raised>) -> Result<Self> {
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
        let piece = piece.unwrap_or(PIECE).clamp(1, PIECE);
        Ok(Self { comm, rank, size, piece, raised: Arc::clone(raised) })
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
        let requests = PyList::empty(comm.py());
        let mut arrays = vec![];
        let exchanged =
            self.post(comm, (outgoing, &mut *incoming), distances, (&requests, &mut arrays)).and_then(|()| {
                requests.iter().try_for_each(|request| request.call_method0("Wait").map(drop))?;
                arrays.iter().try_for_each(|(from, array)| {
                    let length = incoming[*from].len().min(self.piece);
                    incoming[*from].split_off_mut(..length).map_or(Ok(()), |piece| take(array, piece))
                })
            });
        if exchanged.is_err() {
            // MPI may still write to what was posted, so it stays for good.
            std::mem::forget((requests.unbind(), arrays.into_iter().map(|array| array.1.unbind()).collect::<Vec<_>>()));
        }
        exchanged
    }

    /// Posts these messages: their requests, and for each that comes its rank and array.
    fn post<'py>(
        &self,
        comm: &Bound<'py, PyAny>,
        (outgoing, incoming): (&mut [&[u8]], &mut [&mut [u8]]),
        distances: Range<usize>,
        (requests, arrays): (&Bound<'py, PyList>, &mut Vec<Arrival<'py>>),
    ) -> PyResult<()> {
        let py = comm.py();
        for distance in distances {
            let (to, from) = self.partners(distance);
            let length = incoming[from].len().min(self.piece);
            if length > 0 {
                let array = PyArray1::zeros(py, length, false);
                arrays.push((from, array.clone()));
                requests.append(comm.call_method1("Irecv", (array, from, TAG))?)?;
            }
            let length = outgoing[to].len().min(self.piece);
            if let Some(piece) = outgoing[to].split_off(..length).filter(|piece| !piece.is_empty()) {
                requests.append(comm.call_method1("Isend", (PyArray1::from_slice(py, piece), to, TAG))?)?;
            }
        }
        Ok(())
    }
}

/// The rank that a message comes from, and where MPI puts it.
type Arrival<'py> = (usize, Bound<'py, PyArray1<u8>>);

/// Copies the values of an array.
fn take<T: Element + Copy>(array: &Bound<'_, PyArray1<T>>, values: &mut [T]) -> PyResult<()> {
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
        for first in (1..self.size).step_by(PARTNERS) {
            let distances = first..self.size.min(first + PARTNERS);
            let bytes = distances.clone().map(|distance| {
                let (to, from) = self.partners(distance);
                outgoing[to].len().max(incoming[from].len())
            });
            for _ in 0..bytes.max().unwrap_or(0).div_ceil(self.piece) {
                self.with(|comm| self.pass(comm, &mut outgoing, &mut incoming, distances.clone()))?;
            }
        }
        Ok(())
    }

    fn all_gather_v(&self, own: &[u8], receive: &mut [u8], counts: &[usize]) -> Result<()> {
        let most = if self.piece < PIECE { self.piece } else { GATHERED };
        if receive.len() <= most {
            return self.with(|comm| {
                let py = comm.py();
                let all = PyArray1::zeros(py, receive.len(), false);
                let lengths = PyList::new(py, counts)?;
                comm.call_method1("Allgatherv", (PyArray1::from_slice(py, own), (&all, lengths)))?;
                take(&all, receive)
            });
        }
        let mut free = receive;
        for (root, &count) in counts.iter().enumerate() {
            let (block, others) = free.split_at_mut(count);
            if root == self.rank {
                block.copy_from_slice(own);
            }
            for piece in block.chunks_mut(self.piece) {
                self.with(|comm| {
                    let array = PyArray1::from_slice(comm.py(), piece);
                    comm.call_method1("Bcast", (&array, root))?;
                    take(&array, piece)
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
        for piece in numbers.chunks_mut((self.piece / size_of::<u64>()).max(1)) {
            self.with(|comm| {
                let py = comm.py();
                let (own, all) = (PyArray1::from_slice(py, piece), PyArray1::<u64>::zeros(py, piece.len(), false));
                let mpi = py.import("mpi4py.MPI")?;
                // mpi4py takes these for MPI_UNSIGNED_LONG, which Open MPI 4.1 compares as if it had a sign.
                let kind = mpi.getattr("UINT64_T")?;
                comm.call_method1("Allreduce", ((own, &kind), (&all, &kind), mpi.getattr(name)?))?;
                take(&all, piece)
            })?;
        }
        Ok(())
    }

    fn barrier(&self) -> Result<()> {
        self.with(|comm| comm.call_method0("Barrier").map(drop))
    }

    fn split(&self, color: usize, key: usize) -> Result<Box<dyn Communicator>> {
        let comm = self.with(|comm| Ok(comm.call_method1("Split", (color, key))?.unbind()))?;
        let ranks = Self::new(&comm, Some(self.piece), &self.raised)?;
        Ok(Box::new(ranks))
    }
}
