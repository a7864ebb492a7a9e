//! Finds the lightest edges of a leaf's points to other components, in one walk for all points.
//!
//! In: the searching points of a leaf, and their limits. Out: the lightest edge of each, as computed in `S`, if it is
//! certainly the lightest.
//! The walk goes upwards from the leaf. It tests a node against the whole leaf first, then a met leaf against each
//! searching point, and the points of that leaf eight at a time. Each point keeps its smallest weights and the next
//! one. If the next one is certainly larger than the smallest, the lightest edge is found; ties are left to the exact
//! search.

use crate::bvh::traverse::{DeferredSiblings, Step, bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, Scalar, scale};
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, LANES, Lanes};

/// The component of each position and node. Arrays by position are padded by [`LANES`].
pub(super) struct Components<'a, S> {
    pub component: &'a [u32],
    /// The component of each node; for a node with several components, a number that no position has.
    pub uniform: &'a [u32],
    pub cores: Cores<'a, S>,
    /// True if components have more than one point.
    pub has_merged_components: bool,
}

/// Squared core distances by position.
#[derive(Clone, Copy)]
pub(super) enum Cores<'a, S> {
    /// All core distances are 0.
    Zero,
    /// In the test's unit, with the minimum below each node.
    InUnit { core2: &'a [S], least: &'a [S] },
    /// In the unit of the coordinates; the factor `by` converts them to the test's unit.
    Exact { core2: &'a [f64], by: f64 },
}

impl<S: Scalar> Cores<'_, S> {
    #[inline(always)]
    fn at(&self, position: usize) -> S {
        match *self {
            Self::Zero => S::ZERO,
            Self::InUnit { core2, .. } => core2[position],
            Self::Exact { core2, by } => S::from_f64(core2[position] * by),
        }
    }

    /// True only if all squared core distances below a node are larger than `limit`. Always false if the unit is not
    /// that of the point set.
    #[inline(always)]
    fn are_beyond(&self, node: usize, limit: S) -> bool {
        matches!(*self, Self::InUnit { least, .. } if least[node] > limit)
    }

    /// Raises the squared distances to eight positions, starting at `start`, to their core distances and to `own`.
    #[inline(always)]
    fn raise(&self, start: usize, own: S, weight2: &mut Lanes<S>) {
        match *self {
            Self::Zero => {}
            Self::InUnit { core2, .. } => {
                let core2: &Lanes<S> = &core2[start..].as_chunks().0[0];
                for l in 0..LANES {
                    weight2[l] = weight2[l].max(core2[l]).max(own);
                }
            }
            Self::Exact { core2, by } => {
                for (weight2, core2) in weight2.iter_mut().zip(&core2[start..]) {
                    *weight2 = weight2.max(S::from_f64(core2 * by)).max(own);
                }
            }
        }
    }
}

/// The maximum number of edges kept by a search. This many nearest neighbours are listed before the first round.
pub(super) const KEPT: usize = 6;

/// The results of a leaf's walk for each of its points.
pub(super) struct LeafSearch<S> {
    /// A mask of the searching points.
    pub active: u32,
    /// The search limit of each point. Points that are not active have a limit that nothing reaches.
    pub limits: [S; LEAF],
    pub found: [LightestEdges<S>; LEAF],
    /// A mask of the points that met a node of identical points, which the walk does not enter.
    pub met_copies: u32,
}

/// The lightest edges found for one point, in ascending order, padded with infinite weights.
#[derive(Clone, Copy)]
pub(super) struct LightestEdges<S> {
    pub weight2: [S; KEPT],
    pub position: [u32; KEPT],
    /// The minimum weight of all other edges found.
    pub next: S,
}

impl<S: Scalar> LightestEdges<S> {
    /// Inserts a position if it is one of the `K` lightest. Branchless, because a branch would often be mispredicted.
    #[inline(always)]
    fn push<const K: usize>(&mut self, position: usize, weight2: S) {
        let (mut position, mut weight2) = (position as u32, weight2);
        for at in 0..K {
            let (other, other2) = (self.position[at], self.weight2[at]);
            let is_less = weight2 < other2;
            self.position[at] = if is_less { position } else { other };
            position = if is_less { other } else { position };
            self.weight2[at] = other2.min(weight2);
            weight2 = other2.max(weight2);
        }
        self.next = self.next.min(weight2);
    }
}

