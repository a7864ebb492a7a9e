//! Triangles, boxes and balls on a device, for rays and nearest-point queries: the GPU counterpart of `search::mesh`.
//!
//! ```text
//! wide tree of the CPU -> compressed -> tree
//! vertices, faces -> build (merge, collapse, encode) -> tree
//! tree, rays -> prepared -> cast (cast_kernels, finish: candidates, triangle_hit, solid_hit, exact) -> lists -> hits
//! tree, points -> nearest (point_triangle) -> hits
//! trees, instances -> group (cast) -> hits
//! boxes of shapes -> build -> wide_boxes (for `search::shapes`)
//! ```
//!
//! The tree is built on the CPU and compressed there, or it is built on the device.

mod build;
pub(in crate::gpu::search) mod candidates;
mod cast;
mod cast_spec;
mod cast_kernels;
mod compressed;
mod exact;
mod finish;
mod group;
pub(in crate::gpu::search) mod ray_frame;
mod hits;
pub(in crate::gpu::search) mod primitives;
mod lists;
mod nearest;
mod constants;
mod point_triangle;
pub(in crate::gpu::search) mod prepared;
mod ray_parameter;
pub(in crate::gpu::search) mod rays;
mod refit_data;
mod solid_hit;
mod solids;
pub(in crate::gpu::search) mod tree;
mod triangle_hit;
pub(in crate::gpu::search) mod wide_boxes;

pub use group::{InstanceHits, InstanceLists, MeshGroup};
pub use hits::{CastHits, MeshNeighbors, RayHits, RayLists};
pub use rays::Rays;
pub use solids::Solids;

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::{Coordinate, smallest};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::rounding::{check_distances, rounds_well};
use crate::gpu::search::hit_lists::lists_of_rows;
use crate::gpu::search::hit_lists::sort_lists;
use crate::gpu::search::mesh::cast::Cast;
use crate::gpu::search::mesh::cast_spec::Wanted;
use crate::gpu::search::mesh::compressed::{
    Child, Children, Compressed, Source, block, bounds_of, children_of, compress,
};
use crate::gpu::search::mesh::constants::numbers;
use crate::gpu::search::mesh::hits::OptionalHits;
use crate::gpu::search::mesh::lists::{CastOutput, width};
use crate::gpu::search::mesh::prepared::PreparedRays;
use crate::gpu::search::mesh::primitives::{Item, Items};
use crate::gpu::search::mesh::refit_data::RefitData;
use crate::gpu::search::mesh::tree::Tree;
use crate::parallel::map;
use crate::search::mesh::frame::Frame;
use crate::search::mesh::wide_tree::WideTree;

/// A mesh of triangles on a device: the GPU counterpart of [`crate::Mesh`].
///
/// It is built on the device ([`Mesh::build`]), or on the CPU and uploaded ([`Mesh::upload`]).
///
/// Results equal the CPU's. Cases that depend on rounding are computed without rounding, as on the CPU.
///
/// ```no_run
/// use ropewalk::gpu::{self, Device, Rays};
/// use ropewalk::{Mesh, Ray};
///
/// let device = Device::first()?;
/// let mesh = Mesh::build(&[[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]])?;
/// let mesh = gpu::Mesh::upload(&mesh, device)?;
/// let rays = Rays::new(&[Ray::new([0.25, 0.25, 0.0], [0.0, 0.0, 0.5])], device)?;
/// let hit = mesh.first_hits(&rays)?.read()?[0].unwrap();
/// assert_eq!((hit.triangle, hit.t, hit.barycentric), (0, 2.0, [0.5, 0.25, 0.25]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory, by the sizes of its buffers: about 101 bytes per triangle of `f32`, and 136 of `f64`.
#[derive(Clone, Debug)]
pub struct Mesh<S> {
    stored: Stored<S>,
    bounds: Aabb<S, 3>,
    /// `None` if the mesh was uploaded.
    refit: Option<RefitData>,
}

/// The stored items and their tree.
#[derive(Clone, Debug)]
struct Stored<S> {
    device: Device,
    /// `None` if there are no items.
    tree: Option<Tree>,
    items: Items<S>,
}

