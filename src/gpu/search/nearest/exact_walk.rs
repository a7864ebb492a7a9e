//! The walk of one thread with all decisions in `f64`, for the few points in doubt after a search with rounded
//! distances.
//!
//! In: a point, and a limit. Out: calls of a [`Tally`]. Copies of one point are passed to it together.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::rope_walk::RopeWalk;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2, point_at};

/// The consumer of a walk's points.
#[cube]
pub(in crate::gpu) trait Tally: Send + Sync + 'static {
    type Input: LaunchArg;
    type State: CubeType;

    /// Takes `count` points from `first` on, all at the same squared distance. They are copies, ordered by index.
    fn take(state: &Self::State, input: &Self::Input, distance2: f64, first: u32, count: u32);
}

/// Returns the point at a position.
#[cube]
pub(in crate::gpu) fn point_of<F: Float>(tree: &Tree<F>, at: u32, #[comptime] d: usize) -> Array<F> {
    point_at::<F>(&tree.axes, at, tree.stored, d)
}

/// Returns the leaf at the end of a descent to the nearer child, or to the first child if both are equally near.
#[cube]
pub(super) fn nearest_leaf<F: Float>(
    tree: &Tree<F>,
    point: &Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> u32 {
    let mut way = Array::<u32>::new(1usize);
    way[0] = 0;
    while tree.links[way[0] as usize][0] != way[0] + 1 {
        let left = way[0] + 1;
        let right = tree.links[left as usize][0];
        let of_left = min_distance2::<F>(&corners::<F>(&tree.bounds, left, d), point, &tree.sides, d, periodic);
        let of_right = min_distance2::<F>(&corners::<F>(&tree.bounds, right, d), point, &tree.sides, d, periodic);
        way[0] = select(of_left <= of_right, left, right);
    }
    way[0]
}

/// Passes all points whose rounded squared distance is at most `limit` to a [`Tally`].
#[cube]
pub(in crate::gpu) fn walk_exactly<F: Float, T: Tally>(
    state: &T::State,
    input: &T::Input,
    tree: &Tree<F>,
    point: &Array<F>,
    limit: F,
    end: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) {
    let n = tree.stored;
    let mut walk = RopeWalk::new(0u32.runtime(), end);
    while walk.goes_on() {
        let node = walk.node(&tree.links);
        let corners = corners::<F>(&tree.bounds, node.at, d);
        let near = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) <= limit;
        let mut are_copies = near;
        #[unroll]
        for k in 0..d {
            are_copies = are_copies && corners[k] == corners[d + k];
        }
        let behind = tree.links[node.rope as usize][1];
        if are_copies {
            let exact = exact_distance2::<F>(&tree.axes, node.first, n, point, &tree.exact_sides, d, periodic);
            T::take(state, input, exact, node.first, behind - node.first);
        } else if near && node.is_leaf {
            for other in node.first..behind {
                if distance2::<F>(&tree.axes, other, n, point, &tree.sides, d, periodic) <= limit {
                    let exact = exact_distance2::<F>(&tree.axes, other, n, point, &tree.exact_sides, d, periodic);
                    T::take(state, input, exact, other, 1u32.runtime());
                }
            }
        }
        walk.step(&node, near && !are_copies);
    }
}
