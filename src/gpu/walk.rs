//! The stackless walk in kernels: the twin of `traverse`.
//!
//! In: a tree, queries, and a visitor. Out: what the visitor makes of the points within each query's radius.
//! A unit has a query; the units of a plane (a warp) walk together where the device can vote: they open a node if any of them
//! is near enough, so all read the same node and the same leaf at a time. Elsewhere each walks for itself.
//! Source: Prokopenko and Lebrun-Grandié 2024 (ropes); Wald et al. 2001 (packets).

#![allow(unsafe_code)] // Kernels without checks of their own: see `Bvh::walk`.

use cubecl::features::Plane;
use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, cubes};
use super::bvh::{Bvh, Coordinate};
use super::metric::{distance2, exact_distance2, gap2, span2};
use super::nodes::Nodes;
use crate::geometry::Reach;

/// A tree's buffers.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Tree<F: Float> {
    /// The lower corner, then the upper one, of each node.
    pub bounds: Array<F>,
    pub ropes: Array<u32>,
    /// The first point below each node.
    pub firsts: Array<u32>,
    /// The points in tree order, axis by axis.
    pub axes: Array<F>,
    /// The sides of the periodic box, in both precisions.
    pub sides: Array<F>,
    pub exact_sides: Array<f64>,
    /// How many points there are.
    pub stored: u32,
}

/// Where to look, and how far.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Queries<F: Float> {
    /// Centres, axis by axis.
    pub axes: Array<F>,
    /// What is surely within, then what is maybe: once, or for each query.
    pub reach: Array<F>,
    /// The squared radius, which decides.
    pub radius2: Array<f64>,
}

/// How to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// To every point within the radius.
    Each,
    /// The same, but nodes that are surely within the radius are met as a whole.
    Whole,
    /// From a stored point to those behind it in tree order.
    Half,
}

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub d: usize,
    pub periodic: bool,
    /// Whether the units of a plane can vote.
    pub planes: bool,
    /// Whether each query has a radius of its own.
    pub own_radii: bool,
    /// Whether a query is a stored point that meets only those behind it in tree order.
    pub half: bool,
    /// Whether nodes that are surely within the radius are met as a whole.
    pub whole: bool,
}

/// What a walk does with what it finds. A state is shared by its methods, so what changes in it is in cells.
#[cube]
pub(super) trait Visit: Send + Sync + 'static {
    /// What it reads, and what it writes.
    type Input: LaunchArg;
    type Output: LaunchArg;
    /// What it keeps for a query.
    type State: CubeType;

    fn start(input: &Self::Input, output: &mut Self::Output, query: u32) -> Self::State;
    /// Whether the query wants more.
    fn is_open(state: &Self::State, input: &Self::Input) -> bool;
    /// Whether a node near enough is worth a look; `first` is the first point below.
    fn enters(state: &Self::State, input: &Self::Input, output: &mut Self::Output, node: u32, first: u32) -> bool;
    /// The points of a leaf that are within the radius, a bit each from the one at `first` on.
    fn meet<F: Float>(
        state: &Self::State,
        input: &Self::Input,
        output: &mut Self::Output,
        tree: &Tree<F>,
        point: &Array<F>,
        first: u32,
        hits: u32,
        #[comptime] shape: Shape,
    );
    /// So many points within the radius at once.
    fn meet_whole(state: &Self::State, points: u32);
    fn finish(state: &Self::State, input: &Self::Input, output: &mut Self::Output, query: u32);
}

