//! The traversal of a tree from the root downwards, nearer child first.
//!
//! Input: a point or box, and a [`LeafVisitor`] that inspects leaves and provides the current limit. The farther child
//! is stored with its distance, and visited later unless it is beyond the limit by then.
//! Cost: O(k + depth) nodes for a compact point cloud. The stack holds one node per level; the search fails on a tree
//! that is too deep for it.

use std::array;
use std::ops::Range;

use crate::bvh::{Bvh, DEPTH};
use crate::geometry::{Aabb, FilteredRadius, Scalar, scale};
use crate::search::nearest::ExactHeap;
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, prefetch};

/// The number of levels that suffices for most trees. A larger stack takes longer to fill with zeros.
pub(super) const SHALLOW: usize = 64;

/// More leaves than most searches need. From then on, a search checks whether underflow hides which points are near.
const MANY_LEAVES: usize = 16;

/// The leaf visitor of a search from the root, and its limit.
pub(super) trait LeafVisitor<S: Scalar, const D: usize, const GENERAL: bool> {
    /// The squared distance, computed in `S`, beyond which no primitive is wanted.
    fn limit(&self) -> S;
    /// Returns `true` if the wanted primitives are so near, in the unit of the search, that underflow hides which
    /// ones they are.
    fn is_blurred(&self) -> bool;
    /// Inspects the primitives of a leaf.
    fn scan_leaf<I: Isa>(&mut self, isa: I, span: Range<usize>);
    /// Inspects copies of one point, in the order of their indices.
    fn scan_copies(&mut self, span: Range<usize>);
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// The factor of distances from a point or box that keeps their squares in the range of `S`.
    #[inline(always)]
    pub(super) fn scale_for_cloud(&self, of: &Aabb<S, D>) -> f64 {
        let whole = self.bounds();
        if S::IS_F32 && scale::has_differences(&whole.union(of)) {
            FilteredRadius::<S, D>::unit(scale::extent(&whole), self.space(), scale::MIN_EXTENT_EXPONENT)
        } else {
            1.0
        }
    }

    /// Same as [`scale_for_cloud`](Self::scale_for_cloud), for a search whose neighbours may all be much nearer than
    /// the extent of the point cloud. Uses the farthest distance to a near node that holds more primitives than
    /// requested, or the radius.
    pub(super) fn scale_for_neighborhood(&self, of: &Aabb<S, D>, best: &ExactHeap) -> f64 {
        if !S::IS_F32 || !scale::has_differences(&self.bounds().union(of)) {
            return 1.0;
        }
        let wide = |x: S| Into::<f64>::into(x);
        let sides = |node: &Aabb<S, D>, side: fn(f64, f64) -> f64| -> [f64; D] {
            array::from_fn(|k| side(wide(of.lo[k]) - wide(node.hi[k]), wide(node.lo[k]) - wide(of.hi[k])))
        };
        let distance2 = |at: usize| {
            let gaps = sides(&self.node(at).bounds, |below, above| f64::max(below, above).max(0.0));
            gaps.iter().map(|gap| gap * gap).sum::<f64>()
        };
        let reach_of = |at: usize| {
            let farthest = sides(&self.node(at).bounds, |below, above| -f64::min(below, above));
            farthest.into_iter().fold(0.0, f64::max)
        };
        let (mut at, mut reach) = (0, reach_of(0));
        while !self.is_leaf(at) {
            let [left, right] = [at + 1, self.node(at + 1).rope as usize];
            let nearer = if distance2(left) <= distance2(right) { left } else { right };
            // More than `k`, because one may be excluded.
            if self.span(nearer).len() <= best.k() {
                break;
            }
            // Copies of the query give no information about the distances of other points.
            let next = reach_of(nearer);
            if next == 0.0 {
                break;
            }
            (at, reach) = (nearer, next);
        }
        // Without a radius the limit is infinite. If no neighbours are wanted, it is negative.
        let radius = best.limit().max(0.0).sqrt();
        let length = if radius > 0.0 { reach.min(radius) } else { reach };
        if length > 0.0 {
            FilteredRadius::<S, D>::unit(length, self.space(), scale::MIN_EXPONENT)
        } else {
            self.scale_for_cloud(of)
        }
    }

    /// Visits the leaves within the limit of `visitor`, nearer child first. Returns `false` if the tree is too deep
    /// for `STACK`. A `STACK` that does not suffice for all trees also makes it return `false` if underflow hides
    /// which points are near.
    #[inline(always)]
    pub(super) fn search_downwards<I: Isa, const GENERAL: bool, const STACK: usize>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        of: &Aabb<S, D>,
        visitor: &mut impl LeafVisitor<S, D, GENERAL>,
    ) -> bool {
        let mut deferred = [(S::ZERO, 0u32); STACK];
        let (mut depth, mut leaves) = (0, 0);
        let (mut at, mut distance2) = (0, S::ZERO);
        loop {
            let mut node = self.node(at);
            while node.rope as usize != at + 1 {
                let left = self.node(at + 1);
                let right = self.node(left.rope as usize);
                // The nodes that one of the next two steps needs.
                prefetch(self.node(left.rope as usize + 1));
                prefetch(self.node(self.node(at + 2).rope as usize));
                let to_left = test.min_distance2(of, &left.bounds);
                let to_right = test.min_distance2(of, &right.bounds);
                if to_left == to_right && self.is_degenerate(at) {
                    break;
                }
                if depth == STACK {
                    return false;
                }
                let is_left = to_left <= to_right;
                if is_left {
                    deferred[depth] = (to_right, left.rope);
                    distance2 = to_left;
                    at += 1;
                    node = left;
                } else {
                    deferred[depth] = (to_left, at as u32 + 1);
                    distance2 = to_right;
                    at = left.rope as usize;
                    node = right;
                }
                depth += 1;
                if distance2 > visitor.limit() {
                    break;
                }
            }
            if distance2 <= visitor.limit() {
                leaves += 1;
                if STACK < DEPTH && leaves > MANY_LEAVES && visitor.is_blurred() {
                    return false;
                }
                if depth > 0 {
                    // This node is likely to be the next one.
                    let first = self.node(deferred[depth - 1].1 as usize).first as usize;
                    self.corners().0.iter().for_each(|axis| prefetch(&axis[first]));
                }
                if self.is_leaf(at) {
                    visitor.scan_leaf(isa, self.span(at))
                } else {
                    visitor.scan_copies(self.span(at))
                }
            }
            loop {
                if depth == 0 {
                    return true;
                }
                depth -= 1;
                let node;
                (distance2, node) = deferred[depth];
                if distance2 <= visitor.limit() {
                    at = node as usize;
                    break;
                }
            }
        }
    }
}
