//! Chains: the GPU version of `cluster::hop::chains`.
//!
//! In: densities in tree order, and the distance of the `n_hop` nearest points. Out: the peak that each particle
//! reaches, and the numbered chains.
//!
//! A traversal visits the points nearer than the last of the nearest, without those that are less dense than the densest
//! so far of each point of a group. If ties decide which points are the nearest,
//! `radius2` is negative, and the tied points of the lowest indices are needed. They are found as the k-th distance
//! is: by counts of indices in 32 intervals, one of which contains the last index.

#![allow(unsafe_code)] // A kernel without bounds checks; the launch contract is that of `hop`.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::pointer_jumping::find_roots;
use crate::gpu::primitives::radix_sort::{Pairs, sort};
use crate::gpu::primitives::warp::{Warp, warp_min};
use crate::gpu::search::nearest::{
    DOUBT_THREADS, Limits, LimitsLaunch, Tally, exact_limits, point_of, walk_exactly, widened,
};

/// The number of intervals of indices.
const INTERVALS: u32 = 32;

/// The chain of each position, and the positions of the peaks in the order of the chains.
pub(super) struct Chains {
    pub chain: Buffer<u32>,
    pub peaks: Buffer<u32>,
}

/// The input of chains, in tree order.
#[derive(Clone, Copy)]
pub(super) struct ChainInput<'a> {
    pub density: &'a Buffer<f64>,
    /// The squared distance of the nearest point behind the `n_hop` nearest, which include the point itself; negative
    /// if one of the nearest is equally far.
    pub radius2: &'a Buffer<f64>,
    pub n_hop: usize,
}

/// The kernel argument for [`ChainInput`].
#[derive(CubeType, CubeLaunch)]
struct ChainInputArg {
    density: Array<f64>,
    radius2: Array<f64>,
    order: Array<u32>,
    n_hop: u32,
}

#[cube]
impl ChainInputArg {
    /// Returns `true` if position `at` is denser than position `than`; of ties, the lower index counts as denser.
    fn is_denser(&self, at: u32, than: u32) -> bool {
        let (own, other) = (self.density[at as usize], self.density[than as usize]);
        let mut is_denser = own > other;
        if own == other {
            is_denser = self.order[at as usize] < self.order[than as usize];
        }
        is_denser
    }

    /// Returns `true` if ties decide which points are the nearest of a position.
    fn is_tied(&self, at: u32) -> bool {
        (u64::reinterpret(self.radius2[at as usize]) >> 63u64) == 1u64
    }
}

/// Finds the chains of the points.
pub(super) fn chains<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    chain_input: ChainInput<'_>,
) -> Result<Chains> {
    let n = bvh.len();
    number(client, bvh, chain_input.density, &find_roots(client, hops(client, bvh, nodes, chain_input), n))
}

/// The position that each position hops to.
fn hops<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    chain_input: ChainInput<'_>,
) -> Buffer<u32> {
    let (n, dim, periodic) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK), bvh.space.period().is_some());
    let ChainInput { density, radius2, n_hop } = chain_input;
    let limits = exact_limits::<_, S, D>(client, &bvh.space, f64::INFINITY);
    let (filters, within2) = (Buffer::<S>::new(client, 2 * n), Buffer::<f64>::new(client, n));
    let arg = || ChainInputArgLaunch::new(density.arg(), radius2.arg(), bvh.order.arg(), n_hop as u32);
    filter::launch::<S, R>(
        client,
        blocks_for(n),
        dim,
        radius2.arg(),
        LimitsLaunch::new(limits.arg()),
        filters.arg(),
        within2.arg(),
        n as u32,
        periodic,
    );
    let (next, tied) = (Buffer::<u32>::new(client, n), Buffer::<u32>::filled(client, n + 1, 0));
    let asked = WalkQueries { axes: bvh.axes.clone(), filters, radius2: within2, n, own_radii: true, are_stored: true };
    let output = || HopsLaunch::new(next.arg(), tied.arg());
    bvh.walk_queries::<R, HopToDensest>(client, nodes, &asked, TraversalMode::EachWarpFirst, arg, output);
    climb_tied::launch::<S, R>(
        client,
        blocks_for(n.min(DOUBT_THREADS)),
        dim,
        bvh.tree(client, nodes),
        arg(),
        LimitsLaunch::new(limits.arg()),
        tied.arg(),
        next.arg(),
        nodes.end() as u32,
        D,
        periodic,
    );
    next
}

