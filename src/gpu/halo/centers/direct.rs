//! Potentials by direct summation, bit by bit those of `halo::centers::direct`.
//!
//! In: members. Out: for all members of small halos and for selected members of large ones, with the softening length
//! ε,
//! ```text
//! (9)  -φ_i = sum over j != i of m_j / sqrt(|x_j - x_i|² + ε²),   without the coincident j if ε = 0.
//! ```
//! The order of summation is that of the CPU: segments of 512 members, each with eight interleaved sums that are
//! combined as a tree. A product is rounded before it is added. Roots and quotients must be rounded according to IEEE
//! 754; `primitives::rounding` tests each device once. Cost: n distances per sum, in `f64`.

#![allow(unsafe_code)] // Measured in benches/LOG.md: hot kernels without bounds checks.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::halo::centers::argmax::{Argmax, Count, argmax_small};
use crate::gpu::halo::centers::by_size::{HalosArg, SortedHalos};
use crate::gpu::halo::centers::members::{Members, MembersArg, mass};

/// Members per segment, and interleaved sums per segment, as on the CPU.
const SEGMENT: u32 = 512;
const LANES: u32 = 8;
/// Segments that a block sums at once.
const SEGMENTS: u32 = THREADS_PER_BLOCK / LANES;

/// The most bound particles of small halos. The counts are numbers of coincident pairs.
pub(super) fn most_bound<R: Runtime>(client: &ComputeClient<R>, members: &Members, halos: &SortedHalos) -> Argmax<f64> {
    let first = halos.large.members;
    let n = members.len - first;
    let (sums, addends) = (Buffer::<f64>::new(client, n), Buffer::<u32>::new(client, n));
    if n > 0 {
        // SAFETY: the launch contract of `centers`. `sum_small` checks `own < members.n`; `sums` and `addends` have
        // `members.n - first` elements.
        unsafe {
            sum_small::launch_unchecked::<R>(
                client,
                blocks_for(n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                members.arg(),
                halos.arg(),
                sums.arg(),
                addends.arg(),
                first as u32,
            )
        };
    }
    argmax_small(client, halos, &sums, Count::HalfSum(&addends))
}

/// Computes equation (9) for some members.
pub(super) fn sums<R: Runtime>(
    client: &ComputeClient<R>,
    members: &Members,
    halos: &SortedHalos,
    targets: &Buffer<u32>,
) -> Buffer<f64> {
    let n = targets.len();
    let sums = Buffer::<f64>::new(client, n);
    if n > 0 {
        // SAFETY: the launch contract of `centers`. `targets` are positions of members; `sum_each` checks that the
        // block index is below `n`, the length of `targets` and `sums`.
        unsafe {
            sum_each::launch_unchecked::<R>(
                client,
                grid(n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                members.arg(),
                halos.arg(),
                targets.arg(),
                sums.arg(),
                n as u32,
            )
        };
    }
    sums
}

/// The squared distance of two members, rounded as on the CPU.
#[cube]
pub(super) fn distance2(members: &MembersArg, a: u32, b: u32) -> f64 {
    let zero = f64::new(0.0);
    let mut sum = zero;
    #[unroll]
    for k in 0..3usize {
        let axis = k * members.n as usize;
        let gap = members.axes[axis + b as usize] - members.axes[axis + a as usize];
        // The product is already an `fma`, so that it is not fused with the sum.
        sum += fma(gap, gap, zero);
    }
    sum
}

/// The parts of the sum (9) at a member, by whether sources coincide with it: the GPU version of the CPU's `Sum`.
#[derive(CubeType)]
pub(super) struct Sum {
    /// The sum of m / sqrt(d² + ε²) over sources with d > 0.
    pub separate_sum: f64,
    /// The mass and the number of the sources with d = 0, including the member itself.
    pub coincident_mass: f64,
    pub n_coincident: u32,
}

/// -φ of a member that is one of the sources. Coincident sources add their mass over ε, or nothing without softening.
#[cube]
pub(super) fn potential(members: &MembersArg, member: u32, pairs: &Sum) -> f64 {
    let mut sum = pairs.separate_sum;
    if pairs.n_coincident > 1 {
        if members.softening[0] > f64::new(0.0) {
            sum += (pairs.coincident_mass - mass(members, member)) / members.softening[1];
        }
    }
    sum
}

/// Sums a member per thread, for halos of a single segment.
#[cube(launch_unchecked)]
fn sum_small(members: &MembersArg, halos: &HalosArg, sums: &mut Array<f64>, addends: &mut Array<u32>, first: u32) {
    let own = first + ABSOLUTE_POS as u32;
    if own < members.n {
        let halo = members.owners[own as usize] as usize;
        let (start, end) = (halos.offsets[halo], halos.offsets[halo + 1]);
        let zero = f64::new(0.0);
        let mut lanes = Array::<f64>::new(LANES as usize);
        #[unroll]
        for l in 0..LANES as usize {
            lanes[l] = zero;
        }
        let mut coincident_mass = f64::cast_from(0u32.runtime());
        let mut n_coincident = 0u32.runtime();
        let mut from = start + 0;
        while from < end {
            #[unroll]
            for l in 0..LANES as usize {
                let other = from + l as u32;
                if other < end {
                    let d2 = distance2(members, own, other);
                    let m = mass(members, other);
                    if d2 > zero {
                        lanes[l] += m / (d2 + members.softening[0]).sqrt();
                    } else {
                        coincident_mass += m;
                        n_coincident += 1;
                    }
                }
            }
            from += LANES;
        }
        let even = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6]);
        let odd = (lanes[1] + lanes[5]) + (lanes[3] + lanes[7]);
        let pairs = Sum { separate_sum: even + odd, coincident_mass, n_coincident };
        sums[ABSOLUTE_POS] = potential(members, own, &pairs);
        addends[ABSOLUTE_POS] = n_coincident - 1;
    }
}

