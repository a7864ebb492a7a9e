//! What some members feel, pair by pair in single precision: the twin of `center::rough`.
//!
//! In: members in the order of their blocks, and which of them. Out: bounds of what these feel.
//! A cube takes some members at once, so that each source that is loaded serves all of these. Of the 32 terms that a unit adds in
//! `f32` the relative error is below half of the `ROUGH` that is allowed for, as in `near`.
//! Cost: n distances a member in `f32`.

use cubecl::prelude::*;

use crate::gpu::buffer::UNITS;
use crate::gpu::halo::centers::blocks::Vec4;
use crate::gpu::halo::centers::far::{TERMS, add_wide, certain_bits};
use crate::gpu::halo::centers::near::least_told;
use crate::gpu::primitives::warp::{WARPS, WIDTH, Warp, warp_sum};

/// Bounds of what some members feel, in ascending order, so many of them for each cube. Those that have others nearer than `f32`
/// can tell keep all chances.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn look_at_all(
    targets: &Array<u32>,
    axes: &Array<f64>,
    order: &Array<u32>,
    of_halos: &Array<u32>,
    of_members: &Array<u32>,
    first: &Array<u32>,
    owners: &Array<u32>,
    values: &Array<Vec4>,
    rest: &Array<Vec4>,
    softening: &Array<f64>,
    upper: &mut Array<f32>,
    certain: &mut Array<Atomic<u32>>,
    pairs: &mut Array<Atomic<u32>>,
    n: u32,
    all: u32,
    rough: f32,
    #[comptime] group: usize,
    #[comptime] split: bool,
    #[comptime] warp: Warp,
) {
    let base = CUBE_POS * group;
    if (base as u32) < n {
        let mut halos = Array::<u32>::new(group);
        let mut from = Array::<u32>::new(group);
        let mut to = Array::<u32>::new(group);
        let mut at = Array::<f32>::new(comptime!(3 * group));
        let mut rest_at = Array::<f32>::new(comptime!(3 * group));
        let mut least = Array::<f32>::new(group);
        let mut sums = Array::<f64>::new(group);
        let mut part = Array::<f32>::new(group);
        let mut close = Array::<u32>::new(group);
        #[unroll]
        for g in 0..group {
            // A target is a member; what a device that minds NaN otherwise may leave unset becomes the last one.
            let own = min(targets[min(base + g, n as usize - 1)], all - 1);
            let halo = owners[of_members[own as usize] as usize];
            halos[g] = halo;
            from[g] = first[of_halos[halo as usize] as usize];
            to[g] = first[of_halos[halo as usize + 1] as usize];
            let place = values[own as usize];
            least[g] = least_told(axes, all, order[own as usize], split);
            #[unroll]
            for k in 0..3usize {
                at[g * 3 + k] = place[k];
            }
            if comptime!(split) {
                let left = rest[own as usize];
                #[unroll]
                for k in 0..3usize {
                    rest_at[g * 3 + k] = left[k];
                }
            }
            sums[g] = f64::new(0.0);
            close[g] = 0;
        }
        let softening2 = f32::cast_from(softening[0]);
        // Halos of targets that follow each other follow each other, too.
        let (digit_base, end) = (from[0], to[comptime!(group - 1)]);
        let turns = (end - digit_base).div_ceil(UNITS);
        for section in 0..turns.div_ceil(TERMS) {
            #[unroll]
            for g in 0..group {
                part[g] = 0.0f32;
            }
            for turn in section * TERMS..min(section * TERMS + TERMS, turns) {
                let other = digit_base + turn * UNITS + UNIT_POS;
                if other < end {
                    let place = values[other as usize];
                    let mut left = Vec4::new(0.0f32);
                    if comptime!(split) {
                        left = rest[other as usize];
                    }
                    #[unroll]
                    for g in 0..group {
                        let mut d2 = 0.0f32;
                        #[unroll]
                        for k in 0..3usize {
                            let mut gap = place[k] - at[g * 3 + k];
                            if comptime!(split) {
                                gap += left[k] - rest_at[g * 3 + k];
                            }
                            d2 += gap * gap;
                        }
                        let inside = other >= from[g] && other < to[g];
                        let apart = d2 >= least[g];
                        let share = place[3] * (d2 + softening2).inverse_sqrt();
                        part[g] += select(inside && apart, share, 0.0f32);
                        close[g] += u32::cast_from(inside && !apart);
                    }
                }
            }
            #[unroll]
            for g in 0..group {
                sums[g] += f64::cast_from(part[g]);
            }
        }
        let rows = comptime!(if warp.is_some() { WARPS as usize } else { UNITS as usize });
        let mut shared = SharedMemory::<f64>::new(rows);
        let mut shared_close = SharedMemory::<u32>::new(rows);
        #[unroll]
        for g in 0..group {
            if comptime!(warp.is_some()) {
                let (sum, close) = (warp_sum::<f64>(sums[g], warp), warp_sum::<u32>(close[g], warp));
                if UNIT_POS % WIDTH == 0 {
                    shared[(UNIT_POS / WIDTH) as usize] = sum;
                    shared_close[(UNIT_POS / WIDTH) as usize] = close;
                }
            } else {
                shared[UNIT_POS as usize] = sums[g];
                shared_close[UNIT_POS as usize] = close[g];
            }
            sync_cube();
            if UNIT_POS == 0 && base + g < n as usize {
                let mut sum = f64::cast_from(0u32.runtime());
                let mut near = 0u32.runtime();
                for row in 0..rows {
                    sum += shared[row];
                    near += shared_close[row];
                }
                let error = sum * f64::cast_from(rough);
                let mut most = 3e38f32.runtime();
                // Only the member itself is at no distance.
                if near == 1 {
                    most = f32::cast_from(sum + error);
                    certain[halos[g] as usize].fetch_max(certain_bits(sum - error));
                }
                upper[base + g] = most;
                add_wide(pairs, halos[g], to[g] - from[g]);
            }
            sync_cube();
        }
    }
}
