//! What the units of a plane look at together.
//!
//! Queries that are next to each other want much the same points. Each of the 32 units of a plane takes a point of a leaf, and
//! those that are near a box around the queries wait in the cube's memory; whenever there are 32, each unit compares its own
//! query with all of them. So what is far from all is looked at once and not 32 times, and all units are busy.
//! There are two boxes, for the curve that the queries follow leaps now and then.
//! For devices with planes of 32 (see `planes`).
//! Source: Wald et al. 2001 (packets); their box as a first test is that of Boulos, Wald and Shirley 2006.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::gap;
use crate::gpu::primitives::warp::{
    WIDTH, Warp, sync_warp, warp_ballot, warp_max, warp_min, warp_shuffle, warp_shuffle_up,
};

/// Places for each plane: what is compared, and what comes after it.
const PLACES: u32 = 2 * WIDTH;

/// The queries of a plane, and the points that wait for them.
#[derive(CubeType)]
pub(in crate::gpu) struct Packet<F: Float> {
    /// The boxes around the queries before the largest step between two, and around those behind it.
    lo: Array<F>,
    hi: Array<F>,
    /// Where points wait, and their positions in the tree.
    points: SharedMemory<Vector<F, Const<4>>>,
    positions: SharedMemory<u32>,
    /// Points from the first of these positions up to the second never wait.
    left_out: Array<u32>,
    /// How many wait, and which of the two halves of the places they digit_base in.
    waiting: Array<u32>,
    /// A bit for each of them, in two words: whether this query wants it; whether one of its leaf is as good as all; whether a leaf
    /// begins with it.
    wanted: Array<u32>,
    lone: Array<u32>,
    starts: Array<u32>,
    #[cube(comptime)]
    pub d: usize,
    #[cube(comptime)]
    pub periodic: bool,
    #[cube(comptime)]
    pub warp: Warp,
}

/// What a query wants of a leaf.
#[derive(CubeType)]
pub(in crate::gpu) struct Want {
    pub any: bool,
    /// Whether one is as good as all.
    pub one_will_do: bool,
    /// The query's position; of pairs, it wants what is behind.
    pub own: u32,
    #[cube(comptime)]
    pub half: bool,
    /// Whether leaves of which one will do are to be expected.
    #[cube(comptime)]
    pub alike: bool,
}

/// What a query found among the points of a leaf, or of a packet.
#[derive(CubeType)]
pub(in crate::gpu) struct Hits {
    /// A bit for each.
    pub bits: u32,
    /// Where it is said that one of a leaf is as good as all; and which are the first of theirs.
    lone: u32,
    starts: u32,
    /// The position of the first in the tree, or its place in the cube's memory.
    first: u32,
    positions: SharedMemory<u32>,
    #[cube(comptime)]
    waits: bool,
}

#[cube]
impl Hits {
    /// Those of a leaf that begins at `first`.
    pub fn of_leaf(bits: u32, first: u32, one_will_do: bool) -> Hits {
        let lone = select(one_will_do, 0xffff_ffffu32, 0u32);
        Hits { bits, lone, starts: 0u32.runtime(), first, positions: SharedMemory::new(1usize), waits: false }
    }

    /// The same, but these.
    pub fn with(&self, bits: u32) -> Hits {
        Hits {
            bits,
            lone: self.lone,
            starts: self.starts,
            first: self.first,
            positions: self.positions,
            waits: comptime!(self.waits),
        }
    }

    /// The position of one in the tree.
    pub fn position(&self, bit: u32) -> u32 {
        let mut position = self.first + bit;
        if comptime!(self.waits) {
            position = self.positions[position as usize];
        }
        position
    }

    /// What is left of those after one: nothing of its leaf, if it is as good as all of that.
    pub fn after(&self, left: u32, bit: u32) -> u32 {
        let next = self.starts & (!1u32 << bit);
        // Below the next start, where there is one.
        let same_leaf = (next & (!next + 1)) - 1;
        let mut rest = left + 0;
        if (self.lone >> bit) & 1 != 0 {
            rest &= !same_leaf;
        }
        rest
    }
}

