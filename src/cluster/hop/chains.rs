//! Chains: follows each particle to its densest neighbour, and on to a peak.
//!
//! In: densities in tree order, and the radius of the `n_hop` nearest neighbours. Out: the peak of each particle.
//! One walk upwards from a leaf serves all of its points. It skips nodes that are less dense than what each of these
//! points has found, so it visits few of the neighbours. Source: Eisenstein and Hut 1998, section 2.2.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::bvh::traverse::{DeferredSiblings, Step, bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, Scalar, scale};
use crate::parallel::{for_tasks, list_tasks};
use crate::precompiled::precompiled;
use crate::search::Nearest;
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;
/// Points per parallel task.
const POINTS: usize = 1 << 14;

/// The densities and radii that define the chains, in tree order.
#[derive(Clone, Copy)]
pub(crate) struct ChainInput<'a> {
    pub density: &'a [f64],
    /// The squared distance to the neighbour after the `n_hop` nearest, which include the particle. Negative if one of
    /// the `n_hop` is equally far.
    pub radius2: &'a [f64],
    pub n_hop: usize,
}

/// The position of the peak of each position's chain.
pub(super) fn peaks<S: Scalar, const D: usize>(tree: &Bvh<S, D>, input: &ChainInput<'_>) -> Vec<u32> {
    resolve_paths(next_positions(tree, input))
}

precompiled! {
    /// The position to which each position hops.
    pub(crate) fn next_positions = find(tree: same_ref &Bvh<S, D>, input: keep &ChainInput<'_>) -> Vec<u32>
}

fn find<S: Scalar, const D: usize>(tree: &Bvh<S, D>, input: &ChainInput<'_>) -> Vec<u32> {
    let ChainInput { density, .. } = *input;
    let of_leaf = |leaf| density[tree.span(leaf)].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let highest = tree.reduce(of_leaf, |_, [left, right]| left.max(*right));
    let hops = Hops { tree, input, highest, position: OnceLock::new() };
    list_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut found = Vec::with_capacity(nodes.len() * LEAF / 2);
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                hops.leaf(isa, leaf, &mut found);
            }
        });
        found
    })
}

/// For each position, the position at which following `next` ends.
pub(crate) fn resolve_paths(next: Vec<u32>) -> Vec<u32> {
    let next: Vec<AtomicU32> = next.into_iter().map(AtomicU32::new).collect();
    for_tasks(next.len(), POINTS, &|range| {
        for start in range {
            // Values that other threads write in the meantime are farther along the same path.
            let mut at = start as u32;
            loop {
                let then = next[at as usize].load(Relaxed);
                if then == at {
                    break;
                }
                at = then;
            }
            next[start].store(at, Relaxed);
        }
    });
    next.into_iter().map(AtomicU32::into_inner).collect()
}

struct Hops<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    input: &'a ChainInput<'a>,
    /// The largest density below each node.
    highest: Vec<f64>,
    /// The position of each index, computed at first use.
    position: OnceLock<Vec<u32>>,
}

/// The densest neighbours found so far for the points of a leaf, as positions.
struct DensestNeighbors {
    density: [f64; LEAF],
    position: [u32; LEAF],
}

