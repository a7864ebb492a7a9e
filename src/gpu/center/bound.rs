//! The members of large halos that may be most bound: the twin of `center::bound`.
//!
//! In: members in blocks. Out: those that none of the others is certain to surpass; and how many pairs were looked at, and how
//! many of them have no distance.
//! A block feels others that are far away by their mass, expanded to first order about its centre; what is left out is bounded
//! as in `center::field`: about the target's centre by |y|² / (rho² (rho - |y|)), about the source's in the same way, its
//! members' y² weighted by mass. Near blocks are summed pair by pair in `f32`, a block at a time, which has a relative error
//! below [`ROUGH`]. A halo's largest lower bound drops whoever has a smaller upper bound.
//! Cost: a node each pair of blocks, and a pair for each two members of near blocks; 500 bytes a block, 28 a member.
//! Source: Salmon and Warren 1994, section 3, for the bounds.

use cubecl::prelude::*;

use super::blocks::{BLOCK, Blocks};
use super::direct::distance2;
use super::members::{Members, Units, mass};
use crate::center::power;
use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halos::{Halos, filled, last};
use crate::gpu::scan::exclusive;

/// The relative error of sums in single precision, at most; also in the kernel.
const ROUGH: f64 = 1e-5;
/// Blocks are far from each other if their centres are so many times as far apart as the blocks reach.
const APART: f32 = 1.25;
/// So many near blocks are listed; a block with more has all blocks of the halo near.
const NEAR: usize = 120;

/// Who is left, and what it took.
pub(super) struct Left {
    /// Members by their position in the halos, halo by halo; and the points that they are.
    pub members: Buffer<u32>,
    pub points: Buffer<u32>,
    /// For each large halo, in two words each: ordered pairs looked at, and ordered pairs at no distance.
    pub pairs: Buffer<u32>,
    pub coincident: Buffer<u32>,
}

/// Coordinates and masses in single precision, in the order of the blocks.
struct Sources {
    /// Four numbers each: coordinates and mass.
    values: Buffer<f32>,
    /// What `f32` leaves of coordinates, if they do not fit it.
    rest: Buffer<f32>,
    split: bool,
}

pub(super) fn left<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &Halos,
    members: &Members,
    units: Units,
) -> Result<Left> {
    let blocks = Blocks::new(client, members, &halos.offsets, halos.large)?;
    let sources = sources(client, points, halos, members, &blocks, units);
    let (large, dim) = (halos.large[0], CubeDim::new_1d(UNITS));
    let (pairs, coincident) = (filled(client, 2 * large, 0), filled(client, 2 * large, 0));

    let far = Buffer::<f64>::new(client, blocks.len);
    let field = Buffer::<f32>::new(client, 4 * blocks.len);
    let near = Buffer::<u32>::new(client, NEAR * blocks.len);
    let counts = Buffer::<u32>::new(client, blocks.len);
    look_far::launch::<R>(
        client,
        cubes(blocks.len),
        dim,
        blocks.moments.arg(),
        blocks.of_halos.arg(),
        blocks.first.arg(),
        blocks.owners.arg(),
        members.softening.arg(),
        far.arg(),
        field.arg(),
        near.arg(),
        counts.arg(),
        pairs.arg(),
        blocks.len as u32,
        NEAR as u32,
        APART,
    );
    let slots = blocks.len * BLOCK;
    let upper = Buffer::<f32>::new(client, slots);
    let certain = filled(client, large, 0);
    look_near::launch::<R>(
        client,
        cubes(slots),
        dim,
        members.axes.arg(),
        members.masses.arg(),
        members.softening.arg(),
        blocks.order.arg(),
        blocks.of_halos.arg(),
        blocks.first.arg(),
        blocks.owners.arg(),
        blocks.moments.arg(),
        sources.values.arg(),
        sources.rest.arg(),
        far.arg(),
        field.arg(),
        near.arg(),
        counts.arg(),
        upper.arg(),
        certain.arg(),
        coincident.arg(),
        blocks.len as u32,
        members.len as u32,
        ROUGH as f32,
        NEAR as u32,
        members.weighted,
        sources.split,
    );
    let places = Buffer::<u32>::new(client, slots + 1);
    let (count, chosen) = (cubes(slots + 1), slots as u32);
    choose::launch::<R>(client, count, dim, upper.arg(), certain.arg(), blocks.owners.arg(), places.arg(), chosen);
    exclusive(client, &places);
    let left = last(client, &places)?;
    let left = Left { members: Buffer::new(client, left), points: Buffer::new(client, left), pairs, coincident };
    take::launch::<R>(
        client,
        cubes(slots),
        dim,
        places.arg(),
        blocks.first.arg(),
        blocks.order.arg(),
        halos.members.arg(),
        left.members.arg(),
        left.points.arg(),
        chosen,
    );
    Ok(left)
}

