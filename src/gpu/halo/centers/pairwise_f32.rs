//! Sums over pairs in single precision: the GPU version of `halo::centers::pairwise_f32`.
//!
//! In: members in block order. Out: their coordinates in `f32`; for selected members bounds on -φ, equation (6), by
//! the sum over all pairs.
//!
//! A difference of two coordinates has the relative precision of `f32`. Either the coordinates are those of the
//! points, which were `f32` already, or each is split into the sum of two `f32`. A thread block processes several
//! targets at once, so that each source is loaded once for all of them. The sum of the 32 terms that a thread adds in
//! `f32` has a relative error below half of [`RELATIVE_ERROR`], as in `near_field`.
//!
//! Cost: n distances per target in `f32`; 16 bytes per member, 32 if coordinates are split.

#![allow(unsafe_code)] // Measured in benches/LOG.md: hot kernels without bounds checks.

use cubecl::prelude::*;

use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::blocks::{Blocks, BlocksArg, halo_of};
use crate::gpu::halo::centers::bounds::{
    HaloBounds, RELATIVE_ERROR, TargetBounds, TargetBoundsArg, add_u64, lower_bits,
};
use crate::gpu::halo::centers::by_size::SortedHalos;
use crate::gpu::halo::centers::local_expansion::TERMS;
use crate::gpu::halo::centers::members::{Members, MembersArg, Units, mass};
use crate::gpu::halo::centers::multipole::Vec4;
use crate::gpu::primitives::warp::{WARPS, WIDTH, Warp, warp_sum};

/// Coordinates and masses in single precision, in block order.
pub(super) struct Sources {
    /// Four numbers per member: coordinates and mass.
    values: Buffer<f32>,
    /// The low parts of coordinates, if these are split.
    low_parts: Buffer<f32>,
    split: bool,
}

/// The kernel argument for [`Sources`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct SourcesArg {
    pub values: Array<Vec4>,
    pub low_parts: Array<Vec4>,
    #[cube(comptime)]
    pub split: bool,
}

impl Sources {
    pub fn new<R: Runtime, S: Coordinate>(
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
        members: &Members,
        blocks: &Blocks,
        units: Units,
    ) -> Self {
        let numbers = units.scale_and_sides(points);
        let split = size_of::<S>() > 4 || numbers[1..].iter().any(|&side| f64::from(side as f32) != side);
        let n = blocks.order.len();
        let sources = Self {
            values: Buffer::new(client, 4 * n),
            low_parts: Buffer::new(client, if split { 4 * n } else { 4 }),
            split,
        };
        let original = OriginalArgLaunch::new(
            points.values.arg(),
            halos.members.arg(),
            members.flags.arg(),
            Buffer::from_slice(client, &numbers).arg(),
            points.space != Space::OPEN,
        );
        write_sources::launch::<S, R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            original,
            members.arg(),
            blocks.order.arg(),
            sources.values.arg(),
            sources.low_parts.arg(),
            n as u32,
            split,
        );
        sources
    }

    /// Returns the sources as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> SourcesArgLaunch<R> {
        SourcesArgLaunch::new(self.values.arg(), self.low_parts.arg(), self.split)
    }
}

/// Computes bounds on -φ of some members, `group` targets per thread block, and returns the upper bounds.
///
/// `targets` are positions in block order. A target with other members closer than `f32` resolves gets the upper bound
/// 3e38 and no lower bound.
pub(super) fn bound_pairwise<R: Runtime>(
    client: &ComputeClient<R>,
    members: &Members,
    blocks: &Blocks,
    sources: &Sources,
    targets: &Buffer<u32>,
    group: usize,
    best: &HaloBounds,
) -> Buffer<f32> {
    let n = targets.len();
    let bounds = TargetBounds::new(client, n, best);
    // SAFETY: the launch contract of `centers`. Targets are clamped to `blocks.members - 1`. Reads of `targets` are
    // clamped to `n - 1`, and writes are checked against `n`, the length of `targets` and of the upper bounds.
    unsafe {
        sum_pairs::launch_unchecked::<R>(
            client,
            grid(n.div_ceil(group)),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            targets.arg(),
            members.arg(),
            blocks.arg(),
            sources.arg(),
            bounds.arg(),
            n as u32,
            group,
            Warp::new(client),
        )
    };
    bounds.upper
}

