//! Core points: counts the neighbours of each point until there are enough.
//!
//! Out: a mask of core points for each leaf; for each inner node 1 if there are core points below it, else 0.

use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::traverse::{Step, bits, low_bits};
use crate::bvh::{Bvh, DEPTH, LEAF};
use crate::geometry::Scalar;
use crate::parallel::{atomics, for_tasks, list_tasks, plain};
use crate::search::radius_test::{RadiusTest, RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;

/// The leaves whose points are all copies of the point before them in tree order.
pub(super) fn copies<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> Vec<u32> {
    let is_copy = |&at: &u32| tree.is_leaf(at as usize) && tree.duplicates_predecessor(at as usize);
    list_tasks(tree.end(), 1 << 12, &|nodes| (nodes.start as u32..nodes.end as u32).filter(is_copy).collect())
}

/// The weights of nodes and primitives.
enum Weights<'a> {
    /// Weight 1 for each primitive.
    Ones,
    /// The weight of each node, and of each primitive by its index. `slack` is 0 if sums do not depend on their order.
    /// Otherwise it bounds the relative difference between sums in two orders.
    Given { nodes: Vec<f64>, weights: &'a [f64], slack: f64 },
}

impl<'a> Weights<'a> {
    fn given<S: Scalar, const D: usize>(weights: &'a [f64], tree: &Bvh<S, D>) -> Self {
        let of_leaf = |leaf| tree.order()[tree.span(leaf)].iter().map(|&index| weights[index as usize]).sum();
        let nodes: Vec<f64> = tree.reduce(of_leaf, |_, [left, right]| left + right);
        // Whole numbers add up without rounding, in any order.
        let total = nodes.first().copied().unwrap_or(0.0);
        let is_rounded = total > 2f64.powi(52) || weights.iter().any(|weight| weight.fract() != 0.0);
        // Each addition rounds by at most 2^-53 of the sum. A sum one by one takes fewer than n additions; a node's
        // weight takes those of a leaf and of a path.
        let additions = weights.len() + LEAF + DEPTH;
        Self::Given { nodes, weights, slack: if is_rounded { additions as f64 * f64::EPSILON } else { 0.0 } }
    }
}

/// The masks of core points. With `dense`, all points of a heavy enough clique are core without distances.
pub(super) fn find<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    eps: f64,
    min_samples: usize,
    weights: Option<&[f64]>,
    dense: bool,
) -> Vec<u32> {
    let counter = Counter {
        tree,
        tests: RadiusTests::new(tree, eps),
        weights: weights.map_or(Weights::Ones, |weights| Weights::given(weights, tree)),
        enough: min_samples as f64,
    };
    let masks = atomics(tree.end(), 0);
    for_tasks(tree.end(), TASK, &|nodes| {
        // All leaves before this node are in a clique that is heavy enough.
        let mut all_core = nodes.start;
        dispatch!(isa => for at in nodes {
            if dense && at >= all_core && counter.is_dense(at) {
                all_core = tree.node(at).rope as usize;
            }
            if tree.is_leaf(at) {
                let all = low_bits(tree.span(at).len());
                if at < all_core {
                    masks[at].store(all, Relaxed);
                } else if !tree.duplicates_predecessor(at) {
                    masks[at].store(counter.count(isa, at, all), Relaxed);
                }
            }
        });
    });
    let mut masks = plain(masks);
    // Copies are core if the point before them is core.
    for leaf in copies(tree) {
        let before = (0..leaf as usize).rev().find(|&at| tree.is_leaf(at)).unwrap_or(0);
        if masks[before] >> (tree.span(before).len() - 1) & 1 == 1 {
            masks[leaf as usize] = low_bits(tree.span(leaf as usize).len());
        }
    }
    tree.reduce(|leaf| masks[leaf], |_, [left, right]| u32::from(left | right != 0))
}

/// The weights counted so far for the primitives of a leaf, and a mask of the primitives whose weight is not yet
/// enough.
struct Tally {
    weights: [f64; LEAF],
    undecided: u32,
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, primitive: usize, weight: f64, enough: f64) {
        self.weights[primitive] += weight;
        self.undecided &= !(u32::from(self.weights[primitive] >= enough) << primitive);
    }
}

struct Counter<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    tests: RadiusTests<'a, S, D>,
    weights: Weights<'a>,
    enough: f64,
}

