//! Warps: 32 consecutive threads of a block that run in lockstep. cubecl calls a thread a unit, a warp a plane, and a
//! block a cube.
//!
//! In: a value of each thread. Out: a combination of the warp's 32 values.
//! CUDA has instructions for warp operations ([`Warp::Native`]). On other devices kernels take a branch without warps
//! ([`Warp::None`]), or warps are emulated ([`Warp::Emulated`]). An emulated warp exchanges values through shared
//! memory: each thread writes its value, waits for the block, and reads the values of its warp. Emulation is slow, but
//! runs the warp code on devices with narrower warps, including software Vulkan, so tests need no GPU.
//! The environment variable `ROPEWALK_WARP` forces a mode: `native` (if the device has these instructions),
//! `emulated` or `none`. Any other value makes all calls on devices fail.
//! Cost: one instruction, or five for [`warp_or`]; emulated, two barriers and up to 32 reads.

use cubecl::ir::features::Plane;
use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{THREADS_PER_BLOCK, grid};
use crate::gpu::device::{Device, is_cuda, on};
use crate::gpu::primitives::scan::scan_units;
use crate::gpu::warp_choice::WarpChoice;

/// Threads per warp.
pub(in crate::gpu) const WIDTH: u32 = 32;
/// Warps per block.
pub(in crate::gpu) const WARPS: u32 = THREADS_PER_BLOCK / WIDTH;

/// The mode of exchange between the threads of a warp. A kernel takes it at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Warp {
    /// Native warp instructions.
    Native,
    /// Exchange through shared memory, in blocks of this many threads. Barriers hold up the whole block, so all its
    /// threads must reach each operation. For kernels whose warps diverge, a block is therefore one warp
    /// ([`Warp::apart`]).
    Emulated { units: u32 },
    /// No exchange: each thread works alone.
    None,
}

impl Warp {
    /// Selects the mode for a device. Only CUDA guarantees that the threads of a plane are 32 consecutive ones.
    pub fn new<R: Runtime>(client: &ComputeClient<R>) -> Self {
        let properties = client.properties();
        let (features, hardware) = (&properties.features.plane, &properties.hardware);
        let is_native = is_cuda(client)
            && features.contains(Plane::Ops)
            && features.contains(Plane::Sync)
            && (hardware.plane_size_min, hardware.plane_size_max) == (WIDTH, WIDTH);
        // `on!` has rejected unknown values.
        match WarpChoice::forced().unwrap_or_default() {
            Some(WarpChoice::Emulated) => Self::Emulated { units: THREADS_PER_BLOCK },
            Some(WarpChoice::None) => Self::None,
            Some(WarpChoice::Native) | None if is_native => Self::Native,
            Some(WarpChoice::Native) | None => Self::None,
        }
    }

    /// Returns the mode for a kernel whose warps diverge.
    pub fn apart(self) -> Self {
        match self {
            Self::Emulated { .. } => Self::Emulated { units: WIDTH },
            other => other,
        }
    }

    /// Returns the value of `ROPEWALK_WARP` that selects this mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => WarpChoice::Native.name(),
            Self::Emulated { .. } => WarpChoice::Emulated.name(),
            Self::None => WarpChoice::None.name(),
        }
    }

    /// Returns `true` if threads work together.
    pub fn is_some(self) -> bool {
        self != Self::None
    }

    /// Returns the number of threads that share one item of work: a warp, or one thread.
    pub fn lanes(self) -> u32 {
        if self.is_some() { WIDTH } else { 1 }
    }

    /// Returns the number of threads per block, which is `native` unless warps are emulated.
    pub fn units(self, native: u32) -> u32 {
        if let Self::Emulated { units } = self { units } else { native }
    }

    /// Returns the number of blocks for `n` threads, and their shape, with [`Warp::units`] threads per block.
    pub fn blocks(self, n: usize, native: u32) -> (CubeCount, CubeDim) {
        let units = self.units(native);
        (grid(n.div_ceil(units as usize)), CubeDim::new_1d(units))
    }
}

impl Device {
    /// Returns the mode of exchange in warps that this process uses on the device, for tests: `native`, `emulated` or
    /// `none`.
    #[doc(hidden)]
    pub fn warp(&self) -> Result<&'static str> {
        on!(*self, client => Ok(Warp::new(client).name()))
    }
}