fn sources<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &Halos,
    members: &Members,
    blocks: &Blocks,
    units: Units,
) -> Sources {
    let scale = power(-units.length);
    let sides = points.space.period().copied().unwrap_or([0.0; 3]).map(|side| side * scale);
    // Differences of coordinates in `f32` are as precise as can be, if nothing was rounded before.
    let split = size_of::<S>() > 4 || sides.iter().any(|&side| f64::from(side as f32) != side);
    let n = halos.large[1];
    let values = Buffer::<f32>::new(client, 4 * n);
    let rest = Buffer::<f32>::new(client, if split { 4 * n } else { 0 });
    let numbers: Vec<f64> = [scale].into_iter().chain(sides).collect();
    let periodic = points.space != Space::OPEN;
    write_sources::launch::<S, R>(
        client,
        cubes(n),
        CubeDim::new_1d(UNITS),
        points.values.arg(),
        halos.members.arg(),
        members.axes.arg(),
        members.masses.arg(),
        members.owners.arg(),
        members.flags.arg(),
        blocks.order.arg(),
        Buffer::from_slice(client, &numbers).arg(),
        values.arg(),
        rest.arg(),
        n as u32,
        members.len as u32,
        members.weighted,
        split,
        periodic,
    );
    Sources { values, rest, split }
}

#[cube(launch)]
fn write_sources<F: Float>(
    points: &Array<F>,
    members: &Array<u32>,
    axes: &Array<f64>,
    masses: &Array<f64>,
    owners: &Array<u32>,
    flags: &Array<u32>,
    order: &Array<u32>,
    numbers: &Array<f64>,
    values: &mut Array<f32>,
    rest: &mut Array<f32>,
    n: u32,
    all: u32,
    #[comptime] weighted: bool,
    #[comptime] split: bool,
    #[comptime] periodic: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let member = order[i] as usize;
        #[unroll]
        for k in 0..3usize {
            if comptime!(split) {
                let x = axes[k * all as usize + member];
                let high = f32::cast_from(x);
                values[i * 4 + k] = high;
                rest[i * 4 + k] = f32::cast_from(x - f64::cast_from(high));
            } else {
                let mut x = f64::cast_from(points[members[member] as usize * 3 + k]) * numbers[0];
                if comptime!(periodic) {
                    // Members on both sides of the border: the upper half goes below it, which rounds nothing in `f32` either.
                    if (flags[owners[member] as usize] >> comptime!(k as u32)) & 1 == 1 {
                        if x >= numbers[1 + k] * f64::new(0.5) {
                            x -= numbers[1 + k];
                        }
                    }
                }
                values[i * 4 + k] = f32::cast_from(x);
            }
        }
        values[i * 4 + 3] = f32::cast_from(mass(masses, member as u32, weighted));
    }
}

/// Adds to a number of two words.
#[cube]
fn add_wide(words: &mut Array<Atomic<u32>>, at: u32, value: u32) {
    let old = words[2 * at as usize].fetch_add(value);
    if old > 0xffff_ffffu32 - value {
        words[2 * at as usize + 1].fetch_add(1);
    }
}

