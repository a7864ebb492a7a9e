//! The most bound particle by branch and bound.
//!
//! In: the members of a halo. Out: the member that [`sums`] over all pairs would find, and how many pairs were looked at.
//! Round by round, with an ever smaller error: what acts on each leaf's members is split into an expansion of what is far and
//! a list of near leaves; who cannot have the largest sum is dropped. What is certain to be reached is known at first from
//! the members of one leaf that seems to lie deep, later from all who are left. ParticleInSphere leaves are looked into in single precision,
//! first those that may matter most, and only as far as it takes to drop a member; the boxes of others are a bound.
//!
//! When few are left, or another round would cost as much, direct sums decide.
//! All bounds are of the exact sums and wider than any rounding, so nobody is dropped whom the direct sums would choose.
//! The work done does not depend on threads. Cost: O(n log n) where potentials differ, O(n²) where all are the same.

use rayon::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::halo::centers::direct::{self, Deepest, Found, NO_SHARES, Shares, Sum, rounding, sums};
use crate::halo::centers::local_expansion::{Surroundings, surroundings};
use crate::halo::centers::members::Members;
use crate::halo::centers::multipole::Field;
use crate::halo::centers::pairwise_f32::{self, ROUGH, Targets};
use crate::halo::centers::small_halo;
use crate::simd::{LANES, dispatch};

/// In halos of so few members all pairs are looked at.
const SMALL: usize = 1500;
/// So few of them are summed directly in the end.
const FEW: usize = 8;
/// The error for each node in the first round, in units of the potential at the halo's root mean square radius.
const FIRST: f64 = 1e-3;
/// By how much it falls from round to round.
const FALL: f64 = 0.1;
/// And for the members of the leaf that is looked at before.
const AHEAD: f64 = 0.01;
/// ParticleInSphere leaves are looked into at once if they may amount to more than so many times their share of what is missing.
const FAIR: f64 = 3.0;
/// And after that so many at a time.
const STEP: usize = 8;
/// Leaves per parallel task, at least.
const TASK: usize = 8;

/// A member whose sum may be the largest: its position in tree order, and bounds of the sum.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: u32,
    least: f64,
    most: f64,
}

/// The member that feels most; none if there are no members.
pub(super) fn most_bound(members: &Members) -> Result<Option<Found>> {
    if members.extent == 0.0 {
        return Ok(direct::most_bound_in_one_place(members));
    }
    // Softening far beyond the extent leaves differences that no bound can tell.
    if members.len() <= LANES || members.softening2 > 1e10 * members.extent * members.extent {
        return Ok(direct::most_bound(members));
    }
    if members.len() <= SMALL {
        return Ok(small_halo::most_bound(members));
    }
    let field = Field::new(members)?;
    let margin = 1.0 + 4.0 * ROUGH + 4.0 * rounding(members.len());
    Ok(Search { members, field: &field, margin }.run())
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
    left: Vec<Candidate>,
    pairs: u64,
    coincident: u64,
}

impl Round {
    fn join(rounds: Vec<Self>) -> Self {
        let mut all = Self::default();
        for mut round in rounds {
            all.left.append(&mut round.left);
            all.pairs += round.pairs;
            all.coincident += round.coincident;
        }
        all
    }

    /// Keeps a member, unless it is certain to have less.
    #[inline(always)]
    fn keep(&mut self, at: u32, sum: f64, error: f64, margin: f64, certain: f64) {
        let most = (sum + error) * margin;
        if most >= certain {
            self.left.push(Candidate { at, least: (sum - error) / margin, most });
        }
    }

    /// Drops who cannot reach what is certain, and returns that.
    fn settle(&mut self, before: f64) -> f64 {
        let certain = self.left.iter().map(|candidate| candidate.least).fold(before, f64::max);
        self.left.retain(|candidate| candidate.most >= certain);
        certain
    }
}

