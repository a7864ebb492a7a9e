//! The distance from each stored point to its k-th nearest point, for any `k`, without the neighbours themselves.
//!
//! Input: a tree of points, `k`. Output: squared distances in tree order.
//! The points near a group of leaf points are copied into one block, within the distance that earlier points needed.
//! Each point of the group computes its distances to the block in `S` and keeps those that may be among the k
//! smallest. It counts distances up to several values until few remain among which the k-th must be. These are
//! computed again in `f64`, which decides.
//! Cost: about `10 k` distances per point.

use std::ops::Range;

use crate::bvh::traverse::{Step, bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Scalar, ScalarOps};
use crate::parallel::{Scratch, list_tasks};
use crate::precompiled::precompiled;
use crate::search::leaf_neighborhood::{LeafNeighborhood, groups};
use crate::search::nearest::top_down::exact_search;
use crate::search::nearest::{ExactHeap, Nearest};
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, LANES, Lanes, advance, dispatch, numbers};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;

/// If a group copies more than this many times `k` points, and some more, its search distance was too large.
const TOO_MANY: usize = 64;

/// The number of remaining candidates at which the search ends and `f64` decides.
const FEW: usize = 8;

precompiled! {
    /// The squared distance from each stored point to its `k`-th nearest point, counting the point itself, in tree
    /// order. It is negative (-0 for 0) if another of the `k` points is equally far, so that fewer than `k - 1`
    /// points are nearer.
    ///
    /// The tree must store points, at least `k` of them, and `k` must not be 0.
    pub(crate) fn kth_distances2 = kth_of_all(tree: same_ref &Bvh<S, D>, k: keep usize) -> Vec<f64>
}

fn kth_of_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, k: usize) -> Vec<f64> {
    let scratch = Scratch::new(GroupScratch::new);
    list_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut found = Vec::with_capacity(nodes.len() * LEAF / 2);
        scratch.with(|scratch| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    for own in groups(tree.span(leaf)) {
                        Search::new(tree, leaf, own, k).run(isa, scratch, &mut found);
                    }
                }
            });
        });
        found
    })
}

/// The points near a group, and scratch memory for one of its points at a time.
struct GroupScratch<S, const D: usize> {
    neighborhood: LeafNeighborhood<S, D>,
    /// The squared distances of one point that may be among the k smallest, rounded to `f32`; NaN after the last.
    row: Vec<Lanes<f32>>,
    /// The index in `neighborhood` of each distance in `row`.
    of: Vec<Lanes<u32>>,
    /// Exact squared distances of the remaining candidates.
    close: Vec<f64>,
    /// The squared distance to try first for the next points. Most have their k-th point within it, as earlier points
    /// had.
    guess2: f64,
    /// An estimate of the k-th distance in a row.
    start: f32,
}

impl<S: Scalar, const D: usize> GroupScratch<S, D> {
    fn new() -> Self {
        Self { neighborhood: LeafNeighborhood::new(), row: vec![], of: vec![], close: vec![], guess2: 0.0, start: 1.0 }
    }
}

/// The search for a group of points of a leaf.
struct Search<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    own: Range<usize>,
    bounds: Aabb<S, D>,
    k: usize,
    /// The tests in open space and in the general case.
    open: RadiusTest<'a, S, D, false>,
    general: RadiusTest<'a, S, D, true>,
    scale: f64,
    /// The factor of squared distances before they are rounded to `f32`.
    unit: f64,
}

/// An interval that contains the k-th value of a row: values more than `above` and at most `most`.
struct Bracket {
    above: f32,
    most: f32,
}

impl<'a, S: Scalar, const D: usize> Search<'a, S, D> {
    #[inline(always)]
    fn new(tree: &'a Bvh<S, D>, leaf: usize, own: Range<usize>, k: usize) -> Self {
        let (scale, unit) = tree.leaf_units(leaf, k);
        let open = RadiusTest::new(tree, f64::INFINITY);
        let general = RadiusTest::scaled(tree, f64::INFINITY, scale);
        let bounds = own.clone().map(|at| tree.item(at)).reduce(|a, b| a.union(&b));
        Self { tree, own, bounds: bounds.unwrap_or(tree.node(leaf).bounds), k, open, general, scale, unit }
    }

