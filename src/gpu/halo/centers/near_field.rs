//! The first bounds of all members: near blocks pair by pair, far blocks by their local expansions.
//!
//! In: blocks, local expansions, lists of near blocks. Out: for each member the sum over near blocks, bounds on -φ,
//! and the number of members that coincide with it.
//! ```text
//! (8)  -φ = S_near - φ_far(y) ± (E_far(y) + 1e-5 (S_near + S)),   with φ_far, its error E_far and S of equation (5).
//! ```
//! Sums are in single precision, a block at a time. Differences of coordinates have the relative precision of `f32`.
//! If another member is too close for that, the sum is recomputed in `f64`. For members of other blocks, ρ² decides
//! this instead of the distance, with a slightly larger limit. The relative error is below half of [`RELATIVE_ERROR`]:
//! 32 additions, a root of a sum, a product. Cost: a pair for each two members of near blocks; 12 bytes per member.
//! Source: as `local_expansion`.

#![allow(unsafe_code)] // Measured in benches/LOG.md: hot kernels without bounds checks.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::halo::centers::blocks::{BLOCK, Blocks, BlocksArg};
use crate::gpu::halo::centers::bounds::{HaloBounds, RELATIVE_ERROR, add_u64, lower_bits};
use crate::gpu::halo::centers::direct::{Sum, distance2, potential};
use crate::gpu::halo::centers::local_expansion::{FarArg, Interactions, expanded, is_far};
use crate::gpu::halo::centers::members::{Members, MembersArg, mass};
use crate::gpu::halo::centers::multipole::{Vec4, center_of, radius_of};
use crate::gpu::halo::centers::near_field_lists::{NearList, NearListsArg, block_at, near_list};
use crate::gpu::halo::centers::pairwise_f32::{Sources, SourcesArg, min_reliable_distance2};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, warp_ballot, warp_shuffle, warp_shuffle_down, warp_sum};
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
    // clamped to the last block and the last member. Set bits of a ballot are below the length of the list.
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

/// The members of a block.
#[cube]
fn members_of(blocks: &BlocksArg, block: u32) -> Span {
    Span { start: blocks.first[block as usize], end: blocks.first[block as usize + 1] }
}

/// Returns `true` if `block` and `other` are not well separated.
#[cube]
fn is_near(blocks: &BlocksArg, block: u32, other: u32) -> bool {
    let (center, radius) = (center_of(&blocks.moments, block), radius_of(&blocks.moments, block));
    !is_far(center, radius, center_of(&blocks.moments, other), radius_of(&blocks.moments, other))
}

/// The members of block `i` in the list of `block`; empty if that block is not near.
#[cube]
fn near_members(near: &NearListsArg, blocks: &BlocksArg, list: &NearList, block: u32, i: u32) -> Span {
    let other = block_at(near, list, i);
    let mut span = members_of(blocks, other);
    if !list.listed {
        if !is_near(blocks, block, other) {
            span.end = span.start;
        }
    }
    span
}

/// A member whose potential is summed.
#[derive(CubeType)]
struct Target {
    high: Vec4,
    /// The low parts of the coordinates, if these are split.
    low: Vec4,
    min_distance2: f32,
    softening2: f32,
}

/// The sum at a target. Each number is in an array, because an optimiser of cubecl fails on variables of loops.
#[derive(CubeType)]
struct NearSum {
    /// -φ.
    sum: Array<f64>,
    /// The members of the target's own block that are too close, including itself.
    n_close: Array<u32>,
    /// The smallest ρ² of members of other blocks.
    least_rho2: Array<f32>,
}

/// The difference of two positions.
#[derive(CubeType)]
struct Gap {
    x: f32,
    y: f32,
    z: f32,
}

/// The position of a source, at `place`, relative to a target.
#[cube]
fn gap_to(sources: &SourcesArg, source: u32, place: Vec4, target: &Target) -> Gap {
    let mut x = place[0] - target.high[0];
    let mut y = place[1] - target.high[1];
    let mut z = place[2] - target.high[2];
    if comptime!(sources.split) {
        let low = sources.low_parts[source as usize];
        x += low[0] - target.low[0];
        y += low[1] - target.low[1];
        z += low[2] - target.low[2];
    }
    Gap { x, y, z }
}

