//! The search from the root downwards, for the nearest of a point or box that need not be stored.
//!
//! Input: a point or box. Output: its nearest neighbours. The tree is searched from the root, nearer child first
//! (`nearer_first`). Distances are rounded at first (`approx_heap`). Those of the few remaining candidates are
//! computed again in `f64`, which decides.
//! Cost: O(k + depth) nodes for a compact point cloud.

use std::ops::Range;

use crate::bvh::traverse::bits;
use crate::bvh::{Bvh, DEPTH, LEAF};
use crate::geometry::{Aabb, FilteredRadius, Scalar, scale};
use crate::memory::append;
use crate::precompiled::precompiled;
use crate::search::nearest::approx_heap::ApproxHeap;
use crate::search::nearest::closest::Closest;
use crate::search::nearest::exact_heap::ExactHeap;
use crate::search::nearest::nearer_first::{LeafVisitor, SHALLOW};
use crate::search::nearest::neighbor::Neighbor;
use crate::search::nearest::of_box;
use crate::search::nearest::options::Nearest;
use crate::search::radius_test::RadiusTest;
use crate::simd::{FALLBACK, Isa, dispatch};

precompiled! {
    /// Appends the nearest neighbours of a point or box, nearest first, ties by index.
    pub(super) fn search = search_in(
        tree: same_ref &Bvh<S, D>, of: same_ref &Aabb<S, D>, options: keep &Nearest, excluded: keep Option<u32>,
        found: keep &mut Vec<Neighbor>
    ) -> ()
}

pub(crate) fn search_in<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    of: &Aabb<S, D>,
    options: &Nearest,
    excluded: Option<u32>,
    found: &mut Vec<Neighbor>,
) {
    // A NaN would compare false with everything, and so be near to everything.
    if tree.is_empty() || !of.is_finite() {
        return;
    }
    if of_box::is_needed(tree, of) {
        let mut best = ExactHeap::take_kept();
        best.reset(options);
        of_box::search_of_box(tree, of, excluded, &mut |_, to_box| Some(to_box), &mut best);
        best.sort();
        append(found, best.neighbors());
        return best.keep();
    }
    let approximate = tree.holds_points() && ApproxHeap::holds(options.k);
    if approximate && options.k == 1 && excluded.is_none() {
        match dispatch!(isa => tree.closest(isa, &of.lo, options)) {
            Closest::One(neighbor) => return found.push(neighbor),
            Closest::NoneWithin => return,
            Closest::Unsure => (),
        }
    }
    let mut best = ExactHeap::take_kept();
    best.reset(options);
    if !(approximate && dispatch!(isa => tree.approximate(isa, &of.lo, options, excluded, &mut best))) {
        best.reset(options);
        exact_search(tree, of, excluded, &mut best);
        best.sort();
    }
    append(found, best.neighbors());
    best.keep();
}

/// Fills `best`, using exact distances only.
#[inline(never)]
pub(super) fn exact_search<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    of: &Aabb<S, D>,
    excluded: Option<u32>,
    best: &mut ExactHeap,
) {
    dispatch!(isa => tree.exact(isa, of, excluded, best));
}

/// A search by rounded distances.
struct Approximate<'a, S, const D: usize, const GENERAL: bool> {
    tree: &'a Bvh<S, D>,
    test: &'a RadiusTest<'a, S, D, GENERAL>,
    of: Aabb<S, D>,
    k: usize,
    excluded: Option<u32>,
    close: ApproxHeap,
    limit: S,
}

impl<S: Scalar, const D: usize, const GENERAL: bool> LeafVisitor<S, D, GENERAL> for Approximate<'_, S, D, GENERAL> {
    #[inline(always)]
    fn limit(&self) -> S {
        self.limit
    }

    fn is_blurred(&self) -> bool {
        self.close.is_blurred(self.k)
    }

    #[inline(always)]
    fn scan_leaf<I: Isa>(&mut self, isa: I, span: Range<usize>) {
        let (order, excluded, close) = (self.tree.order(), self.excluded, &mut self.close);
        let push = |position: usize, distance2: S| {
            if excluded.is_none() || Some(order[position]) != excluded {
                close.push(distance2, position);
            }
        };
        self.test.for_each_within_limit(isa, &self.of, &self.tree.blocks(&span), self.limit, push);
        self.limit = self.limit.min(self.close.limit_of(self.k, self.test));
    }

    /// Scans copies up to the number of slots. The omitted copies are no nearer than those that fill the slots.
    #[cold]
    #[inline(never)]
    fn scan_copies(&mut self, span: Range<usize>) {
        // One more, because one may be excluded.
        let end = span.end.min(span.start + ApproxHeap::MOST + 1);
        for first in (span.start..end).step_by(LEAF) {
            self.scan_leaf(FALLBACK, first..end.min(first + LEAF));
        }
    }
}

/// A search by exact distances.
struct Exact<'a, S, const D: usize, const GENERAL: bool> {
    tree: &'a Bvh<S, D>,
    test: &'a RadiusTest<'a, S, D, GENERAL>,
    of: Aabb<S, D>,
    excluded: Option<u32>,
    best: &'a mut ExactHeap,
    limit: S,
}

