//! Which devices there are, and their memory.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::wait;
use crate::gpu::errors;
use crate::gpu::warp_choice::WarpChoice;

/// `on!(device, client => body)`: evaluates `body`, a result, with the device's client. Whatever it calls is generic over the runtime.
macro_rules! on {
    ($device:expr, $client:ident => $body:expr) => {
        match $device.checked() {
            Err(error) => Err(error),
            #[cfg(feature = "cuda")]
            Ok($crate::gpu::device::Backend::Cuda(index)) => {
                let $client = &$crate::gpu::device::cuda::client(index);
                $body
            }
            #[cfg(feature = "vulkan")]
            Ok($crate::gpu::device::Backend::Vulkan(index)) => match $crate::gpu::device::vulkan::client(index) {
                Some(client) => {
                    let $client = &client;
                    $body
                }
                None => Err($crate::gpu::errors::no_device("Vulkan", index, 0)),
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
        devices().first().copied().ok_or_else(|| errors::no_device("GPU", 0, 0))
    }

    /// An NVIDIA GPU by its number. Errors if there is none of that number, or no driver.
    #[cfg(feature = "cuda")]
    pub fn cuda(index: usize) -> Result<Self> {
        let found = cuda::count();
        if index < found { Ok(Self(Backend::Cuda(index))) } else { Err(errors::no_device("CUDA", index, found)) }
    }

    /// A Vulkan device by its number. Errors if there is none of that number, or no driver.
    #[cfg(feature = "vulkan")]
    pub fn vulkan(index: usize) -> Result<Self> {
        let found = vulkan::all().len();
        if index < found { Ok(Self(Backend::Vulkan(index))) } else { Err(errors::no_device("Vulkan", index, found)) }
    }
}

impl Device {
    /// The backend. Errors: a value of `ROPEWALK_WARP` that there is not.
    pub(in crate::gpu) fn checked(self) -> Result<Backend> {
        WarpChoice::forced().and(Ok(self.0))
    }
}

/// Refuses what is on two devices.
pub(in crate::gpu) fn check_same(what: [&'static str; 2], [one, other]: [Device; 2]) -> Result<()> {
    if one == other {
        return Ok(());
    }
    Err(errors::two_devices(what, [one, other].map(|device| format!("{device:?}"))))
}

/// Does `work` on one stream, which it shares with all other work that is done so, whatever the threads.
///
/// Each thread has a stream otherwise, and on each the allocator holds memory of its own: a program whose calls come from many threads, as
/// those of a pool do, holds less with one. What is returned may be used by any thread.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Fof, Points, on_one_stream};
///
/// let points = [[0.0f32, 0.0], [1.0, 0.0]];
/// let halos = on_one_stream(|| Fof::new(1.0).run(&Points::new(&points, Device::first()?)?))?;
/// assert_eq!(halos.len(), 1);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn on_one_stream<T>(work: impl FnOnce() -> T) -> T {
    // Threads count from 0.
    cubecl::stream_id::StreamId { value: u64::MAX }.executes(work)
}

/// Memory on a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of buffers that are alive: results, and what kernels that still run work with.
    pub used: u64,
    /// Bytes reserved by the allocator, in large pages: `used`, and free pages for what comes next. It grows to the peak of `used`, and
    /// stays there until [`Device::release`].
    pub held: u64,
}

impl Device {
    /// The memory that this thread's work takes, and that of other threads that share its stream. Waits for all kernels.
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
            let usage = client.memory_usage().map_err(errors::failed)?;
            Ok(Memory { used: usage.bytes_in_use, held: usage.bytes_reserved })
        })
    }

    /// Returns the memory that is held and not used to the device, for other programs. What comes next asks for it again.
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

/// Turns of the loops of a unit, all together, that devices without CUDA are trusted with: Mesa's driver on the processor ends them after 65,535.
pub(in crate::gpu) const MOST_TURNS: usize = 60_000;

/// Whether a client's device is one of CUDA's.
pub(in crate::gpu) fn is_cuda<R: Runtime>(client: &ComputeClient<R>) -> bool {
    R::name(client) == "cuda"
}

#[cfg(feature = "cuda")]
pub(super) mod cuda {
    #![allow(unsafe_code)] // Looking for a library runs what is in it.

    use cubecl::cuda::{CudaDevice, CudaRuntime};
    use cudarc::driver::result::device::{get, get_attribute};
    use cudarc::driver::sys::{CUdevice_attribute as Attribute, cuDriverGetVersion};

    use super::{ComputeClient, Runtime};

    pub fn count() -> usize {
        // SAFETY: the library is NVIDIA's driver; it is only looked for.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return 0;
        }
        cudarc::driver::CudaContext::device_count().map_or(0, |count| count.max(0) as usize)
    }

    pub fn client(index: usize) -> ComputeClient<CudaRuntime> {
        #[cfg(target_os = "linux")]
        crate::gpu::kernel_cache::start(|| kernels_are_for().ok().flatten());
        CudaRuntime::client(&CudaDevice::new(index))
    }

    /// What compiled kernels depend on, the driver and the kind of devices; none if these are of several kinds.
    #[cfg(target_os = "linux")]
    fn kernels_are_for() -> Result<Option<String>, cudarc::driver::DriverError> {
        let mut driver = 0;
        // SAFETY: the driver writes its version there.
        unsafe { cuDriverGetVersion(&mut driver) }.result()?;
        let mut kinds = vec![];
        for index in 0..count() {
            let device = get(index as i32)?;
            // SAFETY: the driver has named the device.
            let of = |attribute| unsafe { get_attribute(device, attribute) };
            let major = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
            let minor = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
            kinds.push(format!("{major}.{minor} {driver}"));
        }
        kinds.dedup();
        Ok(if kinds.len() == 1 { kinds.pop() } else { None })
    }
}

#[cfg(feature = "vulkan")]
pub(super) mod vulkan {
    use std::sync::OnceLock;

    use cubecl::device::Device;
    use cubecl::wgpu::{GraphicsApi, Vulkan, WgpuDevice, WgpuRuntime};

    use super::{ComputeClient, Runtime};

    /// The adapters in the order of their first enumeration, which is done once: it asks the drivers, and takes milliseconds.
    pub fn all() -> &'static [WgpuDevice] {
        static ALL: OnceLock<Vec<WgpuDevice>> = OnceLock::new();
        ALL.get_or_init(enumerate)
    }

    fn enumerate() -> Vec<WgpuDevice> {
        let found = WgpuRuntime::enumerate_all_devices(&Vulkan::backend());
        // Numbers are by type.
        let own = |i: usize| found[..i].iter().filter(|other| other.type_id == found[i].type_id).count();
        found
            .iter()
            .enumerate()
            .map(|(i, id)| WgpuDevice::from_id(cubecl::device::DeviceId::new(id.type_id, own(i) as u16)))
            .collect()
    }

    /// None if there is no device of that number.
    pub fn client(index: usize) -> Option<ComputeClient<WgpuRuntime>> {
        all().get(index).map(WgpuRuntime::client)
    }
}
