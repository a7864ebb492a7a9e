//! The build of a mesh on a device.
//!
//! ```text
//! vertices, faces -> corners, codes -> order -> leaves -> merge -> collapse -> encode -> tree
//! vertices, faces in device memory -> on_device -> the same
//! tree, vertices -> corners -> refit (encode) -> tree
//! ```
//!
//! In: vertices and faces. Out: a tree of the same form as the compressed tree of the CPU. Queries are independent of
//! the tree's shape, so results are the same.
//! The host checks the arguments, and waits for the bounds of the mesh and for the number of nodes.
//! Cost: O(n); by the sizes of buffers, some 230 bytes per triangle of `f32` while it runs.

mod collapse;
mod encode;
mod merge;
mod on_device;
mod refit;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Aabb, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase, wait};
use crate::gpu::bvh::bounds::survey;
use crate::gpu::bvh::morton::spread;
use crate::gpu::bvh::{Coordinate, smallest};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::radix_sort::{leading_bits, order};
use crate::gpu::search::mesh::build::collapse::collapse;
use crate::gpu::search::mesh::build::encode::encode;
use crate::gpu::search::mesh::build::merge::merge;
use crate::gpu::search::mesh::constants::numbers;
use crate::gpu::search::mesh::primitives::{Item, Items, ItemsIn};
use crate::gpu::search::mesh::refit_data::RefitData;
use crate::gpu::search::mesh::tree::{CORNERS, Tree, Vec4};
use crate::gpu::search::mesh::{Mesh, Stored, check_rounding, check_size};
use crate::parallel::map_tasks;
use crate::search::mesh::check_input;
use crate::search::mesh::frame::Frame;

/// Vertices per parallel task.
const TASK: usize = 1 << 14;

impl<S: Coordinate> Mesh<S> {
    /// Copies vertices and faces to a device and builds a mesh there, with the arguments of [`crate::Mesh::build`].
    ///
    /// The build is much faster than that of [`crate::Mesh::build`] followed by [`Mesh::upload`]. The tree is another
    /// one, so the times of queries differ somewhat; results are the same. Only a mesh built here can be
    /// [refitted](Mesh::refit).
    ///
    /// ```no_run
    /// use ropewalk::Ray;
    /// use ropewalk::gpu::{Device, Mesh, Rays};
    ///
    /// let device = Device::first()?;
    /// let mesh = Mesh::build(&[[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]], device)?;
    /// let rays = Rays::new(&[Ray::new([0.25, 0.25, 0.0], [0.0, 0.0, 0.5])], device)?;
    /// assert_eq!(mesh.first_hits(&rays)?.read()?[0].unwrap().t, 2.0);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`crate::Mesh::build`] and of [`Mesh::upload`].
    ///
    /// # Cost
    /// Memory, by the sizes of its buffers: about 115 bytes per triangle of `f32` and 150 of `f64`; some 200 more
    /// during construction.
    pub fn build(vertices: &[[S; 3]], faces: &[[u32; 3]], device: Device) -> Result<Self> {
        check_input(vertices, faces)?;
        let n = faces.len();
        check_size((9 * n).max(3 * vertices.len()))?;
        on!(device, client => {
            check_rounding::<_, S>(client, device, || smallest_of(vertices))?;
            check_allocation(client, (size_of_val(vertices) as u128).max(94 * n as u128))?;
            end_phase(client, "checks")?;
            let faces = DeviceVec::new(faces.as_flattened(), device)?.values;
            let places = DeviceVec::new(vertices.as_flattened(), device)?.values;
            end_phase(client, "upload")?;
            Self::build_from(client, device, &places, faces)
        })
    }

    /// Builds a mesh from checked vertices and faces on the device.
    fn build_from<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        vertices: &Buffer<S>,
        faces: Buffer<u32>,
    ) -> Result<Self> {
        let (items, bounds) = items_of(client, vertices, &faces)?;
        end_phase(client, "corners")?;
        let mut built = RefitData { faces, n_vertices: vertices.len() / 3, levels: vec![0], built_cost: None };
        if items.n == 0 {
            return Ok(Self { stored: Stored { device, tree: None, items }, bounds, refit: Some(built) });
        }
        let leaves = sorted_leaves(client, &items);
        end_phase(client, "leaves")?;
        let (tree, levels) = tree_of(client, leaves, &items)?;
        built.levels = levels;
        Ok(Self { stored: Stored { device, tree: Some(tree), items }, bounds, refit: Some(built) })
    }

    /// Waits until the mesh is built.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.stored.device, client => wait(client))
    }
}

/// Builds a tree of boxes, which are in the order of a Morton curve. There is at least one.
pub(super) fn box_tree<R: Runtime, S: Coordinate>(client: &ComputeClient<R>, boxes: &Items<S>) -> Result<Tree> {
    let order = Buffer::iota(client, boxes.n);
    Ok(tree_of(client, leaves(client, boxes, &order), boxes)?.0)
}

/// Builds a tree from its leaves. Also returns the number of the first node of each level, followed by the number of
/// nodes.
fn tree_of<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    leaves: Buffer<u32>,
    items: &Items<S>,
) -> Result<(Tree, Vec<u32>)> {
    let binary = merge(client, leaves, items.n);
    end_phase(client, "merges")?;
    let topology = collapse(client, &binary)?;
    end_phase(client, "nodes")?;
    drop(binary);
    let tree = encode(client, &topology, items);
    end_phase(client, "boxes")?;
    Ok((tree, topology.levels))
}