impl<S: Scalar, const D: usize, const GENERAL: bool> Exact<'_, S, D, GENERAL> {
    #[inline(always)]
    fn push(&mut self, position: usize) -> bool {
        let index = self.tree.order()[position];
        Some(index) == self.excluded || self.best.push(self.test.distance2(&self.of, position), index)
    }
}

impl<S: Scalar, const D: usize, const GENERAL: bool> LeafVisitor<S, D, GENERAL> for Exact<'_, S, D, GENERAL> {
    #[inline(always)]
    fn limit(&self) -> S {
        self.limit
    }

    fn is_blurred(&self) -> bool {
        false
    }

    #[inline(always)]
    fn scan_leaf<I: Isa>(&mut self, isa: I, span: Range<usize>) {
        let closer = self.test.within_limit(isa, &self.of, &self.tree.blocks(&span), self.limit);
        for bit in bits(closer) {
            self.push(span.start + bit);
        }
        if closer != 0 {
            self.limit = self.test.limit(self.best.limit());
        }
    }

    /// Once one copy is refused, all later ones are.
    #[cold]
    #[inline(never)]
    fn scan_copies(&mut self, span: Range<usize>) {
        span.take_while(|&position| self.push(position)).for_each(drop);
        self.limit = self.test.limit(self.best.limit());
    }
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Finds the nearest neighbours of a point in exact order. Returns `false` if a dropped point may be as near.
    #[inline(always)]
    fn approximate<I: Isa>(
        &self,
        isa: I,
        point: &[S; D],
        options: &Nearest,
        excluded: Option<u32>,
        best: &mut ExactHeap,
    ) -> bool {
        let of = Aabb::point(*point);
        let scale = self.scale_for_cloud(&of);
        #[allow(clippy::collapsible_if, reason = "what the first leaves out is not compiled")]
        if const { !I::OUTLINED } {
            if scale == 1.0 && self.space().period().is_none() {
                let test = RadiusTest::<S, D, false>::new(self, options.radius);
                return self.approximate_by(isa, &test, of, options.k, excluded, best);
            }
        }
        let test = RadiusTest::<S, D, true>::scaled(self, options.radius, scale);
        self.approximate_by(isa, &test, self.space().wrap_box(of), options.k, excluded, best)
    }

    #[inline(always)]
    fn approximate_by<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        of: Aabb<S, D>,
        k: usize,
        excluded: Option<u32>,
        best: &mut ExactHeap,
    ) -> bool {
        let unit = if S::IS_F32 {
            1.0
        } else {
            FilteredRadius::<S, D>::unit(scale::extent(&self.bounds()), self.space(), scale::MIN_EXTENT_EXPONENT)
        };
        let limit = test.thresholds.possible_limit;
        let mut search = Approximate { tree: self, test, of, k, excluded, close: ApproxHeap::new(), limit };
        search.close.reset(k, limit.into(), unit * unit);
        if !self.search_downwards::<I, GENERAL, SHALLOW>(isa, test, &of, &mut search) {
            return false;
        }
        for position in search.close.positions() {
            best.push(self.space().distance2(&of.lo, &self.item(position).lo), self.order()[position]);
        }
        search.close.holds_all_within(test.limit(best.limit()))
    }

    #[inline(always)]
    fn exact<I: Isa>(&self, isa: I, of: &Aabb<S, D>, excluded: Option<u32>, best: &mut ExactHeap) {
        let of = self.space().wrap_box(*of);
        let scale = self.scale_for_neighborhood(&of, best);
        #[allow(clippy::collapsible_if, reason = "what the first leaves out is not compiled")]
        if const { !I::OUTLINED } {
            if scale == 1.0 && self.space().period().is_none() {
                let test = RadiusTest::<S, D, false>::new(self, 0.0);
                return self.exact_by(isa, &test, of, excluded, best);
            }
        }
        let test = RadiusTest::<S, D, true>::scaled(self, 0.0, scale);
        self.exact_by(isa, &test, of, excluded, best);
    }

    #[inline(always)]
    fn exact_by<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        of: Aabb<S, D>,
        excluded: Option<u32>,
        best: &mut ExactHeap,
    ) {
        let limit = test.limit(best.limit());
        self.search_downwards::<I, GENERAL, DEPTH>(
            isa,
            test,
            &of,
            &mut Exact { tree: self, test, of, excluded, best, limit },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Space;

    /// A random number between 0 and 1.
    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f64 / f64::from(1 << 24)
    }

    /// All points by distance in `f64`, ties by index.
    fn sorted<S: Scalar, const D: usize>(tree: &Bvh<S, D>, of: [S; D]) -> Vec<Neighbor> {
        let of = tree.space().wrap_box(Aabb::point(of)).lo;
        let mut all: Vec<Neighbor> = (0..tree.len())
            .map(|at| Neighbor { index: tree.order()[at], distance2: tree.space().distance2(&of, &tree.item(at).lo) })
            .collect();
        all.sort_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
        all
    }

    /// The expected result, from all points by distance.
    fn expected(sorted: &[Neighbor], options: &Nearest) -> Vec<Neighbor> {
        let is_asked = |near: &&Neighbor| {
            options.excluded_for(u32::MAX) != Some(near.index)
                && options.radius >= 0.0
                && near.distance2 <= options.radius * options.radius
        };
        sorted.iter().filter(is_asked).take(options.k).copied().collect()
    }

    fn compare<S: Scalar, const D: usize>(points: &[[f64; D]], side: f64, exponents: &[i32]) {
        let mut state = 7;
        for &exponent in exponents {
            let unit = 2f64.powi(exponent);
            let scaled = |point: &[f64; D]| point.map(|x| S::from_f64(unit * x));
            let stored: Vec<[S; D]> = points.iter().map(scaled).collect();
            // Random points, stored points, midpoints of two stored points, and points far away.
            let mut asked: Vec<[f64; D]> = (0..40).map(|_| [0.0; D].map(|_| side * random(&mut state))).collect();
            asked.extend(points.iter().step_by(points.len() / 20 + 1));
            asked.extend(
                points
                    .windows(2)
                    .step_by(points.len() / 20 + 1)
                    .map(|two| std::array::from_fn(|k| 0.5 * (two[0][k] + two[1][k]))),
            );
            asked.extend([[-100.0 * side; D], [1000.0 * side; D]]);
            for side in [None, Some(unit * side)] {
                let tree = Bvh::build_in(&stored, Space::periodic(side).unwrap()).unwrap();
                for of in asked.iter().map(scaled) {
                    let radius = unit * 0.1 * (1.0 + random(&mut state));
                    let sorted = sorted(&tree, of);
                    for k in [0, 1, 2, 8, 34, 35, stored.len(), stored.len() + 1] {
                        let options = Nearest::new(k);
                        for options in [options, options.within(radius), options.excluding(0), options.within(-1.0)] {
                            let what = format!("{D} dimensions, unit 2^{exponent}, {side:?}, {of:?}, {options:?}");
                            assert_eq!(tree.nearest(of, options), expected(&sorted, &options), "{what}");
                        }
                    }
                    compare_fallback(&tree, of, &sorted);
                }
            }
        }
    }

    /// Checks the searches without this processor's vector instructions.
    fn compare_fallback<S: Scalar, const D: usize>(tree: &Bvh<S, D>, of: [S; D], sorted: &[Neighbor]) {
        let options = Nearest::new(1);
        match tree.closest(FALLBACK, &of, &options) {
            Closest::One(found) => assert_eq!([found][..], expected(sorted, &options)),
            Closest::NoneWithin => panic!("there are points"),
            Closest::Unsure => (),
        }
        for options in [Nearest::new(1), Nearest::new(8)] {
            let mut best = ExactHeap::new();
            best.reset(&options);
            if !tree.approximate(FALLBACK, &of, &options, None, &mut best) {
                best.reset(&options);
                tree.exact(FALLBACK, &Aabb::point(of), None, &mut best);
            }
            assert_eq!(best.neighbors().collect::<Vec<_>>(), expected(sorted, &options));
        }
    }

    #[test]
    fn all_distances_sorted() {
        let mut state = 1;
        let uniform: Vec<[f64; 3]> = (0..400).map(|_| [0.0; 3].map(|_| random(&mut state))).collect();
        // In `f32`, squares overflow beyond 2^63 and vanish below 2^-75; below 2^-126, digits are lost as well.
        compare::<f32, 3>(&uniform, 1.0, &[0, 70, -90, -135]);
        compare::<f64, 3>(&uniform, 1.0, &[0, 300, -600]);
        let lattice: Vec<[f64; 3]> = (0..216).map(|i| [i / 36, i / 6 % 6, i % 6].map(f64::from)).collect();
        compare::<f32, 3>(&lattice, 6.0, &[0]);
        let clumps: Vec<[f64; 2]> =
            (0..300).map(|i| [0.0; 2].map(|_| 0.5 + 1e-3f64.powi(i % 4) * 0.4 * random(&mut state))).collect();
        compare::<f32, 2>(&clumps, 1.0, &[0]);
        compare::<f64, 2>(&clumps, 1.0, &[0]);
        let copies: Vec<[f64; 3]> = (0..200).map(|i| [f64::from(i % 3).sqrt(); 3]).collect();
        compare::<f32, 3>(&copies, 4.0, &[0]);
        compare::<f32, 3>(&[[0.5; 3]; 100], 1.0, &[0]);
        compare::<f64, 2>(&[[0.5; 2]; 3], 1.0, &[0]);
    }

    /// Points that approach a corner make a tree deeper than the stack of a search by rounded distances.
    #[test]
    fn deep_trees() {
        let points: Vec<[f64; 3]> = (0..500).map(|i| [0.87f64.powi(i), 0.0, 0.0]).collect();
        let tree = Bvh::build(&points).unwrap();
        for x in [0.0, 1e-9, 0.3, 2.0] {
            let sorted = sorted(&tree, [x, 0.0, 0.0]);
            for options in [1, 8].map(Nearest::new) {
                assert_eq!(tree.nearest([x, 0.0, 0.0], options), expected(&sorted, &options));
            }
        }
    }
}
