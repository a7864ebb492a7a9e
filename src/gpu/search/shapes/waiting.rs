//! The queue of stored primitives that the threads of a warp compare with all their queries.
//!
//! The counterpart of `bvh::traverse::packet` for primitives with boxes: a thread reads a primitive, and those near the
//! boxes around the queries wait in shared memory until there are 32.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::query_boxes::QueryBoxes;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_ballot};

/// Slots of a warp: for the 32 primitives to be compared next, and for those after them.
const SLOTS: u32 = 2 * WIDTH;

/// Coordinates of a slot that are loaded at once.
const PART: usize = 4;

/// The primitives that wait.
#[derive(CubeType)]
pub(super) struct Waiting<F: Float> {
    /// The corners of their boxes, four coordinates per slot. After all slots come slots for the fifth to eighth
    /// coordinates, and so on.
    corners: SharedMemory<Vector<F, Const<4>>>,
    positions: SharedMemory<u32>,
    /// Their number.
    count: Array<u32>,
    /// The number of slots of the block.
    #[cube(comptime)]
    slots: usize,
    #[cube(comptime)]
    d: usize,
    /// `true` if the primitives are points, with one corner.
    #[cube(comptime)]
    are_points: bool,
    #[cube(comptime)]
    warp: Warp,
}

/// Creates an empty queue for each warp in a block of `units` threads.
#[cube]
pub(super) fn new_waiting<F: Float>(
    #[comptime] d: usize,
    #[comptime] are_points: bool,
    #[comptime] units: u32,
    #[comptime] warp: Warp,
) -> Waiting<F> {
    let slots = comptime!((units / WIDTH * SLOTS) as usize);
    let mut waiting = Waiting::<F> {
        corners: SharedMemory::<Vector<F, Const<4>>>::new(comptime!((2 * d).div_ceil(PART) * slots)),
        positions: SharedMemory::<u32>::new(slots),
        count: Array::<u32>::new(1usize),
        slots,
        d,
        are_points,
        warp,
    };
    waiting.count[0] = 0;
    waiting
}

#[cube]
impl<F: Float> Waiting<F> {
    /// Returns the number of primitives to be compared next.
    pub fn len(&self) -> u32 {
        min(self.count[0], WIDTH)
    }

    /// Returns `true` if there are 32 primitives to be compared.
    pub fn is_full(&self) -> bool {
        self.count[0] >= WIDTH
    }

    /// Returns the corners of the box of a primitive.
    pub fn corners(&self, place: u32) -> Array<F> {
        let d = comptime!(self.d);
        let slot = (UNIT_POS / WIDTH * SLOTS + place) as usize;
        let mut corners = Array::<F>::new(comptime!(2 * d));
        #[unroll]
        for part in 0..comptime!((2 * d).div_ceil(PART)) {
            let four = self.corners[comptime!(part * self.slots) + slot];
            #[unroll]
            for k in 0..comptime!(PART.min(2 * d - PART * part)) {
                corners[comptime!(PART * part + k)] = four[k];
            }
        }
        corners
    }

    /// Returns the position of a primitive in the tree.
    pub fn position(&self, place: u32) -> u32 {
        self.positions[(UNIT_POS / WIDTH * SLOTS + place) as usize]
    }

    /// Queues those of up to 32 primitives from `first` on, before `behind`, that are near the boxes.
    pub fn enqueue(&mut self, tree: &Tree<F>, boxes: &QueryBoxes<F>, limits: &Array<F>, first: u32, behind: u32) {
        let d = comptime!(self.d);
        let unit = UNIT_POS % WIDTH;
        let at = min(first + unit, behind - 1);
        let corners = stored_corners::<F>(tree, at, d, comptime!(self.are_points));
        let comes = first + unit < behind && boxes.are_near_box(&corners, &tree.sides, limits);
        let votes = warp_ballot(comes, comptime!(self.warp));
        let place = self.count[0] + (votes & ((1u32 << unit) - 1)).count_ones();
        if comes {
            let slot = (UNIT_POS / WIDTH * SLOTS + place) as usize;
            self.positions[slot] = at;
            #[unroll]
            for part in 0..comptime!((2 * d).div_ceil(PART)) {
                let mut four = Vector::<F, Const<4>>::new(F::new(0.0));
                #[unroll]
                for k in 0..comptime!(PART.min(2 * d - PART * part)) {
                    four[k] = corners[comptime!(PART * part + k)];
                }
                self.corners[comptime!(part * self.slots) + slot] = four;
            }
        }
        self.count[0] += votes.count_ones();
        sync_warp(comptime!(self.warp));
    }

    /// Removes the primitives that were compared.
    pub fn advance(&mut self) {
        let unit = UNIT_POS % WIDTH;
        let rest = max(self.count[0], WIDTH) - WIDTH;
        let slot = (UNIT_POS / WIDTH * SLOTS + unit) as usize;
        sync_warp(comptime!(self.warp));
        if unit < rest {
            self.positions[slot] = self.positions[slot + comptime!(WIDTH as usize)];
            #[unroll]
            for part in 0..comptime!((2 * self.d).div_ceil(PART)) {
                let at = comptime!(part * self.slots) + slot;
                self.corners[at] = self.corners[at + comptime!(WIDTH as usize)];
            }
        }
        self.count[0] = rest;
        sync_warp(comptime!(self.warp));
    }
}

/// Returns the corners of the box of the stored primitive at a position.
#[cube]
pub(super) fn stored_corners<F: Float>(
    tree: &Tree<F>,
    at: u32,
    #[comptime] d: usize,
    #[comptime] are_points: bool,
) -> Array<F> {
    let mut corners = Array::<F>::new(comptime!(2 * d));
    #[unroll]
    for k in 0..d {
        corners[k] = tree.axes[k * tree.stored as usize + at as usize];
        if comptime!(are_points) {
            corners[d + k] = corners[k];
        } else {
            corners[d + k] = tree.axes[(d + k) * tree.stored as usize + at as usize];
        }
    }
    corners
}
