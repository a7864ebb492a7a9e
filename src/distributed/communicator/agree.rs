//! Agreement on errors: if one rank fails, all ranks fail.

use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::distributed::communicator::typed::broadcast;
use crate::distributed::errors;
use crate::error::{Error, ErrorKind, Result};

/// The kinds of errors; their positions here identify them in messages.
const KINDS: [ErrorKind; 12] = [
    ErrorKind::Internal,
    ErrorKind::NotFinite,
    ErrorKind::Input,
    ErrorKind::Parameter,
    ErrorKind::Missing,
    ErrorKind::Unsupported,
    ErrorKind::Memory,
    ErrorKind::Io,
    ErrorKind::Format,
    ErrorKind::Device,
    ErrorKind::Cancelled,
    ErrorKind::Rank,
];

/// Means that no rank has failed. Larger than any rank number and, like all numbers that ranks compare, below 2^63.
/// MPICH 4.0.2 compares larger numbers as negative ones (pmodels/mpich 6083), and so does Open MPI 4.1.2 with
/// MPI_UNSIGNED_LONG (open-mpi/ompi 10525).
pub(crate) const NO_RANK: u64 = i64::MAX as u64;

/// Returns the result of this rank, if all ranks succeeded; otherwise an error on all ranks.
///
/// The first rank that failed returns its own error. The others return an error with that rank's number, message and
/// kind. An error that was already agreed on is unchanged by another call. Call this between a step that can fail on
/// a single rank, such as reading a file, and the next collective function. Collective; costs a reduction.
///
/// ```
/// use ropewalk::distributed::{Communicator, agree, on_threads};
///
/// let error = on_threads(4, |ranks| {
///     let length = if ranks.rank() == 2 { -1.0 } else { 1.0 };
///     agree(ranks, ropewalk::Fof::new(length).run(&[[0.0f32]]).map(|_| ()))?;
///     ranks.barrier()
/// });
/// assert!(error.unwrap_err().to_string().contains("linking_length is -1"));
/// ```
///
/// # Errors
/// Fails if a rank failed, or has ended.
pub fn agree<T>(ranks: &dyn Communicator, own: Result<T>) -> Result<T> {
    let size = ranks.size();
    // Ranks that report the error of another rank come last, as after a nested `agree`.
    let mut first = [match &own {
        Ok(_) => NO_RANK,
        Err(error) => (ranks.rank() + if error.is_of_another_rank() { size } else { 0 }) as u64,
    }];
    ranks.all_reduce(&mut first, Reduction::Min)?;
    let [failed] = first;
    if failed == NO_RANK {
        return own;
    }
    let failed = failed as usize % size;
    // The kind of the error, then its message.
    let mut sentence = vec![];
    if let (true, Err(error)) = (failed == ranks.rank(), &own) {
        let kind = KINDS.iter().position(|&kind| kind == error.kind()).unwrap_or(0);
        sentence.push(kind as u8);
        sentence.extend(error.to_string().as_bytes());
    }
    let told = broadcast(ranks, &sentence, failed)?;
    match own {
        Err(error) if failed == ranks.rank() => Err(error),
        _ => Err(on_rank(failed, &told)),
    }
}

fn on_rank(rank: usize, told: &[u8]) -> Error {
    let (kind, sentence) = told.split_first().unwrap_or((&0, &[]));
    let kind = KINDS.get(usize::from(*kind)).copied().unwrap_or(ErrorKind::Internal);
    errors::on_rank(rank, kind, &String::from_utf8_lossy(sentence))
}
