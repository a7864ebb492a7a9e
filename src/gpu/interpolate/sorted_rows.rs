//! Rows of sources within a radius, sorted by distance.
//!
//! In: lists of sources in any order. Out: the same lists in ascending distance, ties by index, with squared
//! distances in `f64`. Three stable sorts of all entries: by index, by squared distance, by row.
//! Cost: some 15 digits of the radix sort, of which those equal for all entries are skipped. Memory: 40 bytes per
//! entry while it runs.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::metric::exact_distance2;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::{Pairs, sort};
use crate::gpu::primitives::scatter::invert;

/// Sorts each list by distance from its target. Returns indices and squared distances, concatenated.
///
/// Errors: a buffer that the device cannot hold; a failing device.
pub(super) fn sort_rows<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    sources: &Bvh<S, D>,
    targets: &Buffer<S>,
    lists: &Csr,
) -> Result<(Buffer<u32>, Buffer<f64>)> {
    let n = lists.n_values();
    if n == 0 {
        return Ok((Buffer::new(client, 0), Buffer::new(client, 0)));
    }
    check_allocation(client, 8 * n as u128)?;
    let (blocks, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
    let rows = rows_of_entries(client, &lists.offsets, n);
    let distances2 = Buffer::<f64>::new(client, n);
    let sides = sources.space.period().map_or([0.0; D], |sides| *sides);
    let entries = EntriesLaunch::new(
        sources.axes.arg(),
        invert(client, &sources.order).arg(),
        targets.arg(),
        rows.arg(),
        lists.values.arg(),
        Buffer::from_slice(client, &sides).arg(),
        sources.len() as u32,
        n as u32,
    );
    let is_periodic = sources.space.period().is_some();
    measure::launch::<S, R>(client, blocks.clone(), dim, entries, distances2.arg(), D, is_periodic);
    let order = sort_by_number(client, &lists.values, Buffer::iota(client, n))?;
    let keys = Buffer::<u64>::new(client, n);
    distance_keys::launch::<R>(client, blocks, dim, distances2.arg(), order.arg(), keys.arg(), n as u32);
    let order = sort_by_number(client, &rows, sort(client, Pairs { keys, values: order })?.values)?;
    let indices = gather(client, &lists.values, &order, 1, Layout::Rows);
    Ok((indices, gather(client, &distances2, &order, 1, Layout::Rows)))
}

/// Sorts the entries in `order` by their numbers; equal numbers keep their order.
pub(super) fn sort_by_number<R: Runtime>(
    client: &ComputeClient<R>,
    numbers: &Buffer<u32>,
    order: Buffer<u32>,
) -> Result<Buffer<u32>> {
    let n = order.len();
    let (keys, dim) = (Buffer::<u64>::new(client, n), CubeDim::new_1d(THREADS_PER_BLOCK));
    number_keys::launch::<R>(client, blocks_for(n), dim, numbers.arg(), order.arg(), keys.arg(), n as u32);
    Ok(sort(client, Pairs { keys, values: order })?.values)
}

/// Returns the row of each of `n` entries of lists.
pub(super) fn rows_of_entries<R: Runtime>(client: &ComputeClient<R>, offsets: &Buffer<u32>, n: usize) -> Buffer<u32> {
    let (rows, dim) = (Buffer::<u32>::new(client, n), CubeDim::new_1d(THREADS_PER_BLOCK));
    let n_rows = offsets.len() as u32 - 1;
    write_rows::launch::<R>(client, blocks_for(n), dim, offsets.arg(), rows.arg(), n_rows, n as u32);
    rows
}

#[cube(launch)]
fn write_rows(offsets: &Array<u32>, rows: &mut Array<u32>, n_rows: u32, n: u32) {
    let entry = ABSOLUTE_POS;
    if (entry as u32) < n {
        // The last row that begins at or before the entry, which is in `low..high`.
        let mut low = 0u32.runtime();
        let mut high = n_rows + 0;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if offsets[middle as usize] <= entry as u32 {
                low = middle;
            } else {
                high = middle;
            }
        }
        rows[entry] = low;
    }
}

/// The entries of lists.
#[derive(CubeType, CubeLaunch)]
struct Entries<F: Float> {
    /// Coordinates of the sources in tree order, axis by axis, and the position of each source in that order.
    axes: Array<F>,
    positions: Array<u32>,
    /// Coordinates of the targets, target by target.
    targets: Array<F>,
    /// The row and the source of each entry.
    rows: Array<u32>,
    indices: Array<u32>,
    sides: Array<f64>,
    n_sources: u32,
    n: u32,
}

/// Writes the squared distance of each entry.
#[cube(launch)]
fn measure<F: Float>(
    entries: &Entries<F>,
    distances2: &mut Array<f64>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let entry = ABSOLUTE_POS;
    if (entry as u32) < entries.n {
        let row = entries.rows[entry];
        let mut target = Array::<F>::new(d);
        #[unroll]
        for axis in 0..d {
            target[axis] = entries.targets[row as usize * d + axis];
        }
        let position = entries.positions[entries.indices[entry] as usize];
        distances2[entry] =
            exact_distance2::<F>(&entries.axes, position, entries.n_sources, &target, &entries.sides, d, periodic);
    }
}

/// Writes a key for each entry: its number.
#[cube(launch)]
fn number_keys(numbers: &Array<u32>, order: &Array<u32>, keys: &mut Array<u64>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        keys[at] = u64::cast_from(numbers[order[at] as usize]);
    }
}

/// Writes a key for each entry: the bits of its squared distance, which are in the order of the numbers.
#[cube(launch)]
fn distance_keys(distances2: &Array<f64>, order: &Array<u32>, keys: &mut Array<u64>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        keys[at] = u64::reinterpret(distances2[order[at] as usize]);
    }
}
