//! Lists of nearest neighbours on a device.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation, wait};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::rounding::roots;
use crate::search::nearest::Neighbor;

/// The nearest neighbours of each query, on a device. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct Neighbors {
    pub(in crate::gpu) device: Device,
    pub(super) n: usize,
    pub(in crate::gpu) k: usize,
    /// The number of stored primitives.
    pub(in crate::gpu) n_stored: usize,
    /// `k` indices per query, in the order of the queries as they were given, padded with [`u32::MAX`].
    pub(in crate::gpu) indices: Buffer<u32>,
    pub(in crate::gpu) distances2: Buffer<f64>,
}

impl Neighbors {
    /// Allocates places for the `k` nearest of `n_stored` primitives, or for all of them, for each of `n` queries.
    pub(in crate::gpu) fn unfilled<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        n: usize,
        k: usize,
        n_stored: usize,
    ) -> Result<Self> {
        let k = k.min(n_stored);
        let values = n as u128 * k as u128;
        if values > u128::from(u32::MAX) {
            return Err(errors::too_many_values(values, "neighbours"));
        }
        check_allocation(client, 8 * values)?;
        let (indices, distances2) = (Buffer::new(client, n * k), Buffer::new(client, n * k));
        Ok(Self { device, n, k, n_stored, indices, distances2 })
    }

    /// Returns the number of lists, one for each query.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns `true` if there are no lists.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the number of places in each list: the specified `k`, or the number of stored primitives if
    /// that is less.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the indices of the neighbours, [`Neighbors::k`] per query, nearest first. Shorter lists are padded with
    /// [`u32::MAX`].
    pub fn indices(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.indices.clone() }
    }

    /// Returns the squared distances of the neighbours, at the places of [`Neighbors::indices`]. The values at padded
    /// places are unspecified.
    pub fn distances2(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.distances2.clone() }
    }

    /// Computes the distances of the neighbours on the device: the roots of [`Neighbors::distances2`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn distances(&self) -> Result<DeviceVec<f64>> {
        let device = self.device;
        on!(device, client => Ok(DeviceVec { device, values: roots(client, device, &self.distances2)? }))
    }

    /// Waits until the neighbours are computed.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the lists to the host, one for each query, in the order of the queries as they were given.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<crate::Csr<Neighbor>> {
        on!(self.device, client => {
            let (indices, distances2) = (self.indices.read(client)?, self.distances2.read(client)?);
            let mut offsets = Vec::with_capacity(self.n + 1);
            let mut values = Vec::with_capacity(self.n * self.k);
            offsets.push(0);
            for row in 0..self.n {
                let row = row * self.k..(row + 1) * self.k;
                let found = indices[row.clone()].iter().zip(&distances2[row]).take_while(|(index, _)| **index != u32::MAX);
                values.extend(found.map(|(&index, &d2)| Neighbor { index, distance2: d2 }));
                offsets.push(values.len());
            }
            Ok(crate::Csr::from_parts(offsets, values))
        })
    }
}
