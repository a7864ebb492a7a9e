//! The shapes that rays cross, in order along each ray: the GPU counterpart of `search::crossings`.
//!
//! In: rays. Out: for each ray the shapes that it meets, with the part of the ray inside each, sorted by the first
//! parameter, then by index.
//! One walk counts the crossings, and another one lists them. Each list is then sorted. In space the walks are those of a
//! wide tree (`wide_walk`), otherwise those of `walk`.
//! Cost: O(depth + hits) tests, and O(h log² h) to sort h hits.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Ray;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase, grid};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::list::{List, ListOutputLaunch};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::search::hit_lists::{HitLists, HitListsLaunch, sort_lists};
use crate::gpu::search::mesh::Rays;
use crate::gpu::search::mesh::prepared::PreparedRays;
use crate::gpu::search::mesh::wide_boxes::WideBoxes;
use crate::gpu::search::neighbors::Count;
use crate::gpu::search::shapes::box_tests::ray_enters;
use crate::gpu::search::shapes::row_walk::{ShapeRows, ShapeRowsLaunch};
use crate::gpu::search::shapes::rows::RAY_NUMBERS;
use crate::gpu::search::shapes::searched_tree::{SearchedTree, StoredRows};
use crate::gpu::search::shapes::shape::{Crossed, HitBy, ShapeKind};
use crate::gpu::search::shapes::tests::CrossingTest;
use crate::gpu::search::shapes::values::ValueBvh;
use crate::gpu::search::shapes::wide_walk::{WideRaysLaunch, WideSpec, WideTreeLaunch, cross_rays};
use crate::parallel::map;
use crate::search::Crossing;

/// The shapes that each of many rays crosses, in order along the rays, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct Crossings {
    pub(in crate::gpu) lists: Csr,
    /// The parameters where the ray enters and leaves, for each entry.
    pub(in crate::gpu) numbers: Buffer<f64>,
    /// The number of stored values.
    pub(in crate::gpu) n_stored: usize,
}

impl Crossings {
    /// Returns the indices of the values of each list.
    pub fn indices(&self) -> &Csr {
        &self.lists
    }

    /// Returns two numbers per entry: the parameters where the ray enters and leaves the shape.
    pub fn parameters(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.lists.device, values: self.numbers.clone() }
    }

    /// Copies the lists to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<crate::Csr<Crossing>> {
        on!(self.lists.device, client => {
            let (lists, numbers) = (self.lists.read()?, self.numbers.read(client)?);
            let crossing = |(&index, &[enter, leave]): (&u32, &[f64; 2])| Crossing { index, enter, leave };
            let crossings = lists.values().iter().zip(numbers.as_chunks().0).map(crossing).collect();
            Ok(crate::Csr::from_parts(lists.offsets().to_vec(), crossings))
        })
    }
}

/// Threads of a block that walks wide trees, whose many registers leave room for few warps.
const WIDE_THREADS: u32 = 64;

/// Rays per parallel task.
const TASK: usize = 1 << 14;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CrossingSpec {
    d: usize,
    /// The number of numbers of a stored value.
    stored: usize,
    /// The type of the test. Cached kernels are identified by type names, and two types may have the same name.
    test: TypeId,
}

