//! Detection of core points by the weights of their neighbours: the GPU version of the weighted part of
//! `cluster::dbscan::core`.
//!
//! In: a weight for each point. Out: marks as in `find_core`.
//!
//! The CPU defines the sum of weights at a point. Sums are in `f64`: first the point's own leaf, then leaf after leaf,
//! each leaf summed separately before it is added. A leaf of copies of the point before it takes that point's sum.
//!
//! A traversal here sums in another order, with nodes within `eps` as a whole, until the result is certain. Sums of m
//! numbers in two orders differ by at most 2 (m - 1) roundings, a relative difference of m 2^-52. A sum that is so
//! close to `min_samples` is repeated in the CPU's order. Whole numbers are added exactly, so no sum is ambiguous.
//!
//! Cost: a traversal as for counts; 28 bytes per point, and 8 per node.
//!
//! **Launch contract.** The traversal has that of `bvh::traverse`. The other kernels compare their position with a
//! given number, and index points by the links of a valid tree.

use cubecl::prelude::*;

use crate::bvh::{DEPTH, LEAF};
use crate::error::Result;
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::reduce::sum_below;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{Queries, TraversalMode, Tree};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::connect::is_clique;
use crate::gpu::cluster::dbscan::core::ALONE;
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2};
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::scan::last;
use crate::gpu::search::nearest::point_of;

