//! The sums of kernels that are densities.
//!
//! In: the distance up to which each point's kernel reaches. Out: a sum each, in tree order. One walk serves a few points: a node is
//! entered if their kernels reach it, or those below it reach them; what is there is copied into one block. Each point then gathers what
//! it gets from it, eight at a time, with every term rounded to multiples of two powers of two that are chosen for the point: such sums
//! are exact, in any order. Source of these sums: Demmel and Nguyen 2013 (pre-rounding).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bvh::traverse::{Step, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, FilteredRadius, Scalar};
use crate::memory::{append, zeroed};
use crate::parallel::{Scratch, list_tasks, map};
use crate::search::Nearest;
use crate::search::ball_predicate::BallPredicate;
use crate::search::nearby::{Nearby, groups};
use crate::search::nearest::for_each_stored;
use crate::simd::{Isa, LANES, Lanes, advance, dispatch, numbers};

/// Nodes, and points, per parallel task.
const TASK: usize = 1 << 8;
const POINTS: usize = 1 << 12;

/// The part of its reach up to which a point's own kernel counts: the terms beyond are less than 2^-91 of its largest one,
/// which is less than half of the last place that [`Sum`] keeps, 2^-87 or more. Among
/// points whose distances are equal but for rounding, as those of a far point to a cluster, that leaves out all but a few.
const INSIDE: f64 = 1.0 - 1.0 / (1 << 30) as f64;

/// Points near a group, in parts of the neighbours of a point, up to which they are looked at together.
const MOST_NEARBY: usize = 64;

/// What the points weigh, in tree order.
pub(crate) enum Masses {
    Ones,
    Each { masses: Vec<f64>, largest: f64 },
}

/// The masses of the nearest `n` over the volume of a ball, times `per`.
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

/// The sum over all j of m(j) (w(r, h(i)) + w(r, h(j))) times `per`, or without the second term; `w` is the spline over h^D, not normed.
/// It is 0 for `ghosts`, of which only what others get of them is asked; empty if there are none.
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
    // The terms that a point gets are fewer than 33 (n + 1): those of its own kernel, and those of kernels that reach it. 32 cones of
    // 60 degrees hold all directions, and within a cone only n points have it among their nearest. h(j) is at least h(i)/2 where it
    // reaches i.
    let most = largest * 512.0 * (n_density as f64 + 1.0);
    let inverse_h = map(tree.len(), POINTS, &|at| {
        let inverse = 2.0 / radius2[at].abs().sqrt();
        // Where densities are infinite, kernels reach nothing else.
        if (inverse.powi(D as i32) * most * 8.0).is_finite() { inverse } else { 0.0 }
    });
    let [relative, absolute] = FilteredRadius::<S, D>::errors(tree.space());
    // Denormal numbers are rounded by as much as the least of them.
    let least = if S::NARROW { f32::from_bits(1).into() } else { 0.0 };
    let mut reach = map(if is_symmetric { tree.len() } else { 0 }, POINTS, &|at| {
        S::from_f64((radius2[at].abs().sqrt() + absolute) * (1.0 + relative) + least)
    });
    let padding = tree.len() + LANES - reach.len();
    append(&mut reach, std::iter::repeat_n(S::ZERO, padding));
    let of_leaf = |leaf| reach[tree.span(leaf)].iter().copied().fold(S::ZERO, S::max);
    let node_reach = tree.reduce(of_leaf, |_, [left, right]| left.max(*right));
    let strength = |at: usize| {
        let mass = if let Masses::Each { masses, .. } = masses { masses[at] } else { 1.0 };
        mass * inverse_h[at].powi(D as i32)
    };
    let strongest = |leaf| tree.span(leaf).map(strength).fold(0.0, f64::max);
    let node_strength = tree.reduce(strongest, |_, [left, right]| left.max(*right));
    let terms = n_density;
    let sums =
        Sums { tree, radius2, inverse_h, reach, node_reach, node_strength, masses, is_symmetric, most, terms, ghosts };
    let scratch = Scratch::new(Block::new);
    let mut density = list_tasks(tree.end(), TASK, &|nodes| {
        let mut found = Vec::with_capacity(nodes.len() * LEAF / 2);
        scratch.with(|block| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    for own in groups(tree.span(leaf)) {
                        let (mut at, mut end, mut most) = (own.start, own.end, MOST_NEARBY * (n_density + 8));
                        while at < own.end {
                            if sums.group(isa, leaf, at..end, most, block, &mut found) {
                                at = end;
                                end = if most == usize::MAX { at + 1 } else { own.end };
                            } else {
                                // Their box is near to more points than each of them is.
                                (end, most) = (at + 1, usize::MAX);
                            }
                        }
                    }
                }
            });
        });
        found
    });
    density.iter_mut().for_each(|density| *density *= per);
    density
}

