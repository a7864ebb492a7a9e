//! The output arrays for hits, and the sorting of lists of hits.
//!
//! In: lists in any order. Out: each list sorted by `t`, then by index. Each thread sorts one list. Cost: O(n log n)
//! for a list of n.
//!
//! **Launch contract.** That of `cast`.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract.

use cubecl::prelude::*;

use crate::gpu::buffer::Buffer;
use crate::gpu::search::mesh::primitives::Item;

/// The output of a cast.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Hits {
    /// The index of each hit, or the result of each ray that has another form.
    pub indices: Array<u32>,
    /// `t` and, for triangles, the weights of the corners.
    pub numbers: Array<f64>,
    /// The offset of each ray's list.
    pub offsets: Array<u32>,
}

/// The results of a call.
#[derive(Clone, Debug)]
pub(super) struct CastOutput {
    pub indices: Buffer<u32>,
    pub numbers: Buffer<f64>,
    pub offsets: Buffer<u32>,
}

/// The number of numbers per hit: `t`, and a triangle's weights.
pub(super) fn width(item: Item) -> usize {
    if item == Item::Triangle { 4 } else { 1 }
}

/// Sorts each of `n` lists.
#[cube(launch_unchecked)]
pub(super) fn sort_lists(hits: &mut Hits, n: u32, #[comptime] item: Item) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let first = hits.offsets[at];
        let len = hits.offsets[at + 1] - first;
        sort(hits, first, len, item);
    }
}

/// Sorts a list by `t`, then by index, with a heap whose root is the last hit.
#[cube]
fn sort(hits: &mut Hits, first: u32, n: u32, #[comptime] item: Item) {
    let mut left = Array::<u32>::new(2usize);
    // The size of the heap; the root of the next subtree to be heaped.
    left[0] = n;
    left[1] = n / 2;
    while left[0] > 1 {
        if left[1] > 0 {
            left[1] = left[1] - 1;
        } else {
            left[0] = left[0] - 1;
            swap(hits, first, first + left[0], item);
        }
        sink(hits, first, left[1], left[0], item);
    }
}

/// Moves the hit at `from` down a heap of `n` hits.
#[cube]
fn sink(hits: &mut Hits, first: u32, from: u32, n: u32, #[comptime] item: Item) {
    let mut at = Array::<u32>::new(1usize);
    at[0] = from;
    while 2 * at[0] + 1 < n {
        let own = at[0];
        let left = 2 * own + 1;
        let right = min(left + 1, n - 1);
        let mut later = select(comes_before(hits, first + own, first + left, item), left, own);
        later = select(comes_before(hits, first + later, first + right, item), right, later);
        at[0] = n;
        if later != own {
            swap(hits, first + own, first + later, item);
            at[0] = later;
        }
    }
}

#[cube]
fn comes_before(hits: &Hits, a: u32, b: u32, #[comptime] item: Item) -> bool {
    let width = comptime!(width(item));
    let (ta, tb) = (hits.numbers[width * a as usize], hits.numbers[width * b as usize]);
    ta < tb || (ta == tb && hits.indices[a as usize] < hits.indices[b as usize])
}

#[cube]
fn swap(hits: &mut Hits, a: u32, b: u32, #[comptime] item: Item) {
    let width = comptime!(width(item));
    let (index, other) = (hits.indices[a as usize], hits.indices[b as usize]);
    hits.indices[a as usize] = other;
    hits.indices[b as usize] = index;
    #[unroll]
    for k in 0..width {
        let (own, other) = (hits.numbers[width * a as usize + k], hits.numbers[width * b as usize + k]);
        hits.numbers[width * a as usize + k] = other;
        hits.numbers[width * b as usize + k] = own;
    }
}
