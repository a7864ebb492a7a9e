//! The walk along ropes, node by node.
//!
//! In: a tree, and the first node. Out: the nodes in depth-first order, without those below a skipped node.
//! The whole state is one node index. Cost: one load of a rope and a first point per node.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;

/// The state of a walk.
#[derive(CubeType)]
pub(in crate::gpu) struct RopeWalk {
    /// In an array, because one of cubecl's optimisers fails on loop variables.
    at: Array<u32>,
    end: u32,
}

/// A node of a walk.
#[derive(CubeType)]
pub(in crate::gpu) struct Node {
    pub at: u32,
    /// The next node that is not below this one.
    pub rope: u32,
    /// The first point below this node.
    pub first: u32,
    pub is_leaf: bool,
}

#[cube]
impl RopeWalk {
    /// Creates a walk that begins at node `from` and ends before node `end`.
    pub fn new(from: u32, end: u32) -> RopeWalk {
        let mut at = Array::<u32>::new(1usize);
        at[0] = from;
        RopeWalk { at, end }
    }

    /// Returns `true` if a node remains.
    pub fn goes_on(&self) -> bool {
        self.at[0] < self.end
    }

    /// Reads the current node of the walk.
    pub fn node<F: Float>(&self, tree: &Tree<F>) -> Node {
        let at = self.at[0];
        let link = tree.links[at as usize];
        Node { at, rope: link[0], first: link[1], is_leaf: link[0] == at + 1 }
    }

    /// Moves to the first child if an inner node is entered, otherwise along the rope.
    pub fn step(&mut self, node: &Node, enters: bool) {
        self.at[0] = select(enters && !node.is_leaf, node.at + 1, node.rope);
    }
}
