//! A number for each point or query, left on the device until it is asked for.

use cubecl::prelude::CubeElement;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, wait};
use crate::gpu::device::{Device, on};

/// A number for each point or query, in the caller's order, on a device. It may still be computed.
#[derive(Clone, Debug)]
pub struct DeviceVec<T> {
    pub(in crate::gpu) device: Device,
    pub(in crate::gpu) values: Buffer<T>,
}

impl<T: CubeElement> DeviceVec<T> {
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
