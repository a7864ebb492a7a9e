//! Lower and upper bounds on the squared distance from each point to its k-th nearest neighbour.
//!
//! In: points. Out: two squared distances per point, between which the k-th nearest neighbour is, ends included.
//! Each thread counts the rounded squared distances of its point in a histogram of 64 bins, eight per factor of two.
//! The last relevant bin is the one that contains the k-th smallest distance so far; points beyond its upper edge are
//! not searched. The points around the warp are compared first: a coarse histogram of their distances places the
//! bins. Then the tree is walked as in `approx_search`. This is for devices without warps, for few points, and for groups near
//! very many points; `sweep_bracket` serves the others.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::{LeafRequest, Packet, new_packet};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{MIXED, Tree};
use crate::gpu::bvh::traverse::windows::windows;
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2, point_at};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, Warp, sync_warp, warp_any, warp_max};
use crate::gpu::search::nearest::exact_search::widened;
use crate::gpu::search::nearest::limits::{ApproxLimits, Limits};

/// Threads per block. There are few, because each one takes much shared memory.
pub(super) const BLOCK_THREADS: u32 = 64;
/// The number of points in tree order that are compared first, and how many of these precede the warp's own.
pub(super) const NEARBY: u32 = 160;
const BEFORE: u32 = 64;
/// The number of bins of a histogram. A word holds four counts.
const BINS: u32 = 64;
const WORDS: u32 = BINS / 4;
/// The lowest bit of an `f32` that distinguishes bins: in the coarse histogram, whose 64 bins cover all positive
/// numbers, and in the fine one.
const COARSE: u32 = 25;
pub(super) const FINE: u32 = 20;
/// The bin of infinity in the fine histogram.
pub(super) const INFINITE: u32 = 0x7f80_0000 >> FINE;

/// The parameters for which kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BracketSpec {
    pub d: usize,
    pub periodic: bool,
    pub warp: Warp,
    /// `true` if only some groups of 32 points are searched for.
    pub only_heavy: bool,
}

/// The bounds for each position. Negative bounds mean that at least `k` points are copies of this one.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Brackets<F: Float> {
    pub low2: Array<f64>,
    pub high2: Array<f64>,
    /// Two limits of rounded squared distances for each position: points up to the first are certainly nearer than
    /// `low2`, and points beyond the second are certainly farther than `high2`.
    pub filters: Array<F>,
}

/// A histogram of rounded squared distances.
#[derive(CubeType)]
struct Histogram {
    counts: SharedMemory<u32>,
    /// The first bin, the last relevant bin counted from there, and the sum of the counts up to it.
    state: Array<u32>,
    #[cube(comptime)]
    units: u32,
}

#[cube]
impl Histogram {
    pub fn new(#[comptime] units: u32) -> Histogram {
        let counts = SharedMemory::<u32>::new(comptime!((units * WORDS) as usize));
        Histogram { counts, state: Array::<u32>::new(3usize), units }
    }

    /// Clears the counts, with bins from `first` on.
    pub fn begin(&mut self, first: u32) {
        for word in 0..WORDS {
            self.counts[(word * self.units + UNIT_POS) as usize] = 0;
        }
        self.state[0] = first;
        self.state[1] = BINS - 1;
        self.state[2] = 0;
    }

    fn count(&self, bin: u32) -> u32 {
        let word = self.counts[(bin / 4 * self.units + UNIT_POS) as usize];
        (word >> (bin % 4 * 8)) & 255
    }

    /// Adds a number to its bin. Numbers below the first bin are counted in it.
    pub fn add(&mut self, number: u32, k: u32) {
        let bin = max(number, self.state[0]) - self.state[0];
        if bin <= self.state[1] {
            // A count of 255 exceeds `k`, so it needs no further increments.
            if self.count(bin) < 255 {
                let place = (bin / 4 * self.units + UNIT_POS) as usize;
                self.counts[place] = self.counts[place] + (1u32 << (bin % 4 * 8));
                self.state[2] = self.state[2] + 1;
                while self.state[2] - self.count(self.state[1]) >= k {
                    self.state[2] = self.state[2] - self.count(self.state[1]);
                    self.state[1] = self.state[1] - 1;
                }
            }
        }
    }

