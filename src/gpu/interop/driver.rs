//! Calls of the CUDA driver.
//!
//! A thread has one current context, which other libraries rely on. Calls here change it temporarily and then restore
//! it.

#![allow(unsafe_code)] // Calls of the driver.

use std::marker::PhantomData;

use cudarc::driver::{DriverError, result, sys};

use crate::error::{Error, ErrorKind, Result};
use crate::gpu::device::Device;
use crate::gpu::errors;

/// The legacy default stream. It synchronizes with the streams of other libraries, except those created as
/// non-blocking.
const LEGACY: sys::CUstream = std::ptr::without_provenance_mut(1);

fn failed(error: DriverError) -> Error {
    errors::failed(error)
}

/// The error for bytes that are not memory of the device. `found` says what they are.
fn wrong_range(address: u64, bytes: u64, index: usize, found: &str) -> Error {
    let sentence = format!("{bytes} bytes at {address:#x} are not memory of CUDA device {index}: {found}");
    Error::new(ErrorKind::Input, sentence)
}

/// The error for an address that is not memory of any device. `found` says what it is.
fn wrong_address(address: u64, found: &str) -> Error {
    Error::new(ErrorKind::Input, format!("address {address:#x} is not memory of a CUDA device: {found}"))
}

/// The primary context of a device, current on this thread for the lifetime of the value.
pub(super) struct Current {
    index: usize,
    device: sys::CUdevice,
    /// Prevents `Send`: dropped on another thread, the value would pop that thread's context.
    thread: PhantomData<*const ()>,
}

impl Current {
    /// Makes the context current. `index` is the index of an existing device.
    pub fn new(index: usize) -> Result<Self> {
        result::init().map_err(failed)?;
        let device = result::device::get(index as i32).map_err(failed)?;
        // SAFETY: `device` was returned by `result::device::get` above.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed)?;
        // SAFETY: `context` was retained above and is released only in `drop`, or below if this call fails.
        let pushed = unsafe { sys::cuCtxPushCurrent_v2(context) }.result();
        if let Err(error) = pushed {
            // SAFETY: the context was retained above, and nothing uses it afterwards.
            _ = unsafe { result::primary_ctx::release(device) };
            return Err(failed(error));
        }
        Ok(Self { index, device, thread: PhantomData })
    }

    /// Waits for all work on all streams of the context.
    pub fn wait_for_all(&self) -> Result<()> {
        result::ctx::synchronize().map_err(failed)
    }

    /// Checks with the driver that all `bytes` bytes at an address are memory of this device.
    ///
    /// The range may span several adjacent allocations, as PyTorch's expandable segments do.
    pub fn check(&self, address: u64, bytes: u64) -> Result<()> {
        let refuse = |found: &str| Err(wrong_range(address, bytes, self.index, found));
        let Some(end) = address.checked_add(bytes) else { return refuse("the range exceeds the address space") };
        let mut at = address;
        while at < end {
            match memory_of(at) {
                Err(found) => return refuse(&found),
                Ok(Memory { ordinal, .. }) if ordinal != self.index as i32 => {
                    return refuse(&format!("it is memory of device {ordinal}"));
                }
                Ok(Memory { end: next, .. }) if next <= at => {
                    return refuse(&format!("no allocation at {at:#x}"));
                }
                Ok(Memory { end: next, .. }) => at = next,
            }
        }
        Ok(())
    }

    /// Copies bytes within the device, after all work on the legacy default stream, and waits for the copy.
    ///
    /// # Safety
    ///
    /// Both ranges must be memory of this device. Until this returns, nothing else may access the range at `to`.
    pub unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller guarantees both ranges; `LEGACY` is valid in every context.
        let started = unsafe { result::memcpy_dtod_async(to, from, bytes, LEGACY) };
        // SAFETY: `LEGACY` is valid in every context.
        let ended = unsafe { result::stream::synchronize(LEGACY) };
        started.and(ended).map_err(failed)
    }

    /// Copies values from the host to the device, after all work on the legacy default stream, and waits for the copy.
    ///
    /// # Safety
    ///
    /// The bytes of the values at `to` must be memory of this device. Until this returns, nothing else may access them.
    pub unsafe fn upload<T>(&self, to: u64, values: &[T]) -> Result<()> {
        // SAFETY: the caller guarantees the range; `LEGACY` is valid in every context.
        let started = unsafe { result::memcpy_htod_async(to, values, LEGACY) };
        // SAFETY: `LEGACY` is valid in every context.
        let ended = unsafe { result::stream::synchronize(LEGACY) };
        started.and(ended).map_err(failed)
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: `of` pushed the context on this thread's stack and retained it once.
        unsafe {
            _ = sys::cuCtxPopCurrent_v2(&mut popped);
            _ = result::primary_ctx::release(self.device);
        }
    }
}

/// An allocation of device memory.
struct Memory {
    ordinal: i32,
    /// The end address, exclusive.
    end: u64,
}

/// The allocation that contains an address, or a description of what the address is instead.
fn memory_of(address: u64) -> std::result::Result<Memory, String> {
    use sys::CUpointer_attribute::{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    // For an unknown address the driver returns 0.
    let (mut kind, mut ordinal) = (0u32, -1i32);
    let mut asked = [CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL];
    let mut answers = [(&raw mut kind).cast(), (&raw mut ordinal).cast()];
    // SAFETY: `asked` and `answers` have two entries each. `kind` (u32) and `ordinal` (i32) have the types of the
    // attributes. The driver does not access the memory at `address`.
    let told = unsafe { sys::cuPointerGetAttributes(2, asked.as_mut_ptr(), answers.as_mut_ptr(), address) }.result();
    told.map_err(|error| error.to_string())?;
    if kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32 {
        return Err("it is host memory".into());
    }
    if kind != sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 {
        return Err(format!("no allocation at {address:#x}"));
    }
    let (mut start, mut size) = (0, 0);
    // SAFETY: `start` and `size` are valid for writes. The driver does not access the memory at `address`.
    let told = unsafe { sys::cuMemGetAddressRange_v2(&mut start, &mut size, address) }.result();
    told.map_err(|error| error.to_string())?;
    Ok(Memory { ordinal, end: start.saturating_add(size as u64) })
}

/// The index of the device whose memory contains an address.
pub(super) fn index_of(address: u64) -> Result<usize> {
    // Fails here if there is no driver.
    let first = Device::cuda(0)?;
    result::init().map_err(failed)?;
    // Addresses are valid in all contexts, so any current context will do; a context is made current only if there is
    // none.
    let _current = match result::ctx::get_current().map_err(failed)? {
        Some(_) => None,
        None => first.cuda_index().map(Current::new).transpose()?,
    };
    match memory_of(address) {
        Ok(Memory { ordinal, .. }) if ordinal >= 0 => Ok(ordinal as usize),
        Ok(_) => Err(wrong_address(address, "no device owns it")),
        Err(found) => Err(wrong_address(address, &found)),
    }
}

/// Sets the capture mode of this thread to relaxed, so that its calls do not invalidate a CUDA graph that another
/// thread captures.
pub(super) fn allow_captures() {
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: `mode` is valid for reads and writes; the driver swaps it with the mode of this thread.
    _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
}
