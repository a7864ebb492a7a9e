//! What members feel of blocks that are near, pair by pair.
//!
//! In: blocks, and which of them are near to each. Out: bounds of what each member feels, and how many pairs have no distance.
//! Sums are in single precision, a block at a time: differences of coordinates have the relative precision of `f32`, which is
//! either that of the points or, by a second `f32`, of what the first leaves; what is too near for that is summed in `f64`.
//! The relative error is below half of the `ROUGH` that is allowed for: 32 additions, a root of a sum, a product.

use cubecl::prelude::*;

use crate::gpu::halo::centers::blocks::{Vec4, center_of, radius_of};
use crate::gpu::halo::centers::direct::distance2;
use crate::gpu::halo::centers::far::{add_wide, certain_bits, is_far};
use crate::gpu::halo::centers::members::mass;
use crate::gpu::primitives::warp::{Warp, warp_atomic_max, warp_shuffle_down};

/// The least square of a distance from a member that single precision tells. Nearer ones are told otherwise by coordinates about the
/// first member of the halo, which are rounded to `f64`; and if they do not fit `f32`, by what two such numbers leave of them.
#[cube]
pub(in crate::gpu) fn least_told(axes: &Array<f64>, all: u32, member: u32, #[comptime] split: bool) -> f32 {
    let mut size2 = f32::cast_from(0u32.runtime());
    #[unroll]
    for k in 0..3usize {
        let x = f32::cast_from(axes[k * all as usize + member as usize]);
        size2 += x * x;
    }
    (size2 * comptime!(if split { 1e-15f32 } else { 1e-19f32 })).max(1e-30f32)
}

