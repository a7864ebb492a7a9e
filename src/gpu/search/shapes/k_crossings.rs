//! The first k shapes that rays cross: the GPU counterpart of `search::crossings`.
//!
//! In: rays. Out: for each ray the first k shapes that it meets, in order along the ray.
//! A thread walks the tree for each ray, nearer children first, and keeps the first crossings so far in a heap. Nodes
//! behind the last of them are skipped. The crossings are then sorted, and rows of k become lists.
//! Cost: O(k + depth) nodes if boxes are small and apart; O(log k) per hit. Memory: k crossings per ray.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::bvh::DEPTH;
use crate::error::Result;
use crate::geometry::Ray;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::errors;
use crate::gpu::metric::corners;
use crate::gpu::search::hit_lists::{HitLists, HitListsLaunch, check_sortable, keep_first, lists_of_rows, sort_list};
use crate::gpu::search::shapes::box_tests::{RowSpec, approximate, end_ray_at, may_meet, meets, ray_enters};
use crate::gpu::search::shapes::crossings::Crossings;
use crate::gpu::search::shapes::row_walk::{ShapeRows, ShapeRowsLaunch};
use crate::gpu::search::shapes::rows::{RAY_NUMBERS, RowShape};
use crate::gpu::search::shapes::shape::{Crossed, HitBy};
use crate::gpu::search::shapes::tests::{CrossingTest, HitTest};
use crate::gpu::search::shapes::values::ValueBvh;

/// The test of a ray and a stored value.
type RayHitTest<T, S, const D: usize> = <T as HitBy<Ray<S, D>, S, D>>::Test;

impl<T: Crossed<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Finds the first `k` values that each ray crosses, in order along the ray, as
    /// [`crate::ValueBvh::k_crossings_all`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, ValueBvh};
    /// use ropewalk::{Aabb, Ray};
    ///
    /// let panes = [2.0f32, 0.0, 5.0].map(|x| Aabb::new([x, 0.0], [x + 1.0, 1.0]));
    /// let bvh = ValueBvh::build(panes.to_vec(), Device::first()?)?;
    /// let lists = bvh.k_crossings_all(&[Ray::new([-1.0, 0.5], [1.0, 0.0])], 2)?.read()?;
    /// assert_eq!(lists.of(0).iter().map(|pane| (pane.index, pane.enter)).collect::<Vec<_>>(), [(1, 1.0), (0, 3.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ValueBvh::query_all`]. The number of rays times `k`, or times the number of values if that is smaller, may
    /// be at most 2^31 - 1. Without CUDA, `k` or the number of values may be at most
    /// 3000.
    ///
    /// # Cost
    /// One walk, which ends behind the `k`-th crossing of a ray. Memory: 20 bytes per entry and 4 per ray. While it
    /// runs, it takes 20 `k` bytes more per ray, and in space some 210.
    pub fn k_crossings_all(&self, rays: &[Ray<S, D>], k: usize) -> Result<Crossings> {
        let (device, k) = (self.device(), k.min(self.len()));
        on!(device, client => {
            let offsets = Buffer::<u32>::filled(client, rays.len() + 1, 0);
            let Some((tree, stored)) = self.searched().filter(|_| !rays.is_empty() && k > 0) else {
                let lists = Csr { device, offsets, values: Buffer::new(client, 0) };
                return Ok(Crossings { lists, numbers: Buffer::new(client, 0), n_stored: self.len() });
            };
            let places = rays.len() as u128 * k as u128;
            if 2 * places > u128::from(u32::MAX) {
                return Err(errors::too_many_values(2 * places, "parameters of crossings"));
            }
            check_allocation(client, 16 * places)?;
            check_sortable(client, k as u32)?;
            let queries = tree.sort_queries(client, rays, true)?;
            end_phase(client, "queries")?;
            let spec = RowSpec {
                d: D,
                periodic: false,
                shape: RowShape::Ray,
                is_f32: S::IS_F32,
                width: RowShape::Ray.width(D, false) + 2 * D + 2,
                stored: stored.width,
                are_points: false,
                only_heavy: false,
                types: [TypeId::of::<RayHitTest<T, S, D>>(), TypeId::of::<T::Crossing>(), TypeId::of::<()>()],
            };
            let places = places as usize;
            let (indices, numbers) = (Buffer::<u32>::new(client, places), Buffer::<f64>::new(client, 2 * places));
            find_first::launch::<S, RayHitTest<T, S, D>, T::Crossing, _>(
                client,
                blocks_for(rays.len()),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                tree.arg(client),
                ShapeRowsLaunch::new(queries.rows.arg(), queries.extra.arg()),
                ShapeRowsLaunch::new(stored.rows.arg(), stored.extra.arg()),
                OrdersLaunch::new(queries.order.arg(), tree.order.arg()),
                HitListsLaunch::new(indices.arg(), numbers.arg(), offsets.arg()),
                rays.len() as u32,
                k as u32,
                spec,
            );
            end_phase(client, "hits")?;
            let (indices, numbers) = lists_of_rows(client, indices, numbers, &offsets, k, 2)?;
            Ok(Crossings { lists: Csr { device, offsets, values: indices }, numbers, n_stored: self.len() })
        })
    }
}