impl<T: Crossed<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Finds the values that each ray crosses, in order along the ray, as [`crate::ValueBvh::crossings_all`].
    ///
    /// [`Crossings::map`] calls a user-defined kernel for them.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, ValueBvh};
    /// use ropewalk::{Aabb, Ray};
    ///
    /// let panes = vec![Aabb::new([2.0f32, 0.0], [4.0, 1.0]), Aabb::new([0.0, 0.0], [1.0, 1.0])];
    /// let bvh = ValueBvh::build(panes, Device::first()?)?;
    /// let lists = bvh.crossings_all(&[Ray::new([-1.0, 0.5], [1.0, 0.0])])?.read()?;
    /// assert_eq!(lists.of(0).iter().map(|pane| [pane.enter, pane.leave]).collect::<Vec<_>>(), [[1.0, 2.0], [3.0, 5.0]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ValueBvh::query_all`]. There may be at most 2^31 - 1 entries. Without CUDA, a ray may cross at most 3000
    /// values.
    ///
    /// # Cost
    /// Two walks and a sort. Memory: 20 bytes per entry and 4 per ray; while it runs, by the sizes of buffers, some 150
    /// more per ray. In space the first call builds a wide tree, with some 100 bytes per value of `f32` and 130 of `f64`,
    /// which later calls use.
    pub fn crossings_all(&self, rays: &[Ray<S, D>]) -> Result<Crossings> {
        let device = self.device();
        on!(device, client => {
            let offsets = Buffer::<u32>::filled(client, rays.len() + 1, 0);
            let Some((tree, stored)) = self.searched().filter(|_| !rays.is_empty()) else {
                let lists = Csr { device, offsets, values: Buffer::new(client, 0) };
                return Ok(Crossings { lists, numbers: Buffer::new(client, 0), n_stored: self.len() });
            };
            let (indices, numbers) = match self.wide_boxes(client)? {
                Some(wide) => self.cross_wide(client, wide, rays, &offsets)?,
                None => cross_rows::<_, T, S, D>(client, &tree, stored, rays, &offsets)?,
            };
            sort_lists(client, &indices, &numbers, &offsets, 2)?;
            end_phase(client, "sort")?;
            Ok(Crossings { lists: Csr { device, offsets, values: indices }, numbers, n_stored: self.len() })
        })
    }

    /// Lists what each ray crosses by a walk of the wide tree, for shapes in space, unsorted. Replaces `offsets`.
    fn cross_wide<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        wide: &WideBoxes<S>,
        rays: &[Ray<S, D>],
        offsets: &Buffer<u32>,
    ) -> Result<(Buffer<u32>, Buffer<f64>)> {
        let in_space = |ray: &Ray<S, D>| Ray {
            origin: std::array::from_fn(|k| ray.origin[k]),
            direction: std::array::from_fn(|k| ray.direction[k]),
            from: ray.from,
            to: ray.to,
        };
        let rays = Rays::new(&map(rays.len(), TASK, &|at| in_space(&rays[at])), self.device())?;
        let prepared = PreparedRays::new(client, &wide.items, &rays)?;
        end_phase(client, "queries")?;
        let stored = self.stored();
        let mut spec = WideSpec {
            stored: stored.width,
            has_ranges: rays.has_ranges(),
            is_ordered: prepared.is_ordered(),
            lists: false,
            decides: T::DECIDES,
            are_boxes: stored.kind == ShapeKind::Box,
            types: [TypeId::of::<<T as HitBy<Ray<S, D>, S, D>>::Test>(), TypeId::of::<T::Crossing>()],
        };
        let walk = |spec: WideSpec, indices: &Buffer<u32>, numbers: &Buffer<f64>, counts: &Buffer<u32>| {
            cross_rays::launch::<S, <T as HitBy<Ray<S, D>, S, D>>::Test, T::Crossing, R>(
                client,
                grid(rays.len().div_ceil(WIDE_THREADS as usize)),
                CubeDim::new_1d(WIDE_THREADS),
                WideTreeLaunch::new(
                    wide.tree.arg(),
                    wide.items.arg(),
                    ShapeRowsLaunch::new(stored.rows.arg(), stored.extra.arg()),
                    self.boxes().order.arg(),
                ),
                WideRaysLaunch::new(rays.arg(), prepared.arg()),
                HitListsLaunch::new(indices.arg(), numbers.arg(), offsets.arg()),
                counts.arg(),
                rays.len() as u32,
                spec,
            );
        };
        let (no_indices, no_numbers) = (Buffer::new(client, 0), Buffer::new(client, 0));
        walk(spec, &no_indices, &no_numbers, offsets);
        let (indices, numbers) = allocate(client, offsets)?;
        spec.lists = true;
        walk(spec, &indices, &numbers, &no_indices);
        end_phase(client, "hits")?;
        Ok((indices, numbers))
    }
}

