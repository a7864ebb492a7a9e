//! Merging of components along their least edges.
//!
//! In: the least edges of points. Out: the least edge of each component, and new components. Each component points to
//! its neighbour across its edge, which makes a forest (`primitives::pointer_jumping`). Cost: a pass over the points,
//! three passes over those that may have the least edge of their component, and eight numbers per component. Source:
//! Prokopenko, Sao and Lebrun-Grandié 2022.

#![allow(clippy::too_many_arguments)] // The scope precedes the parameters of a kernel.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::mst::least_edges::{
    NONE, PointEdges, PointEdgesLaunch, Samples, SamplesLaunch, lower, upper, weight2_of,
};
use crate::gpu::primitives::atomic_min::lower_to;
use crate::gpu::primitives::compact::append;
use crate::gpu::primitives::pointer_jumping::{Joined, join_least};
use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// The least edge of each component: the halves of its weight, and its indices.
pub(super) struct ComponentEdges {
    pub upper: Buffer<u32>,
    lower: Buffer<u32>,
    low: Buffer<u32>,
    high: Buffer<u32>,
    /// 1 for each component that has not searched for its edge.
    pub skipped: Buffer<u32>,
}

/// The kernel argument for [`ComponentEdges`].
#[derive(CubeType, CubeLaunch)]
struct ComponentEdgesArg {
    upper: Array<u32>,
    lower: Array<u32>,
    low: Array<u32>,
    high: Array<u32>,
}

/// The known parts of a least edge.
#[derive(CubeType, CubeLaunch)]
struct KnownParts {
    lower: Array<u32>,
    low: Array<u32>,
}

/// The edges found so far, in no particular order.
pub(super) struct Edges {
    pub weight2: Buffer<f64>,
    pub low: Buffer<u32>,
    pub high: Buffer<u32>,
}

/// The kernel argument for [`Edges`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct EdgesArg {
    pub weight2: Array<f64>,
    pub low: Array<u32>,
    pub high: Array<u32>,
}

impl Edges {
    /// Allocates `len` edges.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, len: usize) -> Self {
        Self { weight2: Buffer::new(client, len), low: Buffer::new(client, len), high: Buffer::new(client, len) }
    }

    pub fn arg<R: Runtime>(&self) -> EdgesArgLaunch<R> {
        EdgesArgLaunch::new(self.weight2.arg(), self.low.arg(), self.high.arg())
    }
}

/// The part of the least edge to minimize, among the edges that tie in all parts before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum EdgeKey {
    Lower,
    Low,
    High,
}

impl ComponentEdges {
    /// Creates the edges of `components` components, of which none is found yet.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, components: usize) -> Self {
        let none = || Buffer::filled(client, components, NONE);
        let skipped = Buffer::filled(client, components, 0);
        Self { upper: none(), lower: none(), low: none(), high: none(), skipped }
    }

    fn arg<R: Runtime>(&self) -> ComponentEdgesArgLaunch<R> {
        ComponentEdgesArgLaunch::new(self.upper.arg(), self.lower.arg(), self.low.arg(), self.high.arg())
    }

    /// Finds the least edge of each component, given `upper`.
    pub fn find<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        samples: impl Fn() -> SamplesLaunch<R>,
        least: impl Fn() -> PointEdgesLaunch<R>,
        component: &Buffer<u32>,
        warp: Warp,
    ) -> Result<()> {
        let (n, dim) = (component.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let (candidates, count) = (Buffer::<u32>::new(client, n), Buffer::<u32>::from_slice(client, &[0]));
        let known = CandidatesLaunch::new(component.arg(), self.upper.arg(), self.skipped.arg(), n as u32);
        list_candidates::launch::<R>(client, blocks_for(n), dim, known, least(), candidates.arg(), count.arg(), warp);
        let count = count.read(client)?[0];
        let Self { upper, lower, low, high, .. } = self;
        // Parts that are not read yet are bound to buffers that are read only, because no buffer may be bound both as
        // numbers and as atomics.
        for (part, known, target) in [
            (EdgeKey::Lower, [upper, upper], lower),
            (EdgeKey::Low, [lower, upper], low),
            (EdgeKey::High, [lower, low], high),
        ] {
            let [lower, low] = known.map(|known| known.arg());
            lower_part::launch::<R>(
                client,
                blocks_for(count as usize),
                dim,
                candidates.arg(),
                samples(),
                least(),
                component.arg(),
                KnownPartsLaunch::new(lower, low),
                target.arg(),
                count,
                part,
                warp,
            );
        }
        Ok(())
    }

    /// Merges components along their least edges, which are appended to `found`. Takes and returns the sizes of
    /// components.
    pub fn join<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        position: &Buffer<u32>,
        component: &Buffer<u32>,
        sizes: &Buffer<u32>,
        found: &Edges,
    ) -> Result<Buffer<u32>> {
        let (n, components, dim) = (component.len(), sizes.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let count = components as u32;
        let next = Buffer::<u32>::new(client, components);
        component_across::launch::<R>(
            client,
            blocks_for(components),
            dim,
            self.arg(),
            position.arg(),
            component.arg(),
            next.arg(),
            count,
        );
        let Joined { roots, root } = join_least(client, &next)?;
        let first = (n - components) as u32;
        append_edges::launch::<R>(
            client,
            blocks_for(components),
            dim,
            self.arg(),
            roots.ranks.arg(),
            found.arg(),
            count,
            first,
        );
        let sums = Buffer::<u32>::filled(client, roots.len, 0);
        let ranks = || roots.ranks.arg();
        add_sizes::launch::<R>(
            client,
            blocks_for(components),
            dim,
            root.arg(),
            ranks(),
            sizes.arg(),
            sums.arg(),
            count,
            Warp::new(client),
        );
        renumber::launch::<R>(client, blocks_for(n), dim, root.arg(), ranks(), component.arg(), n as u32);
        Ok(sums)
    }
}

