//! The nearest boxes or shapes of a tree on a device.
//!
//! In: points, or boxes if the stored primitives are boxes. Out: for each the k nearest stored primitives, nearest first,
//! ties by index, with the distances of the CPU. A thread descends to the leaf of the nearer children, compares its
//! primitives, and then walks the tree with the radius found. Shapes are tested if their boxes are near enough. All
//! distances are in `f64`.
//! Cost: O(k + depth) leaves for each query if boxes are small; more if many boxes contain it, all of them at distance
//! zero.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::bvh::copied;
use crate::error::Result;
use crate::geometry::{Aabb, Bounded};
use crate::gpu::buffer::{THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::metric::{boxes_distance2, corners, exact_boxes_distance2};
use crate::gpu::search::nearest::{MAX_K_PER_SEARCH, Neighbors, insert};
use crate::gpu::search::shapes::rows::{SortedRows, write_extent};
use crate::gpu::search::shapes::tests::DistanceTest;
use crate::gpu::search::shapes::walk::{SearchedTree, ShapeRows, ShapeRowsLaunch, StoredRows};
use crate::search::nearest::Nearest;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NearestSpec {
    d: usize,
    periodic: bool,
    k: usize,
    /// `true` if the search fills a part of each row, and `false` for later parts.
    is_part: bool,
    is_first: bool,
    /// `true` if coordinates are `f32`.
    is_f32: bool,
    /// `true` if the stored boxes are points, with one corner.
    are_points: bool,
    /// The number of numbers of a stored shape; 0 for boxes.
    stored: usize,
    /// The type of the test of shapes. Cached kernels are identified by type names, and two types may have the same name.
    test: TypeId,
}

/// The range of squares in `f32` that have not lost their digits and have not overflowed.
const SMALLEST_SQUARE: f32 = 1e-30;
const LARGEST_SQUARE: f32 = 1e38;
/// Less than 1 by more than the relative rounding errors of a squared distance in `f32`, with up to ten dimensions.
const LESS: f32 = 1.0 - 16.0 * f32::EPSILON;

impl NearestSpec {
    /// Returns `true` if boxes are tested in `f32` first: [`LESS`] holds, and squares of differences do not cancel.
    fn is_filtered(self) -> bool {
        self.is_f32 && !self.periodic && self.d <= 10
    }
}

/// The queries of a search, and its limits.
#[derive(CubeType, CubeLaunch)]
struct NearestQueries {
    /// 1, or 0 for a query without neighbours; the lower and the upper corner; the squared radius; the number of
    /// neighbours; and the index of the excluded primitive, or [`u32::MAX`].
    rows: Array<f64>,
    /// The index of each query in the caller's slice.
    queries: Array<u32>,
    /// The index of each stored box.
    order: Array<u32>,
    /// The number of queries.
    n: u32,
    /// The number of nodes.
    end: u32,
}

/// The rows to fill.
#[derive(CubeType, CubeLaunch)]
struct FoundRows {
    indices: Array<u32>,
    distances2: Array<f64>,
    /// The first place to fill in each row, and the length of a row.
    from: u32,
    width: u32,
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Finds the stored boxes nearest to each query, nearest first, ties by index, as [`crate::Bvh::nearest_all`].
    ///
    /// Queries are points or boxes, or any type with a box ([`Bounded`]). The distance of two boxes is that of their
    /// nearest points, and zero if they meet. `wanted` is `k` or a [`Nearest`]. In a periodic box, queries may be
    /// anywhere. A query that is not finite has no neighbours.
    ///
    /// ```no_run
    /// use ropewalk::Aabb;
    /// use ropewalk::gpu::{BoxBvh, Device};
    ///
    /// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([4.0, 0.0], [6.0, 2.0])];
    /// let bvh = BoxBvh::build(&boxes, Device::first()?)?;
    /// let lists = bvh.nearest_all(&[[3.0f32, 1.0]], 2)?.read()?;
    /// assert_eq!(lists.of(0).iter().map(|n| (n.index, n.distance2)).collect::<Vec<_>>(), [(1, 1.0), (0, 4.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours, or numbers of queries (4 + 2 D for each), in total, or more than a
    ///   buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// For `k` above 64, another search for each further 64 neighbours. Memory: 12 `k` bytes per query; while it runs,
    /// by the sizes of buffers, some 200 more per query in three dimensions.
    pub fn nearest_all<T: Bounded<S, D>>(&self, queries: &[T], wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let wanted = wanted.into();
        let boxes = copied(queries, Bounded::bounds);
        on!(self.device, client => {
            let found = Neighbors::unfilled(client, self.device, boxes.len(), wanted.k, self.len())?;
            if let Some(tree) = self.searched().filter(|_| found.indices.len() > 0) {
                tree.fill_nearest::<_, OfBoxes>(client, None, &boxes, Wanted::Same(wanted), &found)?;
                end_phase(client, "nearest")?;
            }
            Ok(found)
        })
    }
}

impl<S: Coordinate, const D: usize> SearchedTree<'_, S, D> {
    /// Searches for each query. There is at least one, and `found.k` is at least 1. `stored` holds the numbers of the
    /// stored shapes, if these are tested; queries are then points.
    pub fn fill_nearest<R: Runtime, T: DistanceTest>(
        &self,
        client: &ComputeClient<R>,
        stored: Option<&StoredRows>,
        boxes: &[Aabb<S, D>],
        wanted: Wanted,
        found: &Neighbors,
    ) -> Result<()> {
        let width = 4 + 2 * D;
        let write = |at: usize, row: &mut [f64], _: &mut Vec<f64>| {
            let (wanted, (corners, limits)) = (wanted.of(at), row.split_at_mut(1 + 2 * D));
            write_extent(self.space, &boxes[at], corners);
            if wanted.radius < 0.0 || wanted.radius.is_nan() {
                corners[0] = 0.0;
            }
            let excluded = wanted.excluded_for(at as u32).unwrap_or(u32::MAX);
            limits.copy_from_slice(&[wanted.radius * wanted.radius, wanted.k as f64, excluded.into()]);
        };
        let sorted = SortedRows::new(client, self.device, self.space, boxes.len(), width, &write, &|at| {
            Aabb::center(&boxes[at])
        })?;
        end_phase(client, "queries")?;
        // Without shapes, their numbers are not read.
        let (rows, extra) = stored.map_or((&sorted.extra, &sorted.extra), |stored| (&stored.rows, &stored.extra));
        for from in (0..found.k).step_by(MAX_K_PER_SEARCH) {
            let spec = NearestSpec {
                d: D,
                periodic: self.space.period().is_some(),
                k: found.k.min(MAX_K_PER_SEARCH),
                is_part: found.k > MAX_K_PER_SEARCH,
                is_first: from == 0,
                is_f32: S::IS_F32,
                are_points: self.are_points,
                stored: stored.map_or(0, |stored| stored.width),
                test: TypeId::of::<T>(),
            };
            find_nearest::launch::<S, T, R>(
                client,
                blocks_for(boxes.len()),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                self.arg(client),
                ShapeRowsLaunch::new(rows.arg(), extra.arg()),
                NearestQueriesLaunch::new(
                    sorted.rows.arg(),
                    sorted.order.arg(),
                    self.order.arg(),
                    boxes.len() as u32,
                    self.nodes.end() as u32,
                ),
                FoundRowsLaunch::new(found.indices.arg(), found.distances2.arg(), from as u32, found.k as u32),
                spec,
            );
        }
        Ok(())
    }
}

