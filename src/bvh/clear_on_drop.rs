//! A guard that empties a tree if a change is not finished.

use crate::bvh::Bvh;
use crate::geometry::Scalar;

/// A tree during a change. If the change does not finish, the tree is emptied, so that it is never inconsistent.
pub(super) struct ClearOnDrop<'a, S: Scalar, const D: usize> {
    tree: &'a mut Bvh<S, D>,
    is_finished: bool,
}

impl<'a, S: Scalar, const D: usize> ClearOnDrop<'a, S, D> {
    pub fn new(tree: &'a mut Bvh<S, D>) -> Self {
        Self { tree, is_finished: false }
    }

    pub fn tree(&mut self) -> &mut Bvh<S, D> {
        self.tree
    }

    pub fn finish(mut self) {
        self.is_finished = true;
    }
}

impl<S: Scalar, const D: usize> Drop for ClearOnDrop<'_, S, D> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.tree.clear();
        }
    }
}