    /// Appends the distances of the points.
    #[inline(always)]
    fn run<I: Isa>(&self, isa: I, scratch: &mut GroupScratch<S, D>, found: &mut Vec<f64>) {
        let from = found.len();
        let most = TOO_MANY * self.k + 1024;
        let mut within2 = scratch.guess2;
        let mut largest2 = None;
        for _ in 0..3 {
            found.truncate(from);
            if !(within2 > 0.0 && self.collect(isa, scratch, within2, most)) {
                break;
            }
            match self.rows(isa, scratch, within2, found) {
                Ok(found2) => {
                    largest2 = Some(found2);
                    break;
                }
                // The increase for a point cloud of uniform density, with a margin.
                Err(counted) => {
                    within2 *= (1.3 * (self.k as f64 / counted as f64).powf(0.67)).clamp(1.5, 10.0);
                }
            }
        }
        let largest2 = match largest2 {
            Some(largest2) => largest2,
            None => {
                // The distance within which these points have k neighbours along the curve bounds the search.
                let window = self.own.start.saturating_sub(self.k)..self.tree.len().min(self.own.end + self.k);
                scratch.neighborhood.clear();
                scratch.neighborhood.is_open = false;
                scratch.neighborhood.add_span(self.tree, window);
                found.truncate(from);
                let within2 = self.rows(isa, scratch, f64::INFINITY, found).unwrap_or(f64::INFINITY);
                found.truncate(from);
                if self.collect(isa, scratch, within2, most) {
                    self.rows(isa, scratch, f64::INFINITY, found).unwrap_or(f64::INFINITY)
                } else {
                    self.each(found)
                }
            }
        };
        scratch.guess2 = 1.25 * largest2;
    }

    /// Appends the distances of the points, each found by its own search, and returns the largest. Used if the box of
    /// the group is near to far more points than each point is.
    #[cold]
    #[inline(never)]
    fn each(&self, found: &mut Vec<f64>) -> f64 {
        let (mut best, options) = (ExactHeap::new(), Nearest::new(self.k));
        let mut largest2 = 0f64;
        for at in self.own.clone() {
            best.reset(&options);
            exact_search(self.tree, &self.tree.item(at), None, &mut best);
            best.sort();
            let distances2: Vec<f64> = best.neighbors().map(|near| near.distance2).collect();
            let kth = distances2.last().copied().unwrap_or(0.0);
            let is_tied = distances2.len() > 1 && distances2[distances2.len() - 2] == kth;
            largest2 = largest2.max(kth);
            found.push(if is_tied { -kth } else { kth });
        }
        largest2
    }

    /// Copies all points within a distance of the box. Returns `false` if there are more than `most`.
    #[inline(always)]
    fn collect<I: Isa>(&self, isa: I, scratch: &mut GroupScratch<S, D>, within2: f64, most: usize) -> bool {
        let tree = self.tree;
        // Rounded up, because it is squared again.
        let test = RadiusTest::<S, D, true>::scaled(tree, within2.sqrt().next_up(), self.scale);
        let neighborhood = &mut scratch.neighborhood;
        neighborhood.clear();
        tree.walk(
            0..tree.end(),
            #[inline(always)]
            |at, node| {
                if !test.meets(&self.bounds, &node.bounds) {
                    return Step::Skip;
                }
                if tree.is_leaf(at) {
                    neighborhood.is_open &= self.general.is_open_between(&self.bounds, &node.bounds);
                    let leaf = tree.blocks(&tree.span(at));
                    for block in 0..leaf.count() {
                        let own = low_bits((leaf.len - block * LANES).min(LANES));
                        let lanes = test.distances2_outlined::<I>(&self.bounds, &leaf, block, false);
                        neighborhood.add(
                            isa,
                            &leaf,
                            block,
                            S::at_most(isa, &lanes, test.thresholds.possible_limit) & own,
                        );
                    }
                } else if tree.is_degenerate(at) {
                    // At most `k` copies of one point are needed.
                    let span = tree.span(at);
                    neighborhood.is_open &= self.general.is_open_between(&self.bounds, &node.bounds);
                    neighborhood.add_span(tree, span.start..span.end.min(span.start + self.k));
                    return Step::Skip;
                }
                if neighborhood.len() > most { Step::Stop } else { Step::Enter }
            },
        );
        scratch.neighborhood.len() <= most
    }

    /// Appends the distances of the points and returns the largest. If the k-th of a point is beyond `within2`,
    /// returns the number of points found within as the error.
    #[inline(always)]
    fn rows<I: Isa>(
        &self,
        isa: I,
        scratch: &mut GroupScratch<S, D>,
        within2: f64,
        found: &mut Vec<f64>,
    ) -> Result<f64, usize> {
        let mut largest2 = 0f64;
        for at in self.own.clone() {
            let of = self.tree.item(at);
            // Few points have a k-th that is much farther than that of the point before.
            let mut most = 1.4 * scratch.start;
            let kth = loop {
                let len = self.row(isa, scratch, &of, most);
                if len >= self.k
                    && let Some(kth) = self.kth(isa, scratch, &of, len, most)
                {
                    break kth;
                }
                if most == f32::INFINITY {
                    return Err(len.max(1));
                }
                most = f32::INFINITY;
            };
            if kth.abs() > within2 {
                let most = round(self.general.limit(within2), self.unit);
                return Err(self.row(isa, scratch, &of, most).clamp(1, self.k));
            }
            largest2 = largest2.max(kth.abs());
            found.push(kth);
        }
        Ok(largest2)
    }

