//! The launches of a search for nearest neighbours.
//!
//! In: a [`Bvh`], queries, and rows to fill. Out: filled rows.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::launch::{HEAVY_THREADS, takes_runs};
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::approx_search::{BLOCK_THREADS, find_approximately};
use crate::gpu::search::nearest::arguments::{KnnSpec, NeighborRowsLaunch, QueriesLaunch, RowOrder, SearchLaunch};
use crate::gpu::search::nearest::exact_search::find_exactly;
use crate::gpu::search::nearest::limits::{ApproxLimitsLaunch, LimitsLaunch, exact_limits};
use crate::gpu::search::nearest::rows::Neighbors;
use crate::gpu::search::nearest::seeds::seeds;
use crate::gpu::search::nearest::sweep_nearest::{shared_bytes, sweep_nearest, sweep_threads};
use crate::gpu::search::nearest::{DOUBT_THREADS, MAX_K_PER_SEARCH};
use crate::gpu::search::query_points::QueryPoints;
use crate::search::nearest::{Excluded, Nearest};

/// A search: its queries, and the rows to fill.
struct Filling<'a, S> {
    queries: &'a QueryPoints<S>,
    /// The index of each stored point.
    order: &'a Buffer<u32>,
    found: &'a Neighbors,
    /// The squared radius; negative if nothing is within.
    radius2: f64,
    limits: Buffer<f64>,
    /// The index of the excluded point, if it is the same for all queries.
    excluded: u32,
    /// The number of nodes.
    end: u32,
    spec: KnnSpec,
}

