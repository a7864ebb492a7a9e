//! The k nearest points for the queries of a warp at once, from the runs of points near them.
//!
//! In: points, and limits beyond which points are not among the nearest of a query (`seeds`). The runs of points within
//! these limits of each group of 32 queries are known (`bvh::traverse::runs`). Out: rows of neighbours, and a list of the
//! points in doubt. For devices with warps.
//! A warp compares its queries with the points around them in tree order, and then with those of the runs that are near
//! the boxes around the queries. Each comparison lowers the limits.
//! Each thread keeps the `k` nearest points of one query so far, and the nearest of those that it dropped. It keeps them
//! as integers: the bits of the rounded squared distance. The lowest bits are replaced by the number of the slot in
//! shared memory that holds the point's position. An insertion takes two instructions per place. Finally the distances of the `k` points are computed in
//! `f64` and sorted. If the nearest dropped point is certainly farther than the last of them, they are the result.
//! Otherwise (because of ties and of the replaced bits) the query is listed as in doubt, for `exact_search`. Heavy groups
//! are left to `approx_search`.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::feed::Feed;
use crate::gpu::bvh::traverse::packet::{Packet, packet_around};
use crate::gpu::bvh::traverse::query_boxes::{limits_by_box, load_boxes};
use crate::gpu::bvh::traverse::runs::{Groups, Runs, limits_of};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::exact_distance2;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_any};
use crate::gpu::search::nearest::arguments::{KnnSpec, NeighborRows, Search};
use crate::gpu::search::nearest::exact_search::widened;
use crate::gpu::search::nearest::limits::ApproxLimits;

/// Returns the number of threads per block. There are few, because keys take many registers, and rows much shared memory.
pub(super) fn sweep_threads(k: usize) -> u32 {
    if k <= 32 { 64 } else { 32 }
}

/// Returns the bytes of shared memory that a block takes, with up to 4 KiB for the exchange of emulated warps.
pub(super) fn shared_bytes(spec: KnnSpec, bytes_of_coordinate: usize) -> usize {
    let units = spec.warp.units(sweep_threads(spec.k)) as usize;
    let exchange = if spec.warp == Warp::Native { 0 } else { 4096 };
    let queue = 2 * (4 * spec.d.div_ceil(4) * bytes_of_coordinate + 4);
    units * (queue + 4 * (spec.k + 2) + 8 * (spec.k | 1)) + exchange
}

/// Keys from here on are free places. They are above the bits of infinity with any slot.
const FREE: u32 = 0x7fc0_0000;

/// The bits of infinity.
const INFINITE: u32 = 0x7f80_0000;

/// The nearest points of a query so far.
#[derive(CubeType)]
struct Keys {
    /// The keys of the `k` nearest points, nearest first, and of the nearest dropped one.
    keys: Array<u32>,
    /// The slot for the next point.
    free: Array<u32>,
    /// The positions of points, by slot and thread.
    positions: SharedMemory<u32>,
    #[cube(comptime)]
    k: usize,
    #[cube(comptime)]
    units: u32,
}

/// The bits of a key that hold a slot. There are slots for `k` points, the nearest dropped one, and a new one.
fn slot_mask(k: usize) -> u32 {
    (k as u32 + 2).next_power_of_two() - 1
}

