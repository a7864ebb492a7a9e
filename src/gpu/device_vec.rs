//! Numbers on a device: results, left there until they are asked for, and coordinates.

use cubecl::prelude::CubeElement;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation, wait};
use crate::gpu::device::{Device, on};

/// Numbers on a device: of results one for each point or query, in the caller's order, which may still be computed.
#[derive(Clone, Debug)]
pub struct DeviceVec<T> {
    pub(in crate::gpu) device: Device,
    pub(in crate::gpu) values: Buffer<T>,
}

impl<T: CubeElement> DeviceVec<T> {
    /// Copies numbers to a device.
    ///
    /// Errors: if the device has no buffers as large as they are.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec};
    ///
    /// assert_eq!(DeviceVec::new(&[3u32, 1, 2], Device::first()?)?.read()?, [3, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn new(values: &[T], device: Device) -> Result<Self> {
        on!(device, client => {
            check_allocation(client, size_of_val(values) as u128)?;
            Ok(Self { device, values: Buffer::from_slice(client, values) })
        })
    }

    /// Where the numbers are.
    pub fn device(&self) -> Device {
        self.device
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the numbers are there.
    ///
    /// Errors: if the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the numbers from the device.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<Vec<T>> {
        on!(self.device, client => self.values.read(client))
    }
}
