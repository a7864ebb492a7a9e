//! A tree of boxes on a device.
//!
//! In: boxes, or primitives with a box. Out: a tree whose nodes equal the CPU's. The boxes are sorted by
//! the Morton codes of their centres, with the steps of a tree of points; boxes of nodes contain whole primitives.
//! `search::box_queries` walks the tree.
//! Cost: that of a tree of points, and a copy of the corners in tree order.

use std::ops::Range;

use cubecl::prelude::*;

use crate::bvh::{check, copied};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, BoxSize, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase, wait};
use crate::gpu::bvh::check_elements::check_elements;
use crate::gpu::bvh::cost::Cost;
use crate::gpu::bvh::hierarchy::hierarchy;
use crate::gpu::bvh::ropes::{Nodes, nodes};
use crate::gpu::bvh::{Coordinate, Origin, SortedLeaves, TASK, host_axes, smallest, sort_points};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::check_distances;
use crate::parallel::map_tasks;

/// A bounding volume hierarchy over boxes of 1 to 10 dimensions, on a device: the GPU counterpart of [`crate::Bvh`]
/// over boxes, with identical nodes.
///
/// Any type with a box can be stored ([`Bounded`]): spheres, triangles and other
/// [shapes](crate::geometry::shapes) by the box around them. Points are boxes without extent;
/// [`Bvh`](crate::gpu::Bvh) is faster for them.
///
/// If one cell of the Morton grid holds more centres than a leaf, the CPU builds the tree, as for
/// [`Bvh::from_points`](crate::gpu::Bvh::from_points).
///
/// ```no_run
/// use ropewalk::gpu::{BoxBvh, Device};
/// use ropewalk::{Aabb, Sphere};
///
/// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([4.0, 0.0], [6.0, 2.0])];
/// let bvh = BoxBvh::build(&boxes, Device::first()?)?;
/// let lists = bvh.query_all(&[Sphere::new([3.0f32, 1.0], 1.0)])?.read()?;
/// assert_eq!(lists.of(0), [1]); // the sphere touches the second box
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory, by the sizes of its buffers: for boxes of three `f32`, some 32 bytes per box, and 60 more during
/// construction.
#[derive(Clone, Debug)]
pub struct BoxBvh<S, const D: usize> {
    pub(in crate::gpu) device: Device,
    pub(in crate::gpu) space: Space<D>,
    /// `None` if there are no boxes.
    pub(in crate::gpu) nodes: Option<Nodes<S>>,
    /// The lower corners in tree order, axis by axis, followed by the upper ones.
    pub(in crate::gpu) corners: Buffer<S>,
    pub(in crate::gpu) order: Buffer<u32>,
    pub(super) bounds: Aabb<S, D>,
    /// The cost at the last build, if the tree has been refitted.
    pub(super) built: Option<Cost>,
    origin: Origin,
}

/// The boxes of primitives, shifted into a periodic box.
pub(super) struct PlacedBoxes<S, const D: usize> {
    /// The lower and the upper corner of each box.
    pub placed: Vec<[[S; D]; 2]>,
    /// The box around everything.
    pub bounds: Aabb<S, D>,
}

impl<S: Coordinate, const D: usize> PlacedBoxes<S, D> {
    /// Checks the boxes of primitives and places them.
    ///
    /// Errors: those of [`BoxBvh::build`] about primitives.
    pub fn new<T: Bounded<S, D>>(primitives: &[T], space: &Space<D>) -> Result<Self> {
        check_elements(primitives.len(), 2 * D.max(1))?;
        let boxes = copied(primitives, Bounded::bounds);
        let bounds = check(&boxes, space)?;
        let placed = copied(&boxes, |own: &Aabb<S, D>| {
            let Aabb { lo, hi } = space.wrap_box(*own);
            [lo, hi]
        });
        Ok(Self { placed, bounds })
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Copies the boxes of primitives to the device and builds a tree over them in open space.
    ///
    /// # Errors
    /// - The errors of [`crate::Bvh::build`].
    /// - More than 2^32 - 1 coordinates of corners in total.
    /// - The device does not allow a buffer that holds the boxes, or fails.
    /// - The driver of a Vulkan device rounds distances differently from the CPU.
    pub fn build<T: Bounded<S, D>>(primitives: &[T], device: Device) -> Result<Self> {
        Self::build_in(primitives, Space::OPEN, device)
    }

    /// Copies the boxes of primitives to the device and builds a tree over them in a periodic box of the given side or
    /// sides, as [`crate::Bvh::build_periodic`]. Errors as [`BoxBvh::build`].
    pub fn build_periodic<T: Bounded<S, D>>(
        primitives: &[T],
        size: impl Into<BoxSize>,
        device: Device,
    ) -> Result<Self> {
        Self::build_in(primitives, Space::periodic(size)?, device)
    }

    pub(super) fn build_in<T: Bounded<S, D>>(primitives: &[T], space: Space<D>, device: Device) -> Result<Self> {
        let PlacedBoxes { placed, bounds } = PlacedBoxes::new(primitives, &space)?;
        let n = placed.len();
        on!(device, client => {
            check_allocation(client, n as u128 * (2 * D * size_of::<S>()).max(8) as u128)?;
            check_distances::<_, S>(client, device, || {
                let part = |range: Range<usize>| {
                    let centers = placed[range.clone()].iter().map(|&[lo, hi]| Aabb::new(lo, hi).center());
                    let centers: Vec<[S; D]> = centers.collect();
                    let corners = placed[range].as_flattened().as_flattened();
                    smallest(corners.iter().chain(centers.as_flattened()))
                };
                map_tasks(n, TASK, &part).into_iter().fold(f64::INFINITY, f64::min)
            })?;
            if n == 0 {
                return Ok(Self::empty(client, device, space));
            }
            let rows = DeviceVec::new(placed.as_flattened().as_flattened(), device)?.values;
            let centers = centers_of::<_, S, D>(client, &rows);
            Self::build_rows(client, device, space, (&rows, &centers), bounds, || {
                crate::Bvh::build_in(&copied(primitives, Bounded::bounds), space)
            })
        })
    }

    /// Builds a tree over at least one box. `rows` holds the lower and the upper corner of each, in the space, and
    /// `bounds` is the box around all. `build_on_host` builds the tree on the CPU, if one cell holds too many centres.
    pub(super) fn build_rows<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        space: Space<D>,
        (rows, centers): (&Buffer<S>, &Buffer<S>),
        bounds: Aabb<S, D>,
        build_on_host: impl FnOnce() -> Result<crate::Bvh<S, D>>,
    ) -> Result<Self> {
        let n = rows.len() / (2 * D);
        let Some(SortedLeaves { sorted, leaves, origin }) = sort_points(client, centers, &bounds)? else {
            return Ok(Self::upload_to(client, &build_on_host()?, device, Origin::Host));
        };
        end_phase(client, "leaves")?;
        let corners = gather(client, rows, &sorted.order, 2 * D, Layout::Columns);
        let hierarchy = hierarchy(client, &sorted.codes, &leaves);
        let nodes = Some(nodes::<_, S, D>(client, &hierarchy, &corners, true, n));
        end_phase(client, "nodes")?;
        Ok(Self { device, space, nodes, corners, order: sorted.order, bounds, built: None, origin })
    }

