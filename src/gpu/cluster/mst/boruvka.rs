//! Boruvka's rounds on a device: the GPU version of `cluster::mst::boruvka`.
//!
//! In: a tree. Out: the edges, in order. The steps of a round:
//! - update what each point knows about its least edge (`edge_bounds`);
//! - exclude blocks of points deep inside their component (`blocks`);
//! - search for the least edges of the points that may have the least edge of their component (`search`);
//! - merge components and number them again (`merge_components`).
//!
//! The host reads three counts per round: the points that search, the points that may have the least edge of their
//! component, and the remaining components.
//!
//! Large components do not search if others can find the edge between them. An edge that is the least edge of either
//! of its components belongs to the tree. Which components find no edge in a round may differ between runs; the tree
//! does not.
//!
//! Cost: at first some 150 bytes per point, then some 100. Source: Prokopenko, Sao and Lebrun-Grandié 2022
//! (single-tree Boruvka).
//!
//! With alpha, max(core, d / alpha) = max(alpha core, d) / alpha. As on the CPU, squared core distances are multiplied
//! by the square of alpha, and final squared weights are divided by it, with one rounding each. Different weights may
//! have equal quotients, so edges are sorted after the division.

#![allow(unsafe_code)] // A kernel without bounds checks.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::mst::blocks::{UniformArgLaunch, blocks, boxes, rule_out};
use crate::gpu::cluster::mst::edge_bounds::{ActiveInputLaunch, list, list_active, update_bounds};
use crate::gpu::cluster::mst::least_edges::{MstSpec, PointEdgesLaunch, SamplesLaunch};
use crate::gpu::cluster::mst::merge_components::{ComponentEdges, Edges};
use crate::gpu::cluster::mst::search::{ComponentsLaunch, search};
use crate::gpu::cluster::mst::sort::sort_edges;
use crate::gpu::cluster::mst::uniform::uniform;
use crate::gpu::primitives::scaling::{Scaling, scale};
use crate::gpu::primitives::scatter::invert;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::{LimitsLaunch, MAX_K_PER_SEARCH, RowOrder, exact_limits};
use crate::search::nearest::Nearest;

/// The number of listed nearest neighbours of each point: more make lists dearer and searches rarer. For mutual
/// reachability more are useful, up to a limit.
const LISTED: usize = 6;
const MOST_LISTED: usize = 16;

/// In a round, components of more than this multiple of the average number of points do not search; other components
/// find their edges.
const LARGE: usize = 4;

/// The edges of the minimum spanning tree, in order. `min_samples` must not exceed the number of points. `alpha` must be
/// valid (`check_alpha`).
///
/// Errors: a component without an edge to another, which is impossible for any input; a failing device.
pub(super) fn edges<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    min_samples: usize,
    alpha: f64,
) -> Result<Edges> {
    let n = bvh.len();
    let Some(nodes) = bvh.nodes.as_ref().filter(|_| n > 1) else { return Ok(Edges::new(client, 0)) };
    let alpha2 = alpha * alpha;
    let mut rounds = Rounds::new(client, bvh, nodes, min_samples)?;
    rounds.core2 = scale(client, bvh.device, rounds.core2, alpha2, Scaling::Multiply)?;
    let mut found = Edges::new(client, n - 1);
    // The size of each component.
    let mut components = Buffer::<u32>::filled(client, n, 1);
    while components.len() > 1 {
        let best = ComponentEdges::new(client, components.len());
        rounds.update_bounds(&best);
        rounds.search(&best, &components)?;
        best.find(client, || rounds.samples(), || rounds.least(), &rounds.component, rounds.spec.warp)?;
        let left = best.join(client, &rounds.position, &rounds.component, &components, &found)?;
        if left.len() >= components.len() {
            return Err(Error::invariant("a component has no edge to another component"));
        }
        components = left;
    }
    found.weight2 = scale(client, bvh.device, found.weight2, alpha2, Scaling::Divide)?;
    sort_edges(client, &found)
}

/// The state that all rounds share; for its fields see `least_edges`.
struct Rounds<'a, R: Runtime, S: Coordinate, const D: usize> {
    client: &'a ComputeClient<R>,
    bvh: &'a Bvh<S, D>,
    nodes: &'a Nodes<S>,
    position: Buffer<u32>,
    listed: Buffer<u32>,
    last2: Buffer<f64>,
    core2: Buffer<f64>,
    weight2: Buffer<f64>,
    end: Buffer<u32>,
    /// The component of each position, numbered from 0 on.
    component: Buffer<u32>,
    /// The box of each block of positions.
    boxes: Buffer<S>,
    spec: MstSpec,
}