/// Finds the `k` nearest points of each query. Queries in doubt are written to `doubted`, after their count.
#[cube(launch_unchecked)]
pub(super) fn sweep_nearest<F: Float>(
    tree: &Tree<F>,
    search: &Search<F>,
    approx: &ApproxLimits<F>,
    filters: &Array<F>,
    groups: &Groups<F>,
    runs: &Runs,
    rows: &mut NeighborRows,
    doubted: &mut Array<Atomic<u32>>,
    #[comptime] spec: KnnSpec,
) {
    let (d, warp) = comptime!((spec.d, spec.warp));
    let units = comptime!(warp.units(sweep_threads(spec.k)));
    let n = search.queries.n;
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let group = query / WIDTH;
    // Surplus warps have nothing to sweep.
    let has_group = unit / WIDTH == group;
    let point = search.queries.point(query, d);
    let mut limit = Array::<F>::new(1usize);
    limit[0] = filters[2 * query as usize + 1];
    let mut nearest = new_keys(comptime!(spec.k), units);
    let boxes = load_boxes::<F>(&groups.boxes, group, d, comptime!(spec.periodic));
    let is_in_first = boxes.is_in_first(&point);
    let mut limits = limits_of::<F>(groups, group, true);
    let mut packet = packet_around::<F>(boxes, units, warp);
    let mut count = 0u32.runtime();
    if has_group {
        count = runs.count(group);
    }
    let mut feed = Feed::new(group, count, n);
    let mut goes_on = count > 0;
    while goes_on {
        goes_on = feed.fill::<F>(&mut packet, tree, runs, &limits);
        let before = limit[0];
        nearest.take::<F>(&packet, &mut limit, tree, search, &point, query, spec);
        nearest.lower::<F>(&mut limit, approx, comptime!(spec.periodic));
        packet.advance();
        if warp_any(limit[0] < before, warp) {
            limits_by_box::<F>(is_in_first, limit[0], &mut limits, warp);
        }
    }
    if has_group && !runs.is_heavy(group) {
        nearest.finish::<F>(tree, search, approx, &point, rows, doubted, unit, spec);
    }
}

#[cube]
fn new_keys(#[comptime] k: usize, #[comptime] units: u32) -> Keys {
    let mut nearest = Keys {
        keys: Array::<u32>::new(comptime!(k + 1)),
        free: Array::<u32>::new(1usize),
        positions: SharedMemory::<u32>::new(comptime!((k + 2) * units as usize)),
        k,
        units,
    };
    #[unroll]
    for place in 0..comptime!(k + 1) {
        nearest.keys[place] = comptime!(FREE + place as u32).runtime();
    }
    nearest.free[0] = comptime!(k as u32 + 1).runtime();
    nearest
}

#[cube]
impl Keys {
    /// Inserts the points among the first 32 of a packet that are within the limit.
    fn take<F: Float>(
        &mut self,
        packet: &Packet<F>,
        limit: &mut Array<F>,
        tree: &Tree<F>,
        search: &Search<F>,
        point: &Array<F>,
        query: u32,
        #[comptime] spec: KnnSpec,
    ) {
        let mut left = Bits::new(packet.nearer(point, limit[0], &tree.sides));
        while left.any() {
            let bit = left.pop();
            let position = packet.position(bit);
            if search.allows(position, query, spec) {
                self.insert(f32::cast_from(packet.distance2(bit, point, &tree.sides)), position);
            }
        }
    }

    /// Inserts a point, and drops the farthest one.
    fn insert(&mut self, distance2: f32, position: u32) {
        let (k, mask) = comptime!((self.k, slot_mask(self.k)));
        let slot = self.free[0];
        self.positions[(slot * comptime!(self.units) + UNIT_POS) as usize] = position;
        let new = (u32::reinterpret(distance2) & !mask) | slot;
        self.free[0] = max(new, self.keys[k]) & mask;
        // Keys above the new one move by one place.
        #[unroll]
        for back in 0..k {
            let place = comptime!(k - back);
            self.keys[place] = max(self.keys[comptime!(place - 1)], min(new, self.keys[place]));
        }
        self.keys[0] = min(new, self.keys[0]);
    }

    /// Lowers the limit to the distance of the last point, with a margin for rounding.
    fn lower<F: Float>(&self, limit: &mut Array<F>, approx: &ApproxLimits<F>, #[comptime] periodic: bool) {
        let last = self.keys[comptime!(self.k - 1)];
        if last < INFINITE {
            let above = F::cast_from(f32::reinterpret(last | comptime!(slot_mask(self.k))));
            limit[0] = limit[0].min(approx.after(above, periodic));
        }
    }

    /// The place of a key's position.
    fn slot(&self, #[comptime] place: usize) -> usize {
        ((self.keys[place] & comptime!(slot_mask(self.k))) * comptime!(self.units) + UNIT_POS) as usize
    }