impl<S: Coordinate> Mesh<S> {
    /// Compresses the tree of a mesh and copies it to a device.
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 coordinates of corners.
    /// - The device rounds quotients or distances differently from the CPU, or flushes small coordinates to 0.
    /// - The device does not allow a buffer that holds the mesh.
    pub fn upload(mesh: &crate::Mesh<S>, device: Device) -> Result<Self> {
        let (n, corners) = (mesh.len(), &mesh.corners);
        let compressed = (n > 0).then(|| compress(&mesh.tree));
        let framed = |at: usize| -> [u32; 12] {
            let triangle = compressed.as_ref().map_or(0, |tree| tree.order[at]) as usize;
            let corner = |corner: [S; 3]| mesh.frame.place(corner.map(Into::into)).map(|x| x as f32);
            let [a, b, c] = corners[triangle].map(corner).map(|corner| corner.map(f32::to_bits));
            let words = |k: usize| [a, b, c][k / 4].get(k % 4).copied().unwrap_or(triangle as u32);
            std::array::from_fn(words)
        };
        let framed = map(n, 1 << 12, &framed);
        let exact = corners.as_flattened().as_flattened();
        let stored =
            Stored::new(device, &mesh.frame, compressed.as_ref(), Item::Triangle, exact, &[], framed.as_flattened())?;
        Ok(Self { stored, bounds: mesh.bounds(), refit: None })
    }

    /// Returns the number of triangles.
    pub fn len(&self) -> usize {
        self.stored.items.n
    }

    /// Returns `true` if there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bounding box of all triangles; [`Aabb::EMPTY`] if there are no triangles.
    pub fn bounds(&self) -> Aabb<S, 3> {
        self.bounds
    }

    /// Finds the first hit of each ray, as [`crate::Mesh::first_hits`].
    ///
    /// # Errors
    /// - The rays are on another device.
    /// - The results do not fit in a buffer of the device.
    /// - Without CUDA, a ray starts so far away that each triangle must be tested, and there are more than 60,000
    ///   triangles.
    /// - Without CUDA, rounding is decisive for some 70 triangles of a ray.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 36 bytes per ray, and 92 while it runs.
    pub fn first_hits(&self, rays: &Rays<S>) -> Result<RayHits> {
        Ok(RayHits(self.stored.first(rays)?))
    }

    /// Returns 1 for each ray that meets a triangle and 0 for others, as [`crate::Mesh::any_hits`].
    ///
    /// # Errors
    /// As [`Mesh::first_hits`].
    ///
    /// # Cost
    /// Memory: 4 bytes per ray, and 92 while it runs.
    pub fn any_hits(&self, rays: &Rays<S>) -> Result<DeviceVec<u32>> {
        self.stored.any(rays)
    }

    /// Lists all crossings of each ray, in ascending order of `t`, then of index, as [`crate::Mesh::hits_all`].
    ///
    /// Crossings are counted by a first walk and listed by a second one.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{self, Device, Rays};
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let device = Device::first()?;
    /// let mesh = Mesh::build(&[[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]])?;
    /// let mesh = gpu::Mesh::upload(&mesh, device)?;
    /// let rays = Rays::new(&[Ray::new([0.25, 0.25, 0.0], [0.0, 0.0, 0.5])], device)?;
    /// assert_eq!(mesh.hits_all(&rays)?.read()?.of(0)[0].t, 2.0);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are 2^30 or more hits in total.
    /// - Without CUDA, a ray has more than 3,000 hits.
    /// - The errors of [`Mesh::first_hits`].
    ///
    /// # Cost
    /// Memory: 36 bytes per hit and 4 per ray, and 92 per ray while it runs.
    pub fn hits_all(&self, rays: &Rays<S>) -> Result<RayLists> {
        self.stored.all(rays).map(|found| self.lists(found))
    }

