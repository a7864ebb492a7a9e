//! Nodes in depth-first order, with ropes set on the way down and boxes on the way up.
//!
//! Input: the hierarchy over leaves. Output: the box of each node, its first primitive, and its *rope*: the first
//! node after its subtree, at which a walk continues that skips the node.
//! Cost: one pass, parallel over subtrees. Source: Prokopenko and Lebrun-Grandié 2024, section 3.

use crate::bvh::hierarchy::{Hierarchy, Subtree};
use crate::bvh::{Bvh, Node};
use crate::geometry::{Aabb, Scalar};
use crate::parallel::join;

/// Subtrees with fewer leaves than this are filled by one thread.
const SEQUENTIAL: usize = 256;

/// Fills the nodes of a subtree, the first of which has index `base`, and returns its box.
pub(super) fn fill<S: Scalar, const D: usize>(
    bvh: &Bvh<S, D>,
    hierarchy: &Hierarchy,
    nodes: &mut [Node<S, D>],
    base: usize,
    subtree: Subtree,
) -> Aabb<S, D> {
    let rope = (base + nodes.len()) as u32;
    let span = hierarchy.span(&subtree);
    let first = span.start as u32;
    let bounds = match hierarchy.children(&subtree) {
        None => span.fold(Aabb::EMPTY, |bounds, position| bounds.union(&bvh.item(position))),
        Some([left, right]) => {
            let (below_left, below_right) = nodes[1..].split_at_mut(left.nodes());
            let split = base + 1 + left.nodes();
            let [mut left_bounds, mut right_bounds] = [Aabb::EMPTY; 2];
            let mut fill_left = || left_bounds = fill(bvh, hierarchy, &mut *below_left, base + 1, left);
            let mut fill_right = || right_bounds = fill(bvh, hierarchy, &mut *below_right, split, right);
            if subtree.leaves() < SEQUENTIAL {
                fill_left();
                fill_right();
            } else {
                join(&mut fill_left, &mut fill_right);
            }
            left_bounds.union(&right_bounds)
        }
    };
    nodes[0] = Node { bounds, rope, first };
    bounds
}