/// The points that the members are.
#[derive(CubeType, CubeLaunch)]
struct OriginalArg<F: Float> {
    points: Array<F>,
    /// The point of each member.
    indices: Array<u32>,
    /// The axes along which each halo crosses the periodic boundary.
    flags: Array<u32>,
    /// The scale, and the sides of the box.
    numbers: Array<f64>,
    #[cube(comptime)]
    periodic: bool,
}

#[cube(launch)]
fn write_sources<F: Float>(
    original: &OriginalArg<F>,
    members: &MembersArg,
    order: &Array<u32>,
    values: &mut Array<f32>,
    low_parts: &mut Array<f32>,
    n: u32,
    #[comptime] split: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let member = order[i] as usize;
        #[unroll]
        for k in 0..3usize {
            if comptime!(split) {
                let x = members.axes[k * members.n as usize + member];
                let high = f32::cast_from(x);
                values[i * 4 + k] = high;
                low_parts[i * 4 + k] = f32::cast_from(x - f64::cast_from(high));
            } else {
                let point = original.indices[member] as usize;
                let mut x = f64::cast_from(original.points[point * 3 + k]) * original.numbers[0];
                if comptime!(original.periodic) {
                    // In a halo across the boundary, members in the upper half of the box move below 0. The
                    // subtraction is exact in `f32`, too.
                    if (original.flags[members.owners[member] as usize] >> comptime!(k as u32)) & 1 == 1 {
                        if x >= original.numbers[1 + k] * f64::new(0.5) {
                            x -= original.numbers[1 + k];
                        }
                    }
                }
                values[i * 4 + k] = f32::cast_from(x);
            }
        }
        values[i * 4 + 3] = f32::cast_from(mass(members, member as u32));
    }
}

/// The squared distance from a member below which differences in `f32` are unreliable: coordinates relative to the
/// halo's first member are rounded to `f64`, and split coordinates to two `f32`. Such pairs are summed in `f64`.
#[cube]
pub(super) fn min_reliable_distance2(members: &MembersArg, member: u32, #[comptime] split: bool) -> f32 {
    let mut size2 = f32::cast_from(0u32.runtime());
    #[unroll]
    for k in 0..3usize {
        let x = f32::cast_from(members.axes[k * members.n as usize + member as usize]);
        size2 += x * x;
    }
    (size2 * comptime!(if split { 1e-15f32 } else { 1e-19f32 })).max(1e-30f32)
}