/// A packet of the queries of this plane, one of so many in a cube, without points.
#[cube]
pub(in crate::gpu) fn new_packet<F: Float>(
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] units: u32,
    #[comptime] warp: Warp,
) -> Packet<F> {
    let places = comptime!((units / WIDTH * PLACES) as usize);
    let mut packet = Packet::<F> {
        lo: Array::<F>::new(comptime!(2 * d)),
        hi: Array::<F>::new(comptime!(2 * d)),
        points: SharedMemory::<Vector<F, Const<4>>>::new(places),
        positions: SharedMemory::<u32>::new(places),
        left_out: Array::<u32>::new(2usize),
        waiting: Array::<u32>::new(2usize),
        wanted: Array::<u32>::new(2usize),
        lone: Array::<u32>::new(2usize),
        starts: Array::<u32>::new(2usize),
        d,
        periodic,
        warp,
    };
    // The first of the part behind the largest step.
    let unit = UNIT_POS % WIDTH;
    let mut step = F::new(0.0);
    #[unroll]
    for k in 0..d {
        // The first has no one before it, and gets its own.
        step = step.max((point[k] - warp_shuffle_up::<F>(point[k], 1, warp)).abs());
    }
    let cut = warp_ballot(step == warp_max::<F>(step, warp), warp).find_first_set() - 1;
    #[unroll]
    for k in 0..d {
        // Who is not in a part stands where its end does.
        let (first, last) = (warp_shuffle::<F>(point[k], 0, warp), warp_shuffle::<F>(point[k], WIDTH - 1, warp));
        let one = select(unit < cut, point[k], first);
        let other = select(unit < cut, last, point[k]);
        packet.lo[k] = warp_min::<F>(one, warp);
        packet.hi[k] = warp_max::<F>(one, warp);
        packet.lo[d + k] = warp_min::<F>(other, warp);
        packet.hi[d + k] = warp_max::<F>(other, warp);
    }
    #[unroll]
    for word in 0..2usize {
        packet.left_out[word] = 0;
        packet.waiting[word] = 0;
        packet.wanted[word] = 0;
        packet.lone[word] = 0;
        packet.starts[word] = 0;
    }
    packet
}

#[cube]
impl<F: Float> Packet<F> {
    /// Points in `from..to` are not taken.
    pub fn leave_out(&mut self, from: u32, to: u32) {
        self.left_out[0] = from;
        self.left_out[1] = to;
    }

    /// How many points there are from one position up to another that are not left out.
    pub fn count(&self, first: u32, behind: u32) -> u32 {
        let digit_base = max(first, self.left_out[0]);
        behind - first - (max(digit_base, min(behind, self.left_out[1])) - digit_base)
    }

    /// How far a box is from the nearer of those around the queries, squared.
    pub fn min_distance2(&self, corners: &Array<F>, sides: &Array<F>) -> F {
        let d = comptime!(self.d);
        let mut nearer = F::new(0.0);
        #[unroll]
        for part in 0..2usize {
            let mut sum = F::new(0.0);
            #[unroll]
            for k in 0..d {
                let (lo, hi) = (self.lo[part * d + k], self.hi[part * d + k]);
                let mut gap = (corners[k] - hi).max(lo - corners[d + k]).max(F::new(0.0));
                if comptime!(self.periodic) {
                    let around = sides[k] - (corners[d + k] - lo).max(hi - corners[k]);
                    gap = gap.min(around.max(F::new(0.0)));
                }
                sum += gap * gap;
            }
            if comptime!(part == 0) {
                nearer = sum;
            } else {
                nearer = nearer.min(sum);
            }
        }
        nearer
    }

    /// Lets those of the points from `first` on wait that are within `limit` of the box and not left out.
    pub fn take(&mut self, tree: &Tree<F>, first: u32, behind: u32, limit: F, want: Want) {
        let unit = UNIT_POS % WIDTH;
        let other = min(first + unit, behind - 1);
        let d = comptime!(self.d);
        let mut point = Vector::<F, Const<4>>::new(F::new(0.0));
        let mut corners = Array::<F>::new(comptime!(2 * d));
        #[unroll]
        for k in 0..d {
            let x = tree.axes[k * tree.stored as usize + other as usize];
            point[k] = x;
            corners[k] = x;
            corners[d + k] = x;
        }
        let min_distance2 = self.min_distance2(&corners, &tree.sides);
        let comes =
            first + unit < behind && (other < self.left_out[0] || other >= self.left_out[1]) && min_distance2 <= limit;
        let votes = warp_ballot(comes, comptime!(self.warp));
        if votes != 0 {
            let count = votes.count_ones();
            let waiting = self.waiting[0];
            if comes {
                let rank = (votes & ((1u32 << unit) - 1)).count_ones();
                let place = self.place(waiting + rank) as usize;
                self.points[place] = point;
                self.positions[place] = other;
            }
            let all = !0u32 >> (WIDTH - count);
            let mut own = all + 0;
            if comptime!(want.half) {
                // The units' points in the leaf that are up to its own; a shift by 32 is none.
                let up_to = select(want.own < first, 0u32, !((!0u32 << min(want.own - first, 31u32)) << 1));
                own = all & (all << (votes & up_to).count_ones());
                // All of them would be a shift by 32.
                own = select(votes & !up_to == 0, 0u32, own);
            }
            own = select(want.any, own, 0u32);
            // What does not fit the first word; a shift by 32 is none.
            self.wanted[0] |= own << waiting;
            self.wanted[1] |= (own >> 1) >> (31 - waiting);
            if comptime!(want.alike) {
                let lone = select(want.one_will_do, own, 0u32);
                self.lone[0] |= lone << waiting;
                self.lone[1] |= (lone >> 1) >> (31 - waiting);
                self.starts[0] |= 1u32 << waiting;
            }
            self.waiting[0] = waiting + count;
        }
    }

