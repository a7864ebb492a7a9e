//! The queue of points that the threads of a warp compare with all their queries.
//!
//! Adjacent queries need mostly the same points. Each of the 32 threads of a warp reads a point of a leaf. Points
//! near a box around the queries are queued in shared memory. Whenever 32 points are queued, each thread compares its
//! own query with all of them. So a point far from all queries is tested once instead of 32 times, and all threads
//! are busy.
//! Source: Wald et al. 2001 (packets); Boulos, Wald and Shirley 2006 (the packet's box as a first test).

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::query_boxes::{QueryBoxes, query_boxes};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{exact_gap2, gap, point_at};
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_ballot};

/// Slots of a warp: for the 32 points to be compared next, and for those after them.
const SLOTS: u32 = 2 * WIDTH;

/// Coordinates of a slot that are loaded at once.
const PART: usize = 4;

/// Threads per block that queues points of `d` coordinates, where `native` is the number for few coordinates. The
/// more coordinates a slot has, the fewer slots fit in shared memory.
pub(in crate::gpu) fn block_units(native: u32, d: usize) -> u32 {
    if d <= PART { native } else { native / 4 }
}

/// The boxes around a warp's queries, and the points queued for them.
#[derive(CubeType)]
pub(in crate::gpu) struct Packet<F: Float> {
    boxes: QueryBoxes<F>,
    /// The coordinates of the queued points, four per slot, and their positions in the tree. After all slots come
    /// slots for the fifth to eighth coordinates, and so on.
    points: SharedMemory<Vector<F, Const<4>>>,
    positions: SharedMemory<u32>,
    /// Points from the first of these positions up to the second (exclusive) are never queued.
    excluded: Array<u32>,
    /// The number of queued points, and the slot of the first.
    queue: Array<u32>,
    /// Bitmasks over the 64 slots of the queue, in two words each. `wanted`: points that this query wants.
    /// `uniform_bits`: points of uniform leaves. `leaf_start_bits`: points that are the first of their leaf.
    wanted: Array<u32>,
    uniform_bits: Array<u32>,
    leaf_start_bits: Array<u32>,
    /// The number of slots of the block.
    #[cube(comptime)]
    slots: usize,
    #[cube(comptime)]
    pub d: usize,
    #[cube(comptime)]
    pub periodic: bool,
    #[cube(comptime)]
    pub warp: Warp,
}

/// The request of a query for the points of a leaf.
#[derive(CubeType)]
pub(in crate::gpu) struct LeafRequest {
    pub any: bool,
    /// `true` if the leaf is uniform.
    pub is_uniform: bool,
    /// The query's position. If `half` is set, the query wants only points behind it.
    pub own: u32,
    #[cube(comptime)]
    pub half: bool,
    /// `true` if leaves may be uniform.
    #[cube(comptime)]
    pub uniform: bool,
}

/// Creates the packet of the warp's queries, with an empty queue, in a block of `units` threads.
#[cube]
pub(in crate::gpu) fn new_packet<F: Float>(
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] units: u32,
    #[comptime] warp: Warp,
) -> Packet<F> {
    packet_around::<F>(query_boxes::<F>(point, d, periodic, warp), units, warp)
}

/// Creates the packet of queries with these boxes around them, with an empty queue, in a block of `units` threads.
#[cube]
pub(in crate::gpu) fn packet_around<F: Float>(
    boxes: QueryBoxes<F>,
    #[comptime] units: u32,
    #[comptime] warp: Warp,
) -> Packet<F> {
    let (d, periodic) = comptime!((boxes.d, boxes.periodic));
    let slots = comptime!((units / WIDTH * SLOTS) as usize);
    let mut packet = Packet::<F> {
        boxes,
        points: SharedMemory::<Vector<F, Const<4>>>::new(comptime!(d.div_ceil(PART) * slots)),
        positions: SharedMemory::<u32>::new(slots),
        excluded: Array::<u32>::new(2usize),
        queue: Array::<u32>::new(2usize),
        wanted: Array::<u32>::new(2usize),
        uniform_bits: Array::<u32>::new(2usize),
        leaf_start_bits: Array::<u32>::new(2usize),
        slots,
        d,
        periodic,
        warp,
    };
    #[unroll]
    for word in 0..2usize {
        packet.excluded[word] = 0;
        packet.queue[word] = 0;
        packet.wanted[word] = 0;
        packet.uniform_bits[word] = 0;
        packet.leaf_start_bits[word] = 0;
    }
    packet
}

