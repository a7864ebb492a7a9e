//! The most bound particle by branch and bound.
//!
//! In: the members of a halo. Out: the member that [`sums`] over all pairs would find, and the number of evaluated
//! pairs.
//! Each round bounds the sum s_i = -phi_i of every remaining member with a far-field expansion and a list of near
//! leaves:
//!
//! ```text
//! lower_i = (far_i + near_i - error) / margin <= s_i <= (far_i + near_i + error) margin = upper_i              (1)
//! ```
//!
//! and prunes members with `upper_i < max over j of lower_j`, the lower bound of the answer. The next round has a
//! smaller tolerance and thus a smaller error. The first lower bound comes from the leaf with the deepest estimated
//! potential. Near leaves are summed in single precision, largest contributions first, and only until a member is
//! pruned. The contribution of the other near leaves is bounded by
//!
//! ```text
//! mass of the leaf / sqrt(min_distance2 of the boxes + softening²)                                             (2)
//! ```
//!
//! Direct sums decide when few members remain, or when another round would cost as much.
//! The bounds hold for the exact sums, and the margin exceeds all rounding, so the member chosen by direct sums is
//! never pruned. The work does not depend on the number of threads. Cost: O(n log n) if potentials differ, O(n²) if
//! all are equal.

use crate::error::Result;
use crate::geometry::{Aabb, Space, length2};
use crate::halo::centers::direct::{self, MostBound, MostBoundMember, NO_TERMS, Sum, Terms, rounding, sums};
use crate::halo::centers::local_expansion::{LeafInteractions, leaf_interactions};
use crate::halo::centers::members::ScaledMembers;
use crate::halo::centers::multipole::Multipoles;
use crate::halo::centers::pairwise_f32::{self, RELATIVE_ERROR, Targets};
use crate::halo::centers::small_halo;
use crate::parallel::{self, list_tasks, map};
use crate::simd::{LANES, dispatch};

/// The maximum number of members for which all pairs are evaluated.
pub(super) const SMALL: usize = 1500;
/// The maximum number of remaining members that are summed directly without another round.
const DIRECT: usize = 8;
/// The tolerance for a node in the first round, in units of the potential at the halo's root mean square radius.
const FIRST_TOLERANCE: f64 = 1e-3;
/// The factor of the tolerance between rounds.
pub(super) const TOLERANCE_FACTOR: f64 = 0.1;
/// The factor of the first tolerance for members of the leaf with the deepest estimated potential.
const DEEPEST_FACTOR: f64 = 0.01;
/// The threshold of the first pass over near leaves, as a multiple of the mean contribution that a target needs to
/// reach the lower bound. The pass sums leaves with a larger bound (2).
const FIRST_PASS: f64 = 3.0;
/// The number of near leaves in each later pass.
const PASS: usize = 8;
/// The minimum number of leaves per parallel task.
const TASK: usize = 8;

/// A remaining member: its position in tree order, and the bounds (1) of its sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub at: u32,
    pub lower: f64,
    pub upper: f64,
}

/// The member with the largest sum; `None` if there are no members.
pub(super) fn most_bound(members: &ScaledMembers) -> Result<Option<MostBound>> {
    if members.extent == 0.0 {
        return Ok(direct::most_bound_in_one_place(members));
    }
    if takes_direct_sums(members) {
        return Ok(direct::most_bound(members));
    }
    if members.len() <= SMALL {
        return Ok(small_halo::most_bound(members));
    }
    Ok(Search::new(members, &Multipoles::new(members)?).run())
}

/// Returns `true` if bounds are useless: for few members, or if the softening exceeds the extent so far that sums
/// differ by less than the error of bounds.
pub(super) fn takes_direct_sums(members: &ScaledMembers) -> bool {
    members.len() <= LANES || members.softening2 > 1e10 * members.extent * members.extent
}

/// The factor between a sum and its bounds, which covers single precision and rounding.
pub(super) fn margin(members: &ScaledMembers) -> f64 {
    1.0 + 4.0 * RELATIVE_ERROR + 4.0 * rounding(members.len())
}

pub(super) struct Search<'a> {
    members: &'a ScaledMembers,
    multipoles: &'a Multipoles,
    /// The factor of the bounds (1).
    margin: f64,
}

/// The remaining candidates of a round, and its work.
#[derive(Default)]
pub(super) struct Round {
    pub candidates: Vec<Candidate>,
    pub pairs: u64,
    coincident: u64,
}

impl Round {
    fn join(rounds: Vec<Self>) -> Self {
        let mut all = Self::default();
        for mut round in rounds {
            all.candidates.append(&mut round.candidates);
            all.pairs += round.pairs;
            all.coincident += round.coincident;
        }
        all
    }

    /// Adds a member unless its upper bound is below the lower bound.
    #[inline(always)]
    fn push(&mut self, at: u32, sum: f64, error: f64, margin: f64, lower_bound: f64) {
        let upper = (sum + error) * margin;
        if upper >= lower_bound {
            self.candidates.push(Candidate { at, lower: (sum - error) / margin, upper });
        }
    }