/// Adds the members of a near block.
#[cube]
fn add_block(sources: &SourcesArg, target: &Target, span: &Span, is_own: bool, found: &mut NearSum) {
    let mut part = f32::cast_from(0u32.runtime());
    if is_own {
        for source in span.start..span.end {
            let place = sources.values[source as usize];
            let gap = gap_to(sources, source, place, target);
            let d2 = gap.x * gap.x + gap.y * gap.y + gap.z * gap.z;
            if d2 >= target.min_distance2 {
                part += place[3] * (d2 + target.softening2).inverse_sqrt();
            } else {
                found.n_close[0] += 1;
            }
        }
    } else {
        // Fewer instructions, as the target itself is not there.
        let mut least = found.least_rho2[0];
        for source in span.start..span.end {
            let place = sources.values[source as usize];
            let gap = gap_to(sources, source, place, target);
            let rho2 = gap.x * gap.x + (gap.y * gap.y + (gap.z * gap.z + target.softening2));
            part += place[3] * rho2.inverse_sqrt();
            least = min(least, rho2);
        }
        found.least_rho2[0] = least;
    }
    found.sum[0] += f64::cast_from(part);
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
    let mut block = blocks.of_members[min(own, blocks.members - 1) as usize];
    // If a block fills at most half of the warp, each half of the warp processes every other near block.
    let mut step = 1u32.runtime();
    let mut turn = 0u32.runtime();
    if comptime!(warp.is_some()) {
        block = min(own / BLOCK, blocks.n - 1);
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
    let halo = blocks.owners[block as usize];
    let list = near_list(near, blocks, block);
    let mut low = Vec4::new(0.0f32);
    if comptime!(sources.split) {
        low = sources.low_parts[own as usize];
    }
    let target = Target {
        high: sources.values[own as usize],
        low,
        min_distance2: min_reliable_distance2(members, blocks.order[own as usize], comptime!(sources.split)),
        softening2: f32::cast_from(members.softening[0]),
    };
    let mut found = NearSum {
        sum: Array::<f64>::new(1usize),
        n_close: Array::<u32>::new(1usize),
        least_rho2: Array::<f32>::new(1usize),
    };
    found.sum[0] = f64::new(0.0);
    found.n_close[0] = 0;
    found.least_rho2[0] = 3e38f32;
    let mut turns = select(is_member && turn < list.len, (list.len + step - 1 - turn) / step, 0u32);
    if comptime!(warp.is_some()) {
        if !list.listed {
            turns = 0;
            // The threads of the warp test 32 blocks at a time.
            for first in range_stepped(0u32, list.len, BLOCK) {
                let place = first + UNIT_POS % BLOCK;
                let mut vote = false.runtime();
                if place < list.len {
                    vote = is_near(blocks, block, list.start + place);
                }
                let mut votes = Bits::new(warp_ballot(vote, warp));
                while votes.any() {
                    let mut bit = votes.pop();
                    let mut has_block = turn == 0;
                    if step == 2 && votes.any() {
                        let second = votes.pop();
                        has_block = true;
                        if turn == 1 {
                            bit = second;
                        }
                    }
                    if has_block && is_member {
                        let other = list.start + first + bit;
                        add_block(sources, &target, &members_of(blocks, other), other == block, &mut found);
                    }
                }
            }
        }
    }
    for i in 0..turns {
        let span = near_members(near, blocks, &list, block, i * step + turn);
        let is_own = span.start == blocks.first[block as usize];
        add_block(sources, &target, &span, is_own, &mut found);
    }
    let mut sum = found.sum[0];
    let mut n_close = found.n_close[0];
    // A member of another block is too close if ρ² is not above a limit well above rounding errors of ρ². With a
    // much larger ε, rounding errors of distances do not matter, but coincident members are counted. Their ρ² is ε².
    let limit = select(
        target.min_distance2 < target.softening2 * 1e-6f32,
        target.softening2,
        (target.min_distance2 + target.softening2) * 1.000001f32,
    );
    if found.least_rho2[0] <= limit {
        n_close += 1;
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
    let member = blocks.order[own as usize];
    // Normally only the member itself is too close. Otherwise the sum is recomputed in `f64`.
    let is_crowded = has_bounds && n_close != 1;
    let mut n_coincident = 0u32.runtime();
    if comptime!(warp.is_some()) {
        // The threads of the warp share the blocks of a list, which may be all blocks of a large halo.
        let mut crowded = Bits::new(warp_ballot(is_crowded, warp));
        while crowded.any() {
            let lane = crowded.pop();
            let target = warp_shuffle::<u32>(member, lane, warp);
            let part = sum_near_exactly(members, blocks, near, &list, block, target, UNIT_POS % WIDTH, WIDTH);
            let exact = Sum {
                separate_sum: warp_sum::<f64>(part.separate_sum, warp),
                coincident_mass: warp_sum::<f64>(part.coincident_mass, warp),
                n_coincident: warp_sum::<u32>(part.n_coincident, warp),
            };
            if UNIT_POS % WIDTH == lane {
                sum = potential(members, target, &exact);
                n_coincident = exact.n_coincident;
            }
        }
    } else if is_crowded {
        let exact = sum_near_exactly(members, blocks, near, &list, block, member, 0, 1);
        sum = potential(members, member, &exact);
        n_coincident = exact.n_coincident;
    }
    let mut bits = 0u32.runtime();
    let mut upper_bits = 0u32.runtime();
    if has_bounds {
        if n_coincident > 1 {
            add_u64(&mut bounds.coincident, halo, n_coincident - 1);
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

/// The sum in `f64` over the members of every `step`th block of a list, from `first` on.
#[cube]
fn sum_near_exactly(
    members: &MembersArg,
    blocks: &BlocksArg,
    near: &NearListsArg,
    list: &NearList,
    block: u32,
    member: u32,
    first: u32,
    step: u32,
) -> Sum {
    let zero = f64::new(0.0);
    let mut separate_sum = f64::cast_from(0u32.runtime());
    let mut coincident_mass = f64::cast_from(0u32.runtime());
    let mut n_coincident = 0u32.runtime();
    for i in range_stepped(first, list.len, step) {
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