struct Sums<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    radius2: &'a [f64],
    /// 1/h, or 0 where the density is infinite.
    inverse_h: Vec<f64>,
    /// How far kernels reach, 2h and the errors of `S`, for positions and nodes; zeros if that counts for nothing.
    reach: Vec<S>,
    node_reach: Vec<S>,
    /// The largest term that a kernel of a node gives.
    node_strength: Vec<f64>,
    masses: &'a Masses,
    is_symmetric: bool,
    /// The largest sum is less than this times 1/h^D.
    most: f64,
    terms: usize,
    ghosts: &'a [bool],
}

/// What is near some points.
struct Near<S> {
    /// The square of the farthest reach of their own kernels, in the unit of the points.
    limit: S,
    /// The unit of the points.
    unit: S,
    /// Terms below this are rounded to 0 for each of the points.
    negligible: f64,
}

/// What some points get terms from.
struct Block<S, const D: usize> {
    nearby: Nearby<S, D>,
    /// The squares of how far their kernels reach, in the unit of the points.
    reach2: Vec<Lanes<S>>,
    inverse_h: Vec<f64>,
    mass: Vec<f64>,
    /// Which of them one point gets terms from.
    terms: Vec<u32>,
}

impl<S: Scalar, const D: usize> Block<S, D> {
    fn new() -> Self {
        Self { nearby: Nearby::new(), reach2: vec![], inverse_h: vec![], mass: vec![], terms: vec![] }
    }
}

