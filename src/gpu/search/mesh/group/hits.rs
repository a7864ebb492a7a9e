//! The hits of rays on instances, on a device.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, wait};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::mesh::group::instance_walk::WIDTH;
use crate::search::InstanceHit;

/// The triangles of hits, and their `t` and weights.
#[derive(Clone, Debug)]
pub(super) struct HitNumbers {
    device: Device,
    /// The triangle in the mesh of the instance; `u32::MAX` if there is no hit.
    triangles: Buffer<u32>,
    /// `t`, followed by the weights of the corners.
    numbers: Buffer<f64>,
}

impl HitNumbers {
    /// Separates the numbers of a walk. An instance of `u32::MAX` has no hit.
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        instances: &Buffer<u32>,
        numbers: &Buffer<f64>,
    ) -> Self {
        let n = instances.len();
        let own = Self { device, triangles: Buffer::new(client, n), numbers: Buffer::new(client, 4 * n) };
        separate::launch::<R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            instances.arg(),
            numbers.arg(),
            own.triangles.arg(),
            own.numbers.arg(),
            n as u32,
        );
        own
    }

    fn triangles(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.triangles.clone() }
    }

    fn numbers(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.numbers.clone() }
    }

    /// Calls `hit` with each hit of the given instances.
    fn read<T>(&self, instances: &[u32], hit: impl Fn(InstanceHit) -> T) -> Result<Vec<T>> {
        on!(self.device, client => {
            let (triangles, numbers) = (self.triangles.read(client)?, self.numbers.read(client)?);
            let rows = instances.iter().zip(triangles).zip(numbers.as_chunks().0);
            let of = |((&instance, triangle), &[t, a, b, c]): ((&u32, u32), &[f64; 4])| {
                hit(InstanceHit { instance, triangle, t, barycentric: [a, b, c] })
            };
            Ok(rows.map(of).collect())
        })
    }
}

#[cube(launch)]
fn separate(instances: &Array<u32>, from: &Array<f64>, triangles: &mut Array<u32>, numbers: &mut Array<f64>, n: u32) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let has_hit = instances[at] != u32::MAX;
        let mut triangle = u32::MAX.runtime();
        if has_hit {
            triangle = u32::cast_from(from[WIDTH * at + 4]);
        }
        triangles[at] = triangle;
        #[unroll]
        for k in 0..4usize {
            let mut number = f64::new(0.0);
            if has_hit {
                number = from[WIDTH * at + k];
            }
            numbers[4 * at + k] = number;
        }
    }
}

/// The first hit of each ray on a group of meshes, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct InstanceHits {
    pub(super) instances: Buffer<u32>,
    pub(super) hits: HitNumbers,
}

impl InstanceHits {
    /// Returns the number of rays.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Returns `true` if there are no rays.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index of the instance that each ray meets first; `u32::MAX` for a ray without hits.
    pub fn instances(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.hits.device, values: self.instances.clone() }
    }

    /// Returns the index of the triangle in the mesh of the instance; `u32::MAX` for a ray without hits.
    pub fn triangles(&self) -> DeviceVec<u32> {
        self.hits.triangles()
    }

    /// Returns four numbers per ray: `t`, and the barycentric weights of the triangle's corners. They are 0 for a ray
    /// without hits.
    pub fn numbers(&self) -> DeviceVec<f64> {
        self.hits.numbers()
    }

    /// Waits until the results are computed.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.hits.device, client => wait(client))
    }

    /// Copies the hits to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<Option<InstanceHit>>> {
        let instances = self.instances().read()?;
        self.hits.read(&instances, |hit| (hit.instance != u32::MAX).then_some(hit))
    }
}

/// Hits of each ray on a group of meshes as lists, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct InstanceLists {
    pub(super) lists: Csr,
    pub(super) hits: HitNumbers,
}

impl InstanceLists {
    /// Returns the indices of the instances of each list.
    pub fn instances(&self) -> &Csr {
        &self.lists
    }

    /// Returns the index of the triangle in the mesh of the instance, for each hit.
    pub fn triangles(&self) -> DeviceVec<u32> {
        self.hits.triangles()
    }

    /// Returns four numbers per hit: `t`, and the barycentric weights of the triangle's corners.
    pub fn numbers(&self) -> DeviceVec<f64> {
        self.hits.numbers()
    }

    /// Copies the lists to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<crate::Csr<InstanceHit>> {
        let lists = self.lists.read()?;
        let hits = self.hits.read(lists.values(), |hit| hit)?;
        Ok(crate::Csr::from_parts(lists.offsets().to_vec(), hits))
    }
}
