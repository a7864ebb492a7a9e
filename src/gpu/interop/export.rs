//! Results for other libraries, by their address.
//!
//! cubecl gives memory to other buffers once no handle to it is left. Another library's kernels may still read it then, on streams
//! that are not known here. So the last owner hands the handle to a thread, which waits for all work of the device first.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use cubecl::prelude::CubeElement;
use cubecl::server::Handle;

use crate::error::Result;
use crate::gpu::device::{Device, cuda};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::interop::driver::{Current, allow_captures};

/// Memory of an NVIDIA GPU, by its address, for other libraries. It stays what it is until this is dropped, and then until all work of the
/// device that was asked for before has ended; dropping does not wait.
///
/// The numbers are there: kernels on any stream may read them. They may also be written; other owners of the same numbers see that.
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
    /// None once it is dropped.
    kept: Option<Kept>,
}

impl CudaMemory {
    /// Where the memory begins: 256 bytes divide it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whose memory it is.
    pub fn device(&self) -> Device {
        self.device
    }
}

impl<T: CubeElement> DeviceVec<T> {
    /// Waits until the numbers are there, and gives their address. They are not copied.
    ///
    /// Errors: a device that is none of CUDA's; if the device fails.
    pub fn to_cuda(&self) -> Result<CudaMemory> {
        let Some(index) = self.device.cuda_index() else {
            return Err(errors::failed("it is none of CUDA's, and its memory has no address"));
        };
        let address = self.values.address(&cuda::client(index))?;
        let kept = Some(Kept { index, _handle: self.values.handle() });
        Ok(CudaMemory { address, bytes: self.len() * size_of::<T>(), device: self.device, kept })
    }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        static TO_RELEASE: OnceLock<Sender<Kept>> = OnceLock::new();
        let to_release = TO_RELEASE.get_or_init(|| {
            let (sender, receiver) = channel();
            std::thread::spawn(move || release(&receiver));
            sender
        });
        if let Some(kept) = self.kept.take()
            && let Err(unsent) = to_release.send(kept)
        {
            // Without the thread nothing says when the memory may be used again.
            std::mem::forget(unsent);
        }
    }
}

/// What keeps memory from being used again.
#[derive(Debug)]
struct Kept {
    index: usize,
    _handle: Handle,
}

/// Lets go of memory once the device has nothing left to do.
fn release(receiver: &Receiver<Kept>) {
    allow_captures();
    let mut all = vec![];
    while let Ok(kept) = receiver.recv() {
        all.push(kept);
        all.extend(receiver.try_iter());
        // What a device that fails, or records a graph, does not let go of is asked again with the next.
        all.retain(|kept: &Kept| Current::of(kept.index).and_then(|current| current.wait_for_all()).is_err());
    }
}
