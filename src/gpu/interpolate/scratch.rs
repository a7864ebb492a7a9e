//! Where a unit keeps what it works in.
//!
//! In: how many units there are. Out: places in one buffer for all. The numbers of units are side by side, so that a warp reads one line
//! after the other.

use cubecl::prelude::*;

/// The places of a unit.
#[derive(CubeType)]
pub(super) struct Places {
    unit: u32,
    units: u32,
}

#[cube]
impl Places {
    pub fn new(unit: u32, units: u32) -> Places {
        Places { unit, units }
    }

    /// The place of the unit's number `i` in the buffer.
    pub fn of(&self, i: u32) -> usize {
        (i * self.units + self.unit) as usize
    }
}
