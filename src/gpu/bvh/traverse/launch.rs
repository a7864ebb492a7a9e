//! The launch of a walk.
//!
//! In: a [`Bvh`], queries, and a visitor's buffers. Out: the visitor's output in these buffers.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `traverse`.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::packet::block_units;
use crate::gpu::bvh::traverse::spec::{QueriesLaunch, TraversalMode, TreeLaunch, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::traverse::walk::walk;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::primitives::warp::Warp;

/// The queries of a walk.
pub(in crate::gpu) struct WalkQueries<S: Coordinate, R: Runtime> {
    pub queries: QueriesLaunch<S, R>,
    /// The number of queries.
    pub n: usize,
    /// `true` if each query has its own radius.
    pub own_radii: bool,
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    pub(in crate::gpu) fn tree<R: Runtime>(&self, client: &ComputeClient<R>, nodes: &Nodes<S>) -> TreeLaunch<S, R> {
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        TreeLaunch::new(
            nodes.bounds.pairs(),
            nodes.links.pairs(),
            nodes.leaf_of_point.arg(),
            self.axes.arg(),
            Buffer::from_slice(client, &sides.map(S::from_f64)).arg(),
            Buffer::from_slice(client, &sides).arg(),
            self.len() as u32,
        )
    }

    /// Walks the tree for each stored point, with the same radius.
    pub(in crate::gpu) fn walk<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        radius: f64,
        mode: TraversalMode,
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let asked = self.balls_about(client, &self.axes, self.len(), radius);
        self.walk_queries::<R, V>(client, nodes, asked, mode, input, output);
    }

    /// Queries with the same radius around `n` points, which are stored axis by axis.
    pub(in crate::gpu) fn balls_about<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        axes: &Buffer<S>,
        n: usize,
        radius: f64,
    ) -> WalkQueries<S, R> {
        let filter = FilteredRadius::<S, D>::new(radius, &self.space);
        let queries = QueriesLaunch::new(
            axes.arg(),
            Buffer::from_slice(client, &[filter.certain_limit, filter.possible_limit]).arg(),
            Buffer::from_slice(client, &[filter.radius2]).arg(),
        );
        WalkQueries { queries, n, own_radii: false }
    }

    /// Walks the tree for each query.
    pub(in crate::gpu) fn walk_queries<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: WalkQueries<S, R>,
        mode: TraversalMode,
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let WalkQueries { queries, n, own_radii } = asked;
        if n == 0 {
            return;
        }
        let warp = Warp::new(client).apart();
        let spec = WalkSpec {
            d: D,
            periodic: self.space.period().is_some(),
            warp,
            own_radii,
            half: matches!(mode, TraversalMode::Half | TraversalMode::HalfUniform),
            whole: matches!(mode, TraversalMode::Whole | TraversalMode::WholeWarpFirst),
            warp_first: matches!(mode, TraversalMode::WholeWarpFirst | TraversalMode::EachWarpFirst),
            uniform: matches!(mode, TraversalMode::EachUniform | TraversalMode::HalfUniform),
            visitor: TypeId::of::<V>(),
        };
        let (blocks, dim) = warp.blocks(n, block_units(THREADS_PER_BLOCK, D));
        let (tree, queries, end) = (self.tree(client, nodes), queries, nodes.end() as u32);
        // SAFETY: the launch contract of `traverse`. The nodes are valid: built by this crate, or uploaded from a
        // tree of the CPU. `queries` has a query for each number below `n`.
        unsafe {
            walk::launch_unchecked::<S, V, R>(client, blocks, dim, tree, queries, input, output, n as u32, end, spec);
        }
    }
}
