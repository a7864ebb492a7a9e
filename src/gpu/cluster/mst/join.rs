//! Components join along their least edges.
//!
//! In: what points know. Out: the least edge of each component, and new components.
//! The total order of edges leaves no cycle but that of two components with one edge: the lower of them becomes the root, and the others
//! point to their neighbour across their edge. Chains of these are cut short 64 steps at a time, by as many kernels as the longest
//! possible one needs.
//! Cost: three passes over the points, and five numbers a component. Source: Prokopenko, Sao and Lebrun-Grandié 2022.

#![allow(clippy::too_many_arguments)] // The scope in front of what a kernel takes.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::cluster::mst::least::{LeastLaunch, MstSpec, NONE, Least, Samples, SamplesLaunch, lower, lower_to, upper, weight2_of};
use crate::gpu::primitives::compact::Compact;

/// Steps along a chain that a kernel takes.
const STEPS: u32 = 64;

/// The least edge of each component: the halves of its weight, and its indices.
pub(super) struct BestEdges {
    pub upper: Buffer<u32>,
    lower: Buffer<u32>,
    low: Buffer<u32>,
    high: Buffer<u32>,
}

/// [`BestEdges`] in kernels.
#[derive(CubeType, CubeLaunch)]
struct BestEdgesArg {
    upper: Array<u32>,
    lower: Array<u32>,
    low: Array<u32>,
    high: Array<u32>,
}

/// The parts of a least edge that are known.
#[derive(CubeType, CubeLaunch)]
struct KnownParts {
    upper: Array<u32>,
    lower: Array<u32>,
    low: Array<u32>,
}

/// The edges found so far, in no order.
pub(super) struct Edges {
    pub weight2: Buffer<f64>,
    pub low: Buffer<u32>,
    pub high: Buffer<u32>,
}

/// [`Edges`] in kernels.
#[derive(CubeType, CubeLaunch)]
struct EdgesArg {
    weight2: Array<f64>,
    low: Array<u32>,
    high: Array<u32>,
}

/// What is lowered among the edges that are the least by what comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Lower,
    Low,
    High,
}

impl BestEdges {
    /// No edges.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, components: usize) -> Self {
        let none = || Buffer::filled(client, components, NONE);
        Self { upper: none(), lower: none(), low: none(), high: none() }
    }

    fn arg<R: Runtime>(&self) -> BestEdgesArgLaunch<R> {
        BestEdgesArgLaunch::new(self.upper.arg(), self.lower.arg(), self.low.arg(), self.high.arg())
    }

    /// Finds the least edge of each component, of which `upper` is known.
    pub fn find<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        samples: impl Fn() -> SamplesLaunch<R>,
        least: impl Fn() -> LeastLaunch<R>,
        component: &Buffer<u32>,
        spec: MstSpec,
    ) {
        let n = component.len();
        let Self { upper, lower, low, high } = self;
        // What is not read yet is bound as what is: nothing is bound as numbers and as atomics at once.
        for (part, known, target) in [
            (Part::Lower, [upper, upper, upper], lower),
            (Part::Low, [upper, lower, upper], low),
            (Part::High, [upper, lower, low], high),
        ] {
            let [upper, lower, low] = known.map(|known| known.arg());
            lower_part::launch::<R>(
                client,
                cubes(n),
                CubeDim::new_1d(UNITS),
                samples(),
                least(),
                component.arg(),
                KnownPartsLaunch::new(upper, lower, low),
                target.arg(),
                n as u32,
                part,
                spec,
            );
        }
    }

    /// Joins `components` along their least edges, which are appended to those found so far; returns how many there are afterwards.
    pub fn join<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        position: &Buffer<u32>,
        component: &Buffer<u32>,
        components: usize,
        found: &Edges,
    ) -> Result<usize> {
        let (n, count, dim) = (component.len(), components as u32, CubeDim::new_1d(UNITS));
        let next = Buffer::<u32>::new(client, components);
        follow::launch::<R>(
            client,
            cubes(components),
            dim,
            self.arg(),
            position.arg(),
            component.arg(),
            next.arg(),
            count,
        );
        let flags = Buffer::<u32>::new(client, components + 1);
        let mut parent = Buffer::<u32>::new(client, components);
        flag_roots::launch::<R>(client, cubes(components + 1), dim, next.arg(), flags.arg(), parent.arg(), count);
        let roots = Compact::new(client, flags)?;
        let edges = EdgesArgLaunch::new(found.weight2.arg(), found.low.arg(), found.high.arg());
        let first = (n - components) as u32;
        append::launch::<R>(client, cubes(components), dim, self.arg(), roots.ranks.arg(), edges, count, first);
        let mut reach = 1;
        while reach < components {
            let ancestor = Buffer::<u32>::new(client, components);
            climb::launch::<R>(client, cubes(components), dim, parent.arg(), ancestor.arg(), count);
            parent = ancestor;
            reach = reach.saturating_mul(STEPS as usize);
        }
        let ranks = roots.ranks.arg();
        renumber::launch::<R>(client, cubes(n), dim, parent.arg(), ranks, component.arg(), n as u32);
        Ok(roots.len)
    }
}

