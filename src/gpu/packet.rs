//! What the units of a plane look at together.
//!
//! Queries that are next to each other want much the same points. Each of the 32 units of a plane takes a point of a leaf, and
//! those that are near the box around all the queries wait in the cube's memory; whenever there are 32, each unit compares its own
//! query with all of them. So what is far from all is looked at once and not 32 times, and all units are busy.
//! For devices with planes of 32 (see `planes`).
//! Source: Wald et al. 2001 (packets); their box as a first test is that of Boulos, Wald and Shirley 2006.

use cubecl::prelude::*;

use super::metric::gap;
use super::planes::PLANES;
use super::walk::Tree;

/// Units of a plane, and points that are compared at once.
pub(super) const WIDTH: u32 = 32;
/// Places for each plane: what is compared, and what comes after it.
const PLACES: u32 = 2 * WIDTH;

/// The queries of a plane, and the points that wait for them.
#[derive(CubeType)]
pub(super) struct Packet<F: Float> {
    /// The box around the queries.
    lo: Array<F>,
    hi: Array<F>,
    /// Where points wait, and their positions in the tree.
    points: SharedMemory<Vector<F, Const<4>>>,
    positions: SharedMemory<u32>,
    /// How many wait, and which of the two halves of the places they begin in.
    waiting: Array<u32>,
    /// A bit for each of them, in two words: whether this query wants it; whether one of its leaf is as good as all; whether a leaf
    /// begins with it.
    wanted: Array<u32>,
    lone: Array<u32>,
    starts: Array<u32>,
    #[cube(comptime)]
    d: usize,
    #[cube(comptime)]
    periodic: bool,
}

/// What a query found among the points of a leaf, or of a packet.
#[derive(CubeType)]
pub(super) struct Hits {
    /// A bit for each.
    pub bits: u32,
    /// Where it is said that one of a leaf is as good as all; and which are the first of theirs.
    lone: u32,
    starts: u32,
    /// The position of the first in the tree, or its place in the cube's memory.
    first: u32,
    positions: SharedMemory<u32>,
    #[cube(comptime)]
    planes: bool,
}

#[cube]
impl Hits {
    /// Those of a leaf that begins at `first`.
    pub fn of_leaf(bits: u32, first: u32, one_will_do: bool) -> Hits {
        let lone = select(one_will_do, 0xffff_ffffu32, 0u32);
        Hits { bits, lone, starts: 0u32.runtime(), first, positions: SharedMemory::new(1usize), planes: false }
    }

    /// The same, but these.
    pub fn with(&self, bits: u32) -> Hits {
        Hits {
            bits,
            lone: self.lone,
            starts: self.starts,
            first: self.first,
            positions: self.positions,
            planes: comptime!(self.planes),
        }
    }

