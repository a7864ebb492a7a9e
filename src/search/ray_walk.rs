//! The walk of a tree along a ray, nearer children first.
//!
//! Input: a bound on where the ray enters a box. Output: calls of a visitor with the stored primitives whose boxes the
//! ray enters before the limit, which the visitor may lower.
//! Cost: two bounds per node that is entered; a stack of one child per level.

use crate::bvh::{Bvh, DEPTH};
use crate::geometry::{Aabb, Scalar};

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `visit` with the index of each primitive whose box is entered at most at the limit, and with that bound.
    ///
    /// `enters` returns a lower bound on the parameter at which the ray enters a box, or infinity if the ray misses the
    /// box. The bound is no smaller for a box inside. The limit begins with the largest number. `visit` returns the new
    /// limit; negative infinity ends the walk.
    #[inline(always)]
    pub(crate) fn walk_along(&self, enters: impl Fn(&Aabb<S, D>) -> f64, mut visit: impl FnMut(u32, f64) -> f64) {
        if self.is_empty() {
            return;
        }
        let mut pending = [(0.0, 0u32); DEPTH];
        let mut len = 0;
        let mut limit = f64::MAX;
        let (mut at, mut enter) = (0, enters(&self.bounds()));
        loop {
            if enter <= limit {
                if !self.is_leaf(at) {
                    let right = self.node(at + 1).rope as usize;
                    let mut near = (enters(&self.node(at + 1).bounds), at + 1);
                    let mut far = (enters(&self.node(right).bounds), right);
                    if far.0 < near.0 {
                        (near, far) = (far, near);
                    }
                    if far.0 <= limit && len < DEPTH {
                        pending[len] = (far.0, far.1 as u32);
                        len += 1;
                    }
                    (enter, at) = near;
                    continue;
                }
                for position in self.span(at) {
                    let enter = enters(&self.item(position));
                    if enter <= limit {
                        limit = visit(self.order()[position], enter);
                    }
                }
            }
            if len == 0 {
                return;
            }
            len -= 1;
            (enter, at) = (pending[len].0, pending[len].1 as usize);
        }
    }
}
