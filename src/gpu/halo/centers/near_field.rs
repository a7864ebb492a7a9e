//! The first bounds of all members: near blocks pair by pair, far blocks by their local expansions.
//!
//! In: blocks, local expansions, lists of near blocks. Out: for each member the sum over near blocks, bounds on -φ,
//! and the number of members that coincide with it.
//! ```text
//! (8)  -φ = S_near - φ_far(y) ± (E_far(y) + 1e-5 (S_near + S)),   with φ_far, its error E_far and S of equation (5).
//! ```
//! Sums are in single precision, a block at a time. Differences of coordinates have the relative precision of `f32`.
//! If another member is too close for that, the sum is recomputed in `f64`. The relative error is below half of
//! [`RELATIVE_ERROR`]: 32 additions, a root of a sum, a product. Cost: a pair for each two members of near blocks; 12
//! bytes per member. Source: as `local_expansion`.

#![allow(unsafe_code)] // Measured in benches/LOG.md: hot kernels without bounds checks.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::halo::centers::blocks::{BLOCK, Blocks, BlocksArg};
use crate::gpu::halo::centers::bounds::{HaloBounds, RELATIVE_ERROR, add_u64, lower_bits};
use crate::gpu::halo::centers::direct::{Sum, distance2, potential};
use crate::gpu::halo::centers::local_expansion::{FarArg, Interactions, expanded, is_far};
use crate::gpu::halo::centers::members::{Members, MembersArg, mass};
use crate::gpu::halo::centers::multipole::{center_of, radius_of};
use crate::gpu::halo::centers::near_field_lists::{NearList, NearListsArg, block_at, near_list};
use crate::gpu::halo::centers::pairwise_f32::{Sources, SourcesArg, min_reliable_distance2};
use crate::gpu::primitives::warp::{Warp, warp_shuffle_down};
use crate::gpu::primitives::warp_atomics::warp_atomic_max;

/// The near sums and upper bounds of members, in block order.
pub(super) struct NearBounds {
    /// S_near.
    pub sums: Buffer<f64>,
    pub upper: Buffer<f32>,
}

/// The output of the kernel.
#[derive(CubeType, CubeLaunch)]
struct NearBoundsArg {
    sums: Array<f64>,
    upper: Array<f32>,
    best_lower: Array<Atomic<u32>>,
    best_upper: Array<Atomic<u32>>,
    coincident: Array<Atomic<u32>>,
}

/// Computes equation (8) for all members of large halos.
pub(super) fn bound_all<R: Runtime>(
    client: &ComputeClient<R>,
    members: &Members,
    blocks: &Blocks,
    sources: &Sources,
    interactions: &Interactions,
    best: &HaloBounds,
) -> NearBounds {
    let (n, warp) = (blocks.order.len(), Warp::new(client).apart());
    let (count, dim) = warp.blocks(if warp.is_some() { blocks.len * BLOCK as usize } else { n }, THREADS_PER_BLOCK);
    let bounds = NearBounds { sums: Buffer::new(client, n), upper: Buffer::new(client, n) };
    let (lower, upper) = (best.lower.arg(), best.upper.arg());
    // SAFETY: the launch contract of `centers`. Each block has a warp, or each member a thread; their indices are
    // clamped to the last block and the last member.
    unsafe {
        bound_near::launch_unchecked::<R>(
            client,
            count,
            dim,
            members.arg(),
            blocks.arg(),
            sources.arg(),
            interactions.far(),
            interactions.near.arg(),
            NearBoundsArgLaunch::new(bounds.sums.arg(), bounds.upper.arg(), lower, upper, best.coincident.arg()),
            warp,
        )
    };
    bounds
}

/// Consecutive members in block order.
#[derive(CubeType)]
struct Span {
    start: u32,
    end: u32,
}

/// The members of block `i` in the list of `block`; empty if that block is not near.
#[cube]
fn near_members(near: &NearListsArg, blocks: &BlocksArg, list: &NearList, block: u32, i: u32) -> Span {
    let other = block_at(near, list, i);
    let start = blocks.first[other as usize];
    let mut end = blocks.first[other as usize + 1];
    if !list.listed {
        let (center, radius) = (center_of(&blocks.moments, block), radius_of(&blocks.moments, block));
        if is_far(center, radius, center_of(&blocks.moments, other), radius_of(&blocks.moments, other)) {
            end = blocks.first[other as usize];
        }
    }
    Span { start, end }
}

