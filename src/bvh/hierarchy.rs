//! Which leaves there are, and how they join: from the sorted codes alone.
//!
//! Between neighbours along the curve is a *split*. Its `delta` is the highest bit in which their codes differ (for equal
//! codes, in which the codes of finer grids differ (`duplicates`), and in the end their positions). The inner nodes of the
//! tree are the splits, larger deltas above smaller ones. Subtrees of up to [`LEAF`] primitives become leaves.
//! Source: Apetrei 2014, section 3: each subtree finds its parent as that of the two splits beside it whose delta is smaller, and
//! the second child to arrive there goes on.

use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};

use crate::bvh::LEAF;
use crate::parallel::{atomics, for_tasks, list_tasks, map};

/// No node yet.
const NONE: u32 = u32::MAX;
/// Delta beyond either end.
pub(super) const OUTSIDE: u8 = u8::MAX;
/// Splits between codes that are equal in all grids have the deltas below this, one for each bit of a position.
const POSITIONS: u8 = 32;
/// The first delta of splits among duplicate codes, by the bits of their own grid; then among duplicates in that. What is
/// equal even there is split by positions.
pub(super) const FINER: [u8; 2] = [POSITIONS + CODE, POSITIONS];
/// Splits between equal codes have deltas below this.
pub(super) const EQUAL: u8 = POSITIONS + 2 * CODE;
/// Bits of a code.
const CODE: u8 = 63;
/// No tree is deeper: each step down lowers delta.
pub(crate) const DEPTH: usize = (EQUAL + CODE) as usize + 1;
/// Primitives per parallel task.
const TASK: usize = 1 << 15;

pub(super) struct Hierarchy {
    /// The first primitive of each leaf, and the number of primitives.
    starts: Vec<u32>,
    /// The splits of the two children of each split between leaves, side by side (split `s` is before leaf `s`).
    children: Vec<AtomicU32>,
    root: u32,
}

/// A subtree: a range of leaves, and the split at its top (of no meaning for a single leaf).
#[derive(Clone, Copy)]
pub(super) struct Subtree {
    first: u32,
    last: u32,
    split: u32,
}

impl Subtree {
    pub fn leaves(&self) -> usize {
        (self.last - self.first) as usize + 1
    }

    pub fn nodes(&self) -> usize {
        2 * self.leaves() - 1
    }
}

impl Hierarchy {
    pub fn of(deltas: &[u8]) -> Self {
        let starts = leaf_starts(deltas);
        let leaves = starts.len() - 1;
        let deltas = map(starts.len(), TASK, &|leaf| delta_at(deltas, starts[leaf] as usize));
        let children = atomics(2 * leaves, NONE);
        let root = AtomicU32::new(NONE);

        // The far end of the child of a split that came first. The other child learns it by the same exchange.
        let far = atomics(leaves, NONE);
        let ascend = |leaf: usize| {
            let (mut first, mut last, mut split) = (leaf, leaf, NONE);
            while (first, last) != (0, leaves - 1) {
                let is_right = deltas[first] < deltas[last + 1];
                let parent = if is_right { first } else { last + 1 };
                // Only the second child to come reads these, after an exchange that orders it behind this store.
                children[2 * parent + usize::from(is_right)].store(split, Relaxed);
                let own = if is_right { last } else { first };
                match far[parent].swap(own as u32, AcqRel) {
                    NONE => return,
                    end if is_right => first = end as usize,
                    end => last = end as usize,
                }
                split = parent as u32;
            }
            root.store(split, Relaxed);
        };
        for_tasks(leaves, TASK / LEAF, &|range| range.for_each(ascend));
        Self { starts, children, root: root.into_inner() }
    }

    pub fn leaves(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn nodes(&self) -> usize {
        (2 * self.leaves()).saturating_sub(1)
    }

    /// The whole tree, which must have leaves.
    pub fn root(&self) -> Subtree {
        Subtree { first: 0, last: self.leaves() as u32 - 1, split: self.root }
    }

    pub fn children(&self, of: &Subtree) -> Option<[Subtree; 2]> {
        if of.first == of.last {
            return None;
        }
        let left = 2 * of.split as usize;
        let (left, right) = (&self.children[left], &self.children[left + 1]);
        Some([
            Subtree { first: of.first, last: of.split - 1, split: left.load(Relaxed) },
            Subtree { first: of.split, last: of.last, split: right.load(Relaxed) },
        ])
    }

    /// The primitives in a subtree, as positions in tree order.
    pub fn span(&self, of: &Subtree) -> std::ops::Range<usize> {
        self.starts[of.first as usize] as usize..self.starts[of.last as usize + 1] as usize
    }
}

/// Delta of the split before a position, between primitives of these codes.
#[inline(always)]
pub(super) fn delta(before: u64, code: u64, position: usize) -> u8 {
    let differing = before ^ code;
    if differing != 0 { EQUAL + differing.ilog2() as u8 } else { ((position - 1) ^ position).ilog2() as u8 }
}

/// Delta of the split before a position, or behind the last.
#[inline(always)]
fn delta_at(deltas: &[u8], position: usize) -> u8 {
    deltas.get(position).copied().unwrap_or(OUTSIDE)
}

/// The first primitive of each leaf, and the number of primitives at the end.
fn leaf_starts(deltas: &[u8]) -> Vec<u32> {
    let n = deltas.len();
    let tasks = n.div_ceil(TASK);
    let bounds = map(tasks + 1, 16, &|task| next_start(deltas, (task * TASK).min(n)));
    let mut starts = list_tasks(tasks, 1, &|task| {
        let (mut start, end) = (bounds[task.start], bounds[task.end]);
        let mut starts = vec![];
        while start < end {
            starts.push(start as u32);
            start = leaf_end(deltas, start);
        }
        starts
    });
    starts.push(n as u32);
    starts
}

/// Where the leaf ends that starts at `start`: the largest subtree of at most `LEAF` primitives with its first primitive there.
fn leaf_end(deltas: &[u8], start: usize) -> usize {
    let before = delta_at(deltas, start);
    let (mut end, mut inside) = (start + 1, 0);
    for split in start + 1..=(start + LEAF).min(deltas.len()) {
        // A range is a subtree if the splits at both of its ends are above all splits inside.
        let delta = delta_at(deltas, split);
        if delta > inside {
            end = split;
            inside = delta;
        }
        if inside > before {
            break;
        }
    }
    end
}

/// The first start of a leaf at or behind `from`: where the subtree of the split before it has more than `LEAF` primitives.
fn next_start(deltas: &[u8], from: usize) -> usize {
    let n = deltas.len();
    let starts_leaf = |at: usize| {
        let own = delta_at(deltas, at);
        let left = (1..=LEAF).take_while(|&back| delta_at(deltas, at - back) < own).count();
        let right = (1..=LEAF).take_while(|&ahead| delta_at(deltas, at + ahead) < own).count();
        left + right + 2 > LEAF
    };
    (from..n).find(|&at| at == 0 || starts_leaf(at)).unwrap_or(n)
}
