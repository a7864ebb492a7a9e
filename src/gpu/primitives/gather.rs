//! Gathering of rows in a given order.
//!
//! In: rows of equal width, and the indices of some of them. Out: these rows, stored by row or by column.
//! Cost: one pass, with a random read for each row.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};

/// The storage order of gathered rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Layout {
    /// Row by row.
    Rows,
    /// Column by column, as the tree stores points: axis by axis.
    Columns,
}

/// Gathers the rows of `width` values at the indices in `order`.
pub(in crate::gpu) fn gather<R: Runtime, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    rows: &Buffer<T>,
    order: &Buffer<u32>,
    width: usize,
    layout: Layout,
) -> Buffer<T> {
    let gathered = Buffer::new(client, order.len() * width);
    gather_into(client, rows, order, width, layout, &gathered);
    gathered
}

/// Gathers the rows of `width` values at the indices in `order` into a buffer with room for them.
pub(in crate::gpu) fn gather_into<R: Runtime, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    rows: &Buffer<T>,
    order: &Buffer<u32>,
    width: usize,
    layout: Layout,
    gathered: &Buffer<T>,
) {
    let n = order.len();
    let (count, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
    gather_rows::launch::<T, R>(client, count, dim, rows.arg(), order.arg(), gathered.arg(), n as u32, width, layout);
}

#[cube(launch)]
fn gather_rows<T: Numeric>(
    rows: &Array<T>,
    order: &Array<u32>,
    gathered: &mut Array<T>,
    n: u32,
    #[comptime] width: usize,
    #[comptime] layout: Layout,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let from = order[i] as usize;
        #[unroll]
        for k in 0..width {
            let value = rows[from * width + k];
            if comptime!(layout == Layout::Rows) {
                gathered[i * width + k] = value;
            } else {
                gathered[k * n as usize + i] = value;
            }
        }
    }
}