#[cube]
impl<F: Float> Packet<F> {
    /// Excludes the points `from..to` from now on.
    pub fn exclude(&mut self, from: u32, to: u32) {
        self.excluded[0] = from;
        self.excluded[1] = to;
    }

    /// Returns the number of points in `first..behind` that are not excluded.
    pub fn count(&self, first: u32, behind: u32) -> u32 {
        let begin = max(first, self.excluded[0]);
        behind - first - (max(begin, min(behind, self.excluded[1])) - begin)
    }

    /// Returns the squared distance from a box to the nearer of the two boxes around the queries.
    pub fn min_distance2(&self, corners: &Array<F>, sides: &Array<F>) -> F {
        self.boxes.min_distance2(corners, sides)
    }

    /// Queues those of up to 32 points `first..behind` that are within `limit` of the boxes and not excluded.
    pub fn enqueue_near(&mut self, tree: &Tree<F>, first: u32, behind: u32, limit: F, want: LeafRequest) {
        let unit = UNIT_POS % WIDTH;
        let other = min(first + unit, behind - 1);
        let point = point_at::<F>(&tree.axes, other, tree.stored, comptime!(self.d));
        let comes = first + unit < behind
            && (other < self.excluded[0] || other >= self.excluded[1])
            && self.boxes.distance2(&point, &tree.sides) <= limit;
        let queued = self.queue[0];
        let votes = self.enqueue(other, &point, comes);
        if votes != 0 {
            let all = !0u32 >> (WIDTH - votes.count_ones());
            let mut own = all + 0;
            if comptime!(want.half) {
                // The points of the leaf up to the query's own. A shift by 32 would shift by 0, so there are two
                // shifts.
                let up_to = select(want.own < first, 0u32, !((!0u32 << min(want.own - first, 31u32)) << 1));
                own = all & (all << (votes & up_to).count_ones());
                // If all points are cut off, the shift would be by 32.
                own = select(votes & !up_to == 0, 0u32, own);
            }
            own = select(want.any, own, 0u32);
            // Bits that do not fit in the first word go to the second. A shift by 32 would shift by 0, so there are
            // two shifts.
            self.wanted[0] |= own << queued;
            self.wanted[1] |= (own >> 1) >> (31 - queued);
            if comptime!(want.uniform) {
                let uniform_bits = select(want.is_uniform, own, 0u32);
                self.uniform_bits[0] |= uniform_bits << queued;
                self.uniform_bits[1] |= (uniform_bits >> 1) >> (31 - queued);
                self.leaf_start_bits[0] |= 1u32 << queued;
            }
        }
    }

    /// Queues those of the 32 points from `first` on, before `behind`, that are `wanted` and within the limit of either
    /// box, and not excluded if `excludes` is set. All queries want them once the queue is full; see
    /// [`Packet::want_queued`]. Each thread decides about one point.
    pub fn enqueue_swept(
        &mut self,
        tree: &Tree<F>,
        first: u32,
        behind: u32,
        limits: &Array<F>,
        wanted: bool,
        #[comptime] excludes: bool,
    ) {
        let other = min(first + UNIT_POS % WIDTH, behind - 1);
        let point = point_at::<F>(&tree.axes, other, tree.stored, comptime!(self.d));
        let mut comes =
            wanted && first + UNIT_POS % WIDTH < behind && self.boxes.are_near_point(&point, &tree.sides, limits);
        if comptime!(excludes) {
            comes = comes && (other < self.excluded[0] || other >= self.excluded[1]);
        }
        self.enqueue(other, &point, comes);
        self.wanted[0] = !0u32.runtime();
    }

    /// Queues the points of the threads whose point `comes`, and returns a bit for each of these threads.
    fn enqueue(&mut self, position: u32, point: &Array<F>, comes: bool) -> u32 {
        let votes = warp_ballot(comes, comptime!(self.warp));
        let queued = self.queue[0];
        if comes {
            let before = (votes & ((1u32 << (UNIT_POS % WIDTH)) - 1)).count_ones();
            self.put(self.slot(queued + before) as usize, position, point);
        }
        self.queue[0] = queued + votes.count_ones();
        votes
    }

