//! Tests which members have a potential beyond a threshold of their own, as bound particles have.
//!
//! In: members, and for some of them (the targets) the minimum required sum -phi. Out: for each target, whether its
//! sum, as computed by [`sums`], is at least that. Bounds decide for nearly all targets, direct sums for the others.
//! Bounds are tightened until the remaining direct sums cost no more than the bounds did. If a few members are
//! removed, their terms are subtracted from the bounds, which can then be used again.
//! Cost: O(n log n) if few sums are near their thresholds, O(n²) if all are equal to them; O(n) for each removed
//! member.

use crate::error::Result;
use crate::halo::centers::direct::{NO_TERMS, Sum, add, rounding, sums};
use crate::halo::centers::local_expansion::leaf_interactions;
use crate::halo::centers::members::ScaledMembers;
use crate::halo::centers::most_bound::{SMALL, Search, TOLERANCE_FACTOR, margin, takes_direct_sums};
use crate::halo::centers::multipole::Multipoles;
use crate::halo::centers::small_halo::approximate_sums;
use crate::memory::{filled, zeroed};
use crate::parallel::map;
use crate::simd::dispatch;

/// Marks members that are not targets.
const NONE: u32 = u32::MAX;
/// The cost of one term of a direct sum, in pairs of the bounds.
const DIRECT_COST: u64 = 3;
/// Targets per parallel task.
const TASK: usize = 64;

/// Bounds of the sums at targets, in the caller's units, and the number of pairs that were evaluated for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SumBounds {
    bounds: Vec<[f64; 2]>,
    pairs: u64,
}

impl SumBounds {
    /// Returns `true` if `terms` terms of direct sums cost less than new bounds.
    fn outweighs(&self, terms: usize) -> bool {
        terms as u64 * DIRECT_COST <= self.pairs
    }

    /// Subtracts the terms of removed targets. `leaving` is an ascending list of indices into `targets`. If this costs
    /// too much, returns no bounds.
    pub fn without(mut self, members: &ScaledMembers, targets: &[u32], leaving: &[u32]) -> Self {
        if !self.outweighs(leaving.len() * targets.len()) {
            return Self::default();
        }
        let column = |of: &[f64]| -> Vec<f64> { leaving.iter().map(|&at| of[targets[at as usize] as usize]).collect() };
        let [x, y, z] = members.axes.each_ref().map(|axis| column(axis));
        let masses = column(&members.masses);
        let terms = |at: usize| {
            let (mut sum, mut terms) = (Sum::default(), NO_TERMS);
            let place = members.position(targets[at] as usize);
            dispatch!(_level => add(&mut sum, [&x, &y, &z, &masses], place, members.softening2, &mut terms));
            -members.potential(sum.potential_of_others(members.softening))
        };
        let subtract = map(targets.len(), TASK, &terms);
        for ([lower, upper], terms) in self.bounds.iter_mut().zip(subtract) {
            *lower -= terms * (1.0 + 1e-11);
            *upper -= terms * (1.0 - 1e-11);
        }
        let (mut at, mut leaving) = (0..targets.len() as u32, leaving.iter().copied().peekable());
        self.bounds.retain(|_| {
            let at = at.next();
            leaving.next_if(|&leaving| Some(leaving) == at).is_none()
        });
        self
    }
}

