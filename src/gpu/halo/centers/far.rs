//! What members feel of blocks that are far away.
//!
//! In: blocks. Out: for each the field of what is far from it, and which blocks are near; for some members the sum over what is
//! far from their block. Both are to second order.
//! With rho² = R² + softening², a member at x from the centre of a block far away adds to what is felt at y from another centre
//! m sum over l of |z|^l / rho^(l + 1) P_l, where z = y - x; see `center::field`. What follows l = 2 is at most
//! m |z|³ / (rho³ (rho - |z|)). In sums over a block m z² is M y² + B, where B = sum m |x|², but for the moment of what is rounded
//! in the block's centre, which errors allow for: at most six times its share of rho / (rho - |z|).
//! Source: Salmon and Warren 1994, section 3.

use cubecl::prelude::*;

use crate::gpu::halo::centers::blocks::{Vec4, center_of, products_of, radius_of, squares_of};
use crate::gpu::primitives::warp::{Warp, warp_atomic_max, warp_ballot, warp_sum};

/// Adds to a number of two words.
#[cube]
pub(in crate::gpu) fn add_wide(words: &mut Array<Atomic<u32>>, at: u32, value: u32) {
    let old = words[2 * at as usize].fetch_add(value);
    if old > 0xffff_ffffu32 - value {
        words[2 * at as usize + 1].fetch_add(1);
    }
}

/// So many terms are added in single precision, before they go to a sum in double precision.
pub(in crate::gpu) const TERMS: u32 = 32;