    /// Fills the row of a point with its distances of at most `most`, and returns their number.
    #[inline(always)]
    fn row<I: Isa>(&self, isa: I, scratch: &mut GroupScratch<S, D>, of: &Aabb<S, D>, most: f32) -> usize {
        let there = scratch.neighborhood.blocks();
        let count = there.count();
        // Compressed lanes are written eight at a time, past the last value.
        if scratch.row.len() < count + 1 {
            scratch.row.resize(count + 1, [0.0; LANES]);
            scratch.of.resize(count + 1, [0; LANES]);
        }
        let row = scratch.row.as_flattened_mut();
        let indices = scratch.of.as_flattened_mut();
        let (mut len, mut near, mut index) = (0, 0, numbers(0));
        let is_open = const { !I::OUTLINED } && scratch.neighborhood.is_open;
        for i in 0..count {
            let lanes = match is_open {
                true => self.open.distances2_outlined::<I>(of, &there, i, true),
                false => self.general.distances2_outlined::<I>(of, &there, i, true),
            };
            let lanes = S::rounded(lanes, self.unit);
            near = f32::at_most(isa, &lanes, most);
            row[len..len + LANES].copy_from_slice(&isa.compress_f32(&lanes, near));
            indices[len..len + LANES].copy_from_slice(&isa.compress_u32(&index, near));
            len += near.count_ones() as usize;
            advance(&mut index);
        }
        len -= there.beyond(near).count_ones() as usize;
        row[len..len.next_multiple_of(LANES)].fill(f32::NAN);
        len
    }

    /// The exact k-th squared distance of a row with at least `k` values, negative if another one is equal. `None` if
    /// it may lie beyond the row, which contains all distances of at most `most`.
    #[inline(always)]
    fn kth<I: Isa>(
        &self,
        isa: I,
        scratch: &mut GroupScratch<S, D>,
        of: &Aabb<S, D>,
        len: usize,
        most: f32,
    ) -> Option<f64> {
        let row = &scratch.row[..len.div_ceil(LANES)];
        let bracket = bracket(isa, row, self.k, scratch.start);
        let limit = self.general.limit(exact_most(&self.general, bracket.most, self.unit));
        let limit = round(limit, self.unit);
        if limit > most {
            return None;
        }
        if bracket.most < f32::INFINITY {
            scratch.start = bracket.most;
        }
        // A margin, so that distances that are certainly nearer are below the k-th and not equal to it.
        const BELOW: f64 = 1.0 - 1e-9;
        let nearer = self.general.sure_limit(exact_least(&self.general, bracket.above, self.unit) * BELOW);
        let nearer = round(nearer, self.unit).next_down();
        let positions = scratch.neighborhood.positions();
        scratch.close.clear();
        let mut below = 0;
        for (lanes, indices) in row.iter().zip(&scratch.of) {
            let is_below = f32::at_most(isa, lanes, nearer);
            below += is_below.count_ones() as usize;
            for l in bits(f32::at_most(isa, lanes, limit) & !is_below) {
                scratch.close.push(self.general.distance2(of, positions[indices[l] as usize] as usize));
            }
        }
        let (_, &mut kth, _) = scratch.close.select_nth_unstable_by(self.k - 1 - below, f64::total_cmp);
        let nearer = scratch.close.iter().filter(|&&distance2| distance2 < kth).count();
        Some(if below + nearer + 1 < self.k { -kth } else { kth })
    }
}