/// Shares a value with the other threads of the block. The returned memory must not be written again before the next
/// barrier.
#[cube]
fn show<T: CubePrimitive>(value: T, #[comptime] warp: Warp) -> SharedMemory<T> {
    let mut shown = SharedMemory::<T>::new(comptime!(warp.units(THREADS_PER_BLOCK) as usize));
    shown[UNIT_POS as usize] = value;
    sync_cube();
    shown
}

/// Returns the index in the block of the warp's first thread.
#[cube]
fn first_unit() -> u32 {
    UNIT_POS / WIDTH * WIDTH
}

/// Returns a bit for each thread of the warp, set if its `vote` is true.
#[cube]
pub(in crate::gpu) fn warp_ballot(vote: bool, #[comptime] warp: Warp) -> u32 {
    if comptime!(warp == Warp::Native) {
        plane_ballot(vote)[0]
    } else {
        let mut shown = SharedMemory::<u32>::new(comptime!(warp.units(THREADS_PER_BLOCK) as usize));
        ballot_through(vote, &mut shown)
    }
}

/// Implements [`warp_ballot`] through `shown`, which has an element for each thread of the block.
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

/// Returns `true` if `vote` is true in any thread of the warp.
#[cube]
pub(in crate::gpu) fn warp_any(vote: bool, #[comptime] warp: Warp) -> bool {
    if comptime!(warp == Warp::Native) { plane_any(vote) } else { warp_ballot(vote, warp) != 0 }
}

/// Returns the value of thread `lane` of the warp.
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

/// Returns the value of the thread `steps` places before. The first `steps` threads get their own value.
#[cube]
pub(in crate::gpu) fn warp_shuffle_up<T: CubePrimitive>(value: T, steps: u32, #[comptime] warp: Warp) -> T {
    if comptime!(warp == Warp::Native) {
        plane_shuffle_up(value, steps)
    } else {
        let lane = UNIT_POS % WIDTH;
        warp_shuffle::<T>(value, select(lane < steps, lane, lane - steps), warp)
    }
}

/// Returns the value of the thread `steps` places after. The last `steps` threads get their own value.
#[cube]
pub(in crate::gpu) fn warp_shuffle_down<T: CubePrimitive>(value: T, steps: u32, #[comptime] warp: Warp) -> T {
    if comptime!(warp == Warp::Native) {
        plane_shuffle_down(value, steps)
    } else {
        let lane = UNIT_POS % WIDTH;
        warp_shuffle::<T>(value, select(lane + steps < WIDTH, lane + steps, lane), warp)
    }
}

/// Returns the minimum of the warp's values.
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

/// Returns the maximum of the warp's values.
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

/// Returns the sum of the warp's values.
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

/// Returns the sum over the threads of the warp up to and including this one.
#[cube]
pub(in crate::gpu) fn warp_inclusive_sum(value: u32, #[comptime] warp: Warp) -> u32 {
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

/// Returns the bitwise OR of the warp's values.
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

/// Orders the warp's accesses to shared memory. Without native warps, it is a barrier of the block.
#[cube]
pub(in crate::gpu) fn sync_warp(#[comptime] warp: Warp) {
    if comptime!(warp == Warp::Native) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// Two masks of threads of the warp: those whose number has the same bits below the highest one as this thread's, and
/// those whose number has the highest bit set.
#[derive(CubeType)]
pub(in crate::gpu) struct Peers {
    pub same: u32,
    pub high: u32,
}

/// Finds the peers of a number of `bits` bits. `shared` has an element for each thread of the block. All threads of
/// the block must call it.
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

/// Implements [`warp_ballot`] with existing shared memory.
#[cube]
fn ballot_in(vote: bool, shared: &mut SharedMemory<u32>, #[comptime] warp: Warp) -> u32 {
    if comptime!(warp == Warp::Native) { plane_ballot(vote)[0] } else { ballot_through(vote, shared) }
}

/// Sums over the threads of a block.
#[derive(CubeType)]
pub(in crate::gpu) struct Sums {
    /// The sum over the threads before this one.
    pub before: u32,
    pub all: u32,
}

/// Sums `value` over the block. `shared` has an element for each of the block's [`THREADS_PER_BLOCK`] threads, which
/// must all call it.
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
        let all = shared[comptime!(THREADS_PER_BLOCK as usize - 1)];
        sync_cube();
        Sums { before, all }
    }
}
