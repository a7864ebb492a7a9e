//! The distance from each stored point to its k-th nearest neighbour: the GPU counterpart of
//! `search::nearest::kth_distance`.
//!
//! In: a tree, and `k`. Out: squared distances in tree order.
//! First `sweep_bracket` or `bracket` computes bounds. Then points below the lower bound are counted. The squared
//! distances between the bounds, usually a handful, are computed in `f64` and kept, and the k-th is found among them. If
//! there are too many, as in lattices, the bounds are narrowed. Each further walk counts squared distances in 32 intervals
//! between the bounds, and continues in the one that contains the k-th.
//! Cost: two walks to some 2k points each; some 45 bytes per point while it runs (56 for `f64`).

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::launch::{HEAVY_THREADS, takes_runs};
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::metric::exact_distance2;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::DOUBT_THREADS;
use crate::gpu::search::nearest::arguments::{KnnSpec, QueriesLaunch, SearchLaunch};
use crate::gpu::search::nearest::bracket::{BLOCK_THREADS, BracketSpec, BracketsLaunch, bracket};
use crate::gpu::search::nearest::exact_search::widened;
use crate::gpu::search::nearest::exact_walk::{Tally, point_of, walk_exactly};
use crate::gpu::search::nearest::limits::{ApproxLimitsLaunch, Limits, LimitsLaunch};
use crate::gpu::search::nearest::seeds::{parts, seeds};
use crate::gpu::search::nearest::sweep_bracket::{SWEEP_THREADS, sweep_bracket};

/// The largest `k`, which is less than the numbers of points that `bracket` and `seeds` compare first.
pub(in crate::gpu) const MAX_KTH: usize = 129;
/// The maximum number of squared distances between the bounds that are kept.
const MAX_KEPT: usize = 32;
/// The number of intervals between bounds.
const INTERVALS: u32 = 32;

/// Returns the squared distance from each stored point to its `k`-th nearest neighbour, counting the point itself, in
/// tree order. A value is negative (-0 for 0) if another of the `k` points is equally far, that is, if fewer than
/// `k - 1` points are nearer.
///
/// There are at least `k` points, and `k` is in 1 to [`MAX_KTH`].
pub(in crate::gpu) fn kth_distances2<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    k: usize,
) -> Buffer<f64> {
    let (n, periodic) = (bvh.len(), bvh.space.period().is_some());
    let [relative, absolute] = FilteredRadius::<S, D>::errors(&bvh.space);
    // The histogram of `bracket` distinguishes squared distances only as `f32`.
    let relative = relative + f64::from(f32::EPSILON);
    let squares = S::SAFE_SQUARES.start.max(1e-30)..S::SAFE_SQUARES.end.min(1e30);
    let limits = [f64::INFINITY, 1.0 - relative, absolute, squares.start, f64::INFINITY, squares.end];
    let limits = Buffer::from_slice(client, &limits);
    let approx =
        [f64::INFINITY, (1.0 - relative).powi(-6), 2.0 * absolute, squares.start, f64::INFINITY].map(S::from_f64);
    let approx = Buffer::from_slice(client, &approx);
    let (low2, high2) = (Buffer::<f64>::new(client, n), Buffer::<f64>::new(client, n));
    let filters = Buffer::<S>::new(client, 2 * n);
    let (end, tree) = (nodes.end() as u32, || bvh.tree(client, nodes));
    let brackets = || BracketsLaunch::new(low2.arg(), high2.arg(), filters.arg());
    find_brackets(client, bvh, nodes, k, &limits, &approx, brackets);
    let k = k as u32;
    let (radius2, doubted) = (Buffer::<f64>::new(client, n), Buffer::<u32>::filled(client, n + 1, 0));
    let asked =
        WalkQueries { axes: bvh.axes.clone(), filters, radius2: high2.clone(), n, own_radii: true, are_stored: true };
    let input = || KthBoundsLaunch::new(low2.arg(), high2.arg(), LimitsLaunch::new(limits.arg()), k);
    let found = || KthOutputLaunch::new(radius2.arg(), doubted.arg());
    bvh.walk_queries::<R, KeepClose>(client, nodes, &asked, TraversalMode::Each, input, found);
    close_in::launch::<S, R>(
        client,
        blocks_for(n.min(DOUBT_THREADS)),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        tree(),
        input(),
        doubted.arg(),
        radius2.arg(),
        end,
        D,
        periodic,
    );
    radius2
}

