//! The sums of kernels that are densities.
//!
//! In: the distance up to which each point's kernel reaches. Out: a sum each, in tree order.
//! One walk serves a leaf: a node is entered if the leaf's kernels reach it, or those below it reach the leaf. Each point then gathers
//! what it gets, eight at a time, with every term rounded to multiples of two powers of two that are chosen for the point: such sums
//! are exact, in any order. Source of these sums: Demmel and Nguyen 2013 (pre-rounding).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bvh::traverse::{Step, bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, FilteredRadius, Scalar};
use crate::parallel::{Scratch, list_tasks, map};
use crate::search::Nearest;
use crate::search::ball_predicate::BallPredicate;
use crate::search::nearest::for_each_stored;
use crate::simd::{Isa, LANES, Lanes, dispatch};

/// Nodes, and points, per parallel task.
const TASK: usize = 1 << 8;
const POINTS: usize = 1 << 12;

/// What the points weigh, in tree order.
pub(super) enum Masses {
    Ones,
    Each { masses: Vec<f64>, largest: f64 },
}

impl Masses {
    #[inline(always)]
    fn of(&self, position: usize) -> f64 {
        match self {
            Self::Ones => 1.0,
            Self::Each { masses, .. } => masses[position],
        }
    }
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
    let sums: Vec<AtomicU64> = bytemuck::zeroed_vec(tree.len());
    let position = by_position(tree);
    for_each_stored(tree, &Nearest::new(wanted.n), &|at, best| {
        let sum: f64 = best.neighbors().map(|near| masses[position[near.index as usize] as usize]).sum();
        sums[at].store(sum.to_bits(), Relaxed);
    });
    map(tree.len(), POINTS, &|at| density(at, f64::from_bits(sums[at].load(Relaxed))))
}

/// Where each index is in tree order.
pub(super) fn by_position<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> Vec<u32> {
    let mut position = vec![0; tree.len()];
    for (at, &index) in tree.order().iter().enumerate() {
        position[index as usize] = at as u32;
    }
    position
}

