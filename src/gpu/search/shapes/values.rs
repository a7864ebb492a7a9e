//! A tree on a device that owns its primitives: the GPU counterpart of `search::values`.
//!
//! In: shapes, user-defined types, or pairs of one and a value. Out: counts and lists of the values that queries hit,
//! and the nearest values of points.
//! Boxes select candidates; the shapes themselves decide.
//! Cost: that of a tree of boxes, and the numbers of the values.

use std::sync::OnceLock;

use cubecl::prelude::{ComputeClient, CubeDim, Runtime};

use crate::bvh::{copied, errors as tree_errors};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::geometry::framed_triangles::{frame_triangles, vectors};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::check_quotients;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::mesh::wide_boxes::WideBoxes;
use crate::gpu::search::nearest::Neighbors;
use crate::gpu::search::shapes::nearest::{Wanted, nearest_of_rows, sorted_boxes};
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::rows::{HostRows, check_rows};
use crate::gpu::search::shapes::searched_tree::{SearchedTree, StoredRows};
use crate::gpu::search::shapes::shape::{Distance, HitBy, Shape, ShapeKind};
use crate::search::nearest::Nearest;

/// A tree on a device that owns its primitives and tests the shapes themselves: the GPU counterpart of
/// [`crate::ValueBvh`], with identical results.
///
/// Values are shapes, user-defined types ([`Shape`]), or pairs of one and a value, which stay on the host. Results are
/// positions in [`ValueBvh::values`]. Space is open.
///
/// The parts of rays inside shapes may differ from the CPU's in one case. There, shapes of `f32` have radii beyond the
/// range of `f32`, and products of their lengths vanish in `f64`.
///
/// ```no_run
/// use ropewalk::geometry::Triangle;
/// use ropewalk::gpu::{Device, ValueBvh};
/// use ropewalk::Sphere;
///
/// let triangle = |x: f32| Triangle::new([x, 0.0, 0.0], [x + 4.0, 0.0, 0.0], [x, 4.0, 0.0]);
/// let roofs = vec![(triangle(0.0), "barn"), (triangle(10.0), "mill")];
/// let bvh = ValueBvh::build(roofs, Device::first()?)?;
/// let hits = bvh.query_all(&[Sphere::new([11.0, 1.0, 0.5], 0.5)])?.read()?;
/// assert_eq!(bvh.values()[hits.of(0)[0] as usize].1, "mill");
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory: that of a [`BoxBvh`], and 8 bytes for each number of a value: 11 numbers for a triangle in space. On
/// NVIDIA's GPUs a triangle of `f32` in space takes 64 bytes more, and some 22 from the first search for nearest
/// triangles on.
#[derive(Clone)]
pub struct ValueBvh<T, S, const D: usize> {
    values: Vec<T>,
    boxes: BoxBvh<S, D>,
    stored: StoredRows,
    /// The wide tree for rays, made when it is first needed; `None` if it cannot be made.
    wide: OnceLock<Option<WideBoxes<S>>>,
}

impl<T: Shape<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Copies values to the device and builds a tree over their boxes, in open space.
    ///
    /// # Errors
    /// - Those of [`BoxBvh::build`].
    /// - The values have more than 2^32 - 1 numbers in total, or more than a buffer of the device can hold.
    /// - The device rounds quotients or roots differently from the CPU.
    pub fn build(values: Vec<T>, device: Device) -> Result<Self> {
        let boxes = BoxBvh::build(&values, device)?;
        on!(device, client => {
            check_quotients(client, device)?;
            let stored = stored_rows(client, device, &values, &boxes.order)?;
            Ok(Self { values, boxes, stored, wide: OnceLock::new() })
        })
    }

    /// Replaces the values by values that have moved, [refits](BoxBvh::refit) the tree, and returns the old values, as
    /// [`crate::ValueBvh::refit`]. The new values are copied to the device.
    ///
    /// [`BoxBvh::degradation`] of [`ValueBvh::boxes`] shows when to build a new tree.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, ValueBvh};
    ///
    /// let mut bvh = ValueBvh::build(vec![[0.0f32], [5.0]], Device::first()?)?;
    /// let old = bvh.refit(vec![[4.0], [5.0]])?;
    /// assert_eq!((bvh.nearest_all(&[[3.0f32]], 1)?.read()?.of(0)[0].index, old), (0, vec![[0.0], [5.0]]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of values differs from that of the tree.
    /// - Those of [`ValueBvh::build`].
    ///
    /// The tree is then unchanged.
    pub fn refit(&mut self, values: Vec<T>) -> Result<Vec<T>> {
        if values.len() != self.len() {
            return Err(tree_errors::refit(values.len(), self.len()));
        }
        let device = self.device();
        on!(device, client => {
            let stored = stored_rows(client, device, &values, &self.boxes.order)?;
            let mut boxes = self.boxes.clone();
            boxes.refit(&values)?;
            (self.boxes, self.stored, self.wide) = (boxes, stored, OnceLock::new());
            Ok(std::mem::replace(&mut self.values, values))
        })
    }

    /// Returns the number of stored values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if no values are stored.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the stored values. The indices of results are positions in this slice.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values in their order.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Returns the tree over the boxes of the values, for searches that need only boxes.
    pub fn boxes(&self) -> &BoxBvh<S, D> {
        &self.boxes
    }

    /// Returns the device that holds the tree.
    pub fn device(&self) -> Device {
        self.boxes.device
    }

    /// Returns the numbers of the values.
    pub(in crate::gpu) fn stored(&self) -> &StoredRows {
        &self.stored
    }

    /// Returns the tree as the argument of a walk, and the numbers of its values; `None` if it is empty.
    pub(in crate::gpu) fn searched(&self) -> Option<(SearchedTree<'_, S, D>, &StoredRows)> {
        Some((self.boxes.searched()?, &self.stored))
    }

    /// Returns the wide tree for rays; `None` unless space has three dimensions, or if coordinates are too large.
    pub(super) fn wide_boxes<R: Runtime>(&self, client: &ComputeClient<R>) -> Result<Option<&WideBoxes<S>>> {
        if let Some(wide) = self.wide.get() {
            return Ok(wide.as_ref());
        }
        let mut wide = None;
        if D == 3 && !self.is_empty() {
            let Aabb { lo, hi } = self.boxes.bounds();
            let bounds = Aabb { lo: std::array::from_fn(|k| lo[k]), hi: std::array::from_fn(|k| hi[k]) };
            wide = WideBoxes::build(client, &self.boxes.corners, self.len(), &bounds)?;
        }
        Ok(self.wide.get_or_init(|| wide).as_ref())
    }

    /// Lists the values that each query hits, in the order of the queries, as [`crate::ValueBvh::query_all`].
    ///
    /// Lists are in the order of the tree.
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 entries in total, or more than a buffer of the device can hold.
    /// - The queries have more than 2^32 - 1 numbers in total, or more than a buffer can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Values are counted first, and then listed. On NVIDIA's GPUs and from 16,384 queries on, except for rays, the
    /// second search leaves out queries with at most 16 hits. Memory: 4 bytes per entry and 4 per query; while it runs,
    /// some 16 bytes more per number of a query, and 80 per query.
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<Csr>
    where
        T: HitBy<Q, S, D>,
    {
        on!(self.boxes.device, client => {
            let offsets = Buffer::<u32>::filled(client, queries.len() + 1, 0);
            let values = match self.searched() {
                Some((tree, stored)) => tree.list::<_, _, T::Test>(client, queries, Some(stored), &offsets)?,
                None => Buffer::new(client, 0),
            };
            Ok(Csr { device: self.boxes.device, offsets, values })
        })
    }

    /// Counts the values that each query hits, in the order of the queries.
    ///
    /// # Errors
    /// There are too many queries, as for [`ValueBvh::query_all`]; the device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per query; while it runs, as [`ValueBvh::query_all`].
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<DeviceVec<u32>>
    where
        T: HitBy<Q, S, D>,
    {
        on!(self.boxes.device, client => {
            let counts = Buffer::<u32>::filled(client, queries.len(), 0);
            if let Some((tree, stored)) = self.searched() {
                tree.count::<_, _, T::Test>(client, queries, Some(stored), &counts)?;
            }
            Ok(DeviceVec { device: self.boxes.device, values: counts })
        })
    }
}

