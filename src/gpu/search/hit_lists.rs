//! Lists of hits along rays, and their sorting.
//!
//! In: lists in any order. Out: each list sorted by its first number, then by index. Each thread sorts one list. Cost:
//! O(n log n) for a list of n.
//!
//! **Launch contract.** Lists lie within the arrays: the offsets ascend, and the last one is the number of entries.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract.

use cubecl::prelude::*;

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
    let (ta, tb) = (lists.numbers[width * a as usize], lists.numbers[width * b as usize]);
    ta < tb || (ta == tb && lists.indices[a as usize] < lists.indices[b as usize])
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
