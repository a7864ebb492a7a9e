//! Results for other libraries, as addresses.
//!
//! cubecl reuses memory once the last handle to it is dropped. At that time, another library's kernels may still read
//! it on streams unknown to cubecl. The last owner therefore sends the handle to a thread, which waits for all work of
//! the device before dropping it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use cubecl::prelude::CubeElement;
use cubecl::server::Handle;

use crate::error::Result;
use crate::gpu::device::{Device, cuda};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::interop::driver::{Current, allow_captures};

/// Memory of an NVIDIA GPU with an address, for use by other libraries. It stays allocated until this value is dropped
/// and all work submitted to the device before the drop has ended. Dropping does not wait.
///
/// The values are complete: kernels on any stream may read them. Kernels may also write them; other owners of the same
/// values see the changes.
///
/// ```no_run
/// use ropewalk::gpu::{Device, DeviceVec};
///
/// let numbers = DeviceVec::new(&[3u32, 1, 2], Device::cuda(0)?)?;
/// let memory = numbers.to_cuda()?;
/// assert_eq!((memory.bytes(), memory.device()), (12, Device::cuda(0)?));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug)]
pub struct CudaMemory {
    address: u64,
    bytes: usize,
    device: Device,
    /// `None` only during the drop.
    kept: Option<HeldHandle>,
}

impl CudaMemory {
    /// Returns the start address of the memory, a multiple of 256 bytes.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the size of the memory in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the device that owns the memory.
    pub fn device(&self) -> Device {
        self.device
    }
}

impl<T: CubeElement> DeviceVec<T> {
    /// Waits until the values are computed, and returns their address. Nothing is copied.
    ///
    /// # Errors
    /// A device other than CUDA's; a failing device.
    pub fn to_cuda(&self) -> Result<CudaMemory> {
        let Some(index) = self.device.cuda_index() else {
            return Err(errors::no_cuda("to_cuda"));
        };
        let address = self.values.address(&cuda::client(index))?;
        let kept = Some(HeldHandle { index, _owners: self.values.owners() });
        Ok(CudaMemory { address, bytes: self.len() * size_of::<T>(), device: self.device, kept })
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        static TO_RELEASE: OnceLock<Sender<HeldHandle>> = OnceLock::new();
        let to_release = TO_RELEASE.get_or_init(|| {
            let (sender, receiver) = channel();
            // If no thread can start, the receiver is dropped, and handles are leaked below.
            drop(std::thread::Builder::new().spawn(move || release(&receiver)));
            sender
        });
        if let Some(kept) = self.kept.take()
            && let Err(unsent) = to_release.send(kept)
        {
            // Without the thread, nothing reports when the memory may be reused, so it is leaked.
            std::mem::forget(unsent);
        }
    }
}

/// A handle that keeps memory from being reused.
#[derive(Debug)]
struct HeldHandle {
    index: usize,
    _owners: (Handle, Arc<()>),
}

/// Drops handles once the device has finished all its work.
fn release(receiver: &Receiver<HeldHandle>) {
    allow_captures();
    let mut all = vec![];
    while let Ok(kept) = receiver.recv() {
        all.push(kept);
        all.extend(receiver.try_iter());
        // If a device fails or records a graph, its handles are kept and tried again when the next handle arrives.
        all.retain(|kept: &HeldHandle| Current::new(kept.index).and_then(|current| current.wait_for_all()).is_err());
    }
}
