//! Warps: 32 neighbouring units of a block that run in step. cubecl calls a warp a plane, and a block a cube.
//!
//! In: a value of each unit. Out: what the 32 values of the warp make together.
//! CUDA has instructions for these. Elsewhere a kernel has an arm without warps ([`Warp::None`]); or warps are emulated
//! ([`Warp::Emulated`]): each unit writes its value to shared memory, waits for the block, and reads those of its warp. That is slow,
//! but it runs the code of the warps on devices whose own are narrower, software Vulkan among them, where tests need no GPU.
//! The environment variable `ROPEWALK_WARP` forces a choice: `native`, where there are such instructions, `emulated` or `none`. With any other
//! value all work on devices is refused.
//! Cost: one instruction, five for [`warp_or`]; emulated, two barriers and up to 32 reads.

use cubecl::ir::features::Plane;
use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{UNITS, count};
use crate::gpu::device::{Device, is_cuda, on};
use crate::gpu::primitives::scan::scan_units;
use crate::gpu::warp_choice::WarpChoice;

/// Units of a warp.
pub(in crate::gpu) const WIDTH: u32 = 32;
/// Warps of a block.
pub(in crate::gpu) const WARPS: u32 = UNITS / WIDTH;

/// How the units of a warp exchange values. A kernel takes it at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Warp {
    /// By the device's instructions.
    Native,
    /// Through shared memory, in blocks of this many units. Barriers hold up the whole block, so all of its units must come to each
    /// operation: where warps of a block go different ways, a block is one warp ([`Warp::apart`]).
    Emulated { units: u32 },
    /// Not at all: each unit works alone.
    None,
}

impl Warp {
    /// How warps work on a device. That the units of a plane are 32 neighbours is certain for CUDA only.
    pub fn of<R: Runtime>(client: &ComputeClient<R>) -> Self {
        let properties = client.properties();
        let (features, hardware) = (&properties.features.plane, &properties.hardware);
        let is_native = is_cuda(client)
            && features.contains(Plane::Ops)
            && features.contains(Plane::Sync)
            && (hardware.plane_size_min, hardware.plane_size_max) == (WIDTH, WIDTH);
        // `on!` has refused an unknown choice.
        match WarpChoice::forced().unwrap_or_default() {
            Some(WarpChoice::Emulated) => Self::Emulated { units: UNITS },
            Some(WarpChoice::None) => Self::None,
            Some(WarpChoice::Native) | None if is_native => Self::Native,
            Some(WarpChoice::Native) | None => Self::None,
        }
    }

    /// The same for a kernel whose warps go different ways.
    pub fn apart(self) -> Self {
        match self {
            Self::Emulated { .. } => Self::Emulated { units: WIDTH },
            other => other,
        }
    }

    /// The name that `ROPEWALK_WARP` has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => WarpChoice::Native.name(),
            Self::Emulated { .. } => WarpChoice::Emulated.name(),
            Self::None => WarpChoice::None.name(),
        }
    }

    /// Whether units work together.
    pub fn is_some(self) -> bool {
        self != Self::None
    }

    /// Units that share one item of work: those of a warp, or one.
    pub fn lanes(self) -> u32 {
        if self.is_some() { WIDTH } else { 1 }
    }

    /// Units of a block, if it has `native` where warps are not emulated.
    pub fn units(self, native: u32) -> u32 {
        if let Self::Emulated { units } = self { units } else { native }
    }

    /// Blocks of [`Warp::units`] for `n` units, and their shape.
    pub fn blocks(self, n: usize, native: u32) -> (CubeCount, CubeDim) {
        let units = self.units(native);
        (count(n.div_ceil(units as usize)), CubeDim::new_1d(units))
    }
}

impl Device {
    /// The way in which the kernels of this process exchange values within a warp on the device, for tests: `native`, `emulated` or `none`.
    #[doc(hidden)]
    pub fn warp(&self) -> Result<&'static str> {
        on!(*self, client => Ok(Warp::of(client).name()))
    }
}

/// Shows a value to the other units of the block. Its memory must not be written again before the next barrier.
#[cube]
fn show<T: CubePrimitive>(value: T, #[comptime] warp: Warp) -> SharedMemory<T> {
    let mut shown = SharedMemory::<T>::new(comptime!(warp.units(UNITS) as usize));
    shown[UNIT_POS as usize] = value;
    sync_cube();
    shown
}

