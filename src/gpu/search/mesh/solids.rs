//! Boxes and balls on a device, for rays: the GPU counterpart of [`crate::Bvh::cast`] on a [`crate::Bvh`] of such
//! shapes.
//!
//! In: boxes or balls. Out: for each ray the solid that it enters first, whether it meets any, or all solids that it
//! meets.

use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Sphere};
use crate::gpu::bvh::Coordinate;
use crate::gpu::csr::Csr;
use crate::gpu::device::Device;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::mesh::Stored;
use crate::gpu::search::mesh::compressed::{Bounds, Child, Children, Compressed, Source, block, children_of, compress};
use crate::gpu::search::mesh::hits::CastHits;
use crate::gpu::search::mesh::primitives::Item;
use crate::gpu::search::mesh::rays::Rays;
use crate::parallel::map;
use crate::search::mesh::frame::Frame;
use crate::search::mesh::sah::{SahTree, build};

/// Solids per parallel task.
const TASK: usize = 1 << 14;

/// Boxes or balls in space, on a device, with a tree for ray casts.
///
/// A ray meets a solid if they share a point, boundaries included. A ray that begins inside a solid enters it at the
/// ray's start. Results are those of [`Convex::ray_interval`](crate::geometry::Convex::ray_interval).
///
/// ```no_run
/// use ropewalk::gpu::{Device, Rays, Solids};
/// use ropewalk::{Ray, Sphere};
///
/// let device = Device::first()?;
/// let balls = Solids::balls(&[Sphere::new([0.0f32, 0.0, 5.0], 1.0), Sphere::new([0.0, 0.0, 9.0], 1.0)], device)?;
/// let rays = Rays::new(&[Ray::new([0.0, 0.0, 0.0], [0.0, 0.0, 2.0])], device)?;
/// let first = balls.first_hits(&rays)?.read()?[0].unwrap();
/// assert_eq!((first.index, first.t), (0, 2.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory, by the sizes of its buffers: about 45 bytes per box of `f32` and 70 of `f64`; 41 and 53 per ball.
#[derive(Clone, Debug)]
pub struct Solids<S> {
    stored: Stored<S>,
}

impl<S: Coordinate> Solids<S> {
    /// Builds a tree of boxes, and copies it to a device.
    ///
    /// # Errors
    /// - A corner of a box is NaN, infinite or beyond 1e150 in `f64`, or its lower corner is above its upper one.
    /// - The errors of [`Mesh::upload`](super::Mesh::upload).
    pub fn boxes(boxes: &[Aabb<S, 3>], device: Device) -> Result<Self> {
        let corners = map(boxes.len(), TASK, &|at| [boxes[at].lo, boxes[at].hi]);
        Self::upload(boxes, Item::Box, corners.as_flattened().as_flattened(), &[], device)
    }

    /// Builds a tree of balls, and copies it to a device.
    ///
    /// # Errors
    /// - The centre of a ball is NaN, infinite or beyond 1e150 in `f64`, or its radius is negative or NaN.
    /// - The errors of [`Solids::boxes`].
    pub fn balls(balls: &[Sphere<S, 3>], device: Device) -> Result<Self> {
        let centers = map(balls.len(), TASK, &|at| balls[at].center);
        let radii = map(balls.len(), TASK, &|at| balls[at].radius);
        Self::upload(balls, Item::Ball, centers.as_flattened(), &radii, device)
    }

    fn upload<G: Bounded<S, 3>>(solids: &[G], item: Item, exact: &[S], radii: &[f64], device: Device) -> Result<Self> {
        // Builds a tree of the CPU for its errors about invalid solids.
        let bounds = crate::Bvh::build(solids)?.bounds();
        let frame = Frame::over(&bounds);
        let placed = |at: usize| {
            let Aabb { lo, hi } = solids[at].bounds();
            let [lo, hi] = [lo, hi].map(|corner| frame.place(corner.map(Into::into)));
            [lo.map(|x| x as f32), hi.map(|x| x as f32)]
        };
        let compressed = (!solids.is_empty()).then(|| compress_boxes(solids.len(), &placed));
        let stored = Stored::new(device, &frame, compressed.as_ref(), item, exact, radii, &[])?;
        Ok(Self { stored })
    }

    /// Returns the number of solids.
    pub fn len(&self) -> usize {
        self.stored.items.n
    }

    /// Returns `true` if there are no solids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds the solid that each ray enters first, the lowest index if several have the same `t`, as
    /// [`crate::Bvh::cast`].
    ///
    /// # Errors
    /// - The rays are on another device.
    /// - The results do not fit in a buffer of the device.
    /// - Without CUDA, a ray starts so far away that each solid must be tested, and there are more than 60,000
    ///   solids.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 12 bytes per ray, and 92 while it runs.
    pub fn first_hits(&self, rays: &Rays<S>) -> Result<CastHits> {
        Ok(CastHits(self.stored.first(rays)?))
    }

    /// Returns 1 for each ray that meets a solid and 0 for others.
    ///
    /// # Errors
    /// As [`Solids::first_hits`].
    pub fn any_hits(&self, rays: &Rays<S>) -> Result<DeviceVec<u32>> {
        self.stored.any(rays)
    }

    /// Lists the solids that each ray meets, in ascending order of the `t` at which it enters them, then of index.
    ///
    /// Solids are counted by a first walk and listed by a second one.
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 hits in total, or more than a buffer of the device can hold.
    /// - The errors of [`Solids::first_hits`].
    ///
    /// # Cost
    /// Memory: 12 bytes per hit and 4 per ray, and 92 per ray while it runs.
    pub fn hits_all(&self, rays: &Rays<S>) -> Result<Csr> {
        let found = self.stored.all(rays)?;
        Ok(Csr { device: self.stored.device, offsets: found.offsets, values: found.indices })
    }
}

/// Builds and compresses a tree over `n` boxes, at least one, in the unit of their frame.
pub(super) fn compress_boxes(n: usize, placed: &(dyn Fn(usize) -> Bounds + Sync)) -> Compressed {
    compress(&Placed { tree: build(n, placed), placed })
}

/// A tree of boxes, and the boxes.
struct Placed<'a> {
    tree: SahTree,
    placed: &'a (dyn Fn(usize) -> Bounds + Sync),
}

impl Source for Placed<'_> {
    fn root(&self) -> u32 {
        self.tree.root
    }

    fn children(&self, at: u32) -> Children {
        let item = |&item: &u32| ((self.placed)(item as usize), Child::Item(item));
        let only = |at: usize| if let [one] = self.tree.items(at) { Some(item(one)) } else { None };
        match block(at) {
            Some(at) => std::array::from_fn(|lane| self.tree.items(at).get(lane).map(item)),
            None => children_of(&self.tree.nodes[at as usize], only),
        }
    }
}
