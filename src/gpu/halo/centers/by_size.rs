//! Halos sorted by descending size, as the centre finder processes them.
//!
//! In: [`Halos`]. Out: [`SortedHalos`], the same halos with the largest first, and the number of large ones. Halos
//! found on a device are already in this order, so their buffers are shared; others are copied. Cost: a copy of the
//! offsets to the host; for halos in another order, a pass over the members and 4 bytes per member.

use std::cmp::Reverse;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::halos::Halos;

/// The maximum number of members of a small halo, in which all pairs are summed. In larger halos, blocks of members
/// bound the potentials.
const SMALL: u32 = 512;

/// Halos by descending size; halos of equal size are in the order in which they were given.
pub(super) struct SortedHalos {
    /// Halo `h` has the members `offsets[h]..offsets[h + 1]`; a copy is on the device and one on the host.
    pub offsets: Buffer<u32>,
    pub host_offsets: Vec<u32>,
    /// The points that are the members, halo by halo.
    pub members: Buffer<u32>,
    pub large: LargeCount,
    /// The caller's index of each halo, or `None` if the order is the same.
    order: Option<Vec<u32>>,
}

/// The number of large halos, which come first, and the number of their members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LargeCount {
    pub halos: usize,
    pub members: usize,
}

impl LargeCount {
    fn new(offsets: &[u32]) -> Self {
        let halos = offsets.windows(2).take_while(|pair| size(pair) > SMALL).count();
        Self { halos, members: offsets.get(halos).map_or(0, |&end| end as usize) }
    }
}

/// The number of members between two offsets.
fn size(pair: &[u32]) -> u32 {
    pair[1].saturating_sub(pair[0])
}

/// The kernel argument for [`SortedHalos`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct HalosArg {
    pub offsets: Array<u32>,
    pub members: Array<u32>,
    /// The number of halos.
    pub n: u32,
}

impl SortedHalos {
    pub fn new<R: Runtime>(client: &ComputeClient<R>, halos: &Halos) -> Result<Self> {
        let given = halos.offsets.read(client)?;
        let sizes: Vec<u32> = given.windows(2).map(size).collect();
        if sizes.is_sorted_by_key(|&size| Reverse(size)) {
            return Ok(Self {
                offsets: halos.offsets.clone(),
                large: LargeCount::new(&given),
                host_offsets: given,
                members: halos.members.clone(),
                order: None,
            });
        }
        let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
        order.sort_by_key(|&halo| Reverse(sizes[halo as usize]));
        let mut host_offsets = vec![0];
        host_offsets.extend(order.iter().scan(0, |end, &halo| {
            *end += sizes[halo as usize];
            Some(*end)
        }));
        let (offsets, n) = (Buffer::from_slice(client, &host_offsets), halos.members.len());
        let members = Buffer::<u32>::new(client, n);
        reorder_members::launch::<R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            HalosArgLaunch::new(halos.offsets.arg(), halos.members.arg(), order.len() as u32),
            Buffer::from_slice(client, &order).arg(),
            offsets.arg(),
            members.arg(),
            n as u32,
        );
        Ok(Self { offsets, large: LargeCount::new(&host_offsets), host_offsets, members, order: Some(order) })
    }

    pub fn len(&self) -> usize {
        self.host_offsets.len().saturating_sub(1)
    }

    /// Returns the halos as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> HalosArgLaunch<R> {
        HalosArgLaunch::new(self.offsets.arg(), self.members.arg(), self.len() as u32)
    }

    /// Returns the number of members of a halo.
    pub fn size(&self, halo: usize) -> u32 {
        self.host_offsets.get(halo..).and_then(|offsets| offsets.get(..2)).map_or(0, size)
    }

    /// Reorders rows, one for each halo in this order, to the order in which the halos were given.
    pub fn in_given_order<T>(&self, rows: Vec<T>) -> Vec<T> {
        let Some(order) = &self.order else { return rows };
        let mut rows: Vec<_> = order.iter().zip(rows).collect();
        rows.sort_unstable_by_key(|&(halo, _)| halo);
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// The halo, of `halos`, that contains a member: the last one with `offsets[halo] <= member`.
#[cube]
pub(super) fn owner(offsets: &Array<u32>, member: u32, halos: u32) -> u32 {
    let mut lo = 0u32.runtime();
    let mut hi = halos + 0;
    while lo + 1 < hi {
        let middle = lo + (hi - lo) / 2;
        if offsets[middle as usize] <= member {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    lo
}

/// Copies each member in the new order, where halo `h` is halo `order[h]` of the input.
#[cube(launch)]
fn reorder_members(from: &HalosArg, order: &Array<u32>, offsets: &Array<u32>, members: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = owner(offsets, i as u32, from.n) as usize;
        let start = from.offsets[order[halo] as usize];
        members[i] = from.members[(start + (i as u32 - offsets[halo])) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::{Device, on};

    #[test]
    fn large_halos_come_first() {
        for (offsets, halos, members) in
            [(&[0][..], 0, 0), (&[0, 512], 0, 0), (&[0, 513], 1, 513), (&[0, 600, 1113, 1114], 2, 1113)]
        {
            assert_eq!(LargeCount::new(offsets), LargeCount { halos, members });
        }
    }

    #[test]
    fn members_follow_their_halos() {
        let lists = crate::Halos::from_lists(9, &[0, 2, 3, 7, 9], &[4, 1, 0, 2, 3, 8, 7, 5, 6]).unwrap();
        let device = Device::first().unwrap();
        let halos = Halos::upload(&lists, device).unwrap();
        let found = on!(device, client => SortedHalos::new(client, &halos).and_then(|sorted| {
            let rows = sorted.in_given_order(vec!['a', 'b', 'c', 'd']);
            Ok((sorted.members.read(client)?, sorted.host_offsets, rows))
        }));
        let (members, offsets, rows) = found.unwrap();
        assert_eq!(offsets, [0, 4, 6, 8, 9]);
        assert_eq!(members, [2, 3, 7, 8, 1, 4, 5, 6, 0]);
        assert_eq!(rows, ['b', 'd', 'a', 'c']);
    }
}
