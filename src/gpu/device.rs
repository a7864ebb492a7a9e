//! Devices: their enumeration and their memory.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::wait;
#[cfg(feature = "cuda")]
use crate::gpu::cuda_compiler;
use crate::gpu::errors;
use crate::gpu::warp_choice::WarpChoice;

/// `on!(device, client => body)` evaluates `body`, a `Result`, with the device's client. Functions called in `body`
/// are generic over the runtime. Profilers show it as a range with the name of the function that contains it.
macro_rules! on {
    ($device:expr, $client:ident => $body:expr) => {{
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        let _range = {
            fn marker() {}
            $crate::gpu::nvtx::Range::of(module_path!(), marker)
        };
        match $device.checked() {
            Err(error) => Err(error),
            #[cfg(feature = "cuda")]
            Ok($crate::gpu::device::Backend::Cuda(index)) => {
                let $client = &$crate::gpu::device::cuda::client(index);
                $body
            }
            #[cfg(feature = "hip")]
            Ok($crate::gpu::device::Backend::Hip(index)) => {
                let $client = &$crate::gpu::device::hip::client(index);
                $body
            }
            #[cfg(feature = "vulkan")]
            Ok($crate::gpu::device::Backend::Vulkan(index)) => match $crate::gpu::device::vulkan::client(index) {
                Some(client) => {
                    let $client = &client;
                    $body
                }
                None => {
                    let found = $crate::gpu::device::vulkan::all().len();
                    Err($crate::gpu::errors::no_device("Vulkan", index, found))
                }
            },
        }
    }};
}
pub(in crate::gpu) use on;

/// A GPU, or a software driver: some Vulkan drivers run on the CPU.
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
    #[cfg(feature = "hip")]
    Hip(usize),
    #[cfg(feature = "vulkan")]
    Vulkan(usize),
}

/// Lists all devices that the enabled features can find: CUDA devices, then HIP devices, then Vulkan devices. Without a
/// driver the list is empty.
pub fn devices() -> Vec<Device> {
    let mut found = vec![];
    #[cfg(feature = "cuda")]
    found.extend((0..cuda::count()).map(|i| Device(Backend::Cuda(i))));
    #[cfg(feature = "hip")]
    found.extend((0..hip::count()).map(|i| Device(Backend::Hip(i))));
    #[cfg(feature = "vulkan")]
    found.extend((0..vulkan::all().len()).map(|i| Device(Backend::Vulkan(i))));
    found
}

impl Device {
    /// Finds the first of [`devices`].
    ///
    /// # Errors
    /// If there is no device.
    pub fn first() -> Result<Self> {
        devices().first().copied().ok_or_else(errors::no_gpu)
    }

    /// Finds the NVIDIA GPU with number `index`, as CUDA counts them.
    ///
    /// # Errors
    /// If there is no GPU with this number, or no driver.
    #[cfg(feature = "cuda")]
    pub fn cuda(index: usize) -> Result<Self> {
        let found = cuda::count();
        if index < found { Ok(Self(Backend::Cuda(index))) } else { Err(errors::no_device("CUDA", index, found)) }
    }

    /// Finds the AMD GPU with number `index`, as HIP counts them. Experimental: see the feature `hip`.
    ///
    /// # Errors
    /// If there is no GPU with this number, or no driver.
    #[cfg(feature = "hip")]
    pub fn hip(index: usize) -> Result<Self> {
        let found = hip::count();
        if index < found { Ok(Self(Backend::Hip(index))) } else { Err(errors::no_device("HIP", index, found)) }
    }

    /// Finds the Vulkan device with number `index`.
    ///
    /// # Errors
    /// If there is no device with this number, or no driver.
    #[cfg(feature = "vulkan")]
    pub fn vulkan(index: usize) -> Result<Self> {
        let found = vulkan::all().len();
        if index < found { Ok(Self(Backend::Vulkan(index))) } else { Err(errors::no_device("Vulkan", index, found)) }
    }
}

