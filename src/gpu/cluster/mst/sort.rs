//! Edges in order: by squared weight, then the lower index, then the higher one.
//!
//! Cost: two radix sorts, of which the second keeps the order of the first among equal weights.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::cluster::mst::join::Edges;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::{Pairs, sort};

pub(super) fn sort_edges<R: Runtime>(client: &ComputeClient<R>, edges: &Edges) -> Result<Edges> {
    let (n, dim) = (edges.low.len(), CubeDim::new_1d(UNITS));
    let keys = Buffer::<u64>::new(client, n);
    pack_ends::launch::<R>(client, cubes(n), dim, edges.low.arg(), edges.high.arg(), keys.arg(), n as u32);
    let by_ends = sort(client, Pairs { keys, values: Buffer::iota(client, n) })?.values;
    let keys = Buffer::<u64>::new(client, n);
    take_bits::launch::<R>(client, cubes(n), dim, edges.weight2.arg(), by_ends.arg(), keys.arg(), n as u32);
    let sorted = sort(client, Pairs { keys, values: by_ends })?;
    let weight2 = Buffer::<f64>::new(client, n);
    take_weights::launch::<R>(client, cubes(n), dim, sorted.keys.arg(), weight2.arg(), n as u32);
    let ends = |of| gather(client, of, &sorted.values, 1, Layout::Rows);
    Ok(Edges { weight2, low: ends(&edges.low), high: ends(&edges.high) })
}

/// The ends of each edge as one number.
#[cube(launch)]
fn pack_ends(low: &Array<u32>, high: &Array<u32>, keys: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        keys[i] = (u64::cast_from(low[i]) << 32u64) | u64::cast_from(high[i]);
    }
}

/// The bits of the weights, in an order. Weights are not negative, so their bits ascend with them.
#[cube(launch)]
fn take_bits(weight2: &Array<f64>, order: &Array<u32>, bits: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        bits[i] = u64::reinterpret(weight2[order[i] as usize]);
    }
}

#[cube(launch)]
fn take_weights(bits: &Array<u64>, weight2: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        weight2[i] = f64::reinterpret(bits[i]);
    }
}
