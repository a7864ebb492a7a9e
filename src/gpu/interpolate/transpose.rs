//! Transposed rows: a row for each source, with the targets to which it contributes.
//!
//! In: rows. Out: rows of their columns, each in ascending order of the original rows, as on the CPU. Entries are sorted
//! by column; no sum depends on the order of threads.
//! Cost: a stable sort of all entries. Memory: 28 bytes per entry while it runs.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::interpolate::rows::{Rows, checked_longest};
use crate::gpu::interpolate::sorted_rows::{rows_of_entries, sort_by_number};
use crate::gpu::primitives::gather::{Layout, gather};

/// Transposes rows whose indices are below `n_columns`. The degree of each new row is -1.
///
/// Errors: rows that are too long for the loops of a driver; a failing device.
pub(super) fn transposed<R: Runtime>(client: &ComputeClient<R>, rows: &Rows, n_columns: usize) -> Result<Rows> {
    let n = rows.indices.len();
    let order = sort_by_number(client, &rows.indices, Buffer::iota(client, n))?;
    let columns = gather(client, &rows.indices, &order, 1, Layout::Rows);
    let offsets = Buffer::<u32>::new(client, n_columns + 1);
    let (blocks, dim) = (blocks_for(n_columns + 1), CubeDim::new_1d(THREADS_PER_BLOCK));
    write_offsets::launch::<R>(client, blocks, dim, columns.arg(), offsets.arg(), n as u32, n_columns as u32 + 1);
    let longest = checked_longest(client, &offsets)?;
    Ok(Rows {
        offsets,
        indices: gather(client, &rows_of_entries(client, &rows.offsets, n), &order, 1, Layout::Rows),
        coefficients: gather(client, &rows.coefficients, &order, 1, Layout::Rows),
        slopes: None,
        degrees: Buffer::filled(client, n_columns, -1),
        longest,
    })
}

/// Writes the number of entries before each column. `columns` are sorted.
#[cube(launch)]
fn write_offsets(columns: &Array<u32>, offsets: &mut Array<u32>, n: u32, n_offsets: u32) {
    let column = ABSOLUTE_POS;
    if (column as u32) < n_offsets {
        let mut low = 0u32.runtime();
        let mut high = n + 0;
        while low < high {
            let middle = low + (high - low) / 2;
            if columns[middle as usize] < column as u32 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        offsets[column] = low;
    }
}
