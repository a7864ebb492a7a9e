//! Which devices there are.

use cubecl::prelude::*;

use crate::error::{Kind, Result};
use crate::gpu::buffer::wait;

/// `on!(device, client => body)`: evaluates `body` with the device's client. Whatever it calls is generic over the runtime.
macro_rules! on {
    ($device:expr, $client:ident => $body:expr) => {
        match $device.0 {
            #[cfg(feature = "cuda")]
            $crate::gpu::device::Backend::Cuda(index) => {
                let $client = &$crate::gpu::device::cuda::client(index);
                $body
            }
            #[cfg(feature = "vulkan")]
            $crate::gpu::device::Backend::Vulkan(index) => match $crate::gpu::device::vulkan::client(index) {
                Some(client) => {
                    let $client = &client;
                    $body
                }
                None => Err($crate::error::Kind::NoDevice { what: "Vulkan", index, found: 0 }.into()),
            },
        }
    };
}
pub(in crate::gpu) use on;

/// A GPU, or what passes for one: Vulkan has drivers that run on the processor.
///
/// ```no_run
/// use ropewalk::gpu::{Device, devices};
///
/// println!("{:?}", devices());
/// let device = Device::first()?;
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device(pub(super) Backend);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Backend {
    #[cfg(feature = "cuda")]
    Cuda(usize),
    #[cfg(feature = "vulkan")]
    Vulkan(usize),
}

/// All devices that the features of this build can find, those of CUDA first; none without a driver.
pub fn devices() -> Vec<Device> {
    let mut found = vec![];
    #[cfg(feature = "cuda")]
    found.extend((0..cuda::count()).map(|i| Device(Backend::Cuda(i))));
    #[cfg(feature = "vulkan")]
    found.extend((0..vulkan::all().len()).map(|i| Device(Backend::Vulkan(i))));
    found
}

impl Device {
    /// The first of [`devices`]. Errors if there is none.
    pub fn first() -> Result<Self> {
        devices().first().copied().ok_or_else(|| Kind::NoDevice { what: "GPU", index: 0, found: 0 }.into())
    }

    /// An NVIDIA GPU by its number. Errors if there is none of that number, or no driver.
    #[cfg(feature = "cuda")]
    pub fn cuda(index: usize) -> Result<Self> {
        let found = cuda::count();
        if index < found {
            Ok(Self(Backend::Cuda(index)))
        } else {
            Err(Kind::NoDevice { what: "CUDA", index, found }.into())
        }
    }

    /// A Vulkan device by its number. Errors if there is none of that number, or no driver.
    #[cfg(feature = "vulkan")]
    pub fn vulkan(index: usize) -> Result<Self> {
        let found = vulkan::all().len();
        if index < found {
            Ok(Self(Backend::Vulkan(index)))
        } else {
            Err(Kind::NoDevice { what: "Vulkan", index, found }.into())
        }
    }
}

/// Memory on a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What results that are alive take, and what is still computed with.
    pub used: u64,
    /// What the device has given, in large pages: what is used, and room for what comes next. It grows to what was needed at a time,
    /// and is kept.
    pub held: u64,
}

impl Device {
    /// The memory that this thread's work takes, and that of other threads that share its stream. Waits for it.
    ///
    /// Errors: if the device fails.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Points};
    ///
    /// let device = Device::first()?;
    /// let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0]], device)?;
    /// assert!(device.memory()?.used >= 16);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn memory(&self) -> Result<Memory> {
        on!(*self, client => {
            wait(client)?;
            let usage = client.memory_usage().map_err(|error| Kind::Device(error.to_string()))?;
            Ok(Memory { used: usage.bytes_in_use, held: usage.bytes_reserved })
        })
    }

    /// Gives back the memory that is held and not used, for other programs on the device. What comes next asks for it again.
    ///
    /// Errors: if the device fails.
    pub fn release(&self) -> Result<()> {
        on!(*self, client => {
            wait(client)?;
            client.memory_cleanup();
            wait(client)
        })
    }
}

/// Whether a client's device is one of CUDA's.
pub(in crate::gpu) fn is_cuda<R: Runtime>(client: &ComputeClient<R>) -> bool {
    R::name(client) == "cuda"
}

#[cfg(feature = "cuda")]
pub(super) mod cuda {
    #![allow(unsafe_code)] // Looking for a library runs what is in it.

    use cubecl::cuda::{CudaDevice, CudaRuntime};

    use super::{ComputeClient, Runtime};

    pub fn count() -> usize {
        // SAFETY: the library is NVIDIA's driver; it is only looked for.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return 0;
        }
        cudarc::driver::CudaContext::device_count().map_or(0, |count| count.max(0) as usize)
    }

    pub fn client(index: usize) -> ComputeClient<CudaRuntime> {
        CudaRuntime::client(&CudaDevice::new(index))
    }
}

#[cfg(feature = "vulkan")]
pub(super) mod vulkan {
    use cubecl::device::Device;
    use cubecl::wgpu::{GraphicsApi, Vulkan, WgpuDevice, WgpuRuntime};

    use super::{ComputeClient, Runtime};

    pub fn all() -> Vec<WgpuDevice> {
        let found = WgpuRuntime::enumerate_all_devices(&Vulkan::backend());
        // Numbers are by type.
        let own = |i: usize| found[..i].iter().filter(|other| other.type_id == found[i].type_id).count();
        found
            .iter()
            .enumerate()
            .map(|(i, id)| WgpuDevice::from_id(cubecl::device::DeviceId::new(id.type_id, own(i) as u16)))
            .collect()
    }

    /// None if the device has gone.
    pub fn client(index: usize) -> Option<ComputeClient<WgpuRuntime>> {
        all().get(index).map(WgpuRuntime::client)
    }
}
