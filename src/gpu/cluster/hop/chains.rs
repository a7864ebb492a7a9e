//! Chains: the twin of `cluster::hop::chains`.
//!
//! In: densities in tree order, and how far the `n_hop` nearest are. Out: the peak that each particle comes to; the chains, numbered.
//! A walk visits what is nearer than the last of the nearest. Where ties decide which are the nearest (`radius2` is negative), those of the
//! lowest indices are found as the k-th distance is: by counts of indices in 32 intervals, of which one holds the last.

#![allow(unsafe_code)] // A kernel without bounds checks; the launch contract is that of `hop`.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::launch::Asked;
use crate::gpu::bvh::traverse::spec::{QueriesLaunch, TraversalMode, Tree};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::forest::find_roots;
use crate::gpu::primitives::radix_sort::{Pairs, sort};
use crate::gpu::search::nearest::{LISTED, Limits, LimitsLaunch, Tally, point_of, walk_exactly, widened};

/// Intervals of indices.
const PARTS: u32 = 32;

/// The chain of each position, and the positions of the peaks in the order of the chains.
pub(super) struct Chains {
    pub chain: Buffer<u32>,
    pub peaks: Buffer<u32>,
}

/// What chains are made of, in tree order.
#[derive(Clone, Copy)]
pub(super) struct Landscape<'a> {
    pub density: &'a Buffer<f64>,
    /// The squared distance to the nearest one behind the `n_hop` nearest, itself counted; negative if one of these is as far.
    pub radius2: &'a Buffer<f64>,
    pub n_hop: usize,
}

/// [`Landscape`] in kernels.
#[derive(CubeType, CubeLaunch)]
struct LandscapeArg {
    density: Array<f64>,
    radius2: Array<f64>,
    order: Array<u32>,
    n_hop: u32,
}

#[cube]
impl LandscapeArg {
    /// Whether one position is denser than another: of equal ones, that of the lower index.
    fn is_denser(&self, at: u32, than: u32) -> bool {
        let (own, other) = (self.density[at as usize], self.density[than as usize]);
        let mut is_denser = own > other;
        if own == other {
            is_denser = self.order[at as usize] < self.order[than as usize];
        }
        is_denser
    }

    /// Whether ties decide which are the nearest of a position.
    fn is_tied(&self, at: u32) -> bool {
        (u64::reinterpret(self.radius2[at as usize]) >> 63u64) == 1u64
    }
}

/// The chains of the points.
pub(super) fn chains<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    landscape: Landscape<'_>,
) -> Result<Chains> {
    let n = bvh.len();
    number(client, bvh, landscape.density, &find_roots(client, hops(client, bvh, nodes, landscape), n))
}

/// Where each position hops.
fn hops<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    landscape: Landscape<'_>,
) -> Buffer<u32> {
    let (n, dim, periodic) = (bvh.len(), CubeDim::new_1d(UNITS), bvh.space.period().is_some());
    let Landscape { density, radius2, n_hop } = landscape;
    let limits = bvh.limits(client, f64::INFINITY);
    let (filters, within2) = (Buffer::<S>::new(client, 2 * n), Buffer::<f64>::new(client, n));
    let arg = || LandscapeArgLaunch::new(density.arg(), radius2.arg(), bvh.order.arg(), n_hop as u32);
    filter::launch::<S, R>(
        client,
        cubes(n),
        dim,
        radius2.arg(),
        LimitsLaunch::new(limits.arg()),
        filters.arg(),
        within2.arg(),
        n as u32,
        periodic,
    );
    let queries = QueriesLaunch::new(bvh.axes.arg(), filters.arg(), within2.arg());
    let (next, tied) = (Buffer::<u32>::new(client, n), Buffer::<u32>::filled(client, n + 1, 0));
    let asked = Asked { queries, n, own_radii: true };
    let output = HopsLaunch::new(next.arg(), tied.arg());
    bvh.walk_queries::<R, Climb>(client, nodes, asked, TraversalMode::Each, arg(), output);
    climb_tied::launch::<S, R>(
        client,
        cubes(n.min(LISTED)),
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

/// What is nearer than a squared distance, as queries have it.
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
            // The number before it. It is not 0, for then there would be a tie.
            let before = f64::reinterpret(bits - 1u64);
            within2[at] = before;
            filters[2 * at] = limits.sure::<F>(before, periodic);
            filters[2 * at + 1] = widened::<F>(before, limits);
        }
    }
}