/// Writes the thresholds of queries for the points nearer than a squared distance.
#[cube(launch)]
fn filter<F: Float>(
    radius2: &Array<f64>,
    limits: &Limits,
    filters: &mut Array<F>,
    within2: &mut Array<f64>,
    n: u32,
    #[comptime] periodic: bool,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let bits = u64::reinterpret(radius2[at]);
        if (bits >> 63u64) == 1u64 {
            within2[at] = f64::new(-1.0);
            filters[2 * at] = F::new(-1.0);
            filters[2 * at + 1] = F::new(-1.0);
        } else {
            // The preceding number. The distance is not 0, because then there would be a tie.
            let before = f64::reinterpret(bits - 1u64);
            within2[at] = before;
            filters[2 * at] = limits.sure::<F>(before, periodic);
            filters[2 * at + 1] = widened::<F>(before, limits);
        }
    }
}

/// The position that each position hops to; and the positions with ties, preceded by their number.
#[derive(CubeType, CubeLaunch)]
struct Hops {
    next: Array<u32>,
    tied: Array<Atomic<u32>>,
}

/// The densest point so far.
#[derive(CubeType)]
struct Best {
    at: RuntimeCell<u32>,
    density: RuntimeCell<f64>,
    /// `true` if other points are not searched here.
    is_tied: bool,
    /// The least density of the group's densest points, rounded as `f32`.
    least: RuntimeCell<f32>,
}

/// Finds the densest of the nearest points.
struct HopToDensest;

#[cube]
impl LeafVisitor for HopToDensest {
    type Input = ChainInputArg;
    type Output = Hops;
    type State = Best;

    fn start(chain_input: &Self::Input, _hops: &mut Self::Output, query: u32) -> Self::State {
        Best {
            at: RuntimeCell::<u32>::new(query),
            density: RuntimeCell::<f64>::new(chain_input.density[query as usize]),
            is_tied: chain_input.is_tied(query),
            least: RuntimeCell::<f32>::new(0.0),
        }
    }

    fn skips(state: &Self::State, chain_input: &Self::Input, _hops: &mut Self::Output, position: u32) -> bool {
        // Densities are in the order of their rounded values, except for ties.
        f32::cast_from(chain_input.density[position as usize]) < state.least.read()
    }

    fn after_points(
        state: &Self::State,
        _chain_input: &Self::Input,
        _hops: &mut Self::Output,
        _is_query: bool,
        #[comptime] warp: Warp,
    ) {
        let densest = f32::cast_from(state.density.read());
        state.least.store(warp_min::<f32>(select(state.is_tied, f32::new(f32::MAX), densest), warp));
    }

    fn on_hit(state: &Self::State, chain_input: &Self::Input, _hops: &mut Self::Output, position: u32) -> bool {
        let (own, best) = (chain_input.density[position as usize], state.density.read());
        let mut is_denser = own > best;
        if own == best {
            is_denser = chain_input.order[position as usize] < chain_input.order[state.at.read() as usize];
        }
        if is_denser {
            state.at.store(position);
            state.density.store(own);
        }
        false.runtime()
    }

    fn finish(state: &Self::State, _chain_input: &Self::Input, hops: &mut Self::Output, query: u32) {
        hops.next[query as usize] = state.at.read();
        if state.is_tied {
            let place = hops.tied[0].fetch_add(1) + 1;
            hops.tied[place as usize].store(query);
        }
    }
}

