//! Blocks of members: what a halo looks like from far away.
//!
//! In: the members of large halos. Out: these in Morton order, each halo by itself, and for each 32 in a row their mass, centre,
//! and extent.
//! Cost: a sort of the members; 28 bytes a member, 36 a block.

use cubecl::prelude::*;

use super::members::{Members, mass, owner};
use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::halos::{filled, last};
use crate::gpu::scan::exclusive;
use crate::gpu::sort::{Pairs, sort};

/// Members of a block; a number of kernels know it.
pub(super) const BLOCK: usize = 32;
/// Bits of a cell along each axis.
const CELL_BITS: u32 = 12;

/// The blocks of all large halos.
pub(super) struct Blocks {
    /// The members in order.
    pub order: Buffer<u32>,
    /// The first block of each halo, and their number.
    pub of_halos: Buffer<u32>,
    /// The first member of each block, and their number.
    pub first: Buffer<u32>,
    /// The halo of each block.
    pub owners: Buffer<u32>,
    /// Eight numbers each: centre, mass, the largest distance from the centre, the root mean square of that, and that of the
    /// centre of mass, all at least what they are, but for the mass and the centre.
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
        let extents = filled(client, halos, 0);
        measure::launch::<R>(
            client,
            cubes(n),
            dim,
            members.axes.arg(),
            members.owners.arg(),
            extents.arg(),
            all,
            large,
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
        let order = sort(client, pairs)?.values;
        let of_halos = Buffer::<u32>::new(client, halos + 1);
        count_blocks::launch::<R>(
            client,
            cubes(halos + 1),
            dim,
            offsets.arg(),
            of_halos.arg(),
            halos as u32,
            BLOCK as u32,
        );
        exclusive(client, &of_halos);
        let len = last(client, &of_halos)?;
        let blocks = Self {
            order,
            of_halos,
            first: Buffer::new(client, len + 1),
            owners: Buffer::new(client, len),
            moments: Buffer::new(client, 8 * len),
            len,
        };
        find_moments::launch::<R>(
            client,
            cubes(len + 1),
            dim,
            members.axes.arg(),
            members.masses.arg(),
            offsets.arg(),
            blocks.order.arg(),
            blocks.of_halos.arg(),
            blocks.first.arg(),
            blocks.owners.arg(),
            blocks.moments.arg(),
            len as u32,
            halos as u32,
            all,
            BLOCK as u32,
            members.weighted,
        );
        Ok(blocks)
    }
}

/// The largest coordinate of each halo, as bits.
#[cube(launch)]
fn measure(axes: &Array<f64>, owners: &Array<u32>, extents: &mut Array<Atomic<u32>>, all: u32, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let mut most = axes[i].abs();
        #[unroll]
        for k in 1..3usize {
            let x = axes[k * all as usize + i].abs();
            if x > most {
                most = x;
            }
        }
        let bits = u32::reinterpret(f32::cast_from(most));
        let halo = owners[i] as usize;
        // Few members have news.
        if extents[halo].load() < bits {
            extents[halo].fetch_max(bits);
        }
    }
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

#[cube(launch)]
fn count_blocks(offsets: &Array<u32>, counts: &mut Array<u32>, halos: u32, #[comptime] size: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < halos {
        counts[i] = (offsets[i + 1] - offsets[i] + (size - 1)) / size;
    } else if (i as u32) == halos {
        counts[i] = 0;
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
    offsets: &Array<u32>,
    order: &Array<u32>,
    of_halos: &Array<u32>,
    first: &mut Array<u32>,
    owners: &mut Array<u32>,
    moments: &mut Array<f32>,
    blocks: u32,
    halos: u32,
    all: u32,
    #[comptime] size: u32,
    #[comptime] weighted: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) == blocks {
        first[i] = offsets[halos as usize];
    } else if (i as u32) < blocks {
        let halo = owner(of_halos, i as u32, halos);
        let start = offsets[halo as usize] + (i as u32 - of_halos[halo as usize]) * size;
        let mut end = start + size;
        if end > offsets[halo as usize + 1] {
            end = offsets[halo as usize + 1];
        }
        first[i] = start;
        owners[i] = halo;
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
        let mut trace = f64::cast_from(0u32.runtime());
        for at in start..end {
            let member = order[at as usize];
            let m = mass(masses, member, weighted);
            let mut d2 = f64::cast_from(0u32.runtime());
            #[unroll]
            for k in 0..3usize {
                let d = axes[k * all as usize + member as usize] - f64::cast_from(center[k]);
                dipole[k] += m * d;
                d2 += d * d;
            }
            trace += m * d2;
            far2 = far2.max(d2);
        }
        let dipole2 = dipole[0] * dipole[0] + dipole[1] * dipole[1] + dipole[2] * dipole[2];
        let to = i * 8;
        #[unroll]
        for k in 0..3usize {
            moments[to + k] = center[k];
        }
        moments[to + 3] = f32::cast_from(sums[3]);
        moments[to + 4] = grown(far2.sqrt());
        moments[to + 5] = grown((trace / sums[3]).sqrt());
        moments[to + 6] = grown(dipole2.sqrt() / sums[3]);
        moments[to + 7] = 0.0f32;
    }
}
