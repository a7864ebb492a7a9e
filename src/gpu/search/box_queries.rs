//! Range queries of a tree of boxes on a device.
//!
//! In: spheres, boxes or points. Out: counts, or lists of the boxes that each query meets, in the order of the tree.
//! The host turns each query into a row of `f64`. The rows are sorted along the Morton curve, and a thread walks the
//! tree for each row, node by node. A box is tested in `f64` as on the CPU, so that results are equal.
//! Cost: that of sorting the queries, and O(depth + hits) for each.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::list::{ListOutput, ListOutputLaunch};
use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::{Tree, TreeLaunch};
use crate::gpu::bvh::{BoxBvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::metric::{corners, exact_boxes_distance2};
use crate::gpu::search::query_rows::{RowShape, SortedRows};
use crate::gpu::search::range::Query;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RowSpec {
    d: usize,
    periodic: bool,
    shape: RowShape,
    /// `true` if boxes are listed, not only counted.
    lists: bool,
}

impl RowSpec {
    /// The number of intervals of a box along each axis.
    fn images(self) -> usize {
        if self.periodic { 3 } else { 1 }
    }

    /// The length of a row.
    fn width(self) -> usize {
        match self.shape {
            RowShape::Sphere => self.d + 1,
            RowShape::Box => 1 + 2 * self.images() * self.d,
        }
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Returns the argument of kernels.
    pub(super) fn tree<R: Runtime>(&self, client: &ComputeClient<R>, nodes: &Nodes<S>) -> TreeLaunch<S, R> {
        let sides = self.space.period().copied().unwrap_or([0.0; D]);
        TreeLaunch::new(
            nodes.bounds.pairs(),
            nodes.links.pairs(),
            nodes.leaf_of_point.arg(),
            self.corners.arg(),
            Buffer::from_slice(client, &sides.map(S::from_f64)).arg(),
            Buffer::from_slice(client, &sides).arg(),
            self.len() as u32,
        )
    }

    /// Copies at least one query to the device.
    fn sort_queries<R: Runtime, Q: Query<S, D>>(&self, client: &ComputeClient<R>, queries: &[Q]) -> Result<SortedRows> {
        let write = |at: usize, row: &mut [f64]| queries[at].write_row(&self.space, row);
        let width = self.spec::<Q>(false).width();
        SortedRows::new(client, &self.space, queries.len(), width, &write, &|at| queries[at].middle())
    }

    fn spec<Q: Query<S, D>>(&self, lists: bool) -> RowSpec {
        RowSpec { d: D, periodic: self.space.period().is_some(), shape: Q::SHAPE, lists }
    }

    /// Writes the number of boxes that each query meets, or the boxes themselves from the query's offset on.
    fn walk_rows<R: Runtime, Q: Query<S, D>>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        sorted: &SortedRows,
        offsets: Option<&Buffer<u32>>,
        found: &Buffer<u32>,
    ) {
        let n = sorted.order.len();
        // Kernels that count do not read offsets; `order` is a placeholder.
        let offsets_or_any = offsets.unwrap_or(&sorted.order);
        walk_rows::launch::<S, R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.tree(client, nodes),
            sorted.rows.arg(),
            ListOutputLaunch::new(self.order.arg(), sorted.order.arg(), offsets_or_any.arg()),
            found.arg(),
            n as u32,
            nodes.end() as u32,
            self.spec::<Q>(offsets.is_some()),
        );
    }

    /// Lists the stored boxes that each query meets, in the order of the queries. Touching counts.
    ///
    /// The lists equal those of [`crate::Bvh::query_all`], entry for entry, in the order of the tree. Queries are
    /// spheres, boxes or points. A sphere with a negative or NaN radius, or with a centre that is not finite, has no
    /// hits. A box with a lower corner above its upper one, or with a NaN, has no hits either. In a periodic box,
    /// centres and corners may be anywhere.
    ///
    /// ```no_run
    /// use ropewalk::Aabb;
    /// use ropewalk::gpu::{BoxBvh, Device};
    ///
    /// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([4.0, 0.0], [6.0, 2.0])];
    /// let bvh = BoxBvh::build(&boxes, Device::first()?)?;
    /// let lists = bvh.query_all(&[Aabb::new([1.0f32, 1.0], [4.0, 1.0]), Aabb::new([2.0, 0.0], [3.0, 9.0])])?.read()?;
    /// assert_eq!((lists.of(0).len(), lists.of(1).len()), (2, 0));
    /// assert_eq!(bvh.query_all(&[[5.0f32, 1.0]])?.read()?.of(0), [1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 entries in total, or more than a buffer of the device can hold.
    /// - The queries have more than 2^32 - 1 numbers in total, or more than a buffer can hold. A sphere has D + 1, a box
    ///   or point 1 + 2 D, or 1 + 6 D in a periodic box.
    /// - The device fails.
    ///
    /// # Cost
    /// Two walks: boxes are counted by the first and listed by the second. Memory: 4 bytes per entry and 4 per query.
    /// While it runs, by the sizes of buffers in three dimensions, some 80 bytes more per sphere and 130 per box. In a
    /// periodic box it is 320 per box. The host uses 8 bytes per number of a query.
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<Csr> {
        on!(self.device, client => {
            let offsets = Buffer::<u32>::filled(client, queries.len() + 1, 0);
            let Some(nodes) = self.nodes.as_ref().filter(|_| !queries.is_empty()) else {
                return Ok(Csr { device: self.device, offsets, values: Buffer::new(client, 0) });
            };
            let rows = self.sort_queries(client, queries)?;
            self.walk_rows::<_, Q>(client, nodes, &rows, None, &offsets);
            let values = Csr::allocate_values(client, &offsets)?;
            self.walk_rows::<_, Q>(client, nodes, &rows, Some(&offsets), &values);
            Ok(Csr { device: self.device, offsets, values })
        })
    }

    /// Counts the stored boxes that each query meets, in the order of the queries, as [`crate::Bvh::count_all`].
    /// Queries are those of [`BoxBvh::query_all`].
    ///
    /// # Errors
    /// There are too many queries, as for [`BoxBvh::query_all`]; the device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per query; while it runs, as [`BoxBvh::query_all`].
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let counts = Buffer::<u32>::filled(client, queries.len(), 0);
            if let Some(nodes) = self.nodes.as_ref().filter(|_| !queries.is_empty()) {
                let rows = self.sort_queries(client, queries)?;
                self.walk_rows::<_, Q>(client, nodes, &rows, None, &counts);
            }
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }
}

