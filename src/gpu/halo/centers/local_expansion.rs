//! The potential of distant blocks: the GPU version of `halo::centers::local_expansion`.
//!
//! In: blocks. Out:
//! - for each block a local expansion of -φ about its centre, which represents all well separated blocks;
//! - for each block the list of its near blocks, which are all others;
//! - for selected members the sum over the well separated blocks alone.
//!
//! Two blocks of radii r_a and r_b whose centres are R apart are well separated if
//! ```text
//! (3)  |R| > 1.1 (r_a + r_b).
//! ```
//! A target is at y from the centre of its block. A source of mass m is at x from the centre of its own. Let
//! z = y - x. With ρ² = R² + ε² and R̂ = R/ρ, the source adds to -φ at the target
//! ```text
//! (4)  m sum_l |z|^l / ρ^(l+1) P_l(R̂·z/|z|),  of which l > 1 is at most  m |z|² / (ρ² (ρ - |z|)).
//! ```
//! The mean of |z|² over a source block is |y|² + tr Q, apart from its first moment, which 3 d includes. The slopes
//! M/ρ² R̂ are stored in units of the radius r_a, so that |y| is at most 1:
//! ```text
//! (5)  -φ_far(y) = S + s·y,   S = sum M/ρ,   error <= E + E' |y|²,
//!      E = sum M/ρ · (tr Q / ρ + 3 d) / (ρ - b),   E' = sum M/ρ · r_a / (ρ - b) · r_a/ρ,   b = r_a + r_b,
//! ```
//! where E includes the first moment M d about the rounded centre. The CPU adds terms of second order. Here they
//! would take longer than the later bounds of the additional survivors. Sums are in `f32` over [`TERMS`] terms, and in
//! `f64` over these sums. Cost: a term for each pair of blocks of a halo; 288 bytes per block, 256 of them for its
//! list. Source: Salmon and Warren 1994, section 3.

#![allow(unsafe_code)] // Measured in benches/LOG.md: hot kernels without bounds checks.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::halo::centers::blocks::{Blocks, BlocksArg};
use crate::gpu::halo::centers::bounds::{
    HaloBounds, RELATIVE_ERROR, TargetBounds, TargetBoundsArg, add_u64, lower_bits,
};
use crate::gpu::halo::centers::members::{Members, MembersArg};
use crate::gpu::halo::centers::multipole::{Vec4, center_of, products_of, radius_of, squares_of, term, trace};
use crate::gpu::halo::centers::near_field_lists::{NearLists, NearListsArg};
use crate::gpu::primitives::warp::{Warp, warp_ballot, warp_sum};
use crate::gpu::primitives::warp_atomics::warp_atomic_max;

/// The ratio of the distance of centres to the sum of radii beyond which two blocks are well separated.
const SEPARATION: f32 = 1.1;
/// The number of terms that a thread adds in `f32` before it adds their sum to one in `f64`.
pub(super) const TERMS: u32 = 32;
/// The capacity of a list of near blocks. A block with more near blocks tests all blocks of the halo again.
const NEAR: usize = 64;

/// The far and near interactions of each block.
pub(super) struct Interactions {
    /// S of equation (5).
    sums: Buffer<f64>,
    /// Four numbers per block: s and E.
    slopes: Buffer<f32>,
    /// E'.
    errors_of_y2: Buffer<f32>,
    pub near: NearLists,
}

/// The kernel argument for the local expansions.
#[derive(CubeType, CubeLaunch)]
pub(super) struct FarArg {
    pub sums: Array<f64>,
    pub slopes: Array<Vec4>,
    pub errors_of_y2: Array<f32>,
}