/// What is far from each block, and which blocks are not.
#[cube(launch)]
fn look_far(
    moments: &Array<f32>,
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
) {
    let own = ABSOLUTE_POS as u32;
    if own < blocks {
        let at = own as usize * 8;
        let (x, y, z, reach) = (moments[at], moments[at + 1], moments[at + 2], moments[at + 4]);
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
        for other in start..end {
            let of = other as usize * 8;
            let (dx, dy, dz) = (moments[of] - x, moments[of + 1] - y, moments[of + 2] - z);
            let radius = moments[of + 4];
            let d2 = dx * dx + dy * dy + dz * dz;
            let limit = apart * (reach + radius);
            let mut is_far = d2 > limit * limit;
            if d2 < 1e-24f32 {
                is_far = false;
            }
            if is_far {
                let rho2 = d2 + softening2;
                let inverse = rho2.inverse_sqrt();
                let share = moments[of + 3] * inverse;
                let slope = share * inverse * inverse;
                sum += f64::cast_from(share);
                sum_x += f64::cast_from(slope * dx);
                sum_y += f64::cast_from(slope * dy);
                sum_z += f64::cast_from(slope * dz);
                // Of the target's members: what follows the first order.
                let q = reach * inverse;
                error += share * q * q / (1.0f32 - q);
                // Of the source's, as near as any target may be.
                let nearest = 1.0f32 / (rho2 * inverse - reach);
                let spread = moments[of + 5] * nearest;
                let rest = spread * spread / (1.0f32 - radius * nearest) + moments[of + 6] * nearest;
                error += moments[of + 3] * nearest * rest;
            } else {
                if count < most {
                    near[(own * most + count) as usize] = other;
                }
                count += 1;
                sources += first[other as usize + 1] - first[other as usize];
            }
        }
        if count > most {
            sum = f64::cast_from(0u32.runtime());
            sum_x = f64::cast_from(0u32.runtime());
            sum_y = f64::cast_from(0u32.runtime());
            sum_z = f64::cast_from(0u32.runtime());
            error = f32::cast_from(0u32.runtime());
            sources = first[end as usize] - first[start as usize];
        }
        far[own as usize] = sum;
        field[own as usize * 4] = f32::cast_from(sum_x);
        field[own as usize * 4 + 1] = f32::cast_from(sum_y);
        field[own as usize * 4 + 2] = f32::cast_from(sum_z);
        field[own as usize * 4 + 3] = error * 1.02f32;
        counts[own as usize] = count;
        let targets = first[own as usize + 1] - first[own as usize];
        add_wide(pairs, halo, targets * (sources - 1) + (end - start));
    }
}