    /// Returns the last relevant bin.
    pub fn last(&self) -> u32 {
        self.state[0] + self.state[1]
    }

    /// Returns `true` if the last relevant bin is the first bin.
    pub fn is_first(&self) -> bool {
        self.state[1] == 0
    }
}

/// The search for the bounds of one point.
#[derive(CubeType)]
struct BracketSearch<F: Float> {
    histogram: Histogram,
    /// The rounded squared distance beyond which points are irrelevant.
    limit: Array<F>,
    /// The number of copies of the point so far, including itself.
    copies: Array<u32>,
    query: u32,
    k: u32,
    #[cube(comptime)]
    spec: BracketSpec,
}

/// Returns the bits of a squared distance as `f32`, which increase with the distance.
#[cube]
pub(super) fn bits_of<F: Float>(d2: F) -> u32 {
    u32::reinterpret(f32::cast_from(d2))
}

/// Returns the upper edge of a bin of the fine histogram.
#[cube]
fn edge(bin: u32) -> f32 {
    f32::reinterpret(min(bin + 1, INFINITE) << FINE)
}

#[cube]
impl<F: Float> BracketSearch<F> {
    /// Adds a point to the coarse histogram.
    fn take_coarsely(&mut self, d2: F) {
        self.histogram.add(bits_of::<F>(d2) >> COARSE, self.k);
    }

    /// Starts the fine histogram, whose bins end at the last relevant bin of the coarse one.
    fn place_bins(&mut self) {
        let top = (self.histogram.last() + 1) << comptime!(COARSE - FINE);
        self.histogram.begin(max(top, BINS) - BINS);
    }

    /// Adds a point to the fine histogram.
    fn take(&mut self, d2: F, limits: &ApproxLimits<F>) {
        let last = self.histogram.last();
        self.histogram.add(bits_of::<F>(d2) >> FINE, self.k);
        if self.histogram.last() != last {
            self.lower(limits);
        }
    }

    /// Lowers the limit to the upper edge of the last relevant bin.
    fn lower(&mut self, limits: &ApproxLimits<F>) {
        let mut last = F::cast_from(edge(self.histogram.last()));
        if comptime!(self.spec.periodic) {
            let root = last.sqrt() + limits.absolute();
            last = root * root;
        }
        self.limit[0] = last.max(limits.least_square()) * limits.factor();
    }

    /// Adds one of the points compared first, which may be a copy.
    fn take_first(&mut self, d2: F, limits: &ApproxLimits<F>, tree: &Tree<F>, point: &Array<F>, at: u32) {
        if d2 == F::new(0.0) {
            let (d, periodic) = comptime!((self.spec.d, self.spec.periodic));
            let exact = exact_distance2::<F>(&tree.axes, at, tree.stored, point, &tree.exact_sides, d, periodic);
            self.copies[0] = self.copies[0] + u32::cast_from(exact == f64::new(0.0));
        }
        self.take(d2, limits);
    }

    /// Ends the search if there are at least `k` copies.
    fn end_at_copies(&mut self) {
        if self.copies[0] >= self.k {
            self.limit[0] = F::new(-1.0);
        }
    }

    /// Adds the packet's points.
    fn take_packet(&mut self, packet: &Packet<F>, point: &Array<F>, tree: &Tree<F>, limits: &ApproxLimits<F>) {
        let limit = self.limit[0];
        let (near, _) = packet.compare(point, limit, limit, &tree.sides);
        let mut left = Bits::new(near);
        while left.any() {
            self.take(packet.distance2(left.pop(), point, &tree.sides), limits);
        }
    }

    /// Adds the points around a warp to the coarse or the fine histogram.
    fn take_around(
        &mut self,
        packet: &mut Packet<F>,
        point: &Array<F>,
        tree: &Tree<F>,
        limits: &ApproxLimits<F>,
        begin: u32,
        behind: u32,
        #[comptime] coarse: bool,
    ) {
        let mut first = begin + 0;
        while first < behind {
            packet.enqueue_all(tree, first, min(behind - first, WIDTH));
            let (all, _) = packet.compare(point, limits.infinity(), limits.infinity(), &tree.sides);
            let mut left = Bits::new(all);
            while left.any() {
                let bit = left.pop();
                let d2 = packet.distance2(bit, point, &tree.sides);
                if comptime!(coarse) {
                    self.take_coarsely(d2);
                } else {
                    self.take_first(d2, limits, tree, point, packet.position(bit));
                }
            }
            packet.advance();
            first += WIDTH;
        }
    }
}

