//! Lower and upper bounds on the squared distance from each point to its k-th nearest neighbour, from the runs of points
//! near groups of 32 points.
//!
//! In: points, and upper bounds (`seeds`). The runs of points within these bounds are known (`bvh::traverse::runs`). Out:
//! [`Brackets`]. For devices with warps and many points; `bracket` serves the others, and the heavy groups.
//! Each thread counts the rounded squared distances of its point in 48 bins of shared memory, eight per factor of two below
//! the upper bound. The last relevant bin contains the k-th distance so far; points beyond it are not counted.
//! If the k-th distance is below all bins, the bounds are far apart, and `kth_distance` narrows them.
//! Cost: one sweep over the runs.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::feed::Feed;
use crate::gpu::bvh::traverse::packet::{Packet, packet_around};
use crate::gpu::bvh::traverse::query_boxes::{limits_by_box, load_boxes};
use crate::gpu::bvh::traverse::runs::{Groups, Runs, limits_of};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{exact_distance2, point_at};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::{WIDTH, warp_any};
use crate::gpu::search::nearest::bracket::{BracketSpec, Brackets, FINE, INFINITE, bits_of};
use crate::gpu::search::nearest::limits::{ApproxLimits, Limits};
use crate::gpu::search::nearest::seeds::points_around;

/// Threads per block.
pub(super) const SWEEP_THREADS: u32 = 128;

/// The number of bins. Before them is one for all smaller distances.
const BINS: u32 = 48;

/// Counts of squared distances, as bits of `f32`, which increase with the distance.
#[derive(CubeType)]
struct Bins {
    /// The count of each bin, by bin and thread.
    counts: SharedMemory<u32>,
    /// Three numbers: the lower end of the first bin, the last relevant bin, and the number of points up to it.
    state: Array<u32>,
    #[cube(comptime)]
    units: u32,
}

#[cube]
impl Bins {
    /// Creates bins up to that of a number.
    fn new(bits: u32, #[comptime] units: u32) -> Bins {
        let mut counts = SharedMemory::<u32>::new(comptime!(((BINS + 1) * units) as usize));
        for bin in 0..BINS + 1 {
            counts[(bin * units + UNIT_POS) as usize] = 0;
        }
        let mut state = Array::<u32>::new(3usize);
        state[0] = max(bits >> FINE, BINS) - BINS;
        state[1] = BINS;
        state[2] = 0;
        Bins { counts, state, units }
    }

    fn place(&self, bin: u32) -> usize {
        (bin * self.units + UNIT_POS) as usize
    }

    /// Counts the points among the first 32 of a packet that are nearer than the limit, and removes bins that are not
    /// relevant any more.
    fn take<F: Float>(&mut self, packet: &Packet<F>, point: &Array<F>, limit: F, tree: &Tree<F>, k: u32) {
        let mut left = Bits::new(packet.nearer(point, limit, &tree.sides));
        while left.any() {
            let bits = bits_of::<F>(packet.distance2(left.pop(), point, &tree.sides));
            let bin = max(bits >> FINE, self.state[0]) - self.state[0];
            if bin <= self.state[1] {
                let place = self.place(bin);
                self.counts[place] = self.counts[place] + 1;
                self.state[2] = self.state[2] + 1;
            }
        }
        let mut count = self.counts[self.place(self.state[1])];
        while self.state[2] - count >= k {
            self.state[2] = self.state[2] - count;
            self.state[1] = self.state[1] - 1;
            count = self.counts[self.place(self.state[1])];
        }
    }

    /// Returns the lower end of the last relevant bin.
    fn low(&self) -> u32 {
        select(self.state[1] == 0, 0u32, (self.state[0] + self.state[1]) << FINE)
    }

    /// Returns the upper end of the last relevant bin.
    fn high(&self) -> u32 {
        min(self.state[0] + self.state[1] + 1, INFINITE) << FINE
    }
}

/// Finds the bounds of each point. If 32 times `parts` points around the warp include enough copies of a point, these
/// decide at once; `kth_distance` finds other copies.
#[cube(launch_unchecked)]
pub(super) fn sweep_bracket<F: Float>(
    tree: &Tree<F>,
    limits: &Limits,
    approx: &ApproxLimits<F>,
    filters: &Array<F>,
    groups: &Groups<F>,
    runs: &Runs,
    found: &mut Brackets<F>,
    k: u32,
    parts: u32,
    #[comptime] spec: BracketSpec,
) {
    let (d, periodic, warp) = comptime!((spec.d, spec.periodic, spec.warp));
    let units = comptime!(warp.units(SWEEP_THREADS));
    let n = tree.stored;
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let group = query / WIDTH;
    let point = point_at::<F>(&tree.axes, query, n, d);
    let boxes = load_boxes::<F>(&groups.boxes, group, d, periodic);
    let is_in_first = boxes.is_in_first(&point);
    let mut widest = limits_of::<F>(groups, group, true);
    let mut packet = packet_around::<F>(boxes, units, warp);
    let mut limit = Array::<F>::new(1usize);
    limit[0] = filters[2 * query as usize + 1];
    let mut bins = Bins::new(bits_of::<F>(limit[0]), units);
    let mut count = 0u32.runtime();
    // Surplus warps have nothing to sweep.
    if unit / WIDTH == group {
        count = runs.count(group);
    }
    let mut feed = Feed::new(group, count, n);
    let mut goes_on = count > 0;
    while goes_on {
        goes_on = feed.fill::<F>(&mut packet, tree, runs, &widest);
        let before = limit[0];
        bins.take::<F>(&packet, &point, before, tree, k);
        limit[0] = before.min(approx.after(F::cast_from(f32::reinterpret(bins.high())), periodic));
        packet.advance();
        if warp_any(limit[0] < before, warp) {
            limits_by_box::<F>(is_in_first, limit[0], &mut widest, warp);
        }
    }
    if unit < n && !runs.is_heavy(group) {
        let mut copies = 0u32.runtime();
        if bins.low() == 0 {
            let (begin, around) = points_around(query, n, parts);
            for other in begin..begin + around {
                let exact = exact_distance2::<F>(&tree.axes, other, n, &point, &tree.exact_sides, d, periodic);
                copies += u32::cast_from(exact == f64::new(0.0));
            }
        }
        if copies >= k {
            found.write_none(query);
        } else {
            found.write(query, bins.low(), bins.high(), f64::cast_from(limit[0]), limits, periodic);
        }
    }
}