/// Finds bounds on the k-th distances of all points.
fn find_brackets<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    k: usize,
    limits: &Buffer<f64>,
    approx: &Buffer<S>,
    brackets: impl Fn() -> BracketsLaunch<S, R>,
) {
    let (n, warp, end) = (bvh.len(), Warp::new(client).apart(), nodes.end() as u32);
    let (tree, approx) = (|| bvh.tree(client, nodes), || ApproxLimitsLaunch::new(approx.arg()));
    let limits_arg = || LimitsLaunch::new(limits.arg());
    let spec = BracketSpec { d: D, periodic: bvh.space.period().is_some(), warp, only_heavy: false };
    let listed = takes_runs(warp, n).then(|| {
        let queries = QueriesLaunch::new(bvh.axes.arg(), bvh.order.arg(), n as u32);
        let search = SearchLaunch::new(bvh.order.arg(), queries, limits_arg(), end, u32::MAX);
        let knn_spec = KnnSpec::of_stored(warp, D, spec.periodic, k);
        let filters = seeds::<S, R>(client, tree(), search, approx(), n, S::from_f64(f64::INFINITY), knn_spec);
        // The radii decide nothing here.
        let radius2 = limits.clone();
        let asked = WalkQueries { axes: bvh.axes.clone(), filters, radius2, n, own_radii: true, are_stored: true };
        let listed = bvh.runs_near(client, nodes, &asked, TraversalMode::Nearest);
        let (blocks, dim) = warp.blocks(n, SWEEP_THREADS);
        // SAFETY: the launch contract of `nearest`. Runs are within the points of the tree, and there are a bracket and
        // two filters for each of the `n` points.
        unsafe {
            sweep_bracket::launch_unchecked::<S, R>(
                client,
                blocks,
                dim,
                tree(),
                limits_arg(),
                approx(),
                asked.filters.arg(),
                listed.groups(),
                listed.runs(),
                brackets(),
                k as u32,
                parts(k),
                spec,
            );
        }
        listed
    });
    let threads = if listed.is_some() { n.min(HEAVY_THREADS) } else { n };
    let (blocks, dim) = warp.blocks(threads, BLOCK_THREADS);
    // SAFETY: the launch contract of `nearest`. There is a bracket for each of the `n` points. Heavy groups are groups of
    // these; without runs, their list is not read.
    unsafe {
        bracket::launch_unchecked::<S, R>(
            client,
            blocks,
            dim,
            tree(),
            limits_arg(),
            approx(),
            brackets(),
            listed.as_ref().map_or(&bvh.order, |listed| &listed.heavy).arg(),
            end,
            k as u32,
            BracketSpec { only_heavy: listed.is_some(), ..spec },
        );
    }
}

/// Bounds on the squared distance of the k-th nearest neighbour.
#[derive(CubeType, CubeLaunch)]
struct KthBounds {
    low2: Array<f64>,
    high2: Array<f64>,
    limits: Limits,
    k: u32,
}

/// The resulting squared distances; and the positions in doubt, after their count.
#[derive(CubeType, CubeLaunch)]
struct KthOutput {
    radius2: Array<f64>,
    doubted: Array<Atomic<u32>>,
}

/// The kept squared distances of a point.
#[derive(CubeType)]
struct Close {
    low2: f64,
    high2: f64,
    below: RuntimeCell<u32>,
    count: RuntimeCell<u32>,
    kept: Slice<f64, ReadWrite>,
}

/// Keeps the squared distances between the bounds, and counts those below.
struct KeepClose;

#[cube]
impl LeafVisitor for KeepClose {
    const HAS_INNER: bool = true;
    type Input = KthBounds;
    type Output = KthOutput;
    type State = Close;

    fn start(bounds: &Self::Input, _found: &mut Self::Output, query: u32) -> Self::State {
        let mut kept = Array::<f64>::new(MAX_KEPT);
        Close {
            low2: bounds.low2[query as usize],
            high2: bounds.high2[query as usize],
            below: RuntimeCell::<u32>::new(0),
            count: RuntimeCell::<u32>::new(0),
            kept: kept.to_slice_mut(),
        }
    }