    /// Lists the first `k` crossings of each ray, in ascending order of `t`, then of index, as
    /// [`crate::Mesh::k_hits_all`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{self, Device, Rays};
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let device = Device::first()?;
    /// let triangle = |z: f32| [[0.0, 0.0, z], [1.0, 0.0, z], [0.0, 1.0, z]];
    /// let corners = [triangle(1.0), triangle(2.0)].concat();
    /// let mesh = gpu::Mesh::build(&corners, &[[0, 1, 2], [3, 4, 5]], device)?;
    /// let rays = Rays::new(&[Ray::new([0.25, 0.25, 0.0], [0.0, 0.0, 1.0])], device)?;
    /// assert_eq!(mesh.k_hits_all(&rays, 1)?.read()?.of(0).iter().map(|hit| hit.triangle).collect::<Vec<_>>(), [0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of rays times `k`, or times the number of triangles if that is smaller, is 2^30 or more.
    /// - The errors of [`Mesh::hits_all`].
    ///
    /// # Cost
    /// One walk, which ends behind the `k`-th crossing of a ray. Memory: 36 bytes per hit and 4 per ray; while it runs,
    /// 36 `k` and 92 more per ray.
    pub fn k_hits_all(&self, rays: &Rays<S>, k: usize) -> Result<RayLists> {
        self.stored.first_k(rays, k).map(|found| self.lists(found))
    }

    fn lists(&self, found: CastOutput) -> RayLists {
        let lists = Csr { device: self.stored.device, offsets: found.offsets, values: found.indices };
        RayLists { lists, numbers: found.numbers }
    }
}

impl<S: Coordinate> Stored<S> {
    fn new(
        device: Device,
        frame: &Frame,
        compressed: Option<&Compressed>,
        item: Item,
        exact: &[S],
        radii: &[f64],
        framed: &[u32],
    ) -> Result<Self> {
        check_size(exact.len())?;
        let n = compressed.map_or(0, |tree| tree.order.len());
        on!(device, client => {
            check_rounding::<_, S>(client, device, || smallest(exact))?;
            let nodes = compressed.map_or(0, |tree| size_of_val(&*tree.nodes));
            check_allocation(client, size_of_val(exact).max(4 * framed.len() + nodes) as u128)?;
            Ok(Self {
                device,
                tree: compressed.map(|compressed| Tree::new(client, compressed, framed)),
                items: Items {
                    item,
                    n,
                    exact: Buffer::from_slice(client, exact),
                    radii: Buffer::from_slice(client, radii),
                    numbers: Buffer::from_slice(client, &numbers::<S>(frame)),
                },
            })
        })
    }

    fn first<const N: usize>(&self, rays: &Rays<S>) -> Result<OptionalHits<N>> {
        self.check(rays)?;
        let n = rays.len();
        on!(self.device, client => {
            check_allocation(client, (8 * N * n) as u128)?;
            let found = CastOutput {
                indices: Buffer::filled(client, n, u32::MAX),
                numbers: Buffer::new(client, N * n),
                offsets: Buffer::new(client, 0),
            };
            self.cast(client, rays, &PreparedRays::new(client, &self.items, rays)?, Wanted::First, 0, &found)?;
            Ok(OptionalHits { device: self.device, indices: found.indices, numbers: found.numbers })
        })
    }

    fn any(&self, rays: &Rays<S>) -> Result<DeviceVec<u32>> {
        self.check(rays)?;
        on!(self.device, client => {
            let found = CastOutput {
                indices: Buffer::filled(client, rays.len(), 0),
                numbers: Buffer::new(client, 0),
                offsets: Buffer::new(client, 0),
            };
            self.cast(client, rays, &PreparedRays::new(client, &self.items, rays)?, Wanted::Any, 0, &found)?;
            Ok(DeviceVec { device: self.device, values: found.indices })
        })
    }