/// Lowers a part of the least edge of each component: `target`.
#[cube(launch)]
fn lower_part(
    samples: &Samples,
    least: &Least,
    component: &Array<u32>,
    known: &KnownParts,
    target: &mut Array<Atomic<u32>>,
    n: u32,
    #[comptime] part: Part,
    #[comptime] spec: MstSpec,
) {
    let at = ABSOLUTE_POS;
    let mut own = 0u32.runtime();
    let mut value = NONE.runtime();
    if (at as u32) < n {
        own = component[at];
        let end = least.end[at];
        if end != NONE {
            let weight2 = least.weight2[at];
            if upper(weight2) == known.upper[own as usize] {
                let lower = lower(weight2);
                if comptime!(part == Part::Lower) {
                    value = lower;
                } else if lower == known.lower[own as usize] {
                    let (a, b) = (samples.order[at], samples.order[end as usize]);
                    if comptime!(part == Part::Low) {
                        value = min(a, b);
                    } else if min(a, b) == known.low[own as usize] {
                        value = max(a, b);
                    }
                }
            }
        }
    }
    lower_to(target, own, value, comptime!(spec.warp));
}

/// The component across the least edge of each; its own without one.
#[cube(launch)]
fn follow(best: &BestEdgesArg, position: &Array<u32>, component: &Array<u32>, next: &mut Array<u32>, components: u32) {
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

/// Flags the components that others join, with a 0 behind; their parent is their own.
#[cube(launch)]
fn flag_roots(next: &Array<u32>, flags: &mut Array<u32>, parent: &mut Array<u32>, components: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < components {
        let across = next[own];
        let is_root = next[across as usize] == own as u32 && own as u32 <= across;
        flags[own] = u32::cast_from(is_root);
        parent[own] = select(is_root, own as u32, across);
    } else if own as u32 == components {
        flags[own] = 0;
    }
}

/// Appends the least edge of each component but the roots. That of a root is told by the other one that has it.
#[cube(launch)]
fn append(best: &BestEdgesArg, ranks: &Array<u32>, edges: &mut EdgesArg, components: u32, first: u32) {
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

/// Goes up from each component.
#[cube(launch)]
fn climb(parent: &Array<u32>, ancestor: &mut Array<u32>, components: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < components {
        // In an array, because an optimiser of cubecl's fails on such loops of variables.
        let mut way = Array::<u32>::new(3usize);
        way[0] = own as u32;
        way[1] = parent[own];
        way[2] = 1;
        while way[0] != way[1] && way[2] < STEPS {
            way[0] = way[1];
            way[1] = parent[way[0] as usize];
            way[2] = way[2] + 1;
        }
        ancestor[own] = way[1];
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