/// Bounds of what each member feels. A plane has a block, so that its units look at one source at a time; or a unit has a member where
/// there are no planes.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn look_near(
    axes: &Array<f64>,
    masses: &Array<f64>,
    softening: &Array<f64>,
    order: &Array<u32>,
    of_halos: &Array<u32>,
    of_members: &Array<u32>,
    first: &Array<u32>,
    owners: &Array<u32>,
    moments: &Array<Vec4>,
    values: &Array<Vec4>,
    rest: &Array<Vec4>,
    far: &Array<f64>,
    field: &Array<Vec4>,
    near: &Array<u32>,
    counts: &Array<u32>,
    nears: &mut Array<f64>,
    upper: &mut Array<f32>,
    certain: &mut Array<Atomic<u32>>,
    most_upper: &mut Array<Atomic<u32>>,
    coincident: &mut Array<Atomic<u32>>,
    n: u32,
    blocks: u32,
    all: u32,
    rough: f32,
    most: u32,
    apart: f32,
    #[comptime] weighted: bool,
    #[comptime] split: bool,
    #[comptime] warp: Warp,
) {
    let mut own = ABSOLUTE_POS as u32;
    let mut behind = n + 0;
    // Of blocks that fill no more than half of the units, each half looks at every other near block.
    let mut step = 1u32.runtime();
    let mut turn = 0u32.runtime();
    if comptime!(warp.is_some()) {
        let block = min(own / 32, blocks - 1);
        let digit_base = first[block as usize];
        behind = select(own / 32 < blocks, first[block as usize + 1], 0u32);
        own = digit_base + UNIT_POS % 32;
        if behind <= digit_base + 16 {
            step = 2u32.runtime();
            turn = UNIT_POS % 32 / 16;
            own = digit_base + UNIT_POS % 16;
        }
    }
    let is_member = own < behind;
    let has_bounds = is_member && turn == 0;
    let own = min(own, n - 1);
    let block = of_members[own as usize];
    let halo = owners[block as usize];
    let mut digit_base = of_halos[halo as usize];
    let mut number = of_halos[halo as usize + 1] - digit_base;
    let listed = counts[block as usize] <= most;
    if listed {
        digit_base = block * most;
        number = counts[block as usize];
    }
    let center = center_of(moments, block);
    let reach = radius_of(moments, block);
    let place = values[own as usize];
    let (x, y, z) = (place[0], place[1], place[2]);
    let least = least_told(axes, all, order[own as usize], split);
    let mut rest_x = f32::cast_from(0u32.runtime());
    let mut rest_y = f32::cast_from(0u32.runtime());
    let mut rest_z = f32::cast_from(0u32.runtime());
    if comptime!(split) {
        let place = rest[own as usize];
        rest_x = place[0];
        rest_y = place[1];
        rest_z = place[2];
    }
    let softening2 = f32::cast_from(softening[0]);
    let mut sum = f64::cast_from(0u32.runtime());
    let mut close = 0u32.runtime();
    let turns = select(is_member && turn < number, (number + step - 1 - turn) / step, 0u32);
    for i in 0..turns {
        let mut other = digit_base + i * step + turn;
        if listed {
            other = near[other as usize];
        }
        let mut part = f32::cast_from(0u32.runtime());
        let mut end = first[other as usize + 1];
        if !listed {
            if is_far(center, reach, center_of(moments, other), radius_of(moments, other), apart) {
                end = first[other as usize];
            }
        }
        for source in first[other as usize]..end {
            let place = values[source as usize];
            let mut dx = place[0] - x;
            let mut dy = place[1] - y;
            let mut dz = place[2] - z;
            if comptime!(split) {
                let place = rest[source as usize];
                dx += place[0] - rest_x;
                dy += place[1] - rest_y;
                dz += place[2] - rest_z;
            }
            let d2 = dx * dx + dy * dy + dz * dz;
            if d2 >= least {
                part += place[3] * (d2 + softening2).inverse_sqrt();
            } else {
                close += 1;
            }
        }
        sum += f64::cast_from(part);
    }
    if comptime!(warp.is_some()) {
        let (other_sum, other_close) =
            (warp_shuffle_down::<f64>(sum, 16, warp), warp_shuffle_down::<u32>(close, 16, warp));
        if step == 2 {
            sum += other_sum;
            close += other_close;
        }
    }
    let mut bits = 0u32.runtime();
    let mut upper_bits = 0u32.runtime();
    if has_bounds {
        let member = order[own as usize];
        // Only the member itself is at no distance, or all is done again with care.
        if close != 1 {
            let zero = f64::new(0.0);
            let mut here = f64::cast_from(0u32.runtime());
            let mut same = 0u32.runtime();
            sum = f64::cast_from(0u32.runtime());
            for i in 0..number {
                let mut other = digit_base + i;
                if listed {
                    other = near[(digit_base + i) as usize];
                }
                let mut end = first[other as usize + 1];
                if !listed {
                    if is_far(center, reach, center_of(moments, other), radius_of(moments, other), apart) {
                        end = first[other as usize];
                    }
                }
                for source in first[other as usize]..end {
                    let of = order[source as usize];
                    let d2 = distance2(axes, all, member, of);
                    let m = mass(masses, of, weighted);
                    if d2 > zero {
                        sum += m / (d2 + softening[0]).sqrt();
                    } else {
                        here += m;
                        same += 1;
                    }
                }
            }
            if same > 1 {
                add_wide(coincident, halo, same - 1);
                if softening[0] > zero {
                    sum += (here - mass(masses, member, weighted)) / softening[1];
                }
            }
        }
        // Where it is in its block, in units of that.
        let mut at = Array::<f32>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            at[k] = 0.0f32;
            if reach > 1e-30f32 {
                let from = f64::cast_from(center[k]);
                at[k] = f32::cast_from(axes[k * all as usize + member as usize] - from) / reach;
            }
        }
        let (x, y, z) = (at[0], at[1], at[2]);
        let row = block as usize * 3;
        let (one, two, three) = (field[row], field[row + 1], field[row + 2]);
        let slope = one[0] * x + one[1] * y + one[2] * z;
        let along = one[3] * x * x + two[0] * y * y + two[1] * z * z;
        let across = two[2] * x * y + two[3] * x * z + three[0] * y * z;
        let total = far[block as usize] + sum;
        let left_out = three[1] + three[2] * (x * x + y * y + z * z);
        let error = f64::cast_from(left_out) + total * f64::cast_from(rough);
        nears[own as usize] = sum;
        let felt = total + f64::cast_from(slope + 0.5f32 * along + across);
        let bound = f32::cast_from(felt + error);
        upper[own as usize] = bound;
        upper_bits = u32::reinterpret(bound);
        bits = certain_bits(felt - error);
    }
    warp_atomic_max(certain, halo, bits, warp);
    warp_atomic_max(most_upper, halo, upper_bits, warp);
}