/// Sums a target per block. Each thread accumulates one interleaved sum, so that a block sums 32 segments at a time.
#[cube(launch_unchecked)]
fn sum_each(members: &MembersArg, halos: &HalosArg, targets: &Array<u32>, sums: &mut Array<f64>, n: u32) {
    let target = CUBE_POS as u32;
    if target < n {
        let mut lanes = SharedMemory::<f64>::new(THREADS_PER_BLOCK as usize);
        let mut segments = SharedMemory::<f64>::new(SEGMENTS as usize);
        let mut counts = SharedMemory::<u32>::new(THREADS_PER_BLOCK as usize);
        let own = targets[target as usize];
        let halo = members.owners[own as usize] as usize;
        let (start, end) = (halos.offsets[halo], halos.offsets[halo + 1]);
        let zero = f64::new(0.0);
        let mut separate_sum = f64::cast_from(0u32.runtime());
        let mut own_coincident = 0u32.runtime();
        let mut from = start + 0;
        while from < end {
            let segment = from + UNIT_POS / LANES * SEGMENT;
            let mut segment_end = segment + SEGMENT;
            if segment_end > end {
                segment_end = end;
            }
            let mut lane = f64::cast_from(0u32.runtime());
            let mut other = segment + UNIT_POS % LANES;
            while other < segment_end {
                let d2 = distance2(members, own, other);
                if d2 > zero {
                    lane += mass(members, other) / (d2 + members.softening[0]).sqrt();
                } else {
                    own_coincident += 1;
                }
                other += LANES;
            }
            lanes[UNIT_POS as usize] = lane;
            sync_cube();
            if UNIT_POS < SEGMENTS {
                let s = UNIT_POS as usize * LANES as usize;
                let even = (lanes[s] + lanes[s + 4]) + (lanes[s + 2] + lanes[s + 6]);
                let odd = (lanes[s + 1] + lanes[s + 5]) + (lanes[s + 3] + lanes[s + 7]);
                segments[UNIT_POS as usize] = even + odd;
            }
            sync_cube();
            // Segments beyond the end add nothing. The other threads need not wait, because this loop does not read
            // what they write next.
            if UNIT_POS == 0 {
                for segment in 0..SEGMENTS as usize {
                    separate_sum += segments[segment];
                }
            }
            from += SEGMENTS * SEGMENT;
        }
        counts[UNIT_POS as usize] = own_coincident;
        sync_cube();
        if UNIT_POS == 0 {
            let mut n_coincident = 0u32.runtime();
            for unit in 0..THREADS_PER_BLOCK as usize {
                n_coincident += counts[unit];
            }
            let mut coincident_mass = f64::cast_from(0u32.runtime());
            if n_coincident > 1 {
                if members.softening[0] > zero {
                    for other in start..end {
                        let d2 = distance2(members, own, other);
                        if d2 == zero {
                            coincident_mass += mass(members, other);
                        }
                    }
                }
            }
            let pairs = Sum { separate_sum, coincident_mass, n_coincident };
            sums[target as usize] = potential(members, own, &pairs);
        }
    }
}
