//! The launch of a walk.
//!
//! In: a [`Bvh`], queries, and a visitor's buffers. Out: the visitor's output in these buffers.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `traverse`.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::{List, ListOutputLaunch};
use crate::gpu::bvh::traverse::packet::block_units;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::query_boxes::box_groups;
use crate::gpu::bvh::traverse::runs::{RunBuffers, group_limits, list_runs};
use crate::gpu::bvh::traverse::spec::{TraversalMode, TreeLaunch, WalkSpec};
use crate::gpu::bvh::traverse::sweep::sweep;
use crate::gpu::bvh::traverse::sweep_rows::{ROW_THREADS, sweep_rows};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::traverse::walk::walk;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::primitives::warp::Warp;
use crate::gpu::warp_choice::WarpChoice;

/// Threads of a launch that walks for heavy groups, each for several if there are many.
pub(in crate::gpu) const HEAVY_THREADS: usize = 1 << 18;

/// The minimum number of queries for which runs are listed. With fewer, one thread for 32 queries leaves most of a
/// device idle (`benches/GPU_RUNS.md`).
const LEAST_QUERIES: usize = 3 << 18;

/// Returns `true` if runs are listed for `n` queries.
pub(in crate::gpu) fn takes_runs(warp: Warp, n: usize) -> bool {
    warp.is_some() && n > 0 && (n >= LEAST_QUERIES || is_forced())
}

