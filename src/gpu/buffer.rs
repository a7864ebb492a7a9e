//! Buffers in device memory, and grid sizes for kernel launches.

#![allow(unsafe_code)] // A kernel takes a handle and its length separately; `Buffer` keeps the two together.

use std::marker::PhantomData;
use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::cancel::check;
use crate::error::Result;
use crate::gpu::errors;
use crate::phases;

/// Threads per block in kernels that work element by element. cubecl calls a thread a unit and a block a cube.
pub(in crate::gpu) const THREADS_PER_BLOCK: u32 = 256;

/// An array in device memory. A clone shares the memory.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Buffer<T> {
    handle: Handle,
    len: usize,
    /// Shared by all clones, so its count reveals other owners. The count of a [`Handle`] is no substitute: it changes
    /// when the server binds memory to the handle.
    owners: Arc<()>,
    element: PhantomData<T>,
}

impl<T: CubeElement> Buffer<T> {
    /// Allocates a buffer with uninitialized elements.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, len: usize) -> Self {
        // Devices reject buffers of 0 bytes, and `quads` promises one vector of four elements.
        Self::with_handle(client.empty(len.max(4) * size_of::<T>()), len)
    }

    fn with_handle(handle: Handle, len: usize) -> Self {
        Self { handle, len, owners: Arc::new(()), element: PhantomData }
    }

    /// Resizes the buffer to `len` uninitialized elements, in its own memory if that is large enough and has no other
    /// owner.
    pub fn renew<R: Runtime>(&mut self, client: &ComputeClient<R>, len: usize) {
        let fits = (len.max(4) * size_of::<T>()) as u64 <= self.handle.size_in_used();
        if fits && Arc::get_mut(&mut self.owners).is_some() {
            self.len = len;
        } else {
            *self = Self::new(client, len);
        }
    }

    pub fn from_slice<R: Runtime>(client: &ComputeClient<R>, values: &[T]) -> Self {
        let handle = match values {
            [] => return Self::new(client, 0),
            [one] => client.create_from_slice(T::as_bytes(&[*one, *one])),
            _ => client.create_from_slice(T::as_bytes(values)),
        };
        Self::with_handle(handle, values.len())
    }

    /// Allocates a buffer with all elements equal to `value`.
    pub fn filled<R: Runtime>(client: &ComputeClient<R>, len: usize, value: T) -> Self
    where
        T: Numeric,
    {
        let buffer = Self::new(client, len);
        buffer.fill(client, value);
        buffer
    }

    /// Sets all elements to `value`.
    pub fn fill<R: Runtime>(&self, client: &ComputeClient<R>, value: T)
    where
        T: Numeric,
    {
        fill::launch::<T, R>(
            client,
            blocks_for(self.len),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.arg(),
            Self::from_slice(client, &[value]).arg(),
            self.len as u32,
        );
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the buffer as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: the handle has at least `self.len.max(1)` elements: `new` and `from_slice`, the only constructors,
        // allocate at least `len.max(2)`, and `renew` checks that there are `len.max(4)`.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }

    /// Returns the buffer as a kernel argument of vectors of two elements. An odd last element is left out.
    pub fn pairs<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: the handle has at least `2 * (self.len / 2).max(1)` elements, because `new`, `from_slice` and `renew`
        // make sure of at least `len.max(2)`. cubecl aligns allocations for vectors of every type.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), (self.len / 2).max(1)) }
    }

    /// Returns the buffer as a kernel argument of vectors of four elements. `len` is a multiple of four.
    pub fn quads<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: the handle has at least `4 * (self.len / 4).max(1)` elements, because an empty buffer comes from
        // `new` or `renew`, which make sure of `len.max(4)`, and `len` is a multiple of four. They are aligned as in
        // `pairs`.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), (self.len / 4).max(1)) }
    }

    /// Waits for all launched kernels and copies the elements to the host.
    pub fn read<R: Runtime>(&self, client: &ComputeClient<R>) -> Result<Vec<T>> {
        check();
        // Memory of a buffer that was larger before (`renew`) is not copied.
        let unused = self.handle.size_in_used().saturating_sub((self.len.max(4) * size_of::<T>()) as u64);
        let bytes = client.read_one(self.handle.clone().offset_end(unused)).map_err(errors::failed)?;
        Ok(T::from_bytes(&bytes)[..self.len].to_vec())
    }
}

#[cfg(feature = "cuda")]
impl<T> Buffer<T> {
    /// Waits for the buffer's stream and returns the address of the first element. The address never changes.
    pub fn address(&self, client: &ComputeClient<cubecl::cuda::CudaRuntime>) -> Result<u64> {
        // Each thread has its own stream; a wait on the thread's stream would not wait for the buffer's.
        self.handle.stream.executes(|| {
            let found = client.get_resource(self.handle.clone()).map_err(errors::failed)?;
            wait(client)?;
            Ok(found.resource().ptr)
        })
    }

