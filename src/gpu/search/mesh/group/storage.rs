//! The trees and instances of a group as kernels read them.
//!
//! In: meshes and instances. Out: the trees of all meshes in one array, and their corners in another one ([`Meshes`]).
//! The instances follow the order of the leaves of a tree over their boxes ([`Placed`]).
//! Cost: a copy of the meshes, and a tree over the boxes on the host.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::errors;
use crate::gpu::primitives::rounding::product;
use crate::gpu::search::mesh::constants::{FAR_ERROR, HUGE, N_NUMBERS, PADDING, SCALE, TINY, numbers};
use crate::gpu::search::mesh::primitives::{Item, Items};
use crate::gpu::search::mesh::rays::ExactRay;
use crate::gpu::search::mesh::solids::compress_boxes;
use crate::gpu::search::mesh::tree::{Tree, Vec4};
use crate::gpu::search::mesh::{Mesh, check_size};
use crate::search::MeshInstance;
use crate::search::mesh::frame::Frame;
use crate::search::mesh::group::placement::Placement;

/// The links of an instance: first its index, the first vector of the nodes of its mesh, and that of the triangles.
/// Then the place of its first triangle among those of all meshes, and the number of its triangles.
const LINKS: u32 = 5;
/// The numbers of an instance: first the rows of the map to its mesh, and the place of the mesh's origin. Then the
/// centre and the scale of the frame of the mesh.
const NUMBERS: u32 = 16;
/// The first number after the map.
const FRAME: u32 = 12;

/// The meshes of a group on a device.
#[derive(Clone, Debug)]
pub(super) struct Meshes<S> {
    /// The box of each mesh, and its place in the arrays of all meshes.
    bounds: Vec<Aabb<S, 3>>,
    places: Vec<Place>,
    /// The number of triangles.
    n: usize,
    /// The trees of all meshes, and the corners of their triangles.
    words: Buffer<u32>,
    exact: Buffer<S>,
}

/// The place of a mesh in the arrays of all meshes.
#[derive(Clone, Copy, Debug)]
struct Place {
    first_node: usize,
    first_triangle_vector: usize,
    first_triangle: usize,
    n_triangles: usize,
}

impl<S: Coordinate> Meshes<S> {
    /// Copies meshes into common arrays.
    ///
    /// Errors: the arrays have more elements than kernels can index, or than a buffer of the device can hold.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, meshes: &[Mesh<S>]) -> Result<Self> {
        let n: usize = meshes.iter().map(Mesh::len).sum();
        check_size(9 * n)?;
        let (mut places, mut vectors, mut triangles) = (vec![], 0, 0);
        for mesh in meshes {
            let (own, own_triangles) =
                mesh.stored.tree.as_ref().map_or((0, 0), |tree| (tree.words.len() / 4, tree.triangles));
            places.push(Place {
                first_node: vectors,
                first_triangle_vector: vectors + own_triangles as usize,
                first_triangle: triangles,
                n_triangles: mesh.len(),
            });
            vectors += own;
            triangles += mesh.len();
        }
        check_size(vectors)?;
        check_allocation(client, (16 * vectors).max(9 * n * size_of::<S>()) as u128)?;
        let (words, exact) = (Buffer::new(client, 4 * vectors), Buffer::new(client, 9 * n));
        for (mesh, place) in meshes.iter().zip(&places) {
            if let Some(tree) = &mesh.stored.tree {
                copy(client, &tree.words, &words, 4 * place.first_node);
                copy(client, &mesh.stored.items.exact, &exact, 9 * place.first_triangle);
            }
        }
        Ok(Self { bounds: meshes.iter().map(|mesh| mesh.bounds).collect(), places, n, words, exact })
    }
}

/// Instances of meshes, at least one, on a device.
#[derive(Clone, Debug)]
pub(super) struct Placed<S> {
    /// The tree over the boxes of the instances.
    pub top: Tree,
    /// The corners of all meshes, and the constants of the tree over the instances.
    pub items: Items<S>,
    /// The number of triangles of all instances.
    pub n_triangles: usize,
    /// The number of instances.
    pub n: usize,
    /// The trees of all meshes.
    words: Buffer<u32>,
    links: Buffer<u32>,
    numbers: Buffer<f64>,
}

