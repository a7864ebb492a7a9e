//! Refits: the same tree over triangles that have moved.
//!
//! In: a tree, and new vertices. Out: a tree with the same children and new boxes, and the ratio of its cost to that of
//! the tree that was built.
//! Cost: a transfer of the vertices, a wait for their bounds, and the kernels of `encode`.
//!
//! **Launch contract.** That of `merge`.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::mesh::build::collapse::Topology;
use crate::gpu::search::mesh::build::encode::encode;
use crate::gpu::search::mesh::build::{items_of, smallest_of};
use crate::gpu::search::mesh::tree::{Axis, CORNERS, Nodes, Tree, VECTORS, Vec4, byte};
use crate::gpu::search::mesh::{Mesh, check_rounding};
use crate::search::mesh::check_vertices;

/// Blocks that sum costs: enough to keep a device busy.
const BLOCKS: u32 = 512;

impl<S: Coordinate> Mesh<S> {
    /// Updates a mesh after its vertices have moved: `vertices[i]` becomes the vertex of index `i`.
    ///
    /// The faces and the nodes of the tree are unchanged, boxes are updated, and all results are exact again: they are
    /// those of a mesh built from the new vertices. The farther vertices have moved apart since the build, the longer
    /// queries take; [`Mesh::degradation`] shows when to build again. Clones of the mesh are unchanged.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Mesh};
    ///
    /// let mut vertices = [[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];
    /// let mut mesh = Mesh::build(&vertices, &[[0, 1, 2]], Device::first()?)?;
    /// vertices.iter_mut().for_each(|vertex| vertex[2] = 3.0);
    /// mesh.refit(&vertices)?;
    /// let near = mesh.nearest_all(&[[0.25, 0.25, 0.0]], f64::INFINITY)?.read()?[0].unwrap();
    /// assert_eq!(near.distance2, 9.0);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The mesh was uploaded with [`Mesh::upload`], which does not copy the faces.
    /// - The number of vertices differs from that of the build.
    /// - The errors of [`Mesh::build`] about vertices.
    ///
    /// The mesh is then unchanged.
    ///
    /// # Cost
    /// A transfer of the vertices, and about a third of the kernels of a build. Memory: that of another copy of the
    /// mesh while it runs.
    pub fn refit(&mut self, vertices: &[[S; 3]]) -> Result<()> {
        self.check_refit(vertices.len())?;
        check_vertices(vertices)?;
        let device = self.stored.device;
        on!(device, client => {
            check_rounding::<_, S>(client, device, || smallest_of(vertices))?;
            self.refit_to(client, &DeviceVec::new(vertices.as_flattened(), device)?.values)
        })
    }

    /// Returns an error if the mesh was uploaded, or has another number of vertices.
    pub(super) fn check_refit(&self, vertices: usize) -> Result<()> {
        let Some(refit) = &self.refit else { return Err(uploaded()) };
        if vertices == refit.n_vertices { Ok(()) } else { Err(vertex_count(vertices, refit.n_vertices)) }
    }

    /// Updates the mesh to checked vertices on its device.
    pub(super) fn refit_to<R: Runtime>(&mut self, client: &ComputeClient<R>, vertices: &Buffer<S>) -> Result<()> {
        let (stored, Some(refit)) = (&mut self.stored, &mut self.refit) else { return Err(uploaded()) };
        let (items, bounds) = items_of(client, vertices, &refit.faces)?;
        if let Some(tree) = &mut stored.tree {
            if refit.built_cost.is_none() {
                refit.built_cost = Some(cost(client, tree)?);
            }
            *tree = encode(client, &topology(client, tree, items.n, &refit.levels), &items);
        }
        stored.items = items;
        self.bounds = bounds;
        Ok(())
    }

