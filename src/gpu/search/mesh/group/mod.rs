//! Groups of meshes on a device: the GPU counterpart of `search::mesh::group`.
//!
//! ```text
//! meshes, instances -> storage (Meshes: one array of all trees; Placed: instances in the order of a tree over boxes)
//! storage, rays -> prepared -> cast (instance_walk) -> hits
//! ```
//!
//! In: meshes on a device, and instances. Out: the first hit of each ray, or whether it has any, or lists of hits.
//! The host places the instances and builds the tree over their boxes.

mod cast;
mod hits;
mod instance_walk;
mod storage;

pub use hits::{InstanceHits, InstanceLists};

use cubecl::prelude::{ComputeClient, Runtime};

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::search::hit_lists::lists_of_rows;
use crate::gpu::search::hit_lists::sort_lists;
use crate::gpu::search::mesh::cast_spec::Wanted;
use crate::gpu::search::mesh::group::cast::cast;
use crate::gpu::search::mesh::group::hits::HitNumbers;
use crate::gpu::search::mesh::group::instance_walk::WIDTH;
use crate::gpu::search::mesh::group::storage::{Meshes, Placed};
use crate::gpu::search::mesh::lists::CastOutput;
use crate::gpu::search::mesh::prepared::PreparedRays;
use crate::gpu::search::mesh::rays::Rays;
use crate::gpu::search::mesh::{Mesh, check_numbers};
use crate::search::MeshInstance;

/// Several meshes in one tree on a device: the GPU counterpart of [`crate::search::MeshGroup`], with identical results.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Mesh, MeshGroup, Rays};
/// use ropewalk::Ray;
/// use ropewalk::search::MeshInstance;
///
/// let device = Device::first()?;
/// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]], device)?;
/// let instances = [MeshInstance::new(0).moved([0.0, 0.0, 7.0]), MeshInstance::new(0).moved([0.0, 0.0, 5.0])];
/// let group = MeshGroup::build(&[leaf], &instances, device)?;
///
/// let rays = Rays::new(&[Ray::new([0.25, 0.25, 0.0], [0.0, 0.0, 1.0])], device)?;
/// let hit = group.first_hits(&rays)?.read()?[0].unwrap();
/// assert_eq!((hit.instance, hit.triangle, hit.t), (1, 0, 5.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory: a copy of the meshes, and some 200 bytes per instance.
#[derive(Clone, Debug)]
pub struct MeshGroup<S> {
    device: Device,
    meshes: Meshes<S>,
    /// `None` if there are no instances.
    placed: Option<Placed<S>>,
}

impl<S: Coordinate> MeshGroup<S> {
    /// Copies meshes into one array and builds a tree over instances of them, with the arguments of
    /// [`crate::search::MeshGroup::build`].
    ///
    /// Meshes are those that [`Mesh::build`] or [`Mesh::upload`] return; later refits do not change the group.
    ///
    /// # Errors
    /// - The errors of [`crate::search::MeshGroup::build`].
    /// - A mesh is on another device.
    /// - The meshes together have more than 2^32 - 1 coordinates of corners, or the instances as many numbers (16 each),
    ///   or more than a buffer of the device can hold.
    pub fn build(meshes: &[Mesh<S>], instances: &[MeshInstance], device: Device) -> Result<Self> {
        for mesh in meshes {
            check_same(["a mesh", "the group"], [mesh.stored.device, device])?;
        }
        on!(device, client => {
            let meshes = Meshes::new(client, meshes)?;
            let placed = Placed::new(client, &meshes, instances)?;
            Ok(Self { device, meshes, placed })
        })
    }

    /// Replaces the instances, for those that move, and keeps the meshes, as
    /// [`crate::search::MeshGroup::set_instances`].
    ///
    /// # Errors
    /// Those of [`MeshGroup::build`] about instances. The group is then unchanged.
    ///
    /// # Cost
    /// The host builds a tree over the boxes of the instances, which is copied to the device.
    pub fn set_instances(&mut self, instances: &[MeshInstance]) -> Result<()> {
        self.placed = on!(self.device, client => Placed::new(client, &self.meshes, instances))?;
        Ok(())
    }