    /// Makes the query want all queued points, which are at most 32.
    pub fn want_queued(&mut self) {
        self.wanted[0] = !((!0u32 << min(self.queue[0], WIDTH - 1)) << select(self.queue[0] < WIDTH, 0u32, 1u32));
    }

    /// Restricts the points that the query wants to those of `bits`, among the first 32.
    pub fn want_only(&mut self, bits: u32) {
        self.wanted[0] &= bits;
    }

    /// Fills a slot with the point at a position, whose coordinates are the first ones of `point`.
    fn put(&mut self, slot: usize, position: u32, point: &Array<F>) {
        let d = comptime!(self.d);
        #[unroll]
        for part in 0..comptime!(d.div_ceil(PART)) {
            let mut own = Vector::<F, Const<4>>::new(F::new(0.0));
            #[unroll]
            for k in comptime!(PART * part)..comptime!(d.min(PART * part + PART)) {
                own[comptime!(k % PART)] = point[k];
            }
            self.points[slot + comptime!(part * self.slots)] = own;
        }
        self.positions[slot] = position;
    }

    /// The slot of a queued point.
    fn slot(&self, place: u32) -> u32 {
        UNIT_POS / WIDTH * SLOTS + (self.queue[1] + place) % SLOTS
    }

    /// Returns `true` if there are enough queued points for a comparison.
    pub fn is_full(&self) -> bool {
        self.queue[0] >= WIDTH
    }

    /// Queues the `count` points from `first` on, at most 32. The queue must be empty.
    pub fn enqueue_all(&mut self, tree: &Tree<F>, first: u32, count: u32) {
        let unit = UNIT_POS % WIDTH;
        let other = first + min(unit, count - 1);
        let point = point_at::<F>(&tree.axes, other, tree.stored, comptime!(self.d));
        self.put(self.slot(unit) as usize, other, &point);
        self.queue[0] = WIDTH;
        self.wanted[0] = !0u32 >> (WIDTH - count);
    }

    /// Returns the bits of the first 32 points that are wanted and within `sure`, and within `maybe`, of the query.
    pub fn compare(&self, point: &Array<F>, sure: F, maybe: F, sides: &Array<F>) -> (u32, u32) {
        sync_warp(comptime!(self.warp));
        let mut sure_bits = 0u32.runtime();
        let mut maybe_bits = 0u32.runtime();
        let begin = self.slot(0) as usize;
        #[unroll]
        for i in 0..WIDTH {
            let d2 = self.distance2_at(begin + i as usize, point, sides);
            sure_bits |= select(d2 <= sure, comptime!(1u32 << i), 0u32);
            maybe_bits |= select(d2 <= maybe, comptime!(1u32 << i), 0u32);
        }
        (sure_bits & self.wanted[0], maybe_bits & self.wanted[0])
    }

    /// The same by the signs of differences: with fewer instructions if no distance is between `sure` and `maybe`,
    /// otherwise with more.
    pub fn compare_signs(&self, point: &Array<F>, sure: F, maybe: F, sides: &Array<F>) -> (u32, u32) {
        sync_warp(comptime!(self.warp));
        let begin = self.slot(0) as usize;
        let mut sure_bits = 0u32.runtime();
        let mut least = F::new(f32::MAX);
        #[unroll]
        for i in 0..WIDTH {
            let beyond = self.distance2_at(begin + comptime!((WIDTH - 1 - i) as usize), point, sides) - maybe;
            sure_bits = (sure_bits << 1) | (u32::reinterpret(f32::cast_from(beyond)) >> 31);
            least = least.min(beyond.abs());
        }
        let mut maybe_bits = sure_bits + 0;
        // False also if a limit is infinite.
        let are_decided = least > maybe - sure;
        if !are_decided {
            sure_bits = 0;
            maybe_bits = 0;
            for i in 0..WIDTH {
                let d2 = self.distance2_at(begin + i as usize, point, sides);
                sure_bits |= select(d2 <= sure, 1u32 << i, 0u32);
                maybe_bits |= select(d2 <= maybe, 1u32 << i, 0u32);
            }
        }
        (sure_bits & self.wanted[0], maybe_bits & self.wanted[0])
    }

