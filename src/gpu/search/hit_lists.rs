//! Lists of hits along rays, their sorting, and the first hits of a list.
//!
//! In: lists in any order. Out: each list sorted by its first number, then by index, then by its last number. The first k
//! hits are kept in a row of k places, as a heap whose root is the last of them; rows then become lists.
//! Cost: O(n log² n) to sort a list of n, shared by the threads of a block. A thread sorts a long list in O(n log n).
//! O(log k) to keep a hit.
//!
//! **Launch contract.** Lists lie within the arrays: the offsets ascend, and the last one is the number of entries.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::csr::{Csr, list_of};
use crate::gpu::device::is_cuda;
use crate::gpu::errors;

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

/// Lists of more than the first number of entries and at most the second are sorted by a block in shared memory.
const FEW: u32 = 16;
const MANY: usize = 512;
/// Threads of a block, and the entries of each.
const SORTERS: u32 = 64;
const OWN: usize = MANY / SORTERS as usize;
/// The lists of a block.
const LISTS: u32 = 16;

/// The maximum length of a list that is sorted without CUDA, because a software driver ends all loops of a thread
/// after 65,535 iterations.
pub(in crate::gpu) const MAX_SORTED: u32 = 3000;

/// Checks that lists of `longest` entries can be sorted on this device.
pub(in crate::gpu) fn check_sortable<R: Runtime>(client: &ComputeClient<R>, longest: u32) -> Result<()> {
    if is_cuda(client) || longest <= MAX_SORTED {
        return Ok(());
    }
    Err(errors::long_loops(format!("a ray with more than {MAX_SORTED} hits")))
}

/// Sorts the lists between `offsets`, whose entries have an index and `width` numbers. Lists satisfy the launch contract
/// of this module.
///
/// Errors: without CUDA, a list that is too long.
pub(in crate::gpu) fn sort_lists<R: Runtime>(
    client: &ComputeClient<R>,
    indices: &Buffer<u32>,
    numbers: &Buffer<f64>,
    offsets: &Buffer<u32>,
    width: usize,
) -> Result<()> {
    if !is_cuda(client) {
        let lengths = offsets.read(client)?.windows(2).map(|list| list[1] - list[0]).max();
        check_sortable(client, lengths.unwrap_or(0))?;
    }
    let n = offsets.len() - 1;
    let lists = || HitListsLaunch::new(indices.arg(), numbers.arg(), offsets.arg());
    let (blocks, dim) = (grid(n.div_ceil(LISTS as usize)), CubeDim::new_1d(SORTERS));
    // SAFETY: the launch contract of this module, with the number of lists.
    unsafe {
        sort_in_blocks::launch_unchecked::<R>(client, blocks, dim, lists(), n as u32, width);
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        sort_in_threads::launch_unchecked::<R>(client, blocks_for(n), dim, lists(), n as u32, width);
    }
    Ok(())
}

/// Sorts each list of more than [`FEW`] and at most [`MANY`] entries with a bitonic network.
#[cube(launch_unchecked)]
fn sort_in_blocks(lists: &mut HitLists, n: u32, #[comptime] width: usize) {
    let mut firsts = SharedMemory::<f64>::new(MANY);
    let mut entries = SharedMemory::<u32>::new(MANY);
    for turn in 0..LISTS {
        let list = CUBE_POS as u32 * LISTS + turn;
        if list < n {
            let first = lists.offsets[list as usize];
            let len = lists.offsets[(list + 1) as usize] - first;
            // The same for all threads of the block, which meet at barriers.
            if len > FEW && len <= comptime!(MANY as u32) {
                sort_in_block(lists, &mut firsts, &mut entries, first, len, width);
            }
        }
    }
}

/// Sorts a list by a block.
#[cube]
fn sort_in_block(
    lists: &mut HitLists,
    firsts: &mut SharedMemory<f64>,
    entries: &mut SharedMemory<u32>,
    first: u32,
    len: u32,
    #[comptime] width: usize,
) {
    // The length of the network, of which the places behind the list count as its last entries.
    let mut whole = Array::<u32>::new(1usize);
    whole[0] = 2 * FEW;
    while whole[0] < len {
        whole[0] = 2 * whole[0];
    }
    let end = whole[0];
    #[unroll]
    for own in 0..OWN {
        let at = UNIT_POS + comptime!(own as u32 * SORTERS);
        entries[at as usize] = at;
        if at < len {
            firsts[at as usize] = lists.numbers[width * (first + at) as usize];
        }
    }
    sync_cube();
    // The length of the runs to be sorted, and the distance of the entries to be compared.
    let mut state = Array::<u32>::new(2usize);
    state[0] = 2;
    while state[0] <= end {
        state[1] = state[0] / 2;
        while state[1] > 0 {
            let (run, step) = (state[0], state[1]);
            #[unroll]
            for own in 0..comptime!(OWN / 2) {
                let pair = UNIT_POS + comptime!(own as u32 * SORTERS);
                if 2 * pair < end {
                    let low = 2 * pair - pair % step;
                    let high = low + step;
                    let (a, b) = (entries[low as usize], entries[high as usize]);
                    if follows(lists, firsts, first, len, a, b, width) == (low & run == 0) {
                        entries[low as usize] = b;
                        entries[high as usize] = a;
                    }
                }
            }
            sync_cube();
            state[1] = step / 2;
        }
        state[0] = 2 * state[0];
    }
    // All entries are read before any is written.
    let mut indices = Array::<u32>::new(OWN);
    let mut numbers = Array::<f64>::new(comptime!(OWN * width));
    #[unroll]
    for own in 0..OWN {
        let at = UNIT_POS + comptime!(own as u32 * SORTERS);
        if at < len {
            let from = (first + entries[at as usize]) as usize;
            indices[own] = lists.indices[from];
            #[unroll]
            for k in 0..width {
                numbers[comptime!(own * width + k)] = lists.numbers[width * from + k];
            }
        }
    }
    sync_storage();
    sync_cube();
    #[unroll]
    for own in 0..OWN {
        let at = UNIT_POS + comptime!(own as u32 * SORTERS);
        if at < len {
            let to = (first + at) as usize;
            lists.indices[to] = indices[own];
            #[unroll]
            for k in 0..width {
                lists.numbers[width * to + k] = numbers[comptime!(own * width + k)];
            }
        }
    }
}

/// Returns `true` if entry `a` of a list comes after entry `b`.
#[cube]
#[allow(clippy::too_many_arguments)]
fn follows(
    lists: &HitLists,
    firsts: &SharedMemory<f64>,
    first: u32,
    len: u32,
    a: u32,
    b: u32,
    #[comptime] width: usize,
) -> bool {
    // Places behind the list come after all entries, in any order.
    let mut is_later = a >= len;
    if a < len && b < len {
        let (of_a, of_b) = (firsts[a as usize], firsts[b as usize]);
        is_later = of_a > of_b;
        if of_a == of_b {
            is_later = comes_before(lists, first + b, first + a, width);
        }
    }
    is_later
}

/// Sorts each of the other lists.
#[cube(launch_unchecked)]
fn sort_in_threads(lists: &mut HitLists, n: u32, #[comptime] width: usize) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let first = lists.offsets[at];
        let len = lists.offsets[at + 1] - first;
        if len <= FEW || len > comptime!(MANY as u32) {
            sort_list(lists, first, len, width);
        }
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