    /// A tree without boxes.
    pub(super) fn empty<R: Runtime>(client: &ComputeClient<R>, device: Device, space: Space<D>) -> Self {
        let (corners, order) = (Buffer::new(client, 0), Buffer::new(client, 0));
        Self { device, space, nodes: None, corners, order, bounds: Aabb::EMPTY, built: None, origin: Origin::Empty }
    }

    /// Copies a tree of boxes or points from the host to a device. Points become boxes without extent.
    ///
    /// # Errors
    /// Those of [`BoxBvh::build`].
    pub fn upload(bvh: &crate::Bvh<S, D>, device: Device) -> Result<Self> {
        check_elements(bvh.len(), 2 * D)?;
        on!(device, client => {
            check_allocation(client, bvh.len() as u128 * (2 * D * size_of::<S>()).max(8) as u128)?;
            let (lo, hi) = bvh.corners();
            let coordinates = || lo.iter().chain(hi.unwrap_or(lo)).flat_map(|axis| &axis[..bvh.len()]);
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
        let (n, (lo, hi)) = (bvh.len(), bvh.corners());
        let corners: Vec<S> = lo.iter().chain(hi.unwrap_or(lo)).flat_map(|axis| axis[..n].iter().copied()).collect();
        Self {
            device,
            space: *bvh.space(),
            nodes: (n > 0).then(|| Nodes::upload(client, bvh)),
            corners: Buffer::from_slice(client, &corners),
            order: Buffer::from_slice(client, bvh.order()),
            bounds: bvh.bounds(),
            built: None,
            origin,
        }
    }

    /// Waits until the tree is built.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Returns the number of stored boxes.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns `true` if there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the space of the boxes: open, or a periodic box.
    pub fn space(&self) -> &Space<D> {
        &self.space
    }

    /// Returns the box around all boxes; [`Aabb::EMPTY`] if there are none.
    pub fn bounds(&self) -> Aabb<S, D> {
        self.bounds
    }

    /// Returns the place where the tree was built.
    #[doc(hidden)]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Copies the tree to the host, as a tree of boxes, and checks it with [`crate::Bvh::validate`].
    ///
    /// # Errors
    /// If the device fails, or the copied tree is invalid.
    pub fn read(&self) -> Result<crate::Bvh<S, D>> {
        let Some(nodes) = &self.nodes else { return crate::Bvh::build_in(&[] as &[Aabb<S, D>], self.space) };
        let n = self.len();
        on!(self.device, client => {
            let corners = self.corners.read(client)?;
            let (lo, hi) = (host_axes(&corners[..n * D], n), host_axes(&corners[n * D..], n));
            let (nodes, order) = (nodes.read(client)?, self.order.read(client)?);
            let tree = crate::Bvh::from_parts(nodes, lo, Some(hi), order, self.space);
            // Code on the host writes one row per box without bounds checks, so `order` must be a permutation.
            tree.validate().map_err(errors::failed)?;
            Ok(tree)
        })
    }
}

/// Returns the centres of at least one box, whose corners are given box by box.
pub(super) fn centers_of<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    rows: &Buffer<S>,
) -> Buffer<S> {
    let n = rows.len() / 2;
    let centers = Buffer::<S>::new(client, n);
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    find_centers::launch::<S, _>(client, blocks_for(n), dim, rows.arg(), centers.arg(), n as u32, D);
    centers
}

/// Computes each coordinate of the centres of boxes, rounded as by [`Aabb::center`]. Rows hold the lower corner and the
/// upper one.
#[cube(launch)]
fn find_centers<F: Float>(rows: &Array<F>, centers: &mut Array<F>, coordinates: u32, #[comptime] d: usize) {
    let i = ABSOLUTE_POS;
    if (i as u32) < coordinates {
        let at = i / d * 2 * d + i % d;
        let (lo, hi) = (f64::cast_from(rows[at]), f64::cast_from(rows[at + d]));
        // An `fma` with 0 computes the product alone, so that it is not fused with the sum.
        centers[i] = F::cast_from(lo + fma(f64::new(0.5), hi - lo, f64::new(0.0)));
    }
}
