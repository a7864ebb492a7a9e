//! Lists of lists on a device: the GPU counterpart of `csr`.

pub(super) mod half;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation, wait};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::primitives::reduce::sum;
use crate::gpu::primitives::scan::exclusive;

/// One list per query, concatenated (CSR), on a device: of indices, unless another type is given. Kernels may still be
/// computing them.
#[derive(Clone, Debug)]
pub struct Csr<T = u32> {
    pub(in crate::gpu) device: Device,
    /// List `i` begins at `offsets[i]`; the last offset is the number of values.
    pub(in crate::gpu) offsets: Buffer<u32>,
    pub(in crate::gpu) values: Buffer<T>,
}

impl<T: CubeElement> Csr<T> {
    /// Returns the number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns `true` if there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of the first value of each list in [`Csr::values`], followed by the number of values.
    pub fn offsets(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.offsets.clone() }
    }

    /// Returns the values of all lists, concatenated.
    pub fn values(&self) -> DeviceVec<T> {
        DeviceVec { device: self.device, values: self.values.clone() }
    }

    /// Returns the number of values in all lists.
    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    /// Waits until the lists are computed.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the lists to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<crate::Csr<T>> {
        on!(self.device, client => {
            let offsets = self.offsets.read(client)?.into_iter().map(|offset| offset as usize).collect();
            Ok(crate::Csr::from_parts(offsets, self.values.read(client)?))
        })
    }

    /// Creates an empty list of lists.
    pub(in crate::gpu) fn without_lists<R: Runtime>(client: &ComputeClient<R>, device: Device) -> Self {
        Self { device, offsets: Buffer::filled(client, 1, 0), values: Buffer::new(client, 0) }
    }

    /// Replaces `lengths`, whose last element is an extra 0, by offsets, and allocates the values.
    pub(in crate::gpu) fn allocate_values<R: Runtime>(
        client: &ComputeClient<R>,
        lengths: &Buffer<u32>,
    ) -> Result<Buffer<T>> {
        Ok(Buffer::new(client, Self::count_values(client, lengths)?))
    }

    /// Replaces `lengths`, whose last element is an extra 0, by offsets, and returns the number of values.
    ///
    /// Errors: more values than a 32-bit index can address, or than a buffer of the device can hold.
    pub(in crate::gpu) fn count_values<R: Runtime>(client: &ComputeClient<R>, lengths: &Buffer<u32>) -> Result<usize> {
        let values = sum(client, lengths)?;
        if values > u64::from(u32::MAX) {
            return Err(errors::too_many_values(values.into(), "list entries"));
        }
        check_allocation(client, size_of::<T>() as u128 * u128::from(values))?;
        exclusive(client, lengths);
        Ok(values as usize)
    }
}

/// Returns the list that holds the entry at `at`. There are `n` lists, and `at` is below the number of entries.
#[cube]
pub(in crate::gpu) fn list_of(offsets: &Array<u32>, n: u32, at: u32) -> u32 {
    // The bounds of a binary search are in an array because an optimiser of cubecl fails on loop variables.
    let mut bounds = Array::<u32>::new(2usize);
    bounds[0] = 0;
    bounds[1] = n;
    while bounds[1] - bounds[0] > 1 {
        let middle = bounds[0] + (bounds[1] - bounds[0]) / 2;
        let is_before = offsets[middle as usize] <= at;
        bounds[0] = select(is_before, middle, bounds[0]);
        bounds[1] = select(is_before, bounds[1], middle);
    }
    bounds[0]
}