/// The place of the warp's first unit in its block.
#[cube]
fn first_unit() -> u32 {
    UNIT_POS / WIDTH * WIDTH
}

/// A bit for each unit of the warp: whether it votes for.
#[cube]
pub(in crate::gpu) fn warp_ballot(vote: bool, #[comptime] warp: Warp) -> u32 {
    if comptime!(warp == Warp::Native) {
        plane_ballot(vote)[0]
    } else {
        let mut shown = SharedMemory::<u32>::new(comptime!(warp.units(UNITS) as usize));
        ballot_through(vote, &mut shown)
    }
}

/// [`warp_ballot`] through `shown`, which has room for the block.
#[cube]
fn ballot_through(vote: bool, shown: &mut SharedMemory<u32>) -> u32 {
    shown[UNIT_POS as usize] = u32::cast_from(vote);
    sync_cube();
    let mut votes = 0u32.runtime();
    for lane in 0..WIDTH {
        votes |= shown[(first_unit() + lane) as usize] << lane;
    }
    sync_cube();
    votes
}

/// Whether any unit of the warp votes for.
#[cube]
pub(in crate::gpu) fn warp_any(vote: bool, #[comptime] warp: Warp) -> bool {
    if comptime!(warp == Warp::Native) { plane_any(vote) } else { warp_ballot(vote, warp) != 0 }
}

/// The value of one unit of the warp.
#[cube]
pub(in crate::gpu) fn warp_shuffle<T: CubePrimitive>(value: T, lane: u32, #[comptime] warp: Warp) -> T {
    if comptime!(warp == Warp::Native) {
        plane_shuffle(value, lane)
    } else {
        let shown = show::<T>(value, warp);
        let found = shown[(first_unit() + lane) as usize];
        sync_cube();
        found
    }
}

/// The value of the unit `steps` before; the first ones get their own.
#[cube]
pub(in crate::gpu) fn warp_shuffle_up<T: CubePrimitive>(value: T, steps: u32, #[comptime] warp: Warp) -> T {
    if comptime!(warp == Warp::Native) {
        plane_shuffle_up(value, steps)
    } else {
        let lane = UNIT_POS % WIDTH;
        warp_shuffle::<T>(value, select(lane < steps, lane, lane - steps), warp)
    }
}

/// The value of the unit `steps` behind; the last ones get their own.
#[cube]
pub(in crate::gpu) fn warp_shuffle_down<T: CubePrimitive>(value: T, steps: u32, #[comptime] warp: Warp) -> T {
    if comptime!(warp == Warp::Native) {
        plane_shuffle_down(value, steps)
    } else {
        let lane = UNIT_POS % WIDTH;
        warp_shuffle::<T>(value, select(lane + steps < WIDTH, lane + steps, lane), warp)
    }
}

/// The least value of the warp.
#[cube]
pub(in crate::gpu) fn warp_min<N: Numeric>(value: N, #[comptime] warp: Warp) -> N {
    if comptime!(warp == Warp::Native) {
        plane_min(value)
    } else {
        let shown = show::<N>(value, warp);
        let mut least = shown[first_unit() as usize];
        for lane in 1..WIDTH {
            least = min(least, shown[(first_unit() + lane) as usize]);
        }
        sync_cube();
        least
    }
}

/// The largest value of the warp.
#[cube]
pub(in crate::gpu) fn warp_max<N: Numeric>(value: N, #[comptime] warp: Warp) -> N {
    if comptime!(warp == Warp::Native) {
        plane_max(value)
    } else {
        let shown = show::<N>(value, warp);
        let mut most = shown[first_unit() as usize];
        for lane in 1..WIDTH {
            most = max(most, shown[(first_unit() + lane) as usize]);
        }
        sync_cube();
        most
    }
}

/// The sum over the warp.
#[cube]
pub(in crate::gpu) fn warp_sum<N: Numeric>(value: N, #[comptime] warp: Warp) -> N {
    if comptime!(warp == Warp::Native) {
        plane_sum(value)
    } else {
        let shown = show::<N>(value, warp);
        let mut sum = shown[first_unit() as usize];
        for lane in 1..WIDTH {
            sum += shown[(first_unit() + lane) as usize];
        }
        sync_cube();
        sum
    }
}

