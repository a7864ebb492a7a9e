//! Numbers of other libraries, copied within the device.

#![allow(unsafe_code)] // A copy between addresses.

use cubecl::prelude::CubeElement;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::device::{Device, cuda};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::interop::driver::Current;

impl<T: CubeElement> DeviceVec<T> {
    /// Copies `len` numbers at an address of an NVIDIA GPU's memory, which another library has, within the device. They follow one on
    /// another; the address need not be aligned.
    ///
    /// What writes the numbers must be done, or be on the legacy default stream, before this is called; the memory must stay what it is
    /// until this returns. The driver is asked whether the address is what it is said to be, so a wrong one is an error; one whose memory
    /// is freed or written meanwhile gives garbage, or an error of the device.
    ///
    /// Errors: an address that is not memory of the device, or less than `len` numbers of it; a device that is none of CUDA's, or has no
    /// buffers so large; if the device fails.
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
    pub fn from_cuda(address: u64, len: usize, device: Device) -> Result<Self> {
        let Some(index) = device.cuda_index() else {
            return Err(errors::failed("it is none of CUDA's, and CUDA's addresses mean nothing to it"));
        };
        let client = &cuda::client(index);
        let bytes = len as u128 * size_of::<T>() as u128;
        check_allocation(client, bytes)?;
        let (current, bytes) = (Current::of(index)?, bytes as usize);
        current.check(address, bytes as u64)?;
        let values = Buffer::<T>::new(client, len);
        if len > 0 {
            let to = values.address(client)?;
            // SAFETY: the driver has said that all of the one range is memory of this device; the other is `len` elements of a buffer
            // that is not known yet to anyone else, and kernels that its memory was for before have ended.
            unsafe { current.copy(to, address, bytes)? };
        }
        Ok(Self { device, values })
    }
}
