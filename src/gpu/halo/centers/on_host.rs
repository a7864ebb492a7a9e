//! Centres that the device leaves to the CPU.
//!
//! In: halos on a device. Out: their centres by [`crate::halo::CenterFinder`]. Cost: that of the CPU. The indices of
//! all members are copied from the device, 4 bytes each, and the positions of the members of these halos, 12 or 24
//! bytes each.

use std::ops::Range;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::by_size::SortedHalos;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::halo::centers::{Center, CenterFinder, HaloCenter};
use crate::parallel::map;

/// The CPU finder with the options of a device finder.
pub(super) fn finder(center: Center, masses: Option<&[f64]>) -> CenterFinder<'_> {
    let finder = CenterFinder::new(center);
    if let Some(masses) = masses { finder.masses(masses) } else { finder }
}

/// The centres of the halos in `some`.
pub(super) fn rows<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    center: Center,
    masses: Option<&[f64]>,
    points: &Points<S, 3>,
    halos: &SortedHalos,
    some: &[usize],
) -> Result<Vec<HaloCenter>> {
    if some.is_empty() {
        return Ok(vec![]);
    }
    let members = halos.members.read(client)?;
    // The members of these halos only, one halo after the other.
    let (mut indices, mut spans) = (Vec::<u32>::new(), Vec::<Range<u32>>::with_capacity(some.len()));
    for &halo in some {
        let first = indices.len() as u32;
        let own = halos.host_offsets[halo] as usize..halos.host_offsets[halo + 1] as usize;
        indices.extend_from_slice(members.get(own).unwrap_or_default());
        spans.push(first..indices.len() as u32);
    }
    let n = indices.len();
    let axes =
        gather(client, &points.values, &Buffer::from_slice(client, &indices), 3, Layout::Columns).read(client)?;
    let positions: Vec<[S; 3]> = (0..n).map(|i| std::array::from_fn(|k| axes[k * n + i])).collect();
    let masses: Option<Vec<f64>> = masses.map(|masses| indices.iter().map(|&index| masses[index as usize]).collect());
    let finder = finder(center, masses.as_deref());
    let row = |halo: usize| {
        let own: Vec<u32> = spans[halo].clone().collect();
        let row = finder.run_on(&positions, &own, &points.space, finder.find_most_bound())?;
        Ok(HaloCenter { member: row.member.map(|member| indices[member as usize]), ..row })
    };
    map(spans.len(), 1, &row).into_iter().collect()
}