/// The search for the nearest points of a position with ties.
#[derive(CubeType)]
struct TiedSearch {
    own: u32,
    radius2: f64,
    /// The range of indices to divide, inclusive, of points at the tied distance. An interval has two to the power of
    /// `shift` indices.
    low: RuntimeCell<u32>,
    high: RuntimeCell<u32>,
    shift: RuntimeCell<u32>,
    /// The number of points that are nearer, or at the tied distance with an index below `low`.
    before: RuntimeCell<u32>,
    counts: Slice<u32, ReadWrite>,
    densest: RuntimeCell<u32>,
}

/// Counts the indices of points at the tied distance, by intervals.
struct CountByIndex;

#[cube]
impl Tally for CountByIndex {
    type Input = ChainInputArg;
    type State = TiedSearch;

    fn take(state: &Self::State, chain_input: &Self::Input, distance2: f64, first: u32, count: u32) {
        if distance2 < state.radius2 {
            let is_own = first <= state.own && state.own < first + count;
            state.before.store(state.before.read() + count - u32::cast_from(is_own));
        } else if distance2 == state.radius2 {
            // Copies of a point are in ascending order of index.
            for at in first..first + min(count, chain_input.n_hop + 1) {
                let index = chain_input.order[at as usize];
                if at != state.own && index <= state.high.read() {
                    if index < state.low.read() {
                        state.before.store(state.before.read() + 1);
                    } else {
                        let part = ((index - state.low.read()) >> state.shift.read()) as usize;
                        let mut counts = state.counts;
                        counts[part] = counts[part] + 1;
                    }
                }
            }
        }
    }
}

/// Finds the densest of the points that are nearer, or at the tied distance with an index up to `high`.
struct Densest;

#[cube]
impl Tally for Densest {
    type Input = ChainInputArg;
    type State = TiedSearch;

    fn take(state: &Self::State, chain_input: &Self::Input, distance2: f64, first: u32, count: u32) {
        if distance2 <= state.radius2 {
            for at in first..first + min(count, chain_input.n_hop + 1) {
                let mut is_listed = distance2 < state.radius2;
                if !is_listed {
                    is_listed = chain_input.order[at as usize] <= state.high.read();
                }
                if is_listed {
                    if chain_input.is_denser(at, state.densest.read()) {
                        state.densest.store(at);
                    }
                }
            }
        }
    }
}

/// Finds the position that each position with ties hops to.
#[cube(launch)]
fn climb_tied<F: Float>(
    tree: &Tree<F>,
    chain_input: &ChainInputArg,
    limits: &Limits,
    tied: &Array<u32>,
    next: &mut Array<u32>,
    end: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let mut place = ABSOLUTE_POS as u32 + 0;
    // With `n_hop` of 1, a point has no others to choose from.
    while place < tied[0] && chain_input.n_hop > 1 {
        let own = tied[(place + 1) as usize];
        let point = point_of::<F>(tree, own, d);
        let radius2 = chain_input.radius2[own as usize].abs();
        let limit = widened::<F>(radius2, limits);
        let mut counts = Array::<u32>::new(INTERVALS as usize);
        let state = TiedSearch {
            own,
            radius2,
            low: RuntimeCell::<u32>::new(0),
            high: RuntimeCell::<u32>::new(tree.stored - 1),
            shift: RuntimeCell::<u32>::new(0),
            before: RuntimeCell::<u32>::new(0),
            counts: counts.to_slice_mut(),
            densest: RuntimeCell::<u32>::new(own),
        };
        // The interval that contains the last of the nearest points, the number of points before it, and 1 if the loop
        // goes on.
        let mut found = Array::<u32>::new(3usize);
        found[2] = 1;
        while found[2] == 1 {
            state.shift.store(0);
            while ((state.high.read() - state.low.read()) >> state.shift.read()) >= INTERVALS {
                state.shift.store(state.shift.read() + 1);
            }
            state.before.store(0);
            for part in 0..INTERVALS {
                counts[part as usize] = 0;
            }
            walk_exactly::<F, CountByIndex>(&state, chain_input, tree, &point, limit, end, d, periodic);
            found[0] = 0;
            found[1] = state.before.read();
            // The point itself is one of the nearest.
            while found[0] + 1 < INTERVALS && found[1] + counts[found[0] as usize] + 1 < chain_input.n_hop {
                found[1] = found[1] + counts[found[0] as usize];
                found[0] = found[0] + 1;
            }
            let shift = state.shift.read();
            let low = state.low.read() + (found[0] << shift);
            state.low.store(low);
            state.high.store(low + ((1u32 << shift) - 1));
            found[2] = u32::cast_from(shift > 0);
        }
        walk_exactly::<F, Densest>(&state, chain_input, tree, &point, limit, end, d, periodic);
        next[own as usize] = state.densest.read();
        place += CUBE_COUNT as u32 * THREADS_PER_BLOCK;
    }
}