impl<S: Scalar, const D: usize> Sums<'_, S, D> {
    /// Appends the sums of some points of a leaf; false if more than `most` points are near them.
    #[inline(always)]
    fn group<I: Isa>(
        &self,
        isa: I,
        leaf: usize,
        own: Range<usize>,
        most: usize,
        block: &mut Block<S, D>,
        found: &mut Vec<f64>,
    ) -> bool {
        let tree = self.tree;
        let (scale, _) = tree.units(leaf);
        let open = BallPredicate::<S, D, false>::new(tree, 0.0);
        let general = BallPredicate::<S, D, true>::scaled(tree, 0.0, scale);
        let is_asked = |at: usize| self.ghosts.get(at) != Some(&true);
        // Where densities are infinite, as among many copies of one point, no terms are needed.
        let is_finite = |at: usize| self.inverse_h[at] != 0.0;
        let asked = own.clone().filter(|&at| is_asked(at) && is_finite(at));
        let Some(bounds) = asked.clone().map(|at| tree.item(at)).reduce(|a, b| a.union(&b)) else {
            found.extend(own.map(|at| if is_asked(at) { f64::INFINITY } else { 0.0 }));
            return true;
        };
        let farthest2 = asked.clone().map(|at| self.radius2[at].abs() * INSIDE).fold(0.0, f64::max);
        let negligible = asked
            .map(|at| Sum::<D>::new(self.inverse_h[at], self.most, self.terms).negligible())
            .fold(f64::INFINITY, f64::min);
        let near = Near { limit: general.limit(farthest2), unit: S::from_f64(scale), negligible };
        if !self.collect(isa, &general, &bounds, &near, most, block) {
            return false;
        }
        for at in own {
            let inverse_h = self.inverse_h[at];
            if !is_asked(at) {
                found.push(0.0);
                continue;
            }
            if inverse_h == 0.0 {
                found.push(f64::INFINITY);
                continue;
            }
            let of = tree.item(at);
            let limit = general.limit(self.radius2[at].abs() * INSIDE);
            let sum = Sum::<D>::new(inverse_h, self.most, self.terms);
            found.push(if const { !I::OUTLINED } && block.nearby.is_open {
                sum_of(isa, &open, &of, limit, block, sum)
            } else {
                sum_of(isa, &general, &of, limit, block, sum)
            });
        }
        true
    }

    /// Copies the points that are at most `near.limit` from the box, or whose kernels reach it with terms that count; false if they are more
    /// than `most`.
    #[inline(always)]
    fn collect<I: Isa>(
        &self,
        isa: I,
        general: &BallPredicate<'_, S, D, true>,
        bounds: &Aabb<S, D>,
        near: &Near<S>,
        most: usize,
        block: &mut Block<S, D>,
    ) -> bool {
        let (tree, &Near { limit, unit, negligible }) = (self.tree, near);
        let Block { nearby, reach2, inverse_h, mass, terms } = block;
        nearby.clear();
        tree.walk(
            0..tree.end(),
            #[inline(always)]
            |at, node| {
                let is_negligible = self.node_strength[at] < negligible;
                let reach = if is_negligible { S::ZERO } else { self.node_reach[at] * unit };
                if general.min_distance2(bounds, &node.bounds) > limit.max(reach * reach) {
                    return Step::Skip;
                }
                if tree.is_leaf(at) {
                    // The choice is made for each, for kernels that reach around the boundary are of any size.
                    nearby.is_open &= general.is_open_between(bounds, &node.bounds);
                    let leaf = tree.blocks(&tree.span(at));
                    let enough = (nearby.len() + LEAF) / LANES + 2;
                    if reach2.len() < enough {
                        reach2.resize(2 * enough, [S::ZERO; LANES]);
                    }
                    let packed = reach2.as_flattened_mut();
                    for i in 0..leaf.count() {
                        let mut beyond = general.lanes_by::<I>(bounds, &leaf, i, false);
                        let mut reach: Lanes<S> = self.reach[leaf.first + i * LANES..].as_chunks().0[0];
                        for l in 0..LANES {
                            let reach2 = reach[l] * unit;
                            reach[l] = reach2 * reach2;
                            // Two infinities would have no difference.
                            beyond[l] = beyond[l].min(S::MAX) - limit.max(reach[l]);
                        }
                        let own = low_bits((leaf.len - i * LANES).min(LANES));
                        let near = S::at_most(isa, &beyond, S::ZERO) & own;
                        packed[nearby.len()..][..LANES].copy_from_slice(&S::compress(isa, &reach, near));
                        nearby.add(isa, &leaf, i, near);
                    }
                }
                if nearby.len() > most { Step::Stop } else { Step::Enter }
            },
        );
        let len = nearby.len();
        if len > most {
            return false;
        }
        inverse_h.clear();
        match self.is_symmetric {
            true => inverse_h.extend(nearby.positions().iter().map(|&at| self.inverse_h[at as usize])),
            false => inverse_h.resize(len, 0.0),
        }
        mass.clear();
        match self.masses {
            Masses::Ones => mass.resize(len, 1.0),
            Masses::Each { masses, .. } => mass.extend(nearby.positions().iter().map(|&at| masses[at as usize])),
        }
        if terms.len() < len + LANES {
            terms.resize(2 * len + LANES, 0);
        }
        true
    }
}

