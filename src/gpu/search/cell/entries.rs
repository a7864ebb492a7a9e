//! Lists of neighbours in a cell on a device, from the neighbours of points and of images: the GPU counterpart of
//! `search::cell::lists`.
//!
//! In: lists of stored points, and for each image the stored points near it. Out: full or half lists, each ascending
//! by index and shift.
//! Entries are sorted twice: by index and shift, then by list. Both sorts are stable.
//! Cost: the two sorts.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::csr::{Csr, list_of};
use crate::gpu::errors;
use crate::gpu::primitives::radix_sort::{Pairs, sort, sort_words};
use crate::gpu::primitives::scan::exclusive;
use crate::gpu::search::cell::images::ImageHits;

/// Lists of neighbours, with the codes of their shifts.
pub(super) struct Entries {
    pub offsets: Buffer<u32>,
    pub indices: Buffer<u32>,
    pub codes: Buffer<u32>,
}

/// The codes of shifts: the code of no shift, and the number of bits of a code.
#[derive(Clone, Copy)]
struct Codes {
    zero: u32,
    bits: u32,
}

impl Codes {
    fn new(zero: u32) -> Self {
        Self { zero, bits: u32::BITS - (2 * zero).leading_zeros() }
    }
}

impl Entries {
    /// No lists.
    pub fn none<R: Runtime>(client: &ComputeClient<R>) -> Self {
        Self { offsets: Buffer::filled(client, 1, 0), indices: Buffer::new(client, 0), codes: Buffer::new(client, 0) }
    }

    /// Merges the neighbours of stored points with those of images. For half lists, `stored` has half lists.
    ///
    /// Errors: more entries than a device can hold; the device fails.
    pub fn merged<R: Runtime, const D: usize>(
        client: &ComputeClient<R>,
        stored: &Csr,
        hits: &ImageHits,
        zero: u32,
        half: bool,
    ) -> Result<Self> {
        let n = stored.len();
        let (of_stored, of_images) = (stored.n_values(), hits.lists.n_values());
        let entries = of_stored as u64 + if half { 1 } else { 2 } * of_images as u64;
        // An entry has a shift for each lattice vector.
        if entries * D as u64 > u64::from(u32::MAX) {
            return Err(errors::too_many_values(u128::from(entries) * D as u128, "lattice shifts"));
        }
        check_allocation(client, u128::from(entries) * (4 * D as u128).max(8))?;
        let entries = entries as usize;
        let codes = Codes::new(zero);
        let offsets = Buffer::<u32>::filled(client, n + 1, 0);
        let pairs = Pairs { keys: Buffer::new(client, entries), values: Buffer::new(client, entries) };
        let output = || KeysLaunch::new(pairs.keys.arg(), pairs.values.arg(), offsets.arg());
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        if of_stored > 0 {
            write_stored::launch::<R>(
                client,
                blocks_for(of_stored),
                dim,
                stored.offsets.arg(),
                stored.values.arg(),
                output(),
                n as u32,
                of_stored as u32,
                codes.zero,
                codes.bits,
            );
        }
        if of_images > 0 {
            write_images::launch::<R>(
                client,
                blocks_for(of_images),
                dim,
                HitsLaunch::new(
                    hits.lists.offsets.arg(),
                    hits.lists.values.arg(),
                    hits.owners.arg(),
                    hits.numbers.arg(),
                ),
                output(),
                hits.lists.len() as u32,
                of_images as u32,
                of_stored as u32,
                codes.zero,
                codes.bits,
                half,
            );
        }
        exclusive(client, &offsets);
        if entries == 0 {
            return Ok(Self { offsets, ..Self::none(client) });
        }

        let Pairs { keys, values: lists } = sort(client, pairs)?;
        let words = Buffer::<u64>::new(client, entries);
        write_words::launch::<R>(client, blocks_for(entries), dim, lists.arg(), words.arg(), entries as u32);
        let positions = sort_words(client, words, n as u64);
        let (indices, found) = (Buffer::new(client, entries), Buffer::new(client, entries));
        take_entries::launch::<R>(
            client,
            blocks_for(entries),
            dim,
            keys.arg(),
            positions.arg(),
            indices.arg(),
            found.arg(),
            entries as u32,
            codes.bits,
        );
        Ok(Self { offsets, indices, codes: found })
    }
}

