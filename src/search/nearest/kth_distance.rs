//! The distance from each stored point to its k-th nearest, for `k` of any size: where the neighbours themselves are not asked for.
//!
//! In: a tree of points, `k`. Out: squared distances in tree order.
//! One walk from a leaf upwards serves its points. Each collects the squared distances below its limit as `S` computes them; when it has
//! enough of them, the k-th becomes the limit. Those that rounding cannot tell from the k-th are computed again in `f64`, which decides.
//! Cost: some 2k distances a point are kept, 8 bytes each, for one leaf at a time.

use std::ops::Range;

use crate::bvh::traverse::{DeferredSiblings, Step, bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, Scalar};
use crate::parallel::{Scratch, list_tasks};
use crate::precompiled::precompiled;
use crate::search::ball_predicate::BallPredicate;
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;

precompiled! {
    /// The squared distance from each stored point to its `k`-th nearest, itself counted, in tree order. It is negative (-0 for 0) where
    /// another of the `k` is as far: there fewer than `k - 1` points are nearer.
    ///
    /// The tree is over points, of which there are at least `k`, and `k` is not 0.
    pub(crate) fn kth_distances2 = kth_of_all(tree: same_ref &Bvh<S, D>, k: keep usize) -> Vec<f64>
}

fn kth_of_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, k: usize) -> Vec<f64> {
    let scratch = Scratch::new(Candidates::new);
    list_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut found = Vec::with_capacity(nodes.len() * LEAF / 2);
        scratch.with(|candidates| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    let guess2 = candidates.guess2;
                    if !LeafSearch::new(tree, leaf, k, guess2, candidates).run(isa, &mut found) {
                        LeafSearch::new(tree, leaf, k, f64::INFINITY, candidates).run(isa, &mut found);
                    }
                }
            });
        });
        found
    })
}

/// For each point of a leaf what may be among its k nearest: squared distances as `f32` in the high half, positions in the low half.
struct Candidates {
    keys: [Vec<u64>; LEAF],
    /// With so many the limit is lowered.
    enough: [usize; LEAF],
    /// Exact squared distances.
    close: Vec<f64>,
    /// Where the next leaf's points may look first: nearly all have their k-th within, for the leaf before had.
    guess2: f64,
}

impl Candidates {
    fn new() -> Self {
        Self { keys: [const { Vec::new() }; LEAF], enough: [0; LEAF], close: Vec::new(), guess2: f64::INFINITY }
    }
}

/// The search of a leaf's points.
struct LeafSearch<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    leaf: usize,
    own: Range<usize>,
    k: usize,
    candidates: &'a mut Candidates,
    limits: [S; LEAF],
    /// In open space and in general; limits are those of the general one.
    open: BallPredicate<'a, S, D, false>,
    general: BallPredicate<'a, S, D, true>,
    /// What squared distances are multiplied by before they are rounded to `f32`.
    unit: f64,
}

impl<'a, S: Scalar, const D: usize> LeafSearch<'a, S, D> {
    #[inline(always)]
    fn new(tree: &'a Bvh<S, D>, leaf: usize, k: usize, within2: f64, candidates: &'a mut Candidates) -> Self {
        let (scale, unit) = tree.units(leaf);
        let own = tree.span(leaf);
        let open = BallPredicate::new(tree, f64::INFINITY);
        let general = BallPredicate::scaled(tree, f64::INFINITY, scale);
        let mut limits = [S::NEG_INFINITY; LEAF];
        for (i, limit) in limits[..own.len()].iter_mut().enumerate() {
            *limit = general.limit(within2);
            candidates.keys[i].clear();
            candidates.enough[i] = 2 * k;
        }
        Self { tree, leaf, own, k, candidates, limits, open, general, unit }
    }

