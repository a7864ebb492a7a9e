//! Blocks of members: what a halo looks like from far away.
//!
//! In: the members of large halos. Out: these in Morton order, each halo by itself, and blocks of up to 32, each with its mass, centre,
//! and extent.
//! A block is a cell of the Morton grid, or half or a quarter of one: they are as compact as runs of equal length are not.
//! Cost: a sort of the members; 32 bytes a member, 56 a block.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::halo::centers::members::{Members, mass};
use crate::gpu::primitives::radix_sort::{Pairs, sort_bits};
use crate::gpu::primitives::scan::{exclusive, last};
use crate::gpu::primitives::warp::{Warp, warp_atomic_max};

/// Members of a block, at most.
const BLOCK: usize = 32;
/// Bits of a cell along each axis.
const CELL_BITS: u32 = 12;

/// Vec4 numbers that are loaded at once.
pub(in crate::gpu) type Vec4 = Vector<f32, Const<4>>;

/// The blocks of all large halos.
pub(in crate::gpu) struct Blocks {
    /// The members in order.
    pub order: Buffer<u32>,
    /// The first block of each halo, and their number.
    pub of_halos: Buffer<u32>,
    /// The first member of each block, and their number.
    pub first: Buffer<u32>,
    /// The block of each member, in order.
    pub of_members: Buffer<u32>,
    /// The halo of each block.
    pub owners: Buffer<u32>,
    /// Twelve numbers each: centre and mass; the means by mass of squares of coordinates about the centre, xx, yy, zz, and the
    /// largest distance from there; twice the means of xy, xz, yz, and the distance of the centre of mass from the centre, which is
    /// rounded. Distances are at least what they are.
    pub moments: Buffer<f32>,
    pub len: usize,
}

impl Blocks {
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        members: &Members,
        offsets: &Buffer<u32>,
        [halos, n]: [usize; 2],
    ) -> Result<Self> {
        let dim = CubeDim::new_1d(UNITS);
        let (all, large) = (members.len as u32, n as u32);
        let extents = Buffer::<u32>::filled(client, halos, 0);
        measure::launch::<R>(
            client,
            cubes(n),
            dim,
            members.axes.arg(),
            members.owners.arg(),
            extents.arg(),
            all,
            large,
            Warp::of(client),
        );
        let pairs = Pairs { keys: Buffer::new(client, n), values: Buffer::new(client, n) };
        code_members::launch::<R>(
            client,
            cubes(n),
            dim,
            members.axes.arg(),
            members.owners.arg(),
            extents.arg(),
            pairs.keys.arg(),
            pairs.values.arg(),
            all,
            large,
            CELL_BITS,
        );
        let bits = ((halos as u64) << (3 * CELL_BITS)).next_power_of_two() - 1;
        let Pairs { keys, values: order } = sort_bits(client, pairs, bits);
        let places = Buffer::<u32>::new(client, n + 1);
        find_starts::launch::<R>(client, cubes(n + 1), dim, keys.arg(), places.arg(), large, BLOCK as u32);
        exclusive(client, &places);
        let len = last(client, &places)?;
        let blocks = Self {
            order,
            of_halos: Buffer::new(client, halos + 1),
            first: Buffer::new(client, len + 1),
            of_members: Buffer::new(client, n),
            owners: Buffer::new(client, len),
            moments: Buffer::new(client, 12 * len),
            len,
        };
        take_starts::launch::<R>(
            client,
            cubes(n + 1),
            dim,
            places.arg(),
            blocks.first.arg(),
            blocks.of_members.arg(),
            large,
        );
        find_halos::launch::<R>(
            client,
            cubes(halos + 1),
            dim,
            places.arg(),
            offsets.arg(),
            blocks.of_halos.arg(),
            halos as u32,
        );
        find_moments::launch::<R>(
            client,
            cubes(len),
            dim,
            members.axes.arg(),
            members.masses.arg(),
            members.owners.arg(),
            blocks.order.arg(),
            blocks.first.arg(),
            blocks.owners.arg(),
            blocks.moments.arg(),
            len as u32,
            all,
            members.weighted,
        );
        Ok(blocks)
    }
}

