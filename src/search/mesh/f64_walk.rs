//! The walk for points that are too far away for `f32`, through the same tree in `f64`.
//!
//! Input: a point and a limit. Output: the blocks in which the nearest triangle may be, nearest boxes first.
//! Cost: O(log n) as long as `f64` can distinguish the boxes, up to a distance of about 1e13 mesh sizes. Beyond, all
//! blocks are visited.

use crate::search::mesh::frame::{Frame, PADDING, magnitude};
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::search::mesh::wide_tree::{TriangleBlock, WideTree};
use crate::simd::LANES;

/// Visits blocks that may have a triangle within a distance in the caller's unit. `visit` returns the new distance.
#[cold]
pub(super) fn walk_f64(
    tree: &WideTree,
    frame: &Frame,
    point: [f64; 3],
    within: f64,
    mut visit: impl FnMut(&TriangleBlock) -> f64,
) {
    let from = frame.place(point);
    // Corners are rounded by less than the padding. The errors of distances are relative to their values.
    let error = PADDING + 64.0 * f64::EPSILON * magnitude(&from);
    let limit_of = |within: f64| frame.length(within) + error;
    let mut limit = limit_of(within);
    let mut stack = vec![(0.0, tree.root)];
    while let Some((distance, at)) = stack.pop() {
        if distance > limit {
            continue;
        }
        if at & BLOCK != 0 {
            limit = limit_of(visit(&tree.blocks[(at ^ BLOCK) as usize]));
            continue;
        }
        let (node, first) = (&tree.nodes[at as usize], stack.len());
        stack.extend((0..LANES).map(|lane| (distance_to(node, lane, &from), node.child[lane])));
        // The farthest child lies deepest in the stack. The distance to a missing child is infinite.
        stack[first..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    }
}

/// The distance to the box of a child; infinite if the child is missing.
fn distance_to(node: &Node, lane: usize, from: &[f64; 3]) -> f64 {
    let gap = |k: usize| {
        let (lo, hi) = (f64::from(node.bounds[k][lane]), f64::from(node.bounds[k + 3][lane]));
        (lo - from[k]).max(from[k] - hi).max(0.0)
    };
    let [x, y, z] = [gap(0), gap(1), gap(2)];
    // Squares of large distances may overflow.
    x.hypot(y).hypot(z)
}
