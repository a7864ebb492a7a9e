//! The walk along ropes, node by node.
//!
//! In: a tree, and the first node. Out: the nodes in depth-first order, without those below a skipped node.
//! The whole state is one node index. Cost: one load of a rope and a first point per node.

#![allow(missing_docs)] // The macros add undocumented expansions.

use cubecl::prelude::*;

use crate::gpu::metric::Vec2;

/// A walk of a [`TreeView`](crate::gpu::TreeView) in a kernel: the nodes in depth-first order, without those below a
/// skipped node.
#[derive(CubeType)]
pub struct RopeWalk {
    /// In an array, because one of cubecl's optimisers fails on loop variables.
    at: Array<u32>,
    end: u32,
}

/// A node of a walk.
#[derive(CubeType)]
pub struct TreeNode {
    /// The index of the node.
    pub at: u32,
    /// The next node that is not below this one.
    pub rope: u32,
    /// The position in the tree of the first point below this node.
    pub first: u32,
    /// `true` if the node has no children.
    pub is_leaf: bool,
}

#[cube]
impl RopeWalk {
    /// Creates a walk that begins at node `from` and ends before node `end`.
    pub(in crate::gpu) fn new(from: u32, end: u32) -> RopeWalk {
        let mut at = Array::<u32>::new(1usize);
        at[0] = from;
        RopeWalk { at, end }
    }

    /// Returns `true` if a node remains.
    pub fn goes_on(&self) -> bool {
        self.at[0] < self.end
    }

    /// Reads the current node of the walk from the links of the tree.
    pub(in crate::gpu) fn node(&self, links: &Vec2<u32>) -> TreeNode {
        let at = self.at[0];
        let link = links[at as usize];
        TreeNode { at, rope: link[0], first: link[1], is_leaf: link[0] == at + 1 }
    }

    /// Moves to the first child if an inner node is entered, otherwise along the rope.
    pub fn step(&mut self, node: &TreeNode, enters: bool) {
        self.at[0] = select(enters && !node.is_leaf, node.at + 1, node.rope);
    }
}
