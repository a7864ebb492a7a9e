//! What members feel of blocks that are far away.
//!
//! In: blocks. Out: for each the field of what is far from it, to first order, and which blocks are near; for some members the
//! sum over what is far from their block, to second order.
//! With rho² = R² + softening², a member at y from a centre adds m sum over l of |y|^l / rho^(l + 1) P_l. What follows l = 1
//! is at most B / (rho² (rho - b)), what follows l = 2 at most b B / (rho³ (rho - b)), where B = sum m |y|² and b is the
//! largest |y|; see `center::field`.
//! Source: Salmon and Warren 1994, section 3.

use cubecl::prelude::*;

use crate::gpu::planes::raise;

/// Four numbers that are loaded at once.
pub(super) type Four = Vector<f32, Const<4>>;

/// Adds to a number of two words.
#[cube]
pub(super) fn add_wide(words: &mut Array<Atomic<u32>>, at: u32, value: u32) {
    let old = words[2 * at as usize].fetch_add(value);
    if old > 0xffff_ffffu32 - value {
        words[2 * at as usize + 1].fetch_add(1);
    }
}

/// So many terms are added in single precision, before they go to a sum in double precision.
const TERMS: u32 = 32;

/// Whether two blocks, of which the centres and extents are given, are far from each other; the same in all kernels, for it is
/// rounded step by step.
#[cube]
pub(super) fn is_far(a: Four, reach: f32, b: Four, radius: f32, apart: f32) -> bool {
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

/// What is far from each block, and which blocks are not. A plane has a block, or a unit has where there are no planes.
#[cube(launch_unchecked)]
pub(super) fn look_far(
    moments: &Array<Four>,
    of_halos: &Array<u32>,
    first: &Array<u32>,
    owners: &Array<u32>,
    softening: &Array<f64>,
    far: &mut Array<f64>,
    field: &mut Array<f32>,
    near: &mut Array<u32>,
    counts: &mut Array<u32>,
    pairs: &mut Array<Atomic<u32>>,
    blocks: u32,
    most: u32,
    apart: f32,
    #[comptime] planes: bool,
) {
    let lanes = comptime!(if planes { 32u32 } else { 1u32 });
    let own = ABSOLUTE_POS as u32 / lanes;
    let lane = ABSOLUTE_POS as u32 % lanes;
    if own < blocks {
        let center = moments[own as usize * 2];
        let reach = moments[own as usize * 2 + 1][0];
        let halo = owners[own as usize];
        let (start, end) = (of_halos[halo as usize], of_halos[halo as usize + 1]);
        let softening2 = f32::cast_from(softening[0]);
        let mut sum = f64::cast_from(0u32.runtime());
        let mut sum_x = f64::cast_from(0u32.runtime());
        let mut sum_y = f64::cast_from(0u32.runtime());
        let mut sum_z = f64::cast_from(0u32.runtime());
        let mut error = f32::cast_from(0u32.runtime());
        let mut count = 0u32.runtime();
        let mut sources = 0u32.runtime();
        let turns = (end - start).div_ceil(lanes);
        for part in 0..turns.div_ceil(TERMS) {
            let mut part_sum = f32::cast_from(0u32.runtime());
            let mut part_x = f32::cast_from(0u32.runtime());
            let mut part_y = f32::cast_from(0u32.runtime());
            let mut part_z = f32::cast_from(0u32.runtime());
            for turn in part * TERMS..min(part * TERMS + TERMS, turns) {
                let other = start + turn * lanes + lane;
                let mut is_near = false.runtime();
                if other < end {
                    let source = moments[other as usize * 2];
                    let extent = moments[other as usize * 2 + 1];
                    if is_far(center, reach, source, extent[0], apart) {
                        let (dx, dy, dz) = (source[0] - center[0], source[1] - center[1], source[2] - center[2]);
                        let rho2 = dx * dx + dy * dy + dz * dz + softening2;
                        let inverse = rho2.inverse_sqrt();
                        let share = source[3] * inverse;
                        let slope = share * inverse * inverse;
                        part_sum += share;
                        part_x += slope * dx;
                        part_y += slope * dy;
                        part_z += slope * dz;
                        // Of the target's members: what follows the first order.
                        let q = reach * inverse;
                        error += share * q * q / (1.0f32 - q);
                        // Of the source's, as near as any target may be.
                        let nearest = 1.0f32 / (rho2 * inverse - reach);
                        let spread = extent[1] * nearest;
                        let rest = spread * spread / (1.0f32 - extent[0] * nearest) + extent[2] * nearest;
                        error += source[3] * nearest * rest;
                    } else {
                        is_near = true;
                        sources += first[other as usize + 1] - first[other as usize];
                    }
                }
                let mut place = count + 0;
                if comptime!(planes) {
                    let votes = plane_ballot(is_near)[0];
                    place += (votes & ((1u32 << lane) - 1)).count_ones();
                    count += votes.count_ones();
                } else {
                    count += u32::cast_from(is_near);
                }
                if is_near && place < most {
                    near[(own * most + place) as usize] = other;
                }
            }
            sum += f64::cast_from(part_sum);
            sum_x += f64::cast_from(part_x);
            sum_y += f64::cast_from(part_y);
            sum_z += f64::cast_from(part_z);
        }
        if comptime!(planes) {
            sum = plane_sum(sum);
            sum_x = plane_sum(sum_x);
            sum_y = plane_sum(sum_y);
            sum_z = plane_sum(sum_z);
            error = plane_sum(error);
            sources = plane_sum(sources);
        }
        if lane == 0 {
            far[own as usize] = sum;
            field[own as usize * 4] = f32::cast_from(sum_x);
            field[own as usize * 4 + 1] = f32::cast_from(sum_y);
            field[own as usize * 4 + 2] = f32::cast_from(sum_z);
            field[own as usize * 4 + 3] = added(error, end - start);
            counts[own as usize] = count;
            let targets = first[own as usize + 1] - first[own as usize];
            add_wide(pairs, halo, targets * (sources - 1) + (end - start));
        }
    }
}

/// Bounds of what some members feel, closer than those of all. Each has so many units, which are a plane if there are more than one.
#[cube(launch_unchecked)]
pub(super) fn look_closer(
    targets: &Array<u32>,
    axes: &Array<f64>,
    order: &Array<u32>,
    moments: &Array<Four>,
    seconds: &Array<f32>,
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
    #[comptime] lanes: u32,
    #[comptime] planes: bool,
) {
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
        let center = moments[block as usize * 2];
        let reach = moments[block as usize * 2 + 1][0];
        let x = f32::cast_from(axes[member] - f64::cast_from(center[0]));
        let y = f32::cast_from(axes[all as usize + member] - f64::cast_from(center[1]));
        let z = f32::cast_from(axes[2 * all as usize + member] - f64::cast_from(center[2]));
        let softening2 = f32::cast_from(softening[0]);
        let mut sum = f64::cast_from(0u32.runtime());
        let mut error = f32::cast_from(0u32.runtime());
        let (start, end) = (of_halos[halo as usize], of_halos[halo as usize + 1]);
        let turns = (end - start - min(lane, end - start)).div_ceil(lanes);
        for part in 0..turns.div_ceil(TERMS) {
            let mut part_sum = f32::cast_from(0u32.runtime());
            for turn in part * TERMS..min(part * TERMS + TERMS, turns) {
                let other = start + turn * lanes + lane;
                let source = moments[other as usize * 2];
                let extent = moments[other as usize * 2 + 1];
                if is_far(center, reach, source, extent[0], apart) {
                    let dx = (source[0] - center[0]) - x;
                    let dy = (source[1] - center[1]) - y;
                    let dz = (source[2] - center[2]) - z;
                    let inverse = (dx * dx + dy * dy + dz * dz + softening2).inverse_sqrt();
                    let share = source[3] * inverse;
                    let to = other as usize * 6;
                    let along = seconds[to] * dx * dx + seconds[to + 1] * dy * dy + seconds[to + 2] * dz * dz;
                    let across = seconds[to + 3] * dx * dy + seconds[to + 4] * dx * dz + seconds[to + 5] * dy * dz;
                    let trace = seconds[to] + seconds[to + 1] + seconds[to + 2];
                    let inverse2 = inverse * inverse;
                    let second = 1.5f32 * (along + 2.0f32 * across) * inverse2 - 0.5f32 * trace;
                    part_sum += share + share * second * inverse2;
                    let spread = extent[1] * inverse;
                    let q = extent[0] * inverse;
                    error += share * (spread * spread * q / (1.0f32 - q) + extent[2] * inverse);
                }
            }
            sum += f64::cast_from(part_sum);
        }
        if comptime!(lanes > 1) {
            sum = plane_sum(sum);
            error = plane_sum(error);
        }
        sum += near[own];
        let error = f64::cast_from(added(error, end - start)) + sum * f64::cast_from(rough);
        if lane == 0 {
            upper[i] = f32::cast_from(sum + error);
            bits = certain_bits(sum - error);
            add_wide(pairs, halo, end - start);
        }
    }
    raise(certain, halo, bits, planes);
}

/// A lower bound as bits, which are ordered as the bounds are; 0 for none. Roundings to `f32` are within what errors allow for.
#[cube]
pub(super) fn certain_bits(lower: f64) -> u32 {
    let mut bits = 0u32.runtime();
    if lower > f64::new(0.0) {
        bits = u32::reinterpret(f32::cast_from(lower.min(f64::new(1e38))));
    }
    bits
}