/// What a point gets from a block.
#[inline(always)]
fn sum_of<S: Scalar, I: Isa, const D: usize, const P: bool>(
    isa: I,
    ball: &BallPredicate<'_, S, D, P>,
    of: &Aabb<S, D>,
    limit: S,
    block: &mut Block<S, D>,
    mut sum: Sum<D>,
) -> f64 {
    let there = block.nearby.blocks();
    let (mut len, mut near, mut index) = (0, 0, numbers(0));
    for (i, reach2) in block.reach2[..there.count()].iter().enumerate() {
        let mut beyond = ball.lanes_by::<I>(of, &there, i, true);
        for l in 0..LANES {
            beyond[l] = beyond[l].min(S::MAX) - limit.max(reach2[l]);
        }
        near = S::at_most(isa, &beyond, S::ZERO);
        block.terms[len..len + LANES].copy_from_slice(&isa.compress_u32(&index, near));
        len += near.count_ones() as usize;
        advance(&mut index);
    }
    len -= there.beyond(near).count_ones() as usize;
    let (axes, inverse_h, mass) = (block.nearby.axes(), &block.inverse_h[..there.len], &block.mass[..there.len]);
    for terms in block.terms[..len].chunks(LANES) {
        let mut points = [[S::ZERO; LANES]; D];
        let [mut other_inverse_h, mut weight] = [[0.0; LANES]; 2];
        for (l, &term) in terms.iter().enumerate() {
            let term = term as usize;
            for (points, axis) in points.iter_mut().zip(&axes) {
                points[l] = axis[term];
            }
            other_inverse_h[l] = inverse_h[term];
            weight[l] = mass[term];
        }
        sum.add(&ball.distances2(&of.lo, &points), &other_inverse_h, &weight);
    }
    sum.total()
}

/// The sum of a point's terms.
struct Sum<const D: usize> {
    inverse_h: f64,
    /// Numbers to which others are added and subtracted again to round them.
    round: [f64; 2],
    sums: [Lanes<f64>; 2],
}

impl<const D: usize> Sum<D> {
    #[inline(always)]
    fn new(inverse_h: f64, most: f64, terms: usize) -> Self {
        // The power of two above the largest sum: terms are rounded to its 2^-51th, so that sums of these are exact; what is left of each
        // is at most half of that, and is rounded likewise.
        let power = above(inverse_h.powi(D as i32) * most);
        let rest = power * (0.5f64.powi(52) * above(33.0 * (terms as f64 + 1.0)));
        Self { inverse_h, round: [3.0 * power, 3.0 * rest], sums: [[0.0; LANES]; 2] }
    }

    /// Adds eight terms; those without mass are 0.
    #[inline(always)]
    fn add(&mut self, distance2: &Lanes<f64>, other: &Lanes<f64>, mass: &Lanes<f64>) {
        let own = self.inverse_h.powi(D as i32);
        let [high, low] = self.round;
        for l in 0..LANES {
            let distance = distance2[l].sqrt();
            let power = if D == 2 { other[l] * other[l] } else { other[l] * other[l] * other[l] };
            let term = mass[l] * (own * spline(distance * self.inverse_h) + power * spline(distance * other[l]));
            let rounded = (term + high) - high;
            self.sums[0][l] += rounded;
            self.sums[1][l] += (term - rounded + low) - low;
        }
    }

    /// A bound below which terms are rounded to 0: numbers less than half of the last place of `round[1]` leave it as it is.
    #[inline(always)]
    fn negligible(&self) -> f64 {
        self.round[1] * 0.5f64.powi(56)
    }

    #[inline(always)]
    fn total(self) -> f64 {
        let [high, low] = self.sums.map(|sums| sums.into_iter().sum::<f64>());
        high + low
    }
}

/// The spline M4 for q = r/h: 1 - 3/2 q^2 + 3/4 q^3 up to 1, (2 - q)^3 / 4 up to 2. Without a branch.
#[inline(always)]
pub(crate) fn spline(q: f64) -> f64 {
    let (outer, inner) = (Scalar::max(2.0 - q, 0.0), Scalar::max(1.0 - q, 0.0));
    0.25 * (outer * outer * outer) - inner * inner * inner
}

/// The power of two above a number that is not negative.
#[inline(always)]
pub(crate) fn above(number: f64) -> f64 {
    let exponent = (number.to_bits() >> 52) + 1;
    f64::from_bits(exponent.min(2046) << 52)
}
