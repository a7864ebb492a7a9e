//! An array of numbers on a device: results, which stay there until they are read, or coordinates.

use cubecl::prelude::CubeElement;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation, wait};
use crate::gpu::device::{Device, on};

/// The number of bytes from which arrays are copied to CUDA devices by the driver alone, which waits for the copy.
#[cfg(feature = "cuda")]
const LARGE: usize = 1 << 20;

/// An array of numbers on a device. A result has one number for each point or query, in the order in which these were
/// given. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct DeviceVec<T> {
    pub(in crate::gpu) device: Device,
    pub(in crate::gpu) values: Buffer<T>,
}

impl<T: CubeElement> DeviceVec<T> {
    /// Copies numbers to a device.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec};
    ///
    /// assert_eq!(DeviceVec::new(&[3u32, 1, 2], Device::first()?)?.read()?, [3, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device does not allow a buffer of this size.
    pub fn new(values: &[T], device: Device) -> Result<Self> {
        on!(device, client => {
            check_allocation(client, size_of_val(values) as u128)?;
            #[cfg(feature = "cuda")]
            if let Some(index) = device.cuda_index().filter(|_| size_of_val(values) >= LARGE) {
                return Self::from_host(values, index, device);
            }
            Ok(Self { device, values: Buffer::from_slice(client, values) })
        })
    }

    /// Returns the device that holds the numbers.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until the numbers are computed.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the numbers to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Vec<T>> {
        on!(self.device, client => self.values.read(client))
    }
}
