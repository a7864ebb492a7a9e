//! Kernel sums for densities.
//!
//! In: the radius of each point's kernel. Out: a sum for each point, in tree order.
//! A walk finds the points within the kernels of a small group of points of a leaf, and copies them into one block.
//! Each point of the group gathers its terms from the block, eight at a time. It also gives a term to every point
//! within its kernel whose own kernel does not reach back. So each pair is found from the end whose kernel reaches the
//! other, and no walk goes beyond the neighbours of a point.
//! Cost: O(n log n), unless rounding hides which points are near. In a periodic box this happens for points nearer to
//! each other than 1e-15 of its side (1e-6 in `f32`).
//!
//! Terms are rounded to multiples of two powers of two, which are chosen for the point that gets them. Such sums are
//! exact in any order, so threads may add to them concurrently. Source of these sums: Demmel and Nguyen 2013
//! (pre-rounding).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bvh::Bvh;
use crate::bvh::traverse::{Step, bits, low_bits};
use crate::geometry::{Aabb, Scalar};
use crate::memory::zeroed;
use crate::parallel::{Scratch, for_tasks, map};
use crate::search::Nearest;
use crate::search::leaf_neighborhood::{LeafNeighborhood, groups};
use crate::search::nearest::for_each_stored;
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, LANES, Lanes, advance, dispatch, numbers};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;
/// Points per parallel task.
const POINTS: usize = 1 << 12;

/// The q = r/h up to which a kernel reaches, slightly below 2. Terms beyond it are less than 2^-88 of the largest
/// term, and [`Sum`] rounds terms below 2^-87 of it to 0. So a distant point, whose distances to the points of a
/// cluster differ only by rounding, reaches few of them.
const REACH: f64 = 2.0 - 1.0 / (1 << 29) as f64;

/// The fraction of the squared distance `radius2` = 4 h^2 that includes all points up to [`REACH`], whatever the
/// rounding of q.
const INSIDE: f64 = 1.0 - 1.0 / (1 << 30) as f64;

/// The maximum number of points near a group for which it is processed as a whole, as a multiple of a point's
/// neighbours.
const MOST_NEARBY: usize = 64;

/// The masses of the points, in tree order.
pub(crate) enum Masses {
    Ones,
    Each { masses: Vec<f64>, largest: f64 },
}

/// The top-hat kernel: the masses of the nearest `n` over the volume of a ball, times `per`.
pub(super) struct TopHat {
    pub n: usize,
    pub per: f64,
}

pub(super) fn top_hat<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius2: &[f64],
    masses: &Masses,
    wanted: &TopHat,
) -> Vec<f64> {
    let density = |at: usize, mass: f64| match radius2[at].abs().sqrt().powi(D as i32) {
        0.0 => f64::INFINITY,
        power => mass / power * wanted.per,
    };
    let Masses::Each { masses, .. } = masses else {
        return map(tree.len(), POINTS, &|at| density(at, wanted.n as f64));
    };
    let sums: Vec<AtomicU64> = zeroed(tree.len());
    let position = tree.positions();
    for_each_stored(tree, &Nearest::new(wanted.n), &|at, best| {
        let sum: f64 = best.neighbors().map(|near| masses[position[near.index as usize] as usize]).sum();
        sums[at].store(sum.to_bits(), Relaxed);
    });
    map(tree.len(), POINTS, &|at| density(at, f64::from_bits(sums[at].load(Relaxed))))
}

