//! Memory on a device, and how kernels are started.

#![allow(unsafe_code)] // A kernel's argument is a handle and a length, which no compiler can compare; here they stay together.

use std::marker::PhantomData;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::cancel::check;
use crate::error::Result;
use crate::gpu::errors;
use crate::phases;

/// Units of a block in kernels that work element by element. cubecl calls a block a cube.
pub(in crate::gpu) const UNITS: u32 = 256;

/// Elements on a device. A clone shares them.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct Buffer<T> {
    handle: Handle,
    len: usize,
    element: PhantomData<T>,
}

impl<T: CubeElement> Buffer<T> {
    /// Holds garbage until it is written.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, len: usize) -> Self {
        // Devices refuse buffers of 0 bytes; and kernels may read two elements at once.
        Self { handle: client.empty(len.max(2) * size_of::<T>()), len, element: PhantomData }
    }

    pub fn from_slice<R: Runtime>(client: &ComputeClient<R>, values: &[T]) -> Self {
        let handle = match values {
            [] => return Self::new(client, 0),
            [one] => client.create_from_slice(T::as_bytes(&[*one, *one])),
            _ => client.create_from_slice(T::as_bytes(values)),
        };
        Self { handle, len: values.len(), element: PhantomData }
    }

    /// The same value throughout.
    pub fn filled<R: Runtime>(client: &ComputeClient<R>, len: usize, value: T) -> Self
    where
        T: Numeric,
    {
        let buffer = Self::new(client, len);
        fill::launch::<T, R>(
            client,
            cubes(len),
            CubeDim::new_1d(UNITS),
            buffer.arg(),
            Self::from_slice(client, &[value]).arg(),
            len as u32,
        );
        buffer
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// What a kernel takes for it.
    pub fn arg<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: `new` and `from_slice`, which alone make buffers, allocate `len` elements and never fewer than two.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), self.len.max(1)) }
    }

    /// The same for a kernel that reads two elements at once.
    pub fn pairs<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: as of `arg`: of `len / 2` vectors of two elements all are there, and also the one that is claimed for fewer than two
        // elements. Allocations are aligned for vectors of all types.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), (self.len / 2).max(1)) }
    }

    /// The same for a kernel that reads four elements at once; their number is a multiple of four.
    pub fn quads<R: Runtime>(&self) -> ArrayArg<R> {
        // SAFETY: as of `pairs`: all vectors of four elements that are claimed are there, but for the one that is claimed of none.
        unsafe { ArrayArg::from_raw_parts(self.handle.clone(), (self.len / 4).max(1)) }
    }

    /// Waits for all kernels that were launched, and copies the elements.
    pub fn read<R: Runtime>(&self, client: &ComputeClient<R>) -> Result<Vec<T>> {
        check();
        let bytes = client.read_one(self.handle.clone()).map_err(errors::failed)?;
        Ok(T::from_bytes(&bytes)[..self.len].to_vec())
    }
}

#[cfg(feature = "cuda")]
impl<T> Buffer<T> {
    /// Waits for the stream that the buffer is of, and gives the address of its first element, which stays the same.
    pub fn address(&self, client: &ComputeClient<cubecl::cuda::CudaRuntime>) -> Result<u64> {
        // A thread has a stream of its own, and would not wait for this one.
        self.handle.stream.executes(|| {
            let found = client.get_resource(self.handle.clone()).map_err(errors::failed)?;
            wait(client)?;
            Ok(found.resource().ptr)
        })
    }

    /// What keeps the memory from being used for other buffers.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Buffer<u32> {
    /// 0, 1, 2, and so on.
    pub fn iota<R: Runtime>(client: &ComputeClient<R>, len: usize) -> Self {
        let buffer = Self::new(client, len);
        count_up::launch::<R>(client, cubes(len), CubeDim::new_1d(UNITS), buffer.arg(), len as u32);
        buffer
    }
}

/// Checks that the device has buffers of `bytes` bytes, before one is allocated whose size the caller decides.
///
/// Errors: what was asked for, and the most there is.
pub(in crate::gpu) fn check_allocation<R: Runtime>(client: &ComputeClient<R>, bytes: u128) -> Result<()> {
    let most = client.properties().memory.max_page_size;
    if bytes > u128::from(most) {
        return Err(errors::large_buffer(bytes, most));
    }
    Ok(())
}

/// Waits for all kernels that were launched.
pub(in crate::gpu) fn wait<R: Runtime>(client: &ComputeClient<R>) -> Result<()> {
    check();
    cubecl::future::block_on(client.sync()).map_err(errors::failed)
}

/// Ends a step, for whoever wants to know how long it takes: only then it is waited for. A call that is cancelled ends here; what was
/// launched runs on.
pub(in crate::gpu) fn mark<R: Runtime>(client: &ComputeClient<R>, step: &'static str) -> Result<()> {
    check();
    if phases::is_heard() {
        wait(client)?;
        phases::mark(step);
    }
    Ok(())
}

/// Enough blocks of [`UNITS`] for `n` elements.
pub(in crate::gpu) fn cubes(n: usize) -> CubeCount {
    count(n.div_ceil(UNITS as usize))
}

/// So many blocks, or some more; kernels compare their position with the number they are given.
pub(in crate::gpu) fn count(cubes: usize) -> CubeCount {
    const MOST: usize = 65_535;
    let cubes = cubes.max(1);
    let rows = cubes.div_ceil(MOST);
    CubeCount::Static(cubes.div_ceil(rows) as u32, rows as u32, 1)
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