/// Of a block's moments the centre and mass; the squares and the radius, which is the last of these four; and the products.
#[cube]
pub(in crate::gpu) fn center_of(moments: &Array<Vec4>, block: u32) -> Vec4 {
    moments[block as usize * 3]
}

#[cube]
pub(in crate::gpu) fn squares_of(moments: &Array<Vec4>, block: u32) -> Vec4 {
    moments[block as usize * 3 + 1]
}

#[cube]
pub(in crate::gpu) fn radius_of(moments: &Array<Vec4>, block: u32) -> f32 {
    moments[block as usize * 3 + 1][3]
}

#[cube]
pub(in crate::gpu) fn products_of(moments: &Array<Vec4>, block: u32) -> Vec4 {
    moments[block as usize * 3 + 2]
}

/// The largest coordinate of each halo, as bits.
#[cube(launch)]
fn measure(
    axes: &Array<f64>,
    owners: &Array<u32>,
    extents: &mut Array<Atomic<u32>>,
    all: u32,
    n: u32,
    #[comptime] warp: Warp,
) {
    let i = ABSOLUTE_POS;
    let mut halo = 0u32.runtime();
    let mut bits = 0u32.runtime();
    if (i as u32) < n {
        let mut most = axes[i].abs();
        #[unroll]
        for k in 1..3usize {
            let x = axes[k * all as usize + i].abs();
            if x > most {
                most = x;
            }
        }
        bits = u32::reinterpret(f32::cast_from(most));
        halo = owners[i];
    }
    warp_atomic_max(extents, halo, bits, warp);
}

#[cube(launch)]
fn code_members(
    axes: &Array<f64>,
    owners: &Array<u32>,
    extents: &Array<u32>,
    keys: &mut Array<u64>,
    values: &mut Array<u32>,
    all: u32,
    n: u32,
    #[comptime] bits: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = owners[i];
        let extent = f32::reinterpret(extents[halo as usize]);
        let cells = comptime!((1u32 << bits) as f32);
        let mut key = u64::cast_from(halo) << comptime!(3 * bits as u64);
        #[unroll]
        for k in 0..3usize {
            let x = f32::cast_from(axes[k * all as usize + i]);
            let mut cell = 0u32.runtime();
            if extent > 0.0f32 {
                cell = u32::cast_from((x / extent * 0.5f32 + 0.5f32).max(0.0f32) * cells);
            }
            if cell > comptime!((1u32 << bits) - 1) {
                cell = comptime!((1u32 << bits) - 1).runtime();
            }
            #[unroll]
            for bit in 0..bits {
                key |= u64::cast_from((cell >> bit) & 1) << comptime!((3 * bit + 2 - k as u32) as u64);
            }
        }
        keys[i] = key;
        values[i] = i as u32;
    }
}

/// How many of up to `most` keys to one side have the same bits from `shift` on.
#[cube]
fn alike(keys: &Array<u64>, at: u32, shift: u32, most: u32, #[comptime] right: bool) -> u32 {
    let own = keys[at as usize];
    let mut sure = 0u32.runtime();
    let mut end = most + 1;
    while sure + 1 < end {
        let middle = (sure + end) / 2;
        let mut other = at + middle;
        if comptime!(!right) {
            other = at - middle;
        }
        if (keys[other as usize] ^ own) >> u64::cast_from(shift) == 0 {
            sure = middle;
        } else {
            end = middle;
        }
    }
    sure
}