    /// Copies the meshes of a group to a device, and builds the group there.
    ///
    /// # Errors
    /// The errors of [`Mesh::upload`] and [`MeshGroup::build`].
    pub fn upload(group: &crate::search::MeshGroup<S>, device: Device) -> Result<Self> {
        let meshes: Vec<Mesh<S>> =
            group.meshes().iter().map(|mesh| Mesh::upload(mesh, device)).collect::<Result<_>>()?;
        Self::build(&meshes, group.instances(), device)
    }

    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.placed.as_ref().map_or(0, |placed| placed.n)
    }

    /// Returns `true` if there are no instances.
    pub fn is_empty(&self) -> bool {
        self.placed.is_none()
    }

    /// Finds the first hit of each ray, as [`crate::search::MeshGroup::first_hits`].
    ///
    /// # Errors
    /// - The rays are on another device.
    /// - The results do not fit in a buffer of the device.
    /// - Without CUDA, a ray meets so many instances, or starts so far away, that its walk takes more than 60,000
    ///   steps.
    /// - The device fails.
    ///
    /// # Cost
    /// A thread per ray. Memory: 40 bytes per ray; while it runs, 132 more.
    pub fn first_hits(&self, rays: &Rays<S>) -> Result<InstanceHits> {
        on!(self.device, client => {
            check_allocation(client, 8 * WIDTH as u128 * rays.len() as u128)?;
            let found = CastOutput {
                indices: Buffer::filled(client, rays.len(), u32::MAX),
                numbers: Buffer::new(client, WIDTH * rays.len()),
                offsets: Buffer::new(client, 0),
            };
            self.cast(client, rays, Wanted::First, 0, &found)?;
            let hits = HitNumbers::new(client, self.device, &found.indices, &found.numbers);
            Ok(InstanceHits { instances: found.indices, hits })
        })
    }

    /// Returns 1 for each ray that meets an instance and 0 for others, as [`crate::search::MeshGroup::any_hits`].
    ///
    /// # Errors
    /// As [`MeshGroup::first_hits`].
    ///
    /// # Cost
    /// Memory: 4 bytes per ray, and 92 while it runs.
    pub fn any_hits(&self, rays: &Rays<S>) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let indices = Buffer::filled(client, rays.len(), 0);
            let found = CastOutput { indices, numbers: Buffer::new(client, 0), offsets: Buffer::new(client, 0) };
            self.cast(client, rays, Wanted::Any, 0, &found)?;
            Ok(DeviceVec { device: self.device, values: found.indices })
        })
    }

    /// Lists all crossings of each ray, in ascending order of `t`, then of instance, then of triangle, as
    /// [`crate::search::MeshGroup::hits_all`].
    ///
    /// # Errors
    /// - There are some 2^30 hits or more in total.
    /// - The errors of [`MeshGroup::first_hits`], and of [`Mesh::hits_all`] about the length of lists.
    ///
    /// # Cost
    /// Crossings are counted by a first walk and listed by a second one. Memory: 40 bytes per hit and 4 per ray; while
    /// it runs, 40 more per hit and 92 per ray.
    pub fn hits_all(&self, rays: &Rays<S>) -> Result<InstanceLists> {
        on!(self.device, client => {
            let offsets = Buffer::filled(client, rays.len() + 1, 0);
            let indices = offsets.clone();
            let counts = CastOutput { indices, numbers: Buffer::new(client, 0), offsets: Buffer::new(client, 0) };
            self.cast(client, rays, Wanted::Count, 0, &counts)?;
            let indices = Csr::allocate_values(client, &offsets)?;
            check_numbers(WIDTH, indices.len())?;
            check_allocation(client, 8 * (WIDTH * indices.len()) as u128)?;
            let numbers = Buffer::new(client, WIDTH * indices.len());
            let found = CastOutput { indices, numbers, offsets };
            self.cast(client, rays, Wanted::List, 0, &found)?;
            self.lists(client, found)
        })
    }

    /// Lists the first `k` crossings of each ray, in ascending order of `t`, then of instance, then of triangle, as
    /// [`crate::search::MeshGroup::k_hits_all`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Mesh, MeshGroup, Rays};
    /// use ropewalk::Ray;
    /// use ropewalk::search::MeshInstance;
    ///
    /// let device = Device::first()?;
    /// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]], device)?;
    /// let at = |z: f64| MeshInstance::new(0).moved([0.0, 0.0, z]);
    /// let group = MeshGroup::build(&[leaf], &[9.0, 8.0, 7.0, 6.0, 5.0].map(at), device)?;
    /// let rays = Rays::new(&[Ray::new([0.25, 0.25, 0.0], [0.0, 0.0, 1.0])], device)?;
    /// let lists = group.k_hits_all(&rays, 2)?.read()?;
    /// assert_eq!(lists.of(0).iter().map(|hit| (hit.instance, hit.t)).collect::<Vec<_>>(), [(4, 5.0), (3, 6.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of rays times `k`, or times the number of triangles of all instances if that is smaller, is some
    ///   2^30 or more.
    /// - The errors of [`MeshGroup::hits_all`].
    ///
    /// # Cost
    /// One walk, which ends behind the `k`-th crossing of a ray. Memory: 40 bytes per hit and 4 per ray; while it runs,
    /// 44 `k` and 92 more per ray.
    pub fn k_hits_all(&self, rays: &Rays<S>, k: usize) -> Result<InstanceLists> {
        let k = k.min(self.placed.as_ref().map_or(0, |placed| placed.n_triangles));
        on!(self.device, client => {
            let places = rays.len() as u128 * k as u128;
            if WIDTH as u128 * places > u128::from(u32::MAX) {
                return Err(errors::too_many_values(WIDTH as u128 * places, "numbers of hits"));
            }
            check_allocation(client, 8 * WIDTH as u128 * places)?;
            let places = places as usize;
            let mut found = CastOutput {
                indices: Buffer::new(client, places),
                numbers: Buffer::new(client, WIDTH * places),
                offsets: Buffer::filled(client, rays.len() + 1, 0),
            };
            if k > 0 {
                self.cast(client, rays, Wanted::Rows, k, &found)?;
            }
            let (indices, numbers) = lists_of_rows(client, found.indices, found.numbers, &found.offsets, k, WIDTH)?;
            (found.indices, found.numbers) = (indices, numbers);
            self.lists(client, found)
        })
    }

    /// Casts rays, after a check of their device.
    fn cast<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        rays: &Rays<S>,
        wanted: Wanted,
        k: usize,
        found: &CastOutput,
    ) -> Result<()> {
        check_same(["the rays", "the group"], [rays.device, self.device])?;
        let Some(placed) = self.placed.as_ref().filter(|_| !rays.is_empty()) else { return Ok(()) };
        cast(client, placed, rays, &PreparedRays::new(client, &placed.items, rays)?, wanted, k, found)
    }

    fn lists<R: Runtime>(&self, client: &ComputeClient<R>, found: CastOutput) -> Result<InstanceLists> {
        sort_lists(client, &found.indices, &found.numbers, &found.offsets, WIDTH)?;
        let hits = HitNumbers::new(client, self.device, &found.indices, &found.numbers);
        let lists = Csr { device: self.device, offsets: found.offsets, values: found.indices };
        Ok(InstanceLists { lists, hits })
    }
}