/// Whether two blocks, of which the centres and extents are given, are far from each other; the same in all kernels, for it is
/// rounded step by step.
#[cube]
pub(in crate::gpu) fn is_far(a: Vec4, reach: f32, b: Vec4, radius: f32, apart: f32) -> bool {
    let zero = 0.0f32;
    let (dx, dy, dz) = (b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    let d2 = fma(dx, dx, zero) + fma(dy, dy, zero) + fma(dz, dz, zero);
    let limit = apart * (reach + radius);
    // Squares much smaller have no place in `f32`.
    d2 > (limit * limit).max(1e-24f32)
}

/// A sum of so many errors, all that rounding may have taken off included.
#[cube]
fn added(error: f32, terms: u32) -> f32 {
    error * (1.02f32 + f32::cast_from(terms) * 1.2e-7f32)
}

/// What the second moments of a block add along a way, in units of its share and of the distance squared.
#[cube]
fn bent(squares: Vec4, products: Vec4, x: f32, y: f32, z: f32) -> f32 {
    let along = squares[0] * x * x + squares[1] * y * y + squares[2] * z * z;
    let across = products[0] * x * y + products[1] * x * z + products[2] * y * z;
    1.5f32 * (along + across) - 0.5f32 * trace(squares)
}

/// The mean square of the distance from a block's centre.
#[cube]
fn trace(squares: Vec4) -> f32 {
    squares[0] + squares[1] + squares[2]
}

/// What is far from each block, and which blocks are not. A plane has a block, or a unit has where there are no planes.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn look_far(
    moments: &Array<Vec4>,
    of_halos: &Array<u32>,
    first: &Array<u32>,
    owners: &Array<u32>,
    softening: &Array<f64>,
    far: &mut Array<f64>,
    field: &mut Array<Vec4>,
    near: &mut Array<u32>,
    counts: &mut Array<u32>,
    pairs: &mut Array<Atomic<u32>>,
    blocks: u32,
    most: u32,
    apart: f32,
    #[comptime] warp: Warp,
) {
    let lanes = comptime!(warp.lanes());
    let own = ABSOLUTE_POS as u32 / lanes;
    let lane = ABSOLUTE_POS as u32 % lanes;
    if own < blocks {
        let center = center_of(moments, own);
        let reach = radius_of(moments, own);
        let halo = owners[own as usize];
        let (start, end) = (of_halos[halo as usize], of_halos[halo as usize + 1]);
        let softening2 = f32::cast_from(softening[0]);
        // The sum, its slopes, and its curvatures: xx, yy, zz, xy, xz, yz.
        let mut sums = Array::<f64>::new(10usize);
        let mut part = Array::<f32>::new(10usize);
        #[unroll]
        for k in 0..10usize {
            sums[k] = f64::new(0.0);
        }
        let mut error = f32::cast_from(0u32.runtime());
        let mut error_there = f32::cast_from(0u32.runtime());
        let mut count = 0u32.runtime();
        let mut sources = 0u32.runtime();
        let turns = (end - start).div_ceil(lanes);
        for section in 0..turns.div_ceil(TERMS) {
            #[unroll]
            for k in 0..10usize {
                part[k] = 0.0f32;
            }
            for turn in section * TERMS..min(section * TERMS + TERMS, turns) {
                let other = start + turn * lanes + lane;
                let mut is_near = false.runtime();
                if other < end {
                    let source = center_of(moments, other);
                    let squares = squares_of(moments, other);
                    if is_far(center, reach, source, squares[3], apart) {
                        let (dx, dy, dz) = (source[0] - center[0], source[1] - center[1], source[2] - center[2]);
                        let rho2 = dx * dx + dy * dy + dz * dz + softening2;
                        let inverse = rho2.inverse_sqrt();
                        let share = source[3] * inverse;
                        let q = reach * inverse;
                        let (slope, bend) = (share * q, share * q * q);
                        let (x, y, z) = (dx * inverse, dy * inverse, dz * inverse);
                        let products = products_of(moments, other);
                        let second = bent(squares, products, x, y, z);
                        part[0] += share + share * second * inverse * inverse;
                        part[1] += slope * x;
                        part[2] += slope * y;
                        part[3] += slope * z;
                        part[4] += bend * (3.0f32 * x * x - 1.0f32);
                        part[5] += bend * (3.0f32 * y * y - 1.0f32);
                        part[6] += bend * (3.0f32 * z * z - 1.0f32);
                        part[7] += 3.0f32 * bend * x * y;
                        part[8] += 3.0f32 * bend * x * z;
                        part[9] += 3.0f32 * bend * y * z;
                        // What follows the second order.
                        let both = reach + squares[3];
                        let root = (rho2 * inverse - both).inverse_sqrt();
                        let nearest = root * root;
                        let rest = share * both * nearest;
                        error += rest * (trace(squares) * inverse * inverse) + 6.0f32 * share * products[3] * nearest;
                        error_there += rest * q * q;
                    } else {
                        is_near = true;
                        sources += first[other as usize + 1] - first[other as usize];
                    }
                }
                let mut place = count + 0;
                if comptime!(warp.is_some()) {
                    let votes = warp_ballot(is_near, warp);
                    place += (votes & ((1u32 << lane) - 1)).count_ones();
                    count += votes.count_ones();
                } else {
                    count += u32::cast_from(is_near);
                }
                if is_near && place < most {
                    near[(own * most + place) as usize] = other;
                }
            }
            #[unroll]
            for k in 0..10usize {
                sums[k] += f64::cast_from(part[k]);
            }
        }
        let mut sum = sums[0];
        // What is multiplied by less than 1 needs no more than `f32`.
        #[unroll]
        for k in 1..10usize {
            part[k] = f32::cast_from(sums[k]);
        }
        if comptime!(warp.is_some()) {
            sum = warp_sum::<f64>(sum, warp);
            #[unroll]
            for k in 1..10usize {
                part[k] = warp_sum::<f32>(part[k], warp);
            }
            error = warp_sum::<f32>(error, warp);
            error_there = warp_sum::<f32>(error_there, warp);
            sources = warp_sum::<u32>(sources, warp);
        }
        if lane == 0 {
            far[own as usize] = sum;
            #[unroll]
            for row in 0..3usize {
                let mut four = Vec4::new(0.0f32);
                #[unroll]
                for k in 0..4usize {
                    if comptime!(row * 4 + k < 9) {
                        four[k] = part[row * 4 + k + 1];
                    }
                }
                if comptime!(row == 2) {
                    four[1] = added(error, end - start);
                    four[2] = added(error_there, end - start);
                }
                field[own as usize * 3 + row] = four;
            }
            counts[own as usize] = count;
            let targets = first[own as usize + 1] - first[own as usize];
            add_wide(pairs, halo, targets * (sources - 1) + (end - start));
        }
    }
}