    /// Returns the cost of the tree relative to its cost when it was built: 1 before the first refit.
    ///
    /// The cost is the sum of the surface areas of the boxes of all nodes and triangles, divided by the surface area of
    /// the box around the mesh. A random line through that box meets this number of boxes on average, so the times of
    /// queries grow about as the cost does. From a value of 1.5 on, a new build pays off if the queries between two
    /// refits take more than about three times the time of a build.
    ///
    /// A mesh that was uploaded, or that is flat along two axes, has a value of 1.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Cost
    /// After a refit, a pass over the nodes and a transfer of 4 kB.
    pub fn degradation(&self) -> Result<f64> {
        let built = self.refit.as_ref().and_then(|refit| refit.built_cost);
        let (Some(built), Some(tree)) = (built, &self.stored.tree) else { return Ok(1.0) };
        on!(self.stored.device, client => {
            let ratio = cost(client, tree)? / built;
            Ok(if ratio.is_finite() { ratio } else { 1.0 })
        })
    }
}

/// The error for a refit of a mesh whose faces are not stored.
fn uploaded() -> Error {
    let sentence = "an uploaded mesh cannot be refitted; build it on the device with `gpu::Mesh::build`";
    Error::new(ErrorKind::Unsupported, sentence)
}

/// The error for a number of vertices that differs from that of the build.
fn vertex_count(len: usize, expected: usize) -> Error {
    Error::new(ErrorKind::Input, format!("a refit needs the {expected} vertices of the mesh, got {len}"))
}

/// Reads the children of all nodes of a tree over `n` triangles.
fn topology<R: Runtime>(client: &ComputeClient<R>, tree: &Tree, n: usize, levels: &[u32]) -> Topology {
    let nodes = tree.nodes();
    let found =
        Topology { nodes: Buffer::new(client, 4 * nodes), order: Buffer::new(client, n), levels: levels.to_vec() };
    // SAFETY: the launch contract of `merge`, with the numbers of nodes and triangles of the tree.
    unsafe {
        read_topology::launch_unchecked::<R>(
            client,
            blocks_for(nodes.max(n)),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            tree.words.quads(),
            found.nodes.quads(),
            found.order.arg(),
            nodes as u32,
            n as u32,
        );
    }
    found
}

#[cube(launch_unchecked)]
fn read_topology(words: &Vec4, topology: &mut Vec4, order: &mut Array<u32>, nodes: u32, n: u32) {
    let at = ABSOLUTE_POS as u32;
    if at < nodes {
        let first = (VECTORS * at) as usize;
        let links = words[first + 1];
        let mut own = Vector::<u32, Const<4>>::new(0u32);
        own[0] = words[first][3] >> 24;
        own[1] = links[0];
        own[2] = links[1];
        own[3] = links[2];
        topology[at as usize] = own;
    }
    if at < n {
        order[at as usize] = words[(VECTORS * nodes + CORNERS * at) as usize][3];
    }
}

/// Returns the sum of the surface areas of the boxes of all nodes and triangles, divided by that of the root. The result
/// is NaN or infinite if the area of the root is 0. Waits for it.
pub(in crate::gpu::search::mesh) fn cost<R: Runtime>(client: &ComputeClient<R>, tree: &Tree) -> Result<f64> {
    let sums = Buffer::<f64>::new(client, BLOCKS as usize + 1);
    // SAFETY: the launch contract of `merge`, with the number of nodes. `sums` has an element for each block and one
    // for the root.
    unsafe {
        sum_areas::launch_unchecked::<R>(
            client,
            CubeCount::Static(BLOCKS, 1, 1),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            tree.arg(),
            sums.arg(),
            tree.nodes() as u32,
        );
    }
    let sums = sums.read(client)?;
    let (root, parts) = (sums[BLOCKS as usize], &sums[..BLOCKS as usize]);
    Ok(1.0 + parts.iter().sum::<f64>() / root)
}