/// The sum over all j of m(j) (w(r, h(i)) + w(r, h(j))) times `per`, or without the second term; `w` is the spline over h^D, not normed.
pub(super) fn gather<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius2: &[f64],
    masses: &Masses,
    n_density: usize,
    is_symmetric: bool,
    per: f64,
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
    let mut reach = map(if is_symmetric { tree.len() } else { 0 }, POINTS, &|at| {
        S::from_f64((radius2[at].abs().sqrt() + absolute) * (1.0 + relative))
    });
    reach.resize(tree.len() + LANES, S::ZERO);
    let of_leaf = |leaf| reach[tree.span(leaf)].iter().copied().fold(S::ZERO, S::max);
    let node_reach = tree.reduce(of_leaf, |_, [left, right]| left.max(*right));
    let sums = Sums { tree, radius2, inverse_h, reach, node_reach, masses, is_symmetric, most, terms: n_density };
    let scratch = Scratch::new(Vec::new);
    let mut density = list_tasks(tree.end(), TASK, &|nodes| {
        let mut found = Vec::with_capacity(nodes.len() * LEAF / 2);
        scratch.with(|near: &mut Vec<Near>| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    sums.leaf(isa, leaf, near, &mut found);
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
    masses: &'a Masses,
    is_symmetric: bool,
    /// The largest sum is less than this times 1/h^D.
    most: f64,
    terms: usize,
}

impl<S: Scalar, const D: usize> Sums<'_, S, D> {
    /// Appends the sums of a leaf's points.
    #[inline(always)]
    fn leaf<I: Isa>(&self, isa: I, leaf: usize, near: &mut Vec<Near>, found: &mut Vec<f64>) {
        let tree = self.tree;
        let (own, bounds) = (tree.span(leaf), &tree.node(leaf).bounds);
        let (scale, _) = tree.units(leaf);
        let unit = S::from_f64(scale);
        let open = BallPredicate::<S, D, false>::new(tree, 0.0);
        let general = BallPredicate::<S, D, true>::scaled(tree, 0.0, scale);
        let mut limits = [S::NEG_INFINITY; LEAF];
        let mut farthest = S::ZERO;
        for (limit, at) in limits.iter_mut().zip(own.clone()) {
            *limit = general.limit(self.radius2[at].abs());
            farthest = farthest.max(*limit);
        }
        let here = tree.blocks(&own);
        near.clear();
        tree.walk(
            0..tree.end(),
            #[inline(always)]
            |at, node| {
                let reach = self.node_reach[at] * unit;
                if general.min_distance2(bounds, &node.bounds) > farthest.max(reach * reach) {
                    return Step::Skip;
                }
                if tree.is_leaf(at) {
                    let mut limits = limits;
                    limits.iter_mut().for_each(|limit| *limit = limit.max(reach * reach));
                    // The choice is made for each, for kernels that reach around the boundary are of any size.
                    let is_open = const { !I::OUTLINED } && general.is_open_between(bounds, &node.bounds);
                    let rows = match is_open {
                        true => open.closer_each(isa, &node.bounds, &here, &limits),
                        false => general.closer_each(isa, &node.bounds, &here, &limits),
                    };
                    near.push(Near { leaf: at as u32, rows, is_open });
                }
                Step::Enter
            },
        );
        for (i, (limit, at)) in limits.into_iter().zip(own.clone()).enumerate() {
            let of = tree.item(at);
            let inverse_h = self.inverse_h[at];
            if inverse_h == 0.0 {
                found.push(f64::INFINITY);
                continue;
            }
            let mut sum = Sum::<D>::new(inverse_h, self.most, self.terms);
            for near in near.iter().filter(|near| near.rows >> i & 1 == 1) {
                let there = tree.blocks(&tree.span(near.leaf as usize));
                if const { !I::OUTLINED } && near.is_open {
                    self.add(isa, &open, &of, &there, limit, unit, &mut sum);
                } else {
                    self.add(isa, &general, &of, &there, limit, unit, &mut sum);
                }
            }
            found.push(sum.total());
        }
    }

    /// Adds what a point gets from those of a leaf.
    #[inline(always)]
    fn add<I: Isa, const P: bool>(
        &self,
        isa: I,
        ball: &BallPredicate<'_, S, D, P>,
        of: &Aabb<S, D>,
        there: &Blocks<'_, S, D>,
        limit: S,
        unit: S,
        sum: &mut Sum<D>,
    ) {
        for block in 0..there.count() {
            let first = there.first + block * LANES;
            let mut beyond = ball.lanes_by::<I>(of, there, block, true);
            let reach: &Lanes<S> = &self.reach[first..].as_chunks().0[0];
            for l in 0..LANES {
                let reach = reach[l] * unit;
                // Two infinities would have no difference.
                beyond[l] = beyond[l].min(S::MAX) - limit.max(reach * reach);
            }
            let own = low_bits((there.len - block * LANES).min(LANES));
            for l in bits(S::at_most(isa, &beyond, S::ZERO) & own) {
                let at = first + l;
                let inverse_h = if self.is_symmetric { self.inverse_h[at] } else { 0.0 };
                sum.push(ball.point_distance2(&of.lo, at), inverse_h, self.masses.of(at));
            }
        }
    }
}

/// So many times eight terms at a time.
const TERMS: usize = 8;

/// A leaf that some points of another may get terms from.
struct Near {
    leaf: u32,
    /// These points.
    rows: u32,
    /// Whether distances are those of open space.
    is_open: bool,
}

/// The sum of a point's terms.
struct Sum<const D: usize> {
    inverse_h: f64,
    /// Numbers to which others are added and subtracted again to round them.
    round: [f64; 2],
    sums: [[f64; LANES]; 2],
    distance2: [Lanes<f64>; TERMS],
    other_inverse_h: [Lanes<f64>; TERMS],
    mass: [Lanes<f64>; TERMS],
    len: usize,
}

impl<const D: usize> Sum<D> {
    #[inline(always)]
    fn new(inverse_h: f64, most: f64, terms: usize) -> Self {
        // The power of two above the largest sum: terms are rounded to its 2^-51th, so that sums of these are exact; what is left of each
        // is at most half of that, and is rounded likewise.
        let power = above(inverse_h.powi(D as i32) * most);
        let rest = power * (0.5f64.powi(52) * above(33.0 * (terms as f64 + 1.0)));
        Self {
            inverse_h,
            round: [3.0 * power, 3.0 * rest],
            sums: [[0.0; LANES]; 2],
            distance2: [[0.0; LANES]; TERMS],
            other_inverse_h: [[0.0; LANES]; TERMS],
            mass: [[0.0; LANES]; TERMS],
            len: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, distance2: f64, inverse_h: f64, mass: f64) {
        let (at, l) = (self.len / LANES % TERMS, self.len % LANES);
        self.distance2[at][l] = distance2;
        self.other_inverse_h[at][l] = inverse_h;
        self.mass[at][l] = mass;
        self.len += 1;
        if self.len == TERMS * LANES {
            self.add();
        }
    }

    /// Adds what was pushed.
    #[inline(always)]
    fn add(&mut self) {
        let own = self.inverse_h.powi(D as i32);
        let blocks = self.distance2.iter().zip(&self.other_inverse_h).zip(&self.mass);
        for ((distance2, other), mass) in blocks.take(self.len.div_ceil(LANES)) {
            let [mut distance, mut term] = [[0.0; LANES]; 2];
            for l in 0..LANES {
                distance[l] = distance2[l].sqrt();
            }
            for l in 0..LANES {
                let power = if D == 2 { other[l] * other[l] } else { other[l] * other[l] * other[l] };
                term[l] =
                    mass[l] * (own * spline(distance[l] * self.inverse_h) + power * spline(distance[l] * other[l]));
            }
            let [high, low] = self.round;
            for (l, &term) in term.iter().enumerate() {
                let rounded = (term + high) - high;
                self.sums[0][l] += rounded;
                self.sums[1][l] += (term - rounded + low) - low;
            }
        }
        self.len = 0;
    }

    #[inline(always)]
    fn total(mut self) -> f64 {
        // What is added beyond the last weighs nothing.
        let end = self.len.next_multiple_of(LANES);
        self.mass.as_flattened_mut()[self.len..end].fill(0.0);
        self.add();
        let [high, low] = self.sums.map(|sums| sums.into_iter().sum::<f64>());
        high + low
    }
}

/// The spline M4 for q = r/h: 1 - 3/2 q^2 + 3/4 q^3 up to 1, (2 - q)^3 / 4 up to 2. Without a branch.
#[inline(always)]
fn spline(q: f64) -> f64 {
    let (outer, inner) = (Scalar::max(2.0 - q, 0.0), Scalar::max(1.0 - q, 0.0));
    0.25 * (outer * outer * outer) - inner * inner * inner
}

/// The power of two above a number that is not negative.
#[inline(always)]
fn above(number: f64) -> f64 {
    let exponent = (number.to_bits() >> 52) + 1;
    f64::from_bits(exponent.min(2046) << 52)
}