/// Finds the bounds of each point. If only some groups of 32 points are searched for, `heavy` has their number, followed by
/// the groups.
#[cube(launch_unchecked)]
pub(super) fn bracket<F: Float>(
    tree: &Tree<F>,
    limits: &Limits,
    approx: &ApproxLimits<F>,
    found: &mut Brackets<F>,
    heavy: &Array<u32>,
    end: u32,
    k: u32,
    #[comptime] spec: BracketSpec,
) {
    if comptime!(spec.only_heavy) {
        let warps = CUBE_COUNT as u32 * (CUBE_DIM / WIDTH);
        let mut at = ABSOLUTE_POS as u32 / WIDTH;
        while at < heavy[0] {
            let unit = heavy[at as usize + 1] * WIDTH + UNIT_POS % WIDTH;
            bracket_one::<F>(tree, limits, approx, found, unit, end, k, spec);
            sync_warp(comptime!(spec.warp));
            at += warps;
        }
    } else {
        bracket_one::<F>(tree, limits, approx, found, ABSOLUTE_POS as u32, end, k, spec);
    }
}

/// Finds the bounds of the point of a thread, or takes part in the votes of its warp.
#[cube]
fn bracket_one<F: Float>(
    tree: &Tree<F>,
    limits: &Limits,
    approx: &ApproxLimits<F>,
    found: &mut Brackets<F>,
    unit: u32,
    end: u32,
    k: u32,
    #[comptime] spec: BracketSpec,
) {
    let n = tree.stored;
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let point = point_at::<F>(&tree.axes, query, n, comptime!(spec.d));
    let mut search = BracketSearch::<F> {
        histogram: Histogram::new(comptime!(spec.warp.units(BLOCK_THREADS))),
        limit: Array::<F>::new(1usize),
        copies: Array::<u32>::new(1usize),
        query,
        k,
        spec,
    };
    search.limit[0] = approx.infinity();
    search.copies[0] = 0;
    search.histogram.begin(0u32.runtime());
    let begin = min(max(query / WIDTH * WIDTH, BEFORE) - BEFORE, max(n, NEARBY) - NEARBY);
    let behind = min(begin + NEARBY, n);
    if comptime!(spec.warp.is_some()) {
        walk_warp::<F>(&mut search, tree, approx, &point, begin, behind, end);
    } else if unit < n {
        walk_thread::<F>(&mut search, tree, approx, &point, begin, behind, end);
    }
    if unit < n {
        write::<F>(&search, limits, found);
    }
}

/// Searches for the points of a warp at once.
#[cube]
fn walk_warp<F: Float>(
    search: &mut BracketSearch<F>,
    tree: &Tree<F>,
    approx: &ApproxLimits<F>,
    point: &Array<F>,
    begin: u32,
    behind: u32,
    end: u32,
) {
    let (d, periodic, warp) = comptime!((search.spec.d, search.spec.periodic, search.spec.warp));
    let mut packet = new_packet::<F>(point, d, periodic, comptime!(warp.units(BLOCK_THREADS)), warp);
    search.take_around(&mut packet, point, tree, approx, begin, behind, true);
    search.place_bins();
    search.take_around(&mut packet, point, tree, approx, begin, behind, false);
    search.lower(approx);
    search.end_at_copies();
    packet.exclude(begin, behind);
    let mut widest = warp_max::<F>(search.limit[0], warp);
    let mut at = 0u32.runtime();
    let windows = windows::<F>(end, F::new(-1.0), false, warp);
    while at < end {
        if windows.are_ineffective() {
            let corners = corners::<F>(&tree.bounds, at, d);
            let near = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= search.limit[0];
            windows.test_node(tree, at, near, false);
        } else {
            windows.test_window(tree, &packet, at, widest, MIXED.runtime());
        }
        let mut leaves = Bits::new(windows.stops());
        while leaves.any() {
            let node = at + leaves.pop();
            let any = windows.takes(tree, &packet, node, point, search.limit[0], true.runtime());
            if warp_any(any, warp) {
                let want =
                    LeafRequest { any, is_uniform: false.runtime(), own: search.query, half: false, uniform: false };
                let first = tree.links[node as usize][1];
                packet.enqueue_near(tree, first, tree.links[(node + 1) as usize][1], widest, want);
                if packet.is_full() {
                    search.take_packet(&packet, point, tree, approx);
                    packet.advance();
                    widest = warp_max::<F>(search.limit[0], warp);
                }
            }
        }
        at = windows.next();
    }
    search.take_packet(&packet, point, tree, approx);
}