/// The mark of each point in tree order: 1 if it is core, [`ALONE`] if it has no neighbours, otherwise 0.
pub(super) fn find_core<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    weights: &[f64],
    min_samples: usize,
    dense: bool,
) -> Result<Buffer<u32>> {
    let (n, end, dim) = (bvh.len(), nodes.end(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let total: f64 = weights.iter().sum();
    let is_rounded = total > 2f64.powi(52) || weights.iter().any(|weight| weight.fract() != 0.0);
    // The slack of the CPU, and as much again for the order of additions here.
    let slack = if is_rounded { 2.0 * (n + LEAF + DEPTH) as f64 * f64::EPSILON } else { 0.0 };
    let enough = min_samples as f64;
    let limits = Buffer::from_slice(client, &[enough, enough * (1.0 + 2.0 * slack), enough * (1.0 - 2.0 * slack)]);
    let weights = gather(client, &Buffer::from_slice(client, weights), &bvh.order, 1, Layout::Rows);
    let node_weights = sum_below(client, nodes, &weights);
    let filter = FilteredRadius::<S, D>::new(eps, &bvh.space);
    let (core, doubted) = (Buffer::<u32>::filled(client, n, 0), Buffer::<u32>::filled(client, n + 1, 0));
    let input = || WeightsLaunch::new(weights.arg(), node_weights.arg(), limits.arg(), n as u32);
    mark_dense::launch::<S, R>(
        client,
        blocks_for(end),
        dim,
        nodes.bounds.arg(),
        nodes.links.arg(),
        input(),
        Buffer::from_slice(client, &[if dense { filter.certain_limit } else { S::from_f64(-1.0) }]).arg(),
        core.arg(),
        end as u32,
        D,
    );
    let output = || WeightedCoreOutputLaunch::new(core.arg(), doubted.arg());
    bvh.walk::<R, SumWeights>(client, nodes, eps, TraversalMode::Whole, input, output);
    let doubts = if is_rounded { last(client, &doubted)? } else { 0 };
    if doubts > 0 {
        let flags = Buffer::<u32>::filled(client, n + 1, 0);
        let links = (nodes.bounds.arg(), nodes.links.arg());
        flag_first::launch::<S, R>(
            client,
            blocks_for(end),
            dim,
            links.0,
            links.1,
            bvh.axes.arg(),
            flags.arg(),
            end as u32,
            n as u32,
            D,
        );
        let firsts = Compact::new(client, flags)?;
        let decisive = firsts.items(client);
        let places = || PlacesLaunch::new(doubted.arg(), doubts as u32, firsts.ranks.arg(), decisive.arg());
        let asked = bvh.balls_about_stored(client, eps);
        let periodic = bvh.space.period().is_some();
        let queries = asked.arg();
        sum_in_order::launch::<S, R>(
            client,
            blocks_for(doubts),
            dim,
            bvh.tree(client, nodes),
            queries,
            input(),
            places(),
            core.arg(),
            end as u32,
            D,
            periodic,
        );
        mark_copies::launch::<R>(client, blocks_for(doubts), dim, places(), core.arg());
    }
    Ok(core)
}

/// The weights of points and of nodes, and three limits. The first limit is the threshold in the CPU's order of
/// additions. In another order, sums from the second limit on are certainly enough, and sums below the third are
/// certainly not.
#[derive(CubeType, CubeLaunch)]
struct Weights {
    of_points: Array<f64>,
    of_nodes: Array<f64>,
    limits: Array<f64>,
    n: u32,
}

/// The marks; and the ambiguous positions, whose number is at index `n`.
#[derive(CubeType, CubeLaunch)]
struct WeightedCoreOutput {
    core: Array<u32>,
    doubted: Array<Atomic<u32>>,
}

/// The weight and the number of the points near a query.
#[derive(CubeType)]
struct NeighborWeight {
    weight: RuntimeCell<f64>,
    count: RuntimeCell<u32>,
}

/// Adds the weights of neighbours until they are certainly enough.
struct SumWeights;

#[cube]
impl LeafVisitor for SumWeights {
    type Input = Weights;
    type Output = WeightedCoreOutput;
    type State = NeighborWeight;

    fn start(weights: &Self::Input, found: &mut Self::Output, query: u32) -> Self::State {
        // Marked points have enough weight.
        let is_core = found.core[query as usize] == 1;
        let weight = select(is_core, weights.limits[1], f64::cast_from(0u32.runtime()));
        NeighborWeight { weight: RuntimeCell::<f64>::new(weight), count: RuntimeCell::<u32>::new(0) }
    }

    fn is_open(state: &Self::State, weights: &Self::Input) -> bool {
        state.weight.read() < weights.limits[1]
    }

    fn on_hit(state: &Self::State, weights: &Self::Input, _found: &mut Self::Output, position: u32) -> bool {
        state.weight.store(state.weight.read() + weights.of_points[position as usize]);
        state.count.store(state.count.read() + 1);
        false.runtime()
    }

    fn on_subtree(state: &Self::State, weights: &Self::Input, node: u32, points: u32) {
        state.weight.store(state.weight.read() + weights.of_nodes[node as usize]);
        state.count.store(state.count.read() + points);
    }

    fn finish(state: &Self::State, weights: &Self::Input, found: &mut Self::Output, query: u32) {
        let weight = state.weight.read();
        // If the weight is not enough, all neighbours have been counted.
        let mut mark = select(state.count.read() == 1, ALONE, 0u32);
        if weight >= weights.limits[1] {
            mark = 1u32.runtime();
        } else if weight >= weights.limits[2] {
            let place = found.doubted[weights.n as usize].fetch_add(1);
            found.doubted[place as usize].store(query);
        }
        found.core[query as usize] = mark;
    }
}

/// Marks the points of nodes that are cliques of certainly enough weight. To mark them once, only nodes without a
/// child of enough weight count.
#[cube(launch)]
fn mark_dense<F: Float>(
    bounds: &Array<F>,
    links: &Array<u32>,
    weights: &Weights,
    sure: &Array<F>,
    core: &mut Array<u32>,
    end: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let rope = links[2 * at as usize];
        let enough = weights.limits[1];
        let mut is_dense = weights.of_nodes[at as usize] >= enough;
        if is_dense {
            is_dense = is_clique::<F>(bounds, at, sure[0], d);
        }
        if is_dense {
            if rope != at + 1 {
                let right = links[2 * (at + 1) as usize];
                is_dense = weights.of_nodes[(at + 1) as usize] < enough && weights.of_nodes[right as usize] < enough;
            }
        }
        if is_dense {
            for point in links[2 * at as usize + 1]..links[2 * rope as usize + 1] {
                core[point as usize] = 1;
            }
        }
    }
}

/// The ambiguous positions and their number; for each position the number of decisive positions before it, and the
/// decisive positions.
#[derive(CubeType, CubeLaunch)]
struct Places {
    doubted: Array<u32>,
    count: u32,
    ranks: Array<u32>,
    firsts: Array<u32>,
}

#[cube]
impl Places {
    /// The position whose sum decides for `at`: `at` itself, or if its leaf holds copies of the point before the leaf,
    /// the last position outside such leaves.
    fn representative(&self, at: u32) -> u32 {
        let rank = self.ranks[(at + 1) as usize];
        self.firsts[(rank - 1) as usize]
    }
}

/// Flags the points of leaves that do not hold copies of the point before them.
#[cube(launch)]
fn flag_first<F: Float>(
    bounds: &Array<F>,
    links: &Array<u32>,
    axes: &Array<F>,
    flags: &mut Array<u32>,
    end: u32,
    n: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        if links[2 * at as usize] == at + 1 {
            let first = links[2 * at as usize + 1];
            let before = max(first, 1u32) - 1;
            let mut are_copies = first > 0;
            #[unroll]
            for k in 0..d {
                // The corners of a node are contiguous, the lower one first.
                let lo = bounds[at as usize * comptime!(2 * d) + k];
                let hi = bounds[at as usize * comptime!(2 * d) + comptime!(d + k)];
                are_copies = are_copies && lo == hi && axes[k * n as usize + before as usize] == lo;
            }
            for point in first..links[2 * (at + 1) as usize + 1] {
                flags[point as usize] = u32::cast_from(!are_copies);
            }
        }
    }
}