/// Bounds of what some members feel, closer than those of all. A plane has a member, or a unit has where there are no planes.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn look_closer(
    targets: &Array<u32>,
    axes: &Array<f64>,
    order: &Array<u32>,
    moments: &Array<Vec4>,
    of_halos: &Array<u32>,
    of_members: &Array<u32>,
    owners: &Array<u32>,
    softening: &Array<f64>,
    near: &Array<f64>,
    upper: &mut Array<f32>,
    certain: &mut Array<Atomic<u32>>,
    pairs: &mut Array<Atomic<u32>>,
    n: u32,
    all: u32,
    rough: f32,
    apart: f32,
    #[comptime] warp: Warp,
) {
    let lanes = comptime!(warp.lanes());
    let i = ABSOLUTE_POS / lanes as usize;
    let lane = ABSOLUTE_POS as u32 % lanes;
    let mut halo = 0u32.runtime();
    let mut bits = 0u32.runtime();
    if (i as u32) < n {
        let own = targets[i] as usize;
        let member = order[own] as usize;
        let block = of_members[own];
        halo = owners[block as usize];
        // From the centre of the block, for which `f32` is precise enough.
        let center = center_of(moments, block);
        let reach = radius_of(moments, block);
        let x = f32::cast_from(axes[member] - f64::cast_from(center[0]));
        let y = f32::cast_from(axes[all as usize + member] - f64::cast_from(center[1]));
        let z = f32::cast_from(axes[2 * all as usize + member] - f64::cast_from(center[2]));
        let softening2 = f32::cast_from(softening[0]);
        let mut sum = f64::cast_from(0u32.runtime());
        let mut error = f32::cast_from(0u32.runtime());
        let (start, end) = (of_halos[halo as usize], of_halos[halo as usize + 1]);
        let turns = (end - start - min(lane, end - start)).div_ceil(lanes);
        for section in 0..turns.div_ceil(TERMS) {
            let mut part = f32::cast_from(0u32.runtime());
            for turn in section * TERMS..min(section * TERMS + TERMS, turns) {
                let other = start + turn * lanes + lane;
                let source = center_of(moments, other);
                let squares = squares_of(moments, other);
                if is_far(center, reach, source, squares[3], apart) {
                    let dx = (source[0] - center[0]) - x;
                    let dy = (source[1] - center[1]) - y;
                    let dz = (source[2] - center[2]) - z;
                    let rho2 = dx * dx + dy * dy + dz * dz + softening2;
                    let inverse = rho2.inverse_sqrt();
                    let share = source[3] * inverse;
                    let products = products_of(moments, other);
                    let second = bent(squares, products, dx * inverse, dy * inverse, dz * inverse);
                    part += share + share * second * inverse * inverse;
                    // Instead of a quotient, which takes longer.
                    let root = (rho2 * inverse - squares[3]).inverse_sqrt();
                    let rest = trace(squares) * inverse * inverse * squares[3] * root * root;
                    error += share * (rest + products[3] * inverse);
                }
            }
            sum += f64::cast_from(part);
        }
        if comptime!(warp.is_some()) {
            sum = warp_sum::<f64>(sum, warp);
            error = warp_sum::<f32>(error, warp);
        }
        sum += near[own];
        let error = f64::cast_from(added(error, end - start)) + sum * f64::cast_from(rough);
        if lane == 0 {
            upper[i] = f32::cast_from(sum + error);
            bits = certain_bits(sum - error);
            add_wide(pairs, halo, end - start);
        }
    }
    warp_atomic_max(certain, halo, bits, warp);
}

/// A lower bound as bits, which are ordered as the bounds are; 0 for none. Roundings to `f32` are within what errors allow for.
#[cube]
pub(in crate::gpu) fn certain_bits(lower: f64) -> u32 {
    let mut bits = 0u32.runtime();
    if lower > f64::new(0.0) {
        bits = u32::reinterpret(f32::cast_from(lower.min(f64::new(1e38))));
    }
    bits
}