    /// Where the one that waits at `turn` is.
    fn place(&self, turn: u32) -> u32 {
        UNIT_POS / WIDTH * PLACES + (self.waiting[1] + turn) % PLACES
    }

    /// Whether there is enough to compare at once.
    pub fn is_full(&self) -> bool {
        self.waiting[0] >= WIDTH
    }

    /// Lets all of the points from `first` on wait, where none do: `count` of them, at most 32.
    pub fn take_all(&mut self, tree: &Tree<F>, first: u32, count: u32) {
        let unit = UNIT_POS % WIDTH;
        let other = first + min(unit, count - 1);
        let mut point = Vector::<F, Const<4>>::new(F::new(0.0));
        #[unroll]
        for k in 0..comptime!(self.d) {
            point[k] = tree.axes[k * tree.stored as usize + other as usize];
        }
        let place = self.place(unit) as usize;
        self.points[place] = point;
        self.positions[place] = other;
        self.waiting[0] = WIDTH;
        self.wanted[0] = !0u32 >> (WIDTH - count);
    }

    /// Which of the first 32 are within two limits of the query, and wanted.
    pub fn compare(&self, point: &Array<F>, sure: F, maybe: F, sides: &Array<F>) -> (u32, u32) {
        sync_warp(comptime!(self.warp));
        let mut hits = 0u32.runtime();
        let mut doubts = 0u32.runtime();
        let digit_base = self.place(0) as usize;
        #[unroll]
        for i in 0..WIDTH {
            let d2 = self.distance2_at(digit_base + i as usize, point, sides);
            hits |= select(d2 <= sure, comptime!(1u32 << i), 0u32);
            doubts |= select(d2 <= maybe, comptime!(1u32 << i), 0u32);
        }
        (hits & self.wanted[0], doubts & self.wanted[0])
    }

    /// The position in the tree, and the squared distance, of one of the first 32.
    pub fn position(&self, bit: u32) -> u32 {
        self.positions[self.place(bit) as usize]
    }

    pub fn distance2(&self, bit: u32, point: &Array<F>, sides: &Array<F>) -> F {
        self.distance2_at(self.place(bit) as usize, point, sides)
    }

    fn distance2_at(&self, place: usize, point: &Array<F>, sides: &Array<F>) -> F {
        let other = self.points[place];
        let mut sum = F::new(0.0);
        #[unroll]
        for k in 0..comptime!(self.d) {
            let gap = gap::<F>(point[k], other[k], sides[k], comptime!(self.periodic));
            sum += gap * gap;
        }
        sum
    }

    /// What was found among the first 32.
    pub fn hits(&self, bits: u32) -> Hits {
        Hits {
            bits,
            lone: self.lone[0],
            starts: self.starts[0],
            first: self.place(0),
            positions: self.positions,
            waits: true,
        }
    }

    /// The first 32 are done with.
    pub fn turn(&mut self) {
        sync_warp(comptime!(self.warp));
        self.waiting[0] = max(self.waiting[0], WIDTH) - WIDTH;
        self.waiting[1] = WIDTH - self.waiting[1];
        self.wanted[0] = self.wanted[1];
        self.lone[0] = self.lone[1];
        self.starts[0] = self.starts[1];
        self.wanted[1] = 0;
        self.lone[1] = 0;
        self.starts[1] = 0;
    }
}