impl<S: Scalar> LeafSearch<S> {
    pub fn new() -> Self {
        let found = LightestEdges { weight2: [S::INFINITY; KEPT], position: [u32::MAX; KEPT], next: S::INFINITY };
        Self { active: 0, limits: [S::NEG_INFINITY; LEAF], found: [found; LEAF], met_copies: 0 }
    }

    /// Resets the search for the next leaf.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    #[inline(always)]
    fn farthest(&self) -> S {
        self.limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit))
    }
}

impl<S: Scalar> Components<'_, S> {
    /// Walks upwards from a leaf and finds the `K` lightest edges of each active point.
    #[inline(always)]
    pub fn search<I: Isa, const D: usize, const GENERAL: bool, const K: usize>(
        &self,
        isa: I,
        tree: &Bvh<S, D>,
        test: &RadiusTest<'_, S, D, GENERAL>,
        leaf: usize,
        siblings: &DeferredSiblings,
        of: &mut LeafSearch<S>,
    ) {
        let (own, bounds) = (tree.span(leaf), &tree.node(leaf).bounds);
        let here = tree.blocks(&own);
        let first = self.component[own.start + of.active.trailing_zeros() as usize];
        let shared = bits(of.active).all(|i| self.component[own.start + i] == first).then_some(first);
        let extent = scale::extent(bounds);
        let mut farthest = of.farthest();
        for nodes in std::iter::once(leaf..leaf + 1).chain(siblings.subtrees(tree)) {
            tree.walk(
                nodes,
                #[inline(always)]
                |at, node| {
                    if test.min_distance2(bounds, &node.bounds) > farthest
                        || Some(self.uniform[at]) == shared
                        || self.cores.are_beyond(at, farthest)
                    {
                        return Step::Skip;
                    }
                    if !tree.is_leaf(at) && !tree.is_degenerate(at) {
                        let is_far = test.is_far_from_each(isa, &node.bounds, extent, &here, &of.limits);
                        return if is_far { Step::Skip } else { Step::Enter };
                    }
                    let near = of.active & test.within_own_limits(isa, &node.bounds, &here, &of.limits);
                    if !tree.is_leaf(at) {
                        of.met_copies |= near;
                        return Step::Skip;
                    }
                    let there = tree.blocks(&tree.span(at));
                    for i in bits(near) {
                        if self.component[own.start + i] != self.uniform[at] {
                            self.scan::<I, D, GENERAL, K>(
                                isa,
                                test,
                                &tree.item(own.start + i),
                                own.start,
                                &there,
                                of,
                                i,
                            );
                        }
                    }
                    farthest = of.farthest();
                    Step::Enter
                },
            );
        }
    }

    /// Tests the points of a leaf for the `i`-th point, and lowers the limits of all points of its component.
    #[inline(always)]
    fn scan<I: Isa, const D: usize, const GENERAL: bool, const K: usize>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        point: &Aabb<S, D>,
        first: usize,
        there: &Blocks<'_, S, D>,
        of: &mut LeafSearch<S>,
        i: usize,
    ) {
        let own = self.component[first + i];
        let own_core2 = self.cores.at(first + i);
        let (found, mut limit) = (&mut of.found[i], of.limits[i]);
        let before = found.weight2[K - 1];
        for at in 0..there.count() {
            let start = there.first + at * LANES;
            let component: &Lanes<u32> = &self.component[start..].as_chunks().0[0];
            let mut weight2 = test.distances2_outlined::<I>(point, there, at, true);
            self.cores.raise(start, own_core2, &mut weight2);
            for l in 0..LANES {
                weight2[l] = if component[l] == own { S::INFINITY } else { weight2[l] };
            }
            // Lanes behind the end of the leaf are masked out.
            let here = low_bits((there.len - at * LANES).min(LANES));
            for l in bits(S::at_most(isa, &weight2, limit) & here) {
                found.push::<K>(start + l, weight2[l]);
            }
        }
        let last = found.weight2[K - 1];
        if last < before {
            limit = limit.min(test.limit(test.at_most(last)));
            of.limits[i] = limit;
            if self.has_merged_components {
                for (l, other) in of.limits.iter_mut().enumerate() {
                    let is_own = self.component.get(first + l).is_some_and(|&component| component == own);
                    *other = if is_own { other.min(limit) } else { *other };
                }
            }
        }
    }
}