/// Whether a member is the first of its block: of the largest cell about it that has few enough, its halves counting as cells,
/// too. Where the smallest cell has more, they are dealt out by their positions.
#[cube(launch)]
fn find_starts(keys: &Array<u64>, places: &mut Array<u32>, n: u32, #[comptime] size: u32) {
    let i = ABSOLUTE_POS as u32;
    if i == n {
        places[i as usize] = 0;
    } else if i < n {
        let mut before = size.runtime();
        if before > i {
            before = i;
        }
        let mut after = size.runtime();
        if after > n - 1 - i {
            after = n - 1 - i;
        }
        let mut start = alike(keys, i, 0, before, false) == 0;
        if i % size == 0 {
            start = true;
        }
        if alike(keys, i, 0, before, false) + alike(keys, i, 0, after, true) < size {
            // Cells as large as the halo, or all halos, are too large.
            let mut shift = 0u32.runtime();
            let mut end = 64u32.runtime();
            while shift + 1 < end {
                let middle = (shift + end) / 2;
                if alike(keys, i, middle, before, false) + alike(keys, i, middle, after, true) < size {
                    shift = middle;
                } else {
                    end = middle;
                }
            }
            start = alike(keys, i, shift, before, false) == 0;
        }
        let mut flag = 0u32.runtime();
        if start {
            flag = 1;
        }
        places[i as usize] = flag;
    }
}

#[cube(launch)]
fn take_starts(places: &Array<u32>, first: &mut Array<u32>, of_members: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) == n {
        let end = places[i] as usize;
        first[end] = n;
    } else if (i as u32) < n {
        let block = places[i + 1] - 1;
        of_members[i] = block;
        if places[i] == block {
            first[block as usize] = i as u32;
        }
    }
}

#[cube(launch)]
fn find_halos(places: &Array<u32>, offsets: &Array<u32>, of_halos: &mut Array<u32>, halos: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) <= halos {
        of_halos[i] = places[offsets[i] as usize];
    }
}

/// What `f32` makes of a number that is not negative, or a little more.
#[cube]
fn grown(x: f64) -> f32 {
    f32::cast_from(x * f64::new(1.000001))
}

#[cube(launch)]
fn find_moments(
    axes: &Array<f64>,
    masses: &Array<f64>,
    member_owners: &Array<u32>,
    order: &Array<u32>,
    first: &Array<u32>,
    owners: &mut Array<u32>,
    moments: &mut Array<f32>,
    blocks: u32,
    all: u32,
    #[comptime] weighted: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < blocks {
        let (start, end) = (first[i], first[i + 1]);
        let any = order[start as usize] as usize;
        owners[i] = member_owners[any];
        let zero = f64::new(0.0);
        let mut sums = Array::<f64>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            sums[k] = zero;
        }
        for at in start..end {
            let member = order[at as usize];
            let m = mass(masses, member, weighted);
            #[unroll]
            for k in 0..3usize {
                sums[k] += m * axes[k * all as usize + member as usize];
            }
            sums[3] += m;
        }
        let mut center = Array::<f32>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            center[k] = f32::cast_from(sums[k] / sums[3]);
        }
        // About the centre as it is rounded the members have a moment again.
        let mut dipole = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            dipole[k] = zero;
        }
        let mut far2 = f64::cast_from(0u32.runtime());
        let mut second = Array::<f64>::new(6usize);
        #[unroll]
        for k in 0..6usize {
            second[k] = zero;
        }
        for at in start..end {
            let member = order[at as usize];
            let m = mass(masses, member, weighted);
            let x = axes[member as usize] - f64::cast_from(center[0]);
            let y = axes[all as usize + member as usize] - f64::cast_from(center[1]);
            let z = axes[2 * all as usize + member as usize] - f64::cast_from(center[2]);
            let d2 = x * x + y * y + z * z;
            dipole[0] += m * x;
            dipole[1] += m * y;
            dipole[2] += m * z;
            second[0] += m * x * x;
            second[1] += m * y * y;
            second[2] += m * z * z;
            second[3] += m * x * y;
            second[4] += m * x * z;
            second[5] += m * y * z;
            far2 = far2.max(d2);
        }
        let dipole2 = dipole[0] * dipole[0] + dipole[1] * dipole[1] + dipole[2] * dipole[2];
        let to = i * 12;
        #[unroll]
        for k in 0..3usize {
            moments[to + k] = center[k];
            moments[to + 4 + k] = f32::cast_from(second[k] / sums[3]);
            moments[to + 8 + k] = f32::cast_from(f64::new(2.0) * second[3 + k] / sums[3]);
        }
        moments[to + 3] = f32::cast_from(sums[3]);
        moments[to + 7] = grown(far2.sqrt());
        moments[to + 11] = grown(dipole2.sqrt() / sums[3]);
    }
}
