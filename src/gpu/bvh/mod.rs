//! The bounding volume hierarchy on a device.
//!
//! In: points. Out: a tree whose nodes are bit-identical to the CPU's. Its steps are codes and order (`morton`,
//! `radix_sort`), leaves and hierarchy (`hierarchy`), and boxes and ropes (`ropes`). `traverse` walks it.
//!
//! **Launch contract.** The kernels of `morton`, `hierarchy` and `ropes` have no bounds checks. They rely on the
//! following:
//! - Each thread or block compares its position with the number of points, words, leaves or nodes that the kernel
//!   takes.
//! - Every buffer indexed by this position has at least that number of elements.
//! - Indices read from a buffer were written by an earlier kernel of the same build, and are below that number.

mod check_elements;
mod coordinate;
mod range_of_f32;
pub(super) mod hierarchy;
pub(super) mod morton;
pub(super) mod reduce;
pub(super) mod ropes;
pub(super) mod bounds;
mod box_tree;
mod boxes_on_device;
pub(super) mod cost;
#[cfg(feature = "distributed")]
mod top_boxes;
pub(super) mod traverse;
mod pad_dimension;
pub(super) mod refit;
mod view;

pub use box_tree::BoxBvh;
pub use coordinate::Coordinate;
pub use pad_dimension::Widened;
pub use traverse::rope_walk::{RopeWalk, TreeNode};
pub use view::{KernelCall, TreeArg, TreeView, TreeViewLaunch};

use std::sync::OnceLock;

use cubecl::prelude::*;

use crate::bvh::morton::Grid;
use crate::bvh::{check, check_count};
use crate::error::Result;
use crate::geometry::{Aabb, BoxSize, Space};
use crate::gpu::buffer::{Buffer, check_allocation, end_phase, wait};
use crate::gpu::bvh::bounds::{Survey, survey};
use crate::gpu::bvh::check_elements::check_elements;
use crate::gpu::bvh::cost::Cost;
use crate::gpu::bvh::hierarchy::{Leaves, find_leaves, hierarchy};
use crate::gpu::bvh::morton::{MortonKernel, SortedPoints};
use crate::gpu::bvh::ropes::{Nodes, nodes};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::radix_sort::pass::CODE;
use crate::gpu::primitives::radix_sort::{leading_bits, order, sort};
use crate::gpu::primitives::rounding::check_distances;
use crate::parallel::{map, map_tasks};

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// Returns an error for unsupported dimensions, and for more points than a tree or a device can hold.
fn check_size<const D: usize>(n: usize) -> Result<()> {
    check_count::<D>(n)?;
    check_elements(n, D)
}

/// A bounding volume hierarchy over points of 1 to 10 dimensions, on a device: the GPU counterpart of [`crate::Bvh`],
/// with identical nodes.
///
/// In more than three dimensions the Morton grid has few cells along each axis (64 in ten dimensions), so dense
/// points often share a cell. Then the CPU builds the tree (see [`Bvh::from_points`]). Kernels are compiled for each
/// dimension.
///
/// ```no_run
/// use ropewalk::gpu::{Bvh, Device};
///
/// let points = [[0.0f32, 0.0], [1.0, 0.0], [5.0, 5.0]];
/// let bvh = Bvh::build(&points, Device::first()?)?;
/// assert_eq!(bvh.read()?.nodes(), ropewalk::Bvh::build(&points)?.nodes());
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory, by the sizes of its buffers: for points of three `f32`, some 45 bytes per point during construction,
/// including the points, and 20 afterwards. On CUDA, searches for 786,432 points or more keep another 1.5 bytes
/// per point with the tree. While they run, they use 8 bytes per query, for nearest neighbours some 21.
#[derive(Clone, Debug)]
pub struct Bvh<S, const D: usize> {
    pub(in crate::gpu) device: Device,
    pub(in crate::gpu) space: Space<D>,
    /// `None` if there are no points.
    pub(in crate::gpu) nodes: Option<Nodes<S>>,
    /// The points in tree order, axis by axis.
    pub(in crate::gpu) axes: Buffer<S>,
    pub(in crate::gpu) order: Buffer<u32>,
    pub(in crate::gpu) bounds: Aabb<S, D>,
    /// The boxes around groups of 32 points (`traverse::query_boxes`), made by the first search.
    pub(in crate::gpu) group_boxes: OnceLock<Buffer<S>>,
    /// The cost at the last build, if the tree has been refitted.
    built: Option<Cost>,
    origin: Origin,
}