/// Tests for each target if its sum is at least its value in `least`. `targets` are members in ascending order,
/// `least` is in the unit of the scaled members. `known` holds bounds for all targets or for none; they are replaced
/// with new bounds.
pub(crate) fn reaches_threshold(
    members: &ScaledMembers,
    targets: &[u32],
    least: &[f64],
    known: &mut SumBounds,
) -> Result<Vec<bool>> {
    let n = targets.len();
    let mut decided =
        ThresholdTest { members, targets, least, is_reached: zeroed(n), bounds: filled(n, [0.0; 2]), open: vec![] };
    let all = 0..n as u32;
    let was_known = known.bounds.len() == n && n > 0;
    if was_known {
        let bounds = all.clone().zip(&known.bounds);
        bounds.for_each(|(at, bounds)| decided.by_bounds(at, bounds.map(|bound| members.scaled(bound))));
    }
    if !was_known || !known.outweighs(decided.open.len() * members.len()) {
        decided.open.clear();
        known.pairs = (n * members.len()) as u64;
        if members.extent == 0.0 {
            // One sum serves all members.
            if let [sum] = sums(members, &[0])[..] {
                all.for_each(|target| decided.by_sum(target, &sum));
            }
        } else if takes_direct_sums(members) {
            decided.open = all.collect();
        } else if members.len() <= SMALL {
            let (approximate, margin) = (approximate_sums(members).0, margin(members));
            for target in all {
                let sum = approximate[targets[target as usize] as usize];
                decided.by_bounds(target, [sum / margin, sum * margin]);
            }
        } else {
            known.pairs = by_tree(&mut decided)?;
        }
    }
    let open = std::mem::take(&mut decided.open);
    let left: Vec<u32> = open.iter().map(|&target| targets[target as usize]).collect();
    open.iter().zip(&sums(members, &left)).for_each(|(&target, sum)| decided.by_sum(target, sum));
    known.bounds = decided.bounds.into_iter().map(|bounds| bounds.map(|bound| -members.potential(bound))).collect();
    Ok(decided.is_reached)
}

/// The results and bounds of the targets so far.
struct ThresholdTest<'a> {
    members: &'a ScaledMembers,
    targets: &'a [u32],
    least: &'a [f64],
    is_reached: Vec<bool>,
    bounds: Vec<[f64; 2]>,
    /// The targets that bounds do not decide.
    open: Vec<u32>,
}

impl ThresholdTest<'_> {
    fn by_sum(&mut self, target: u32, sum: &Sum) {
        let (members, target) = (self.members, target as usize);
        let sum = sum.potential(members.masses[self.targets[target] as usize], members.softening);
        let margin = 1.0 + 4.0 * rounding(members.len());
        self.bounds[target] = [sum / margin, sum * margin];
        self.is_reached[target] = sum >= self.least[target];
    }

    fn by_bounds(&mut self, target: u32, bounds: [f64; 2]) {
        let least = self.least[target as usize];
        self.bounds[target as usize] = bounds;
        let (is_above, is_below) = (bounds[0] >= least, bounds[1] < least);
        self.is_reached[target as usize] = is_above;
        // Bounds that have overflowed decide nothing.
        if !is_above && !is_below {
            self.open.push(target);
        }
    }
}

