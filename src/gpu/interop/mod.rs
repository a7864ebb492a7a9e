//! Memory of NVIDIA GPUs that is shared with other libraries: CuPy, PyTorch, JAX.
//!
//! In: an address that another library has (`import`), or results (`export`). Out: [`DeviceVec`](crate::gpu::DeviceVec), or an address with
//! what keeps its memory. Nothing comes to the host.
//! CUDA's runtime, these libraries and cubecl all use the device's primary context, so addresses and streams mean the same to each.
//!
//! **Order.** cubecl's streams are its own and wait for no others. So the host waits, for microseconds, where work changes hands:
//!
//! | where | what is waited for |
//! |---|---|
//! | coordinates are copied in | cubecl's stream, whose earlier kernels may use the memory that the copy gets; then the copy, which runs on the legacy default stream behind what is there |
//! | a result is handed out | the stream that it is computed on |
//! | the last owner lets go of it | all work of the device, by a thread of its own; only then cubecl may use the memory again |

mod driver;
mod export;
mod import;

pub use export::CudaMemory;

use crate::error::Result;
use crate::gpu::device::{Backend, Device};
use crate::gpu::interop::driver::Current;

impl Device {
    /// The number that CUDA has for it; `None` if it is none of CUDA's.
    pub fn cuda_index(&self) -> Option<usize> {
        match self.0 {
            Backend::Cuda(index) => Some(index),
            #[cfg(feature = "vulkan")]
            Backend::Vulkan(_) => None,
        }
    }

    /// The device whose memory an address is of, by what the driver says.
    ///
    /// Errors: an address that is of no device; if there is no driver.
    pub fn of_cuda_address(address: u64) -> Result<Self> {
        Self::cuda(driver::index_of(address)?)
    }

    /// Waits for everything that any library has asked of the device, on all streams. Of a device that is none of CUDA's nothing is asked.
    ///
    /// Errors: if the device fails.
    pub fn wait_for_all(&self) -> Result<()> {
        self.cuda_index().map_or(Ok(()), |index| Current::of(index)?.wait_for_all())
    }
}
