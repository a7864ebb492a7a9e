//! Potentials by direct sums, bit by bit those of `center::direct`.
//!
//! In: members. Out: for all members of small halos, and for some of large ones, the sum of m / distance over the others.
//! The order of summation is that of the CPU: blocks of 512 members, in each eight interleaved sums, which are folded as a tree.
//! Products are rounded before they are added; roots and quotients must be rounded as IEEE 754 says, which a device is asked
//! for once ([`rounds_well`]).
//! Cost: n distances a sum in `f64`.

#![allow(unsafe_code)] // Measured in benches/README.md: hot kernels without checks of their own.

use std::sync::Mutex;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, count, cubes};
use crate::gpu::device::Device;
use crate::gpu::halo::centers::members::{Members, mass};

/// The most bound particles of small halos.
pub(in crate::gpu) struct Best {
    /// The point, by its index.
    pub points: Buffer<u32>,
    /// What it feels.
    pub felt: Buffer<f64>,
    /// Pairs of members at no distance.
    pub coincident: Buffer<u32>,
}

/// Of the halos from `large` on, whose members digit_base at `first`.
pub(in crate::gpu) fn most_bound<R: Runtime>(
    client: &ComputeClient<R>,
    members: &Members,
    offsets: &Buffer<u32>,
    points: &Buffer<u32>,
    [large, first]: [usize; 2],
) -> Best {
    let (halos, dim) = (offsets.len() - 1, CubeDim::new_1d(UNITS));
    let (left, few) = (halos - large, members.len - first);
    let best = Best {
        points: Buffer::new(client, left),
        felt: Buffer::new(client, left),
        coincident: Buffer::new(client, left),
    };
    if left == 0 {
        return best;
    }
    let (felt, others) = (Buffer::<f64>::new(client, few), Buffer::<u32>::new(client, few));
    // SAFETY: halos, blocks and members name each other by positions below the lengths of what is passed; loops are over
    // ranges of these.
    unsafe {
        sum_small::launch_unchecked::<R>(
            client,
            cubes(few),
            dim,
            members.axes.arg(),
            members.masses.arg(),
            members.owners.arg(),
            offsets.arg(),
            members.softening.arg(),
            felt.arg(),
            others.arg(),
            first as u32,
            members.len as u32,
            members.weighted,
        )
    };
    choose_small::launch::<R>(
        client,
        cubes(left),
        dim,
        felt.arg(),
        others.arg(),
        offsets.arg(),
        points.arg(),
        best.points.arg(),
        best.felt.arg(),
        best.coincident.arg(),
        large as u32,
        first as u32,
        halos as u32,
    );
    best
}

/// What these members feel.
pub(in crate::gpu) fn sums<R: Runtime>(
    client: &ComputeClient<R>,
    members: &Members,
    offsets: &Buffer<u32>,
    targets: &Buffer<u32>,
) -> Buffer<f64> {
    let n = targets.len();
    let felt = Buffer::<f64>::new(client, n);
    if n > 0 {
        // SAFETY: halos, blocks and members name each other by positions below the lengths of what is passed; loops are over
        // ranges of these.
        unsafe {
            sum_each::launch_unchecked::<R>(
                client,
                count(n),
                CubeDim::new_1d(UNITS),
                members.axes.arg(),
                members.masses.arg(),
                members.owners.arg(),
                offsets.arg(),
                members.softening.arg(),
                targets.arg(),
                felt.arg(),
                n as u32,
                members.len as u32,
                members.weighted,
            )
        };
    }
    felt
}

/// The square of the distance of two members, as the CPU rounds it.
#[cube]
pub(in crate::gpu) fn distance2(axes: &Array<f64>, n: u32, a: u32, b: u32) -> f64 {
    let zero = f64::new(0.0);
    let mut sum = zero;
    #[unroll]
    for k in 0..3usize {
        let gap = axes[k * n as usize + b as usize] - axes[k * n as usize + a as usize];
        // Fused already, so that it is not fused with the sum.
        sum += fma(gap, gap, zero);
    }
    sum
}

/// The eight sums of a block as one.
#[cube]
fn fold(s: &Array<f64>) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// A unit for each member of a halo that is one block.
#[cube(launch_unchecked)]
fn sum_small(
    axes: &Array<f64>,
    masses: &Array<f64>,
    owners: &Array<u32>,
    offsets: &Array<u32>,
    softening: &Array<f64>,
    felt: &mut Array<f64>,
    others: &mut Array<u32>,
    first: u32,
    n: u32,
    #[comptime] weighted: bool,
) {
    let own = first + ABSOLUTE_POS as u32;
    if own < n {
        let halo = owners[own as usize] as usize;
        let (start, end) = (offsets[halo], offsets[halo + 1]);
        let zero = f64::new(0.0);
        let mut lanes = Array::<f64>::new(8usize);
        #[unroll]
        for l in 0..8usize {
            lanes[l] = zero;
        }
        let mut here = f64::cast_from(0u32.runtime());
        let mut count = 0u32.runtime();
        let mut from = start + 0;
        while from < end {
            #[unroll]
            for l in 0..8usize {
                let other = from + l as u32;
                if other < end {
                    let d2 = distance2(axes, n, own, other);
                    let m = mass(masses, other, weighted);
                    if d2 > zero {
                        lanes[l] += m / (d2 + softening[0]).sqrt();
                    } else {
                        here += m;
                        count += 1;
                    }
                }
            }
            from += 8;
        }
        let mut sum = fold(&lanes);
        if count > 1 {
            if softening[0] > zero {
                sum += (here - mass(masses, own, weighted)) / softening[1];
            }
        }
        felt[ABSOLUTE_POS] = sum;
        others[ABSOLUTE_POS] = count - 1;
    }
}