/// The options of queries.
#[derive(Clone, Copy)]
pub(in crate::gpu) enum Wanted<'a> {
    /// The same for each query.
    Same(Nearest),
    /// Different ones.
    Each(&'a [Nearest]),
}

impl Wanted<'_> {
    /// Returns the options of a query.
    fn of(self, query: usize) -> Nearest {
        match self {
            Self::Same(wanted) => wanted,
            Self::Each(wanted) => wanted[query],
        }
    }
}

/// The test of a tree of boxes or points, whose distances are those of the boxes.
pub(in crate::gpu) struct OfBoxes;

#[cube]
impl DistanceTest for OfBoxes {
    fn distance2(_stored: &Array<f64>, _at: u32, _extra: &Array<f64>, _point: &Array<f64>) -> f64 {
        f64::new(0.0)
    }
}

/// The nearest boxes so far, nearest first. Free places hold the squared radius, so that any box within it is nearer.
#[derive(CubeType)]
struct NearestHeap {
    distances2: Array<f64>,
    indices: Array<u32>,
    /// The last neighbour of the previous search. Only boxes after it are accepted.
    last2: f64,
    last_of: u32,
    excluded: u32,
}

#[cube(launch)]
fn find_nearest<F: Float, T: DistanceTest>(
    tree: &Tree<F>,
    stored: &ShapeRows,
    asked: &NearestQueries,
    found: &mut FoundRows,
    #[comptime] spec: NearestSpec,
) {
    let query = ABSOLUTE_POS;
    if (query as u32) < asked.n {
        let (d, k) = comptime!((spec.d, spec.k));
        let width = comptime!(4 + 2 * spec.d);
        let mut own = Array::<f64>::new(comptime!(2 * spec.d));
        // The corners are numbers of the type of the tree.
        let mut near = Array::<F>::new(comptime!(2 * spec.d));
        #[unroll]
        for at in 0..2 * d {
            own[at] = asked.rows[query * width + 1 + at];
            near[at] = F::cast_from(own[at]);
        }
        let index = asked.queries[query];
        let row = index as usize * found.width as usize + found.from as usize;
        let limits = query * width + comptime!(1 + 2 * spec.d);
        let mut radius2 = select(asked.rows[query * width] > f64::new(0.0), asked.rows[limits], f64::new(-1.0));
        // The number of places of this search that the query does not use.
        let wanted = u32::cast_from(min(asked.rows[limits + 1], f64::cast_from(found.width)));
        let last_place = found.from + comptime!(k as u32);
        let unused = select(wanted >= last_place, 0u32, min(last_place - wanted, comptime!(k as u32)));
        let mut last2 = f64::new(-1.0);
        let mut last_of = 0u32.runtime();
        if comptime!(!spec.is_first) {
            last2 = found.distances2[row - 1];
            last_of = found.indices[row - 1];
            // If the previous search left a free place, no neighbours remain.
            radius2 = select(last_of == u32::MAX, f64::new(-1.0), radius2);
        }
        let excluded = u32::cast_from(asked.rows[limits + 2]);
        let (distances2, indices) = (Array::<f64>::new(k), Array::<u32>::new(k));
        let mut heap = NearestHeap { distances2, indices, last2, last_of, excluded };
        #[unroll]
        for place in 0..k {
            // Nothing is nearer than the entries of places that are not used, so these stay in front.
            let is_used = comptime!(place as u32) >= unused;
            heap.distances2[place] = select(is_used, radius2, f64::new(-1.0));
            heap.indices[place] = select(is_used, u32::MAX, 0u32);
        }

        // The leaf at the end of a descent to the nearer child.
        let mut way = Array::<u32>::new(1usize);
        way[0] = 0;
        while tree.links[way[0] as usize][0] != way[0] + 1 {
            let left = way[0] + 1;
            let right = tree.links[left as usize][0];
            let of_left = lower_distance2::<F>(tree, &corners::<F>(&tree.bounds, left, d), &own, &near, spec);
            let of_right = lower_distance2::<F>(tree, &corners::<F>(&tree.bounds, right, d), &own, &near, spec);
            way[0] = select(of_left <= of_right, left, right);
        }
        let first_leaf = way[0];
        push_leaf::<F, T>(&mut heap, tree, stored, &asked.order, first_leaf, &own, &near, spec);
        let mut walk = RopeWalk::new(0u32.runtime(), asked.end);
        while walk.goes_on() {
            let node = walk.node(&tree.links);
            let bound = lower_distance2::<F>(tree, &corners::<F>(&tree.bounds, node.at, d), &own, &near, spec);
            let is_near = bound <= heap.distances2[comptime!(k - 1)];
            if is_near && node.is_leaf && node.at != first_leaf {
                push_leaf::<F, T>(&mut heap, tree, stored, &asked.order, node.at, &own, &near, spec);
            }
            walk.step(&node, is_near);
        }
        #[unroll]
        for place in 0..k {
            let mut has_place = true.runtime();
            if comptime!(spec.is_part) {
                has_place = found.from + comptime!(place as u32) < found.width;
            }
            if has_place {
                let own = comptime!(place as u32) + unused;
                let is_used = own < comptime!(k as u32);
                let from = select(is_used, own, 0u32) as usize;
                found.indices[row + place] = select(is_used, heap.indices[from], u32::MAX);
                found.distances2[row + place] = heap.distances2[from];
            }
        }
    }
}

