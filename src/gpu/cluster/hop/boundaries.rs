//! Boundaries between chains: the GPU version of `cluster::hop::boundaries`.
//!
//! In: the chain and the density of each position. Out: for each pair of touching chains the largest mean density of
//! two neighbours.
//!
//! A contact is a pair of neighbours in different chains. Contacts are counted, then listed, and sorted by density and
//! then by their pair of chains. The first contact of each pair is its boundary. Finally, boundaries are sorted by
//! density. Cost: 12 bytes per point and neighbour, 40 per contact.

use cubecl::prelude::*;

use crate::cluster::ChainBoundary;
use crate::cluster::hop::boundaries::density_of_key;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::hop::chains::{Chains, descending_key};
use crate::gpu::primitives::compact::{Compact, Emit};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::{Pairs, sort};
use crate::gpu::primitives::reduce::sum;
use crate::gpu::primitives::scan::{exclusive, last};
use crate::gpu::primitives::scatter::invert;
use crate::gpu::search::nearest::RowOrder;
use crate::search::nearest::Nearest;

/// Boundaries by descending density, ties by the chains.
#[derive(Clone, Debug)]
pub(super) struct Boundaries {
    /// The pair of chains: the chain with the denser peak in the upper half, the other one in the lower half.
    pub pairs: Buffer<u64>,
    /// The density as the key that `descending_key` computes.
    pub descending_key: Buffer<u64>,
}

impl Boundaries {
    pub fn none<R: Runtime>(client: &ComputeClient<R>) -> Self {
        Self { pairs: Buffer::new(client, 0), descending_key: Buffer::new(client, 0) }
    }

    pub fn read<R: Runtime>(&self, client: &ComputeClient<R>) -> Result<Vec<ChainBoundary>> {
        Ok(boundaries_of(&self.pairs.read(client)?, &self.descending_key.read(client)?))
    }

    /// Copies the boundaries of at least the density whose key is `last` from the device.
    pub fn read_up_to<R: Runtime>(&self, client: &ComputeClient<R>, last: u64) -> Result<Vec<ChainBoundary>> {
        let (n, dim) = (self.descending_key.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        if n == 0 {
            return Ok(vec![]);
        }
        let flags = Buffer::<u32>::new(client, n);
        let wanted = Buffer::from_slice(client, &[last]);
        flag_up_to::launch::<R>(
            client,
            blocks_for(n),
            dim,
            self.descending_key.arg(),
            wanted.arg(),
            flags.arg(),
            n as u32,
        );
        let first = Buffer::iota(client, sum(client, &flags)? as usize);
        let pairs = gather(client, &self.pairs, &first, 1, Layout::Rows);
        let descending_key = gather(client, &self.descending_key, &first, 1, Layout::Rows);
        Self { pairs, descending_key }.read(client)
    }
}

/// Unpacks boundaries.
fn boundaries_of(pairs: &[u64], descending_key: &[u64]) -> Vec<ChainBoundary> {
    let boundary = |(&pair, &descending_key): (&u64, &u64)| ChainBoundary {
        denser: (pair >> 32) as u32,
        other: pair as u32,
        density: density_of_key(descending_key),
    };
    pairs.iter().zip(descending_key).map(boundary).collect()
}

/// Finds the boundaries of chains.
pub(super) fn boundaries<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    n_merge: usize,
    chains: &Chains,
    density: &Buffer<f64>,
) -> Result<Boundaries> {
    if n_merge == 0 || chains.peaks.len() < 2 {
        return Ok(Boundaries::none(client));
    }
    let (pairs, descending_key) = contacts(client, bvh, n_merge, chains, density)?;
    let n = pairs.len();
    // By ascending pair, and within a pair by descending density.
    let by_density = sort(client, Pairs { keys: descending_key, values: Buffer::iota(client, n) })?;
    let keys = gather(client, &pairs, &by_density.values, 1, Layout::Rows);
    drop(pairs);
    let sorted = sort(client, Pairs { keys, values: Buffer::iota(client, n) })?;
    let (flags, dim) = (Buffer::<u32>::new(client, n + 1), CubeDim::new_1d(THREADS_PER_BLOCK));
    flag_firsts::launch::<R>(client, blocks_for(n + 1), dim, sorted.keys.arg(), flags.arg(), n as u32);
    let firsts = Compact::new(client, flags)?;
    let (pairs, densest) = (Buffer::<u64>::new(client, firsts.len), Buffer::<u64>::new(client, firsts.len));
    let input = SortedLaunch::new(sorted.keys.arg(), sorted.values.arg(), by_density.keys.arg());
    firsts.emit::<R, First>(client, input, ContactsLaunch::new(pairs.arg(), densest.arg()));
    let found = sort(client, Pairs { keys: densest, values: Buffer::iota(client, pairs.len()) })?;
    Ok(Boundaries { pairs: gather(client, &pairs, &found.values, 1, Layout::Rows), descending_key: found.keys })
}

