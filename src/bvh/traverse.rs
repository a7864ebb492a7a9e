//! The walk along the ropes.
//!
//! In: a range of nodes, and a visitor that says of each whether to enter it. A walk opens a node or follows its rope: its whole
//! state is one index, and it needs no stack. The *half traversal* is the same walk begun at a leaf's own rope, so that
//! every pair of leaves meets once. A *bottom-up* search walks the subtrees beside the path to a leaf, the nearest first.
//! Cost: O(depth) nodes for each place that is looked for. Source: Prokopenko and Lebrun-Grandié 2024, sections 3 and 4.

use std::ops::Range;

use crate::bvh::{Bvh, DEPTH, Node};
use crate::geometry::Scalar;

/// Where a walk goes on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Step {
    /// With the next node, which is the first below if there is any below.
    Enter,
    /// With what follows everything below.
    Skip,
    /// Nowhere.
    Stop,
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `visit` with the nodes of a range, in depth-first order, but for those below nodes that it skips.
    #[inline(always)]
    pub(crate) fn walk(&self, nodes: Range<usize>, mut visit: impl FnMut(usize, &Node<S, D>) -> Step) {
        let mut at = nodes.start;
        while at < nodes.end {
            let node = self.node(at);
            at = match visit(at, node) {
                Step::Enter => at + 1,
                Step::Skip => node.rope as usize,
                Step::Stop => return,
            };
        }
    }

    /// The nodes behind a leaf, where its half traversal leads.
    #[inline(always)]
    pub(crate) fn behind(&self, leaf: usize) -> Range<usize> {
        self.node(leaf).rope as usize..self.end()
    }
}

/// A mask of the lowest `len` bits, 1 to 32.
#[inline(always)]
pub(crate) fn low_bits(len: usize) -> u32 {
    u32::MAX >> (u32::BITS - len as u32).min(u32::BITS - 1)
}

/// The positions of the bits that are set, ascending.
#[inline(always)]
pub(crate) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}

/// The subtrees beside the path down to a leaf, one per level.
pub(crate) struct DeferredSiblings {
    deferred: [u32; DEPTH],
    depth: usize,
}

impl DeferredSiblings {
    pub fn new() -> Self {
        Self { deferred: [0; DEPTH], depth: 0 }
    }

    /// Remembers the one and returns the other.
    #[inline(always)]
    pub fn defer(&mut self, deferred: usize, next: usize) -> usize {
        self.deferred[self.depth] = deferred as u32;
        self.depth += 1;
        next
    }

    /// Goes down to a leaf.
    #[inline(always)]
    pub fn descend<S: Scalar, const D: usize>(&mut self, tree: &Bvh<S, D>, leaf: usize) {
        let mut at = 0;
        while !tree.is_leaf(at) {
            let (left, right) = (at + 1, tree.node(at + 1).rope as usize);
            at = if leaf < right { self.defer(right, left) } else { self.defer(left, right) };
        }
    }

    /// The nodes of each subtree, from the deepest up.
    #[inline(always)]
    pub fn upwards<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> impl Iterator<Item = Range<usize>> {
        self.deferred[..self.depth]
            .iter()
            .rev()
            .map(|&sibling| sibling as usize..tree.node(sibling as usize).rope as usize)
    }
}
