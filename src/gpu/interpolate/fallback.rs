//! The rows of targets without usable sources: the GPU version of the fallback in `interpolate::stencil`.
//!
//! In: rows with coefficients, and the degree of each target. Out: the same rows, except that targets without usable
//! coefficients have those of the fallback.
//! Cost: a wait for the number of such targets. If there are any, a search for each of them, and a copy of all rows.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::csr::Csr;
use crate::gpu::interpolate::inverse_distances::inverse_distances;
use crate::gpu::interpolate::rows::{Rows, UNUSABLE};
use crate::gpu::interpolate::stencil::Stencils;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::interpolate::Fallback;
use crate::interpolate::stencil::{FALLBACK_NEIGHBORS, FALLBACK_POWER};

/// Replaces the rows of targets whose degree is [`UNUSABLE`]. Also returns the number of such targets. Waits for it.
///
/// Errors: more coefficients than kernels can index; a failing device.
pub(super) fn replace_unusable<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    sources: &Bvh<S, D>,
    targets: &Points<S, D>,
    rows: Rows,
    fallback: Fallback,
) -> Result<(Rows, usize)> {
    let (n, dim) = (targets.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let flags = Buffer::<u32>::filled(client, n + 1, 0);
    flag_unusable::launch::<R>(client, blocks_for(n), dim, rows.degrees.arg(), flags.arg(), n as u32);
    let unusable = Compact::new(client, flags)?;
    if unusable.len == 0 {
        return Ok((rows, 0));
    }
    let k = match fallback {
        Fallback::Nan => 0,
        Fallback::Nearest => 1,
        Fallback::InverseDistance => FALLBACK_NEIGHBORS,
    };
    let values = gather(client, &targets.values, &unusable.items(client), D, Layout::Rows);
    let points = Points { values, len: unusable.len, ..targets.clone() };
    let near = Stencils::nearest(client, sources, &points, k)?;
    let others = near.rows(client, 0)?;
    inverse_distances(client, &near, FALLBACK_POWER, &others);
    Ok((merged(client, rows, &others, &unusable, D)?, unusable.len))
}

#[cube(launch)]
fn flag_unusable(degrees: &Array<i32>, flags: &mut Array<u32>, n: u32) {
    let target = ABSOLUTE_POS;
    if (target as u32) < n {
        flags[target] = select(degrees[target] == comptime!(UNUSABLE), 1u32, 0u32);
    }
}

/// Replaces the flagged rows by those of `others`, whose slopes are 0.
fn merged<R: Runtime>(
    client: &ComputeClient<R>,
    rows: Rows,
    others: &Rows,
    unusable: &Compact,
    axes: usize,
) -> Result<Rows> {
    let (n, dim) = (rows.degrees.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let offsets = Buffer::<u32>::filled(client, n + 1, 0);
    let both = || MergeLaunch::new(unusable.ranks.arg(), rows.offsets.arg(), others.offsets.arg(), n as u32);
    let degrees = rows.degrees.arg();
    merge_lengths::launch::<R>(client, blocks_for(n), dim, both(), offsets.arg(), degrees);
    let indices = Csr::allocate_values(client, &offsets)?;
    let entries = indices.len();
    let coefficients = Buffer::<f64>::new(client, entries);
    let slopes = rows.slopes.as_ref().map(|_| Buffer::<f64>::new(client, entries * axes));
    let entries_of = |rows: &Rows, slopes: &Buffer<f64>| {
        EntriesLaunch::new(rows.indices.arg(), rows.coefficients.arg(), slopes.arg())
    };
    let own_slopes = rows.slopes.as_ref().unwrap_or(&rows.coefficients);
    let into = slopes.as_ref().unwrap_or(&coefficients);
    merge_entries::launch::<R>(
        client,
        blocks_for(n),
        dim,
        both(),
        entries_of(&rows, own_slopes),
        entries_of(others, &others.coefficients),
        offsets.arg(),
        EntriesLaunch::new(indices.arg(), coefficients.arg(), into.arg()),
        if slopes.is_some() { axes } else { 0 },
    );
    let longest = rows.longest.max(others.longest);
    Ok(Rows { offsets, indices, coefficients, slopes, degrees: rows.degrees, longest })
}

/// Rows, and the rows that replace some of them.
#[derive(CubeType, CubeLaunch)]
struct Merge {
    /// For each row the number of replaced rows before it.
    ranks: Array<u32>,
    offsets: Array<u32>,
    other_offsets: Array<u32>,
    n: u32,
}

/// The sources of rows with their coefficients and slopes.
#[derive(CubeType, CubeLaunch)]
struct Entries {
    indices: Array<u32>,
    coefficients: Array<f64>,
    slopes: Array<f64>,
}

#[cube]
impl Merge {
    /// Returns `true` if a row is replaced.
    fn is_replaced(&self, row: usize) -> bool {
        self.ranks[row + 1] > self.ranks[row]
    }

    /// Returns the first place of a row, or of the row that replaces it.
    fn first(&self, row: usize) -> u32 {
        let other = min(self.ranks[row], max(self.ranks[self.n as usize], 1u32) - 1);
        select(self.is_replaced(row), self.other_offsets[other as usize], self.offsets[row])
    }

    /// Returns the length of a row, or of the row that replaces it.
    fn length(&self, row: usize) -> u32 {
        let other = min(self.ranks[row], max(self.ranks[self.n as usize], 1u32) - 1);
        let replaced = self.other_offsets[other as usize + 1] - self.other_offsets[other as usize];
        select(self.is_replaced(row), replaced, self.offsets[row + 1] - self.offsets[row])
    }
}

/// Writes the length of each row, and the degree of replaced rows.
#[cube(launch)]
fn merge_lengths(merge: &Merge, lengths: &mut Array<u32>, degrees: &mut Array<i32>) {
    let row = ABSOLUTE_POS;
    if (row as u32) < merge.n {
        let length = merge.length(row);
        lengths[row] = length;
        if merge.is_replaced(row) {
            degrees[row] = select(length > 0, 0i32, -1i32);
        }
    }
}

/// Copies the entries of each row.
#[cube(launch)]
fn merge_entries(
    merge: &Merge,
    own: &Entries,
    others: &Entries,
    offsets: &Array<u32>,
    merged: &mut Entries,
    #[comptime] axes: usize,
) {
    let row = ABSOLUTE_POS;
    if (row as u32) < merge.n {
        let (from, to) = (merge.first(row), offsets[row]);
        let is_replaced = merge.is_replaced(row);
        for at in 0..merge.length(row) {
            let (place, into) = ((from + at) as usize, (to + at) as usize);
            if is_replaced {
                merged.indices[into] = others.indices[place];
                merged.coefficients[into] = others.coefficients[place];
                #[unroll]
                for axis in 0..axes {
                    merged.slopes[into * axes + axis] = f64::new(0.0);
                }
            } else {
                merged.indices[into] = own.indices[place];
                merged.coefficients[into] = own.coefficients[place];
                #[unroll]
                for axis in 0..axes {
                    merged.slopes[into * axes + axis] = own.slopes[place * axes + axis];
                }
            }
        }
    }
}