/// Counts or lists the boxes that each of `n` queries meets. `end` is the number of nodes.
#[cube(launch)]
fn walk_rows<F: Float>(
    tree: &Tree<F>,
    all: &Array<f64>,
    rows: &ListOutput,
    found: &mut Array<u32>,
    n: u32,
    end: u32,
    #[comptime] spec: RowSpec,
) {
    let query = ABSOLUTE_POS;
    if (query as u32) < n {
        let (d, width) = comptime!((spec.d, spec.width()));
        let mut own = Array::<f64>::new(width);
        #[unroll]
        for at in 0..width {
            own[at] = all[query * width + at];
        }
        let row = rows.queries[query] as usize;
        // The number of boxes so far, or the index for the next one.
        let mut place = Array::<u32>::new(1usize);
        place[0] = 0;
        if comptime!(spec.lists) {
            place[0] = rows.offsets[row];
        }
        let mut primitive = Array::<F>::new(comptime!(2 * spec.d));
        let mut walk = RopeWalk::new(0u32.runtime(), end);
        while walk.goes_on() {
            let node = walk.node::<F>(tree);
            let is_met = meets::<F>(&own, &corners::<F>(&tree.bounds, node.at, d), &tree.exact_sides, spec);
            if is_met && node.is_leaf {
                for at in node.first..tree.links[node.rope as usize][1] {
                    #[unroll]
                    for k in 0..2 * d {
                        primitive[k] = tree.axes[k * tree.stored as usize + at as usize];
                    }
                    if meets::<F>(&own, &primitive, &tree.exact_sides, spec) {
                        if comptime!(spec.lists) {
                            let to = place[0] as usize;
                            found[to] = rows.order[at as usize];
                        }
                        place[0] = place[0] + 1;
                    }
                }
            }
            walk.step(&node, is_met);
        }
        if comptime!(!spec.lists) {
            found[row] = place[0];
        }
    }
}

/// Returns `true` if a query meets the box between `corners`, as [`crate::geometry::Query::meets`].
#[cube]
fn meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    if comptime!(spec.shape == RowShape::Sphere) {
        sphere_meets::<F>(row, corners, sides, spec)
    } else {
        box_meets::<F>(row, corners, sides, spec)
    }
}

/// Compares the squared distance of the centre and the box with the squared radius.
#[cube]
fn sphere_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    let d = comptime!(spec.d);
    let mut center = Array::<f64>::new(comptime!(2 * spec.d));
    #[unroll]
    for k in 0..d {
        center[k] = row[k];
        center[d + k] = row[k];
    }
    exact_boxes_distance2::<F>(&center, corners, sides, d, comptime!(spec.periodic)) <= row[d]
}

/// Returns `true` if, along each axis, some interval of the query meets the box, or the box is as long as the periodic
/// one.
#[cube]
fn box_meets<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] spec: RowSpec) -> bool {
    let (d, images) = comptime!((spec.d, spec.images()));
    let mut all = row[0] > f64::new(0.0);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (f64::cast_from(corners[k]), f64::cast_from(corners[d + k]));
        let mut any = false.runtime();
        #[unroll]
        for image in 0..images {
            let at = comptime!(1 + 2 * (k * images + image));
            any = any || (row[at] <= hi && lo <= row[comptime!(at + 1)]);
        }
        if comptime!(spec.periodic) {
            any = any || is_as_long(lo, hi, sides[k]);
        }
        all = all && any;
    }
    all
}

/// Returns `true` if the exact length of an interval is at least `side`: the rounding error of the difference decides
/// (Knuth 1969).
#[cube]
fn is_as_long(from: f64, to: f64, side: f64) -> bool {
    let length = to - from;
    let back = length - to;
    let rest = (to - (length - back)) - (from + back);
    length > side || (length == side && rest >= f64::new(0.0))
}