/// The pairs of chains of all contacts, and the keys of the densities there, in no particular order.
fn contacts<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    n_merge: usize,
    chains: &Chains,
    density: &Buffer<f64>,
) -> Result<(Buffer<u64>, Buffer<u64>)> {
    let (n, dim) = (bvh.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let nearest = bvh.nearest_rows(client, Nearest::new(n_merge).excluding_self(), RowOrder::Tree)?;
    let position = invert(client, &bvh.order);
    let input = || {
        let (rows, positions) = (nearest.indices.arg(), position.arg());
        NeighborsLaunch::new(rows, positions, chains.chain.arg(), density.arg(), n as u32, nearest.k as u32)
    };
    let offsets = Buffer::<u32>::new(client, n + 1);
    count_contacts::launch::<R>(client, blocks_for(n + 1), dim, input(), offsets.arg());
    exclusive(client, &offsets);
    let total = last(client, &offsets)?;
    let (pairs, descending_key) = (Buffer::<u64>::new(client, total), Buffer::<u64>::new(client, total));
    list_contacts::launch::<R>(
        client,
        blocks_for(n),
        dim,
        input(),
        offsets.arg(),
        ContactsLaunch::new(pairs.arg(), descending_key.arg()),
    );
    Ok((pairs, descending_key))
}

/// The nearest neighbours of each position, and the chains and densities.
#[derive(CubeType, CubeLaunch)]
struct Neighbors {
    rows: Array<u32>,
    position: Array<u32>,
    chain: Array<u32>,
    density: Array<f64>,
    n: u32,
    k: u32,
}

#[cube]
impl Neighbors {
    /// The position of the neighbour at a place of a row.
    fn of(&self, at: u32, place: u32) -> u32 {
        self.position[self.rows[at as usize * self.k as usize + place as usize] as usize]
    }
}

/// Pairs of chains, and the keys of densities.
#[derive(CubeType, CubeLaunch)]
struct Contacts {
    pairs: Array<u64>,
    descending_key: Array<u64>,
}

/// Counts the neighbours of each position in other chains, followed by a 0.
#[cube(launch)]
fn count_contacts(neighbors: &Neighbors, counts: &mut Array<u32>) {
    let at = ABSOLUTE_POS as u32;
    if at < neighbors.n {
        let own = neighbors.chain[at as usize];
        let mut count = Array::<u32>::new(1usize);
        count[0] = 0;
        for place in 0..neighbors.k {
            count[0] = count[0] + u32::cast_from(neighbors.chain[neighbors.of(at, place) as usize] != own);
        }
        counts[at as usize] = count[0];
    } else if at == neighbors.n {
        counts[at as usize] = 0;
    }
}

#[cube(launch)]
fn list_contacts(neighbors: &Neighbors, offsets: &Array<u32>, contacts: &mut Contacts) {
    let at = ABSOLUTE_POS as u32;
    if at < neighbors.n {
        let own = neighbors.chain[at as usize];
        let mut to = Array::<u32>::new(1usize);
        to[0] = offsets[at as usize];
        for place in 0..neighbors.k {
            let near = neighbors.of(at, place);
            let other = neighbors.chain[near as usize];
            if other != own {
                let half = f64::new(0.5);
                // Halves are exact, so it does not matter whether a product is fused with the sum.
                let mean = half * neighbors.density[at as usize] + half * neighbors.density[near as usize];
                let pair = (u64::cast_from(min(own, other)) << 32u64) | u64::cast_from(max(own, other));
                contacts.pairs[to[0] as usize] = pair;
                contacts.descending_key[to[0] as usize] = descending_key(mean);
                to[0] = to[0] + 1;
            }
        }
    }
}

/// Flags the first contact of each pair, followed by a 0.
#[cube(launch)]
fn flag_firsts(pairs: &Array<u64>, flags: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let mut flag = 1u32.runtime();
        if i > 0 {
            flag = u32::cast_from(pairs[i] != pairs[i - 1]);
        }
        flags[i] = flag;
    } else if i as u32 == n {
        flags[i] = 0;
    }
}

/// Contacts in the order of pairs, each with its index in `descending_key`.
#[derive(CubeType, CubeLaunch)]
struct Sorted {
    pairs: Array<u64>,
    contact: Array<u32>,
    descending_key: Array<u64>,
}

/// Emits the first contact of a pair.
struct First;

#[cube]
impl Emit for First {
    type Input = Sorted;
    type Output = Contacts;

    fn emit(input: &Self::Input, output: &mut Self::Output, item: u32, rank: u32) {
        output.pairs[rank as usize] = input.pairs[item as usize];
        output.descending_key[rank as usize] = input.descending_key[input.contact[item as usize] as usize];
    }
}

#[cube(launch)]
fn flag_up_to(descending_key: &Array<u64>, last: &Array<u64>, flags: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        flags[i] = u32::cast_from(descending_key[i] <= last[0]);
    }
}