/// Sums the weights near each ambiguous point in the CPU's order, and marks the point if they are enough. Copies are
/// left to `mark_copies`.
#[cube(launch)]
fn sum_in_order<F: Float>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    weights: &Weights,
    places: &Places,
    core: &mut Array<u32>,
    end: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let place = ABSOLUTE_POS as u32;
    if place < places.count {
        let at = places.doubted[place as usize];
        if places.representative(at) == at {
            let point = point_of::<F>(tree, at, d);
            // Finds the leaf of the point.
            let mut way = Array::<u32>::new(1usize);
            way[0] = 0;
            while tree.links[way[0] as usize][0] != way[0] + 1 {
                let right = tree.links[(way[0] + 1) as usize][0];
                way[0] = select(at < tree.links[right as usize][1], way[0] + 1, right);
            }
            let own = way[0];
            let mut sum = Array::<f64>::new(1usize);
            sum[0] = of_leaf::<F>(tree, queries, weights, own, &point, d, periodic);
            let mut walk = RopeWalk::new(0u32.runtime(), end);
            while walk.goes_on() {
                let node = walk.node(&tree.links);
                let corners = corners::<F>(&tree.bounds, node.at, d);
                let near = min_distance2::<F>(&corners, &point, &tree.sides, d, periodic) <= queries.filters[1];
                if near && node.is_leaf && node.at != own {
                    sum[0] = sum[0] + of_leaf::<F>(tree, queries, weights, node.at, &point, d, periodic);
                }
                walk.step(&node, near);
            }
            if sum[0] >= weights.limits[0] {
                core[at as usize] = 1;
            }
        }
    }
}

/// The sum of the weights of a leaf's points within the radius, in tree order.
#[cube]
fn of_leaf<F: Float>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    weights: &Weights,
    leaf: u32,
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> f64 {
    let mut sum = Array::<f64>::new(1usize);
    sum[0] = f64::cast_from(0u32.runtime());
    for other in tree.links[leaf as usize][1]..tree.links[(leaf + 1) as usize][1] {
        if distance2::<F>(&tree.axes, other, tree.stored, point, &tree.sides, d, periodic) <= queries.filters[1] {
            let exact = exact_distance2::<F>(&tree.axes, other, tree.stored, point, &tree.exact_sides, d, periodic);
            if exact <= queries.radius2[0] {
                sum[0] = sum[0] + weights.of_points[other as usize];
            }
        }
    }
    sum[0]
}

/// Marks an ambiguous copy if the point that decides for it is core.
#[cube(launch)]
fn mark_copies(places: &Places, core: &mut Array<u32>) {
    let place = ABSOLUTE_POS as u32;
    if place < places.count {
        let at = places.doubted[place as usize];
        let decisive = places.representative(at);
        if decisive != at && core[decisive as usize] == 1 {
            core[at as usize] = 1;
        }
    }
}