/// A unit for each small halo.
#[cube(launch)]
fn choose_small(
    felt: &Array<f64>,
    others: &Array<u32>,
    offsets: &Array<u32>,
    members: &Array<u32>,
    best_points: &mut Array<u32>,
    best_felt: &mut Array<f64>,
    coincident: &mut Array<u32>,
    large: u32,
    first: u32,
    halos: u32,
) {
    let i = ABSOLUTE_POS;
    let halo = large as usize + i;
    if (halo as u32) < halos {
        let (start, end) = (offsets[halo], offsets[halo + 1]);
        let mut best = start + 0;
        let mut most = felt[(start - first) as usize];
        let mut pairs = others[(start - first) as usize];
        for other in start + 1..end {
            let sum = felt[(other - first) as usize];
            pairs += others[(other - first) as usize];
            if sum > most {
                most = sum;
                best = other;
            }
        }
        best_points[i] = members[best as usize];
        best_felt[i] = most;
        coincident[i] = pairs / 2;
    }
}

/// A cube for each target: 32 blocks at a time, eight units for each.
#[cube(launch_unchecked)]
fn sum_each(
    axes: &Array<f64>,
    masses: &Array<f64>,
    owners: &Array<u32>,
    offsets: &Array<u32>,
    softening: &Array<f64>,
    targets: &Array<u32>,
    felt: &mut Array<f64>,
    count: u32,
    n: u32,
    #[comptime] weighted: bool,
) {
    let target = CUBE_POS as u32;
    if target < count {
        let mut lanes = SharedMemory::<f64>::new(256usize);
        let mut blocks = SharedMemory::<f64>::new(32usize);
        let mut counts = SharedMemory::<u32>::new(256usize);
        let own = targets[target as usize];
        let halo = owners[own as usize] as usize;
        let (start, end) = (offsets[halo], offsets[halo + 1]);
        let zero = f64::new(0.0);
        let mut sum = f64::cast_from(0u32.runtime());
        let mut same = 0u32.runtime();
        let mut from = start + 0;
        while from < end {
            let block = from + UNIT_POS / 8 * 512;
            let mut block_end = block + 512;
            if block_end > end {
                block_end = end;
            }
            let mut lane = f64::cast_from(0u32.runtime());
            let mut other = block + UNIT_POS % 8;
            while other < block_end {
                let d2 = distance2(axes, n, own, other);
                if d2 > zero {
                    lane += mass(masses, other, weighted) / (d2 + softening[0]).sqrt();
                } else {
                    same += 1;
                }
                other += 8;
            }
            lanes[UNIT_POS as usize] = lane;
            sync_cube();
            if UNIT_POS < 32 {
                let s = UNIT_POS as usize * 8;
                let even = (lanes[s] + lanes[s + 4]) + (lanes[s + 2] + lanes[s + 6]);
                let odd = (lanes[s + 1] + lanes[s + 5]) + (lanes[s + 3] + lanes[s + 7]);
                blocks[UNIT_POS as usize] = even + odd;
            }
            sync_cube();
            // Blocks beyond the end add nothing. Others wait no longer: what they write next is not read here.
            if UNIT_POS == 0 {
                for block in 0..32usize {
                    sum += blocks[block];
                }
            }
            from += 32 * 512;
        }
        counts[UNIT_POS as usize] = same;
        sync_cube();
        if UNIT_POS == 0 {
            let mut all = 0u32.runtime();
            for unit in 0..256usize {
                all += counts[unit];
            }
            if all > 1 {
                if softening[0] > zero {
                    let mut here = f64::cast_from(0u32.runtime());
                    for other in start..end {
                        let d2 = distance2(axes, n, own, other);
                        if d2 == zero {
                            here += mass(masses, other, weighted);
                        }
                    }
                    sum += (here - mass(masses, own, weighted)) / softening[1];
                }
            }
            felt[target as usize] = sum;
        }
    }
}

/// Whether a device rounds quotients and roots in `f64` to the nearest number. CUDA promises that, Vulkan does not.
pub(in crate::gpu) fn rounds_well<R: Runtime>(client: &ComputeClient<R>, device: Device) -> Result<bool> {
    static KNOWN: Mutex<Vec<(Device, bool)>> = Mutex::new(vec![]);
    let known = || KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(&(_, well)) = known().iter().find(|(other, _)| *other == device) {
        return Ok(well);
    }
    // Of any magnitude that sums have, and squares' neighbours, whose roots are nearest to the middle between two numbers.
    let mut bits = 1u64;
    let numbers: Vec<f64> = (0..1 << 14)
        .flat_map(|i: u64| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits((bits >> 12) | (1023 - 100 + i % 200) << 52);
            let root = f64::from_bits((bits >> 12 | 1) | 1023 << 52);
            [number, (root * root).next_up(), (root * root).next_down()]
        })
        .collect();
    let (n, from) = (numbers.len(), Buffer::from_slice(client, &numbers));
    let (quotients, roots) = (Buffer::<f64>::new(client, n), Buffer::<f64>::new(client, n));
    let dim = CubeDim::new_1d(UNITS);
    divide_and_root::launch::<R>(client, cubes(n), dim, from.arg(), quotients.arg(), roots.arg(), n as u32);
    let (quotients, roots) = (quotients.read(client)?, roots.read(client)?);
    let well = (0..n).all(|i| quotients[i] == numbers[n - 1 - i] / numbers[i] && roots[i] == numbers[i].sqrt());
    known().push((device, well));
    Ok(well)
}

#[cube(launch)]
fn divide_and_root(numbers: &Array<f64>, quotients: &mut Array<f64>, roots: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        quotients[i] = numbers[n as usize - 1 - i] / numbers[i];
        roots[i] = numbers[i].sqrt();
    }
}