/// A lower bound of the squared distance of a query and a box, which is at most that of the boxes inside. In open space
/// it is computed in `f32` if coordinates are.
#[cube]
fn lower_distance2<F: Float>(
    tree: &Tree<F>,
    corners: &Array<F>,
    own: &Array<f64>,
    near: &Array<F>,
    #[comptime] spec: NearestSpec,
) -> f64 {
    let d = comptime!(spec.d);
    if comptime!(!spec.is_filtered()) {
        exact_boxes_distance2::<F>(own, corners, &tree.exact_sides, d, comptime!(spec.periodic))
    } else {
        let distance2 = boxes_distance2::<F>(near, corners, &tree.sides, d, false);
        // Smaller squares may have lost all their digits, larger ones may have overflowed.
        let kept = distance2.min(F::new(LARGEST_SQUARE));
        f64::cast_from(select(kept < F::new(SMALLEST_SQUARE), F::new(0.0), kept)) * f64::new(LESS)
    }
}

/// Inserts the primitives of a leaf that are near enough.
#[cube]
#[allow(clippy::too_many_arguments)]
fn push_leaf<F: Float, T: DistanceTest>(
    heap: &mut NearestHeap,
    tree: &Tree<F>,
    stored: &ShapeRows,
    order: &Array<u32>,
    leaf: u32,
    own: &Array<f64>,
    near: &Array<F>,
    #[comptime] spec: NearestSpec,
) {
    let (d, k) = comptime!((spec.d, spec.k));
    let mut primitive = Array::<F>::new(comptime!(2 * spec.d));
    for at in tree.links[leaf as usize][1]..tree.links[(leaf + 1) as usize][1] {
        #[unroll]
        for axis in 0..d {
            primitive[axis] = tree.axes[axis * tree.stored as usize + at as usize];
            if comptime!(spec.are_points) {
                primitive[d + axis] = primitive[axis];
            } else {
                primitive[d + axis] = tree.axes[(d + axis) * tree.stored as usize + at as usize];
            }
        }
        let index = order[at as usize];
        let last2 = heap.distances2[comptime!(k - 1)];
        let mut to_box = f64::new(0.0);
        let mut is_near = index != heap.excluded && lower_distance2::<F>(tree, &primitive, own, near, spec) <= last2;
        if is_near {
            to_box = exact_boxes_distance2::<F>(own, &primitive, &tree.exact_sides, d, comptime!(spec.periodic));
            is_near = to_box <= last2;
        }
        let mut d2 = to_box + f64::new(0.0);
        if comptime!(spec.stored > 0) {
            if is_near {
                // The first `d` numbers of the query are the point.
                let to_shape = T::distance2(&stored.rows, at * comptime!(spec.stored as u32), &stored.extra, own);
                // A NaN is neither.
                is_near = to_shape >= to_box || to_shape < to_box;
                d2 = select(to_shape > to_box, to_shape, to_box);
            }
        }
        if comptime!(!spec.is_first) {
            is_near = is_near && (d2 > heap.last2 || (d2 == heap.last2 && index > heap.last_of));
        }
        let (last, last_of) = (heap.distances2[comptime!(k - 1)], heap.indices[comptime!(k - 1)]);
        if is_near && (d2 < last || (d2 == last && index < last_of)) {
            insert(&mut heap.distances2, &mut heap.indices, d2, index, k);
        }
    }
}