impl<T: Distance<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Finds the `k` values nearest to each of many points by the distance to the shapes, nearest first, ties by index,
    /// as [`crate::ValueBvh::nearest_all`].
    ///
    /// Rows are in the order of `points`. `wanted` is `k` or a [`Nearest`]. A point that is not finite has no
    /// neighbours, and a value whose distance is NaN is no neighbour.
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours, or numbers of queries (4 + 2 D for each), in total, or more than a
    ///   buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// As [`BoxBvh::nearest_all`], and a test of each shape whose box is nearer than the k-th neighbour so far.
    pub fn nearest_all(&self, points: &[[S; D]], wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let wanted = wanted.into();
        let device = self.boxes.device;
        on!(device, client => {
            let tree = self.searched().map(|(tree, stored)| (tree, Some(stored)));
            nearest_of_rows::<_, T::Test, S, D>(client, device, tree, (points.len(), wanted.k), |tree| {
                sorted_boxes(client, tree, &copied(points, Bounded::bounds), Wanted::Same(wanted))
            })
        })
    }
}

/// Copies the numbers of values to the device, in the order of the tree.
///
/// Errors: more numbers than kernels can index, or than a buffer of the device can hold.
fn stored_rows<R: Runtime, T: Shape<S, D>, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    device: Device,
    values: &[T],
    order: &Buffer<u32>,
) -> Result<StoredRows> {
    // A row has at least one number.
    let width = T::NUMBERS.max(1);
    check_rows(client, values.len(), width)?;
    let HostRows { rows, extra } = HostRows::new(values.len(), width, &|at, row, extra| {
        values[at].write(&mut row[..T::NUMBERS], extra);
    });
    check_rows(client, extra.len(), 1)?;
    let rows = DeviceVec::new(&rows, device)?.values;
    let rows = gather(client, &rows, order, width, Layout::Rows);
    let framed_triangles = framed_triangles::<_, T, S, D>(client, &rows, values.len());
    Ok(StoredRows {
        rows,
        extra: Buffer::from_slice(client, &extra),
        framed_triangles,
        fine: OnceLock::new(),
        width,
        kind: T::KIND,
    })
}

/// Returns `n` triangles of `f32` in frames of their own. Nothing is returned for other values, if a buffer cannot hold
/// them, and on devices without warps, whose searches do not read them.
fn framed_triangles<R: Runtime, T: Shape<S, D>, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    rows: &Buffer<f64>,
    n: usize,
) -> Buffer<f32> {
    let width = 4 * vectors(D);
    let numbers = n as u128 * width as u128;
    let are_read = T::KIND == ShapeKind::Triangle && S::IS_F32 && Warp::new(client).is_some() && n > 0;
    if !are_read || numbers > u128::from(u32::MAX) || check_allocation(client, 4 * numbers).is_err() {
        return Buffer::new(client, 0);
    }
    let triangles = Buffer::new(client, width * n);
    frame_triangles::launch(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        rows.arg(),
        triangles.arg(),
        n as u32,
        T::NUMBERS,
        D,
    );
    triangles
}