impl<S: Coordinate> Filling<'_, S> {
    fn search<R: Runtime>(&self, limits: &Buffer<f64>) -> SearchLaunch<S, R> {
        let (axes, order) = (self.queries.axes.arg(), self.queries.order.arg());
        let queries = QueriesLaunch::new(axes, order, self.queries.order.len() as u32);
        SearchLaunch::new(self.order.arg(), queries, LimitsLaunch::new(limits.arg()), self.end, self.excluded)
    }

    /// The rows, to be filled from place `from` on.
    fn rows<R: Runtime>(&self, from: usize) -> NeighborRowsLaunch<R> {
        let (indices, distances2) = (self.found.indices.arg(), self.found.distances2.arg());
        NeighborRowsLaunch::new(indices, distances2, from as u32, self.found.k as u32)
    }

    /// The limits of rounded squared distances, which have this relative and absolute error and are at least `least`.
    fn approx_limits(&self, errors: [f64; 2], least: f64) -> [S; 5] {
        let [relative, absolute] = errors;
        // A factor of `(1 - relative)^-2` bounds an exact square by a rounded one, and another factor bounds other
        // rounded squares. The exponent -6 adds a margin.
        let factor = (1.0 - relative).powi(-6);
        let root = self.radius2.max(0.0).sqrt() + absolute;
        let limit = if self.radius2 < 0.0 { -1.0 } else { (root * root).max(least) * factor };
        [limit, factor, 2.0 * absolute, least, f64::INFINITY].map(S::from_f64)
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Searches for each query. There is at least one query, and `found.k` is at least 1. If rows have
    /// [`MAX_K_PER_SEARCH`] places for more neighbours than that, they hold those of the last search.
    pub(super) fn fill_rows<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        queries: &QueryPoints<S>,
        wanted: &Nearest,
        row_order: RowOrder,
        found: &Neighbors,
    ) {
        let (n, k) = (queries.order.len(), wanted.k.min(self.len()));
        let replaces = found.k < k;
        let excluded = if let Excluded::Index(index) = wanted.excluded { index } else { u32::MAX };
        let warp = Warp::new(client).apart();
        let spec = KnnSpec {
            warp,
            d: D,
            periodic: self.space.period().is_some(),
            k: found.k.min(MAX_K_PER_SEARCH),
            is_part: found.k > MAX_K_PER_SEARCH,
            replaces,
            is_first: true,
            are_stored: queries.are_stored,
            excludes_self: wanted.excluded == Excluded::Own,
            excludes_index: excluded != u32::MAX,
            row_order,
            only_heavy: false,
        };
        let radius2 = if wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 };
        let filling = Filling {
            queries,
            order: &self.order,
            found,
            radius2,
            limits: exact_limits::<_, S, D>(client, &self.space, radius2),
            excluded,
            end: nodes.end() as u32,
            spec,
        };
        let doubted = warp.is_some().then(|| {
            let most = client.properties().hardware.max_shared_memory_size;
            let by_runs = queries.are_stored && takes_runs(warp, n) && shared_bytes(spec, size_of::<S>()) <= most;
            let find = if by_runs { Self::find_by_runs } else { Self::find_by_walks };
            find(self, client, nodes, &filling)
        });
        for from in (0..k).step_by(MAX_K_PER_SEARCH) {
            let (is_first, listed) = (from == 0, from == 0 && doubted.is_some());
            let threads = if listed { n.min(DOUBT_THREADS) } else { n };
            // SAFETY: the launch contract of this module. If `listed`, `doubted` holds numbers of queries; otherwise
            // the list is not read.
            unsafe {
                find_exactly::launch_unchecked::<S, _>(
                    client,
                    blocks_for(threads),
                    CubeDim::new_1d(THREADS_PER_BLOCK),
                    self.tree(client, nodes),
                    filling.search(&filling.limits),
                    doubted.as_ref().unwrap_or(&queries.order).arg(),
                    filling.rows(if replaces { 0 } else { from }),
                    listed,
                    KnnSpec { is_first, ..spec },
                );
            }
        }
    }

    /// Searches by walks of warps, and returns the queries in doubt, after their count.
    fn find_by_walks<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        filling: &Filling<'_, S>,
    ) -> Buffer<u32> {
        let n = filling.queries.order.len();
        let doubted = Buffer::filled(client, n + 1, 0);
        let errors = FilteredRadius::<S, D>::errors(&self.space);
        let approx = Buffer::from_slice(client, &filling.approx_limits(errors, S::SAFE_SQUARES.start));
        self.walk_for(client, nodes, filling, &filling.limits, &approx, &doubted, None);
        doubted
    }

    /// Launches walks of warps, for all queries or for those of the heavy groups.
    fn walk_for<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        filling: &Filling<'_, S>,
        limits: &Buffer<f64>,
        approx: &Buffer<S>,
        doubted: &Buffer<u32>,
        heavy: Option<&Buffer<u32>>,
    ) {
        let n = filling.queries.order.len();
        let threads = if heavy.is_some() { n.min(HEAVY_THREADS) } else { n };
        let (blocks, dim) = filling.spec.warp.blocks(threads, BLOCK_THREADS);
        // SAFETY: the launch contract of this module. There are `k` places for each of the `n` queries, `doubted` has
        // `n + 1` elements, and heavy groups are groups of queries. Without them, their list is not read.
        unsafe {
            find_approximately::launch_unchecked::<S, _>(
                client,
                blocks,
                dim,
                self.tree(client, nodes),
                filling.search(limits),
                ApproxLimitsLaunch::new(approx.arg()),
                filling.rows(0),
                doubted.arg(),
                heavy.unwrap_or(&self.order).arg(),
                KnnSpec { only_heavy: heavy.is_some(), ..filling.spec },
            );
        }
    }

    /// Searches for stored points by runs, and returns the queries in doubt, after their count.
    fn find_by_runs<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        filling: &Filling<'_, S>,
    ) -> Buffer<u32> {
        let (n, spec) = (self.len(), filling.spec);
        let doubted = Buffer::filled(client, n + 1, 0);
        // Squared distances are distinguished as `f32` only.
        let [relative, absolute] = FilteredRadius::<S, D>::errors(&self.space);
        let errors = [relative + f64::from(f32::EPSILON), absolute];
        let squares = S::SAFE_SQUARES.start.max(1e-30)..S::SAFE_SQUARES.end.min(1e30);
        let first_limits = filling.approx_limits(errors, squares.start);
        let approx = Buffer::from_slice(client, &first_limits);
        let limits = [filling.radius2, 1.0 - errors[0], absolute, squares.start, f64::INFINITY, squares.end];
        let limits = Buffer::from_slice(client, &limits);
        let approx_arg = ApproxLimitsLaunch::new(approx.arg());
        let tree = self.tree(client, nodes);
        let filters = seeds::<S, R>(client, tree, filling.search(&limits), approx_arg, n, first_limits[0], spec);
        let asked = WalkQueries {
            axes: self.axes.clone(),
            filters,
            // Decides nothing here.
            radius2: limits.clone(),
            n,
            own_radii: true,
            are_stored: true,
        };
        let listed = self.runs_near(client, nodes, &asked, TraversalMode::Nearest);
        let (blocks, dim) = spec.warp.blocks(n, sweep_threads(spec.k));
        // SAFETY: the launch contract of this module. Runs are within the points of the tree. There are `k` places for
        // each of the `n` points, and `doubted` has `n + 1` elements.
        unsafe {
            sweep_nearest::launch_unchecked::<S, _>(
                client,
                blocks,
                dim,
                self.tree(client, nodes),
                filling.search(&limits),
                ApproxLimitsLaunch::new(approx.arg()),
                asked.filters.arg(),
                listed.groups(),
                listed.runs(),
                filling.rows(0),
                doubted.arg(),
                spec,
            );
        }
        self.walk_for(client, nodes, filling, &limits, &approx, &doubted, Some(&listed.heavy));
        doubted
    }
}
