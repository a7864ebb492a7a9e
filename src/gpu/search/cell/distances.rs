//! Functions of the neighbours in a cell and their distances, on a device: values by user code, and own radii.
//!
//! In: lists with the codes of shifts, and wrapped points. Out: the outputs of a [`NeighborMap`], or the entries within
//! the radius of their point. Vectors are computed as on the CPU, in `f64`.
//! Cost: a pass over the entries.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::csr::list_of;
use crate::gpu::device::{MAX_ITERATIONS, is_cuda};
use crate::gpu::errors;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::cell::entries::Entries;
use crate::gpu::search::cell::images::ShiftTable;
use crate::gpu::search::cell::lists::{Coded, CodedLaunch};
use crate::gpu::search::map_neighbors::NeighborMap;

/// Computes the outputs of each point. `places` holds the wrapped points, and `values` a value for each.
///
/// Errors: lists that are too long for the loops of a driver; the device fails.
pub(super) fn map_entries<R: Runtime, M: NeighborMap, const D: usize>(
    client: &ComputeClient<R>,
    entries: &Entries,
    table: &ShiftTable,
    places: &Buffer<f64>,
    values: &Buffer<M::Value>,
    outputs: &Buffer<M::Output>,
) -> Result<()> {
    let n = entries.offsets.len() - 1;
    if !is_cuda(client) {
        let offsets = entries.offsets.read(client)?;
        let longest = offsets.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0);
        if longest as usize > MAX_ITERATIONS {
            return Err(errors::long_loops(format!("a list of {longest} neighbours")));
        }
    }
    map_lists::launch::<M, R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        CodedLaunch::new(entries.offsets.arg(), entries.indices.arg(), entries.codes.arg()),
        PlacesLaunch::new(places.arg(), table.translations.arg()),
        values.arg(),
        outputs.arg(),
        n as u32,
        table.zero,
        MapSpec { d: D, map: TypeId::of::<M>() },
    );
    Ok(())
}

/// Selects the entries within the radius of their point, given the square of each radius.
///
/// Errors: the device fails.
pub(super) fn within<R: Runtime, const D: usize>(
    client: &ComputeClient<R>,
    entries: &Entries,
    table: &ShiftTable,
    places: &Buffer<f64>,
    radius2: &Buffer<f64>,
) -> Result<Entries> {
    let (n, all) = (entries.offsets.len() - 1, entries.indices.len());
    let flags = Buffer::<u32>::filled(client, all + 1, 0);
    flag_within::launch::<R>(
        client,
        blocks_for(all),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        CodedLaunch::new(entries.offsets.arg(), entries.indices.arg(), entries.codes.arg()),
        PlacesLaunch::new(places.arg(), table.translations.arg()),
        radius2.arg(),
        flags.arg(),
        n as u32,
        all as u32,
        table.zero,
        D,
    );
    let kept = Compact::new(client, flags)?;
    let items = kept.items(client);
    Ok(Entries {
        offsets: gather(client, &kept.ranks, &entries.offsets, 1, Layout::Rows),
        indices: gather(client, &entries.indices, &items, 1, Layout::Rows),
        codes: gather(client, &entries.codes, &items, 1, Layout::Rows),
    })
}

/// Wrapped points, point by point, and the sum of lattice vectors of each positive shift.
#[derive(CubeType, CubeLaunch)]
struct Places {
    places: Array<f64>,
    translations: Array<f64>,
}

/// Computes the vector from a point to an image of another point, along an axis. Only the image at the positive shift
/// is translated, so that the opposite vector is exactly the opposite.
#[cube]
fn offset_along(
    points: &Places,
    from: u32,
    to: u32,
    code: u32,
    zero: u32,
    #[comptime] axis: usize,
    #[comptime] d: usize,
) -> f64 {
    let begin = RuntimeCell::<f64>::new(points.places[from as usize * d + axis]);
    let end = RuntimeCell::<f64>::new(points.places[to as usize * d + axis]);
    if code > zero {
        end.store(end.read() + points.translations[(code - zero - 1) as usize * d + axis]);
    }
    if code < zero {
        begin.store(begin.read() + points.translations[(zero - 1 - code) as usize * d + axis]);
    }
    end.read() - begin.read()
}

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MapSpec {
    d: usize,
    /// The type of the callback. Cached kernels are identified by type names, and two types may have the same name.
    map: TypeId,
}

/// Passes the entries of each of `n` lists to a [`NeighborMap`].
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn map_lists<M: NeighborMap>(
    lists: &Coded,
    points: &Places,
    values: &Array<M::Value>,
    outputs: &mut Array<M::Output>,
    n: u32,
    zero: u32,
    #[comptime] spec: MapSpec,
) {
    let list = ABSOLUTE_POS;
    if (list as u32) < n {
        let d = comptime!(spec.d);
        let state = M::start(list as u32, values[list]);
        let mut offset = Array::<f64>::new(d);
        for at in lists.offsets[list]..lists.offsets[list + 1] {
            let index = lists.indices[at as usize];
            let code = lists.codes[at as usize];
            let mut distance2 = f64::new(0.0);
            #[unroll]
            for axis in 0..d {
                let along = offset_along(points, list as u32, index, code, zero, axis, d);
                offset[axis] = along;
                // An `fma` with 0 computes the product alone, so that it is not fused with the sum.
                distance2 += fma(along, along, f64::new(0.0));
            }
            M::visit(&state, index, distance2, &offset, values[index as usize]);
        }
        let first = list * comptime!(M::OUTPUTS);
        #[unroll]
        for component in 0..comptime!(M::OUTPUTS) {
            outputs[first + component] = M::finish(&state, component);
        }
    }
}

/// Sets the flag of each of `entries` entries of `n` lists to 1 if it is within the radius of its list, otherwise 0.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn flag_within(
    lists: &Coded,
    points: &Places,
    radius2: &Array<f64>,
    flags: &mut Array<u32>,
    n: u32,
    entries: u32,
    zero: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < entries {
        let own = list_of(&lists.offsets, n, at as u32);
        let mut distance2 = f64::new(0.0);
        #[unroll]
        for axis in 0..d {
            let along = offset_along(points, own, lists.indices[at], lists.codes[at], zero, axis, d);
            distance2 += fma(along, along, f64::new(0.0));
        }
        flags[at] = u32::cast_from(distance2 <= radius2[own as usize]);
    }
}
