//! Boruvka's rounds on a device: the twin of `cluster::mst::boruvka`.
//!
//! In: a tree. Out: the edges, in order. A round numbers the components, takes what points know (`recall`), rules out blocks of points far
//! inside their component (`blocks`), searches for the least edges of the points that may have their component's (`search`), and joins (`join`). The host reads three counts a round: of the points that
//! search, of those that may have the least edge of their component, and of the components that are left.
//! Large components leave the search to the others, where it matters: an edge that is the least of one of two components is one of the tree
//! whether the other one knows it or not. Which components are left without an edge may differ from run to run, the tree may not.
//! Cost: some 90 bytes a point, 12 more for each listed neighbour at first. Source: Prokopenko, Sao and Lebrun-Grandié 2022 (single-tree
//! Boruvka).

#![allow(unsafe_code)] // A kernel without bounds checks.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::mst::blocks::{UniformArgLaunch, blocks, boxes, rule_out};
use crate::gpu::cluster::mst::join::{BestEdges, Edges};
use crate::gpu::cluster::mst::least::{LeastLaunch, MstSpec, SamplesLaunch};
use crate::gpu::cluster::mst::recall::{ActiveInputLaunch, list, list_active, recall};
use crate::gpu::cluster::mst::search::{ComponentsLaunch, search};
use crate::gpu::cluster::mst::sort::sort_edges;
use crate::gpu::cluster::mst::uniform::uniform;
use crate::gpu::primitives::gather::invert;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::{LimitsLaunch, RowOrder};
use crate::search::nearest::Nearest;

/// Nearest neighbours that are listed for each point: what the first rounds need. By mutual reachability more help, up to a number.
const LISTED: usize = 4;
const MOST_LISTED: usize = 16;

/// Components of more than so many times the average number of points do not search in a round: others find them.
const LARGE: usize = 4;

/// The edges of the minimum spanning tree, in order. `min_samples` is at most the number of points, and what `nearest_neighbors` finds.
///
/// Errors: a component without an edge to another, which no input has; if the device fails.
pub(super) fn edges<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    min_samples: usize,
) -> Result<Edges> {
    let n = bvh.len();
    let Some(nodes) = bvh.nodes.as_ref().filter(|_| n > 1) else { return Ok(Edges::new(client, 0)) };
    let rounds = Rounds::new(client, bvh, nodes, min_samples)?;
    let found = Edges::new(client, n - 1);
    // The size of each component.
    let mut components = Buffer::<u32>::filled(client, n, 1);
    while components.len() > 1 {
        let best = BestEdges::new(client, components.len());
        rounds.recall(&best);
        rounds.search(&best, &components)?;
        best.find(client, || rounds.samples(), || rounds.least(), &rounds.component, rounds.spec.warp)?;
        let left = best.join(client, &rounds.position, &rounds.component, &components, &found)?;
        if left.len() >= components.len() {
            return Err(Error::invariant("a component has no edge to another"));
        }
        components = left;
    }
    sort_edges(client, &found)
}

/// What stays from round to round; see `least`.
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
    /// The component of each position. They are numbered from 0 on.
    component: Buffer<u32>,
    /// The box of each block of positions.
    boxes: Buffer<S>,
    spec: MstSpec,
}

impl<'a, R: Runtime, S: Coordinate, const D: usize> Rounds<'a, R, S, D> {
    fn new(client: &'a ComputeClient<R>, bvh: &'a Bvh<S, D>, nodes: &'a Nodes<S>, min_samples: usize) -> Result<Self> {
        let (n, dim) = (bvh.len(), CubeDim::new_1d(UNITS));
        let mutual = min_samples > 1;
        let samples = if mutual { min_samples - 1 } else { 0 };
        // By mutual reachability two more than give the core distance, where there are as many.
        let k = LISTED.max(min_samples + 1).min(MOST_LISTED).max(samples).min(n - 1);
        let listed = k.min(MOST_LISTED);
        let rounds = Self {
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
                warp: Warp::of(client),
            },
        };
        let nearest = bvh.nearest_rows(client, Nearest::new(k).excluding_self(), RowOrder::Tree)?;
        list::launch::<R>(
            client,
            cubes(n),
            dim,
            nearest.indices.arg(),
            nearest.distances2.arg(),
            rounds.samples(),
            rounds.least(),
            rounds.component.arg(),
            n as u32,
            k as u32,
            // The point itself is the first of the samples.
            samples.max(1) as u32 - 1,
            rounds.spec,
        );
        Ok(rounds)
    }

    fn samples(&self) -> SamplesLaunch<R> {
        let (order, position) = (self.bvh.order.arg(), self.position.arg());
        SamplesLaunch::new(order, position, self.listed.arg(), self.last2.arg(), self.core2.arg())
    }

    fn least(&self) -> LeastLaunch<R> {
        LeastLaunch::new(self.weight2.arg(), self.end.arg())
    }

    /// Takes what points know from the rounds before, and what their lists say.
    fn recall(&self, best: &BestEdges) {
        recall::launch::<S, R>(
            self.client,
            cubes(self.bvh.len()),
            CubeDim::new_1d(UNITS),
            self.bvh.tree(self.client, self.nodes),
            self.samples(),
            self.component.arg(),
            self.least(),
            best.upper.arg(),
            self.spec,
        );
    }

    /// Searches for the least edges of the points that may have their component's least; `components` are the sizes of these.
    fn search(&self, best: &BestEdges, components: &Buffer<u32>) -> Result<()> {
        let (client, n, dim) = (self.client, self.bvh.len(), CubeDim::new_1d(UNITS));
        let limits = self.bvh.limits(client, f64::INFINITY);
        let tree = || self.bvh.tree(client, self.nodes);
        let uniform = uniform(client, self.nodes, &self.component);
        // Some component has no more points than the average, so at least one searches.
        let most = (n / components.len()).saturating_mul(LARGE).min(u32::MAX as usize) as u32;
        let input = || ActiveInputLaunch::new(self.component.arg(), best.upper.arg(), components.arg(), most, n as u32);
        let runs = UniformArgLaunch::new(
            uniform.nodes.arg(),
            uniform.changes.arg(),
            LimitsLaunch::new(limits.arg()),
            self.nodes.end() as u32,
        );
        // SAFETY: the launch contract of `mst`: there is a box for each block, and the kernel compares blocks with their number.
        unsafe {
            rule_out::launch_unchecked::<S, R>(
                client,
                cubes(blocks(n)),
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
        list_active::launch::<R>(client, cubes(n), dim, input(), self.least(), skipped, to, counted, self.spec.warp);
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
        // SAFETY: the launch contract of `mst`: positions are those of points, components and nodes are numbered from 0 on, and the
        // kernel compares units with the number of positions.
        unsafe {
            search::launch_unchecked::<S, R>(
                client,
                cubes(count as usize),
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
