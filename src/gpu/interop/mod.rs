//! Memory of NVIDIA GPUs shared with other libraries: CuPy, PyTorch, JAX.
//!
//! In: an address owned by another library (`import`), or results (`export`). Out: a
//! [`DeviceVec`](crate::gpu::DeviceVec), or an address with an owner that keeps its memory allocated. No data is
//! copied to the host. CUDA's runtime, these libraries and cubecl all use the device's primary context, so addresses
//! and streams have the same meaning for each.
//!
//! **Order.** cubecl uses its own streams, which do not synchronize with others. The host therefore waits, for
//! microseconds, where data changes hands:
//!
//! | where | the host waits for |
//! |---|---|
//! | coordinates are copied in | the stream of cubecl that last used the destination memory, then the copy itself |
//! | a result is exported | the stream that computes it |
//! | the last owner frees a result | all work of the device, on a separate thread; then cubecl may reuse the memory |
//!
//! The copy runs on the legacy default stream, after the work already there.

mod driver;
mod export;
mod import;

pub use export::CudaMemory;

use crate::error::Result;
use crate::gpu::device::{Backend, Device};
use crate::gpu::interop::driver::Current;

impl Device {
    /// Returns the index of the device in CUDA, or `None` if it is not a CUDA device.
    pub fn cuda_index(&self) -> Option<usize> {
        match self.0 {
            Backend::Cuda(index) => Some(index),
            #[cfg(feature = "hip")]
            Backend::Hip(_) => None,
            #[cfg(feature = "vulkan")]
            Backend::Vulkan(_) => None,
        }
    }

    /// Returns the device whose memory contains an address, as reported by the driver.
    ///
    /// # Errors
    /// An address outside the memory of all devices; a missing driver.
    pub fn from_cuda_address(address: u64) -> Result<Self> {
        Self::cuda(driver::index_of(address)?)
    }

    /// Waits for all work that any library has submitted to the device, on all streams. Returns at once for devices
    /// other than CUDA's.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait_for_all(&self) -> Result<()> {
        self.cuda_index().map_or(Ok(()), |index| Current::new(index)?.wait_for_all())
    }
}
