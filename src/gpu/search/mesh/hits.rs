//! Results on a device: the hits of rays, and the triangles nearest to points.

use crate::error::Result;
use crate::gpu::buffer::{Buffer, wait};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::mesh::point_triangle::NUMBERS;
use crate::search::{CastHit, MeshNearest, RayHit};

/// At most one item for each query, with `N` numbers, on a device.
#[derive(Clone, Debug)]
pub(super) struct OptionalHits<const N: usize> {
    pub device: Device,
    /// The index of the item; `u32::MAX` if there is no item.
    pub indices: Buffer<u32>,
    pub numbers: Buffer<f64>,
}

impl<const N: usize> OptionalHits<N> {
    fn indices(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.indices.clone() }
    }

    fn numbers(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.numbers.clone() }
    }

    fn read<T>(&self, of: impl Fn(u32, &[f64; N]) -> T) -> Result<Vec<Option<T>>> {
        on!(self.device, client => {
            let (indices, numbers) = (self.indices.read(client)?, self.numbers.read(client)?);
            let rows = indices.into_iter().zip(numbers.as_chunks().0);
            Ok(rows.map(|(index, numbers)| (index != u32::MAX).then(|| of(index, numbers))).collect())
        })
    }
}

/// Implements the methods that all result types share.
macro_rules! rows {
    ($type:ty) => {
        impl $type {
            /// Returns the number of queries.
            pub fn len(&self) -> usize {
                self.0.indices.len()
            }

            /// Returns `true` if there are no queries.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Waits until the results are computed.
            ///
            /// # Errors
            /// If the device fails.
            pub fn wait(&self) -> Result<()> {
                on!(self.0.device, client => wait(client))
            }
        }
    };
}

rows!(RayHits);
rows!(CastHits);
rows!(MeshNeighbors);

/// The first hit of each ray on a mesh, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct RayHits(pub(super) OptionalHits<4>);

impl RayHits {
    /// Returns the index of the triangle that each ray meets first; `u32::MAX` for a ray without hits.
    pub fn triangles(&self) -> DeviceVec<u32> {
        self.0.indices()
    }

    /// Returns four numbers per ray: `t`, and the barycentric weights of the triangle's corners. They are unspecified
    /// for a ray without hits.
    pub fn numbers(&self) -> DeviceVec<f64> {
        self.0.numbers()
    }

    /// Copies the hits to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<Option<RayHit>>> {
        self.0.read(hit)
    }
}

fn hit(triangle: u32, &[t, a, b, c]: &[f64; 4]) -> RayHit {
    RayHit { triangle, t, barycentric: [a, b, c] }
}

/// All hits of each ray on a mesh as lists, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct RayLists {
    pub(super) lists: Csr,
    /// `t`, followed by the weights of the corners, for each hit.
    pub(super) numbers: Buffer<f64>,
}

impl RayLists {
    /// Returns the indices of the triangles of each list.
    pub fn triangles(&self) -> &Csr {
        &self.lists
    }

    /// Returns four numbers per hit: `t`, and the barycentric weights of the triangle's corners.
    pub fn numbers(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.lists.device, values: self.numbers.clone() }
    }

    /// Copies the lists to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<crate::Csr<RayHit>> {
        on!(self.lists.device, client => {
            let (lists, numbers) = (self.lists.read()?, self.numbers.read(client)?);
            let hits = lists.values().iter().zip(numbers.as_chunks().0).map(|(&at, numbers)| hit(at, numbers)).collect();
            Ok(crate::Csr::from_parts(lists.offsets().to_vec(), hits))
        })
    }
}

/// The first hit of each ray on boxes or balls, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct CastHits(pub(super) OptionalHits<1>);

impl CastHits {
    /// Returns the index of the solid that each ray meets first; `u32::MAX` for a ray without hits.
    pub fn indices(&self) -> DeviceVec<u32> {
        self.0.indices()
    }

    /// Returns the parameter `t` of the hit of each ray. It is unspecified for a ray without hits.
    pub fn ts(&self) -> DeviceVec<f64> {
        self.0.numbers()
    }

    /// Copies the hits to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<Option<CastHit>>> {
        self.0.read(|index, &[t]| CastHit { index, t })
    }
}

/// The nearest triangle to each of many points, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct MeshNeighbors(pub(super) OptionalHits<NUMBERS>);

impl MeshNeighbors {
    /// Returns the index of the nearest triangle of each point; `u32::MAX` for a point without triangles within the
    /// radius.
    pub fn triangles(&self) -> DeviceVec<u32> {
        self.0.indices()
    }

    /// Returns seven numbers per point: the squared distance, the nearest point, and the barycentric weights of the
    /// triangle's corners. They are unspecified for a point without a nearest triangle.
    pub fn numbers(&self) -> DeviceVec<f64> {
        self.0.numbers()
    }

    /// Copies the results to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<Option<MeshNearest>>> {
        self.0.read(|triangle, &[distance2, x, y, z, a, b, c]| MeshNearest {
            triangle,
            point: [x, y, z],
            distance2,
            barycentric: [a, b, c],
        })
    }
}
