//! Pairs of a query and a stored primitive that the threads of a warp test together.
//!
//! In: primitives near the query of each thread, one per thread at a time. Out: 32 pairs at a time, of which each
//! thread tests one. The pairs of a query are far from each other, so that many threads have a result to insert.
//! Cost: 512 bytes of shared memory for a warp.

use cubecl::prelude::*;

use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp};

/// Slots of a warp: for the pairs to be tested next, and for those after them.
const SLOTS: u32 = 2 * WIDTH;

/// The pairs that wait for a test.
#[derive(CubeType)]
pub(super) struct Pairs {
    /// The threads whose queries are tested.
    threads: SharedMemory<u32>,
    /// The positions of the primitives in the tree.
    positions: SharedMemory<u32>,
    /// Three numbers: that of the pairs, and a bit for each of the thread's own pairs, first of those tested next.
    state: Array<u32>,
    #[cube(comptime)]
    warp: Warp,
}

/// Creates an empty queue for each warp in a block of `units` threads.
#[cube]
pub(super) fn new_pairs(#[comptime] units: u32, #[comptime] warp: Warp) -> Pairs {
    let slots = comptime!((units / WIDTH * SLOTS) as usize);
    let (threads, positions) = (SharedMemory::<u32>::new(slots), SharedMemory::<u32>::new(slots));
    let mut pairs = Pairs { threads, positions, state: Array::<u32>::new(3usize), warp };
    #[unroll]
    for at in 0..3usize {
        pairs.state[at] = 0;
    }
    pairs
}

#[cube]
impl Pairs {
    /// Returns `true` if there is a pair.
    pub fn any(&self) -> bool {
        self.state[0] != 0
    }

    /// Returns `true` if there are 32 pairs.
    pub fn is_full(&self) -> bool {
        self.state[0] >= WIDTH
    }

    /// Adds a pair for each thread in `votes`. There are less than 32 pairs.
    pub fn add(&mut self, votes: u32, position: u32) {
        let unit = UNIT_POS % WIDTH;
        if (votes >> unit) & 1 != 0 {
            let place = self.state[0] + (votes & ((1u32 << unit) - 1)).count_ones();
            let slot = (UNIT_POS / WIDTH * SLOTS + place) as usize;
            self.threads[slot] = unit;
            self.positions[slot] = position;
            let bit = 1u32 << (place % WIDTH);
            self.state[1] = self.state[1] | select(place < WIDTH, bit, 0u32);
            self.state[2] = self.state[2] | select(place < WIDTH, 0u32, bit);
        }
        self.state[0] += votes.count_ones();
    }

    /// Returns `true` if this thread has a pair to test.
    pub fn has_own(&self) -> bool {
        UNIT_POS % WIDTH < self.state[0]
    }

    /// Returns the thread whose query this thread tests.
    pub fn thread(&self) -> u32 {
        self.threads[(UNIT_POS / WIDTH * SLOTS + UNIT_POS % WIDTH) as usize]
    }

    /// Returns the position of the primitive of a pair.
    pub fn position(&self, place: u32) -> u32 {
        self.positions[(UNIT_POS / WIDTH * SLOTS + place) as usize]
    }

    /// Returns the places of those pairs to be tested next that have the query of this thread.
    pub fn of_own_query(&self) -> Bits {
        Bits::new(self.state[1])
    }

    /// Removes the pairs that were tested.
    pub fn advance(&mut self) {
        let unit = UNIT_POS % WIDTH;
        let rest = max(self.state[0], WIDTH) - WIDTH;
        let slot = (UNIT_POS / WIDTH * SLOTS + unit) as usize;
        sync_warp(comptime!(self.warp));
        if unit < rest {
            self.threads[slot] = self.threads[slot + comptime!(WIDTH as usize)];
            self.positions[slot] = self.positions[slot + comptime!(WIDTH as usize)];
        }
        self.state[0] = rest;
        self.state[1] = self.state[2];
        self.state[2] = 0;
        sync_warp(comptime!(self.warp));
    }
}
