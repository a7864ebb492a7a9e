//! What rays meet, on a device.

use crate::error::Result;
use crate::gpu::buffer::{Buffer, wait};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::search::{CastHit, RayHit};

/// The first hit of each ray on a mesh, on a device. They may still be computed.
#[derive(Clone, Debug)]
pub struct RayHits {
    pub(super) device: Device,
    pub(super) indices: Buffer<u32>,
    /// `t`, then the weights of the corners.
    pub(super) numbers: Buffer<f64>,
}

impl RayHits {
    /// How many rays there are.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The triangle that each ray meets; `u32::MAX` for a ray that meets none.
    pub fn triangles(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.indices.clone() }
    }

    /// Four numbers a ray: `t`, and the weights of the triangle's corners. Of a ray that meets none they are anything.
    pub fn numbers(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.numbers.clone() }
    }

    /// Waits until the hits are there.
    ///
    /// Errors: if the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the hits from the device.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<Vec<Option<RayHit>>> {
        on!(self.device, client => {
            let (indices, numbers) = (self.indices.read(client)?, self.numbers.read(client)?);
            let hits = indices.into_iter().zip(numbers.as_chunks().0);
            Ok(hits.map(|(triangle, numbers)| (triangle != u32::MAX).then(|| hit(triangle, numbers))).collect())
        })
    }
}

fn hit(triangle: u32, &[t, a, b, c]: &[f64; 4]) -> RayHit {
    RayHit { triangle, t, barycentric: [a, b, c] }
}

/// All hits of each ray on a mesh as lists, on a device. They may still be computed.
#[derive(Clone, Debug)]
pub struct RayLists {
    pub(super) lists: Csr,
    /// `t`, then the weights of the corners.
    pub(super) numbers: Buffer<f64>,
}

impl RayLists {
    /// The triangles of each list.
    pub fn triangles(&self) -> &Csr {
        &self.lists
    }

    /// Four numbers a hit: `t`, and the weights of the triangle's corners.
    pub fn numbers(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.lists.device, values: self.numbers.clone() }
    }

    /// Copies the lists from the device.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<crate::Csr<RayHit>> {
        on!(self.lists.device, client => {
            let (lists, numbers) = (self.lists.read()?, self.numbers.read(client)?);
            let hits = lists.values().iter().zip(numbers.as_chunks().0).map(|(&at, numbers)| hit(at, numbers)).collect();
            Ok(crate::Csr::from_parts(lists.offsets().to_vec(), hits))
        })
    }
}

/// The first hit of each ray on boxes or balls, on a device. They may still be computed.
#[derive(Clone, Debug)]
pub struct CastHits {
    pub(super) device: Device,
    pub(super) indices: Buffer<u32>,
    pub(super) ts: Buffer<f64>,
}

impl CastHits {
    /// The solid that each ray meets; `u32::MAX` for a ray that meets none.
    pub fn indices(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.indices.clone() }
    }

    /// The `t` of each; of a ray that meets none anything.
    pub fn ts(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.ts.clone() }
    }

    /// Copies the hits from the device.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<Vec<Option<CastHit>>> {
        on!(self.device, client => {
            let (indices, ts) = (self.indices.read(client)?, self.ts.read(client)?);
            let hits = indices.into_iter().zip(ts);
            Ok(hits.map(|(index, t)| (index != u32::MAX).then_some(CastHit { index, t })).collect())
        })
    }
}