    fn on_inner(state: &Self::State, points: u32) {
        state.below.store(state.below.read() + points);
    }

    fn on_hits<F: Float>(
        state: &Self::State,
        _bounds: &Self::Input,
        _found: &mut Self::Output,
        tree: &Tree<F>,
        point: &Array<F>,
        hits: &Hits,
        #[comptime] spec: WalkSpec,
    ) {
        let (d, periodic) = comptime!((spec.d, spec.periodic));
        let mut left = Bits::new(hits.bits);
        while left.any() {
            let at = hits.position(left.pop());
            let exact = exact_distance2::<F>(&tree.axes, at, tree.stored, point, &tree.exact_sides, d, periodic);
            if exact < state.low2 {
                state.below.store(state.below.read() + 1);
            } else if exact <= state.high2 {
                let count = state.count.read();
                if count < comptime!(MAX_KEPT as u32) {
                    let mut kept = state.kept;
                    kept[count as usize] = exact;
                }
                state.count.store(count + 1);
            }
        }
    }

    fn finish(state: &Self::State, bounds: &Self::Input, found: &mut Self::Output, query: u32) {
        let (count, below) = (state.count.read(), state.below.read());
        if state.high2 < f64::new(0.0) {
            found.radius2[query as usize] = signed(f64::cast_from(0u32.runtime()), bounds.k > 1);
        } else if count <= comptime!(MAX_KEPT as u32) && below < bounds.k && bounds.k <= below + count {
            let wanted = bounds.k - below;
            for i in 0..count {
                let own = state.kept[i as usize];
                let mut nearer = Array::<u32>::new(2usize);
                nearer[0] = 0;
                nearer[1] = 0;
                for j in 0..count {
                    let other = state.kept[j as usize];
                    nearer[0] = nearer[0] + u32::cast_from(other < own);
                    nearer[1] = nearer[1] + u32::cast_from(other <= own);
                }
                if nearer[0] < wanted && wanted <= nearer[1] {
                    found.radius2[query as usize] = signed(own, below + nearer[0] + 1 < bounds.k);
                }
            }
        } else {
            let place = found.doubted[0].fetch_add(1) + 1;
            found.doubted[place as usize].store(query);
        }
    }
}

/// Returns a nonnegative number, with the sign bit set if `is_negative`.
#[cube]
fn signed(number: f64, is_negative: bool) -> f64 {
    let sign = u64::cast_from(select(is_negative, 1u32, 0u32)) << 63u64;
    f64::reinterpret(u64::reinterpret(number) | sign)
}

/// Counts in the intervals between the bounds.
#[derive(CubeType)]
struct Interval {
    /// The bounds as bits.
    low: RuntimeCell<u64>,
    high: RuntimeCell<u64>,
    /// The base-2 logarithm of the number of bit patterns per interval.
    shift: RuntimeCell<u64>,
    below: RuntimeCell<u32>,
    counts: Slice<u32, ReadWrite>,
}

/// Counts squared distances by interval.
struct CountByInterval;

#[cube]
impl Tally for CountByInterval {
    type Input = KthBounds;
    type State = Interval;

    fn take(state: &Self::State, _bounds: &Self::Input, distance2: f64, _first: u32, count: u32) {
        let bits = u64::reinterpret(distance2);
        if bits < state.low.read() {
            state.below.store(state.below.read() + count);
        } else if bits <= state.high.read() {
            let part = u32::cast_from((bits - state.low.read()) >> state.shift.read()) as usize;
            let mut counts = state.counts;
            counts[part] = counts[part] + count;
        }
    }
}