impl<S: Scalar, const D: usize> Counter<'_, S, D> {
    /// Returns `true` if a node's primitives are all neighbours of each other and weigh enough together.
    #[inline(always)]
    fn is_dense(&self, at: usize) -> bool {
        self.tests.open.is_clique(self.tree, at) && self.is_enough(self.weight_of(at))
    }

    /// Returns `true` if sums do not depend on their order, so that a node's weight can be added as a whole.
    #[inline(always)]
    fn is_exact(&self) -> bool {
        !matches!(self.weights, Weights::Given { slack, .. } if slack > 0.0)
    }

    /// Returns `true` if a node's weight is certainly enough. It may be rounded differently from the sum one by one,
    /// so it must exceed `enough` by the possible difference.
    #[inline(always)]
    fn is_enough(&self, bulk: f64) -> bool {
        match &self.weights {
            Weights::Given { slack, .. } => bulk >= self.enough + slack * bulk,
            Weights::Ones => bulk >= self.enough,
        }
    }

    #[inline(always)]
    fn weight_of(&self, at: usize) -> f64 {
        match &self.weights {
            Weights::Ones => self.tree.span(at).len() as f64,
            Weights::Given { nodes, .. } => nodes[at],
        }
    }

    #[inline(always)]
    fn weight_of_hits(&self, start: usize, hits: u32) -> f64 {
        match &self.weights {
            Weights::Ones => f64::from(hits.count_ones()),
            Weights::Given { weights, .. } => {
                bits(hits).map(|bit| weights[self.tree.order()[start + bit] as usize]).sum()
            }
        }
    }

    /// A mask of the core points of a leaf.
    #[inline(always)]
    fn count<I: Isa>(&self, isa: I, leaf: usize, all: u32) -> u32 {
        with_radius_test!(I, self.tests, self.tree.node(leaf), |test| self.count_by(isa, test, leaf, all))
    }

    #[inline(always)]
    fn count_by<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        leaf: usize,
        all: u32,
    ) -> u32 {
        let here = self.tree.blocks(&self.tree.span(leaf));
        let bounds = &self.tree.node(leaf).bounds;
        let mut tally = Tally { weights: [0.0; LEAF], undecided: all };
        let is_exact = self.is_exact();
        // The leaf itself comes first: in dense regions it holds enough neighbours.
        for (is_first, nodes) in [(true, leaf..leaf + 1), (false, 0..self.tree.end())] {
            if tally.undecided == 0 {
                break;
            }
            self.tree.walk(
                nodes,
                #[inline(always)]
                |at, node| {
                    if !test.meets(bounds, &node.bounds) || (at == leaf && !is_first) {
                        return Step::Skip;
                    }
                    if self.tree.is_leaf(at) {
                        let near = test.candidates(isa, &node.bounds, &here);
                        self.add_hits(isa, test, here.first, near & tally.undecided, at, &mut tally);
                    } else if test.covers(bounds, &node.bounds) {
                        // All primitives of the node are neighbours; no distances are needed.
                        let bulk = self.weight_of(at);
                        if is_exact {
                            let seen = if at < leaf && leaf < node.rope as usize { self.weight_of(leaf) } else { 0.0 };
                            for primitive in bits(all) {
                                tally.add(primitive, bulk - seen, self.enough);
                            }
                            return if tally.undecided == 0 { Step::Stop } else { Step::Skip };
                        }
                        if self.is_enough(bulk) {
                            tally.undecided = 0;
                        }
                    }
                    if tally.undecided == 0 { Step::Stop } else { Step::Enter }
                },
            );
        }
        all & !tally.undecided
    }

    /// Adds the weights in leaf `other` within the radius of some primitives.
    #[inline(always)]
    fn add_hits<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        start: usize,
        primitives: u32,
        other: usize,
        tally: &mut Tally,
    ) {
        let there = self.tree.blocks(&self.tree.span(other));
        for primitive in bits(primitives) {
            let hits = test.hits(isa, &self.tree.item(start + primitive), &there);
            tally.add(primitive, self.weight_of_hits(there.first, hits), self.enough);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Running sums lost the small weights after a large one, by as much as the large one is rounded.
    #[test]
    fn one_large_weight_does_not_blur_the_others() {
        let n = 40_000;
        let points: Vec<[f32; 1]> = (0..n).map(|i| [i as f32]).collect();
        let mut weights = vec![0.51; n];
        weights[0] = 2f64.powi(52);
        let tree = Bvh::build(&points).unwrap();
        let Weights::Given { nodes, slack, .. } = Weights::given(&weights, &tree) else { panic!("weights are given") };
        for (at, &weight) in nodes.iter().enumerate() {
            let span = tree.span(at);
            let exact = 0.51 * span.len() as f64 + if span.start == 0 { weights[0] - 0.51 } else { 0.0 };
            assert!((weight - exact).abs() <= slack * exact, "node {at} weighs {weight} instead of {exact}");
        }
        let core = |min_samples, dense| find(&tree, 100.0, min_samples, Some(&weights), dense);
        for dense in [false, true] {
            // 201 points weigh 102.51. Points within 100 of the first also count its large weight.
            let masks = core(103, dense);
            let leaves = (0..tree.end()).filter(|&at| tree.is_leaf(at));
            let count: u32 = leaves.map(|leaf| masks[leaf].count_ones()).sum();
            assert_eq!(count, 101, "dense: {dense}");
        }
    }
}
