//! The most connected particle: the twin of `center::connected`.
//!
//! In: points, halos, a linking length. Out: for each halo the member with most others within that length, and how many have as
//! many.
//! Members of small halos are compared with all others; those of large ones with the blocks that reach to theirs, which count as
//! a whole where they are within the length on all sides. Distances are decided as on the CPU.
//! Cost: n² for halos of up to 512 members; 560 bytes a block and 12 to 24 a member of others.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{FilteredRadius, Space};
use crate::gpu::buffer::{Buffer, UNITS, count, cubes};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::blocks::{Blocks, Vec4, center_of, radius_of};
use crate::gpu::halo::centers::members::{Members, Units, owner};
use crate::gpu::halo::groups::Halos;
use crate::gpu::metric::{distance2, exact_distance2};
use crate::gpu::primitives::gather::gather;
use crate::halo::centers::power;

/// So many near blocks are listed; those of a block with more are looked for again.
const NEAR: usize = 128;

/// The most connected particle of each halo.
pub(in crate::gpu) struct Connected {
    /// The point, by its index.
    pub points: Vec<u32>,
    /// How many are within the length of it, itself counted.
    pub counts: Vec<u32>,
    /// How many members have as many.
    pub ties: Vec<u32>,
}

pub(in crate::gpu) fn most_connected<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &Halos,
    linking_length: f64,
    units: Units,
) -> Result<Connected> {
    let (n, dim) = (halos.members.len(), CubeDim::new_1d(UNITS));
    let [large, first] = halos.large;
    // The sides of the periodic box; then what is surely within, what is maybe, and the square that decides.
    let reach = FilteredRadius::<S, 3>::new(linking_length, &points.space);
    let sides = points.space.period().copied().unwrap_or([0.0; 3]);
    let numbers: Vec<S> = sides.iter().map(|&side| S::from_f64(side)).chain([reach.sure, reach.maybe]).collect();
    let exact: Vec<f64> = sides.into_iter().chain([reach.radius2]).collect();
    let (numbers, exact) = (Buffer::from_slice(client, &numbers), Buffer::from_slice(client, &exact));
    let axes = gather::<R, S, 3>(client, &points.values, &halos.members);
    let counts = Buffer::<u32>::new(client, n);
    if large > 0 {
        let (members, _) = Members::new(client, points, halos, None, 0.0, units)?;
        let blocks = Blocks::new(client, &members, &halos.offsets, halos.large)?;
        let (near, near_counts) =
            (Buffer::<u32>::new(client, NEAR * blocks.len), Buffer::<u32>::new(client, blocks.len));
        let scale = power(-units.length);
        let sides = points.space.period().copied().unwrap_or([0.0; 3]);
        let scaled: Vec<f32> = [linking_length].into_iter().chain(sides).map(|x| (x * scale) as f32).collect();
        let scaled = Buffer::from_slice(client, &scaled);
        let periodic = points.space != Space::OPEN;
        find_near::launch::<R>(
            client,
            cubes(blocks.len),
            dim,
            blocks.moments.arg(),
            blocks.of_halos.arg(),
            blocks.owners.arg(),
            scaled.arg(),
            near.arg(),
            near_counts.arg(),
            blocks.len as u32,
            NEAR as u32,
            periodic,
        );
        count_large::launch::<S, R>(
            client,
            cubes(first),
            dim,
            axes.arg(),
            blocks.order.arg(),
            blocks.of_halos.arg(),
            blocks.of_members.arg(),
            blocks.first.arg(),
            blocks.owners.arg(),
            blocks.moments.arg(),
            scaled.arg(),
            near.arg(),
            near_counts.arg(),
            numbers.arg(),
            exact.arg(),
            counts.arg(),
            first as u32,
            n as u32,
            NEAR as u32,
            periodic,
        );
    }
    if n > first {
        count_small::launch::<S, R>(
            client,
            cubes(n - first),
            dim,
            axes.arg(),
            halos.offsets.arg(),
            numbers.arg(),
            exact.arg(),
            counts.arg(),
            first as u32,
            n as u32,
            halos.len() as u32,
            points.space.period().is_some(),
        );
    }
    let new = || Buffer::<u32>::new(client, halos.len());
    let (best, most, ties) = (new(), new(), new());
    if large > 0 {
        choose_large::launch::<R>(
            client,
            count(large),
            dim,
            counts.arg(),
            halos.offsets.arg(),
            halos.members.arg(),
            best.arg(),
            most.arg(),
            ties.arg(),
            large as u32,
        );
    }
    if halos.len() > large {
        choose_small::launch::<R>(
            client,
            cubes(halos.len() - large),
            dim,
            counts.arg(),
            halos.offsets.arg(),
            halos.members.arg(),
            best.arg(),
            most.arg(),
            ties.arg(),
            large as u32,
            halos.len() as u32,
        );
    }
    Ok(Connected { points: best.read(client)?, counts: most.read(client)?, ties: ties.read(client)? })
}

