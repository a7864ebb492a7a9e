//! The most bound particle by branch and bound.
//!
//! In: the members of a halo. Out: the member that [`sums`] over all pairs would find, and how many pairs were looked at.
//! 1. A leaf with a deep potential is found from a rough field; its members' sums bound the largest one from below.
//! 2. Leaf by leaf, what acts on its members is split into far nodes and near leaves. A member is dropped as soon as an upper
//!    bound of its sum is below: far nodes from the leaf's box, near leaves from their boxes, its own leaf exactly.
//! 3. Who is left is bounded from both sides, by quadrupoles of the far nodes and near members one by one; then again with
//!    an ever smaller error, until few are left or it would cost as much as
//! 4. direct sums, which decide.
//!
//! All bounds are of the exact sums and wider than any rounding, so nobody is dropped whom the direct sums would choose.
//! The work done does not depend on threads. Cost: O(n log n) where potentials differ, O(n²) where all are the same.

use rayon::prelude::*;

use super::direct::{Deepest, rounding, sum_over, sums};
use super::field::{Bodies, Field, Opening, Poles};
use super::members::Members;
use crate::error::Result;
use crate::geometry::Aabb;
use crate::simd::dispatch;

/// So few are summed directly.
const FEW: usize = 8;
/// The error of the first round, and by how much it falls from round to round, in units of the largest sum and per node.
const FIRST: f64 = 1e-3;
const FALL: f64 = 0.1;

/// A member whose sum may be the largest: its position in tree order, and bounds of the sum.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: u32,
    least: f64,
    most: f64,
}

/// What was found, and what it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub deepest: Deepest,
    /// Pairs of members that were looked at, a node counting as a member.
    pub pairs: u64,
    /// Ordered pairs at no distance, without softening.
    pub coincident: u64,
}

/// Buffers of one task.
#[derive(Default)]
struct Scratch {
    far: Vec<u32>,
    near: Vec<u32>,
    bodies: Bodies,
    poles: Poles,
}

pub(super) fn most_bound(members: &Members) -> Result<Option<Found>> {
    let field = Field::new(members)?;
    let search = Search { members, field: &field, margin: 1.0 + 4.0 * rounding(members.len()) };
    Ok(search.run())
}

/// Members of one leaf, in tree order.
struct Group<'a> {
    leaf: usize,
    targets: &'a [u32],
}

/// A leaf, roughly what its centre of mass feels, and what knowing that took.
struct Seed {
    leaf: u32,
    sum: f64,
    pairs: u64,
}

struct Search<'a> {
    members: &'a Members,
    field: &'a Field,
    /// Upper bounds are raised by this factor.
    margin: f64,
}

/// What a round over some members came to.
#[derive(Default)]
struct Round {
    asked: usize,
    left: Vec<Candidate>,
    pairs: u64,
    coincident: u64,
}

impl Round {
    fn join(rounds: Vec<Self>) -> Self {
        let mut all = Self::default();
        for mut round in rounds {
            all.asked += round.asked;
            all.left.append(&mut round.left);
            all.pairs += round.pairs;
            all.coincident += round.coincident;
        }
        all
    }

    /// The best that is certain.
    fn certain(&self, before: f64) -> f64 {
        self.left.iter().map(|candidate| candidate.least).fold(before, f64::max)
    }
}