/// Where positions hop; and the positions with ties, counted by the first number.
#[derive(CubeType, CubeLaunch)]
struct Hops {
    next: Array<u32>,
    tied: Array<Atomic<u32>>,
}

/// The densest so far.
#[derive(CubeType)]
struct Best {
    at: RuntimeCell<u32>,
    density: RuntimeCell<f64>,
}

/// Keeps the densest.
struct Climb;

#[cube]
impl LeafVisitor for Climb {
    type Input = LandscapeArg;
    type Output = Hops;
    type State = Best;

    fn start(landscape: &Self::Input, _hops: &mut Self::Output, query: u32) -> Self::State {
        Best { at: RuntimeCell::<u32>::new(query), density: RuntimeCell::<f64>::new(landscape.density[query as usize]) }
    }

    fn on_hit(state: &Self::State, landscape: &Self::Input, _hops: &mut Self::Output, position: u32) -> bool {
        let (own, best) = (landscape.density[position as usize], state.density.read());
        let mut is_denser = own > best;
        if own == best {
            is_denser = landscape.order[position as usize] < landscape.order[state.at.read() as usize];
        }
        if is_denser {
            state.at.store(position);
            state.density.store(own);
        }
        false.runtime()
    }

    fn finish(state: &Self::State, landscape: &Self::Input, hops: &mut Self::Output, query: u32) {
        hops.next[query as usize] = state.at.read();
        if landscape.is_tied(query) {
            let place = hops.tied[0].fetch_add(1) + 1;
            hops.tied[place as usize].store(query);
        }
    }
}

/// The search for the nearest of a position where there are ties.
#[derive(CubeType)]
struct TiedSearch {
    own: u32,
    radius2: f64,
    /// Indices of points that are as far: from the first to the last. An interval has two to the power of `shift`.
    low: RuntimeCell<u32>,
    high: RuntimeCell<u32>,
    shift: RuntimeCell<u32>,
    /// How many are nearer, or as far and of a lower index.
    before: RuntimeCell<u32>,
    counts: Slice<u32, ReadWrite>,
    densest: RuntimeCell<u32>,
}

/// Counts the indices of points that are as far, by intervals.
struct CountByIndex;

#[cube]
impl Tally for CountByIndex {
    type Input = LandscapeArg;
    type State = TiedSearch;