    /// Returns owners of the memory, which keep it from being reused.
    pub fn owners(&self) -> (Handle, Arc<()>) {
        (self.handle.clone(), self.owners.clone())
    }
}

impl Buffer<u32> {
    /// Allocates a buffer with the values 0, 1, 2, and so on.
    pub fn iota<R: Runtime>(client: &ComputeClient<R>, len: usize) -> Self {
        let buffer = Self::new(client, len);
        count_up::launch::<R>(client, blocks_for(len), CubeDim::new_1d(THREADS_PER_BLOCK), buffer.arg(), len as u32);
        buffer
    }
}

/// Checks that the device allows buffers of `bytes` bytes. Called before allocations whose size depends on the
/// caller.
///
/// Errors: the required size and the device's maximum.
pub(in crate::gpu) fn check_allocation<R: Runtime>(client: &ComputeClient<R>, bytes: u128) -> Result<()> {
    let most = client.properties().memory.max_page_size;
    if bytes > u128::from(most) {
        return Err(errors::large_buffer(bytes, most));
    }
    Ok(())
}

/// Waits for all launched kernels.
pub(in crate::gpu) fn wait<R: Runtime>(client: &ComputeClient<R>) -> Result<()> {
    check();
    cubecl::future::block_on(client.sync()).map_err(errors::failed)
}

/// Marks the end of a phase of the computation. Waits for its kernels only if phases are being timed or a profiler
/// listens. A cancelled call stops here; kernels already launched run on.
pub(in crate::gpu) fn end_phase<R: Runtime>(client: &ComputeClient<R>, step: &'static str) -> Result<()> {
    check();
    if phases::is_heard() || is_traced() {
        wait(client)?;
        phases::mark(step);
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        crate::gpu::nvtx::mark(step);
    }
    Ok(())
}

/// Returns `true` if a profiler listens.
fn is_traced() -> bool {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    return crate::gpu::nvtx::is_active();
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    false
}

/// The number of blocks of [`THREADS_PER_BLOCK`] threads for `n` elements.
pub(in crate::gpu) fn blocks_for(n: usize) -> CubeCount {
    grid(n.div_ceil(THREADS_PER_BLOCK as usize))
}

/// A grid of at least `blocks` blocks, possibly a few more; kernels compare their position with the number of elements
/// they are given.
pub(in crate::gpu) fn grid(blocks: usize) -> CubeCount {
    const MAX_WIDTH: usize = 65_535;
    let blocks = blocks.max(1);
    let rows = blocks.div_ceil(MAX_WIDTH);
    CubeCount::Static(blocks.div_ceil(rows) as u32, rows as u32, 1)
}

#[cube(launch)]
fn fill<T: Numeric>(values: &mut Array<T>, value: &Array<T>, n: u32) {
    if (ABSOLUTE_POS as u32) < n {
        values[ABSOLUTE_POS] = value[0];
    }
}

#[cube(launch)]
fn count_up(values: &mut Array<u32>, n: u32) {
    if (ABSOLUTE_POS as u32) < n {
        values[ABSOLUTE_POS] = ABSOLUTE_POS as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Device;
    use crate::gpu::device::on;

    #[test]
    fn memory_is_kept_if_it_fits_and_is_not_shared() -> Result<()> {
        on!(Device::first()?, client => {
            let mut buffer = Buffer::<u64>::filled(client, 1000, 7);
            let memory = Arc::as_ptr(&buffer.owners);
            for len in [1000, 10, 0, 997] {
                buffer.renew(client, len);
                buffer.fill(client, len as u64);
                assert_eq!((buffer.len(), Arc::as_ptr(&buffer.owners)), (len, memory));
                assert_eq!(buffer.read(client)?, vec![len as u64; len]);
            }

            buffer.renew(client, 1001);
            assert_ne!(Arc::as_ptr(&buffer.owners), memory);
            buffer.fill(client, 1);
            let (clone, memory) = (buffer.clone(), Arc::as_ptr(&buffer.owners));
            buffer.renew(client, 3);
            assert_ne!(Arc::as_ptr(&buffer.owners), memory);
            buffer.fill(client, 2);
            assert_eq!((buffer.read(client)?, clone.read(client)?), (vec![2; 3], vec![1; 1001]));

            let mut few = Buffer::from_slice(client, &[5u32, 6]);
            few.renew(client, 3);
            few.fill(client, 4);
            assert_eq!(few.read(client)?, [4; 3]);
            Ok(())
        })
    }
}