impl Device {
    /// The backend.
    ///
    /// Errors: an unknown value of `ROPEWALK_WARP`; CUDA or HIP, whose compiler of kernels or whose headers are
    /// missing.
    pub(in crate::gpu) fn checked(self) -> Result<Backend> {
        WarpChoice::forced()?;
        match self.0 {
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) => cuda_compiler::check().map(|()| self.0),
            #[cfg(feature = "hip")]
            Backend::Hip(_) => hip::check().map(|()| self.0),
            #[cfg(feature = "vulkan")]
            Backend::Vulkan(_) => Ok(self.0),
        }
    }
}

/// Returns an error if two inputs, named by `what`, are on different devices.
pub(in crate::gpu) fn check_same(what: [&'static str; 2], [one, other]: [Device; 2]) -> Result<()> {
    if one == other {
        return Ok(());
    }
    Err(errors::two_devices(what, [one, other].map(|device| format!("{device:?}"))))
}

/// Runs `work` on one stream that all calls of this function share, from whichever thread they come: stream 0 of
/// [`on_stream`].
///
/// By default each thread has its own stream, and the allocator keeps memory for each stream. A program that calls
/// this library from many threads, such as those of a pool, therefore holds less memory with a single stream. Any
/// thread may use the result.
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
    on_stream(0, work)
}

/// Runs `work` on the stream with the given number, from whichever thread the call comes.
///
/// A thread that gives its calls different numbers lets CUDA run their kernels at the same time. Results may be used on
/// any stream and by any thread: if a kernel reads the result of another stream, its stream first waits for that one.
/// `number` and `number + 128` are the same stream.
/// [The module](crate::gpu#streams) describes the streams of threads, and the memory of streams.
///
/// ```no_run
/// use ropewalk::gpu::{Bvh, Device, on_stream};
///
/// let device = Device::first()?;
/// let build = |number, points: &[[f32; 2]]| on_stream(number, || Bvh::build(points, device));
/// // The second tree is built while the first one may still be under construction.
/// let trees = [build(0, &[[0.0, 0.0], [1.0, 0.0]])?, build(1, &[[3.0, 0.0]])?];
/// assert_eq!(trees[1].count_neighbors(1.0)?.read()?, [1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn on_stream<T>(number: u8, work: impl FnOnce() -> T) -> T {
    // Stream ids of threads count from 0, so these are free.
    cubecl::stream_id::StreamId { value: u64::MAX - u64::from(number) }.executes(work)
}

/// Memory in use on a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of live buffers: results, and data of kernels that are still running.
    pub used: u64,
    /// Bytes reserved by the allocator, in large pages: `used`, and free pages for later allocations. It grows to the
    /// peak of `used` and stays there until [`Device::release`].
    pub held: u64,
}

impl Device {
    /// Returns the memory used by this thread, and by other threads that share its stream. Waits for all kernels.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Points};
    ///
    /// let device = Device::first()?;
    /// let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0]], device)?;
    /// assert!(device.memory()?.used >= 16);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device fails.
    pub fn memory(&self) -> Result<Memory> {
        on!(*self, client => {
            wait(client)?;
            let usage = client.memory_usage().map_err(errors::failed)?;
            Ok(Memory { used: usage.bytes_in_use, held: usage.bytes_reserved })
        })
    }

    /// Frees the memory that the allocator holds but does not use, so that other programs can use it. Later calls
    /// allocate memory again.
    ///
    /// # Errors
    /// If the device fails.
    pub fn release(&self) -> Result<()> {
        on!(*self, client => {
            wait(client)?;
            client.memory_cleanup();
            wait(client)
        })
    }
}

/// The largest total number of loop iterations of a thread on devices without CUDA. Mesa's CPU driver ends loops
/// after 65,535 iterations.
pub(in crate::gpu) const MAX_ITERATIONS: usize = 60_000;

/// Returns `true` if the client is for a CUDA device.
pub(in crate::gpu) fn is_cuda<R: Runtime>(client: &ComputeClient<R>) -> bool {
    R::name(client) == "cuda"
}

#[cfg(feature = "cuda")]
pub(super) mod cuda {
    #![allow(unsafe_code)] // Loading the driver library runs its initialization code.

