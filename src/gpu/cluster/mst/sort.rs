//! Sorting of edges by squared weight, then the lower index, then the higher index.
//!
//! The leading bits of the weights are sorted. Each edge then finds its place among those with the same leading bits,
//! as codes do in `bvh::morton`. If too many edges tie, as in a lattice, all bits are sorted: first those of the ends,
//! then those of the weights. The second sort preserves the order of the ends among equal weights.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::mst::merge_components::{Edges, EdgesArg};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::pass::CODE;
use crate::gpu::primitives::radix_sort::{Pairs, leading_bits, order, sort};

/// The maximum number of edges with the same leading bits that are compared on either side.
const REACH: u32 = 32;

pub(super) fn sort_edges<R: Runtime>(client: &ComputeClient<R>, edges: &Edges) -> Result<Edges> {
    let n = edges.low.len();
    if n > 1
        && let Some(sorted) = sort_leading(client, edges, leading_bits(n))?
    {
        return Ok(sorted);
    }
    sort_all_bits(client, edges)
}

/// Sorts by the `leading` bits and resolves ties. Returns `None` if there are too many ties.
fn sort_leading<R: Runtime>(client: &ComputeClient<R>, edges: &Edges, leading: u32) -> Result<Option<Edges>> {
    let n = edges.low.len();
    let (bits, dim) = (Buffer::<u64>::new(client, n), CubeDim::new_1d(THREADS_PER_BLOCK));
    take_bits::launch::<R>(client, blocks_for(n), dim, edges.weight2.arg(), bits.arg(), n as u32);
    let sorted = edges_in(client, edges, &order(client, bits, leading));
    let (placed, far) = (Edges::new(client, n), Buffer::<u32>::from_slice(client, &[0]));
    place::launch::<R>(client, blocks_for(n), dim, sorted.arg(), placed.arg(), far.arg(), n as u32, CODE - leading);
    Ok((far.read(client)?[0] == 0).then_some(placed))
}

/// Reorders edges.
fn edges_in<R: Runtime>(client: &ComputeClient<R>, edges: &Edges, order: &Buffer<u32>) -> Edges {
    let ends = |of| gather(client, of, order, 1, Layout::Rows);
    Edges {
        weight2: gather(client, &edges.weight2, order, 1, Layout::Rows),
        low: ends(&edges.low),
        high: ends(&edges.high),
    }
}

fn sort_all_bits<R: Runtime>(client: &ComputeClient<R>, edges: &Edges) -> Result<Edges> {
    let (n, dim) = (edges.low.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let keys = Buffer::<u64>::new(client, n);
    pack_ends::launch::<R>(client, blocks_for(n), dim, edges.low.arg(), edges.high.arg(), keys.arg(), n as u32);
    let by_ends = sort(client, Pairs { keys, values: Buffer::iota(client, n) })?.values;
    let keys = Buffer::<u64>::new(client, n);
    let weight2 = gather(client, &edges.weight2, &by_ends, 1, Layout::Rows);
    take_bits::launch::<R>(client, blocks_for(n), dim, weight2.arg(), keys.arg(), n as u32);
    Ok(edges_in(client, edges, &sort(client, Pairs { keys, values: by_ends })?.values))
}

/// The bits of the weights. Weights are not negative, so their bits ascend with them.
#[cube(launch)]
fn take_bits(weight2: &Array<f64>, bits: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        bits[i] = u64::reinterpret(weight2[i]);
    }
}

/// Packs the ends of each edge into one number.
#[cube(launch)]
fn pack_ends(low: &Array<u32>, high: &Array<u32>, keys: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        keys[i] = (u64::cast_from(low[i]) << 32u64) | u64::cast_from(high[i]);
    }
}

/// Moves edges, sorted by the leading bits of their weights, to their final places. Sets `far` if an edge may be too
/// far from its place.
#[cube(launch)]
fn place(sorted: &EdgesArg, placed: &mut EdgesArg, far: &mut Array<u32>, n: u32, #[comptime] trailing: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let own = u64::reinterpret(sorted.weight2[i]);
        // The final place; the number of edges before and behind that were compared; 1 if the loop goes on to the next
        // edge.
        let mut state = Array::<u32>::new(4usize);
        state[0] = i as u32;
        state[1] = 0;
        state[2] = 0;
        state[3] = u32::cast_from(i > 0);
        while state[3] == 1 {
            state[1] = state[1] + 1;
            let other = i - state[1] as usize;
            state[3] = u32::cast_from(leading(sorted, other, trailing) == leading(sorted, i, trailing));
            if state[3] == 1 {
                if comes_before(sorted, i, other) {
                    state[0] = state[0] - 1;
                }
                if state[1] == REACH {
                    far[0] = 1;
                }
                state[3] = u32::cast_from(state[1] < REACH && i as u32 > state[1]);
            }
        }
        state[3] = u32::cast_from((i as u32) + 1 < n);
        while state[3] == 1 {
            state[2] = state[2] + 1;
            let other = i + state[2] as usize;
            state[3] = u32::cast_from(leading(sorted, other, trailing) == leading(sorted, i, trailing));
            if state[3] == 1 {
                if comes_before(sorted, other, i) {
                    state[0] = state[0] + 1;
                }
                if state[2] == REACH {
                    far[0] = 1;
                }
                state[3] = u32::cast_from(state[2] < REACH && i as u32 + state[2] + 1 < n);
            }
        }
        let to = state[0] as usize;
        placed.weight2[to] = f64::reinterpret(own);
        placed.low[to] = sorted.low[i];
        placed.high[to] = sorted.high[i];
    }
}

/// The leading bits of a weight, by which edges are sorted.
#[cube]
fn leading(edges: &EdgesArg, at: usize, #[comptime] trailing: u32) -> u64 {
    u64::reinterpret(edges.weight2[at]) >> comptime!(u64::from(trailing))
}

/// Returns `true` if edge `one` comes before edge `other`.
#[cube]
fn comes_before(edges: &EdgesArg, one: usize, other: usize) -> bool {
    let (a, b) = (edges.weight2[one], edges.weight2[other]);
    let (low_a, low_b) = (edges.low[one], edges.low[other]);
    let ends = low_a < low_b || (low_a == low_b && edges.high[one] < edges.high[other]);
    a < b || (a == b && ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Device;
    use crate::gpu::device::on;

    /// Weights that tie in 45, 43 or 41 leading bits, some in all bits.
    #[test]
    fn ties_are_put_right() -> Result<()> {
        let mix = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
        let weights: Vec<f64> =
            (0..5000).map(|i| f64::from_bits((1 << 61) + (mix(i / 7) << 24) + mix(i) % 64 * 9999)).collect();
        let [low, high] = [3, 5].map(|by| (0..5000).map(|i| (mix(by * i) % 40) as u32).collect::<Vec<u32>>());
        let mut expected: Vec<(f64, u32, u32)> = (0..5000).map(|i| (weights[i], low[i], high[i])).collect();
        expected.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        on!(Device::first()?, client => {
            let edges = Edges {
                weight2: Buffer::from_slice(client, &weights),
                low: Buffer::from_slice(client, &low),
                high: Buffer::from_slice(client, &high),
            };
            for leading in [45, 43, 41] {
                let sorted = sort_leading(client, &edges, leading)?.expect("few tie");
                let (weights, low, high) = (sorted.weight2.read(client)?, sorted.low.read(client)?, sorted.high.read(client)?);
                let found = weights.into_iter().zip(low).zip(high).map(|((weight, low), high)| (weight, low, high));
                assert!(found.eq(expected.iter().copied()), "{leading} bits");
            }
            Ok(())
        })
    }
}
