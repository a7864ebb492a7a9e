//! Errors that all ranks know of.

use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::distributed::communicator::typed::broadcast;
use crate::distributed::errors;
use crate::error::{Error, ErrorKind, Result};

/// The kinds of errors, in an order that all ranks know.
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

/// Where no rank has failed: more than any rank has for its number, and, as all that is compared, less than 2^63. MPICH 4.0.2 compares numbers
/// beyond that as negative ones (pmodels/mpich 6083), and Open MPI 4.1.2 those that are MPI_UNSIGNED_LONG (open-mpi/ompi 10525).
pub(super) const NO_RANK: u64 = i64::MAX as u64;

/// The result of this rank, if all ranks have one; else an error on all ranks: its own on the first that failed, and on the others
/// one with that rank's number, sentence and kind. What has been agreed on stays as it is if it is agreed on again.
///
/// Collective; costs a reduction. Where one rank may fail and others not, as in reading a file, it stands between that and the next
/// function that talks.
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
/// If a rank failed, or has ended.
pub fn agree<T>(ranks: &dyn Communicator, own: Result<T>) -> Result<T> {
    let size = ranks.size();
    // Those that have the error of another rank come last, as after a call that agrees by itself.
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
    // Its kind, then its sentence.
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
