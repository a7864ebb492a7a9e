//! Messages of typed values instead of bytes.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::csr::Csr;
use crate::distributed::communicator::interface::{Communicator, Reduction};
use crate::error::Result;
use crate::memory::zeroed;

fn bytes_of<T>(counts: &[usize]) -> Vec<usize> {
    counts.iter().map(|count| count * size_of::<T>()).collect()
}

pub(super) fn offsets_of(counts: &[usize]) -> Vec<usize> {
    let mut end = 0;
    let ends = counts.iter().map(|count| {
        end += count;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// Gathers one value of each rank, by rank.
pub fn all_gather<T: Pod>(ranks: &dyn Communicator, own: T) -> Result<Vec<T>> {
    let mut all = vec![T::zeroed(); ranks.size()];
    ranks.all_gather_v(bytemuck::bytes_of(&own), cast_slice_mut(&mut all), &vec![size_of::<T>(); ranks.size()])?;
    Ok(all)
}

/// Gathers the values of all ranks, as one list per rank.
pub fn all_gather_v<T: Pod>(ranks: &dyn Communicator, own: &[T]) -> Result<Csr<T>> {
    let counts: Vec<usize> = all_gather(ranks, own.len() as u64)?.into_iter().map(|count| count as usize).collect();
    let mut all = zeroed(counts.iter().sum());
    ranks.all_gather_v(cast_slice(own), cast_slice_mut(&mut all), &bytes_of::<T>(&counts))?;
    Ok(Csr::from_parts(offsets_of(&counts), all))
}

/// Reduces one number of each rank.
pub fn reduce(ranks: &dyn Communicator, own: u64, reduction: Reduction) -> Result<u64> {
    let mut number = [own];
    ranks.all_reduce(&mut number, reduction)?;
    Ok(number[0])
}

/// Returns the position of each rank's first value if the values of all ranks are numbered by rank, followed by the
/// total number of values.
pub fn starts(ranks: &dyn Communicator, own: usize) -> Result<Vec<u64>> {
    let mut end = 0;
    let ends = all_gather(ranks, own as u64)?.into_iter().map(|count| {
        end += count;
        end
    });
    Ok(std::iter::once(0).chain(ends).collect())
}

/// Returns the number of values received from each rank; `sent` holds the numbers sent to each.
pub(crate) fn received(ranks: &dyn Communicator, sent: &[usize]) -> Result<Vec<usize>> {
    let sent: Vec<u64> = sent.iter().map(|&count| count as u64).collect();
    let mut received = vec![0u64; ranks.size()];
    let one = vec![size_of::<u64>(); ranks.size()];
    ranks.all_to_all_v(cast_slice(&sent), &one, cast_slice_mut(&mut received), &one)?;
    Ok(received.into_iter().map(|count| count as usize).collect())
}

/// Sends each rank its segment of `values`; the number of values received from each rank is known.
pub(crate) fn exchange_known<T: Pod>(
    ranks: &dyn Communicator,
    values: &[T],
    sent: &[usize],
    received: &[usize],
) -> Result<Vec<T>> {
    let mut all = zeroed(received.iter().sum());
    ranks.all_to_all_v(cast_slice(values), &bytes_of::<T>(sent), cast_slice_mut(&mut all), &bytes_of::<T>(received))?;
    Ok(all)
}

/// Sends each rank its segment of `values`. Returns one list per rank.
pub(crate) fn exchange<T: Pod>(ranks: &dyn Communicator, values: &[T], sent: &[usize]) -> Result<Csr<T>> {
    let received = received(ranks, sent)?;
    Ok(Csr::from_parts(offsets_of(&received), exchange_known(ranks, values, sent, &received)?))
}

/// Gathers the values of all ranks on rank `root`, as one list per rank; the lists are empty on other ranks.
pub fn gather<T: Pod>(ranks: &dyn Communicator, own: &[T], root: usize) -> Result<Csr<T>> {
    let mut sent = vec![0; ranks.size()];
    sent[root] = own.len();
    exchange(ranks, own, &sent)
}

/// Sends the values of rank `root` to all ranks; `own` is ignored on other ranks.
pub fn broadcast<T: Pod>(ranks: &dyn Communicator, own: &[T], root: usize) -> Result<Vec<T>> {
    let own = if ranks.rank() == root { own } else { &[] };
    let mut counts = vec![0; ranks.size()];
    counts[root] = reduce(ranks, own.len() as u64, Reduction::Max)? as usize;
    let mut all = zeroed(counts[root]);
    ranks.all_gather_v(cast_slice(own), cast_slice_mut(&mut all), &bytes_of::<T>(&counts))?;
    Ok(all)
}
