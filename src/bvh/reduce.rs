//! A value for each node, from the leaves up.
//!
//! In: the value of a leaf, and what two children make of theirs. Out: one value a node, in the order of the nodes.
//! Children come after their parents, so one pass from the last node to the first meets them before. Cost: O(n), one thread.

use crate::bvh::Bvh;
use crate::geometry::Scalar;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// The value of each node: `leaf` gives that of a leaf, the last leaf first; `join` that of an inner node, from those of its
    /// left and its right child.
    pub(crate) fn reduce<T: Clone + Default>(
        &self,
        mut leaf: impl FnMut(usize) -> T,
        mut join: impl FnMut(usize, [&T; 2]) -> T,
    ) -> Vec<T> {
        let mut values = vec![T::default(); self.end()];
        for at in (0..self.end()).rev() {
            values[at] = if self.is_leaf(at) {
                leaf(at)
            } else {
                let (left, right) = (at + 1, self.node(at + 1).rope as usize);
                join(at, [&values[left], &values[right]])
            };
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_nodes() {
        for n in [0, 1, 40, 1000] {
            let points: Vec<[f32; 1]> = (0..n).map(|i: u16| [f32::from(i * 37 % 997)]).collect();
            let tree = Bvh::build(&points).unwrap();
            let counts = tree.reduce(|leaf| tree.span(leaf).len(), |_, [left, right]| left + right);
            assert!(counts.into_iter().eq((0..tree.end()).map(|at| tree.span(at).len())));
        }
    }
}