    /// Appends the distances of a leaf's points; false, and nothing, if one has too few points within its first limit.
    #[inline(always)]
    fn run<I: Isa>(mut self, isa: I, found: &mut Vec<f64>) -> bool {
        let tree = self.tree;
        let bounds = &tree.node(self.leaf).bounds;
        let mut farthest = self.limits[0];
        let mut siblings = DeferredSiblings::new();
        siblings.descend(tree, self.leaf);
        for nodes in std::iter::once(self.leaf..self.leaf + 1).chain(siblings.upwards(tree)) {
            tree.walk(
                nodes,
                #[inline(always)]
                |at, node| {
                    if self.general.min_distance2(bounds, &node.bounds) > farthest {
                        return Step::Skip;
                    }
                    let span = tree.span(at);
                    if tree.is_leaf(at) {
                        self.scan(isa, &node.bounds, &tree.blocks(&span));
                    } else if tree.is_degenerate(at) {
                        self.scan_copies(&node.bounds, span);
                    } else {
                        return Step::Enter;
                    }
                    farthest = self.limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit));
                    Step::Skip
                },
            );
        }
        if (0..self.own.len()).any(|i| self.candidates.keys[i].len() < self.k) {
            return false;
        }
        let mut largest2 = 0f64;
        for i in 0..self.own.len() {
            let kth = self.kth(i);
            largest2 = largest2.max(kth.abs());
            found.push(kth);
        }
        // A little more: a second search costs as much as looking at half as much again.
        self.candidates.guess2 = 1.25 * largest2;
        true
    }

    /// Looks through some of the copies of one point: as many as may be wanted.
    #[cold]
    #[inline(never)]
    fn scan_copies(&mut self, bounds: &Aabb<S, D>, span: Range<usize>) {
        let end = span.end.min(span.start + self.k);
        for first in (span.start..end).step_by(LEAF) {
            let copies = self.tree.blocks(&(first..end.min(first + LEAF)));
            self.scan(crate::simd::FALLBACK, bounds, &copies);
        }
    }

    /// Looks through points within `bounds` for those of the leaf that they may be near to.
    #[inline(always)]
    fn scan<I: Isa>(&mut self, isa: I, bounds: &Aabb<S, D>, there: &Blocks<'_, S, D>) {
        let tree = self.tree;
        let here = tree.blocks(&self.own);
        let is_open = !I::OUTLINED && self.general.is_open_between(&tree.node(self.leaf).bounds, bounds);
        let near = match is_open {
            true => self.open.closer_each(isa, bounds, &here, &self.limits),
            false => self.general.closer_each(isa, bounds, &here, &self.limits),
        };
        for i in bits(near) {
            let of = tree.item(self.own.start + i);
            let keys = &mut self.candidates.keys[i];
            let unit = self.unit;
            let push = |position: usize, distance2: S| keys.push(key(round(distance2, unit), position));
            match is_open {
                true => self.open.each_closer(isa, &of, there, self.limits[i], push),
                false => self.general.each_closer(isa, &of, there, self.limits[i], push),
            }
            if self.candidates.keys[i].len() >= self.candidates.enough[i] {
                self.lower(i);
            }
        }
    }

    /// Makes the k-th so far the limit of the `i`-th point, and drops what is surely beyond.
    #[inline(never)]
    fn lower(&mut self, i: usize) {
        let (k, keys) = (self.k, &mut self.candidates.keys[i]);
        let (_, &mut kth, _) = keys.select_nth_unstable(k - 1);
        let limit = self.general.limit(exact_most(&self.general, kth, self.unit)).min(self.limits[i]);
        let last = key(round(limit, self.unit), u32::MAX as usize);
        let mut len = k;
        for at in k..keys.len() {
            if keys[at] <= last {
                keys[len] = keys[at];
                len += 1;
            }
        }
        keys.truncate(len);
        self.limits[i] = limit;
        self.candidates.enough[i] = len + k.max(len / 2);
    }

    /// The exact k-th of what the `i`-th point has collected, negative if another is as far.
    #[inline(never)]
    fn kth(&mut self, i: usize) -> f64 {
        let Candidates { keys, close, .. } = &mut *self.candidates;
        let (_, &mut kth, _) = keys[i].select_nth_unstable(self.k - 1);
        let limit = self.general.limit(exact_most(&self.general, kth, self.unit));
        let last = key(round(limit, self.unit), u32::MAX as usize);
        // What is surely nearer is below the k-th, not as far.
        const BELOW: f64 = 1.0 - 1e-9;
        let nearer = self.general.sure_limit(exact_least(&self.general, kth, self.unit) * BELOW);
        let nearer = round(nearer, self.unit);
        let of = self.tree.item(self.own.start + i);
        close.clear();
        let mut below = 0;
        for &key in &keys[i] {
            if distance2(key) < nearer {
                below += 1;
            } else if key <= last {
                close.push(self.general.distance2(&of, key as u32 as usize));
            }
        }
        close.sort_unstable_by(f64::total_cmp);
        let kth = close[self.k - 1 - below];
        let below = below + close.partition_point(|&distance2| distance2 < kth);
        if below + 1 < self.k { -kth } else { kth }
    }
}