/// The indices of rays and of stored values.
#[derive(CubeType, CubeLaunch)]
struct Orders {
    rays: Array<u32>,
    values: Array<u32>,
}

/// Finds the first `k` crossings of each of `n` rays. Row `i` of the lists has room for those of ray `i`; their number
/// is written to its offset.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn find_first<F: Float, B: HitTest, T: CrossingTest>(
    tree: &Tree<F>,
    queries: &ShapeRows,
    stored: &ShapeRows,
    orders: &Orders,
    lists: &mut HitLists,
    n: u32,
    k: u32,
    #[comptime] spec: RowSpec,
) {
    let query = ABSOLUTE_POS;
    if (query as u32) < n {
        let d = comptime!(spec.d);
        let from = query * comptime!(spec.width);
        let mut own = Array::<f64>::new(comptime!(spec.width));
        #[unroll]
        for at in 0..comptime!(spec.width) {
            own[at] = queries.rows[from + at];
        }
        // Tests of shapes read the whole ray; the row is that of the ray up to the last crossing of interest.
        let mut ray = Array::<f64>::new(comptime!(2 * spec.d + 2));
        #[unroll]
        for at in 0..comptime!(2 * spec.d + 2) {
            ray[at] = own[RAY_NUMBERS + at];
        }
        let mut near = approximate::<F>(&own, spec);
        let list = orders.rays[query];
        let first = list * k;
        let mut primitive = Array::<F>::new(comptime!(2 * spec.d));
        let mut above = Array::<u32>::new(DEPTH);
        // The current node, or `NONE`; the number of nodes above that are left; and the number of crossings.
        let mut state = Array::<u32>::new(3usize);
        state[0] = 0;
        state[1] = 0;
        state[2] = 0;
        while state[0] != NONE {
            let at = state[0] + 0;
            state[0] = NONE.runtime();
            if may_meet::<F>(&own, &near, &corners::<F>(&tree.bounds, at, d), tree, spec) {
                let end = tree.links[at as usize][0];
                if end != at + 1 {
                    let left = at + 1;
                    let right = tree.links[left as usize][0];
                    let is_left_nearer = is_before::<F>(tree, left, right, &ray, d);
                    above[state[1] as usize] = select(is_left_nearer, right, left);
                    state[1] = state[1] + 1;
                    state[0] = select(is_left_nearer, left, right);
                } else {
                    for position in tree.links[at as usize][1]..tree.links[end as usize][1] {
                        #[unroll]
                        for axis in 0..2 * d {
                            primitive[axis] = tree.axes[axis * tree.stored as usize + position as usize];
                        }
                        let mut is_hit = may_meet::<F>(&own, &near, &primitive, tree, spec);
                        if comptime!(spec.is_filtered()) {
                            if is_hit {
                                is_hit = meets::<F>(&own, &primitive, &tree.exact_sides, spec);
                            }
                        }
                        let stored_at = position * comptime!(spec.stored as u32);
                        if is_hit {
                            let numbers = (from + RAY_NUMBERS) as u32;
                            is_hit = B::is_hit(
                                &stored.rows,
                                stored_at,
                                &stored.extra,
                                &queries.rows,
                                numbers,
                                &queries.extra,
                            );
                        }
                        if is_hit {
                            let part = T::crossing(&stored.rows, stored_at, &stored.extra, &ray);
                            let mut inside = Array::<f64>::new(2usize);
                            inside[0] = max(part[0], ray_enters::<F>(&own, &primitive, d));
                            inside[1] = max(part[1], inside[0]);
                            let index = orders.values[position as usize];
                            state[2] = keep_first(lists, first, k, state[2] + 0, index, &inside, 2usize);
                            if state[2] == k {
                                let last = lists.numbers[2 * first as usize];
                                end_ray_at::<F>(&mut own, &mut near, last, spec);
                            }
                        }
                    }
                }
            }
            if state[0] == NONE && state[1] > 0 {
                state[1] = state[1] - 1;
                state[0] = above[state[1] as usize];
            }
        }
        sort_list(lists, first, state[2], 2usize);
        lists.offsets[list as usize] = state[2];
    }
}

/// Returns `true` if the centre of node `a` is before that of node `b` in the direction of the ray.
#[cube]
fn is_before<F: Float>(tree: &Tree<F>, a: u32, b: u32, ray: &Array<f64>, #[comptime] d: usize) -> bool {
    let (one, other) = (corners::<F>(&tree.bounds, a, d), corners::<F>(&tree.bounds, b, d));
    let mut ahead = F::new(0.0);
    #[unroll]
    for k in 0..d {
        ahead += (other[k] + other[d + k] - one[k] - one[d + k]) * F::cast_from(ray[d + k]);
    }
    ahead >= F::new(0.0)
}

/// No node.
const NONE: u32 = u32::MAX;