    /// Writes the rows of the warp's queries, sorted by exact distances, and lists queries in doubt.
    fn finish<F: Float>(
        &mut self,
        tree: &Tree<F>,
        search: &Search<F>,
        approx: &ApproxLimits<F>,
        point: &Array<F>,
        rows: &mut NeighborRows,
        doubted: &mut Array<Atomic<u32>>,
        unit: u32,
        #[comptime] spec: KnnSpec,
    ) {
        let (k, warp) = comptime!((self.k, spec.warp));
        let limits = &search.limits;
        let n = search.queries.n;
        let query = min(unit, n - 1);
        // Rows on their way to memory, an odd number of places apart, so that threads use different banks.
        let stride = comptime!(k | 1);
        let mut staged = SharedMemory::<u64>::new(comptime!(stride * self.units as usize));
        let own = UNIT_POS as usize * stride;
        let mut farthest = f64::new(0.0);
        // The previous neighbour; rounded distances are mostly in the order of exact ones.
        let mut last = f64::new(-1.0);
        let mut last_of = 0u32.runtime();
        let mut is_sorted = true.runtime();
        let mut overflows = false.runtime();
        #[unroll]
        for place in 0..k {
            let slot = self.slot(place);
            overflows = overflows || self.keys[place] & comptime!(!slot_mask(k)) == INFINITE;
            let mut exact = limits.infinity();
            let mut index = u32::MAX.runtime();
            if self.keys[place] < FREE {
                let at = self.positions[slot];
                exact = exact_distance2::<F>(
                    &tree.axes,
                    at,
                    tree.stored,
                    point,
                    &tree.exact_sides,
                    comptime!(spec.d),
                    comptime!(spec.periodic),
                );
                index = search.order[at as usize];
            }
            farthest = farthest.max(exact);
            // The rounded distance was below the limit, but the point may be outside of the radius.
            let within = exact <= limits.radius2();
            exact = select(within, exact, limits.infinity());
            index = select(within, index, u32::MAX);
            is_sorted = is_sorted && (last < exact || (last == exact && last_of <= index));
            last = exact;
            last_of = index;
            staged[own + place] = u64::reinterpret(exact);
            self.positions[slot] = index;
        }
        let dropped = self.keys[k];
        overflows = overflows || dropped & comptime!(!slot_mask(k)) == INFINITE;
        // With squares beyond the range of `f32`, points are not ordered, and some may be missing from a row that is
        // not full.
        let in_doubt = overflows
            || (self.keys[comptime!(k - 1)] >= FREE && approx.radius2() >= approx.infinity())
            || (dropped < FREE
                && F::cast_from(f32::reinterpret(dropped & comptime!(!slot_mask(k))))
                    <= widened::<F>(farthest, limits));
        if in_doubt && unit < n {
            let place = doubted[0].fetch_add(1) + 1;
            doubted[place as usize].store(query);
        }
        while !is_sorted {
            is_sorted = true;
            #[unroll]
            for place in 1..k {
                let before = comptime!(place - 1);
                let (a, b) = (f64::reinterpret(staged[own + before]), f64::reinterpret(staged[own + place]));
                let (a_of, b_of) = (self.positions[self.slot(before)], self.positions[self.slot(place)]);
                if b < a || (b == a && b_of < a_of) {
                    staged[own + before] = u64::reinterpret(b);
                    staged[own + place] = u64::reinterpret(a);
                    let key = self.keys[before];
                    self.keys[before] = self.keys[place];
                    self.keys[place] = key;
                    is_sorted = false;
                }
            }
        }
        // Neighbouring threads write neighbouring places: first distances, then indices.
        let first = query / WIDTH * WIDTH;
        let count = min(n - first, WIDTH);
        #[unroll]
        for part in 0..2u32 {
            sync_warp(warp);
            // Faster if it is unrolled, but longer for many neighbours.
            #[unroll(k <= 16)]
            for round in 0..comptime!(k as u32) {
                let at = round * WIDTH + UNIT_POS % WIDTH;
                let (of, place) = (at / comptime!(k as u32), at % comptime!(k as u32));
                if of < count {
                    let row = search.queries.row(first + of, comptime!(spec.row_order)) * rows.width as usize;
                    let from = (UNIT_POS / WIDTH * WIDTH + of) as usize * stride + place as usize;
                    if comptime!(part == 0) {
                        rows.distances2[row + place as usize] = f64::reinterpret(staged[from]);
                    } else {
                        rows.indices[row + place as usize] = u32::cast_from(staged[from]);
                    }
                }
            }
            if comptime!(part == 0) {
                sync_warp(warp);
                #[unroll]
                for place in 0..k {
                    staged[own + place] = u64::cast_from(self.positions[self.slot(place)]);
                }
            }
        }
    }
}