impl Search<'_> {
    fn run(&self) -> Option<Found> {
        let (field, n) = (self.field, self.members.len());
        let Seed { leaf, sum, mut pairs } = self.seed()?;
        let mut tolerance = FIRST * sum;
        let targets: Vec<u32> = field.tree.span(leaf as usize).map(|at| at as u32).collect();
        let group = Group { leaf: leaf as usize, targets: &targets };
        let start = self.refine(&field.opening(tolerance * FALL), &group, 0.0, &mut Scratch::default());
        pairs += start.pairs;
        let mut certain = start.certain(0.0);

        let mut round = self.screen(&field.opening(tolerance), certain);
        let coincident = round.coincident;
        loop {
            pairs += round.pairs;
            certain = round.certain(certain);
            round.left.retain(|candidate| candidate.most >= certain);
            let left = round.left.len();
            if left <= FEW || round.pairs * 4 > (round.asked * n) as u64 {
                break;
            }
            tolerance *= FALL;
            round = self.again(&field.opening(tolerance), &round.left, certain);
        }
        let (deepest, more) = self.decide(round.left, certain)?;
        Some(Found { deepest, pairs: pairs + more, coincident: if field.softening2 > 0.0 { 0 } else { coincident } })
    }

    /// The leaf whose centre of mass seems to lie deepest.
    fn seed(&self) -> Option<Seed> {
        let field = self.field;
        let root = field.moments.first()?;
        let opening = field.opening(0.02 * root.mass / root.radius.max(field.softening2.sqrt()));
        let rough = |scratch: &mut Scratch, &leaf: &u32| {
            let at = field.moments[leaf as usize].center;
            field.walk(&opening, leaf as usize, &Aabb::point(at), &mut scratch.far, &mut scratch.near);
            let far = scratch.far.iter().map(|&node| (node, 0.0));
            // What is near is taken to be spread over its extent.
            let near = scratch.near.iter().map(|&node| (node, field.moments[node as usize].radius));
            let mut sum = 0.0;
            for (node, size) in far.chain(near) {
                let moments = &field.moments[node as usize];
                let d2: f64 = (0..3).map(|k| (at[k] - moments.center[k]) * (at[k] - moments.center[k])).sum();
                sum += moments.mass / (d2 + field.softening2 + size * size).sqrt();
            }
            Seed { leaf, sum, pairs: (scratch.far.len() + scratch.near.len()) as u64 }
        };
        let rough: Vec<Seed> = field.leaves.par_iter().with_min_len(16).map_init(Scratch::default, rough).collect();
        rough.into_iter().reduce(|a, b| Seed { pairs: a.pairs + b.pairs, ..if b.sum > a.sum { b } else { a } })
    }

    /// The first round, over all members.
    fn screen(&self, opening: &[Opening], certain: f64) -> Round {
        let leaf = |scratch: &mut Scratch, &leaf: &u32| self.screen_leaf(opening, leaf as usize, certain, scratch);
        Round::join(self.field.leaves.par_iter().with_min_len(4).map_init(Scratch::default, leaf).collect())
    }

    fn screen_leaf(&self, opening: &[Opening], leaf: usize, certain: f64, scratch: &mut Scratch) -> Round {
        let field = self.field;
        let (bounds, span) = (&field.tree.node(leaf).bounds, field.tree.span(leaf));
        let Scratch { far, near, bodies, poles } = scratch;
        field.walk(opening, leaf, bounds, far, near);
        poles.gather(field, far);
        bodies.clear();
        bodies.push(field, span.clone());
        bodies.pad();
        let mut round = Round { asked: span.len(), ..Round::default() };
        let mut targets = vec![];
        dispatch!(_level => {
            let (most, _) = poles.most(bounds, field.softening2);
            for at in span.clone() {
                let target = field.position(at);
                let own = sum_over(bodies.slices(), target, field.softening2);
                let mut most = most + own.felt(field.masses[at], field.softening2);
                for &other in near.iter() {
                    if other as usize != leaf {
                        most += field.share_at_most(other as usize, target);
                    }
                }
                if most * self.margin >= certain {
                    targets.push(at as u32);
                } else {
                    // Others at no distance would be in a leaf at no distance.
                    round.coincident += own.count as u64 - 1;
                }
            }
        });
        round.pairs = (far.len() + span.len() * (span.len() + near.len() - 2)) as u64;
        if !targets.is_empty() {
            let bounded = self.bound(&Group { leaf, targets: &targets }, bounds, certain, scratch);
            round.pairs += bounded.pairs;
            round.coincident += bounded.coincident;
            round.left = bounded.left;
        }
        round
    }

    /// A later round, over who is left.
    fn again(&self, opening: &[Opening], left: &[Candidate], certain: f64) -> Round {
        let targets: Vec<u32> = left.iter().map(|candidate| candidate.at).collect();
        // In tree order they lie together by leaves.
        let mut rest = targets.as_slice();
        let mut groups = vec![];
        for &leaf in &self.field.leaves {
            let end = self.field.tree.span(leaf as usize).end;
            let (targets, others) = rest.split_at(rest.iter().take_while(|&&at| (at as usize) < end).count());
            if !targets.is_empty() {
                groups.push(Group { leaf: leaf as usize, targets });
            }
            rest = others;
        }
        let group = |scratch: &mut Scratch, group: &Group<'_>| self.refine(opening, group, certain, scratch);
        Round::join(groups.par_iter().map_init(Scratch::default, group).collect())
    }

    /// Bounds on some members of one leaf, from a walk of their own.
    fn refine(&self, opening: &[Opening], group: &Group<'_>, certain: f64, scratch: &mut Scratch) -> Round {
        let corners = group.targets.iter().map(|&at| Aabb::point(self.field.position(at as usize)));
        let bounds = corners.fold(Aabb::EMPTY, |all, point| all.union(&point));
        self.field.walk(opening, group.leaf, &bounds, &mut scratch.far, &mut scratch.near);
        scratch.poles.gather(self.field, &scratch.far);
        self.bound(group, &bounds, certain, scratch)
    }

    /// Bounds on some members of one leaf, from what a walk for the box around them has found.
    fn bound(&self, group: &Group<'_>, bounds: &Aabb<f64, 3>, certain: f64, scratch: &mut Scratch) -> Round {
        let field = self.field;
        let Scratch { near, bodies, poles, .. } = scratch;
        bodies.clear();
        for &leaf in near.iter() {
            bodies.push(field, field.tree.span(leaf as usize));
        }
        let pairs = (poles.len() + bodies.len() - 1) * group.targets.len();
        bodies.pad();
        let mut round = Round { asked: group.targets.len(), pairs: pairs as u64, ..Round::default() };
        dispatch!(_level => {
            let (_, error) = poles.most(bounds, field.softening2);
            for &at in group.targets {
                let target = field.position(at as usize);
                let near = sum_over(bodies.slices(), target, field.softening2);
                let sum = near.felt(field.masses[at as usize], field.softening2) + poles.at(target, field.softening2);
                round.coincident += near.count as u64 - 1;
                let most = (sum + error) * self.margin;
                if most >= certain {
                    round.left.push(Candidate { at, least: (sum - error) / self.margin, most });
                }
            }
        });
        round
    }

    /// Direct sums: of those that promise most, then of the others that may still have more.
    fn decide(&self, mut left: Vec<Candidate>, certain: f64) -> Option<(Deepest, u64)> {
        left.sort_unstable_by(|a, b| b.most.total_cmp(&a.most).then(a.at.cmp(&b.at)));
        let first = left.len().min(FEW);
        let (mut best, mut pairs): (Option<Deepest>, u64) = (None, 0);
        for part in [&left[..first], &left[first..]] {
            // The margin is in the upper bounds.
            let certain = best.map_or(certain, |best| best.felt);
            let wanted = part.iter().filter(|candidate| candidate.most >= certain);
            let targets: Vec<u32> = wanted.map(|candidate| self.field.tree.order()[candidate.at as usize]).collect();
            let sums = sums(self.members, &targets);
            pairs += (targets.len() * (self.members.len() - 1)) as u64;
            best = best.into_iter().chain(Deepest::of(self.members, &targets, &sums)).reduce(Deepest::deeper);
        }
        best.map(|best| (best, pairs))
    }
}
