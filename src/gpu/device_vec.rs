//! An array of numbers on a device: results, which stay there until they are read, or coordinates.

use cubecl::prelude::{ArrayArg, ComputeClient, CubeElement, Numeric, Runtime};

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

    /// Allocates `n` zeros on a device.
    ///
    /// # Errors
    /// If the device does not allow a buffer of this size.
    pub fn zeros(n: usize, device: Device) -> Result<Self>
    where
        T: Numeric,
    {
        on!(device, client => {
            check_allocation(client, n as u128 * size_of::<T>() as u128)?;
            Ok(Self { device, values: Buffer::filled(client, n, T::from_int(0)) })
        })
    }

    /// Returns the numbers as an argument of a user-defined kernel, of type `Array<T>`. See
    /// [`TreeView`](crate::gpu::TreeView) for an example.
    ///
    /// The kernel must run on the device of the array. A kernel that writes should get an array from
    /// [`DeviceVec::zeros`] only: results and coordinates share their memory with trees and with other results, which a
    /// kernel would change, too.
    pub fn arg<R: Runtime>(&self) -> ArrayArg<R> {
        self.values.arg()
    }

    /// Resizes the array to `len` uninitialized elements on a device, in its own memory if that is possible.
    pub(in crate::gpu) fn renew<R: Runtime>(&mut self, client: &ComputeClient<R>, device: Device, len: usize) {
        if self.device == device {
            self.values.renew(client, len);
        } else {
            *self = Self { device, values: Buffer::new(client, len) };
        }
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