impl Interactions {
    /// Adds to `pairs` the number of pairs of members and blocks evaluated, including near ones. Returns `None` if
    /// there are too many blocks.
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        members: &Members,
        blocks: &Blocks,
        pairs: &Buffer<u32>,
    ) -> Option<Self> {
        let n = blocks.len;
        let warp = Warp::new(client).apart();
        let (count, dim) = warp.blocks(n * warp.lanes() as usize, THREADS_PER_BLOCK);
        let found = Self {
            sums: Buffer::new(client, n),
            slopes: Buffer::new(client, 4 * n),
            errors_of_y2: Buffer::new(client, n),
            near: NearLists::new(client, n, NEAR)?,
        };
        // SAFETY: the launch contract of `centers`. Each block has a warp or a thread, which checks `own < blocks.n`
        // and writes only to its own places: one of `sums`, `slopes` and `errors_of_y2`, and `capacity` places of the
        // lists.
        unsafe {
            expand_far::launch_unchecked::<R>(
                client,
                count,
                dim,
                blocks.arg(),
                members.softening.arg(),
                found.far(),
                found.near.arg(),
                pairs.arg(),
                warp,
            )
        };
        Some(found)
    }

    /// Returns the local expansions as a kernel argument.
    pub fn far<R: Runtime>(&self) -> FarArgLaunch<R> {
        FarArgLaunch::new(self.sums.arg(), self.slopes.arg(), self.errors_of_y2.arg())
    }
}

/// Computes tighter bounds on -φ of some members: sums over well separated blocks, more accurate than the expansions,
/// plus the sums over near blocks, `near_sums`.
pub(super) fn tighten<R: Runtime>(
    client: &ComputeClient<R>,
    members: &Members,
    blocks: &Blocks,
    near_sums: &Buffer<f64>,
    targets: &Buffer<u32>,
    best: &HaloBounds,
) -> Buffer<f32> {
    let (n, warp) = (targets.len(), Warp::new(client).apart());
    let (count, dim) = warp.blocks(n * warp.lanes() as usize, THREADS_PER_BLOCK);
    let bounds = TargetBounds::new(client, n, best);
    // SAFETY: the launch contract of `centers`. `targets` are positions in block order. Each has a warp or a thread,
    // which checks that its index is below `n`, the length of `targets`.
    unsafe {
        tighten_far::launch_unchecked::<R>(
            client,
            count,
            dim,
            targets.arg(),
            members.arg(),
            blocks.arg(),
            near_sums.arg(),
            bounds.arg(),
            n as u32,
            warp,
        )
    };
    bounds.upper
}

/// Equation (3). All kernels use this function, so that rounding is the same in each.
#[cube]
pub(super) fn is_far(a: Vec4, radius_a: f32, b: Vec4, radius_b: f32) -> bool {
    let zero = 0.0f32;
    let (dx, dy, dz) = (b[0] - a[0], b[1] - a[1], b[2] - a[2]);
    let d2 = fma(dx, dx, zero) + fma(dy, dy, zero) + fma(dz, dz, zero);
    let limit = SEPARATION * (radius_a + radius_b);
    // Much smaller squares underflow in `f32`.
    d2 > (limit * limit).max(1e-24f32)
}

/// A sum of `terms` errors, increased by the largest possible rounding error.
#[cube]
fn round_up_sum(error: f32, terms: u32) -> f32 {
    error * (1.02f32 + f32::cast_from(terms) * 1.2e-7f32)
}