/// The distance of the centres of two blocks, by the nearest image.
#[cube]
fn between(moments: &Array<Vec4>, a: u32, b: u32, scaled: &Array<f32>, #[comptime] periodic: bool) -> f32 {
    let (a, b) = (center_of(moments, a), center_of(moments, b));
    let mut d2 = f32::cast_from(0u32.runtime());
    #[unroll]
    for k in 0..3usize {
        let mut d = (b[k] - a[k]).abs();
        if comptime!(periodic) {
            d = d.min((scaled[1 + k] - d).abs());
        }
        d2 += d * d;
    }
    d2.sqrt()
}

/// Whether any two members of two blocks may be within the length: a margin is on the safe side of all rounding, lengths being at
/// most 1.
#[cube]
fn is_near(moments: &Array<Vec4>, a: u32, b: u32, scaled: &Array<f32>, #[comptime] periodic: bool) -> bool {
    let reach = radius_of(moments, a) + radius_of(moments, b) + scaled[0];
    between(moments, a, b, scaled, periodic) <= reach * 1.00001f32 + 1e-6f32
}

#[cube(launch)]
fn find_near(
    moments: &Array<Vec4>,
    of_halos: &Array<u32>,
    owners: &Array<u32>,
    scaled: &Array<f32>,
    near: &mut Array<u32>,
    counts: &mut Array<u32>,
    blocks: u32,
    most: u32,
    #[comptime] periodic: bool,
) {
    let own = ABSOLUTE_POS as u32;
    if own < blocks {
        let halo = owners[own as usize] as usize;
        let mut count = 0u32.runtime();
        for other in of_halos[halo]..of_halos[halo + 1] {
            if is_near(moments, own, other, scaled, periodic) {
                if count < most {
                    near[(own * most + count) as usize] = other;
                }
                count += 1;
            }
        }
        counts[own as usize] = count;
    }
}

/// Whether the member at a position is within the length of a point.
#[cube]
fn is_friend<F: Float>(
    axes: &Array<F>,
    at: u32,
    n: u32,
    point: &Array<F>,
    numbers: &Array<F>,
    exact: &Array<f64>,
    #[comptime] periodic: bool,
) -> bool {
    let d2 = distance2::<F>(axes, at, n, point, numbers, 3usize, periodic);
    let mut friend = d2 <= numbers[3];
    if !friend {
        if d2 <= numbers[4] {
            friend = exact_distance2::<F>(axes, at, n, point, exact, 3usize, periodic) <= exact[3];
        }
    }
    friend
}

#[cube(launch)]
fn count_large<F: Float>(
    axes: &Array<F>,
    order: &Array<u32>,
    of_halos: &Array<u32>,
    of_members: &Array<u32>,
    first: &Array<u32>,
    owners: &Array<u32>,
    moments: &Array<Vec4>,
    scaled: &Array<f32>,
    near: &Array<u32>,
    near_counts: &Array<u32>,
    numbers: &Array<F>,
    exact: &Array<f64>,
    counts: &mut Array<u32>,
    large: u32,
    n: u32,
    most: u32,
    #[comptime] periodic: bool,
) {
    let own = ABSOLUTE_POS as u32;
    if own < large {
        let member = order[own as usize] as usize;
        let block = of_members[own as usize];
        let halo = owners[block as usize] as usize;
        let mut digit_base = of_halos[halo];
        let mut number = of_halos[halo + 1] - digit_base;
        let listed = near_counts[block as usize] <= most;
        if listed {
            digit_base = block * most;
            number = near_counts[block as usize];
        }
        let mut point = Array::<F>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            point[k] = axes[k * n as usize + member];
        }
        let mut count = 0u32.runtime();
        for i in 0..number {
            let mut other = digit_base + i;
            if listed {
                other = near[(digit_base + i) as usize];
            }
            let start = first[other as usize];
            let mut end = first[other as usize + 1];
            let reach = radius_of(moments, block) + radius_of(moments, other);
            let farthest = (between(moments, block, other, scaled, periodic) + reach) * 1.00001f32 + 1e-6f32;
            if farthest <= scaled[0] {
                count += end - start;
                end = start;
            } else if !listed {
                if !is_near(moments, block, other, scaled, periodic) {
                    end = start;
                }
            }
            for at in start..end {
                if is_friend::<F>(axes, order[at as usize], n, &point, numbers, exact, periodic) {
                    count += 1;
                }
            }
        }
        counts[member] = count;
    }
}