#[inline(always)]
fn round<S: Scalar>(distance2: S, unit: f64) -> f32 {
    let distance2: f64 = distance2.into();
    // What is `f32` already has a unit of its own.
    (if S::NARROW { distance2 } else { distance2 * unit }) as f32
}

/// Squared distances are not negative, so their bits are ordered as they are.
#[inline(always)]
fn key(distance2: f32, position: usize) -> u64 {
    u64::from(distance2.to_bits()) << 32 | position as u64
}

#[inline(always)]
fn distance2(key: u64) -> f32 {
    f32::from_bits((key >> 32) as u32)
}

/// What the exact squared distance is at most.
fn exact_most<S: Scalar, const D: usize>(ball: &BallPredicate<'_, S, D, true>, key: u64, unit: f64) -> f64 {
    let rounded = distance2(key);
    let most = if S::NARROW { rounded.into() } else { f64::from(rounded.next_up()) / unit };
    ball.at_most(S::from_f64(most))
}

/// What the exact squared distance is at least.
fn exact_least<S: Scalar, const D: usize>(ball: &BallPredicate<'_, S, D, true>, key: u64, unit: f64) -> f64 {
    let rounded = distance2(key);
    let least = if S::NARROW { rounded.into() } else { f64::from(rounded.next_down().max(0.0)) / unit };
    ball.at_least(S::from_f64(least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Space;

    /// The same by sorting all distances.
    fn expected<S: Scalar, const D: usize>(tree: &Bvh<S, D>, k: usize) -> Vec<f64> {
        let of = |at: usize| {
            let distance2 = |other| tree.space().distance2(&tree.item(at).lo, &tree.item(other).lo);
            let mut all: Vec<f64> = (0..tree.len()).map(distance2).collect();
            all.sort_by(f64::total_cmp);
            if all[..k].partition_point(|&distance2| distance2 < all[k - 1]) + 1 < k { -all[k - 1] } else { all[k - 1] }
        };
        (0..tree.len()).map(of).collect()
    }

    fn compare<S: Scalar, const D: usize>(points: &[[f64; D]], side: f64) {
        for exponent in [0, -70, 50] {
            let unit = 2f64.powi(exponent);
            let points: Vec<[S; D]> = points.iter().map(|point| point.map(|x| S::from_f64(unit * x))).collect();
            for side in [None, Some(unit * side)] {
                let tree = Bvh::build_in(&points, Space::periodic(side).unwrap()).unwrap();
                for k in [1, 2, 5, 65, 66, points.len() - 1, points.len()] {
                    let bits = |all: Vec<f64>| all.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                    let context = format!("{D} dimensions, unit 2^{exponent}, {side:?}, k = {k}");
                    assert!(bits(kth_distances2(&tree, k)) == bits(expected(&tree, k)), "{context}");
                }
            }
        }
    }

    #[test]
    fn all_distances_sorted() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        let uniform: Vec<[f64; 3]> = (0..600).map(|_| std::array::from_fn(|_| random())).collect();
        compare::<f32, 3>(&uniform, 1.0);
        compare::<f64, 3>(&uniform, 1.0);
        let clumps: Vec<[f64; 2]> =
            (0..500).map(|i| std::array::from_fn(|_| 1.0 + 1e-3f64.powi(i % 4) * random())).collect();
        compare::<f32, 2>(&clumps, 2.5);
        compare::<f64, 2>(&clumps, 2.5);
        let lattice: Vec<[f64; 3]> = (0..512).map(|i| [i / 64, i / 8 % 8, i % 8].map(f64::from)).collect();
        compare::<f32, 3>(&lattice, 8.0);
        let copies: Vec<[f64; 3]> = (0..400).map(|i| [f64::from(i % 3).sqrt(); 3]).collect();
        compare::<f32, 3>(&copies, 4.0);
        compare::<f64, 3>(&copies, 4.0);
        compare::<f32, 3>(&vec![[0.5; 3]; 200], 1.0);
    }
}