/// The sum over all j of m(j) (w(r, h(i)) + w(r, h(j))) times `per`; without the second term unless `is_symmetric`.
/// `w` is the spline over h^D, not normalized. The sum is 0 for `ghosts`, which only contribute to other points; the
/// list is empty if there are none.
pub(super) fn gather<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius2: &[f64],
    masses: &Masses,
    n_density: usize,
    is_symmetric: bool,
    per: f64,
    ghosts: &[bool],
) -> Vec<f64> {
    let largest = if let Masses::Each { largest, .. } = masses { *largest } else { 1.0 };
    // A point gets fewer than 33 (n + 1) terms: those of its own kernel, and those of kernels that reach it. 32 cones
    // of 60 degrees cover all directions, and within a cone only n points have the point among their nearest. If the
    // kernel of j reaches i, h(j) is at least h(i)/2.
    let most = largest * 512.0 * (n_density as f64 + 1.0);
    let inverse_h = map(tree.len(), POINTS, &|at| {
        let inverse = 2.0 / radius2[at].abs().sqrt();
        // A kernel of infinite density reaches no other point. Kernels must be finite before masses are applied, too.
        if (per_volume::<D>(inverse) * most.max(1.0) * 8.0).is_finite() { inverse } else { 0.0 }
    });
    let totals = zeroed(tree.len());
    let sums = Sums { tree, radius2, inverse_h, masses, is_symmetric, most, terms: n_density, ghosts, totals };
    let scratch = Scratch::new(GroupScratch::new);
    for_tasks(tree.end(), TASK, &|nodes| {
        scratch.with(|block| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    for own in groups(tree.span(leaf)) {
                        let (mut at, mut end, mut most) = (own.start, own.end, MOST_NEARBY * (n_density + 8));
                        while at < own.end {
                            if sums.group(isa, leaf, at..end, most, block) {
                                at = end;
                                end = if most == usize::MAX { at + 1 } else { own.end };
                            } else {
                                // The box of the group is near to more points than each point of the group is.
                                (end, most) = (at + 1, usize::MAX);
                            }
                        }
                    }
                }
            });
        });
    });
    map(tree.len(), POINTS, &|at| match sums.is_own_point(at) {
        true if sums.inverse_h[at] == 0.0 => f64::INFINITY * per,
        true => value_of(&sums.totals[at]) * per,
        false => 0.0,
    })
}

struct Sums<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    radius2: &'a [f64],
    /// 1/h, or 0 if the density is infinite.
    inverse_h: Vec<f64>,
    masses: &'a Masses,
    is_symmetric: bool,
    /// `most` times 1/h^D is an upper bound on all sums.
    most: f64,
    terms: usize,
    ghosts: &'a [bool],
    totals: Vec<Total>,
}

/// The points near a group, from which it gets terms.
struct GroupScratch<S, const D: usize> {
    neighborhood: LeafNeighborhood<S, D>,
    inverse_h: Vec<f64>,
    mass: Vec<f64>,
    /// The indices in the block of the points that contribute to one point.
    terms: Vec<u32>,
}

impl<S: Scalar, const D: usize> GroupScratch<S, D> {
    fn new() -> Self {
        Self { neighborhood: LeafNeighborhood::new(), inverse_h: vec![], mass: vec![], terms: vec![] }
    }
}

