//! The most bound particle by branch and bound.
//!
//! In: the members of a halo. Out: the member that [`sums`] over all pairs would find, and how many pairs were looked at.
//! Round by round, with an ever smaller error: what acts on each leaf's members is split into an expansion of what is far and
//! a list of near leaves; who cannot have the largest sum is dropped. What is certain to be reached is known at first from
//! the members of one leaf that seems to lie deep, later from all who are left. Near leaves are looked into only as far as it
//! takes to drop a member:
//! 1. most have nobody so close that what is near could make up for what is missing;
//! 2. then the boxes of near leaves are a bound of what is in them;
//! 3. then their members, first in those leaves that might matter most.
//!
//! When few are left, or another round would cost as much, direct sums decide.
//! All bounds are of the exact sums and wider than any rounding, so nobody is dropped whom the direct sums would choose.
//! The work done does not depend on threads. Cost: O(n log n) where potentials differ, O(n²) where all are the same.

use rayon::prelude::*;

use super::direct::{self, Deepest, Found, ROUGH, Sum, add_roughly, rounding, sums};
use super::field::{Boxes, Field};
use super::group::{Surroundings, surroundings};
use super::members::Members;
use crate::error::Result;
use crate::geometry::Aabb;
use crate::simd::dispatch;
use crate::tree::LEAF;