impl<'a, R: Runtime, S: Coordinate, const D: usize> Rounds<'a, R, S, D> {
    fn new(client: &'a ComputeClient<R>, bvh: &'a Bvh<S, D>, nodes: &'a Nodes<S>, min_samples: usize) -> Result<Self> {
        let (n, dim) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let mutual = min_samples > 1;
        let samples = if mutual { min_samples - 1 } else { 0 };
        // Mutual reachability uses two more neighbours than the core distance, if there are enough.
        // Core distances that one search does not determine come from searches of their own.
        let is_far = samples > MAX_K_PER_SEARCH;
        let core = if is_far { 1 } else { samples.max(1) };
        let k = LISTED.max(min_samples + 1).min(MOST_LISTED).max(core).min(n - 1);
        let listed = k.min(MOST_LISTED);
        let far2 = is_far.then(|| bvh.far_distances2(client, samples)).transpose()?;
        let mut rounds = Self {
            client,
            bvh,
            nodes,
            position: invert(client, &bvh.order),
            listed: Buffer::new(client, n * listed),
            last2: Buffer::new(client, n),
            core2: Buffer::new(client, if mutual { n } else { 0 }),
            weight2: Buffer::new(client, n),
            end: Buffer::new(client, n),
            component: Buffer::new(client, n),
            boxes: boxes(client, bvh),
            spec: MstSpec {
                d: D,
                periodic: bvh.space.period().is_some(),
                mutual,
                listed,
                all_listed: listed == n - 1,
                warp: Warp::new(client),
            },
        };
        let nearest = bvh.nearest_rows(client, Nearest::new(k).excluding_self(), RowOrder::Tree)?;
        list::launch::<R>(
            client,
            blocks_for(n),
            dim,
            nearest.indices.arg(),
            nearest.distances2.arg(),
            rounds.samples(),
            rounds.least(),
            rounds.component.arg(),
            n as u32,
            k as u32,
            // The point itself is the first of the samples.
            core as u32 - 1,
            rounds.spec,
        );
        if let Some(far2) = far2 {
            rounds.core2 = far2;
        }
        Ok(rounds)
    }

    fn samples(&self) -> SamplesLaunch<R> {
        let (order, position) = (self.bvh.order.arg(), self.position.arg());
        SamplesLaunch::new(order, position, self.listed.arg(), self.last2.arg(), self.core2.arg())
    }

    fn least(&self) -> PointEdgesLaunch<R> {
        PointEdgesLaunch::new(self.weight2.arg(), self.end.arg())
    }

    /// Updates the known edges from earlier rounds and from the lists of neighbours.
    fn update_bounds(&self, best: &ComponentEdges) {
        update_bounds::launch::<S, R>(
            self.client,
            blocks_for(self.bvh.len()),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.bvh.tree(self.client, self.nodes),
            self.samples(),
            self.component.arg(),
            self.least(),
            best.upper.arg(),
            self.spec,
        );
    }

    /// Searches for the least edges of the points that may have the least edge of their component; `components` holds
    /// the component sizes.
    fn search(&self, best: &ComponentEdges, components: &Buffer<u32>) -> Result<()> {
        let (client, n, dim) = (self.client, self.bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let limits = exact_limits::<_, S, D>(client, &self.bvh.space, f64::INFINITY);
        let tree = || self.bvh.tree(client, self.nodes);
        let uniform = uniform(client, self.nodes, &self.component);
        // Some component is no larger than the average, so at least one searches.
        let most = (n / components.len()).saturating_mul(LARGE).min(u32::MAX as usize) as u32;
        let input = || ActiveInputLaunch::new(self.component.arg(), best.upper.arg(), components.arg(), most, n as u32);
        let runs = UniformArgLaunch::new(
            uniform.nodes.arg(),
            uniform.changes.arg(),
            LimitsLaunch::new(limits.arg()),
            self.nodes.end() as u32,
        );
        // SAFETY: the launch contract of `mst`. `boxes` has a box for each block, and the kernel checks that its block
        // starts below `n`.
        unsafe {
            rule_out::launch_unchecked::<S, R>(
                client,
                blocks_for(blocks(n)),
                dim,
                tree(),
                self.boxes.arg(),
                input(),
                runs,
                self.least(),
                self.spec,
            );
        }
        let (active, count) = (Buffer::<u32>::new(client, n), Buffer::<u32>::from_slice(client, &[0]));
        let (skipped, to, counted) = (best.skipped.arg(), active.arg(), count.arg());
        list_active::launch::<R>(
            client,
            blocks_for(n),
            dim,
            input(),
            self.least(),
            skipped,
            to,
            counted,
            self.spec.warp,
        );
        let count = count.read(client)?[0];
        if count == 0 {
            return Ok(());
        }
        let components = ComponentsLaunch::new(
            active.arg(),
            count,
            self.component.arg(),
            uniform.nodes.arg(),
            self.bvh.order.arg(),
            self.core2.arg(),
            LimitsLaunch::new(limits.arg()),
            self.nodes.end() as u32,
        );
        // SAFETY: the launch contract of `mst`. `active` holds `count` positions of points, `uniform.nodes` has an
        // entry for each node and the sentinel, and the kernel checks its index against `count`.
        unsafe {
            search::launch_unchecked::<S, R>(
                client,
                blocks_for(count as usize),
                dim,
                tree(),
                components,
                self.least(),
                best.upper.arg(),
                self.spec,
            );
        }
        Ok(())
    }
}
