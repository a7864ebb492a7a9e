//! Some of many rows, in an order.
//!
//! In: rows of equal width, and which of them. Out: these, row by row or column by column.
//! Cost: one pass, with a random read for each row.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, UNITS, cubes};

/// How gathered rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Layout {
    /// Row after row.
    Rows,
    /// Column after column, as the tree stores points: axis by axis.
    #[cfg_attr(not(feature = "halos"), allow(dead_code))]
    Columns,
}

/// The rows of `width` values that `order` names.
pub(in crate::gpu) fn gather<R: Runtime, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    rows: &Buffer<T>,
    order: &Buffer<u32>,
    width: usize,
    layout: Layout,
) -> Buffer<T> {
    let n = order.len();
    let gathered = Buffer::new(client, n * width);
    let (count, dim) = (cubes(n), CubeDim::new_1d(UNITS));
    gather_rows::launch::<T, R>(client, count, dim, rows.arg(), order.arg(), gathered.arg(), n as u32, width, layout);
    gathered
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
