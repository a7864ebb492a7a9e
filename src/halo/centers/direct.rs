//! Potentials by direct sums: the oracle, and what decides between the last candidates of every other way.
//!
//! In: members. Out: for some or all of them the sum of m / distance over the others, and the member with the largest one.
//! There is one order of summation, the same at every level of instructions: blocks of [`BLOCK`] members, in each eight
//! interleaved sums which are folded as a tree; blocks one after the other. So potentials that are equal by symmetry of the
//! terms, as those of coincident members, are equal bit by bit, and the relative error is below [`ROUNDING`].
//! Cost: n distances a sum, with a square root and a division each; O(n²) for all.

use rayon::prelude::*;

use crate::halo::centers::members::Members;
use crate::simd::{LANES, dispatch};

/// Sources that are summed before the next: they stay in the first cache while all targets of a task pass by.
const BLOCK: usize = 512;
/// Room for what a block of sources adds.
pub(crate) type Shares = [f64; BLOCK];
pub(crate) const NO_SHARES: Shares = [0.0; BLOCK];
/// Targets per parallel task, at most.
const TASK: usize = 32;

/// What sources add up to at a target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    /// Of m / sqrt(d² + softening²), over sources at a distance.
    pub apart: f64,
    /// The masses of sources at no distance.
    pub here: f64,
    /// How many these are.
    pub count: u32,
}

impl Sum {
    /// What a target feels of sources of which it is one, by its mass: of coincident sources, the softened share; without
    /// softening they are left out.
    #[inline(always)]
    pub fn felt(&self, mass: f64, softening: f64) -> f64 {
        if self.count > 1 && softening > 0.0 { self.apart + (self.here - mass) / softening } else { self.apart }
    }

    /// The same of sources of which it is none.
    #[inline(always)]
    pub fn felt_of_others(&self, softening: f64) -> f64 {
        if self.count > 0 && softening > 0.0 { self.apart + self.here / softening } else { self.apart }
    }
}

/// Sums over sources, on top of a sum.
#[inline(always)]
pub(crate) fn add(sum: &mut Sum, [x, y, z, m]: [&[f64]; 4], target: [f64; 3], softening2: f64, shares: &mut Shares) {
    for start in (0..x.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(x.len());
        let (x, y, z, m) = (&x[start..end], &y[start..end], &z[start..end], &m[start..end]);
        let shares = &mut shares[..end - start];
        for ((((share, x), y), z), m) in shares.iter_mut().zip(x).zip(y).zip(z).zip(m) {
            let (dx, dy, dz) = (x - target[0], y - target[1], z - target[2]);
            let d2 = dx * dx + dy * dy + dz * dz;
            let apart = m / (d2 + softening2).sqrt();
            *share = if d2 > 0.0 { apart } else { 0.0 };
        }
        let mut lanes = [0.0; LANES];
        let (whole, rest) = shares.as_chunks::<LANES>();
        for shares in whole {
            for l in 0..LANES {
                lanes[l] += shares[l];
            }
        }
        for (lane, share) in lanes.iter_mut().zip(rest) {
            *lane += share;
        }
        sum.apart += fold(lanes);
        // Padding has no share either, but no mass.
        let mut count = 0;
        for (&share, &m) in shares.iter().zip(m) {
            count += u32::from((share == 0.0) & (m > 0.0));
        }
        sum.count += count;
        if count > 0 {
            for (&share, &m) in shares.iter().zip(m) {
                sum.here += if share == 0.0 { m } else { 0.0 };
            }
        }
    }
}

#[inline(always)]
fn fold(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// The relative error of a sum over `n` members, at most, and of all that is compared with it.
pub(crate) fn rounding(n: usize) -> f64 {
    1e-12 + n as f64 / (BLOCK as f64) * f64::EPSILON
}

/// The sums at some members, in parallel.
pub(crate) fn sums(members: &Members, targets: &[u32]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); targets.len()];
    // Few targets are shared among all threads.
    let task = targets.len().div_ceil(4 * rayon::current_num_threads()).clamp(1, TASK);
    let [x, y, z] = &members.axes;
    targets.par_chunks(task).zip(sums.par_chunks_mut(task)).for_each(|(targets, sums)| {
        let mut shares = NO_SHARES;
        for start in (0..x.len()).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(x.len());
            let sources = [&x[block.clone()], &y[block.clone()], &z[block.clone()], &members.masses[block]];
            dispatch!(_level => for (&target, sum) in targets.iter().zip(&mut *sums) {
                add(sum, sources, members.position(target as usize), members.softening2, &mut shares);
            });
        }
    });
    sums
}

/// The member that feels most, and what it took to find it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub deepest: Deepest,
    /// Ordered pairs of members that were looked at; a node or a cell counts as a member.
    pub pairs: u64,
    /// Pairs at no distance among these.
    pub coincident: u64,
}

/// By all sums; none if there are no members.
pub(crate) fn most_bound(members: &Members) -> Option<Found> {
    let targets: Vec<u32> = (0..members.len() as u32).collect();
    let sums = sums(members, &targets);
    let coincident = sums.iter().map(|sum| u64::from(sum.count - 1)).sum::<u64>() / 2;
    let n = members.len() as u64;
    Deepest::of(members, &targets, &sums).map(|deepest| Found { deepest, pairs: n * n.saturating_sub(1), coincident })
}

/// The same for members that all coincide: one sum is that of all.
pub(crate) fn most_bound_in_one_place(members: &Members) -> Option<Found> {
    let n = members.len() as u64;
    let targets: Vec<u32> = (0..members.len() as u32).collect();
    let sums = vec![sums(members, &[0]).first().copied()?; targets.len()];
    let coincident = n * (n - 1) / 2;
    Deepest::of(members, &targets, &sums).map(|deepest| Found { deepest, pairs: n - 1, coincident })
}

/// The member that feels most, the first of equals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deepest {
    pub member: u32,
    /// What it feels.
    pub felt: f64,
}

impl Deepest {
    /// Among these members.
    pub fn of(members: &Members, targets: &[u32], sums: &[Sum]) -> Option<Self> {
        let felt = targets
            .iter()
            .zip(sums)
            .map(|(&member, sum)| Self { member, felt: sum.felt(members.masses[member as usize], members.softening) });
        felt.reduce(Self::deeper)
    }

    pub fn deeper(self, other: Self) -> Self {
        if other.felt > self.felt || (other.felt == self.felt && other.member < self.member) { other } else { self }
    }
}