    use cubecl::cuda::{CudaDevice, CudaRuntime};
    use cudarc::driver::result::device::{get, get_attribute};
    use cudarc::driver::sys::{CUdevice_attribute as Attribute, cuDriverGetVersion};

    use super::{ComputeClient, Runtime};

    pub fn count() -> usize {
        // SAFETY: the function only looks for NVIDIA's driver library; loading that library is sound.
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

    /// A description of the driver and the devices, on which compiled kernels depend; `None` if the devices differ in
    /// compute capability.
    #[cfg(target_os = "linux")]
    fn kernels_are_for() -> Result<Option<String>, cudarc::driver::DriverError> {
        let mut driver = 0;
        // SAFETY: `driver` is a valid `i32` for the driver to write its version to.
        unsafe { cuDriverGetVersion(&mut driver) }.result()?;
        let mut kinds = vec![];
        for index in 0..count() {
            let device = get(index as i32)?;
            // SAFETY: `device` is a handle that the driver returned from `get`.
            let of = |attribute| unsafe { get_attribute(device, attribute) };
            let major = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
            let minor = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
            kinds.push(format!("{major}.{minor} {driver}"));
        }
        kinds.dedup();
        Ok(if kinds.len() == 1 { kinds.pop() } else { None })
    }
}

#[cfg(feature = "hip")]
pub(super) mod hip {
    #![allow(unsafe_code)] // HIP's functions are those of a C library.

    use std::process::Command;
    use std::sync::OnceLock;

    use cubecl::hip::{AmdDevice, HipRuntime};
    use cubecl_hip_sys::{HIP_SUCCESS, hipGetDeviceCount, is_available};

    use super::{ComputeClient, Result, Runtime, errors};

    pub fn count() -> usize {
        if !is_available() {
            return 0;
        }
        let mut count = 0;
        // SAFETY: HIP's libraries are loaded, as `is_available` checked, and `count` is a valid integer for the number.
        let status = unsafe { hipGetDeviceCount(&mut count) };
        if status == HIP_SUCCESS { count.max(0) as usize } else { 0 }
    }

    /// Returns an error if ROCm's program `hipconfig` cannot be run. cubecl asks it for the headers of kernels, and
    /// panics in a thread of its own without it. The check is done once.
    pub fn check() -> Result<()> {
        static IS_THERE: OnceLock<bool> = OnceLock::new();
        let is_there = *IS_THERE.get_or_init(|| Command::new("hipconfig").arg("-p").output().is_ok());
        if is_there { Ok(()) } else { Err(errors::no_hipconfig()) }
    }

    pub fn client(index: usize) -> ComputeClient<HipRuntime> {
        HipRuntime::client(&AmdDevice::new(index))
    }
}

#[cfg(feature = "vulkan")]
pub(super) mod vulkan {
    use std::sync::OnceLock;

    use cubecl::device::Device;
    use cubecl::wgpu::{GraphicsApi, Vulkan, WgpuDevice, WgpuRuntime};

    use super::{ComputeClient, Runtime};

    /// Returns the adapters in the order of their first enumeration. They are enumerated once, because the query to the
    /// drivers takes milliseconds.
    pub fn all() -> &'static [WgpuDevice] {
        static ALL: OnceLock<Vec<WgpuDevice>> = OnceLock::new();
        ALL.get_or_init(enumerate)
    }

    fn enumerate() -> Vec<WgpuDevice> {
        let found = WgpuRuntime::enumerate_all_devices(&Vulkan::backend());
        // cubecl numbers devices separately for each type.
        let own = |i: usize| found[..i].iter().filter(|other| other.type_id == found[i].type_id).count();
        found
            .iter()
            .enumerate()
            .map(|(i, id)| WgpuDevice::from_id(cubecl::device::DeviceId::new(id.type_id, own(i) as u16)))
            .collect()
    }

    /// Returns the client of adapter `index`, or `None` if there is no such adapter.
    pub fn client(index: usize) -> Option<ComputeClient<WgpuRuntime>> {
        all().get(index).map(WgpuRuntime::client)
    }
}
