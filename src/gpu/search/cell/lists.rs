//! Lists of neighbours with lattice shifts, on a device.
//!
//! In: indices and codes of shifts. Out: indices, and shifts between the points as they were given.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, wait};
use crate::gpu::csr::{Csr, list_of};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::cell::entries::Entries;
use crate::gpu::search::cell::images::ShiftTable;
use crate::search::CellNeighbor;

/// Lists of neighbours in a cell, on a device: one list per point. Kernels may still be computing them.
#[derive(Clone, Debug)]
pub struct CellLists<const D: usize> {
    indices: Csr,
    shifts: Buffer<i32>,
}

impl<const D: usize> CellLists<D> {
    /// Creates lists from their entries. `wraps` holds the number of cells along each vector by which each point was
    /// outside.
    pub(super) fn new<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        entries: Entries,
        table: &ShiftTable,
        wraps: &Buffer<i32>,
    ) -> Self {
        let Entries { offsets, indices, codes } = entries;
        let shifts = Buffer::<i32>::new(client, codes.len() * D);
        if codes.len() > 0 {
            write_shifts::launch::<R>(
                client,
                blocks_for(codes.len()),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                CodedLaunch::new(offsets.arg(), indices.arg(), codes.arg()),
                table.shifts.arg(),
                wraps.arg(),
                shifts.arg(),
                offsets.len() as u32 - 1,
                codes.len() as u32,
                table.zero,
                D,
            );
        }
        Self { indices: Csr { device, offsets, values: indices }, shifts }
    }

    /// Returns the number of lists.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Returns `true` if there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the lists of indices in the order of the points as they were given.
    pub fn indices(&self) -> &Csr {
        &self.indices
    }

    /// Returns the lattice shifts of all neighbours, `D` numbers for each value of [`CellLists::indices`]. See
    /// [`CellNeighbor::shift`].
    pub fn shifts(&self) -> DeviceVec<i32> {
        DeviceVec { device: self.indices.device, values: self.shifts.clone() }
    }

    /// Waits until the lists are computed.
    ///
    /// # Errors
    /// If the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.indices.device, client => wait(client))
    }

    /// Copies the lists to the host.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<crate::Csr<CellNeighbor<D>>> {
        let shifts = on!(self.indices.device, client => self.shifts.read(client))?;
        let (offsets, indices) = self.indices.read()?.into_parts();
        let neighbors = indices.into_iter().zip(shifts.as_chunks::<D>().0);
        let neighbors = neighbors.map(|(index, &shift)| CellNeighbor { index, shift }).collect();
        Ok(crate::Csr::from_parts(offsets, neighbors))
    }
}

/// Lists with the codes of shifts.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Coded {
    pub offsets: Array<u32>,
    pub indices: Array<u32>,
    pub codes: Array<u32>,
}

/// Writes the shift of each of `entries` entries of `n` lists.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn write_shifts(
    lists: &Coded,
    positive: &Array<i32>,
    wraps: &Array<i32>,
    shifts: &mut Array<i32>,
    n: u32,
    entries: u32,
    zero: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < entries {
        let own = list_of(&lists.offsets, n, at as u32) as usize;
        let other = lists.indices[at] as usize;
        let code = lists.codes[at];
        #[unroll]
        for k in 0..d {
            let shift = RuntimeCell::<i32>::new(wraps[own * d + k] - wraps[other * d + k]);
            if code > zero {
                shift.store(shift.read() + positive[(code - zero - 1) as usize * d + k]);
            }
            if code < zero {
                shift.store(shift.read() - positive[(zero - 1 - code) as usize * d + k]);
            }
            shifts[at * d + k] = shift.read();
        }
    }
}
