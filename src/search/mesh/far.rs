//! The walk for points that are too far away for `f32`: the same tree, in `f64`.
//!
//! In: a point, and a limit. Out: blocks in which the nearest triangle may be, the nearest boxes first.
//! Cost: O(log n) as long as `f64` tells the boxes apart, up to about 1e13 sizes of the mesh; from there on all blocks come.

use crate::search::mesh::frame::{Frame, PADDING, magnitude};
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::search::mesh::wide_tree::{Block, WideTree};
use crate::simd::LANES;

/// Visits blocks that may have a triangle within a distance in the caller's unit; `visit` returns the distance from there on.
#[cold]
pub(super) fn walk_from_afar(
    tree: &WideTree,
    frame: &Frame,
    point: [f64; 3],
    within: f64,
    mut visit: impl FnMut(&Block) -> f64,
) {
    let from = frame.place(point);
    // Corners are rounded by less than the padding, and distances relative to what they are.
    let error = PADDING + 64.0 * f64::EPSILON * magnitude(&from);
    let reach = |within: f64| frame.length(within) + error;
    let mut limit = reach(within);
    let mut left = vec![(0.0, tree.root)];
    while let Some((distance, at)) = left.pop() {
        if distance > limit {
            continue;
        }
        if at & BLOCK != 0 {
            limit = reach(visit(&tree.blocks[(at ^ BLOCK) as usize]));
            continue;
        }
        let (node, first) = (&tree.nodes[at as usize], left.len());
        left.extend((0..LANES).map(|lane| (distance_to(node, lane, &from), node.child[lane])));
        // The farthest lies deepest; that to no child is infinite.
        left[first..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    }
}

/// The distance to a child's box; infinite if there is none.
fn distance_to(node: &Node, lane: usize, from: &[f64; 3]) -> f64 {
    let gap = |k: usize| {
        let (lo, hi) = (f64::from(node.bounds[k][lane]), f64::from(node.bounds[k + 3][lane]));
        (lo - from[k]).max(from[k] - hi).max(0.0)
    };
    let [x, y, z] = [gap(0), gap(1), gap(2)];
    // Squares of what is far away may overflow.
    x.hypot(y).hypot(z)
}
