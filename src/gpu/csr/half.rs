//! Half lists on a device, which store each pair once, and their expansion to full lists: the GPU counterpart of
//! `csr::half`.
//!
//! In: a search that finds the lower neighbours of each point, or half lists. Out: half lists or full lists, each in
//! ascending order.
//! A pair is a word, with the number of its list in the upper half. Words are written in the order of the entries, so
//! a stable sort by lists leaves the entries of each list ascending.
//! Cost: that of the search, and one radix sort of a word per entry.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::csr::{Csr, list_of};
use crate::gpu::device::{Device, on};
use crate::gpu::errors;
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::primitives::reduce::sum;
use crate::gpu::primitives::scan::exclusive;

/// Buffers for the number of lower and of higher neighbours of each point. Each ends with an extra 0.
pub(in crate::gpu) struct HalfLengths {
    pub below: Buffer<u32>,
    pub above: Buffer<u32>,
}

/// Builds the half lists of `n` points. `count` writes the numbers of neighbours. `write` receives the begin of the
/// words of each point, and writes a word for each of its lower neighbours. The upper half of a word is the neighbour,
/// and the lower half is the point.
///
/// Errors: more entries than a 32-bit index can address, or than a buffer of the device can hold.
pub(in crate::gpu) fn half_lists<R: Runtime>(
    client: &ComputeClient<R>,
    device: Device,
    n: usize,
    count: impl FnOnce(&HalfLengths),
    write: impl FnOnce(&Buffer<u32>, &Buffer<u64>),
) -> Result<Csr> {
    let lengths = HalfLengths { below: Buffer::filled(client, n + 1, 0), above: Buffer::filled(client, n + 1, 0) };
    count(&lengths);
    let words = allocate_words(client, sum(client, &lengths.below)?)?;
    exclusive(client, &lengths.below);
    exclusive(client, &lengths.above);
    write(&lengths.below, &words);
    Ok(Csr { device, offsets: lengths.above, values: sort_words(client, words, n as u64) })
}

/// Allocates a word for each list entry.
fn allocate_words<R: Runtime>(client: &ComputeClient<R>, entries: u64) -> Result<Buffer<u64>> {
    if entries > u64::from(u32::MAX) {
        return Err(errors::too_many_values(entries.into(), "list entries"));
    }
    check_allocation(client, 8 * u128::from(entries))?;
    Ok(Buffer::new(client, entries as usize))
}

impl Csr {
    /// Expands half lists to full lists, as [`crate::Csr::symmetric`]: list `i` of the result holds each point that
    /// forms a pair with point `i`, in ascending order.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32], [5.0], [1.0]], Device::first()?)?;
    /// let lists = bvh.half_neighbors(4.0)?.symmetric()?.read()?;
    /// assert_eq!(lists.into_parts(), (vec![0, 1, 2, 4], vec![2, 2, 0, 1]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`crate::Csr::symmetric`].
    /// - There are more than 2^31 - 1 pairs, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// A radix sort of two words per pair. Memory: 8 bytes per pair and 4 per list; while it runs, 32 bytes more per
    /// pair. The host waits for a check of the lists.
    pub fn symmetric(&self) -> Result<Self> {
        on!(self.device, client => {
            let (n, entries) = (self.len(), self.n_values());
            let words = allocate_words(client, 2 * entries as u64)?;
            let offsets = Buffer::<u32>::filled(client, n + 1, 0);
            let faults = Buffer::<u32>::filled(client, 1, 0);
            if entries > 0 {
                write_both::launch(
                    client,
                    blocks_for(entries),
                    CubeDim::new_1d(THREADS_PER_BLOCK),
                    self.offsets.arg(),
                    self.values.arg(),
                    offsets.arg(),
                    words.arg(),
                    faults.arg(),
                    n as u32,
                    entries as u32,
                );
            }
            if faults.read(client)?[0] != 0 {
                self.read()?.check_half()?;
            }
            exclusive(client, &offsets);
            Ok(Self { device: self.device, offsets, values: sort_words(client, words, n as u64) })
        })
    }
}

/// Writes two words for each of `entries` entries of `n` half lists, one for each direction of the pair, and counts the
/// entries of full lists. Sets `faults` if the lists are not half lists; their words are then undefined.
#[cube(launch)]
fn write_both(
    offsets: &Array<u32>,
    values: &Array<u32>,
    lengths: &mut Array<Atomic<u32>>,
    words: &mut Array<u64>,
    faults: &mut Array<u32>,
    n: u32,
    entries: u32,
) {
    let at = ABSOLUTE_POS as u32;
    if at < entries {
        let list = list_of(offsets, n, at);
        let value = values[at as usize];
        let mut last = list + 0;
        if at > offsets[list as usize] {
            last = values[(at - 1) as usize];
        }
        if value > last && value < n {
            lengths[list as usize].fetch_add(1);
            lengths[value as usize].fetch_add(1);
            let (lower, higher) = (u64::cast_from(list), u64::cast_from(value));
            // List `value` gets its lower entries from earlier lists, before its own entries.
            words[2 * at as usize] = (higher << 32u64) | lower;
            words[2 * at as usize + 1] = (lower << 32u64) | higher;
        } else {
            faults[0] = 1u32.runtime();
        }
    }
}