#[cube(launch_unchecked)]
fn sum_pairs(
    targets: &Array<u32>,
    members: &MembersArg,
    blocks: &BlocksArg,
    sources: &SourcesArg,
    bounds: &mut TargetBoundsArg,
    n: u32,
    #[comptime] group: usize,
    #[comptime] warp: Warp,
) {
    let base = CUBE_POS * group;
    if (base as u32) < n {
        let mut halos = Array::<u32>::new(group);
        let mut from = Array::<u32>::new(group);
        let mut to = Array::<u32>::new(group);
        let mut at = Array::<f32>::new(comptime!(3 * group));
        let mut rest_at = Array::<f32>::new(comptime!(3 * group));
        let mut min_distance2 = Array::<f32>::new(group);
        let mut sums = Array::<f64>::new(group);
        let mut part = Array::<f32>::new(group);
        let mut n_close = Array::<u32>::new(group);
        #[unroll]
        for g in 0..group {
            // The largest number marks a missing target, see `argmax_upper`.
            let own = min(targets[min(base + g, n as usize - 1)], blocks.members - 1);
            let halo = halo_of(blocks, own);
            halos[g] = halo;
            from[g] = blocks.first[blocks.of_halos[halo as usize] as usize];
            to[g] = blocks.first[blocks.of_halos[halo as usize + 1] as usize];
            let place = sources.values[own as usize];
            min_distance2[g] = min_reliable_distance2(members, blocks.order[own as usize], comptime!(sources.split));
            #[unroll]
            for k in 0..3usize {
                at[g * 3 + k] = place[k];
            }
            if comptime!(sources.split) {
                let low_parts = sources.low_parts[own as usize];
                #[unroll]
                for k in 0..3usize {
                    rest_at[g * 3 + k] = low_parts[k];
                }
            }
            sums[g] = f64::new(0.0);
            n_close[g] = 0;
        }
        let softening2 = f32::cast_from(members.softening[0]);
        // Consecutive targets belong to the same or to later halos, so the first and last target bound the range.
        let (start, end) = (from[0], to[comptime!(group - 1)]);
        let turns = (end - start).div_ceil(THREADS_PER_BLOCK);
        for section in 0..turns.div_ceil(TERMS) {
            #[unroll]
            for g in 0..group {
                part[g] = 0.0f32;
            }
            for turn in section * TERMS..min(section * TERMS + TERMS, turns) {
                let other = start + turn * THREADS_PER_BLOCK + UNIT_POS;
                if other < end {
                    let place = sources.values[other as usize];
                    let mut low_parts = Vec4::new(0.0f32);
                    if comptime!(sources.split) {
                        low_parts = sources.low_parts[other as usize];
                    }
                    #[unroll]
                    for g in 0..group {
                        let mut d2 = 0.0f32;
                        #[unroll]
                        for k in 0..3usize {
                            let mut gap = place[k] - at[g * 3 + k];
                            if comptime!(sources.split) {
                                gap += low_parts[k] - rest_at[g * 3 + k];
                            }
                            d2 += gap * gap;
                        }
                        let is_inside = other >= from[g] && other < to[g];
                        let is_separate = d2 >= min_distance2[g];
                        let term = place[3] * (d2 + softening2).inverse_sqrt();
                        part[g] += select(is_inside && is_separate, term, 0.0f32);
                        n_close[g] += u32::cast_from(is_inside && !is_separate);
                    }
                }
            }
            #[unroll]
            for g in 0..group {
                sums[g] += f64::cast_from(part[g]);
            }
        }
        let rows = comptime!(if warp.is_some() { WARPS as usize } else { THREADS_PER_BLOCK as usize });
        let mut shared_sums = SharedMemory::<f64>::new(rows);
        let mut shared_close = SharedMemory::<u32>::new(rows);
        #[unroll]
        for g in 0..group {
            if comptime!(warp.is_some()) {
                let (sum, close) = (warp_sum::<f64>(sums[g], warp), warp_sum::<u32>(n_close[g], warp));
                if UNIT_POS % WIDTH == 0 {
                    shared_sums[(UNIT_POS / WIDTH) as usize] = sum;
                    shared_close[(UNIT_POS / WIDTH) as usize] = close;
                }
            } else {
                shared_sums[UNIT_POS as usize] = sums[g];
                shared_close[UNIT_POS as usize] = n_close[g];
            }
            sync_cube();
            if UNIT_POS == 0 && base + g < n as usize {
                let mut sum = f64::cast_from(0u32.runtime());
                let mut close = 0u32.runtime();
                for row in 0..rows {
                    sum += shared_sums[row];
                    close += shared_close[row];
                }
                let error = sum * f64::cast_from(RELATIVE_ERROR);
                let mut upper = 3e38f32.runtime();
                // Normally only the member itself is too close.
                if close == 1 {
                    upper = f32::cast_from(sum + error);
                    bounds.best_lower[halos[g] as usize].fetch_max(lower_bits(sum - error));
                }
                bounds.upper[base + g] = upper;
                add_u64(&mut bounds.pairs, halos[g], to[g] - from[g]);
            }
            sync_cube();
        }
    }
}