    /// Returns the bits of the first 32 points that are wanted and nearer to the query than `limit`.
    pub fn nearer(&self, point: &Array<F>, limit: F, sides: &Array<F>) -> u32 {
        sync_warp(comptime!(self.warp));
        let begin = self.slot(0) as usize;
        let mut bits = 0u32.runtime();
        #[unroll]
        for i in 0..WIDTH {
            let beyond = self.sum_at(begin + comptime!((WIDTH - 1 - i) as usize), point, sides, -limit);
            bits = (bits << 1) | (u32::reinterpret(f32::cast_from(beyond)) >> 31);
        }
        bits & self.wanted[0]
    }

    /// Lets the threads of the warp see the queued points.
    pub fn share(&self) {
        sync_warp(comptime!(self.warp));
    }

    /// Returns the bits of the first 32 points that are wanted, and within `limit` of the query or within a limit of
    /// their own. `own_limits` has the limit of the i-th point at the place of the warp's i-th thread.
    pub fn compare_reaching(&self, point: &Array<F>, limit: F, own_limits: &SharedMemory<F>, sides: &Array<F>) -> u32 {
        sync_warp(comptime!(self.warp));
        let mut bits = 0u32.runtime();
        let (begin, first) = (self.slot(0) as usize, UNIT_POS / WIDTH * WIDTH);
        #[unroll]
        for i in 0..WIDTH {
            let d2 = self.distance2_at(begin + i as usize, point, sides);
            bits |= select(d2 <= limit.max(own_limits[(first + i) as usize]), comptime!(1u32 << i), 0u32);
        }
        bits & self.wanted[0]
    }

    /// Returns the number of queued points.
    pub fn queued(&self) -> u32 {
        self.queue[0]
    }

    /// Returns the position in the tree of one of the first 32 points.
    pub fn position(&self, bit: u32) -> u32 {
        self.positions[self.slot(bit) as usize]
    }

    /// Returns the squared distance from the query to one of the first 32 points.
    pub fn distance2(&self, bit: u32, point: &Array<F>, sides: &Array<F>) -> F {
        self.distance2_at(self.slot(bit) as usize, point, sides)
    }

    /// The same in `f64`, as `metric::exact_distance2`, for the query's coordinates in `f64`.
    pub fn exact_distance2(&self, bit: u32, point: &Array<f64>, sides: &Array<f64>) -> f64 {
        let (slot, d) = (self.slot(bit) as usize, comptime!(self.d));
        let mut sum = f64::new(0.0);
        #[unroll]
        for part in 0..comptime!(d.div_ceil(PART)) {
            let other = self.points[slot + comptime!(part * self.slots)];
            #[unroll]
            for k in comptime!(PART * part)..comptime!(d.min(PART * part + PART)) {
                let coordinate = f64::cast_from(other[comptime!(k % PART)]);
                sum += exact_gap2::<f64>(point[k], coordinate, sides[k], comptime!(self.periodic));
            }
        }
        sum
    }

    fn distance2_at(&self, slot: usize, point: &Array<F>, sides: &Array<F>) -> F {
        self.sum_at(slot, point, sides, F::new(0.0))
    }

    /// Returns the sum of a number and the squared distance from the query to the point of a slot.
    fn sum_at(&self, slot: usize, point: &Array<F>, sides: &Array<F>, from: F) -> F {
        let d = comptime!(self.d);
        let mut sum = from + F::new(0.0);
        #[unroll]
        for part in 0..comptime!(d.div_ceil(PART)) {
            let other = self.points[slot + comptime!(part * self.slots)];
            #[unroll]
            for k in comptime!(PART * part)..comptime!(d.min(PART * part + PART)) {
                let gap = gap::<F>(point[k], other[comptime!(k % PART)], sides[k], comptime!(self.periodic));
                sum += gap * gap;
            }
        }
        sum
    }

    /// Creates the hits among the first 32 points.
    pub fn hits(&self, bits: u32) -> Hits {
        Hits::of_packet(bits, self.uniform_bits[0], self.leaf_start_bits[0], self.slot(0), self.positions)
    }

    /// Removes the first 32 points, after they were compared.
    pub fn advance(&mut self) {
        sync_warp(comptime!(self.warp));
        self.queue[0] = max(self.queue[0], WIDTH) - WIDTH;
        self.queue[1] = WIDTH - self.queue[1];
        self.wanted[0] = self.wanted[1];
        self.uniform_bits[0] = self.uniform_bits[1];
        self.leaf_start_bits[0] = self.leaf_start_bits[1];
        self.wanted[1] = 0;
        self.uniform_bits[1] = 0;
        self.leaf_start_bits[1] = 0;
    }
}