impl<S: Scalar, const D: usize> Sums<'_, S, D> {
    /// Adds the terms of the kernels of a group of points of a leaf. Returns `false` if more than `most` points are
    /// near the group.
    #[inline(always)]
    fn group<I: Isa>(
        &self,
        isa: I,
        leaf: usize,
        own: Range<usize>,
        most: usize,
        block: &mut GroupScratch<S, D>,
    ) -> bool {
        let tree = self.tree;
        let (scale, _) = tree.leaf_units(leaf, self.terms + 1);
        let open = RadiusTest::<S, D, false>::new(tree, 0.0);
        let general = RadiusTest::<S, D, true>::scaled(tree, 0.0, scale);
        // Points of infinite density, as among many copies of one point, need no terms. Kernels of ghost points
        // contribute to other points.
        let reaching = own.filter(|&at| self.inverse_h[at] != 0.0 && (self.is_symmetric || self.is_own_point(at)));
        let Some(bounds) = reaching.clone().map(|at| tree.item(at)).reduce(|a, b| a.union(&b)) else {
            return true;
        };
        let farthest2 = reaching.clone().map(|at| self.radius2[at].abs() * INSIDE).fold(0.0, f64::max);
        if !self.collect(isa, &general, &bounds, general.limit(farthest2), most, block) {
            return false;
        }
        for at in reaching {
            let limit = general.limit(self.radius2[at].abs() * INSIDE);
            if const { !I::OUTLINED } && block.neighborhood.is_open {
                self.add_terms(isa, &open, at, limit, block);
            } else {
                self.add_terms(isa, &general, at, limit, block);
            }
        }
        true
    }

    /// Copies the points that are at most `limit` from the box. Returns `false` if there are more than `most`.
    #[inline(always)]
    fn collect<I: Isa>(
        &self,
        isa: I,
        general: &RadiusTest<'_, S, D, true>,
        bounds: &Aabb<S, D>,
        limit: S,
        most: usize,
        block: &mut GroupScratch<S, D>,
    ) -> bool {
        let tree = self.tree;
        let GroupScratch { neighborhood, inverse_h, mass, terms } = block;
        neighborhood.clear();
        tree.walk(
            0..tree.end(),
            #[inline(always)]
            |at, node| {
                if general.min_distance2(bounds, &node.bounds) > limit {
                    return Step::Skip;
                }
                if tree.is_leaf(at) {
                    neighborhood.is_open &= general.is_open_between(bounds, &node.bounds);
                    let leaf = tree.blocks(&tree.span(at));
                    for i in 0..leaf.count() {
                        let distance2 = general.distances2_outlined::<I>(bounds, &leaf, i, false);
                        let own = low_bits((leaf.len - i * LANES).min(LANES));
                        neighborhood.add(isa, &leaf, i, S::at_most(isa, &distance2, limit) & own);
                    }
                }
                if neighborhood.len() > most { Step::Stop } else { Step::Enter }
            },
        );
        let len = neighborhood.len();
        if len > most {
            return false;
        }
        inverse_h.clear();
        match self.is_symmetric {
            true => inverse_h.extend(neighborhood.positions().iter().map(|&at| self.inverse_h[at as usize])),
            false => inverse_h.resize(len, 0.0),
        }
        mass.clear();
        match self.masses {
            Masses::Ones => mass.resize(len, 1.0),
            Masses::Each { masses, .. } => mass.extend(neighborhood.positions().iter().map(|&at| masses[at as usize])),
        }
        if terms.len() < len + LANES {
            terms.resize(2 * len + LANES, 0);
        }
        true
    }

    /// Adds the terms that a point gets from the points of a block within its kernel. Gives terms to those of them
    /// whose kernels do not reach back.
    #[inline(always)]
    fn add_terms<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        at: usize,
        limit: S,
        block: &mut GroupScratch<S, D>,
    ) {
        let of = self.tree.item(at);
        let there = block.neighborhood.blocks();
        let (mut len, mut near, mut index) = (0, 0, numbers(0));
        for i in 0..there.count() {
            near = S::at_most(isa, &test.distances2_outlined::<I>(&of, &there, i, true), limit);
            block.terms[len..len + LANES].copy_from_slice(&isa.compress_u32(&index, near));
            len += near.count_ones() as usize;
            advance(&mut index);
        }
        len -= there.beyond(near).count_ones() as usize;
        let inverse_h = self.inverse_h[at];
        let mut sum = Sum::<D>::new(inverse_h, self.most, self.terms);
        let (axes, positions) = (block.neighborhood.axes(), block.neighborhood.positions());
        for terms in block.terms[..len].chunks(LANES) {
            let mut points = [[S::ZERO; LANES]; D];
            let [mut other_inverse_h, mut weight] = [[0.0; LANES]; 2];
            for (l, &term) in terms.iter().enumerate() {
                let term = term as usize;
                for (points, axis) in points.iter_mut().zip(&axes) {
                    points[l] = axis[term];
                }
                other_inverse_h[l] = block.inverse_h[term];
                weight[l] = block.mass[term];
            }
            let distances2 = test.distances2(&of.lo, &points);
            let one_sided = sum.add(&distances2, &other_inverse_h, &weight);
            for l in bits(one_sided) {
                self.give(at, positions[terms[l] as usize] as usize, distances2[l]);
            }
        }
        if self.is_own_point(at) {
            add_to(&self.totals[at], sum.parts());
        }
    }

    /// Adds the term that a point gets from the kernel of `from`, which its own kernel does not reach.
    #[inline(always)]
    fn give(&self, from: usize, to: usize, distance2: f64) {
        if self.is_own_point(to) {
            let sum = Sum::<D>::new(self.inverse_h[to], self.most, self.terms);
            let mass = if let Masses::Each { masses, .. } = self.masses { masses[from] } else { 1.0 };
            add_to(&self.totals[to], sum.rounded(distance2, self.inverse_h[from], mass));
        }
    }

    fn is_own_point(&self, at: usize) -> bool {
        self.ghosts.get(at) != Some(&true)
    }
}

