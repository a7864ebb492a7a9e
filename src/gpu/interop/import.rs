//! Values of other libraries, copied within the device, and large arrays of the host.

#![allow(unsafe_code)] // A copy between addresses.

use cubecl::prelude::CubeElement;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::device::{Device, cuda};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::interop::driver::Current;

impl<T: CubeElement> DeviceVec<T> {
    /// Copies `len` contiguous values within an NVIDIA GPU, from the address of memory that another library owns. The
    /// address need not be aligned.
    ///
    /// Before this call, the work that writes the values must have ended, or be on the legacy default stream. The
    /// memory must not change until this returns. The driver checks the address, so a wrong one is an error. If the
    /// memory is freed or written during the call, the result is garbage or an error of the device.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec};
    ///
    /// let numbers = DeviceVec::new(&[3.0f32, 1.0, 2.0], Device::cuda(0)?)?;
    /// let memory = numbers.to_cuda()?;
    /// let copy = DeviceVec::<f32>::from_cuda(memory.address() + 4, 2, Device::cuda(0)?)?;
    /// assert_eq!(copy.read()?, [1.0, 2.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if:
    /// - fewer than `len` values at the address are memory of the device;
    /// - the device is not a CUDA device, or does not support buffers of this size;
    /// - the device fails.
    pub fn from_cuda(address: u64, len: usize, device: Device) -> Result<Self> {
        let Some(index) = device.cuda_index() else {
            return Err(errors::no_cuda("from_cuda"));
        };
        let client = &cuda::client(index);
        let bytes = len as u128 * size_of::<T>() as u128;
        check_allocation(client, bytes)?;
        let (current, bytes) = (Current::new(index)?, bytes as usize);
        current.check(address, bytes as u64)?;
        let values = Buffer::<T>::new(client, len);
        if len > 0 {
            let to = values.address(client)?;
            // SAFETY: `current.check` has verified that `bytes` bytes at `address` are memory of this device. The
            // other range is the `len` elements of `values`, a new buffer that no other code knows; `values.address`
            // has waited for earlier kernels that use its memory.
            unsafe { current.copy(to, address, bytes)? };
        }
        Ok(Self { device, values })
    }

    /// Copies values from the host to CUDA device `index` by one call of the driver. cubecl would copy them twice on
    /// the host before that.
    pub(in crate::gpu) fn from_host(values: &[T], index: usize, device: Device) -> Result<Self> {
        let client = &cuda::client(index);
        let (current, copy) = (Current::new(index)?, Buffer::<T>::new(client, values.len()));
        let to = copy.address(client)?;
        // SAFETY: `copy` is a new buffer with an element for each value, which no other code knows; `copy.address` has
        // waited for earlier kernels that use its memory.
        unsafe { current.upload(to, values)? };
        Ok(Self { device, values: copy })
    }
}