/// Writes the local expansion of each block, and lists its near blocks. A block is processed by a warp, or by a thread
/// if there are no warps.
#[cube(launch_unchecked)]
fn expand_far(
    blocks: &BlocksArg,
    softening: &Array<f64>,
    far: &mut FarArg,
    near: &mut NearListsArg,
    pairs: &mut Array<Atomic<u32>>,
    #[comptime] warp: Warp,
) {
    let lanes = comptime!(warp.lanes());
    let own = ABSOLUTE_POS as u32 / lanes;
    let lane = ABSOLUTE_POS as u32 % lanes;
    if own < blocks.n {
        let center = center_of(&blocks.moments, own);
        let radius = radius_of(&blocks.moments, own);
        let halo = blocks.owners[own as usize];
        let (start, end) = (blocks.of_halos[halo as usize], blocks.of_halos[halo as usize + 1]);
        let softening2 = f32::cast_from(softening[0]);
        // The sum and the slopes.
        let mut sums = Array::<f64>::new(4usize);
        let mut part = Array::<f32>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            sums[k] = f64::new(0.0);
        }
        let mut error = f32::cast_from(0u32.runtime());
        let mut error_of_y2 = f32::cast_from(0u32.runtime());
        let mut count = 0u32.runtime();
        let mut sources = 0u32.runtime();
        let turns = (end - start).div_ceil(lanes);
        for section in 0..turns.div_ceil(TERMS) {
            #[unroll]
            for k in 0..4usize {
                part[k] = 0.0f32;
            }
            for turn in section * TERMS..min(section * TERMS + TERMS, turns) {
                let other = start + turn * lanes + lane;
                let mut is_near = false.runtime();
                if other < end {
                    let source = center_of(&blocks.moments, other);
                    let squares = squares_of(&blocks.moments, other);
                    if is_far(center, radius, source, squares[3]) {
                        let (dx, dy, dz) = (source[0] - center[0], source[1] - center[1], source[2] - center[2]);
                        let rho2 = dx * dx + dy * dy + dz * dz + softening2;
                        let inverse = rho2.inverse_sqrt();
                        let monopole = source[3] * inverse;
                        let q = radius * inverse;
                        let slope = monopole * q * inverse;
                        part[0] += monopole;
                        part[1] += slope * dx;
                        part[2] += slope * dy;
                        part[3] += slope * dz;
                        // Both errors of equation (5), without a quotient, which takes longer.
                        let root = (rho2 * inverse - (radius + squares[3])).inverse_sqrt();
                        let rest = monopole * root * root;
                        let products = products_of(&blocks.moments, other);
                        error += rest * (trace(squares) * inverse + 3.0f32 * products[3]);
                        error_of_y2 += rest * q;
                    } else {
                        is_near = true;
                        sources += blocks.first[other as usize + 1] - blocks.first[other as usize];
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
                if is_near && place < near.capacity {
                    near.blocks[(own * near.capacity + place) as usize] = other;
                }
            }
            #[unroll]
            for k in 0..4usize {
                sums[k] += f64::cast_from(part[k]);
            }
        }
        let mut sum = sums[0];
        // The slopes, which are multiplied by numbers below 1, need no more precision than `f32`.
        #[unroll]
        for k in 1..4usize {
            part[k] = f32::cast_from(sums[k]);
        }
        if comptime!(warp.is_some()) {
            sum = warp_sum::<f64>(sum, warp);
            #[unroll]
            for k in 1..4usize {
                part[k] = warp_sum::<f32>(part[k], warp);
            }
            error = warp_sum::<f32>(error, warp);
            error_of_y2 = warp_sum::<f32>(error_of_y2, warp);
            sources = warp_sum::<u32>(sources, warp);
        }
        if lane == 0 {
            far.sums[own as usize] = sum;
            let mut four = Vec4::new(0.0f32);
            #[unroll]
            for k in 0..3usize {
                four[k] = part[k + 1];
            }
            four[3] = round_up_sum(error, end - start);
            far.slopes[own as usize] = four;
            far.errors_of_y2[own as usize] = round_up_sum(error_of_y2 * radius, end - start);
            near.counts[own as usize] = count;
            let targets = blocks.first[own as usize + 1] - blocks.first[own as usize];
            add_u64(pairs, halo, targets * (sources - 1) + (end - start));
        }
    }
}

/// -φ_far of a member of a block by the block's local expansion, and its error: equation (5). The member is at (x, y,
/// z) from the centre, in units of the radius.
#[derive(CubeType)]
pub(super) struct Expanded {
    /// S, and the terms in y.
    pub sum: f64,
    pub terms: f32,
    pub error: f32,
}

#[cube]
pub(super) fn expanded(far: &FarArg, block: u32, x: f32, y: f32, z: f32) -> Expanded {
    let slopes = far.slopes[block as usize];
    let terms = slopes[0] * x + slopes[1] * y + slopes[2] * z;
    let error = slopes[3] + far.errors_of_y2[block as usize] * (x * x + y * y + z * z);
    Expanded { sum: far.sums[block as usize], terms, error }
}

/// Sums equation (1) over the blocks well separated from each target's block, with the error of equation (2).
/// Separation is tested with the centres of blocks. A target is processed by a warp, or by a thread if there are no
/// warps.
#[cube(launch_unchecked)]
fn tighten_far(
    targets: &Array<u32>,
    members: &MembersArg,
    blocks: &BlocksArg,
    near_sums: &Array<f64>,
    bounds: &mut TargetBoundsArg,
    n: u32,
    #[comptime] warp: Warp,
) {
    let lanes = comptime!(warp.lanes());
    let i = ABSOLUTE_POS / lanes as usize;
    let lane = ABSOLUTE_POS as u32 % lanes;
    let mut halo = 0u32.runtime();
    let mut bits = 0u32.runtime();
    if (i as u32) < n {
        let own = targets[i] as usize;
        let member = blocks.order[own] as usize;
        let block = blocks.of_members[own];
        halo = blocks.owners[block as usize];
        // Offsets from the centre of the block, for which `f32` is precise enough.
        let center = center_of(&blocks.moments, block);
        let radius = radius_of(&blocks.moments, block);
        let all = members.n as usize;
        let x = f32::cast_from(members.axes[member] - f64::cast_from(center[0]));
        let y = f32::cast_from(members.axes[all + member] - f64::cast_from(center[1]));
        let z = f32::cast_from(members.axes[2 * all + member] - f64::cast_from(center[2]));
        let softening2 = f32::cast_from(members.softening[0]);
        let mut sum = f64::cast_from(0u32.runtime());
        let mut error = f32::cast_from(0u32.runtime());
        let (start, end) = (blocks.of_halos[halo as usize], blocks.of_halos[halo as usize + 1]);
        let turns = (end - start - min(lane, end - start)).div_ceil(lanes);
        for section in 0..turns.div_ceil(TERMS) {
            let mut part = f32::cast_from(0u32.runtime());
            for turn in section * TERMS..min(section * TERMS + TERMS, turns) {
                let other = start + turn * lanes + lane;
                let source = center_of(&blocks.moments, other);
                let squares = squares_of(&blocks.moments, other);
                if is_far(center, radius, source, squares[3]) {
                    let dx = (source[0] - center[0]) - x;
                    let dy = (source[1] - center[1]) - y;
                    let dz = (source[2] - center[2]) - z;
                    let products = products_of(&blocks.moments, other);
                    let term = term(source, squares, products, dx, dy, dz, softening2);
                    part += term.sum;
                    // Avoids a quotient, which takes longer.
                    let root = (term.rho2 * term.inverse - squares[3]).inverse_sqrt();
                    let rest = trace(squares) * term.inverse * term.inverse * squares[3] * root * root;
                    error += term.monopole * (rest + products[3] * term.inverse);
                }
            }
            sum += f64::cast_from(part);
        }
        if comptime!(warp.is_some()) {
            sum = warp_sum::<f64>(sum, warp);
            error = warp_sum::<f32>(error, warp);
        }
        sum += near_sums[own];
        let error = f64::cast_from(round_up_sum(error, end - start)) + sum * f64::cast_from(RELATIVE_ERROR);
        if lane == 0 {
            bounds.upper[i] = f32::cast_from(sum + error);
            bits = lower_bits(sum - error);
            add_u64(&mut bounds.pairs, halo, end - start);
        }
    }
    warp_atomic_max(&mut bounds.best_lower, halo, bits, warp);
}
