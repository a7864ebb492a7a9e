//! The members of large halos that may be most bound: the twin of `center::bound`.
//!
//! In: members in blocks. Out: those that none of the others is certain to surpass; and how many pairs were looked at, and how
//! many of them have no distance.
//! A block feels others that are far away by an expansion to second order about both centres (`far`). Near blocks are summed pair
//! by pair in `f32` (`near`), a block at a time, and far ones 32 at a time, which has a relative error below [`ROUGH`]. A halo's
//! largest lower bound drops whoever has a smaller upper bound; before that, the member with the largest upper bound is looked at
//! pair by pair (`rough`), which makes much certain. Those who are left are looked at from the far blocks by themselves, and the few
//! who then are left pair by pair.
//! Cost: a node each pair of blocks, and a pair for each two members of near blocks; 370 bytes a block, 60 a member, 16 a halo.
//! Source: Salmon and Warren 1994, section 3, for the bounds.

#![allow(unsafe_code)] // Measured in benches/README.md: hot kernels without checks of their own.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, UNITS, count, cubes};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::blocks::Blocks;
use crate::gpu::halo::centers::far::{look_closer, look_far};
use crate::gpu::halo::centers::members::{Members, Units, mass};
use crate::gpu::halo::centers::near::look_near;
use crate::gpu::halo::centers::pairwise_f32::look_at_all;
use crate::gpu::halo::groups::Halos;
use crate::gpu::primitives::scan::{exclusive, last};
use crate::gpu::primitives::warp::Warp;
use crate::halo::centers::power;

/// The relative error of sums in single precision, at most.
const ROUGH: f64 = 1e-5;
/// Blocks are far from each other if their centres are so many times as far apart as the blocks reach.
const APART: f32 = 1.1;
/// So many near blocks are listed; those of a block with more are looked for again.
const NEAR: usize = 64;
/// More blocks have lists longer than `u32` counts.
const MOST: usize = u32::MAX as usize / NEAR;
/// Members that a cube looks at together.
const GROUP: usize = 8;

/// Who is left, and what it took.
pub(in crate::gpu) struct Left {
    /// Members by their position in the halos, halo by halo; and the points that they are.
    pub members: Buffer<u32>,
    pub points: Buffer<u32>,
    /// For each large halo, in two words each: ordered pairs looked at, and ordered pairs at no distance.
    pub pairs: Buffer<u32>,
    pub coincident: Buffer<u32>,
}

/// Coordinates and masses in single precision, in the order of the blocks.
struct Sources {
    /// Vec4 numbers each: coordinates and mass.
    values: Buffer<f32>,
    /// What `f32` leaves of coordinates, if they do not fit it.
    rest: Buffer<f32>,
    split: bool,
}

/// None if there are too many blocks.
pub(in crate::gpu) fn left<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &Halos,
    members: &Members,
    units: Units,
) -> Result<Option<Left>> {
    let blocks = Blocks::new(client, members, &halos.offsets, halos.large)?;
    if blocks.len > MOST {
        return Ok(None);
    }
    let sources = sources(client, points, halos, members, &blocks, units);
    let (large, dim) = (halos.large[0], CubeDim::new_1d(UNITS));
    let (pairs, coincident) =
        (Buffer::<u32>::filled(client, 2 * large, 0), Buffer::<u32>::filled(client, 2 * large, 0));

    let warp = Warp::of(client).apart();
    let lanes = warp.lanes() as usize;
    let far = Buffer::<f64>::new(client, blocks.len);
    let field = Buffer::<f32>::new(client, 12 * blocks.len);
    let near = Buffer::<u32>::new(client, NEAR * blocks.len);
    let counts = Buffer::<u32>::new(client, blocks.len);
    let (warp_blocks, warp_dim) = warp.blocks(blocks.len * lanes, UNITS);
    // SAFETY: halos, blocks and members name each other by positions below the lengths of what is passed; loops are over
    // ranges of these.
    unsafe {
        look_far::launch_unchecked::<R>(
            client,
            warp_blocks,
            warp_dim,
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
            warp,
        )
    };
    let slots = halos.large[1];
    let (nears, upper) = (Buffer::<f64>::new(client, slots), Buffer::<f32>::new(client, slots));
    let certain = Buffer::<u32>::filled(client, large, 0);
    let most_upper = Buffer::<u32>::filled(client, large, 0);
    let (warp_blocks, warp_dim) = warp.blocks(if warp.is_some() { blocks.len * lanes } else { slots }, UNITS);
    // SAFETY: halos, blocks and members name each other by positions below the lengths of what is passed; loops are over
    // ranges of these.
    unsafe {
        look_near::launch_unchecked::<R>(
            client,
            warp_blocks,
            warp_dim,
            members.axes.arg(),
            members.masses.arg(),
            members.softening.arg(),
            blocks.order.arg(),
            blocks.of_halos.arg(),
            blocks.of_members.arg(),
            blocks.first.arg(),
            blocks.owners.arg(),
            blocks.moments.arg(),
            sources.values.arg(),
            sources.rest.arg(),
            far.arg(),
            field.arg(),
            near.arg(),
            counts.arg(),
            nears.arg(),
            upper.arg(),
            certain.arg(),
            most_upper.arg(),
            coincident.arg(),
            slots as u32,
            blocks.len as u32,
            members.len as u32,
            ROUGH as f32,
            NEAR as u32,
            APART,
            members.weighted,
            sources.split,
            warp,
        )
    };
    let closer = |targets: &Buffer<u32>| {
        let n = targets.len();
        let upper = Buffer::<f32>::new(client, n);
        let (warp_blocks, warp_dim) = warp.blocks(n * lanes, UNITS);
        // SAFETY: halos, blocks and members name each other by positions below the lengths of what is passed; loops are over
        // ranges of these.
        unsafe {
            look_closer::launch_unchecked::<R>(
                client,
                warp_blocks,
                warp_dim,
                targets.arg(),
                members.axes.arg(),
                blocks.order.arg(),
                blocks.moments.arg(),
                blocks.of_halos.arg(),
                blocks.of_members.arg(),
                blocks.owners.arg(),
                members.softening.arg(),
                nears.arg(),
                upper.arg(),
                certain.arg(),
                pairs.arg(),
                n as u32,
                members.len as u32,
                ROUGH as f32,
                APART,
                warp,
            )
        };
        upper
    };
    let at_all = |targets: &Buffer<u32>, group: usize| {
        let n = targets.len();
        let upper = Buffer::<f32>::new(client, n);
        // SAFETY: halos, blocks and members name each other by positions below the lengths of what is passed; loops are over
        // ranges of these.
        unsafe {
            look_at_all::launch_unchecked::<R>(
                client,
                count(n.div_ceil(group)),
                dim,
                targets.arg(),
                members.axes.arg(),
                blocks.order.arg(),
                blocks.of_halos.arg(),
                blocks.of_members.arg(),
                blocks.first.arg(),
                blocks.owners.arg(),
                sources.values.arg(),
                sources.rest.arg(),
                members.softening.arg(),
                upper.arg(),
                certain.arg(),
                pairs.arg(),
                n as u32,
                members.len as u32,
                ROUGH as f32,
                group,
                sources.split,
                Warp::of(client),
            )
        };
        upper
    };
    // One of each halo that is likely to be deep makes much certain.
    let tops = Buffer::<u32>::filled(client, large, u32::MAX);
    find_tops::launch::<R>(
        client,
        cubes(slots),
        dim,
        upper.arg(),
        most_upper.arg(),
        blocks.of_members.arg(),
        blocks.owners.arg(),
        tops.arg(),
        slots as u32,
    );
    at_all(&tops, 1);
    let few = deeper(client, &blocks, None, &upper, &certain)?;
    let upper = closer(&few);
    let few = deeper(client, &blocks, Some(&few), &upper, &certain)?;
    let upper = at_all(&few, GROUP);
    let few = deeper(client, &blocks, Some(&few), &upper, &certain)?;
    let n = few.len();
    let left = Left { members: Buffer::new(client, n), points: Buffer::new(client, n), pairs, coincident };
    name::launch::<R>(
        client,
        cubes(n),
        dim,
        few.arg(),
        blocks.order.arg(),
        halos.members.arg(),
        left.members.arg(),
        left.points.arg(),
        n as u32,
    );
    Ok(Some(left))
}