/// Returns the smallest nonzero absolute coordinate, or infinity.
fn smallest_of<S: Coordinate>(vertices: &[[S; 3]]) -> f64 {
    let parts = map_tasks(vertices.len(), TASK, &|range| smallest(vertices[range].as_flattened()));
    parts.into_iter().fold(f64::INFINITY, f64::min)
}

/// Stores the corners of faces and the frame over them, and returns their bounds, for which it waits.
fn items_of<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    vertices: &Buffer<S>,
    faces: &Buffer<u32>,
) -> Result<(Items<S>, Aabb<S, 3>)> {
    let corners = faces.len();
    let exact = Buffer::<S>::new(client, 3 * corners);
    let mut bounds = Aabb::EMPTY;
    if corners > 0 {
        gather_corners::launch::<S, R>(
            client,
            blocks_for(corners),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            vertices.arg(),
            faces.arg(),
            exact.arg(),
            corners as u32,
        );
        bounds = survey::<_, S, 3>(client, &exact, &Space::OPEN)?.bounds;
    }
    let numbers = Buffer::from_slice(client, &numbers::<S>(&Frame::over(&bounds)));
    Ok((Items { item: Item::Triangle, n: corners / 3, exact, radii: Buffer::new(client, 0), numbers }, bounds))
}

#[cube(launch)]
fn gather_corners<F: Float>(vertices: &Array<F>, faces: &Array<u32>, exact: &mut Array<F>, corners: u32) {
    let corner = ABSOLUTE_POS;
    if (corner as u32) < corners {
        let vertex = faces[corner] as usize;
        #[unroll]
        for k in 0..3usize {
            exact[3 * corner + k] = vertices[3 * vertex + k];
        }
    }
}

/// Writes the leaves of a binary tree in the order of the Morton curve.
fn sorted_leaves<R: Runtime, S: Coordinate>(client: &ComputeClient<R>, items: &Items<S>) -> Buffer<u32> {
    let (n, dim) = (items.n, CubeDim::new_1d(THREADS_PER_BLOCK));
    let codes = Buffer::<u64>::new(client, n);
    code_triangles::launch::<S, R>(client, blocks_for(n), dim, items.arg(), codes.arg());
    leaves(client, items, &order(client, codes, leading_bits(n)))
}

/// Writes the leaves of a binary tree in an order, followed by uninitialized inner nodes.
fn leaves<R: Runtime, S: Coordinate>(client: &ComputeClient<R>, items: &Items<S>, order: &Buffer<u32>) -> Buffer<u32> {
    let (n, dim) = (items.n, CubeDim::new_1d(THREADS_PER_BLOCK));
    let nodes = Buffer::<u32>::new(client, 8 * (2 * n - 1));
    let (blocks, corners) = (blocks_for(n), items.corners());
    write_leaves::launch::<S, R>(client, blocks, dim, items.arg(), order.arg(), nodes.quads(), corners);
    nodes
}

/// The box of a triangle, or of the corners of a box, in the unit of the tree: the lower corner, then the upper one.
#[cube]
fn box_of<F: Float>(items: &ItemsIn<F>, index: u32, #[comptime] count: u32) -> Array<f32> {
    let corners = items.framed(index, count);
    let mut bounds = Array::<f32>::new(6usize);
    #[unroll]
    for k in 0..3usize {
        let (a, b) = (corners[k], corners[comptime!(k + 3)]);
        // The last corner is the second one of a box.
        let c = corners[comptime!(3 * (count as usize - 1) + k)];
        bounds[k] = min(a, min(b, c));
        bounds[k + 3] = max(a, max(b, c));
    }
    bounds
}

/// Computes the Morton code of the centre of each triangle's box, with 21 bits along each axis.
#[cube(launch)]
fn code_triangles<F: Float>(items: &ItemsIn<F>, codes: &mut Array<u64>) {
    let index = ABSOLUTE_POS as u32;
    if index < items.n {
        let bounds = box_of::<F>(items, index, CORNERS);
        let mut code = 0u64.runtime();
        #[unroll]
        for k in 0..3usize {
            // Half the sum of the corners is between -0.5 and 0.5.
            let cell = (bounds[k] + bounds[k + 3] + f32::new(1.0)) * f32::new(1_048_576.0);
            let cell = u32::cast_from(min(max(cell, f32::new(0.0)), f32::new(2_097_151.0)));
            code |= spread(u64::cast_from(cell), 3usize) << comptime!(2 - k as u64);
        }
        codes[ABSOLUTE_POS] = code;
    }
}

#[cube(launch)]
fn write_leaves<F: Float>(items: &ItemsIn<F>, order: &Array<u32>, nodes: &mut Vec4, #[comptime] corners: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < items.n {
        let bounds = box_of::<F>(items, order[at], corners);
        let (mut lo, mut hi) = (Vector::<u32, Const<4>>::new(0u32), Vector::<u32, Const<4>>::new(0u32));
        #[unroll]
        for k in 0..3usize {
            lo[k] = u32::reinterpret(bounds[k]);
            hi[k] = u32::reinterpret(bounds[k + 3]);
        }
        lo[3] = order[at];
        nodes[2 * at] = lo;
        nodes[2 * at + 1] = hi;
    }
}