/// Decides targets by bounds that are tightened round by round. Returns the number of pairs.
fn by_tree(decided: &mut ThresholdTest<'_>) -> Result<u64> {
    let (members, n) = (decided.members, decided.members.len());
    let multipoles = Multipoles::new(members)?;
    let search = Search::new(members, &multipoles);
    let mut tolerance = search.first_tolerance();
    let mut target_of = filled(n, NONE);
    for (target, &member) in (0..).zip(decided.targets) {
        target_of[member as usize] = target;
    }
    let order = multipoles.tree.order();
    let target_at = |at: u32| target_of[order[at as usize] as usize];
    let mut places: Vec<u32> = (0..n as u32).filter(|&at| target_at(at) != NONE).collect();
    let mut pairs = 0;
    loop {
        // With a lower bound of 0 no target is pruned, so each gets its bounds.
        let round = search.round(&leaf_interactions(&multipoles, &places, tolerance), &places, 0.0);
        pairs += round.pairs;
        let asked = places.len();
        decided.open.clear();
        places.clear();
        for candidate in &round.candidates {
            let before = decided.open.len();
            decided.by_bounds(target_at(candidate.at), [candidate.lower, candidate.upper]);
            if decided.open.len() > before {
                places.push(candidate.at);
            }
        }
        if (places.len() * n) as u64 <= round.pairs || round.pairs * 4 > (asked * n) as u64 {
            return Ok(pairs);
        }
        tolerance *= TOLERANCE_FACTOR;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clump of `n` members and copies of two, the innermost ones close to each other, with different masses.
    fn clump(n: u32, softening: f64) -> ScaledMembers {
        let place = |i: u32| {
            let (r, turn) = (f64::from(i).powf(1.3), 2.4 * f64::from(i));
            [r * turn.cos(), r * turn.sin(), r * (0.7 * f64::from(i % 17)).sin()]
        };
        let mut places: Vec<[f64; 3]> = (0..n).map(place).collect();
        places.extend_from_within(n as usize / 2..n as usize / 2 + 2);
        ScaledMembers::new(&places, |i| 1.0 + (i % 5) as f64, softening)
    }

    /// Thresholds at, just below and just above the sums, and far from them.
    #[test]
    fn as_direct_sums_decide() {
        for (n, softening) in [(3, 0.0), (40, 0.0), (400, 5.0), (4000, 0.0), (4000, 50.0), (2000, 1e14)] {
            let members = clump(n, softening);
            let targets: Vec<u32> = (0..members.len() as u32).filter(|member| member % 3 != 1).collect();
            let direct = sums(&members, &targets);
            let of = |at: usize| direct[at].potential(members.masses[targets[at] as usize], members.softening);
            let factor = |at: usize| [1.0, 1.0 + 1e-15, 1.0 - 1e-15, 0.98, 1.02, 1e-3, 0.0, 1e3][at % 8];
            let least: Vec<f64> = (0..targets.len()).map(|at| of(at) * factor(at)).collect();
            let mut known = SumBounds::default();
            let found = reaches_threshold(&members, &targets, &least, &mut known).unwrap();
            assert!(found.iter().enumerate().all(|(at, &found)| found == (of(at) >= least[at])), "{n} {softening}");
            assert!(found.contains(&false));
            let holds = |at: usize| {
                (-members.potential(of(at)) - known.bounds[at][0]).min(known.bounds[at][1] + members.potential(of(at)))
            };
            assert!((0..targets.len()).all(|at| holds(at) >= 0.0), "{n} {softening}");
        }
    }

    /// First few members are removed, whose terms are subtracted; then so many that new bounds are computed.
    #[test]
    fn as_direct_sums_decide_without_some() {
        for (n, softening) in [(400, 5.0), (1500, 0.0), (1500, 50.0)] {
            let mut rows: Vec<u32> = (0..n).collect();
            let mut known = SumBounds::default();
            for leave in [7, 3, 1, n as usize / 2, 2] {
                let whole = clump(n, softening);
                let places: Vec<[f64; 3]> = rows.iter().map(|&row| whole.position(row as usize)).collect();
                let members = ScaledMembers::new(&places, |i| whole.masses[rows[i] as usize], whole.softening);
                let targets: Vec<u32> = (0..rows.len() as u32).collect();
                let direct = sums(&members, &targets);
                let of = |at: usize| direct[at].potential(members.masses[at], members.softening);
                let factor = |at: usize| [1.0, 1.0 + 1e-15, 1.0 - 1e-15, 0.98, 1.02, 1e-3, 0.0, 1e3][at % 8];
                let least: Vec<f64> = (0..targets.len()).map(|at| of(at) * factor(at)).collect();
                let pairs = known.pairs;
                let found = reaches_threshold(&members, &targets, &least, &mut known).unwrap();
                assert!(found.iter().enumerate().all(|(at, &found)| found == (of(at) >= least[at])), "{n} {softening}");
                let leaving: Vec<u32> = (0..leave as u32).map(|at| at * (targets.len() / leave) as u32).collect();
                known = known.without(&members, &targets, &leaving);
                assert!(leave > 7 || known.bounds.len() == targets.len() - leave, "{n} {pairs}");
                rows = (0..rows.len()).filter(|&at| !leaving.contains(&(at as u32))).map(|at| rows[at]).collect();
            }
        }
    }

    #[test]
    fn all_in_one_place() {
        let members = ScaledMembers::new(&[[0.0; 3]; 2000], |i| if i == 7 { 2.0 } else { 1.0 }, 0.5);
        let targets: Vec<u32> = (0..2000).collect();
        let [light, heavy] = [0, 7].map(|at| sums(&members, &[at])[0].potential(members.masses[at as usize], 0.5));
        assert!(heavy < light);
        let found = reaches_threshold(&members, &targets, &[light; 2000], &mut SumBounds::default()).unwrap();
        assert!((0..2000).all(|at| found[at] == (at != 7)));
    }
}