/// A key whose order is the reverse of the order of densities, as `cluster::hop::boundaries::descending_key`.
#[cube]
pub(super) fn descending_key(density: f64) -> u64 {
    let bits = u64::reinterpret(density);
    let sign = u64::cast_from(1u32.runtime()) << 63u64;
    select((bits & sign) != u64::cast_from(0u32.runtime()), bits, !(bits | sign))
}

/// Numbers chains by descending density of their peaks, ties by index.
fn number<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    density: &Buffer<f64>,
    peak: &Buffer<u32>,
) -> Result<Chains> {
    let (n, dim) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let flags = Buffer::<u32>::new(client, n + 1);
    flag_peaks::launch::<R>(client, blocks_for(n + 1), dim, peak.arg(), flags.arg(), n as u32);
    let peaks = Compact::new(client, flags)?.items(client);
    let count = peaks.len();
    let keys = Buffer::<u64>::new(client, count);
    take_indices::launch::<R>(client, blocks_for(count), dim, peaks.arg(), bvh.order.arg(), keys.arg(), count as u32);
    let peaks = sort(client, Pairs { keys, values: peaks })?.values;
    let keys = Buffer::<u64>::new(client, count);
    take_densities::launch::<R>(client, blocks_for(count), dim, peaks.arg(), density.arg(), keys.arg(), count as u32);
    let peaks = sort(client, Pairs { keys, values: peaks })?.values;
    let (ranks, chain) = (Buffer::<u32>::new(client, n), Buffer::<u32>::new(client, n));
    scatter_ranks::launch::<R>(client, blocks_for(count), dim, peaks.arg(), ranks.arg(), count as u32);
    rank_points::launch::<R>(client, blocks_for(n), dim, peak.arg(), ranks.arg(), chain.arg(), n as u32);
    Ok(Chains { chain, peaks })
}

/// Flags the peaks, followed by a 0.
#[cube(launch)]
fn flag_peaks(peak: &Array<u32>, flags: &mut Array<u32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        flags[at] = u32::cast_from(peak[at] == at as u32);
    } else if at as u32 == n {
        flags[at] = 0;
    }
}

#[cube(launch)]
fn take_indices(peaks: &Array<u32>, order: &Array<u32>, keys: &mut Array<u64>, count: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < count {
        keys[i] = u64::cast_from(order[peaks[i] as usize]);
    }
}

#[cube(launch)]
fn take_densities(peaks: &Array<u32>, density: &Array<f64>, keys: &mut Array<u64>, count: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < count {
        keys[i] = descending_key(density[peaks[i] as usize]);
    }
}

#[cube(launch)]
fn scatter_ranks(peaks: &Array<u32>, ranks: &mut Array<u32>, count: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < count {
        let at = peaks[i] as usize;
        ranks[at] = i as u32;
    }
}

#[cube(launch)]
fn rank_points(peak: &Array<u32>, ranks: &Array<u32>, chain: &mut Array<u32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        chain[at] = ranks[peak[at] as usize];
    }
}
