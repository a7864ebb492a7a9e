//! Boxes and balls on a device, for rays: the twin of a [`crate::Bvh`] of them and [`crate::Bvh::cast`].
//!
//! In: boxes or balls. Out: what rays enter first, whether they enter any, or all that they meet.

use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Sphere};
use crate::gpu::bvh::Coordinate;
use crate::gpu::csr::Csr;
use crate::gpu::device::Device;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::mesh::Stored;
use crate::gpu::search::mesh::compressed::{Bounds, Child, Children, Source, block, children_of, compress};
use crate::gpu::search::mesh::hits::CastHits;
use crate::gpu::search::mesh::items::Item;
use crate::gpu::search::mesh::rays::Rays;
use crate::parallel::map;
use crate::search::mesh::frame::Frame;
use crate::search::mesh::sah::{SahTree, build};

/// Solids of a parallel task.
const TASK: usize = 1 << 14;

/// Boxes or balls in space, on a device, with a tree that rays walk.
///
/// A ray meets what has a point of it, boundaries included; where it begins inside, it enters at its own beginning. Answers are those of
/// [`Convex::ray_interval`](crate::Convex::ray_interval).
///
/// Memory, by the sizes of its buffers: about 45 bytes a box of `f32` and 70 of `f64`, 41 and 53 a ball.
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
#[derive(Clone, Debug)]
pub struct Solids<S> {
    stored: Stored<S>,
}

impl<S: Coordinate> Solids<S> {
    /// Builds the tree of boxes, and copies it to a device.
    ///
    /// Errors: a box with a corner that is NaN, infinite or beyond 1e150 in `f64`, or with its lower corner above its upper one; as
    /// [`Mesh::upload`](super::Mesh::upload).
    pub fn boxes(boxes: &[Aabb<S, 3>], device: Device) -> Result<Self> {
        let corners = map(boxes.len(), TASK, &|at| [boxes[at].lo, boxes[at].hi]);
        Self::of(boxes, Item::Box, corners.as_flattened().as_flattened(), &[], device)
    }

    /// The same of balls.
    ///
    /// Errors: a ball with a centre that is NaN, infinite or beyond 1e150 in `f64`, or with a radius that is negative or NaN; as
    /// [`Solids::boxes`].
    pub fn balls(balls: &[Sphere<S, 3>], device: Device) -> Result<Self> {
        let centers = map(balls.len(), TASK, &|at| balls[at].center);
        let radii = map(balls.len(), TASK, &|at| balls[at].radius);
        Self::of(balls, Item::Ball, centers.as_flattened(), &radii, device)
    }

    fn of<G: Bounded<S, 3>>(solids: &[G], item: Item, exact: &[S], radii: &[f64], device: Device) -> Result<Self> {
        // What a tree refuses is refused with its sentence.
        let bounds = crate::Bvh::build(solids)?.bounds();
        let frame = Frame::over(&bounds);
        let placed = |at: usize| {
            let Aabb { lo, hi } = solids[at].bounds();
            let [lo, hi] = [lo, hi].map(|corner| frame.place(corner.map(Into::into)));
            [lo.map(|x| x as f32), hi.map(|x| x as f32)]
        };
        let source = Placed { tree: build(solids.len(), &placed), placed: &placed };
        let compressed = (!solids.is_empty()).then(|| compress(&source));
        let stored = Stored::new(device, &frame, compressed.as_ref(), item, exact, radii, &[])?;
        Ok(Self { stored })
    }

    /// How many solids there are.
    pub fn len(&self) -> usize {
        self.stored.items.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What each ray enters first; of several at one `t`, that of the lowest index: as [`crate::Bvh::cast`].
    ///
    /// Memory: 12 bytes a ray, and 92 while it runs.
    ///
    /// Errors: rays on another device; results that no buffer of the device can hold; without CUDA, a ray from so far that each of 60,000 solids
    /// or more is asked; if the device fails.
    pub fn first_hits(&self, rays: &Rays<S>) -> Result<CastHits> {
        Ok(CastHits(self.stored.first(rays)?))
    }

    /// Whether each ray meets any, 1 or 0.
    ///
    /// Errors: as [`Solids::first_hits`].
    pub fn any_hits(&self, rays: &Rays<S>) -> Result<DeviceVec<u32>> {
        self.stored.any(rays)
    }

    /// The solids that each ray meets, in ascending order of where it enters them, then of index. They are counted first and found again.
    ///
    /// Memory: 12 bytes a hit and 4 a ray, and 92 a ray while it runs.
    ///
    /// Errors: more than 2^32 - 1 hits in all, or more than a buffer of the device can hold; as [`Solids::first_hits`].
    pub fn hits_all(&self, rays: &Rays<S>) -> Result<Csr> {
        let found = self.stored.all(rays)?;
        Ok(Csr { device: self.stored.device, offsets: found.offsets, values: found.indices })
    }
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
