//! Bottom-up reduction: a value for each node, from the leaves up.
//!
//! Input: a function for the value of a leaf, and one that joins the values of two children. Output: one value per
//! node, in the order of the nodes.
//! Cost: O(n), parallel over subtrees. Children come after their parents, so a pass from the last node to the first
//! reaches them first within a small subtree.

use crate::bvh::Bvh;
use crate::geometry::Scalar;
use crate::memory::filled;
use crate::parallel::join as both;

/// Subtrees with fewer nodes than this are reduced by one thread.
const SEQUENTIAL: usize = 512;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Computes the value of each node: `leaf` for leaves, `join` for inner nodes from the values of their left and
    /// right child.
    pub(crate) fn reduce<T: Clone + Default + Send>(
        &self,
        leaf: impl Fn(usize) -> T + Sync,
        join: impl Fn(usize, [&T; 2]) -> T + Sync,
    ) -> Vec<T> {
        let mut values = filled(self.end(), T::default());
        self.reduce_into(&mut values, leaf, join);
        values
    }

    /// Same as [`reduce`](Self::reduce), but overwrites `values`, which has one entry per node.
    pub(crate) fn reduce_into<T: Send>(
        &self,
        values: &mut [T],
        leaf: impl Fn(usize) -> T + Sync,
        join: impl Fn(usize, [&T; 2]) -> T + Sync,
    ) {
        if !values.is_empty() {
            self.reduce_below(0, values, &leaf, &join);
        }
    }

    /// Computes the values of a subtree, whose nodes start at `base`.
    fn reduce_below<T: Send>(
        &self,
        base: usize,
        values: &mut [T],
        leaf: &(impl Fn(usize) -> T + Sync),
        join: &(impl Fn(usize, [&T; 2]) -> T + Sync),
    ) {
        if values.len() >= SEQUENTIAL {
            let right = self.node(base + 1).rope as usize;
            let (below_left, below_right) = values[1..].split_at_mut(right - base - 1);
            both(&mut || self.reduce_below(base + 1, below_left, leaf, join), &mut || {
                self.reduce_below(right, below_right, leaf, join);
            });
            values[0] = join(base, [&values[1], &values[right - base]]);
            return;
        }
        for at in (0..values.len()).rev() {
            let node = base + at;
            values[at] = if self.is_leaf(node) {
                leaf(node)
            } else {
                let right = self.node(node + 1).rope as usize - base;
                join(node, [&values[at + 1], &values[right]])
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_nodes() {
        for n in [0, 1, 40, 1000, 50_000] {
            let points: Vec<[f32; 1]> = (0..n).map(|i: u16| [f32::from(i.wrapping_mul(37) % 9973)]).collect();
            let tree = Bvh::build(&points).unwrap();
            let counts = tree.reduce(|leaf| tree.span(leaf).len(), |_, [left, right]| left + right);
            assert!(counts.into_iter().eq((0..tree.end()).map(|at| tree.span(at).len())));
        }
    }
}
