//! Lists of hits along rays, their sorting, and the first hits of a list.
//!
//! In: lists in any order. Out: each list sorted by its first number, then by index, then by its last number. Each
//! thread sorts one list. The first k hits are kept in a row of k places, as a heap whose root is the last of them;
//! rows then become lists. Cost: O(n log n) to sort a list of n, O(log k) to keep a hit.
//!
//! **Launch contract.** Lists lie within the arrays: the offsets ascend, and the last one is the number of entries.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::csr::{Csr, list_of};

/// Lists of hits, or the results of rays that have another form.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct HitLists {
    /// The index of each hit, or the result of each ray that has another form.
    pub indices: Array<u32>,
    /// The numbers of each hit, of which the first one determines the order.
    pub numbers: Array<f64>,
    /// The offset of each ray's list.
    pub offsets: Array<u32>,
}

/// Sorts each of `n` lists, whose entries have `width` numbers.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn sort_lists(lists: &mut HitLists, n: u32, #[comptime] width: usize) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let first = lists.offsets[at];
        let len = lists.offsets[at + 1] - first;
        sort_list(lists, first, len, width);
    }
}

/// Sorts a list by its first number, then by index, with a heap whose root is the last hit.
#[cube]
pub(in crate::gpu) fn sort_list(lists: &mut HitLists, first: u32, n: u32, #[comptime] width: usize) {
    let mut left = Array::<u32>::new(2usize);
    // The size of the heap; the root of the next subtree to be heaped.
    left[0] = n;
    left[1] = n / 2;
    while left[0] > 1 {
        if left[1] > 0 {
            left[1] = left[1] - 1;
        } else {
            left[0] = left[0] - 1;
            swap(lists, first, first + left[0], width);
        }
        sink(lists, first, left[1], left[0], width);
    }
}

/// Adds a hit to a row that keeps the first `k` hits, of which it has `n`, and returns their new number. If it is `k`,
/// the last of them is at the start of the row.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(in crate::gpu) fn keep_first(
    lists: &mut HitLists,
    first: u32,
    k: u32,
    n: u32,
    index: u32,
    numbers: &Array<f64>,
    #[comptime] width: usize,
) -> u32 {
    // The new number of hits; the number of subtrees to be heaped.
    let mut state = Array::<u32>::new(2usize);
    state[0] = n;
    state[1] = 0;
    if n < k {
        put(lists, first + n, index, numbers, width);
        state[0] = n + 1;
        state[1] = select(n + 1 == k, k / 2, 0u32);
    } else {
        let last = first as usize;
        let (own, other) = (numbers[0] + f64::new(0.0), lists.numbers[width * last]);
        let (own_rest, other_rest) =
            (numbers[comptime!(width - 1)] + f64::new(0.0), lists.numbers[width * last + comptime!(width - 1)]);
        if is_first(own, other, index, lists.indices[last], own_rest, other_rest) {
            put(lists, first, index, numbers, width);
            state[1] = 1;
        }
    }
    while state[1] > 0 {
        state[1] = state[1] - 1;
        sink(lists, first, state[1] + 0, k, width);
    }
    state[0] + 0
}

/// Writes a hit.
#[cube]
pub(in crate::gpu) fn put(lists: &mut HitLists, at: u32, index: u32, numbers: &Array<f64>, #[comptime] width: usize) {
    lists.indices[at as usize] = index;
    #[unroll]
    for k in 0..width {
        lists.numbers[width * at as usize + k] = numbers[k];
    }
}

/// Copies the first entries of rows of `k` places into lists. `counts`, with an extra 0, are the numbers of entries,
/// and become offsets.
///
/// Errors: those of [`Csr::count_values`].
pub(in crate::gpu) fn lists_of_rows<R: Runtime>(
    client: &ComputeClient<R>,
    indices: Buffer<u32>,
    numbers: Buffer<f64>,
    counts: &Buffer<u32>,
    k: usize,
    width: usize,
) -> Result<(Buffer<u32>, Buffer<f64>)> {
    let lists: Buffer<u32> = Csr::allocate_values(client, counts)?;
    if lists.len() == indices.len() {
        return Ok((indices, numbers));
    }
    let n = lists.len();
    let listed = Buffer::<f64>::new(client, width * n);
    copy_rows::launch::<R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        HitListsLaunch::new(indices.arg(), numbers.arg(), counts.arg()),
        lists.arg(),
        listed.arg(),
        n as u32,
        (counts.len() - 1) as u32,
        k as u32,
        width,
    );
    Ok((lists, listed))
}

#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn copy_rows(
    rows: &HitLists,
    indices: &mut Array<u32>,
    numbers: &mut Array<f64>,
    n: u32,
    n_lists: u32,
    k: u32,
    #[comptime] width: usize,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let list = list_of(&rows.offsets, n_lists, at as u32);
        let from = (list * k + (at as u32 - rows.offsets[list as usize])) as usize;
        indices[at] = rows.indices[from];
        #[unroll]
        for number in 0..width {
            numbers[width * at + number] = rows.numbers[width * from + number];
        }
    }
}

/// Moves the hit at `from` down a heap of `n` lists.
#[cube]
fn sink(lists: &mut HitLists, first: u32, from: u32, n: u32, #[comptime] width: usize) {
    let mut at = Array::<u32>::new(1usize);
    at[0] = from;
    while 2 * at[0] + 1 < n {
        let own = at[0];
        let left = 2 * own + 1;
        let right = min(left + 1, n - 1);
        let mut later = select(comes_before(lists, first + own, first + left, width), left, own);
        later = select(comes_before(lists, first + later, first + right, width), right, later);
        at[0] = n;
        if later != own {
            swap(lists, first + own, first + later, width);
            at[0] = later;
        }
    }
}

#[cube]
fn comes_before(lists: &HitLists, a: u32, b: u32, #[comptime] width: usize) -> bool {
    let (a, b) = (a as usize, b as usize);
    let (own, other) = (lists.numbers[width * a], lists.numbers[width * b]);
    let (own_rest, other_rest) =
        (lists.numbers[width * a + comptime!(width - 1)], lists.numbers[width * b + comptime!(width - 1)]);
    is_first(own, other, lists.indices[a], lists.indices[b], own_rest, other_rest)
}

/// Returns `true` if a hit comes before another one, by their first numbers, their indices and their last numbers.
#[cube]
fn is_first(own: f64, other: f64, index: u32, other_index: u32, own_rest: f64, other_rest: f64) -> bool {
    own < other || (own == other && (index < other_index || (index == other_index && own_rest < other_rest)))
}

#[cube]
fn swap(lists: &mut HitLists, a: u32, b: u32, #[comptime] width: usize) {
    let (index, other) = (lists.indices[a as usize], lists.indices[b as usize]);
    lists.indices[a as usize] = other;
    lists.indices[b as usize] = index;
    #[unroll]
    for k in 0..width {
        let (own, other) = (lists.numbers[width * a as usize + k], lists.numbers[width * b as usize + k]);
        lists.numbers[width * a as usize + k] = other;
        lists.numbers[width * b as usize + k] = own;
    }
}
