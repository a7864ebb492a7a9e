//! Meshes of vertices and faces that are in device memory.
//!
//! In: coordinates and vertex indices. Out: the mesh that [`Mesh::build`] makes of the same numbers.
//! Cost: that of the build, and a pass over the numbers, which are checked on the device.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation, end_phase};
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::bounds::survey;
use crate::gpu::device::{Device, check_same, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::atomic_min::lower;
use crate::gpu::search::mesh::{Mesh, check_rounding, check_size};
use crate::search::mesh::{check_face_count, missing_vertex};

impl<S: Coordinate> Mesh<S> {
    /// Builds a mesh from vertices and faces that are on a device, with three numbers each. The result equals that of
    /// [`Mesh::build`].
    ///
    /// Nothing is copied to the host but bounds and counts. The mesh keeps `faces` for refits, without a copy, so its
    /// numbers must not change while the mesh or a clone of it exists. `vertices` may change after the call.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec, Mesh};
    ///
    /// let device = Device::first()?;
    /// let mut vertices = DeviceVec::new(&[0.0f32, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0], device)?;
    /// let mut mesh = Mesh::from_device(&vertices, &DeviceVec::new(&[0, 1, 2], device)?)?;
    /// // Here a kernel moves the vertices. Then:
    /// mesh.refit_from_device(&vertices)?;
    /// assert_eq!(mesh.len(), 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`Mesh::build`].
    /// - The number of coordinates or of vertex indices is not a multiple of three.
    /// - The vertices and the faces are on different devices.
    ///
    /// # Cost
    /// That of [`Mesh::build`], without the transfer.
    pub fn from_device(vertices: &DeviceVec<S>, faces: &DeviceVec<u32>) -> Result<Self> {
        let (device, n, len) = (vertices.device, faces.len() / 3, vertices.len());
        check_same(["the vertices", "the faces"], [device, faces.device])?;
        check_triples(len)?;
        if !faces.len().is_multiple_of(3) {
            return Err(errors::no_faces(faces.len()));
        }
        check_size((9 * n).max(len))?;
        on!(device, client => {
            check_vertices(client, device, vertices)?;
            check_face_count(n)?;
            if let Some(corner) = first_missing(client, &faces.values, len / 3)? {
                return Err(missing_vertex(corner.0 / 3, corner.1, len / 3));
            }
            check_allocation(client, ((len * size_of::<S>()) as u128).max(94 * n as u128))?;
            end_phase(client, "checks")?;
            Self::build_from(client, device, &vertices.values, faces.values.clone())
        })
    }

    /// Updates a mesh as [`Mesh::refit`], to vertices that are on its device, with three numbers each.
    ///
    /// # Errors
    /// - The vertices are on another device than the mesh, or the number of coordinates is not a multiple of three.
    /// - The errors of [`Mesh::refit`].
    ///
    /// The mesh is then unchanged.
    ///
    /// # Cost
    /// That of [`Mesh::refit`], without the transfer.
    pub fn refit_from_device(&mut self, vertices: &DeviceVec<S>) -> Result<()> {
        let device = self.stored.device;
        check_same(["the vertices", "the mesh"], [vertices.device, device])?;
        check_triples(vertices.len())?;
        self.check_refit(vertices.len() / 3)?;
        on!(device, client => {
            check_vertices(client, device, vertices)?;
            self.refit_to(client, &vertices.values)
        })
    }
}

fn check_triples(len: usize) -> Result<()> {
    if len.is_multiple_of(3) { Ok(()) } else { Err(errors::no_rows(len, 3)) }
}

/// Returns an error for the first coordinate that cannot be stored, or if the device rounds differently from the CPU.
fn check_vertices<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    device: Device,
    vertices: &DeviceVec<S>,
) -> Result<()> {
    let smallest = match vertices.len() {
        0 => f64::INFINITY,
        _ => survey::<_, S, 3>(client, &vertices.values, &Space::OPEN)?.smallest_nonzero,
    };
    check_rounding::<_, S>(client, device, || smallest)
}

/// Returns the place of the first vertex index that is not less than `vertices`, and the index. Waits for it.
fn first_missing<R: Runtime>(
    client: &ComputeClient<R>,
    faces: &Buffer<u32>,
    vertices: usize,
) -> Result<Option<(usize, u32)>> {
    let n = faces.len();
    if n == 0 {
        return Ok(None);
    }
    let first = Buffer::<u32>::filled(client, 1, u32::MAX);
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    find_missing::launch::<R>(client, blocks_for(n), dim, faces.arg(), first.arg(), vertices as u32, n as u32);
    let place = first.read(client)?[0];
    if place == u32::MAX {
        return Ok(None);
    }
    let index = Buffer::<u32>::new(client, 1);
    copy_number::launch::<R>(client, blocks_for(1), dim, faces.arg(), index.arg(), place);
    Ok(Some((place as usize, index.read(client)?[0])))
}

#[cube(launch)]
fn find_missing(faces: &Array<u32>, first: &mut Array<Atomic<u32>>, vertices: u32, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        if faces[at] >= vertices {
            lower(first, 0u32.runtime(), at as u32);
        }
    }
}

#[cube(launch)]
fn copy_number(from: &Array<u32>, to: &mut Array<u32>, place: u32) {
    if ABSOLUTE_POS == 0 {
        to[0] = from[place as usize];
    }
}
