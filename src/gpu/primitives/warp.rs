//! What 32 neighbouring units of a cube tell each other.
//!
//! Where the device runs them in step, as a plane, by its instructions for that; elsewhere through the cube's memory. Functions are
//! to be called by all units of a cube of [`UNITS`], but for those that say otherwise.

use cubecl::ir::features::Plane;
use cubecl::prelude::*;

use crate::gpu::buffer::UNITS;
use crate::gpu::device::is_cuda;
use crate::gpu::primitives::scan::scan_units;

/// Planes of a cube.
pub(in crate::gpu) const PLANES: u32 = UNITS / 32;

/// Whether units run in planes of 32. That these are 32 neighbours only CUDA promises.
pub(in crate::gpu) fn has_planes<R: Runtime>(client: &ComputeClient<R>) -> bool {
    let properties = client.properties();
    let features = &properties.features.plane;
    let hardware = &properties.hardware;
    is_cuda(client)
        && features.contains(Plane::Ops)
        && features.contains(Plane::Sync)
        && (hardware.plane_size_min, hardware.plane_size_max) == (32, 32)
}

/// All bits that any unit of a plane of 32 has. To be called by all of these.
#[cube]
pub(in crate::gpu) fn plane_or(bits: u32) -> u32 {
    let mut all = bits + 0;
    #[unroll]
    for step in 0..5u32 {
        all |= plane_shuffle_xor(all, comptime!(1u32 << step));
    }
    all
}

/// How numbers are made one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum ReduceOp {
    Least,
    Sum,
    /// All bits that any has.
    Bits,
}

impl ReduceOp {
    /// What changes nothing.
    pub(in crate::gpu) fn nothing(self) -> u32 {
        match self {
            Self::Least => u32::MAX,
            Self::Sum | Self::Bits => 0,
        }
    }
}

#[cube]
fn join(a: u32, b: u32, #[comptime] joint: ReduceOp) -> u32 {
    if comptime!(joint == ReduceOp::Least) {
        min(a, b)
    } else if comptime!(joint == ReduceOp::Sum) {
        a + b
    } else {
        a | b
    }
}

/// What a unit is to bring to the number at `at` by an atomic; [`ReduceOp::nothing`] is to be left. Where a whole cube means the same
/// number its units would wait for each other, so one goes for all that mean what the first one does; and so in each plane.
#[cube]
pub(in crate::gpu) fn block_aggregate(
    at: u32,
    value: u32,
    #[comptime] joint: ReduceOp,
    #[comptime] planes: bool,
) -> u32 {
    let mut own = value + 0;
    if comptime!(planes) {
        let nothing = comptime!(joint.nothing());
        let alike = at == plane_shuffle(at, 0);
        let part = select(alike, value, nothing);
        let mut all = if comptime!(joint == ReduceOp::Least) {
            plane_min(part)
        } else if comptime!(joint == ReduceOp::Sum) {
            plane_sum(part)
        } else {
            plane_or(part)
        };
        own = select(alike, nothing, value);
        let mut places = SharedMemory::<u32>::new(PLANES as usize);
        let mut parts = SharedMemory::<u32>::new(PLANES as usize);
        if UNIT_POS % 32 == 0 {
            places[(UNIT_POS / 32) as usize] = at;
            parts[(UNIT_POS / 32) as usize] = all;
        }
        sync_cube();
        if UNIT_POS == 0 {
            #[unroll]
            for plane in 1..PLANES as usize {
                all = join(all, select(places[plane] == at, parts[plane], nothing), joint);
            }
            own = all;
        } else if UNIT_POS % 32 == 0 && at != places[0] {
            own = all;
        }
    }
    own
}

/// Raises a number to `bits`, unless these are 0. Where neighbours warp_atomic_max the same number they would wait for each other, so one goes
/// for those of its plane that warp_atomic_max the first one's. To be called by all units of a plane.
#[cube]
pub(in crate::gpu) fn warp_atomic_max(numbers: &mut Array<Atomic<u32>>, at: u32, bits: u32, #[comptime] planes: bool) {
    let mut own = bits + 0;
    if comptime!(planes) {
        let common = plane_shuffle(at, 0);
        let most = plane_max(select(at == common, bits, 0u32));
        if at == common {
            own = 0u32.runtime();
        }
        if UNIT_POS % 32 == 0 {
            own = most;
        }
        if own != 0 {
            numbers[at as usize].fetch_max(own);
        }
    } else if own != 0 {
        // Few have increments.
        if numbers[at as usize].load() < own {
            numbers[at as usize].fetch_max(own);
        }
    }
}

/// Of the 32, those with the same low bits of a number of `bits` bits, one bit each; and then those with the highest bit set.
#[derive(CubeType)]
pub(in crate::gpu) struct Peers {
    pub same: u32,
    pub high: u32,
}

#[cube]
pub(in crate::gpu) fn match_any(
    number: u32,
    shared: &mut SharedMemory<u32>,
    #[comptime] bits: u32,
    #[comptime] planes: bool,
) -> Peers {
    if comptime!(planes) {
        let mut same = 0xffff_ffffu32.runtime();
        #[unroll]
        for bit in 0..bits - 1 {
            let is_one = number & comptime!(1 << bit) != 0;
            let votes = plane_ballot(is_one)[0];
            same &= select(is_one, votes, !votes);
        }
        let high = plane_ballot(number >> comptime!(bits - 1) != 0)[0];
        Peers { same, high }
    } else {
        let mut same = 0u32.runtime();
        let mut high = 0u32.runtime();
        shared[UNIT_POS as usize] = number;
        sync_cube();
        let first = UNIT_POS / 32 * 32;
        for unit in 0..32u32 {
            let other = shared[(first + unit) as usize];
            if (other ^ number) & comptime!((1 << (bits - 1)) - 1) == 0 {
                same |= 1 << unit;
            }
            high |= (other >> comptime!(bits - 1)) << unit;
        }
        sync_cube();
        Peers { same, high }
    }
}

/// What was written to the cube's memory by any of the 32 is there for all of them.
#[cube]
pub(in crate::gpu) fn sync_warp_or_block(#[comptime] planes: bool) {
    if comptime!(planes) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// Sums over the units of a cube.
#[derive(CubeType)]
pub(in crate::gpu) struct Sums {
    /// Of the units before this one.
    pub before: u32,
    pub all: u32,
}

/// Sums of `value`. `shared` has a number for each unit.
#[cube]
pub(in crate::gpu) fn sums(value: u32, shared: &mut SharedMemory<u32>, #[comptime] planes: bool) -> Sums {
    if comptime!(planes) {
        let own = plane_inclusive_sum(value);
        if UNIT_POS % 32 == 31 {
            shared[(UNIT_POS / 32) as usize] = own;
        }
        sync_cube();
        let mut before = own - value;
        let mut all = 0u32.runtime();
        #[unroll]
        for plane in 0..PLANES {
            let sum = shared[plane as usize];
            if UNIT_POS >= (plane + 1) * 32 {
                before += sum;
            }
            all += sum;
        }
        sync_cube();
        Sums { before, all }
    } else {
        let before = scan_units(shared, value);
        let all = shared[comptime!(UNITS as usize - 1)];
        sync_cube();
        Sums { before, all }
    }
}