/// The sum of the terms of a point's own kernel, in a high and a low part.
struct Sum<const D: usize> {
    inverse_h: f64,
    /// Constants that are added to a term and subtracted again to round it.
    round: [f64; 2],
    sums: [Lanes<f64>; 2],
}

impl<const D: usize> Sum<D> {
    #[inline(always)]
    fn new(inverse_h: f64, most: f64, terms: usize) -> Self {
        // The power of two above the largest sum. High parts are rounded to multiples of its 2^-51th, so that their
        // sums are exact. The remainders are at most half of that, and are rounded in the same way.
        let power = above(per_volume::<D>(inverse_h) * most);
        let rest = power * (0.5f64.powi(52) * above(33.0 * (terms as f64 + 1.0)));
        Self { inverse_h, round: [3.0 * power, 3.0 * rest], sums: [[0.0; LANES]; 2] }
    }

    /// The two parts of a term, for another point with 1/h of `other` and the given mass.
    #[inline(always)]
    fn rounded(&self, distance2: f64, other: f64, mass: f64) -> [f64; 2] {
        let [high, low] = self.round;
        let distance = distance2.sqrt();
        let term = mass
            * (per_volume::<D>(self.inverse_h) * spline(distance * self.inverse_h)
                + per_volume::<D>(other) * spline(distance * other));
        let rounded = (term + high) - high;
        [rounded, (term - rounded + low) - low]
    }

    /// Adds the terms of those of eight points that the point's own kernel reaches; lanes without a point have mass 0.
    /// Returns a bit for each reached point whose kernel does not reach back.
    #[inline(always)]
    fn add(&mut self, distance2: &Lanes<f64>, other: &Lanes<f64>, mass: &Lanes<f64>) -> u32 {
        let mut one_sided = 0;
        for l in 0..LANES {
            let distance = distance2[l].sqrt();
            let is_reached = distance * self.inverse_h < REACH;
            let [high, low] = self.rounded(distance2[l], other[l], if is_reached { mass[l] } else { 0.0 });
            self.sums[0][l] += high;
            self.sums[1][l] += low;
            one_sided |= u32::from(is_reached & (distance * other[l] >= REACH)) << l;
        }
        one_sided
    }

    #[inline(always)]
    fn parts(self) -> [f64; 2] {
        self.sums.map(|sums| sums.into_iter().sum::<f64>())
    }
}

/// The two parts of a sum to which threads add concurrently, as bits of `f64`. Additions are exact, so their order
/// does not matter.
type Total = [AtomicU64; 2];

fn add_to(total: &Total, parts: [f64; 2]) {
    for (sum, part) in total.iter().zip(parts) {
        if part != 0.0 {
            let add = |sum| Some((f64::from_bits(sum) + part).to_bits());
            let _always_some = sum.fetch_update(Relaxed, Relaxed, add);
        }
    }
}

fn value_of(total: &Total) -> f64 {
    let [high, low] = total.each_ref().map(|sum| f64::from_bits(sum.load(Relaxed)));
    high + low
}

/// 1/h^D, for D of 2 and 3.
#[inline(always)]
fn per_volume<const D: usize>(inverse_h: f64) -> f64 {
    if D == 2 { inverse_h * inverse_h } else { inverse_h * inverse_h * inverse_h }
}

/// The spline M4 for q = r/h: 1 - 3/2 q^2 + 3/4 q^3 up to 1, (2 - q)^3 / 4 up to 2. Branchless.
#[inline(always)]
pub(crate) fn spline(q: f64) -> f64 {
    let (outer, inner) = (Scalar::max(2.0 - q, 0.0), Scalar::max(1.0 - q, 0.0));
    0.25 * (outer * outer * outer) - inner * inner * inner
}

/// The power of two above a non-negative number.
#[inline(always)]
pub(crate) fn above(number: f64) -> f64 {
    let exponent = (number.to_bits() >> 52) + 1;
    f64::from_bits(exponent.min(2046) << 52)
}