/// Halos of so few members are summed directly.
const SMALL: usize = 600;
/// So few of them are summed directly in the end.
const FEW: usize = 8;
/// The error for each node in the first round, in units of the potential at the halo's root mean square radius.
const FIRST: f64 = 1e-3;
/// By how much it falls from round to round.
const FALL: f64 = 0.1;
/// And for the members of the leaf that is looked at before.
const AHEAD: f64 = 0.01;
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
    if members.len() <= SMALL || members.softening2 > 1e10 * members.extent * members.extent {
        return Ok(direct::most_bound(members));
    }
    let field = Field::new(members)?;
    let margin = 1.0 + 2.0 * ROUGH + 4.0 * rounding(members.len());
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

    /// Keeps a member, unless it is certain to have less. A sum that is not a number may be anything.
    #[inline(always)]
    fn keep(&mut self, at: u32, sum: f64, error: f64, margin: f64, certain: f64) {
        let most = (sum + error) * margin;
        if most.is_nan() || most >= certain {
            self.left.push(Candidate { at, least: (sum - error) / margin, most });
        }
    }

    /// Drops who cannot reach what is certain, and returns that.
    fn settle(&mut self, before: f64) -> f64 {
        let certain = self.left.iter().map(|candidate| candidate.least).fold(before, f64::max);
        self.left.retain(|candidate| candidate.most.is_nan() || candidate.most >= certain);
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
        let field = self.field;
        let leaf = around.leaf as usize;
        let first = field.tree.span(leaf).start as u32;
        let Scratch { boxes, inverses, most, close } = scratch;
        let mut round = Round { pairs: around.nodes(), ..Round::default() };
        dispatch!(_level => self.find_close(around, certain, close, &mut round.pairs));
        if !targets.iter().any(|&at| close[(at - first) as usize]) {
            return round;
        }
        boxes.gather(field, &around.near);
        dispatch!(_level => for &at in targets {
            if !close[(at - first) as usize] {
                continue;
            }
            let (target, mass) = field.member(leaf, at as usize);
            let (far, error) = (around.far(target), around.error());
            boxes.at_most(target, field.softening2, most);
            round.pairs += most.len() as u64;
            let mut near = Sum::default();
            // The leaf itself; then those that could make up for more than their part of what is missing; then all.
            most[around.own] = f64::INFINITY;
            let mut limit = f64::MAX;
            loop {
                let mut rest = 0.0;
                for (&other, most) in around.near.iter().zip(most.iter_mut()) {
                    if *most > limit {
                        *most = 0.0;
                        add_roughly(&mut near, field.bodies(other as usize), target, field.softening2, inverses);
                        round.pairs += field.tree.span(other as usize).len() as u64;
                    }
                    rest += *most;
                }
                let sum = far + near.felt(mass, field.softening2);
                let missing = certain / self.margin - (sum + error);
                if rest < missing {
                    break;
                }
                if rest == 0.0 {
                    round.keep(at, sum, error, self.margin, certain);
                    break;
                }
                limit = if limit == f64::MAX && missing > 0.0 { 0.5 * missing / most.len() as f64 } else { 0.0 };
            }
            // Others at no distance would be in a leaf at no distance, which would not do.
            round.coincident += u64::from(near.count.saturating_sub(1));
        });
        round
    }

    /// Finds the members of a leaf who may have others so close that all that is near, if it were as close, could lift their
    /// sum to what is certain.
    #[inline(always)]
    fn find_close(&self, around: &Surroundings, certain: f64, close: &mut [bool; LEAF], pairs: &mut u64) {
        let field = self.field;
        let leaf = around.leaf as usize;
        let [x, y, z, _] = field.bodies(leaf);
        let n = field.tree.span(leaf).len();
        let mut far = 0.0f64;
        for i in 0..n {
            far = far.max(around.far([x[i], y[i], z[i]]));
        }
        let mass: f64 = around.near.iter().map(|&near| field.nodes[near as usize].mass).sum();
        let missing = certain / self.margin - (far + around.error());
        // Twice, to be above all rounding.
        let reach2 = 2.0 * (mass / missing).powi(2) - field.softening2;
        close.fill(true);
        if missing <= 0.0 {
            return;
        }
        let mut nearest = [f64::INFINITY; LEAF];
        let nearest = &mut nearest[..x.len()];
        let own = field.tree.node(leaf).bounds;
        for &near in &around.near {
            let Aabb { lo, hi } = field.tree.node(near as usize).bounds;
            let gap = |k: usize| (lo[k] - own.hi[k]).max(own.lo[k] - hi[k]).max(0.0);
            *pairs += 1;
            if near as usize == leaf || gap(0) * gap(0) + gap(1) * gap(1) + gap(2) * gap(2) > reach2 {
                continue;
            }
            *pairs += n as u64;
            for (((nearest, x), y), z) in nearest.iter_mut().zip(x).zip(y).zip(z) {
                let mut d2 = 0.0;
                for (k, at) in [x, y, z].into_iter().enumerate() {
                    let (below, above) = (lo[k] - at, at - hi[k]);
                    let gap = if below > above { below } else { above };
                    let gap = if gap > 0.0 { gap } else { 0.0 };
                    d2 += gap * gap;
                }
                *nearest = if d2 < *nearest { d2 } else { *nearest };
            }
        }
        *pairs += (n * (n - 1)) as u64;
        for i in 0..n {
            let mut own = [f64::INFINITY; LEAF];
            for (((own, &x1), &y1), &z1) in own.iter_mut().zip(x).zip(y).zip(z) {
                let (dx, dy, dz) = (x1 - x[i], y1 - y[i], z1 - z[i]);
                *own = dx * dx + dy * dy + dz * dz;
            }
            own[i] = f64::INFINITY;
            for (nearest, own) in nearest.iter_mut().zip(own) {
                *nearest = if own < *nearest { own } else { *nearest };
            }
        }
        for (close, nearest) in close.iter_mut().zip(nearest) {
            *close = *nearest <= reach2;
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
            let wanted = part.iter().filter(|candidate| candidate.most.is_nan() || candidate.most >= certain);
            let targets: Vec<u32> = wanted.map(|candidate| self.field.tree.order()[candidate.at as usize]).collect();
            let sums = sums(self.members, &targets);
            pairs += (targets.len() * (self.members.len() - 1)) as u64;
            best = best.into_iter().chain(Deepest::of(self.members, &targets, &sums)).reduce(Deepest::deeper);
        }
        best.map(|best| (best, pairs))
    }
}

/// Buffers of one task.
struct Scratch {
    boxes: Boxes,
    most: Vec<f64>,
    inverses: [f32; LEAF],
    close: [bool; LEAF],
}

impl Default for Scratch {
    fn default() -> Self {
        Self { boxes: Boxes::default(), most: vec![], inverses: [0.0; LEAF], close: [true; LEAF] }
    }
}