/// Adds the points near images to the numbers of neighbours.
pub(super) fn add_hits<R: Runtime>(client: &ComputeClient<R>, hits: &ImageHits, counts: &Buffer<u32>) {
    let entries = hits.lists.n_values();
    if entries > 0 {
        count_hits::launch::<R>(
            client,
            blocks_for(entries),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            HitsLaunch::new(hits.lists.offsets.arg(), hits.lists.values.arg(), hits.owners.arg(), hits.numbers.arg()),
            counts.arg(),
            hits.lists.len() as u32,
            entries as u32,
        );
    }
}

/// Images with the points near each.
#[derive(CubeType, CubeLaunch)]
struct Hits {
    offsets: Array<u32>,
    values: Array<u32>,
    owners: Array<u32>,
    numbers: Array<u32>,
}

/// Entries as keys, the number of the list of each, and the lengths of lists. The upper bits of a key are the index,
/// and the lower ones are the code of the shift.
#[derive(CubeType, CubeLaunch)]
struct Keys {
    keys: Array<u64>,
    lists: Array<u32>,
    lengths: Array<Atomic<u32>>,
}

/// Writes an entry at a position.
#[cube]
fn write_entry(output: &mut Keys, at: u32, list: u32, index: u32, code: u32, bits: u32) {
    output.keys[at as usize] = (u64::cast_from(index) << u64::cast_from(bits)) | u64::cast_from(code);
    output.lists[at as usize] = list;
    output.lengths[list as usize].fetch_add(1);
}

/// Writes an entry without a shift for each of `entries` values of `n` lists.
#[cube(launch)]
fn write_stored(
    offsets: &Array<u32>,
    values: &Array<u32>,
    output: &mut Keys,
    n: u32,
    entries: u32,
    zero: u32,
    bits: u32,
) {
    let at = ABSOLUTE_POS as u32;
    if at < entries {
        write_entry(output, at, list_of(offsets, n, at), values[at as usize], zero, bits);
    }
}

/// Writes the entries for each of `entries` points near images: one for each direction, or that of the lower index. The
/// first entry is at position `first`.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn write_images(
    hits: &Hits,
    output: &mut Keys,
    n_images: u32,
    entries: u32,
    first: u32,
    zero: u32,
    bits: u32,
    #[comptime] half: bool,
) {
    let at = ABSOLUTE_POS as u32;
    if at < entries {
        let image = list_of(&hits.offsets, n_images, at) as usize;
        let near = hits.values[at as usize];
        let (owner, number) = (hits.owners[image], hits.numbers[image]);
        let (after, before) = (zero + 1 + number, zero - 1 - number);
        if comptime!(half) {
            let is_higher = owner >= near;
            let (list, index) = (select(is_higher, near, owner), select(is_higher, owner, near));
            write_entry(output, first + at, list, index, select(is_higher, after, before), bits);
        } else {
            write_entry(output, first + 2 * at, near, owner, after, bits);
            write_entry(output, first + 2 * at + 1, owner, near, before, bits);
        }
    }
}

#[cube(launch)]
fn count_hits(hits: &Hits, counts: &mut Array<Atomic<u32>>, n_images: u32, entries: u32) {
    let at = ABSOLUTE_POS as u32;
    if at < entries {
        let owner = hits.owners[list_of(&hits.offsets, n_images, at) as usize];
        counts[owner as usize].fetch_add(1);
        counts[hits.values[at as usize] as usize].fetch_add(1);
    }
}

/// Writes words with the list of each entry in the upper half, and its position in the lower half.
#[cube(launch)]
fn write_words(lists: &Array<u32>, words: &mut Array<u64>, entries: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < entries {
        words[at] = (u64::cast_from(lists[at]) << 32u64) | u64::cast_from(at as u32);
    }
}

/// Splits the keys at `positions` into indices and codes.
#[cube(launch)]
fn take_entries(
    keys: &Array<u64>,
    positions: &Array<u32>,
    indices: &mut Array<u32>,
    codes: &mut Array<u32>,
    entries: u32,
    bits: u32,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < entries {
        let key = keys[positions[at] as usize];
        let index = key >> u64::cast_from(bits);
        indices[at] = u32::cast_from(index);
        codes[at] = u32::cast_from(key - (index << u64::cast_from(bits)));
    }
}
