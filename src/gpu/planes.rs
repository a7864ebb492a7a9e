//! What 32 neighbouring units of a cube tell each other.
//!
//! Where the device runs them in step, as a plane, by its instructions for that; elsewhere through the cube's memory. All functions
//! are to be called by all units of a cube of [`UNITS`].

use cubecl::ir::features::Plane;
use cubecl::prelude::*;

use super::buffer::UNITS;
use super::scan::scan_units;

/// Planes of a cube.
pub(super) const PLANES: u32 = UNITS / 32;

/// Whether units run in planes of 32. That these are 32 neighbours only CUDA promises.
pub(super) fn has_planes<R: Runtime>(client: &ComputeClient<R>) -> bool {
    let properties = client.properties();
    let features = &properties.features.plane;
    let hardware = &properties.hardware;
    R::name(client) == "cuda"
        && features.contains(Plane::Ops)
        && features.contains(Plane::Sync)
        && (hardware.plane_size_min, hardware.plane_size_max) == (32, 32)
}

/// Of the 32, those with the same number of `bits` bits, one bit each.
#[cube]
pub(super) fn peers(
    number: u32,
    shared: &mut SharedMemory<u32>,
    #[comptime] bits: u32,
    #[comptime] planes: bool,
) -> u32 {
    let mut same = 0u32.runtime();
    if comptime!(planes) {
        same = 0xffff_ffffu32.runtime();
        #[unroll]
        for bit in 0..bits {
            let one = (number >> bit) & 1;
            let votes = plane_ballot(one == 1)[0];
            // Those that vote zero, if this unit does.
            same &= votes ^ (one - 1);
        }
    } else {
        shared[UNIT_POS as usize] = number;
        sync_cube();
        let first = UNIT_POS / 32 * 32;
        for other in 0..32u32 {
            if shared[(first + other) as usize] == number {
                same |= 1 << other;
            }
        }
        sync_cube();
    }
    same
}

/// What was written to the cube's memory by any of the 32 is there for all of them.
#[cube]
pub(super) fn sync_peers(#[comptime] planes: bool) {
    if comptime!(planes) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// The sum of `value` over the units of the cube before this one. `shared` has a number for each unit.
#[cube]
pub(super) fn sum_before(value: u32, shared: &mut SharedMemory<u32>, #[comptime] planes: bool) -> u32 {
    if comptime!(planes) {
        let own = plane_inclusive_sum(value);
        if UNIT_POS % 32 == 31 {
            shared[(UNIT_POS / 32) as usize] = own;
        }
        sync_cube();
        let mut before = own - value;
        #[unroll]
        for plane in 0..PLANES {
            if plane < UNIT_POS / 32 {
                before += shared[plane as usize];
            }
        }
        sync_cube();
        before
    } else {
        scan_units(shared, value)
    }
}