    fn all(&self, rays: &Rays<S>) -> Result<CastOutput> {
        self.check(rays)?;
        on!(self.device, client => {
            let offsets = Buffer::filled(client, rays.len() + 1, 0);
            let counts =
                CastOutput { indices: offsets.clone(), numbers: Buffer::new(client, 0), offsets: Buffer::new(client, 0) };
            let prepared = PreparedRays::new(client, &self.items, rays)?;
            self.cast(client, rays, &prepared, Wanted::Count, 0, &counts)?;
            let indices = Csr::allocate_values(client, &offsets)?;
            let width = width(self.items.item);
            check_numbers(width, indices.len())?;
            check_allocation(client, (8 * width * indices.len()) as u128)?;
            let numbers = Buffer::new(client, width * indices.len());
            let found = CastOutput { indices, numbers, offsets };
            self.cast(client, rays, &prepared, Wanted::List, 0, &found)?;
            sort_lists(client, &found.indices, &found.numbers, &found.offsets, width)?;
            Ok(found)
        })
    }

    fn first_k(&self, rays: &Rays<S>, k: usize) -> Result<CastOutput> {
        self.check(rays)?;
        let (k, width) = (k.min(self.items.n), width(self.items.item));
        on!(self.device, client => {
            let places = rays.len() as u128 * k as u128;
            if width as u128 * places > u128::from(u32::MAX) {
                return Err(errors::too_many_values(width as u128 * places, "numbers of hits"));
            }
            check_allocation(client, 8 * width as u128 * places)?;
            let places = places as usize;
            let mut found = CastOutput {
                indices: Buffer::new(client, places),
                numbers: Buffer::new(client, width * places),
                offsets: Buffer::filled(client, rays.len() + 1, 0),
            };
            if k > 0 {
                self.cast(client, rays, &PreparedRays::new(client, &self.items, rays)?, Wanted::Rows, k, &found)?;
            }
            let (indices, numbers) = lists_of_rows(client, found.indices, found.numbers, &found.offsets, k, width)?;
            (found.indices, found.numbers) = (indices, numbers);
            sort_lists(client, &found.indices, &found.numbers, &found.offsets, width)?;
            Ok(found)
        })
    }

    fn cast<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        rays: &Rays<S>,
        prepared: &PreparedRays,
        wanted: Wanted,
        k: usize,
        found: &CastOutput,
    ) -> Result<()> {
        let Some(tree) = self.tree.as_ref().filter(|_| !rays.is_empty()) else { return Ok(()) };
        Cast { tree, items: &self.items, rays, prepared, wanted, k, found }.run(client)
    }

    fn check(&self, rays: &Rays<S>) -> Result<()> {
        let stored = if self.items.item == Item::Triangle { "the mesh" } else { "the solids" };
        check_same(["the rays", stored], [rays.device, self.device])
    }
}

/// Returns an error if there are more coordinates than the 32-bit indices of kernels can address.
fn check_size(coordinates: usize) -> Result<()> {
    let max = u32::MAX as usize;
    if coordinates > max { Err(Error::too_many_points(coordinates, max)) } else { Ok(()) }
}

/// Returns an error if the device rounds differently from the CPU, or flushes the smallest coordinate to 0.
fn check_rounding<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    device: Device,
    smallest_nonzero: impl FnOnce() -> f64,
) -> Result<()> {
    check_distances::<_, S>(client, device, smallest_nonzero)?;
    if rounds_well(client, device)? { Ok(()) } else { Err(errors::rounding()) }
}

/// Returns an error if there are more numbers than the 32-bit indices of kernels can address.
fn check_numbers(width: usize, rows: usize) -> Result<()> {
    let values = width as u128 * rows as u128;
    if values > u128::from(u32::MAX) { Err(errors::too_many_values(values, "numbers of hits")) } else { Ok(()) }
}

impl Source for WideTree {
    fn root(&self) -> u32 {
        self.root
    }

    fn children(&self, at: u32) -> Children {
        let item = |at: usize, lane: usize| {
            let own = &self.blocks[at];
            let corners = own.corners.map(|corner| corner.map(|axis| axis[lane]));
            (own.triangle[lane] != u32::MAX).then(|| (bounds_of(&corners), Child::Item(own.triangle[lane])))
        };
        // Blocks are filled from their first place on.
        let only = |at: usize| item(at, 0).filter(|_| item(at, 1).is_none());
        match block(at) {
            Some(at) => std::array::from_fn(|lane| item(at, lane)),
            None => children_of(&self.nodes[at as usize], only),
        }
    }
}