/// Returns an interval that contains the k-th value of a row and few others. `k` must be at most the number of values
/// that are not NaN. In a point cloud of uniform density, the count grows with the third power of the distance.
#[inline(always)]
fn bracket<I: Isa>(isa: I, row: &[Lanes<f32>], k: usize, start: f32) -> Bracket {
    let count = |most: f32| {
        let mut count = 0;
        for lanes in row {
            count += f32::at_most(isa, lanes, most).count_ones();
        }
        count as usize
    };
    let (mut above, mut below) = (-1.0, 0);
    let (mut most, mut up_to) = (f32::INFINITY, row.len() * LANES);
    let mut probe = start;
    for turn in 0.. {
        let counted = count(probe);
        if counted < k {
            (above, below) = (probe, counted);
        } else {
            (most, up_to) = (probe, counted);
        }
        if up_to - below <= FEW {
            break;
        }
        // Aims a little beyond the k-th if too few were counted, and a little before it if too many were.
        let wanted = if counted < k { k as f32 + 2.0 } else { k as f32 - 3.0 };
        let counted = counted as f32 + 0.5;
        probe *= 1.0 + 0.67 * (wanted - counted) / counted;
        if turn > 5 || !(above < probe && probe < most) {
            let [low, high] = [above.max(0.0), most].map(f32::to_bits);
            probe = f32::from_bits(low + (high - low) / 2);
            if !(above < probe && probe < most) {
                break;
            }
        }
    }
    Bracket { above, most }
}

#[inline(always)]
fn round<S: Scalar>(distance2: S, unit: f64) -> f32 {
    let distance2: f64 = distance2.into();
    // Distances in `f32` already have their own unit.
    (if S::IS_F32 { distance2 } else { distance2 * unit }) as f32
}

/// An upper bound on the exact squared distance, given the rounded one.
#[inline(always)]
fn exact_most<S: Scalar, const D: usize>(test: &RadiusTest<'_, S, D, true>, rounded: f32, unit: f64) -> f64 {
    let most = if S::IS_F32 { rounded.into() } else { f64::from(rounded.next_up()) / unit };
    test.at_most(S::from_f64(most))
}

/// A lower bound on the exact squared distance, given the rounded one.
#[inline(always)]
fn exact_least<S: Scalar, const D: usize>(test: &RadiusTest<'_, S, D, true>, rounded: f32, unit: f64) -> f64 {
    let rounded = rounded.max(0.0);
    let least = if S::IS_F32 { rounded.into() } else { f64::from(rounded.next_down().max(0.0)) / unit };
    test.at_least(S::from_f64(least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Space;

    /// The sorted distances of all points from each point.
    fn sorted<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> Vec<Vec<f64>> {
        let of = |at: usize| {
            let distance2 = |other| tree.space().distance2(&tree.item(at).lo, &tree.item(other).lo);
            let mut all: Vec<f64> = (0..tree.len()).map(distance2).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        (0..tree.len()).map(of).collect()
    }

    /// The expected result for one point, from all its distances.
    fn expected(all: &[f64], k: usize) -> f64 {
        if all[..k].partition_point(|&distance2| distance2 < all[k - 1]) + 1 < k { -all[k - 1] } else { all[k - 1] }
    }

    fn compare<S: Scalar, const D: usize>(points: &[[f64; D]], side: f64) {
        for exponent in [0, -70, 50] {
            let unit = 2f64.powi(exponent);
            let points: Vec<[S; D]> = points.iter().map(|point| point.map(|x| S::from_f64(unit * x))).collect();
            for side in [None, Some(unit * side)] {
                let tree = Bvh::build_in(&points, Space::periodic(side).unwrap()).unwrap();
                let sorted = sorted(&tree);
                for k in [1, 2, 5, 65, 66, points.len() - 1, points.len()] {
                    let found = kth_distances2(&tree, k).into_iter().map(f64::to_bits);
                    let expected = sorted.iter().map(|all| expected(all, k).to_bits());
                    assert!(found.eq(expected), "{D} dimensions, unit 2^{exponent}, {side:?}, k = {k}");
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
        let uniform: Vec<[f64; 3]> = (0..300).map(|_| std::array::from_fn(|_| random())).collect();
        compare::<f32, 3>(&uniform, 1.0);
        compare::<f64, 3>(&uniform, 1.0);
        let clumps: Vec<[f64; 2]> =
            (0..260).map(|i| std::array::from_fn(|_| 1.0 + 1e-3f64.powi(i % 4) * random())).collect();
        compare::<f32, 2>(&clumps, 2.5);
        compare::<f64, 2>(&clumps, 2.5);
        let lattice: Vec<[f64; 3]> = (0..216).map(|i| [i / 36, i / 6 % 6, i % 6].map(f64::from)).collect();
        compare::<f32, 3>(&lattice, 6.0);
        let copies: Vec<[f64; 3]> = (0..260).map(|i| [f64::from(i % 3).sqrt(); 3]).collect();
        compare::<f32, 3>(&copies, 4.0);
        compare::<f64, 3>(&copies, 4.0);
        compare::<f32, 3>(&vec![[0.5; 3]; 200], 1.0);
    }
}