/// Finds the k-th squared distance of the positions in doubt.
#[cube(launch)]
fn close_in<F: Float>(
    tree: &Tree<F>,
    bounds: &KthBounds,
    doubted: &Array<u32>,
    radius2: &mut Array<f64>,
    end: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let mut place = ABSOLUTE_POS as u32 + 0;
    while place < doubted[0] {
        let at = doubted[(place + 1) as usize];
        let point = point_of::<F>(tree, at, d);
        let mut counts = Array::<u32>::new(INTERVALS as usize);
        let state = Interval {
            low: RuntimeCell::<u64>::new(u64::reinterpret(bounds.low2[at as usize])),
            high: RuntimeCell::<u64>::new(u64::reinterpret(bounds.high2[at as usize])),
            shift: RuntimeCell::<u64>::new(u64::cast_from(0u32.runtime())),
            below: RuntimeCell::<u32>::new(0),
            counts: counts.to_slice_mut(),
        };
        let limit = widened::<F>(bounds.high2[at as usize], &bounds.limits);
        // The interval of the k-th distance, the number of distances before it, and 1 if another walk is needed.
        let mut found = Array::<u32>::new(3usize);
        found[2] = 1;
        while found[2] == 1 {
            state.shift.store(u64::cast_from(0u32.runtime()));
            while ((state.high.read() - state.low.read()) >> state.shift.read()) >= u64::cast_from(INTERVALS) {
                state.shift.store(state.shift.read() + 1u64);
            }
            state.below.store(0);
            for part in 0..INTERVALS {
                counts[part as usize] = 0;
            }
            walk_exactly::<F, CountByInterval>(&state, bounds, tree, &point, limit, end, d, periodic);
            found[0] = 0;
            found[1] = state.below.read();
            while found[0] + 1 < INTERVALS && found[1] + counts[found[0] as usize] < bounds.k {
                found[1] = found[1] + counts[found[0] as usize];
                found[0] = found[0] + 1;
            }
            let shift = state.shift.read();
            let low = state.low.read() + (u64::cast_from(found[0]) << shift);
            state.low.store(low);
            state.high.store(low + ((u64::cast_from(1u32.runtime()) << shift) - 1u64));
            found[2] = u32::cast_from(shift > 0u64);
        }
        radius2[at as usize] = signed(f64::reinterpret(state.low.read()), found[1] + 1 < bounds.k);
        place += CUBE_COUNT as u32 * THREADS_PER_BLOCK;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Space;
    use crate::gpu::Device;
    use crate::gpu::device::on;

    fn compare<S: Coordinate, const D: usize>(points: &[[f64; D]], side: f64) {
        let device = Device::first().unwrap();
        for exponent in [0, -70, 50] {
            let unit = 2f64.powi(exponent);
            let points: Vec<[S; D]> = points.iter().map(|point| point.map(|x| S::from_f64(unit * x))).collect();
            for side in [None, Some(unit * side)] {
                let theirs = crate::Bvh::build_in(&points, Space::periodic(side).unwrap()).unwrap();
                let ours = Bvh::upload(&theirs, device).unwrap();
                for k in [1, 2, 5, 65, MAX_KTH, points.len()] {
                    let k = k.min(MAX_KTH).min(points.len());
                    let found = on!(device, client => {
                        kth_distances2(client, &ours, ours.nodes.as_ref().unwrap(), k).read(client)
                    });
                    let bits = |all: Vec<f64>| all.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                    let expected = crate::search::nearest::kth_distances2(&theirs, k);
                    assert!(bits(found.unwrap()) == bits(expected), "{D} dimensions, 2^{exponent}, {side:?}, k = {k}");
                }
            }
        }
    }

    #[test]
    fn as_on_the_cpu() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        let uniform: Vec<[f64; 3]> = (0..300).map(|_| std::array::from_fn(|_| random())).collect();
        compare::<f32, 3>(&uniform, 1.0);
        compare::<f64, 3>(&uniform, 1.0);
        compare::<f32, 3>(&uniform[..100], 1.0);
        compare::<f32, 3>(&uniform[..1], 1.0);
        let clumps: Vec<[f64; 2]> =
            (0..260).map(|i| std::array::from_fn(|_| 1.0 + 1e-3f64.powi(i % 4) * random())).collect();
        compare::<f32, 2>(&clumps, 2.5);
        compare::<f64, 2>(&clumps, 2.5);
        let lattice: Vec<[f64; 3]> = (0..216).map(|i| [i / 36, i / 6 % 6, i % 6].map(f64::from)).collect();
        compare::<f32, 3>(&lattice, 6.0);
        let copies: Vec<[f64; 3]> = (0..260).map(|i| [f64::from(i % 3).sqrt(); 3]).collect();
        compare::<f32, 3>(&copies, 4.0);
        compare::<f64, 3>(&copies, 4.0);
        compare::<f32, 3>(&vec![[0.5; 3]; 200], 1.0);
    }
}
