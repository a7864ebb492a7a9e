//! What the driver is asked.
//!
//! A thread has one current context, which other libraries rely on; here it is changed for the length of a call, and put back.

#![allow(unsafe_code)] // Calls of the driver.

use cudarc::driver::{DriverError, result, sys};

use crate::error::{Error, ErrorKind, Result};
use crate::gpu::device::Device;
use crate::gpu::errors;

/// The stream that waits for those of other libraries, and these for it, unless they are made not to.
const LEGACY: sys::CUstream = std::ptr::without_provenance_mut(1);

fn failed(error: DriverError) -> Error {
    errors::failed(error)
}

/// Bytes that are not memory of a device. `found` says what they are.
fn wrong_address(address: u64, bytes: u64, index: usize, found: &str) -> Error {
    let sentence = format!("{bytes} bytes at {address:#x} are to be memory of CUDA device {index}: {found}");
    Error::new(ErrorKind::Input, sentence)
}

/// The primary context of a device, current on this thread for as long as this lives.
pub(super) struct Current {
    index: usize,
    device: sys::CUdevice,
}

impl Current {
    /// `index` is the number of a device that has been found.
    pub fn of(index: usize) -> Result<Self> {
        result::init().map_err(failed)?;
        let device = result::device::get(index as i32).map_err(failed)?;
        // SAFETY: the driver has named the device.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed)?;
        // SAFETY: the context lives until it is released.
        let pushed = unsafe { sys::cuCtxPushCurrent_v2(context) }.result();
        if let Err(error) = pushed {
            // SAFETY: it was retained above.
            _ = unsafe { result::primary_ctx::release(device) };
            return Err(failed(error));
        }
        Ok(Self { index, device })
    }

    /// Waits for everything on all streams of the context.
    pub fn wait_for_all(&self) -> Result<()> {
        result::ctx::synchronize().map_err(failed)
    }

    /// Checks that all `bytes` bytes at an address are memory of this device, by what the driver says of them.
    ///
    /// One piece of memory may be followed by another: PyTorch's grows so.
    pub fn check(&self, address: u64, bytes: u64) -> Result<()> {
        let refuse = |found: &str| Err(wrong_address(address, bytes, self.index, found));
        let Some(end) = address.checked_add(bytes) else { return refuse("that is beyond all addresses") };
        let mut at = address;
        while at < end {
            match memory_of(at) {
                Err(found) => return refuse(&found),
                Ok(Memory { ordinal, .. }) if ordinal != self.index as i32 => {
                    return refuse(&format!("it is memory of device {ordinal}"));
                }
                Ok(Memory { end: next, .. }) if next <= at => {
                    return refuse(&format!("the driver knows of no memory at {at:#x}"));
                }
                Ok(Memory { end: next, .. }) => at = next,
            }
        }
        Ok(())
    }

    /// Copies bytes on the device behind what is on the legacy default stream, and waits for the copy.
    ///
    /// # Safety
    ///
    /// Both ranges are memory of this device, and nothing else uses the one that is written.
    pub unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's, of the ranges; every context has the stream.
        let started = unsafe { result::memcpy_dtod_async(to, from, bytes, LEGACY) };
        // SAFETY: every context has the stream.
        let ended = unsafe { result::stream::synchronize(LEGACY) };
        started.and(ended).map_err(failed)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: `of` has pushed and retained it.
        unsafe {
            _ = sys::cuCtxPopCurrent_v2(&mut popped);
            _ = result::primary_ctx::release(self.device);
        }
    }
}

/// A piece of a device's memory.
struct Memory {
    ordinal: i32,
    /// The address behind it.
    end: u64,
}

/// The piece of memory that an address is in, or what the address is instead.
fn memory_of(address: u64) -> std::result::Result<Memory, String> {
    use sys::CUpointer_attribute::{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    // Of an address that it does not know the driver says 0.
    let (mut kind, mut ordinal) = (0u32, -1i32);
    let mut asked = [CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL];
    let mut answers = [(&raw mut kind).cast(), (&raw mut ordinal).cast()];
    // SAFETY: two attributes, and as many places, each of the size that the attribute has; the address is only looked up.
    let told = unsafe { sys::cuPointerGetAttributes(2, asked.as_mut_ptr(), answers.as_mut_ptr(), address) }.result();
    told.map_err(|error| error.to_string())?;
    if kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32 {
        return Err("it is memory of the host".into());
    }
    if kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
        return Err(format!("the driver knows of no memory at {address:#x}"));
    }
    let (mut start, mut size) = (0, 0);
    // SAFETY: two places for two numbers; the address is only looked up.
    let told = unsafe { sys::cuMemGetAddressRange_v2(&mut start, &mut size, address) }.result();
    told.map_err(|error| error.to_string())?;
    Ok(Memory { ordinal, end: start.saturating_add(size as u64) })
}

/// The number of the device that has an address.
pub(super) fn index_of(address: u64) -> Result<usize> {
    // Without a driver there is no first device, either.
    let first = Device::cuda(0)?;
    result::init().map_err(failed)?;
    // Addresses mean the same in all contexts; a context that is current spares making one.
    let _current = match result::ctx::get_current().map_err(failed)? {
        Some(_) => None,
        None => first.cuda_index().map(Current::of).transpose()?,
    };
    match memory_of(address) {
        Ok(Memory { ordinal, .. }) if ordinal >= 0 => Ok(ordinal as usize),
        Ok(_) => Err(wrong_address(address, 1, 0, "no device has it")),
        Err(found) => Err(wrong_address(address, 1, 0, &found)),
    }
}

/// Keeps a capture of CUDA graphs by another thread from being ended by what this thread asks for.
pub(super) fn allow_captures() {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the mode is exchanged with this thread's own.
    _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
}
