//! The first member with the largest value in each halo.
//!
//! In: a value for each member, a potential or a number of friends. Out: for each halo the point with the largest
//! value, the first of ties, with that value and a count. Cost: a pass over the values, with a thread for each small
//! halo and a block for each large one; 12 to 16 bytes per halo.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::halo::centers::by_size::{HalosArg, SortedHalos};

/// The quantity to count in each halo.
pub(super) enum Count<'a> {
    /// The number of members with the largest value.
    Ties,
    /// Half the sum of these numbers, one for each member that has a value.
    HalfSum(&'a Buffer<u32>),
}

/// The results for some halos, on the device.
pub(super) struct Argmax<N> {
    points: Buffer<u32>,
    values: Buffer<N>,
    counts: Buffer<u32>,
}

/// The result for one halo, on the host.
pub(super) struct Maximum<N> {
    pub point: u32,
    pub value: N,
    pub count: u32,
}

/// The output of kernels.
#[derive(CubeType, CubeLaunch)]
struct ArgmaxArg<N: Numeric> {
    points: Array<u32>,
    values: Array<N>,
    counts: Array<u32>,
}

impl<N: Numeric + CubeElement> Argmax<N> {
    fn new<R: Runtime>(client: &ComputeClient<R>, n: usize) -> Self {
        Self { points: Buffer::new(client, n), values: Buffer::new(client, n), counts: Buffer::new(client, n) }
    }

    fn arg<R: Runtime>(&self) -> ArgmaxArgLaunch<N, R> {
        ArgmaxArgLaunch::new(self.points.arg(), self.values.arg(), self.counts.arg())
    }

    /// Copies the rows from the device.
    pub fn read<R: Runtime>(&self, client: &ComputeClient<R>) -> Result<Vec<Maximum<N>>> {
        let (points, values, counts) =
            (self.points.read(client)?, self.values.read(client)?, self.counts.read(client)?);
        let rows = points.into_iter().zip(values).zip(counts);
        Ok(rows.map(|((point, value), count)| Maximum { point, value, count }).collect())
    }
}

/// The results for the halos that are not large. `values` has a value for each of their members.
pub(super) fn argmax_small<R: Runtime, N: Numeric + CubeElement>(
    client: &ComputeClient<R>,
    halos: &SortedHalos,
    values: &Buffer<N>,
    counted: Count,
) -> Argmax<N> {
    let n = halos.len() - halos.large.halos;
    let best = Argmax::new(client, n);
    let none = Buffer::new(client, 0);
    let (addends, ties) = match counted {
        Count::Ties => (&none, true),
        Count::HalfSum(addends) => (addends, false),
    };
    if n > 0 {
        find_small::launch::<N, R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            values.arg(),
            addends.arg(),
            halos.arg(),
            best.arg(),
            halos.large.halos as u32,
            ties,
        );
    }
    best
}

/// The results for the large halos, counting ties. `values` has a value for each of their members.
pub(super) fn argmax_large<R: Runtime, N: Numeric + CubeElement>(
    client: &ComputeClient<R>,
    halos: &SortedHalos,
    values: &Buffer<N>,
) -> Argmax<N> {
    let n = halos.large.halos;
    let best = Argmax::new(client, n);
    if n > 0 {
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        find_large::launch::<N, R>(client, grid(n), dim, values.arg(), halos.arg(), best.arg(), n as u32);
    }
    best
}

/// Processes a halo per thread, from halo `large` on. `values` starts with the first member of halo `large`.
#[cube(launch)]
fn find_small<N: Numeric>(
    values: &Array<N>,
    addends: &Array<u32>,
    halos: &HalosArg,
    best: &mut ArgmaxArg<N>,
    large: u32,
    #[comptime] ties: bool,
) {
    let i = ABSOLUTE_POS;
    let halo = large as usize + i;
    if (halo as u32) < halos.n {
        let base = halos.offsets[large as usize];
        let (start, end) = (halos.offsets[halo] - base, halos.offsets[halo + 1] - base);
        let mut first = start + 0;
        let mut most = values[start as usize];
        let mut counted = 1u32.runtime();
        if comptime!(!ties) {
            counted = addends[start as usize];
        }
        for other in start + 1..end {
            let value = values[other as usize];
            if comptime!(!ties) {
                counted += addends[other as usize];
            }
            if value > most {
                most = value;
                first = other;
                if comptime!(ties) {
                    counted = 1u32.runtime();
                }
            } else if comptime!(ties) {
                if value == most {
                    counted += 1;
                }
            }
        }
        if comptime!(!ties) {
            counted /= 2;
        }
        best.points[i] = halos.members[(base + first) as usize];
        best.values[i] = most;
        best.counts[i] = counted;
    }
}

/// Processes a halo per block; each halo has more members than the block has threads.
#[cube(launch)]
fn find_large<N: Numeric>(values: &Array<N>, halos: &HalosArg, best: &mut ArgmaxArg<N>, large: u32) {
    let halo = CUBE_POS;
    if (halo as u32) < large {
        let mut firsts = SharedMemory::<u32>::new(THREADS_PER_BLOCK as usize);
        let mut mosts = SharedMemory::<N>::new(THREADS_PER_BLOCK as usize);
        let mut ties = SharedMemory::<u32>::new(THREADS_PER_BLOCK as usize);
        let (start, end) = (halos.offsets[halo], halos.offsets[halo + 1]);
        let mut first = start + UNIT_POS;
        let mut most = values[first as usize];
        let mut equal = 1u32.runtime();
        let mut other = start + UNIT_POS + THREADS_PER_BLOCK;
        while other < end {
            let value = values[other as usize];
            if value > most {
                most = value;
                first = other;
                equal = 1;
            } else if value == most {
                equal += 1;
            }
            other += THREADS_PER_BLOCK;
        }
        firsts[UNIT_POS as usize] = first;
        mosts[UNIT_POS as usize] = most;
        ties[UNIT_POS as usize] = equal;
        sync_cube();
        if UNIT_POS == 0 {
            for unit in 1..THREADS_PER_BLOCK as usize {
                if mosts[unit] > most {
                    most = mosts[unit];
                    first = firsts[unit];
                    equal = ties[unit];
                } else if mosts[unit] == most {
                    first = first.min(firsts[unit]);
                    equal += ties[unit];
                }
            }
            best.points[halo] = halos.members[first as usize];
            best.values[halo] = most;
            best.counts[halo] = equal;
        }
    }
}