impl Search<'_> {
    fn run(&self) -> Option<Found> {
        let (field, n) = (self.field, self.members.len());
        let root = field.nodes.first()?;
        let mut tolerance = FIRST * root.mass / (root.trace / root.mass + field.softening2).sqrt();
        let mut targets: Vec<u32> = (0..n as u32).collect();
        let mut around = surroundings(field, &targets, tolerance);
        let mut ahead = self.look_ahead(&around, tolerance * AHEAD);
        let mut certain = ahead.settle(0.0);
        let mut pairs = ahead.pairs;
        let mut coincident = None;
        loop {
            let mut round = self.round(&around, &targets, certain);
            certain = round.settle(certain);
            pairs += round.pairs;
            coincident = coincident.or(Some(round.coincident));
            if round.left.len() <= FEW || round.pairs * 4 > (targets.len() * n) as u64 {
                let (deepest, more) = self.decide(round.left, certain)?;
                return Some(Found { deepest, pairs: pairs + more, coincident: coincident? / 2 });
            }
            tolerance *= FALL;
            targets = round.left.iter().map(|candidate| candidate.at).collect();
            around = surroundings(field, &targets, tolerance);
        }
    }

    /// Bounds for the members of the leaf whose centre of mass seems to lie deepest.
    fn look_ahead(&self, around: &[Surroundings], tolerance: f64) -> Round {
        let field = self.field;
        let depth = |around: &Surroundings| {
            let own = &field.nodes[around.leaf as usize];
            let mut sum = around.far(own.center);
            for &leaf in &around.near {
                let other = &field.nodes[leaf as usize];
                let d2: f64 = (0..3).map(|k| (own.center[k] - other.center[k]).powi(2)).sum();
                // What is near is taken to be spread over its extent; who is alone in a leaf does not feel it.
                if leaf != around.leaf || field.tree.span(leaf as usize).len() > 1 {
                    sum += other.mass / (d2 + field.softening2 + other.radius * other.radius).sqrt();
                }
            }
            (around.leaf, sum)
        };
        let depths: Vec<(u32, f64)> = around.par_iter().with_min_len(TASK).map(depth).collect();
        let Some((leaf, _)) = depths.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
            return Round::default();
        };
        let targets: Vec<u32> = field.tree.span(leaf as usize).map(|at| at as u32).collect();
        self.round(&surroundings(field, &targets, tolerance), &targets, 0.0)
    }

    /// Who is left of the targets.
    fn round(&self, around: &[Surroundings], targets: &[u32], certain: f64) -> Round {
        let leaf = |scratch: &mut Scratch, around: &Surroundings| {
            self.leaf(around, &targets[around.targets.clone()], certain, scratch)
        };
        Round::join(around.par_iter().with_min_len(TASK).map_init(Scratch::default, leaf).collect())
    }

    /// Who is left of some members of a leaf.
    fn leaf(&self, around: &Surroundings, targets: &[u32], certain: f64, scratch: &mut Scratch) -> Round {
        let (field, leaf) = (self.field, around.leaf as usize);
        let mut round = Round { pairs: around.nodes() + around.near.len() as u64, ..Round::default() };
        scratch.targets.clear();
        scratch.targets.extend(targets.iter().map(|&at| {
            let (place, mass) = field.member(at as usize);
            Target { at, place, mass, far: around.far(place), sum: 0.0 }
        }));
        let far = scratch.targets.iter().map(|target| target.far).fold(0.0, f64::max);
        let missing = (certain / self.margin - (far + around.error())).max(0.0);
        // What matters most goes first, and as far as it takes. What touches may matter without end.
        let own = &field.tree.node(leaf).bounds;
        let mut near: Vec<(f64, u32)> = around.near.iter().map(|&other| (self.at_most(own, other), other)).collect();
        let limit = FAIR * missing / near.len() as f64;
        let mut seen = 0;
        for i in 0..near.len() {
            if near[i].0 > limit {
                near.swap(i, seen);
                seen += 1;
            }
        }
        let mut from = 0;
        while from < near.len() && !scratch.targets.is_empty() {
            self.look_into(leaf, &near[from..seen], scratch, &mut round);
            let rest: f64 = near[seen..].iter().map(|&(most, _)| most).sum();
            let reach = |target: &Target| (target.far + target.sum + rest + around.error()) * self.margin;
            scratch.targets.retain(|target| reach(target) >= certain);
            if from == 0 && !scratch.targets.is_empty() {
                near[seen..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            }
            (from, seen) = (seen, (seen + STEP).min(near.len()));
        }
        for target in &scratch.targets {
            round.keep(target.at, target.far + target.sum, around.error(), self.margin, certain);
        }
        round
    }

    /// What a leaf's members may amount to within a box.
    fn at_most(&self, bounds: &Aabb<f64, 3>, leaf: u32) -> f64 {
        let min_distance2 = min_distance2(bounds, &self.field.tree.node(leaf as usize).bounds);
        self.field.nodes[leaf as usize].mass / (min_distance2 + self.field.softening2).sqrt()
    }

    /// Adds what some leaves amount to.
    fn look_into(&self, leaf: usize, leaves: &[(f64, u32)], scratch: &mut Scratch, round: &mut Round) {
        let (field, softening2) = (self.field, self.field.softening2);
        let Scratch { targets, lanes, shares } = scratch;
        if targets.is_empty() || leaves.is_empty() {
            return;
        }
        lanes.clear();
        lanes.extend(targets.chunks(LANES).map(|targets| Targets::new(targets.iter().map(|target| target.place))));
        dispatch!(_level => for &(_, other) in leaves {
            pairwise_f32::add(lanes, field.sources(other as usize), softening2 as f32);
        });
        let sources: usize = leaves.iter().map(|&(_, other)| field.tree.span(other as usize).len()).sum();
        round.pairs += (sources * targets.len()) as u64;
        // The leaf itself is looked into once, and only then is a target one of the sources.
        let with_own = leaves.iter().any(|&(_, other)| other as usize == leaf);
        let alone = if with_own { 1.0 } else { 0.0 };
        for (i, target) in targets.iter_mut().enumerate() {
            let (lanes, l) = (&lanes[i / LANES], i % LANES);
            if lanes.close[l] == alone {
                target.sum += lanes.sums[l];
                continue;
            }
            let mut sum = Sum::default();
            dispatch!(_level => for &(_, other) in leaves {
                direct::add(&mut sum, field.bodies(other as usize), target.place, softening2, shares);
            });
            let softening = self.members.softening;
            target.sum += if with_own { sum.felt(target.mass, softening) } else { sum.felt_of_others(softening) };
            round.coincident += u64::from(sum.count).saturating_sub(u64::from(with_own));
        }
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

/// The square of the distance of two boxes.
fn min_distance2(a: &Aabb<f64, 3>, b: &Aabb<f64, 3>) -> f64 {
    (0..3).map(|k| (a.lo[k] - b.hi[k]).max(b.lo[k] - a.hi[k]).max(0.0).powi(2)).sum()
}

/// A member whose sum is wanted.
struct Target {
    at: u32,
    place: [f64; 3],
    mass: f64,
    far: f64,
    /// Of what is near.
    sum: f64,
}

/// Buffers of one task.
struct Scratch {
    targets: Vec<Target>,
    lanes: Vec<Targets>,
    shares: Shares,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { targets: vec![], lanes: vec![], shares: NO_SHARES }
    }
}