    /// The position of one in the tree.
    pub fn position(&self, bit: u32) -> u32 {
        let mut position = self.first + bit;
        if comptime!(self.planes) {
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

/// A packet of the queries of this plane, without points. Without planes it is never used.
#[cube]
pub(super) fn packet<F: Float>(
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] planes: bool,
) -> Packet<F> {
    let places = comptime!(if planes { (PLANES * PLACES) as usize } else { 1 });
    let mut packet = Packet::<F> {
        lo: Array::<F>::new(d),
        hi: Array::<F>::new(d),
        points: SharedMemory::<Vector<F, Const<4>>>::new(places),
        positions: SharedMemory::<u32>::new(places),
        waiting: Array::<u32>::new(2usize),
        wanted: Array::<u32>::new(2usize),
        lone: Array::<u32>::new(2usize),
        starts: Array::<u32>::new(2usize),
        d,
        periodic,
    };
    if comptime!(planes) {
        #[unroll]
        for k in 0..d {
            packet.lo[k] = plane_min(point[k]);
            packet.hi[k] = plane_max(point[k]);
        }
        #[unroll]
        for word in 0..2usize {
            packet.waiting[word] = 0;
            packet.wanted[word] = 0;
            packet.lone[word] = 0;
            packet.starts[word] = 0;
        }
    }
    packet
}

#[cube]
impl<F: Float> Packet<F> {
    #[allow(clippy::too_many_arguments)]
    /// Lets those points of a leaf wait that are within `limit` of the box, where all units have the same limit, and that are not
    /// from `not_from` to `not_behind`. A query that `wants` them wants those behind position `after`.
    pub fn take(
        &mut self,
        tree: &Tree<F>,
        first: u32,
        behind: u32,
        limit: F,
        not_from: u32,
        not_behind: u32,
        wants: bool,
        one_will_do: bool,
        after: u32,
        #[comptime] half: bool,
    ) {
        let unit = UNIT_POS % WIDTH;
        let other = min(first + unit, behind - 1);
        let mut point = Vector::<F, Const<4>>::new(F::new(0.0));
        let mut gap2 = F::new(0.0);
        #[unroll]
        for k in 0..comptime!(self.d) {
            let x = tree.axes[k * tree.stored as usize + other as usize];
            point[k] = x;
            let mut gap = (self.lo[k] - x).max(x - self.hi[k]).max(F::new(0.0));
            if comptime!(self.periodic) {
                let around = tree.sides[k] - (x - self.lo[k]).max(self.hi[k] - x);
                gap = gap.min(around.max(F::new(0.0)));
            }
            gap2 += gap * gap;
        }
        let is_new = other < not_from || other >= not_behind;
        let comes = first + unit < behind && is_new && gap2 <= limit;
        let votes = plane_ballot(comes)[0];
        let count = votes.count_ones();
        if comes {
            let rank = (votes & ((1u32 << unit) - 1)).count_ones();
            let place = self.place(self.waiting[0] + rank) as usize;
            self.points[place] = point;
            self.positions[place] = other;
        }
        // Of both words at once.
        let all = ((1u64 << u64::cast_from(count)) - 1u64) << u64::cast_from(self.waiting[0]);
        let mut own = all + 0u64;
        if comptime!(half) {
            // The units' points in the leaf that are up to `after`; a shift by 32 is none.
            let up_to = select(after < first, 0u32, !((!0u32 << min(after - first, 31u32)) << 1));
            let skipped = (votes & up_to).count_ones();
            own = all & (all << u64::cast_from(skipped));
        }
        own = select(wants, own, 0u64);
        let lone = select(one_will_do, own, 0u64);
        self.wanted[0] |= u32::cast_from(own);
        self.wanted[1] |= u32::cast_from(own >> 32u64);
        self.lone[0] |= u32::cast_from(lone);
        self.lone[1] |= u32::cast_from(lone >> 32u64);
        let start = all & (!all + 1u64);
        self.starts[0] |= u32::cast_from(start);
        self.starts[1] |= u32::cast_from(start >> 32u64);
        self.waiting[0] += count;
    }

    /// Where the one that waits at `turn` is.
    fn place(&self, turn: u32) -> u32 {
        UNIT_POS / WIDTH * PLACES + (self.waiting[1] + turn) % PLACES
    }

    /// Whether there is enough to compare at once.
    pub fn is_full(&self) -> bool {
        self.waiting[0] >= WIDTH
    }

    /// The query's own place among those that wait, which are none yet: all units' own points, up to `count`.
    pub fn take_own(&mut self, point: &Array<F>, position: u32, count: u32) {
        let place = self.place(UNIT_POS % WIDTH) as usize;
        let mut own = Vector::<F, Const<4>>::new(F::new(0.0));
        #[unroll]
        for k in 0..comptime!(self.d) {
            own[k] = point[k];
        }
        self.points[place] = own;
        self.positions[place] = position;
        self.waiting[0] = WIDTH;
        self.wanted[0] = 0xffff_ffffu32 >> (WIDTH - count);
    }

    /// Which of the first 32 are within two limits of the query, and wanted.
    pub fn compare(&self, point: &Array<F>, sure: F, maybe: F, sides: &Array<F>) -> (u32, u32) {
        sync_plane();
        let mut hits = 0u32.runtime();
        let mut doubts = 0u32.runtime();
        let begin = self.place(0) as usize;
        #[unroll]
        for i in 0..WIDTH {
            let d2 = self.distance2_at(begin + i as usize, point, sides);
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
            planes: true,
        }
    }

    /// The first 32 are done with.
    pub fn turn(&mut self) {
        sync_plane();
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