/// Searches for one point.
#[cube]
fn walk_thread<F: Float>(
    search: &mut BracketSearch<F>,
    tree: &Tree<F>,
    approx: &ApproxLimits<F>,
    point: &Array<F>,
    begin: u32,
    behind: u32,
    end: u32,
) {
    let (d, periodic) = comptime!((search.spec.d, search.spec.periodic));
    let n = tree.stored;
    for other in begin..behind {
        search.take_coarsely(distance2::<F>(&tree.axes, other, n, point, &tree.sides, d, periodic));
    }
    search.place_bins();
    for other in begin..behind {
        let d2 = distance2::<F>(&tree.axes, other, n, point, &tree.sides, d, periodic);
        search.take_first(d2, approx, tree, point, other);
    }
    search.lower(approx);
    search.end_at_copies();
    let mut walk = RopeWalk::new(0u32.runtime(), end);
    while walk.goes_on() {
        let node = walk.node(&tree.links);
        let corners = corners::<F>(&tree.bounds, node.at, d);
        let near = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= search.limit[0];
        if near && node.is_leaf {
            for other in node.first..tree.links[node.rope as usize][1] {
                if other < begin || other >= behind {
                    let d2 = distance2::<F>(&tree.axes, other, n, point, &tree.sides, d, periodic);
                    if d2 <= search.limit[0] {
                        search.take(d2, approx);
                    }
                }
            }
        }
        walk.step(&node, near);
    }
}

/// Writes the bounds of a point.
#[cube]
fn write<F: Float>(search: &BracketSearch<F>, limits: &Limits, found: &mut Brackets<F>) {
    if search.limit[0] < F::new(0.0) {
        found.write_none(search.query);
    } else {
        let last = search.histogram.last();
        let low = select(search.histogram.is_first(), 0u32, min(last, INFINITE) << FINE);
        let high = u32::reinterpret(edge(last));
        let bound = f64::cast_from(search.limit[0]);
        found.write(search.query, low, high, bound, limits, comptime!(search.spec.periodic));
    }
}

#[cube]
impl<F: Float> Brackets<F> {
    /// Notes that enough points are copies of a point.
    pub fn write_none(&mut self, at: u32) {
        let (at, none) = (at as usize, f64::new(-1.0));
        self.low2[at] = none;
        self.high2[at] = none;
        self.filters[2 * at] = F::new(-1.0);
        self.filters[2 * at + 1] = F::new(-1.0);
    }

    /// Writes bounds that are given as the bits of rounded squared distances. `bound` is another upper bound, which may be
    /// finite where squared distances exceed `f32`.
    pub fn write(&mut self, at: u32, low: u32, high: u32, bound: f64, limits: &Limits, #[comptime] periodic: bool) {
        let at = at as usize;
        let low2 = limits.at_least(f64::cast_from(f32::reinterpret(low)), periodic);
        let high2 = limits.at_most(f64::cast_from(f32::reinterpret(high)).min(bound), periodic);
        self.low2[at] = low2;
        self.high2[at] = high2;
        // Its margin is larger than the error of distances, so points at the bound are beyond.
        self.filters[2 * at] = limits.sure::<F>(low2, periodic);
        self.filters[2 * at + 1] = widened::<F>(high2, limits);
    }
}