/// Those of some members, or of all in the order of the blocks, whose upper bound reaches what is certain of their halo.
fn deeper<R: Runtime>(
    client: &ComputeClient<R>,
    blocks: &Blocks,
    some: Option<&Buffer<u32>>,
    upper: &Buffer<f32>,
    certain: &Buffer<u32>,
) -> Result<Buffer<u32>> {
    let (n, dim) = (upper.len(), CubeDim::new_1d(UNITS));
    let (listed, some) = (some.is_some(), some.unwrap_or(&blocks.order));
    let places = Buffer::<u32>::new(client, n + 1);
    choose::launch::<R>(
        client,
        cubes(n + 1),
        dim,
        some.arg(),
        upper.arg(),
        certain.arg(),
        blocks.of_members.arg(),
        blocks.owners.arg(),
        places.arg(),
        n as u32,
        listed,
    );
    exclusive(client, &places);
    let deeper = Buffer::new(client, last(client, &places)?);
    take::launch::<R>(client, cubes(n), dim, some.arg(), places.arg(), deeper.arg(), n as u32, listed);
    Ok(deeper)
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
    let rest = Buffer::<f32>::new(client, if split { 4 * n } else { 4 });
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

/// The first member of each halo that has the largest upper bound.
#[cube(launch)]
fn find_tops(
    upper: &Array<f32>,
    most_upper: &Array<u32>,
    of_members: &Array<u32>,
    owners: &Array<u32>,
    tops: &mut Array<Atomic<u32>>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = owners[of_members[i] as usize] as usize;
        if u32::reinterpret(upper[i]) == most_upper[halo] {
            tops[halo].fetch_min(i as u32);
        }
    }
}

#[cube(launch)]
fn choose(
    some: &Array<u32>,
    upper: &Array<f32>,
    certain: &Array<u32>,
    of_members: &Array<u32>,
    owners: &Array<u32>,
    places: &mut Array<u32>,
    n: u32,
    #[comptime] listed: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let mut own = i as u32;
        if comptime!(listed) {
            own = some[i];
        }
        let halo = owners[of_members[own as usize] as usize];
        let mut chosen = 0u32.runtime();
        if upper[i] >= f32::reinterpret(certain[halo as usize]) {
            chosen = 1;
        }
        places[i] = chosen;
    } else if (i as u32) == n {
        places[i] = 0;
    }
}

#[cube(launch)]
fn take(some: &Array<u32>, places: &Array<u32>, chosen: &mut Array<u32>, n: u32, #[comptime] listed: bool) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let to = places[i] as usize;
        if places[i + 1] as usize > to {
            let mut own = i as u32;
            if comptime!(listed) {
                own = some[i];
            }
            chosen[to] = own;
        }
    }
}

/// Which members and points these are.
#[cube(launch)]
fn name(
    some: &Array<u32>,
    order: &Array<u32>,
    indices: &Array<u32>,
    members: &mut Array<u32>,
    points: &mut Array<u32>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let member = order[some[i] as usize];
        members[i] = member;
        points[i] = indices[member as usize];
    }
}