/// Walks the tree for each of `n` queries.
#[cube(launch_unchecked)]
pub(super) fn walk<F: Float, V: Visit>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    input: &V::Input,
    output: &mut V::Output,
    n: u32,
    end: u32,
    #[comptime] shape: Shape,
) {
    let unit = ABSOLUTE_POS as u32;
    // All units of a plane must come along to vote.
    let query = min(unit, n - 1);
    let d = comptime!(shape.d);
    let periodic = comptime!(shape.periodic);
    let mut own = 0usize.runtime();
    if comptime!(shape.own_radii) {
        own = query as usize;
    }
    let (sure, maybe) = (queries.reach[2 * own], queries.reach[2 * own + 1]);
    let radius2 = queries.radius2[own];
    let mut point = Array::<F>::new(d);
    #[unroll]
    for k in 0..d {
        point[k] = queries.axes[k * n as usize + query as usize];
    }
    let state = V::start(input, output, query);
    // Nodes before this one are done with.
    let mut next = 0u32.runtime();
    if unit >= n {
        next = end;
    }
    let mut at = 0u32.runtime();
    while at < end {
        let rope = tree.ropes[at as usize];
        let first = tree.firsts[at as usize];
        let behind = tree.firsts[rope as usize];
        let mut near = at >= next;
        if comptime!(shape.half) {
            near = near && behind > query + 1;
        }
        if near {
            near = V::is_open(&state, input);
        }
        if near {
            near = gap2::<F>(&tree.bounds, at, &point, &tree.sides, d, periodic) <= maybe;
        }
        if near {
            near = V::enters(&state, input, output, at, first);
        }
        if comptime!(shape.whole) {
            if near {
                if span2::<F>(&tree.bounds, at, &point, d) <= sure {
                    V::meet_whole(&state, behind - first);
                    next = rope;
                    near = false.runtime();
                }
            }
        }
        let mut opens = near;
        if comptime!(shape.planes) {
            opens = plane_any(near);
        }
        if !opens {
            at = rope;
        } else if rope == at + 1 {
            if near {
                // All of the leaf without a branch, then what was found.
                let mut hits = 0u32.runtime();
                let mut doubts = 0u32.runtime();
                let mut bit = 1u32.runtime();
                for other in first..behind {
                    let d2 = distance2::<F>(&tree.axes, other, tree.stored, &point, &tree.sides, d, periodic);
                    hits |= select(d2 <= sure, bit, 0u32);
                    doubts |= select(d2 <= maybe, bit, 0u32);
                    bit <<= 1;
                }
                if comptime!(shape.half) {
                    // Those up to the query's own place are not meant.
                    if query >= first {
                        // A shift by 32 is none, so it is done in two steps.
                        let behind_query = (!0u32 << (query - first)) << 1;
                        hits &= behind_query;
                        doubts &= behind_query;
                    }
                }
                if doubts != hits {
                    let mut left = Array::<u32>::new(1usize);
                    left[0] = doubts & !hits;
                    while left[0] != 0 {
                        let other = first + left[0].find_first_set() - 1;
                        let exact = exact_distance2::<F>(
                            &tree.axes,
                            other,
                            tree.stored,
                            &point,
                            &tree.exact_sides,
                            d,
                            periodic,
                        );
                        hits |= select(exact <= radius2, left[0] & (!left[0] + 1), 0u32);
                        left[0] = left[0] & (left[0] - 1);
                    }
                }
                if hits != 0 {
                    V::meet::<F>(&state, input, output, tree, &point, first, hits, shape);
                }
            }
            at = rope;
        } else {
            at += 1;
        }
    }
    if unit < n {
        V::finish(&state, input, output, query);
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    pub(super) fn tree<R: Runtime>(&self, client: &ComputeClient<R>, nodes: &Nodes<S>) -> TreeLaunch<S, R> {
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        TreeLaunch::new(
            nodes.bounds.arg(),
            nodes.ropes.arg(),
            nodes.first.arg(),
            self.axes.arg(),
            Buffer::from_slice(client, &sides.map(S::from_f64)).arg(),
            Buffer::from_slice(client, &sides).arg(),
            self.len() as u32,
        )
    }

    /// Walks the tree for each stored point, with one radius.
    pub(super) fn walk<R: Runtime, V: Visit>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        radius: f64,
        manner: Manner,
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let reach = Reach::<S, D>::new(radius, &self.space);
        let queries = QueriesLaunch::new(
            self.axes.arg(),
            Buffer::from_slice(client, &[reach.sure, reach.maybe]).arg(),
            Buffer::from_slice(client, &[reach.radius2]).arg(),
        );
        self.walk_queries::<R, V>(client, nodes, queries, self.len(), (manner, false), input, output);
    }

    /// Walks the tree for each of `n` queries, with radii of their own if so said.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn walk_queries<R: Runtime, V: Visit>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        queries: QueriesLaunch<S, R>,
        n: usize,
        (manner, own_radii): (Manner, bool),
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        if n == 0 {
            return;
        }
        let shape = Shape {
            d: D,
            periodic: self.space.period().is_some(),
            planes: client.properties().features.plane.contains(Plane::Ops),
            own_radii,
            half: manner == Manner::Half,
            whole: manner == Manner::Whole,
        };
        // SAFETY: nodes, ropes and firsts are those of a tree, so they stay within its points; a rope leads forward, so the walk
        // ends; visitors write to the places of their queries.
        unsafe {
            walk::launch_unchecked::<S, V, R>(
                client,
                cubes(n),
                CubeDim::new_1d(UNITS),
                self.tree(client, nodes),
                queries,
                input,
                output,
                n as u32,
                (nodes.ropes.len() - 1) as u32,
                shape,
            );
        }
    }
}