/// The origin of a tree, for tests.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built on the device from the leading bits of the codes.
    LeadingBits,
    /// Built on the device from all bits of the codes, because leading bits tie.
    AllBits,
    /// Built on the CPU, because more points than fit in a leaf have the same code.
    Host,
    /// Uploaded from the host.
    Upload,
    /// A tree without points.
    Empty,
}

/// Points on a device, checked and ready for building a tree.
///
/// # Cost
/// Memory: that of the coordinates.
#[derive(Clone, Debug)]
pub struct Points<S, const D: usize> {
    pub(in crate::gpu) device: Device,
    pub(in crate::gpu) space: Space<D>,
    pub(in crate::gpu) bounds: Aabb<S, D>,
    pub(in crate::gpu) len: usize,
    /// The smallest nonzero absolute coordinate.
    pub(in crate::gpu) smallest_nonzero: f64,
    pub(in crate::gpu) values: Buffer<S>,
}

impl<S: Coordinate, const D: usize> Points<S, D> {
    /// Copies points in open space to the device.
    ///
    /// # Errors
    /// - The errors of [`crate::Bvh::build`].
    /// - More than 2^32 - 1 coordinates in total.
    /// - The device does not allow a buffer that holds the points.
    pub fn new(points: &[[S; D]], device: Device) -> Result<Self> {
        Self::new_in(points, Space::OPEN, device)
    }

    /// Copies points in a periodic box of the given side or sides to the device, as for [`crate::Bvh::build_periodic`].
    /// Errors as [`Points::new`].
    pub fn new_periodic(points: &[[S; D]], size: impl Into<BoxSize>, device: Device) -> Result<Self> {
        Self::new_in(points, Space::periodic(size)?, device)
    }

    /// Creates points from coordinates that are already on a device, stored point by point.
    ///
    /// They are in a periodic box unless `size` is `None`. The result equals that of [`Points::new`] with the same
    /// coordinates. The coordinates stay on the device; less than 100 kB are copied to the host. If they change, create
    /// new points, since coordinates are checked here only.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec, Points};
    ///
    /// let coordinates = DeviceVec::new(&[0.0f32, 0.0, 1.0, 9.5], Device::first()?)?;
    /// let points = Points::<_, 2>::from_device(&coordinates, 10.0)?;
    /// assert_eq!(points.len(), 2);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`Points::new`].
    /// - The number of coordinates is not a multiple of the dimension.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: in a periodic box, a copy of the coordinates, wrapped into the box. In open space, the coordinates are
    /// shared.
    pub fn from_device(coordinates: &DeviceVec<S>, size: impl Into<BoxSize>) -> Result<Self> {
        let (device, len, space) = (coordinates.device, coordinates.len(), Space::periodic(size)?);
        check_size::<D>(len.checked_div(D).unwrap_or(0))?;
        if !len.is_multiple_of(D) {
            return Err(errors::no_rows(len, D));
        }
        on!(device, client => {
            // The same limit as in `new_in`.
            check_allocation(client, (len / D) as u128 * (D * size_of::<S>()).max(8) as u128)?;
            let Survey { bounds, smallest_nonzero, placed } = survey(client, &coordinates.values, &space)?;
            Ok(Self { device, space, bounds, len: len / D, smallest_nonzero, values: placed })
        })
    }

