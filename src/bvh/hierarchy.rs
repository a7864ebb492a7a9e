//! The leaves and inner nodes of the tree, computed from the sorted codes alone.
//!
//! A *split* lies between two neighbours along the curve. Its `delta` is the highest bit in which their codes differ.
//! For equal codes it is the highest bit in which their codes in finer grids differ (`duplicates`), and finally their
//! positions. The inner nodes of the tree are the splits, with larger deltas above smaller ones. Subtrees of up to
//! [`LEAF`] primitives become leaves.
//! Source: Apetrei 2014, section 3. The parent of a subtree is the adjacent split with the smaller delta. The second
//! child to reach a parent continues from there.

use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};

use crate::memory::renew;
use crate::parallel::{Part, for_parts, for_tasks};

/// The maximum number of primitives in a leaf. 16, 24 and 32 were measured (benches/LOG.md).
pub const LEAF: usize = 32;

/// Marks a node that is not known yet.
const NONE: u32 = u32::MAX;
/// The delta beyond either end.
pub(super) const OUTSIDE: u8 = u8::MAX;
/// Splits between codes that are equal in all grids have deltas below this, one per bit of a position.
const POSITIONS: u8 = 32;
/// The first delta of splits among duplicate codes, separated by their own finer grid, and of splits among duplicates
/// in that grid. Codes that are equal in both grids are split by position.
pub(super) const FINER: [u8; 2] = [POSITIONS + CODE, POSITIONS];
/// Splits between equal codes have deltas below this.
pub(super) const EQUAL: u8 = POSITIONS + 2 * CODE;
/// Bits of a code.
const CODE: u8 = 63;
/// The maximum depth of a tree. Delta decreases with each step down.
pub(crate) const DEPTH: usize = (EQUAL + CODE) as usize + 1;
/// Primitives per parallel task.
const TASK: usize = 1 << 15;

#[derive(Default)]
pub(super) struct Hierarchy {
    /// The first primitive of each leaf, followed by the number of primitives.
    starts: Vec<u32>,
    /// The splits of the two children of each split between leaves, side by side. Split `s` lies before leaf `s`.
    children: Vec<AtomicU32>,
    root: u32,
    memory: HierarchyScratch,
}

/// Scratch memory for the computation of a hierarchy.
#[derive(Default)]
struct HierarchyScratch {
    /// The first leaf start at or after the beginning of each task.
    bounds: Vec<usize>,
    /// The leaf starts of each task.
    lists: Vec<Vec<u32>>,
    /// The delta of the split before each leaf.
    deltas: Vec<u8>,
    /// The far end of the first child to reach a split. The second child reads it in the same exchange.
    far: Vec<AtomicU32>,
}

/// A subtree: a range of leaves, and the split at its top (unspecified for a single leaf).
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
    /// Computes the hierarchy over primitives with the given splits between them. Reuses the memory of `self`.
    ///
    /// If `keep_memory` is set, the memory is kept for the next build, with room for a quarter more leaves.
    pub fn of(self, deltas: &[u8], keep_memory: bool) -> Self {
        let Self { mut starts, mut children, mut memory, .. } = self;
        let spare = |leaves: usize| if keep_memory { leaves / 4 } else { 0 };
        memory.list_leaves(deltas, &mut starts, &spare);
        let leaves = starts.len() - 1;
        renew(&mut memory.deltas, starts.len(), spare(leaves));
        for_parts(starts.len(), TASK, (&mut memory.deltas[..], &starts[..]), &|(own, starts)| {
            own.iter_mut().zip(starts).for_each(|(own, &start)| *own = delta_at(deltas, start as usize));
        });
        // Entries are read only after the second child has arrived, and its exchange orders them after the first
        // child's store.
        renew(&mut children, 2 * leaves, 2 * spare(leaves));
        renew(&mut memory.far, leaves, spare(leaves));
        for_parts(leaves, TASK, &mut memory.far[..], &|far| far.iter_mut().for_each(|end| *end.get_mut() = NONE));
        let root = AtomicU32::new(NONE);

        let HierarchyScratch { deltas, far, .. } = &memory;
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
        if !keep_memory {
            memory = HierarchyScratch::default();
        }
        Self { starts, children, root: root.into_inner(), memory }
    }

    pub fn leaves(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn nodes(&self) -> usize {
        (2 * self.leaves()).saturating_sub(1)
    }

    /// Returns the whole tree as a subtree; it must have at least one leaf.
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

    /// Returns the range of the primitives of a subtree in tree order.
    pub fn span(&self, of: &Subtree) -> std::ops::Range<usize> {
        self.starts[of.first as usize] as usize..self.starts[of.last as usize + 1] as usize
    }
}

/// The delta of the split before a position, between primitives with the given codes.
#[inline(always)]
pub(super) fn delta(before: u64, code: u64, position: usize) -> u8 {
    let differing = before ^ code;
    if differing != 0 { EQUAL + differing.ilog2() as u8 } else { ((position - 1) ^ position).ilog2() as u8 }
}

/// The delta of the split before a position; `OUTSIDE` at the end.
#[inline(always)]
fn delta_at(deltas: &[u8], position: usize) -> u8 {
    deltas.get(position).copied().unwrap_or(OUTSIDE)
}

impl HierarchyScratch {
    /// Computes the first primitive of each leaf, followed by the number of primitives.
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

/// The end of the leaf that starts at `start`: the largest subtree of at most `LEAF` primitives that starts there.
fn leaf_end(deltas: &[u8], start: usize) -> usize {
    let before = delta_at(deltas, start);
    let (mut end, mut inside) = (start + 1, 0);
    for split in start + 1..=(start + LEAF).min(deltas.len()) {
        // A range is a subtree if the deltas at both ends exceed all deltas inside.
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

/// The first leaf start at or after `from`: a split whose subtree has more than `LEAF` primitives.
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