    fn take(state: &Self::State, landscape: &Self::Input, distance2: f64, first: u32, count: u32) {
        if distance2 < state.radius2 {
            let is_own = first <= state.own && state.own < first + count;
            state.before.store(state.before.read() + count - u32::cast_from(is_own));
        } else if distance2 == state.radius2 {
            // Of copies the first have the lowest indices.
            for at in first..first + min(count, landscape.n_hop + 1) {
                let index = landscape.order[at as usize];
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

/// Keeps the densest of those that are nearer, or as far and of an index that is low enough.
struct Densest;

#[cube]
impl Tally for Densest {
    type Input = LandscapeArg;
    type State = TiedSearch;

    fn take(state: &Self::State, landscape: &Self::Input, distance2: f64, first: u32, count: u32) {
        if distance2 <= state.radius2 {
            for at in first..first + min(count, landscape.n_hop + 1) {
                let mut is_listed = distance2 < state.radius2;
                if !is_listed {
                    is_listed = landscape.order[at as usize] <= state.high.read();
                }
                if is_listed {
                    if landscape.is_denser(at, state.densest.read()) {
                        state.densest.store(at);
                    }
                }
            }
        }
    }
}

/// Finds where the positions with ties hop.
#[cube(launch)]
fn climb_tied<F: Float>(
    tree: &Tree<F>,
    landscape: &LandscapeArg,
    limits: &Limits,
    tied: &Array<u32>,
    next: &mut Array<u32>,
    end: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let mut place = ABSOLUTE_POS as u32 + 0;
    // Alone, a point has no others to look among.
    while place < tied[0] && landscape.n_hop > 1 {
        let own = tied[(place + 1) as usize];
        let point = point_of::<F>(tree, own, d);
        let radius2 = landscape.radius2[own as usize].abs();
        let limit = widened::<F>(radius2, limits);
        let mut counts = Array::<u32>::new(PARTS as usize);
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
        // The interval of the last of the nearest, how many are before it, and whether to go on.
        let mut found = Array::<u32>::new(3usize);
        found[2] = 1;
        while found[2] == 1 {
            state.shift.store(0);
            while ((state.high.read() - state.low.read()) >> state.shift.read()) >= PARTS {
                state.shift.store(state.shift.read() + 1);
            }
            state.before.store(0);
            for part in 0..PARTS {
                counts[part as usize] = 0;
            }
            walk_exactly::<F, CountByIndex>(&state, landscape, tree, &point, limit, end, d, periodic);
            found[0] = 0;
            found[1] = state.before.read();
            // Itself is one of the nearest.
            while found[0] + 1 < PARTS && found[1] + counts[found[0] as usize] + 1 < landscape.n_hop {
                found[1] = found[1] + counts[found[0] as usize];
                found[0] = found[0] + 1;
            }
            let shift = state.shift.read();
            let low = state.low.read() + (found[0] << shift);
            state.low.store(low);
            state.high.store(low + ((1u32 << shift) - 1));
            found[2] = u32::cast_from(shift > 0);
        }
        walk_exactly::<F, Densest>(&state, landscape, tree, &point, limit, end, d, periodic);
        next[own as usize] = state.densest.read();
        place += CUBE_COUNT as u32 * UNITS;
    }
}

/// Numbers that are ordered against the order of densities, as `cluster::hop::boundaries::falling`.
#[cube]
pub(super) fn falling(density: f64) -> u64 {
    let bits = u64::reinterpret(density);
    let sign = u64::cast_from(1u32.runtime()) << 63u64;
    select((bits & sign) != u64::cast_from(0u32.runtime()), bits, !(bits | sign))
}

/// Numbers chains by the density of their peaks, the densest first, ties by index.
fn number<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    density: &Buffer<f64>,
    peak: &Buffer<u32>,
) -> Result<Chains> {
    let (n, dim) = (bvh.len(), CubeDim::new_1d(UNITS));
    let flags = Buffer::<u32>::new(client, n + 1);
    flag_peaks::launch::<R>(client, cubes(n + 1), dim, peak.arg(), flags.arg(), n as u32);
    let peaks = Compact::new(client, flags)?.items(client);
    let count = peaks.len();
    let keys = Buffer::<u64>::new(client, count);
    take_indices::launch::<R>(client, cubes(count), dim, peaks.arg(), bvh.order.arg(), keys.arg(), count as u32);
    let peaks = sort(client, Pairs { keys, values: peaks })?.values;
    let keys = Buffer::<u64>::new(client, count);
    take_densities::launch::<R>(client, cubes(count), dim, peaks.arg(), density.arg(), keys.arg(), count as u32);
    let peaks = sort(client, Pairs { keys, values: peaks })?.values;
    let (ranks, chain) = (Buffer::<u32>::new(client, n), Buffer::<u32>::new(client, n));
    scatter_ranks::launch::<R>(client, cubes(count), dim, peaks.arg(), ranks.arg(), count as u32);
    rank_points::launch::<R>(client, cubes(n), dim, peak.arg(), ranks.arg(), chain.arg(), n as u32);
    Ok(Chains { chain, peaks })
}

/// Flags the peaks, with a 0 behind.
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
        keys[i] = falling(density[peaks[i] as usize]);
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