    /// Returns the box around all points, which are wrapped into a periodic box; [`Aabb::EMPTY`] if there are no
    /// points.
    pub fn bounds(&self) -> Aabb<S, D> {
        self.bounds
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn new_in(points: &[[S; D]], space: Space<D>, device: Device) -> Result<Self> {
        check_size::<D>(points.len())?;
        let bounds = check(points, &space)?;
        let wrapped: Vec<[S; D]>;
        let placed = if space.period().is_some() {
            wrapped = map(points.len(), TASK, &|i| space.wrap(points[i]));
            &wrapped
        } else {
            points
        };
        let smallest_nonzero = map_tasks(points.len(), TASK, &|range| smallest(placed[range].as_flattened()));
        let smallest_nonzero = smallest_nonzero.into_iter().fold(f64::INFINITY, f64::min);
        on!(device, client => {
            // The largest buffers of a build are the points, and the words for the sort, of which there are two
            // buffers.
            check_allocation(client, points.len() as u128 * (D * size_of::<S>()).max(8) as u128)?;
            let values = DeviceVec::new(placed.as_flattened(), device)?.values;
            Ok(Self { device, space, bounds, len: points.len(), smallest_nonzero, values })
        })
    }
}

/// Points sorted along the Morton curve and split into leaves.
struct SortedLeaves<S> {
    sorted: SortedPoints<S>,
    leaves: Leaves,
    origin: Origin,
}

/// Sorts at least one point. Returns `None` if more points than fit in a leaf share a cell of the Morton grid. They are
/// sorted by finer grids, which is rare and done on the CPU.
fn sort_points<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    points: &Buffer<S>,
    bounds: &Aabb<S, D>,
) -> Result<Option<SortedLeaves<S>>> {
    let n = points.len() / D;
    let morton = MortonKernel::new(client, points, n, &Grid::over(bounds));
    let layout = |order: &Buffer<u32>, leading| {
        let sorted = morton.layout(order, leading);
        let leaves = find_leaves(client, &sorted.codes, &morton.flags)?;
        Result::Ok((sorted, leaves))
    };
    let leading = leading_bits(n);
    let mut origin = Origin::LeadingBits;
    let codes = morton.codes();
    end_phase(client, "codes")?;
    let by_codes = order(client, codes, leading);
    end_phase(client, "sort")?;
    let (mut sorted, mut leaves) = layout(&by_codes, leading)?;
    drop(by_codes);
    if leaves.has_prefix_ties {
        origin = Origin::AllBits;
        drop(sorted);
        (sorted, leaves) = layout(&sort(client, morton.pairs())?.values, CODE)?;
    }
    Ok((!leaves.has_duplicate_codes).then_some(SortedLeaves { sorted, leaves, origin }))
}

/// Splits coordinates of `n` points, stored axis by axis, into an array per axis with the padding of trees on the host.
fn host_axes<S: Coordinate, const D: usize>(axes: &[S], n: usize) -> [Vec<S>; D] {
    std::array::from_fn(|k| {
        let mut axis = axes[k * n..(k + 1) * n].to_vec();
        axis.resize(n + crate::simd::LANES, S::ZERO);
        axis
    })
}