/// Replaces numbers of crossings by offsets, and returns buffers for the crossings.
fn allocate<R: Runtime>(client: &ComputeClient<R>, offsets: &Buffer<u32>) -> Result<(Buffer<u32>, Buffer<f64>)> {
    let indices: Buffer<u32> = Csr::allocate_values(client, offsets)?;
    if 2 * indices.len() as u128 > u128::from(u32::MAX) {
        return Err(errors::too_many_values(2 * indices.len() as u128, "parameters of crossings"));
    }
    check_allocation(client, 16 * indices.len() as u128)?;
    let numbers = Buffer::new(client, 2 * indices.len());
    Ok((indices, numbers))
}

/// Lists what each ray crosses by a walk of rows, unsorted. Replaces `offsets`.
fn cross_rows<R: Runtime, T: Crossed<S, D>, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    tree: &SearchedTree<S, D>,
    stored: &StoredRows,
    rays: &[Ray<S, D>],
    offsets: &Buffer<u32>,
) -> Result<(Buffer<u32>, Buffer<f64>)> {
    let rows = tree.sort_queries(client, rays, true)?;
    end_phase(client, "queries")?;
    let (input, counts) = (|| rows.order.arg(), || offsets.arg());
    tree.walk::<_, Ray<S, D>, <T as HitBy<Ray<S, D>, S, D>>::Test, Count>(client, &rows, Some(stored), input, counts);
    let (indices, numbers) = allocate(client, offsets)?;
    // The walk lists positions in the tree, because the numbers of values are in its order.
    let positions = Buffer::iota(client, tree.order.len());
    let lists = || ListOutputLaunch::new(positions.arg(), rows.order.arg(), offsets.arg());
    let values = || indices.arg();
    tree.walk::<_, Ray<S, D>, <T as HitBy<Ray<S, D>, S, D>>::Test, List>(client, &rows, Some(stored), lists, values);
    end_phase(client, "hits")?;
    let spec = CrossingSpec { d: D, stored: stored.width, test: TypeId::of::<T::Crossing>() };
    find_crossings::launch::<S, T::Crossing, _>(
        client,
        blocks_for(rays.len()),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        tree.arg(client),
        rows.rows.arg(),
        rows.order.arg(),
        ShapeRowsLaunch::new(stored.rows.arg(), stored.extra.arg()),
        tree.order.arg(),
        HitListsLaunch::new(indices.arg(), numbers.arg(), offsets.arg()),
        rays.len() as u32,
        spec,
    );
    Ok((indices, numbers))
}

/// Replaces the positions in the list of each of `n` rays by indices, and computes the parts of the ray. A
/// part does not begin before the box of the value.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn find_crossings<F: Float, T: CrossingTest>(
    tree: &Tree<F>,
    rows: &Array<f64>,
    rays: &Array<u32>,
    stored: &ShapeRows,
    order: &Array<u32>,
    lists: &mut HitLists,
    n: u32,
    #[comptime] spec: CrossingSpec,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let count = comptime!(2 * spec.d + 2);
        let (mut row, mut ray) = (Array::<f64>::new(comptime!(RAY_NUMBERS + 2 * spec.d + 2)), Array::<f64>::new(count));
        #[unroll]
        for k in 0..comptime!(RAY_NUMBERS + 2 * spec.d + 2) {
            row[k] = rows[at * comptime!(RAY_NUMBERS + 2 * spec.d + 2) + k];
        }
        #[unroll]
        for k in 0..count {
            ray[k] = row[RAY_NUMBERS + k];
        }
        let mut primitive = Array::<F>::new(comptime!(2 * spec.d));
        let list = rays[at] as usize;
        let (first, end) = (lists.offsets[list], lists.offsets[list + 1]);
        for entry in first..end {
            let position = lists.indices[entry as usize];
            let from = position * comptime!(spec.stored as u32);
            let part = T::crossing(&stored.rows, from, &stored.extra, &ray);
            #[unroll]
            for k in 0..comptime!(2 * spec.d) {
                primitive[k] = tree.axes[k * tree.stored as usize + position as usize];
            }
            let enter = max(part[0], ray_enters::<F>(&row, &primitive, comptime!(spec.d)));
            lists.numbers[2 * entry as usize] = enter;
            lists.numbers[2 * entry as usize + 1] = max(part[1], enter);
            lists.indices[entry as usize] = order[position as usize];
        }
    }
}