/// Bounds of what each member feels.
#[cube(launch)]
fn look_near(
    axes: &Array<f64>,
    masses: &Array<f64>,
    softening: &Array<f64>,
    order: &Array<u32>,
    of_halos: &Array<u32>,
    first: &Array<u32>,
    owners: &Array<u32>,
    moments: &Array<f32>,
    values: &Array<f32>,
    rest: &Array<f32>,
    far: &Array<f64>,
    field: &Array<f32>,
    near: &Array<u32>,
    counts: &Array<u32>,
    upper: &mut Array<f32>,
    certain: &mut Array<Atomic<u32>>,
    coincident: &mut Array<Atomic<u32>>,
    blocks: u32,
    all: u32,
    rough: f32,
    most: u32,
    #[comptime] weighted: bool,
    #[comptime] split: bool,
) {
    let slot = ABSOLUTE_POS as u32;
    let block = slot / 32;
    if block < blocks {
        let own = first[block as usize] + slot % 32;
        if own >= first[block as usize + 1] {
            // No member, and nothing that a bound could be above.
            upper[slot as usize] = -1.0f32;
        } else {
            let halo = owners[block as usize];
            let mut begin = of_halos[halo as usize];
            let mut number = of_halos[halo as usize + 1] - begin;
            let listed = counts[block as usize] <= most;
            if listed {
                begin = block * most;
                number = counts[block as usize];
            }
            let at = own as usize * 4;
            let (x, y, z) = (values[at], values[at + 1], values[at + 2]);
            let mut least = 1e-30f32.runtime();
            let mut rest_x = f32::cast_from(0u32.runtime());
            let mut rest_y = f32::cast_from(0u32.runtime());
            let mut rest_z = f32::cast_from(0u32.runtime());
            if comptime!(split) {
                rest_x = rest[at];
                rest_y = rest[at + 1];
                rest_z = rest[at + 2];
                // Nearer than that, what two numbers in `f32` leave of a coordinate has a say.
                least = least.max((x * x + y * y + z * z) * 1e-15f32);
            }
            let softening2 = f32::cast_from(softening[0]);
            let mut sum = f64::cast_from(0u32.runtime());
            let mut close = 0u32.runtime();
            for i in 0..number {
                let mut other = begin + i;
                if listed {
                    other = near[(begin + i) as usize];
                }
                let mut part = f32::cast_from(0u32.runtime());
                for source in first[other as usize]..first[other as usize + 1] {
                    let of = source as usize * 4;
                    let mut dx = values[of] - x;
                    let mut dy = values[of + 1] - y;
                    let mut dz = values[of + 2] - z;
                    if comptime!(split) {
                        dx += rest[of] - rest_x;
                        dy += rest[of + 1] - rest_y;
                        dz += rest[of + 2] - rest_z;
                    }
                    let d2 = dx * dx + dy * dy + dz * dz;
                    if d2 >= least {
                        part += values[of + 3] * (d2 + softening2).inverse_sqrt();
                    } else {
                        close += 1;
                    }
                }
                sum += f64::cast_from(part);
            }
            let member = order[own as usize];
            // Only the member itself is at no distance, or all is done again with care.
            if close != 1 {
                let zero = f64::new(0.0);
                let mut here = f64::cast_from(0u32.runtime());
                let mut same = 0u32.runtime();
                sum = f64::cast_from(0u32.runtime());
                for i in 0..number {
                    let mut other = begin + i;
                    if listed {
                        other = near[(begin + i) as usize];
                    }
                    for source in first[other as usize]..first[other as usize + 1] {
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
            let mut slope = f32::cast_from(0u32.runtime());
            #[unroll]
            for k in 0..3usize {
                let from = f64::cast_from(moments[block as usize * 8 + k]);
                slope +=
                    field[block as usize * 4 + k] * f32::cast_from(axes[k * all as usize + member as usize] - from);
            }
            let total = far[block as usize] + sum;
            let error = f64::cast_from(field[block as usize * 4 + 3]) + total * f64::cast_from(rough);
            let middle = total + f64::cast_from(slope);
            upper[slot as usize] = f32::cast_from(middle + error);
            // Roundings to `f32` are within what the error allows for.
            let lower = (middle - error).min(f64::new(1e38));
            if lower > f64::new(0.0) {
                let bits = u32::reinterpret(f32::cast_from(lower));
                if certain[halo as usize].load() < bits {
                    certain[halo as usize].fetch_max(bits);
                }
            }
        }
    }
}

#[cube(launch)]
fn choose(upper: &Array<f32>, certain: &Array<u32>, owners: &Array<u32>, places: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let mut chosen = 0u32.runtime();
        if upper[i] >= f32::reinterpret(certain[owners[i / 32] as usize]) {
            chosen = 1;
        }
        places[i] = chosen;
    } else if (i as u32) == n {
        places[i] = 0;
    }
}

#[cube(launch)]
fn take(
    places: &Array<u32>,
    first: &Array<u32>,
    order: &Array<u32>,
    indices: &Array<u32>,
    members: &mut Array<u32>,
    points: &mut Array<u32>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let to = places[i];
        if places[i + 1] > to {
            let member = order[(first[i / 32] + i as u32 % 32) as usize];
            members[to as usize] = member;
            points[to as usize] = indices[member as usize];
        }
    }
}