impl<S: Coordinate> Placed<S> {
    /// Places instances; `None` if there are none.
    ///
    /// Errors: those of [`Placement::new`]; instances with more numbers than kernels can index, or than a buffer of the
    /// device can hold.
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        meshes: &Meshes<S>,
        instances: &[MeshInstance],
    ) -> Result<Option<Self>> {
        let Placement { to_mesh, boxes, error } = Placement::new(&meshes.bounds, instances)?;
        if instances.is_empty() {
            return Ok(None);
        }
        let n_numbers = NUMBERS as u128 * instances.len() as u128;
        if n_numbers > u128::from(u32::MAX) {
            return Err(errors::too_many_values(n_numbers, "numbers of instances"));
        }
        check_allocation(client, 8 * n_numbers)?;
        let whole = boxes.iter().fold(Aabb::EMPTY, |all, own| all.union(own));
        let frame = Frame::over(&whole);
        let compressed = compress_boxes(instances.len(), &|at| {
            [boxes[at].lo, boxes[at].hi].map(|corner| frame.place(corner).map(|x| x as f32))
        });
        let (mut links, mut values) = (vec![], vec![]);
        for &at in &compressed.order {
            let (instance, to_mesh) = (&instances[at as usize], &to_mesh[at as usize]);
            let place = &meshes.places[instance.mesh as usize];
            let firsts = [place.first_node, place.first_triangle_vector, place.first_triangle, place.n_triangles];
            links.extend([at].into_iter().chain(firsts.map(|first| first as u32)));
            let own = Frame::over(&meshes.bounds[instance.mesh as usize]);
            values.extend(to_mesh.matrix.as_flattened().iter().chain(&to_mesh.origin).chain(&own.center));
            values.push(own.scale);
        }
        let mut constants = numbers::<S>(&frame);
        constants[FAR_ERROR] += error;
        Ok(Some(Self {
            top: Tree::new(client, &compressed, &[]),
            items: Items {
                item: Item::Triangle,
                n: meshes.n,
                exact: meshes.exact.clone(),
                radii: Buffer::new(client, 0),
                numbers: Buffer::from_slice(client, &constants),
            },
            n_triangles: instances.iter().map(|own| meshes.places[own.mesh as usize].n_triangles).sum(),
            n: instances.len(),
            words: meshes.words.clone(),
            links: Buffer::from_slice(client, &links),
            numbers: Buffer::from_slice(client, &values),
        }))
    }

    pub fn arg<R: Runtime>(&self) -> InstancesLaunch<R> {
        InstancesLaunch::new(self.words.quads(), self.links.arg(), self.numbers.arg(), self.n as u32)
    }
}

/// Copies a buffer to a place in another one.
fn copy<R: Runtime, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    from: &Buffer<T>,
    to: &Buffer<T>,
    first: usize,
) {
    let n = from.len();
    copy_to::launch::<T, R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        from.arg(),
        to.arg(),
        first as u32,
        n as u32,
    );
}

#[cube(launch)]
fn copy_to<T: Numeric>(from: &Array<T>, to: &mut Array<T>, first: u32, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        to[first as usize + at] = from[at];
    }
}

/// The kernel argument for the trees of [`Placed`] instances.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Instances {
    /// The trees of all meshes.
    pub words: Vec4,
    links: Array<u32>,
    numbers: Array<f64>,
    /// The number of instances.
    pub n: u32,
}

/// The mesh of an instance.
#[derive(CubeType)]
pub(super) struct InstanceMesh {
    pub instance: u32,
    /// The first vectors of the nodes and of the triangles.
    pub first_node: u32,
    pub first_triangle_vector: u32,
    /// The first triangle among those of all meshes, and the number of triangles.
    pub first_triangle: u32,
    pub n: u32,
}

#[cube]
impl Instances {
    /// Returns the mesh of the instance at a place in the order of the tree.
    pub fn mesh(&self, place: u32) -> InstanceMesh {
        let first = (place * LINKS) as usize;
        InstanceMesh {
            instance: self.links[first],
            first_node: self.links[first + 1],
            first_triangle_vector: self.links[first + 2],
            first_triangle: self.links[first + 3],
            n: self.links[first + 4],
        }
    }

    /// Maps a ray to the frame of the mesh of an instance, up to the parameter `to`, as `ToMesh::ray` on the CPU.
    pub fn ray(&self, place: u32, ray: &ExactRay, to: f64, numbers: &Array<f64>) -> ExactRay {
        let first = (place * NUMBERS) as usize;
        let mut from = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            from[k] = ray.origin[k] - self.numbers[first + 9 + k];
        }
        let (mut origin, mut direction) = (Array::<f64>::new(3usize), Array::<f64>::new(3usize));
        let mut is_proper = ray.is_proper;
        let mut longest = Array::<f64>::new(1usize);
        longest[0] = f64::new(0.0);
        #[unroll]
        for k in 0..3usize {
            let row = first + 3 * k;
            let (x, y, z) = (self.numbers[row], self.numbers[row + 1], self.numbers[row + 2]);
            origin[k] = product(x, from[0]) + product(y, from[1]) + product(z, from[2]);
            direction[k] = product(x, ray.direction[0]) + product(y, ray.direction[1]) + product(z, ray.direction[2]);
            is_proper = is_proper && origin[k].abs() <= numbers[HUGE] && direction[k].abs() <= numbers[HUGE];
            longest[0] = max(longest[0], direction[k].abs());
        }
        let is_proper = is_proper && longest[0] > f64::new(0.0) && ray.from <= to;
        ExactRay { origin, direction, from: ray.from, to, is_proper }
    }

    /// Returns the constants with which a ray is prepared for the mesh of an instance.
    pub fn frame(&self, place: u32, numbers: &Array<f64>) -> Array<f64> {
        let first = (place * NUMBERS + FRAME) as usize;
        let mut own = Array::<f64>::new(N_NUMBERS);
        #[unroll]
        for k in 0..3usize {
            own[k] = self.numbers[first + k];
        }
        own[SCALE] = self.numbers[first + 3];
        own[TINY] = numbers[TINY];
        own[HUGE] = numbers[HUGE];
        own[PADDING] = numbers[PADDING];
        // 64 epsilons, as for a mesh.
        own[FAR_ERROR] = f64::new(1.421_085_5e-14);
        own
    }
}