impl<S: Scalar, const D: usize> Hops<'_, S, D> {
    /// Appends the positions to which a leaf's points hop.
    #[inline(always)]
    fn leaf<I: Isa>(&self, isa: I, leaf: usize, found: &mut Vec<u32>) {
        let (tree, ChainInput { density, radius2, .. }) = (self.tree, *self.input);
        let (own, bounds) = (tree.span(leaf), &tree.node(leaf).bounds);
        let here = tree.blocks(&own);
        let (scale, _) = tree.leaf_units(leaf, self.input.n_hop);
        let open = RadiusTest::<S, D, false>::new(tree, 0.0);
        let general = RadiusTest::<S, D, true>::scaled(tree, 0.0, scale);
        let mut limits = [S::NEG_INFINITY; LEAF];
        let mut best = DensestNeighbors { density: [f64::INFINITY; LEAF], position: [0; LEAF] };
        let mut farthest = S::NEG_INFINITY;
        for (i, at) in own.clone().enumerate() {
            best.position[i] = at as u32;
            if radius2[at].is_sign_negative() {
                best.position[i] = self.densest_of_listed(at);
                continue;
            }
            best.density[i] = density[at];
            limits[i] = general.limit(radius2[at]);
            farthest = farthest.max(limits[i]);
        }
        let mut least = best.density.iter().copied().fold(f64::INFINITY, f64::min);
        let extent = scale::extent(bounds);
        let mut siblings = DeferredSiblings::new();
        siblings.descend(tree, leaf);
        for nodes in std::iter::once(leaf..leaf + 1).chain(siblings.subtrees(tree)) {
            tree.walk(
                nodes,
                #[inline(always)]
                |at, node| {
                    if self.highest[at] < least || general.min_distance2(bounds, &node.bounds) > farthest {
                        return Step::Skip;
                    }
                    if tree.is_leaf(at) {
                        let there = tree.blocks(&tree.span(at));
                        let is_open = const { !I::OUTLINED } && general.is_open_between(bounds, &node.bounds);
                        let near = match is_open {
                            true => open.within_own_limits(isa, &node.bounds, &here, &limits),
                            false => general.within_own_limits(isa, &node.bounds, &here, &limits),
                        };
                        for i in bits(near) {
                            if self.highest[at] < best.density[i] {
                                continue;
                            }
                            let of = tree.item(own.start + i);
                            let (limit, radius2) = (limits[i], radius2[own.start + i]);
                            match is_open {
                                true => self.scan(isa, &open, &of, &there, limit, radius2, i, &mut best),
                                false => self.scan(isa, &general, &of, &there, limit, radius2, i, &mut best),
                            }
                        }
                        least = best.density.iter().copied().fold(f64::INFINITY, Scalar::min);
                    } else if general.is_far_from_each(isa, &node.bounds, extent, &here, &limits) {
                        return Step::Skip;
                    }
                    Step::Enter
                },
            );
        }
        found.extend(&best.position[..own.len()]);
    }

    /// Tests the points of a leaf. Updates the best of the `i`-th point if one is denser and nearer than the square
    /// root of `radius2`.
    #[inline(always)]
    fn scan<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        of: &Aabb<S, D>,
        there: &Blocks<'_, S, D>,
        limit: S,
        radius2: f64,
        i: usize,
        best: &mut DensestNeighbors,
    ) {
        for bit in bits(test.within_limit(isa, of, there, limit)) {
            let at = there.first + bit;
            if self.is_denser(at, best.position[i] as usize) && test.distance2(of, at) < radius2 {
                best.position[i] = at as u32;
                best.density[i] = self.input.density[at];
            }
        }
    }

    /// Returns `true` if one position is denser than another; if densities are equal, the lower index counts as
    /// denser.
    #[inline(always)]
    fn is_denser(&self, at: usize, than: usize) -> bool {
        let [own, other] = [at, than].map(|at| self.input.density[at]);
        own > other || (own == other && self.tree.order()[at] < self.tree.order()[than])
    }

    /// The densest of the listed nearest neighbours, for a point where ties decide which points these are.
    #[cold]
    fn densest_of_listed(&self, at: usize) -> u32 {
        let tree = self.tree;
        let position = self.position.get_or_init(|| tree.positions());
        let wanted = Nearest::new(self.input.n_hop - 1).excluding(tree.order()[at]);
        let listed = tree.nearest(tree.item(at).lo, wanted);
        let denser = |best: usize, other: usize| if self.is_denser(other, best) { other } else { best };
        listed.iter().map(|near| position[near.index as usize] as usize).fold(at, denser) as u32
    }
}