/// Processes a block per warp, so that its threads read the same source at a time, or a member per thread if there are
/// no warps.
#[cube(launch_unchecked)]
fn bound_near(
    members: &MembersArg,
    blocks: &BlocksArg,
    sources: &SourcesArg,
    far: &FarArg,
    near: &NearListsArg,
    bounds: &mut NearBoundsArg,
    #[comptime] warp: Warp,
) {
    let mut own = ABSOLUTE_POS as u32;
    let mut behind = blocks.members + 0;
    // If a block fills at most half of the warp, each half of the warp processes every other near block.
    let mut step = 1u32.runtime();
    let mut turn = 0u32.runtime();
    if comptime!(warp.is_some()) {
        let block = min(own / BLOCK, blocks.n - 1);
        let start = blocks.first[block as usize];
        behind = select(own / BLOCK < blocks.n, blocks.first[block as usize + 1], 0u32);
        own = start + UNIT_POS % BLOCK;
        if behind <= start + comptime!(BLOCK / 2) {
            step = 2u32.runtime();
            turn = UNIT_POS % BLOCK / comptime!(BLOCK / 2);
            own = start + UNIT_POS % comptime!(BLOCK / 2);
        }
    }
    let is_member = own < behind;
    let has_bounds = is_member && turn == 0;
    let own = min(own, blocks.members - 1);
    let block = blocks.of_members[own as usize];
    let halo = blocks.owners[block as usize];
    let list = near_list(near, blocks, block);
    let place = sources.values[own as usize];
    let (x, y, z) = (place[0], place[1], place[2]);
    let min_distance2 = min_reliable_distance2(members, blocks.order[own as usize], comptime!(sources.split));
    let mut rest_x = f32::cast_from(0u32.runtime());
    let mut rest_y = f32::cast_from(0u32.runtime());
    let mut rest_z = f32::cast_from(0u32.runtime());
    if comptime!(sources.split) {
        let place = sources.low_parts[own as usize];
        rest_x = place[0];
        rest_y = place[1];
        rest_z = place[2];
    }
    let softening2 = f32::cast_from(members.softening[0]);
    let mut sum = f64::cast_from(0u32.runtime());
    let mut n_close = 0u32.runtime();
    let turns = select(is_member && turn < list.len, (list.len + step - 1 - turn) / step, 0u32);
    for i in 0..turns {
        let span = near_members(near, blocks, &list, block, i * step + turn);
        let mut part = f32::cast_from(0u32.runtime());
        for source in span.start..span.end {
            let place = sources.values[source as usize];
            let mut dx = place[0] - x;
            let mut dy = place[1] - y;
            let mut dz = place[2] - z;
            if comptime!(sources.split) {
                let place = sources.low_parts[source as usize];
                dx += place[0] - rest_x;
                dy += place[1] - rest_y;
                dz += place[2] - rest_z;
            }
            let d2 = dx * dx + dy * dy + dz * dz;
            if d2 >= min_distance2 {
                part += place[3] * (d2 + softening2).inverse_sqrt();
            } else {
                n_close += 1;
            }
        }
        sum += f64::cast_from(part);
    }
    if comptime!(warp.is_some()) {
        let (other_sum, other_close) = (
            warp_shuffle_down::<f64>(sum, comptime!(BLOCK / 2), warp),
            warp_shuffle_down::<u32>(n_close, comptime!(BLOCK / 2), warp),
        );
        if step == 2 {
            sum += other_sum;
            n_close += other_close;
        }
    }
    let mut bits = 0u32.runtime();
    let mut upper_bits = 0u32.runtime();
    if has_bounds {
        let member = blocks.order[own as usize];
        // Normally only the member itself is too close. Otherwise the sum is recomputed in `f64`.
        if n_close != 1 {
            let exact = sum_near_exactly(members, blocks, near, &list, block, member);
            sum = potential(members, member, &exact);
            if exact.n_coincident > 1 {
                add_u64(&mut bounds.coincident, halo, exact.n_coincident - 1);
            }
        }
        // The position of the member relative to its block's centre, in units of the radius.
        let center = center_of(&blocks.moments, block);
        let radius = radius_of(&blocks.moments, block);
        let mut at = Array::<f32>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            at[k] = 0.0f32;
            if radius > 1e-30f32 {
                let from = f64::cast_from(center[k]);
                at[k] = f32::cast_from(members.axes[k * members.n as usize + member as usize] - from) / radius;
            }
        }
        let far = expanded(far, block, at[0], at[1], at[2]);
        let total = far.sum + sum;
        let error = f64::cast_from(far.error) + total * f64::cast_from(RELATIVE_ERROR);
        bounds.sums[own as usize] = sum;
        let all = total + f64::cast_from(far.terms);
        let upper = f32::cast_from(all + error);
        bounds.upper[own as usize] = upper;
        upper_bits = u32::reinterpret(upper);
        bits = lower_bits(all - error);
    }
    warp_atomic_max(&mut bounds.best_lower, halo, bits, warp);
    warp_atomic_max(&mut bounds.best_upper, halo, upper_bits, warp);
}

/// The sum over the members of near blocks in `f64`.
#[cube]
fn sum_near_exactly(
    members: &MembersArg,
    blocks: &BlocksArg,
    near: &NearListsArg,
    list: &NearList,
    block: u32,
    member: u32,
) -> Sum {
    let zero = f64::new(0.0);
    let mut separate_sum = f64::cast_from(0u32.runtime());
    let mut coincident_mass = f64::cast_from(0u32.runtime());
    let mut n_coincident = 0u32.runtime();
    for i in 0..list.len {
        let span = near_members(near, blocks, list, block, i);
        for source in span.start..span.end {
            let other = blocks.order[source as usize];
            let d2 = distance2(members, member, other);
            let m = mass(members, other);
            if d2 > zero {
                separate_sum += m / (d2 + members.softening[0]).sqrt();
            } else {
                coincident_mass += m;
                n_coincident += 1;
            }
        }
    }
    Sum { separate_sum, coincident_mass, n_coincident }
}