/// Returns `true` if `ROPEWALK_WARP` is set, so that few queries are enough for what warps do.
pub(in crate::gpu) fn is_forced() -> bool {
    WarpChoice::forced().is_ok_and(|choice| choice.is_some())
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
        input: impl Fn() -> <V::Input as LaunchArg>::RuntimeArg<R>,
        output: impl Fn() -> <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let asked = self.balls_about_stored(client, radius);
        self.walk_queries::<R, V>(client, nodes, &asked, mode, input, output);
    }

    /// Queries with the same radius around all stored points.
    pub(in crate::gpu) fn balls_about_stored<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        radius: f64,
    ) -> WalkQueries<S> {
        WalkQueries { are_stored: true, ..self.balls_about(client, &self.axes, self.len(), radius) }
    }

    /// Queries with the same radius around `n` points, whose coordinates are given axis by axis.
    pub(in crate::gpu) fn balls_about<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        axes: &Buffer<S>,
        n: usize,
        radius: f64,
    ) -> WalkQueries<S> {
        let filter = FilteredRadius::<S, D>::new(radius, &self.space);
        WalkQueries {
            axes: axes.clone(),
            filters: Buffer::from_slice(client, &[filter.certain_limit, filter.possible_limit]),
            radius2: Buffer::from_slice(client, &[filter.radius2]),
            n,
            own_radii: false,
            are_stored: false,
        }
    }

    /// Walks the tree for each query.
    pub(in crate::gpu) fn walk_queries<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        mode: TraversalMode,
        input: impl Fn() -> <V::Input as LaunchArg>::RuntimeArg<R>,
        output: impl Fn() -> <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let listed = self.list_runs(client, nodes, asked, mode);
        self.walk_listed::<R, V>(client, nodes, asked, mode, listed.as_ref(), input, output);
    }

    /// Lists the runs near each group of queries, for one or several walks; `None` if queries walk without them, as few
    /// queries do unless `ROPEWALK_WARP` is set.
    pub(in crate::gpu) fn list_runs<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        mode: TraversalMode,
    ) -> Option<RunBuffers<S>> {
        let spec = self.walk_spec::<R, ()>(client, asked, mode);
        let sweeps = (!spec.uniform || spec.half) && takes_runs(spec.warp, asked.n);
        sweeps.then(|| self.runs_near(client, nodes, asked, mode))
    }

    /// Lists the runs near each group of queries, of which there is at least one, on a device with warps.
    pub(in crate::gpu) fn runs_near<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        mode: TraversalMode,
    ) -> RunBuffers<S> {
        let spec = self.walk_spec::<R, ()>(client, asked, mode);
        let new = || box_groups(client, &asked.axes, asked.n, spec);
        let boxes = if asked.are_stored { self.group_boxes.get_or_init(new).clone() } else { new() };
        let limits = group_limits(client, asked, &boxes, spec);
        list_runs(client, self.tree(client, nodes), asked.n, (boxes, limits), nodes.end() as u32, mode, spec)
    }

    /// Walks the tree for each query, with the runs of [`Bvh::list_runs`].
    pub(in crate::gpu) fn walk_listed<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        mode: TraversalMode,
        listed: Option<&RunBuffers<S>>,
        input: impl Fn() -> <V::Input as LaunchArg>::RuntimeArg<R>,
        output: impl Fn() -> <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let spec = self.walk_spec::<R, V>(client, asked, mode);
        // The first limit would be taken for that of the radius.
        debug_assert!(!V::HAS_INNER || !(spec.whole || spec.uniform));
        if let Some(listed) = listed {
            let (blocks, dim) = spec.warp.blocks(asked.n, block_units(THREADS_PER_BLOCK, D));
            // SAFETY: the launch contract of `traverse`. Runs are within the points of the tree.
            unsafe {
                sweep::launch_unchecked::<S, V, R>(
                    client,
                    blocks,
                    dim,
                    self.tree(client, nodes),
                    asked.arg(),
                    listed.groups(),
                    listed.runs(),
                    input(),
                    output(),
                    asked.n as u32,
                    WalkSpec { uniform: false, ..spec },
                );
            }
        }
        self.walk_each::<R, V>(client, nodes, asked, spec, listed, input(), output());
    }

    /// Walks the tree for each query, or for the queries of the heavy groups if runs are listed.
    fn walk_each<R: Runtime, V: LeafVisitor>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        spec: WalkSpec,
        listed: Option<&RunBuffers<S>>,
        input: <V::Input as LaunchArg>::RuntimeArg<R>,
        output: <V::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        if asked.n == 0 {
            return;
        }
        let threads = if listed.is_some() { asked.n.min(HEAVY_THREADS) } else { asked.n };
        let (blocks, dim) = spec.warp.blocks(threads, block_units(THREADS_PER_BLOCK, D));
        // SAFETY: the launch contract of `traverse`. The nodes are valid: built by this crate, or uploaded from a
        // tree of the CPU. `asked` has a query for each number below `n`, and heavy groups are groups of queries.
        unsafe {
            walk::launch_unchecked::<S, V, R>(
                client,
                blocks,
                dim,
                self.tree(client, nodes),
                asked.arg(),
                input,
                output,
                // Not read if no runs are listed.
                listed.map_or(&nodes.leaf_of_point, |listed| &listed.heavy).arg(),
                asked.n as u32,
                nodes.end() as u32,
                WalkSpec { only_heavy: listed.is_some(), ..spec },
            );
        }
    }

    /// Lists the points within the radius of each query, where `rows` has the begin of each list. `listed` has the runs
    /// of these queries.
    pub(in crate::gpu) fn write_lists<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        listed: Option<&RunBuffers<S>>,
        rows: impl Fn() -> ListOutputLaunch<R>,
        values: &Buffer<u32>,
    ) {
        let spec = self.walk_spec::<R, List>(client, asked, TraversalMode::Each);
        if let Some(listed) = listed {
            let (blocks, dim) = spec.warp.blocks(asked.n, ROW_THREADS);
            // SAFETY: the launch contract of `traverse`. Runs are within the points of the tree, and lists have room
            // for the points within the radius.
            unsafe {
                sweep_rows::launch_unchecked::<S, R>(
                    client,
                    blocks,
                    dim,
                    self.tree(client, nodes),
                    asked.arg(),
                    listed.groups(),
                    listed.runs(),
                    rows(),
                    values.arg(),
                    asked.n as u32,
                    spec,
                );
            }
        }
        self.walk_each::<R, List>(client, nodes, asked, spec, listed, rows(), values.arg());
    }

    fn walk_spec<R: Runtime, V: 'static>(
        &self,
        client: &ComputeClient<R>,
        asked: &WalkQueries<S>,
        mode: TraversalMode,
    ) -> WalkSpec {
        WalkSpec {
            d: D,
            periodic: self.space.period().is_some(),
            warp: Warp::new(client).apart(),
            own_radii: asked.own_radii,
            half: matches!(mode, TraversalMode::Half | TraversalMode::HalfUniform),
            whole: matches!(mode, TraversalMode::Whole | TraversalMode::WholeWarpFirst),
            warp_first: matches!(mode, TraversalMode::WholeWarpFirst | TraversalMode::EachWarpFirst),
            uniform: matches!(mode, TraversalMode::EachUniform | TraversalMode::HalfUniform),
            only_heavy: false,
            visitor: TypeId::of::<V>(),
        }
    }
}
