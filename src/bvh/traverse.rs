//! The stackless walk along the ropes.
//!
//! Input: a range of nodes, and a visitor that decides whether to enter each node. A walk enters a node or follows
//! its rope, so its state is one index, and it needs no stack. The *half traversal* is the same walk from a leaf's
//! own rope on, so that every pair of leaves meets once. A *bottom-up* search walks the subtrees beside the path to a
//! leaf, deepest first.
//! Cost: O(depth) nodes per searched place. Source: Prokopenko and Lebrun-Grandié 2024, sections 3 and 4.

use std::ops::Range;

use crate::bvh::{Bvh, DEPTH, Node};
use crate::geometry::Scalar;

/// The next step of a walk.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Step {
    /// Continue with the next node: the first child, if the node has children.
    Enter,
    /// Continue after the subtree of the node.
    Skip,
    /// End the walk.
    Stop,
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `visit` with the nodes of a range in depth-first order, except those below nodes that it skips.
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

    /// The nodes after a leaf, which its half traversal covers.
    #[inline(always)]
    pub(crate) fn nodes_after(&self, leaf: usize) -> Range<usize> {
        self.node(leaf).rope as usize..self.end()
    }
}

/// A mask of the lowest `len` bits, for `len` from 1 to 32.
#[inline(always)]
pub(crate) fn low_bits(len: usize) -> u32 {
    u32::MAX >> (u32::BITS - len as u32).min(u32::BITS - 1)
}

/// The positions of the set bits, ascending.
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

/// The sibling subtrees along the path down to a leaf, one per level.
pub(crate) struct DeferredSiblings {
    deferred: [u32; DEPTH],
    depth: usize,
}

impl DeferredSiblings {
    pub fn new() -> Self {
        Self { deferred: [0; DEPTH], depth: 0 }
    }

    /// Stores `deferred` for later and returns `next`.
    #[inline(always)]
    pub fn defer(&mut self, deferred: usize, next: usize) -> usize {
        self.deferred[self.depth] = deferred as u32;
        self.depth += 1;
        next
    }

    /// Descends from the root to a leaf, and defers the siblings on the way.
    #[inline(always)]
    pub fn descend<S: Scalar, const D: usize>(&mut self, tree: &Bvh<S, D>, leaf: usize) {
        let mut at = 0;
        while !tree.is_leaf(at) {
            let (left, right) = (at + 1, tree.node(at + 1).rope as usize);
            at = if leaf < right { self.defer(right, left) } else { self.defer(left, right) };
        }
    }

    /// Returns the nodes of each deferred subtree, from the deepest up.
    #[inline(always)]
    pub fn subtrees<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> impl Iterator<Item = Range<usize>> {
        self.deferred[..self.depth]
            .iter()
            .rev()
            .map(|&sibling| sibling as usize..tree.node(sibling as usize).rope as usize)
    }
}