    /// Raises the lower bound to that of the best candidate, and prunes the candidates. Returns the new lower bound.
    fn prune(&mut self, lower_bound: f64) -> f64 {
        let lower_bound = self.candidates.iter().map(|candidate| candidate.lower).fold(lower_bound, f64::max);
        self.candidates.retain(|candidate| candidate.upper >= lower_bound);
        lower_bound
    }
}

impl<'a> Search<'a> {
    pub fn new(members: &'a ScaledMembers, multipoles: &'a Multipoles) -> Self {
        Self { members, multipoles, margin: margin(members) }
    }

    /// Returns the tolerance for a node in the first round.
    pub fn first_tolerance(&self) -> f64 {
        let multipoles = self.multipoles;
        let root = multipoles.nodes.first().copied().unwrap_or_default();
        FIRST_TOLERANCE * root.mass / (root.trace / root.mass + multipoles.softening2).sqrt()
    }

    fn run(&self) -> Option<MostBound> {
        let (multipoles, n) = (self.multipoles, self.members.len());
        let mut tolerance = self.first_tolerance();
        let mut targets: Vec<u32> = (0..n as u32).collect();
        let mut leaves = leaf_interactions(multipoles, &targets, tolerance);
        let mut deepest = self.deepest_leaf(&leaves, tolerance * DEEPEST_FACTOR);
        let mut lower_bound = deepest.prune(0.0);
        let mut pairs = deepest.pairs;
        let mut coincident = None;
        loop {
            let mut round = self.round(&leaves, &targets, lower_bound);
            lower_bound = round.prune(lower_bound);
            pairs += round.pairs;
            coincident = coincident.or(Some(round.coincident));
            if round.candidates.len() <= DIRECT || round.pairs * 4 > (targets.len() * n) as u64 {
                let (best, more) = self.decide(round.candidates, lower_bound)?;
                return Some(MostBound { best, pairs: pairs + more, coincident: coincident? / 2 });
            }
            tolerance *= TOLERANCE_FACTOR;
            targets = round.candidates.iter().map(|candidate| candidate.at).collect();
            leaves = leaf_interactions(multipoles, &targets, tolerance);
        }
    }