/// A unit for each member of a small halo.
#[cube(launch)]
fn count_small<F: Float>(
    axes: &Array<F>,
    offsets: &Array<u32>,
    numbers: &Array<F>,
    exact: &Array<f64>,
    counts: &mut Array<u32>,
    first: u32,
    n: u32,
    halos: u32,
    #[comptime] periodic: bool,
) {
    let own = first + ABSOLUTE_POS as u32;
    if own < n {
        let halo = owner(offsets, own, halos) as usize;
        let mut point = Array::<F>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            point[k] = axes[k * n as usize + own as usize];
        }
        let mut count = 0u32.runtime();
        for other in offsets[halo]..offsets[halo + 1] {
            if is_friend::<F>(axes, other, n, &point, numbers, exact, periodic) {
                count += 1;
            }
        }
        counts[own as usize] = count;
    }
}

/// A unit for each small halo.
#[cube(launch)]
fn choose_small(
    counts: &Array<u32>,
    offsets: &Array<u32>,
    members: &Array<u32>,
    best: &mut Array<u32>,
    most: &mut Array<u32>,
    ties: &mut Array<u32>,
    large: u32,
    halos: u32,
) {
    let halo = large as usize + ABSOLUTE_POS;
    if (halo as u32) < halos {
        let start = offsets[halo];
        let mut first = start + 0;
        let mut highest = counts[start as usize];
        let mut equal = 1u32.runtime();
        for other in start + 1..offsets[halo + 1] {
            let count = counts[other as usize];
            if count > highest {
                highest = count;
                first = other;
                equal = 1;
            } else if count == highest {
                equal += 1;
            }
        }
        best[halo] = members[first as usize];
        most[halo] = highest;
        ties[halo] = equal;
    }
}

/// A cube for each large halo, which has more members than the cube units.
#[cube(launch)]
fn choose_large(
    counts: &Array<u32>,
    offsets: &Array<u32>,
    members: &Array<u32>,
    best: &mut Array<u32>,
    most: &mut Array<u32>,
    ties: &mut Array<u32>,
    large: u32,
) {
    let halo = CUBE_POS;
    if (halo as u32) < large {
        let mut firsts = SharedMemory::<u32>::new(256usize);
        let mut highests = SharedMemory::<u32>::new(256usize);
        let mut equals = SharedMemory::<u32>::new(256usize);
        let (start, end) = (offsets[halo], offsets[halo + 1]);
        let mut first = start + UNIT_POS;
        let mut highest = counts[first as usize];
        let mut equal = 1u32.runtime();
        let mut other = start + UNIT_POS + 256;
        while other < end {
            let count = counts[other as usize];
            if count > highest {
                highest = count;
                first = other;
                equal = 1;
            } else if count == highest {
                equal += 1;
            }
            other += 256;
        }
        firsts[UNIT_POS as usize] = first;
        highests[UNIT_POS as usize] = highest;
        equals[UNIT_POS as usize] = equal;
        sync_cube();
        if UNIT_POS == 0 {
            for unit in 1..256usize {
                if highests[unit] > highest {
                    highest = highests[unit];
                    first = firsts[unit];
                    equal = equals[unit];
                } else if highests[unit] == highest {
                    first = first.min(firsts[unit]);
                    equal += equals[unit];
                }
            }
            best[halo] = members[first as usize];
            most[halo] = highest;
            ties[halo] = equal;
        }
    }
}
