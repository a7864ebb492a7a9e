//! Which leaves there are, and how they join: from the sorted codes alone.
//!
//! Between neighbours along the curve is a *split*. Its `delta` is the highest bit in which their codes differ (for equal
//! codes, in which the codes of finer grids differ (`duplicates`), and in the end their positions). The inner nodes of the
//! tree are the splits, larger deltas above smaller ones. Subtrees of up to [`LEAF`] primitives become leaves.
//! Source: Apetrei 2014, section 3: each subtree finds its parent as that of the two splits beside it whose delta is smaller, and
//! the second child to arrive there goes on.

use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};

use crate::memory::renew;
use crate::parallel::{Part, for_parts, for_tasks};

/// The largest number of primitives in a leaf. 16, 24 and 32 were measured (benches/README.md).
pub const LEAF: usize = 32;

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

#[derive(Default)]
pub(super) struct Hierarchy {
    /// The first primitive of each leaf, and the number of primitives.
    starts: Vec<u32>,
    /// The splits of the two children of each split between leaves, side by side (split `s` is before leaf `s`).
    children: Vec<AtomicU32>,
    root: u32,
    memory: Memory,
}

/// What only finding the hierarchy needs.
#[derive(Default)]
struct Memory {
    /// Where the leaves of each task begin, and which.
    bounds: Vec<usize>,
    lists: Vec<Vec<u32>>,
    /// Delta of the split before each leaf.
    deltas: Vec<u8>,
    /// The far end of the child of a split that came first. The other child learns it by the same exchange.
    far: Vec<AtomicU32>,
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
    /// The hierarchy over primitives with these splits between them, in memory that another was in. If it `keeps` that for the next,
    /// there is room for somewhat more leaves.
    pub fn of(self, deltas: &[u8], keeps: bool) -> Self {
        let Self { mut starts, mut children, mut memory, .. } = self;
        let spare = |leaves: usize| if keeps { leaves / 4 } else { 0 };
        memory.list_leaves(deltas, &mut starts, &spare);
        let leaves = starts.len() - 1;
        renew(&mut memory.deltas, starts.len(), spare(leaves));
        for_parts(starts.len(), TASK, (&mut memory.deltas[..], &starts[..]), &|(own, starts)| {
            own.iter_mut().zip(starts).for_each(|(own, &start)| *own = delta_at(deltas, start as usize));
        });
        // Only the second child to come reads what is there, after an exchange that orders it behind the first one's store.
        renew(&mut children, 2 * leaves, 2 * spare(leaves));
        renew(&mut memory.far, leaves, spare(leaves));
        for_parts(leaves, TASK, &mut memory.far[..], &|far| far.iter_mut().for_each(|end| *end.get_mut() = NONE));
        let root = AtomicU32::new(NONE);

        let Memory { deltas, far, .. } = &memory;
        let ascend = |leaf: usize| {
            let (mut first, mut last, mut split) = (leaf, leaf, NONE);
            while (first, last) != (0, leaves - 1) {
                let is_right = deltas[first] < deltas[last + 1];
                let parent = if is_right { first } else { last + 1 };
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
        if !keeps {
            memory = Memory::default();
        }
        Self { starts, children, root: root.into_inner(), memory }
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

impl Memory {
    /// The first primitive of each leaf, and the number of primitives at the end.
    fn list_leaves(&mut self, deltas: &[u8], starts: &mut Vec<u32>, spare: &(dyn Fn(usize) -> usize + Sync)) {
        let n = deltas.len();
        let tasks = n.div_ceil(TASK);
        let Self { bounds, lists, .. } = self;
        bounds.resize(tasks + 1, 0);
        for_parts(tasks + 1, 16, (0..tasks + 1, &mut bounds[..]), &|(range, bounds)| {
            bounds.iter_mut().zip(range).for_each(|(bound, task)| *bound = next_start(deltas, (task * TASK).min(n)));
        });
        lists.resize_with(tasks, Vec::new);
        for_parts(tasks, 1, (0..tasks, &mut lists[..]), &|(task, lists)| {
            let (mut start, end) = (bounds[task.start], bounds[task.end]);
            for list in lists {
                list.clear();
                while start < end {
                    list.push(start as u32);
                    start = leaf_end(deltas, start);
                }
                list.reserve(spare(list.len()));
            }
        });
        let leaves = lists.iter().map(Vec::len).sum::<usize>();
        starts.clear();
        renew(starts, leaves + 1, spare(leaves));
        let mut rest = &mut starts[..];
        for list in lists {
            rest.take_front(list.len()).copy_from_slice(list);
        }
        rest.fill(n as u32);
    }
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