    /// Bounds for the members of the leaf with the largest estimated sum at its centre of mass.
    fn deepest_leaf(&self, leaves: &[LeafInteractions], tolerance: f64) -> Round {
        let multipoles = self.multipoles;
        let estimate = |interactions: &LeafInteractions| {
            let own = &multipoles.nodes[interactions.leaf as usize];
            let mut sum = interactions.far(own.center);
            for &leaf in &interactions.near {
                let other = &multipoles.nodes[leaf as usize];
                let d2 = length2(std::array::from_fn(|k| own.center[k] - other.center[k]));
                // The mass of a near leaf is treated as spread over its radius. The only member of a leaf does not act
                // on itself.
                if leaf != interactions.leaf || multipoles.tree.span(leaf as usize).len() > 1 {
                    sum += other.mass / (d2 + multipoles.softening2 + other.radius * other.radius).sqrt();
                }
            }
            (interactions.leaf, sum)
        };
        let estimates: Vec<(u32, f64)> = map(leaves.len(), TASK, &|leaf| estimate(&leaves[leaf]));
        let Some((leaf, _)) = estimates.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
            return Round::default();
        };
        let targets: Vec<u32> = multipoles.tree.span(leaf as usize).map(|at| at as u32).collect();
        self.round(&leaf_interactions(multipoles, &targets, tolerance), &targets, 0.0)
    }

    /// Returns the targets whose upper bound is not below the lower bound, in the given order.
    pub fn round(&self, leaves: &[LeafInteractions], targets: &[u32], lower_bound: f64) -> Round {
        let scratches = parallel::Scratch::new(Scratch::default);
        Round::join(list_tasks(leaves.len(), TASK, &|range| {
            let leaf = |leaf: &LeafInteractions, scratch: &mut Scratch| {
                self.leaf(leaf, &targets[leaf.targets.clone()], lower_bound, scratch)
            };
            scratches.with(|scratch| leaves[range].iter().map(|own| leaf(own, scratch)).collect())
        }))
    }

    /// Like [`Search::round`], for the targets of one leaf.
    fn leaf(&self, interactions: &LeafInteractions, targets: &[u32], lower_bound: f64, scratch: &mut Scratch) -> Round {
        let (multipoles, leaf) = (self.multipoles, interactions.leaf as usize);
        let pairs = interactions.nodes() + interactions.near.len() as u64;
        let mut round = Round { pairs, ..Round::default() };
        scratch.targets.clear();
        scratch.targets.extend(targets.iter().map(|&at| {
            let (place, mass) = multipoles.member(at as usize);
            Target { at, place, mass, far: interactions.far(place), near: 0.0 }
        }));
        let far = scratch.targets.iter().map(|target| target.far).fold(0.0, f64::max);
        let missing = (lower_bound / self.margin - (far + interactions.error())).max(0.0);
        // Leaves with the largest bounds (2) are summed first. The bound of a leaf whose box touches this one may be
        // infinite.
        let own = &multipoles.tree.node(leaf).bounds;
        let bound = |&other: &u32| (self.upper_bound(own, other), other);
        let mut near: Vec<(f64, u32)> = interactions.near.iter().map(bound).collect();
        let limit = FIRST_PASS * missing / near.len() as f64;
        let mut summed = 0;
        for i in 0..near.len() {
            if near[i].0 > limit {
                near.swap(i, summed);
                summed += 1;
            }
        }
        let mut from = 0;
        while from < near.len() && !scratch.targets.is_empty() {
            self.add_near(leaf, &near[from..summed], scratch, &mut round);
            let rest: f64 = near[summed..].iter().map(|&(upper, _)| upper).sum();
            let upper = |target: &Target| (target.far + target.near + rest + interactions.error()) * self.margin;
            scratch.targets.retain(|target| upper(target) >= lower_bound);
            if from == 0 && !scratch.targets.is_empty() {
                near[summed..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            }
            (from, summed) = (summed, (summed + PASS).min(near.len()));
        }
        for target in &scratch.targets {
            round.push(target.at, target.far + target.near, interactions.error(), self.margin, lower_bound);
        }
        round
    }

    /// The bound (2) of a leaf's contribution at any point of a box.
    fn upper_bound(&self, bounds: &Aabb<f64, 3>, leaf: u32) -> f64 {
        let min_distance2 = Space::OPEN.min_distance2(bounds, &self.multipoles.tree.node(leaf as usize).bounds);
        self.multipoles.nodes[leaf as usize].mass / (min_distance2 + self.multipoles.softening2).sqrt()
    }

    /// Adds the contributions of some near leaves to each target.
    fn add_near(&self, leaf: usize, leaves: &[(f64, u32)], scratch: &mut Scratch, round: &mut Round) {
        let (multipoles, softening2) = (self.multipoles, self.multipoles.softening2);
        let Scratch { targets, lanes, terms } = scratch;
        if targets.is_empty() || leaves.is_empty() {
            return;
        }
        lanes.clear();
        lanes.extend(targets.chunks(LANES).map(|targets| Targets::new(targets.iter().map(|target| target.place))));
        dispatch!(_level => for &(_, other) in leaves {
            pairwise_f32::add(lanes, multipoles.sources(other as usize), softening2 as f32);
        });
        let sources: usize = leaves.iter().map(|&(_, other)| multipoles.tree.span(other as usize).len()).sum();
        round.pairs += (sources * targets.len()) as u64;
        // One pass includes the leaf itself; there each target is a close source of itself.
        let with_own = leaves.iter().any(|&(_, other)| other as usize == leaf);
        let only_itself = if with_own { 1.0 } else { 0.0 };
        for (i, target) in targets.iter_mut().enumerate() {
            let (lanes, l) = (&lanes[i / LANES], i % LANES);
            if lanes.n_close[l] == only_itself {
                target.near += lanes.sums[l];
                continue;
            }
            let mut sum = Sum::default();
            dispatch!(_level => for &(_, other) in leaves {
                direct::add(&mut sum, multipoles.columns(other as usize), target.place, softening2, terms);
            });
            let softening = self.members.softening;
            target.near +=
                if with_own { sum.potential(target.mass, softening) } else { sum.potential_of_others(softening) };
            round.coincident += u64::from(sum.n_coincident).saturating_sub(u64::from(with_own));
        }
    }

    /// Computes direct sums of the candidates with the largest upper bounds, then of the others that these do not
    /// exclude.
    fn decide(&self, mut candidates: Vec<Candidate>, lower_bound: f64) -> Option<(MostBoundMember, u64)> {
        candidates.sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper).then(a.at.cmp(&b.at)));
        let first = candidates.len().min(DIRECT);
        let (mut best, mut pairs): (Option<MostBoundMember>, u64) = (None, 0);
        for part in [&candidates[..first], &candidates[first..]] {
            // The upper bounds already include the margin.
            let lower_bound = best.map_or(lower_bound, |best| best.potential);
            let wanted = part.iter().filter(|candidate| candidate.upper >= lower_bound);
            let order = self.multipoles.tree.order();
            let targets: Vec<u32> = wanted.map(|candidate| order[candidate.at as usize]).collect();
            let sums = sums(self.members, &targets);
            pairs += (targets.len() * (self.members.len() - 1)) as u64;
            best = best
                .into_iter()
                .chain(MostBoundMember::new(self.members, &targets, &sums))
                .reduce(MostBoundMember::better);
        }
        best.map(|best| (best, pairs))
    }
}

/// A member whose sum is computed.
struct Target {
    at: u32,
    place: [f64; 3],
    mass: f64,
    /// The sum over far members.
    far: f64,
    /// The sum over the members of near leaves.
    near: f64,
}

/// Buffers of one task.
struct Scratch {
    targets: Vec<Target>,
    lanes: Vec<Targets>,
    terms: Terms,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { targets: vec![], lanes: vec![], terms: NO_TERMS }
    }
}