/// The sum over the units of the warp up to this one.
#[cube]
fn warp_inclusive_sum(value: u32, #[comptime] warp: Warp) -> u32 {
    if comptime!(warp == Warp::Native) {
        plane_inclusive_sum(value)
    } else {
        let shown = show::<u32>(value, warp);
        let mut sum = 0u32.runtime();
        for unit in first_unit()..UNIT_POS + 1 {
            sum += shown[unit as usize];
        }
        sync_cube();
        sum
    }
}

/// The bits that any unit of the warp has.
#[cube]
pub(in crate::gpu) fn warp_or(bits: u32, #[comptime] warp: Warp) -> u32 {
    if comptime!(warp == Warp::Native) {
        let mut all = bits + 0;
        #[unroll]
        for step in 0..5u32 {
            all |= plane_shuffle_xor(all, comptime!(1u32 << step));
        }
        all
    } else {
        let shown = show::<u32>(bits, warp);
        let mut all = 0u32.runtime();
        for lane in 0..WIDTH {
            all |= shown[(first_unit() + lane) as usize];
        }
        sync_cube();
        all
    }
}

/// Orders the accesses of the warp to shared memory; those of the block where there are no native warps.
#[cube]
pub(in crate::gpu) fn sync_warp(#[comptime] warp: Warp) {
    if comptime!(warp == Warp::Native) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// A bit for each unit of the warp with the same low bits of a number as this one; and for each with the highest bit.
#[derive(CubeType)]
pub(in crate::gpu) struct Peers {
    pub same: u32,
    pub high: u32,
}

/// The peers of a number of `bits` bits. `shared` has a number for each unit of the block, which all call it.
#[cube]
pub(in crate::gpu) fn match_any(
    number: u32,
    shared: &mut SharedMemory<u32>,
    #[comptime] bits: u32,
    #[comptime] warp: Warp,
) -> Peers {
    if comptime!(warp.is_some()) {
        let mut same = 0xffff_ffffu32.runtime();
        #[unroll]
        for bit in 0..bits - 1 {
            let is_one = number & comptime!(1 << bit) != 0;
            let votes = ballot_in(is_one, shared, warp);
            same &= select(is_one, votes, !votes);
        }
        let high = ballot_in(number >> comptime!(bits - 1) != 0, shared, warp);
        Peers { same, high }
    } else {
        let mut same = 0u32.runtime();
        let mut high = 0u32.runtime();
        shared[UNIT_POS as usize] = number;
        sync_cube();
        for unit in 0..WIDTH {
            let other = shared[(first_unit() + unit) as usize];
            if (other ^ number) & comptime!((1 << (bits - 1)) - 1) == 0 {
                same |= 1 << unit;
            }
            high |= (other >> comptime!(bits - 1)) << unit;
        }
        sync_cube();
        Peers { same, high }
    }
}

/// [`warp_ballot`] with memory that is there already.
#[cube]
fn ballot_in(vote: bool, shared: &mut SharedMemory<u32>, #[comptime] warp: Warp) -> u32 {
    if comptime!(warp == Warp::Native) { plane_ballot(vote)[0] } else { ballot_through(vote, shared) }
}

/// Sums over the units of a block.
#[derive(CubeType)]
pub(in crate::gpu) struct Sums {
    /// Of the units before this one.
    pub before: u32,
    pub all: u32,
}

/// Sums of `value`. `shared` has a number for each of the [`UNITS`] of the block, which all call it.
#[cube]
pub(in crate::gpu) fn block_sums(value: u32, shared: &mut SharedMemory<u32>, #[comptime] warp: Warp) -> Sums {
    if comptime!(warp.is_some()) {
        let own = warp_inclusive_sum(value, warp);
        if UNIT_POS % WIDTH == WIDTH - 1 {
            shared[(UNIT_POS / WIDTH) as usize] = own;
        }
        sync_cube();
        let mut before = own - value;
        let mut all = 0u32.runtime();
        #[unroll]
        for other in 0..WARPS {
            let sum = shared[other as usize];
            if UNIT_POS >= (other + 1) * WIDTH {
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