/// Data that identify positions that may have the least edge of their component.
#[derive(CubeType, CubeLaunch)]
struct Candidates {
    component: Array<u32>,
    /// For each component the upper bits of its least weight, and 1 if it has not searched.
    upper: Array<u32>,
    skipped: Array<u32>,
    n: u32,
}

/// Lists the positions that may have the least edge of their component, by the upper bits of their weights.
#[cube(launch)]
fn list_candidates(
    known: &Candidates,
    least: &PointEdges,
    candidates: &mut Array<u32>,
    count: &mut Array<Atomic<u32>>,
    #[comptime] warp: Warp,
) {
    let at = ABSOLUTE_POS;
    let mut is_candidate = false.runtime();
    if (at as u32) < known.n {
        if least.end[at] != NONE {
            let own = known.component[at] as usize;
            if upper(least.weight2[at]) == known.upper[own] {
                is_candidate = known.skipped[own] == 0;
            }
        }
    }
    append(is_candidate, at as u32, candidates, count, warp);
}

/// Lowers a part of the least edge of each component, `target`, to the minimum over those of the `n` candidates that
/// have the known parts.
#[cube(launch)]
fn lower_part(
    candidates: &Array<u32>,
    samples: &Samples,
    least: &PointEdges,
    component: &Array<u32>,
    known: &KnownParts,
    target: &mut Array<Atomic<u32>>,
    n: u32,
    #[comptime] part: EdgeKey,
    #[comptime] warp: Warp,
) {
    let mut own = 0u32.runtime();
    let mut value = NONE.runtime();
    if (ABSOLUTE_POS as u32) < n {
        let at = candidates[ABSOLUTE_POS] as usize;
        own = component[at];
        let lower = lower(least.weight2[at]);
        if comptime!(part == EdgeKey::Lower) {
            value = lower;
        } else if lower == known.lower[own as usize] {
            let (a, b) = (samples.order[at], samples.order[least.end[at] as usize]);
            if comptime!(part == EdgeKey::Low) {
                value = min(a, b);
            } else if min(a, b) == known.low[own as usize] {
                value = max(a, b);
            }
        }
    }
    lower_to(target, own, value, warp);
}

/// Finds the component across the least edge of each component, or the component itself if it has no edge.
#[cube(launch)]
fn component_across(
    best: &ComponentEdgesArg,
    position: &Array<u32>,
    component: &Array<u32>,
    next: &mut Array<u32>,
    components: u32,
) {
    let own = ABSOLUTE_POS;
    if (own as u32) < components {
        let mut across = own as u32 + 0;
        if best.high[own] != NONE {
            let a = component[position[best.low[own] as usize] as usize];
            let b = component[position[best.high[own] as usize] as usize];
            across = select(a == own as u32, b, a);
        }
        next[own] = across;
    }
}

/// Appends the least edge of each component that is not a root. The edge of a root is also that of another component,
/// which appends it.
#[cube(launch)]
fn append_edges(best: &ComponentEdgesArg, ranks: &Array<u32>, edges: &mut EdgesArg, components: u32, first: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < components {
        let before = ranks[own];
        if ranks[own + 1] == before {
            let to = (first + own as u32 - before) as usize;
            edges.weight2[to] = weight2_of(best.upper[own], best.lower[own]);
            edges.low[to] = best.low[own];
            edges.high[to] = best.high[own];
        }
    }
}

/// Adds up the sizes of the components of each root.
#[cube(launch)]
fn add_sizes(
    root: &Array<u32>,
    ranks: &Array<u32>,
    sizes: &Array<u32>,
    sums: &mut Array<Atomic<u32>>,
    components: u32,
    #[comptime] warp: Warp,
) {
    let own = ABSOLUTE_POS;
    let mut to = 0u32.runtime();
    let mut size = 0u32.runtime();
    if (own as u32) < components {
        to = ranks[root[own] as usize];
        size = sizes[own];
    }
    let size = block_aggregate(to, size, ReduceOp::Sum, warp);
    if size != 0 {
        sums[to as usize].fetch_add(size);
    }
}

/// Gives each position the number of its new component.
#[cube(launch)]
fn renumber(root: &Array<u32>, ranks: &Array<u32>, component: &mut Array<u32>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        component[at] = ranks[root[component[at] as usize] as usize];
    }
}