/// Sums half the surfaces of the children of all nodes, block by block. The last number is that of the root.
#[cube(launch_unchecked)]
fn sum_areas(tree: &Nodes, sums: &mut Array<f64>, nodes: u32) {
    let mut shared = SharedMemory::<f64>::new(comptime!(THREADS_PER_BLOCK as usize));
    let sum = RuntimeCell::<f64>::new(f64::new(0.0));
    let at = RuntimeCell::<u32>::new(ABSOLUTE_POS as u32);
    while at.read() < nodes {
        let node = tree.node(at.read());
        let mut sides = Array::<f64>::new(3usize);
        let mut extents = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            extents[k] = f64::new(0.0);
        }
        #[unroll]
        for place in 0..8usize {
            if node.has(comptime!(1u32 << place)) {
                extent(&node.x, &mut sides, &mut extents, 0usize, place);
                extent(&node.y, &mut sides, &mut extents, 1usize, place);
                extent(&node.z, &mut sides, &mut extents, 2usize, place);
                sum.store(sum.read() + half_area(&sides));
            }
        }
        if at.read() == 0 {
            sums[comptime!(BLOCKS as usize)] = half_area(&extents);
        }
        at.store(at.read() + comptime!(BLOCKS * THREADS_PER_BLOCK));
    }
    shared[UNIT_POS as usize] = sum.read();
    sync_cube();
    let mut half = comptime!(THREADS_PER_BLOCK / 2).runtime();
    while half > 0 {
        if UNIT_POS < half {
            let other = shared[(UNIT_POS + half) as usize];
            shared[UNIT_POS as usize] += other;
        }
        sync_cube();
        half /= 2;
    }
    if UNIT_POS == 0 {
        sums[CUBE_POS] = shared[0];
    }
}

/// Computes the side of the child at a place along one axis, and extends that of the node.
#[cube]
fn extent(
    axis: &Axis,
    sides: &mut Array<f64>,
    extents: &mut Array<f64>,
    #[comptime] k: usize,
    #[comptime] place: usize,
) {
    let (word, at) = comptime!((place / 4, place as u32 % 4));
    let (from, to) = (byte(axis.from[word], at), byte(axis.to[word], at));
    let step = f64::cast_from(axis.step);
    sides[k] = f64::cast_from(to - from) * step;
    extents[k] = max(extents[k], f64::cast_from(to) * step);
}

#[cube]
fn half_area(sides: &Array<f64>) -> f64 {
    sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Device;

    /// Compares the cost with that of the surface area heuristic, on a bumpy sphere and on triangles of all sizes.
    #[test]
    fn quality_of_the_tree() {
        let device = Device::first().unwrap();
        let n = 60u32;
        let place = |i: u32, j: u32| {
            let (theta, phi) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
            let (theta, phi) = (theta * std::f64::consts::PI, phi * std::f64::consts::PI);
            let at = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
            at.map(|x| (x * (1.0 + 0.1 * (9.0 * at[0]).sin() * (7.0 * at[1]).cos())) as f32)
        };
        let bumpy: Vec<[f32; 3]> = (0..=n).flat_map(|i| (0..2 * n).map(move |j| place(i, j))).collect();
        let at = |i: u32, j: u32| i * 2 * n + j % (2 * n);
        let faces: Vec<[u32; 3]> = (0..n * 2 * n)
            .map(|quad| (quad / (2 * n), quad % (2 * n)))
            .flat_map(|(i, j)| [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]])
            .collect();
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32
        };
        let soup: Vec<[f32; 3]> = (0..15_000)
            .flat_map(|_| {
                let (size, middle) = (0.2 * random().powi(4), [random(), random(), random()]);
                [(); 3].map(|()| middle.map(|x| x + size * random()))
            })
            .collect();
        let consecutive: Vec<[u32; 3]> = (0..15_000).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        for (vertices, faces) in [(bumpy, faces), (soup, consecutive)] {
            let built = Mesh::build(&vertices, &faces, device).unwrap();
            let uploaded = Mesh::upload(&crate::Mesh::build(&vertices, &faces).unwrap(), device).unwrap();
            let [(cost, nodes), (least, fewest)] = [&built, &uploaded].map(|mesh| {
                let tree = mesh.stored.tree.as_ref().unwrap();
                (on!(device, client => cost(client, tree)).unwrap(), tree.nodes())
            });
            println!("cost {cost} and {least}, nodes {nodes} and {fewest}");
            assert!(cost < 1.15 * least && nodes < 2 * fewest, "{cost} and {least}, {nodes} and {fewest}");
        }
    }
}