/// Returns the smallest nonzero absolute value, or infinity.
pub(in crate::gpu) fn smallest<'a, S: Coordinate>(coordinates: impl IntoIterator<Item = &'a S>) -> f64 {
    let sizes = coordinates.into_iter().map(|&x| Into::<f64>::into(x).abs());
    sizes.filter(|&x| x > 0.0).fold(f64::INFINITY, f64::min)
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Copies the points to the device and builds a tree over them in open space.
    ///
    /// # Errors
    /// As [`Points::new`] and [`Bvh::from_points`].
    pub fn build(points: &[[S; D]], device: Device) -> Result<Self> {
        Self::from_points(&Points::new(points, device)?)
    }

    /// Copies the points to the device and builds a tree over them in a periodic box of the given side or sides, as
    /// [`crate::Bvh::build_periodic`]. Errors as [`Bvh::build`].
    pub fn build_periodic(points: &[[S; D]], size: impl Into<BoxSize>, device: Device) -> Result<Self> {
        Self::from_points(&Points::new_periodic(points, size, device)?)
    }

    /// Builds a tree of points that are on a device. The tree keeps a copy of them.
    ///
    /// If one cell of the Morton grid holds more points than a leaf (for example 33 copies of a point), the CPU
    /// builds the tree. The points are then copied to the host, and the tree is copied back.
    ///
    /// # Errors
    /// - The device fails.
    /// - The driver of a Vulkan device rounds distances differently from the CPU, or flushes coordinates as small as
    ///   these to 0. NVIDIA's Vulkan driver does both; CUDA does neither.
    pub fn from_points(points: &Points<S, D>) -> Result<Self> {
        let &Points { device, space, bounds, len, smallest_nonzero, .. } = points;
        on!(device, client => {
            check_distances::<_, S>(client, device, || smallest_nonzero)?;
            if len == 0 {
                let (axes, order) = (Buffer::new(client, 0), Buffer::new(client, 0));
                return Ok(Self { device, space, nodes: None, axes, order, bounds, group_boxes: OnceLock::new(), built: None, origin: Origin::Empty });
            }
            let Some(SortedLeaves { sorted, leaves, origin }) = sort_points(client, &points.values, &points.bounds)? else {
                let points = points.values.read(client)?;
                let bvh = crate::Bvh::build_in(points.as_chunks::<D>().0, space)?;
                return Ok(Self::upload_to(client, &bvh, device, Origin::Host));
            };
            end_phase(client, "leaves")?;
            let hierarchy = hierarchy(client, &sorted.codes, &leaves);
            let nodes = Some(nodes::<_, S, D>(client, &hierarchy, &sorted.axes, false, len));
            end_phase(client, "nodes")?;
            Ok(Self { device, space, nodes, axes: sorted.axes, order: sorted.order, bounds, group_boxes: OnceLock::new(), built: None, origin })
        })
    }

    /// Waits until the tree is built.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies a tree from the host to a device.
    ///
    /// # Errors
    /// - The tree is over primitives other than points, or over more than a device can hold, as for [`Points::new`].
    /// - The errors of [`Bvh::from_points`].
    pub fn upload(bvh: &crate::Bvh<S, D>, device: Device) -> Result<Self> {
        check_size::<D>(bvh.len())?;
        if !bvh.holds_points() {
            return Err(errors::not_points());
        }
        on!(device, client => {
            let coordinates = || bvh.corners().0.iter().flat_map(|axis| &axis[..bvh.len()]);
            check_distances::<_, S>(client, device, || smallest(coordinates()))?;
            Ok(Self::upload_to(client, bvh, device, Origin::Upload))
        })
    }

    fn upload_to<R: Runtime>(
        client: &ComputeClient<R>,
        bvh: &crate::Bvh<S, D>,
        device: Device,
        origin: Origin,
    ) -> Self {
        let n = bvh.len();
        let axes: Vec<S> = bvh.corners().0.iter().flat_map(|axis| axis[..n].iter().copied()).collect();
        let nodes = (n > 0).then(|| Nodes::upload(client, bvh));
        let (axes, order) = (Buffer::from_slice(client, &axes), Buffer::from_slice(client, bvh.order()));
        Self {
            device,
            space: *bvh.space(),
            nodes,
            axes,
            order,
            bounds: bvh.bounds(),
            group_boxes: OnceLock::new(),
            built: None,
            origin,
        }
    }

    /// Returns the number of stored points.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the space of the points: open, or a periodic box.
    pub fn space(&self) -> &Space<D> {
        &self.space
    }

    /// Returns the box around all points; [`Aabb::EMPTY`] if there are no points.
    pub fn bounds(&self) -> Aabb<S, D> {
        self.bounds
    }

    /// Returns the place where the tree was built.
    #[doc(hidden)]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Copies the tree to the host and checks it with [`crate::Bvh::validate`].
    ///
    /// # Errors
    /// If the device fails, or the copied tree is invalid.
    pub fn read(&self) -> Result<crate::Bvh<S, D>> {
        let Some(nodes) = &self.nodes else { return crate::Bvh::build_in(&[] as &[[S; D]], self.space) };
        let n = self.len();
        on!(self.device, client => {
            let axes = host_axes(&self.axes.read(client)?, n);
            let (nodes, order) = (nodes.read(client)?, self.order.read(client)?);
            let tree = crate::Bvh::from_parts(nodes, axes, None, order, self.space);
            // Code on the host writes one row per point without bounds checks, so `order` must be a permutation.
            tree.validate().map_err(errors::failed)?;
            Ok(tree)
        })
    }
}
