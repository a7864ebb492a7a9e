//! Potentials by direct sums: the definition, which decides between the candidates of every other algorithm.
//!
//! In: members. Out: for some or all members the sum over the other members
//!
//! ```text
//! -phi_i = sum over j != i of m_j / sqrt(|r_i - r_j|² + softening²)                                            (1)
//! ```
//!
//! and the member with the largest sum. These sums are potentials with the sign changed: positive, and largest for the
//! most bound particle. Every `potential` in the code below has this sign; [`ScaledMembers::potential`] changes it.
//!
//! All instruction sets use one order of summation: blocks of [`BLOCK`] members, one after the other. A block has
//! eight interleaved sums, which are folded as a tree. So sums with equal terms by symmetry, such as those of
//! coincident members, are bitwise equal. [`rounding`] bounds the relative error.
//! Cost: n distances per sum, each with a square root and a division; O(n²) for all members.

use crate::halo::centers::members::ScaledMembers;
use crate::memory::filled;
use crate::parallel::fill;
use crate::simd::{LANES, dispatch};

/// Sources per block. They stay in the first-level cache while all targets of a task are processed.
const BLOCK: usize = 512;
/// The terms of one block of sources.
pub(crate) type Terms = [f64; BLOCK];
pub(crate) const NO_TERMS: Terms = [0.0; BLOCK];
/// The maximum number of targets per parallel task.
const TASK: usize = 32;

/// The sum (1) at a target, split into sources with and without a distance from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    /// The sum of m / sqrt(d² + softening²) over sources with d > 0.
    pub separate_sum: f64,
    /// The mass of the sources with d = 0.
    pub coincident_mass: f64,
    /// The number of the sources with d = 0.
    pub n_coincident: u32,
}

impl Sum {
    /// Returns -phi of a target of the given mass that is one of the sources. Coincident sources add their mass over
    /// the softening; without softening they add nothing.
    #[inline(always)]
    pub fn potential(&self, mass: f64, softening: f64) -> f64 {
        if self.n_coincident > 1 && softening > 0.0 {
            self.separate_sum + (self.coincident_mass - mass) / softening
        } else {
            self.separate_sum
        }
    }

    /// Returns -phi of a target that is not one of the sources.
    #[inline(always)]
    pub fn potential_of_others(&self, softening: f64) -> f64 {
        if self.n_coincident > 0 && softening > 0.0 {
            self.separate_sum + self.coincident_mass / softening
        } else {
            self.separate_sum
        }
    }
}

/// Adds sources to the sum at a target.
#[inline(always)]
pub(crate) fn add(sum: &mut Sum, [x, y, z, m]: [&[f64]; 4], target: [f64; 3], softening2: f64, terms: &mut Terms) {
    for start in (0..x.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(x.len());
        let (x, y, z, m) = (&x[start..end], &y[start..end], &z[start..end], &m[start..end]);
        let terms = &mut terms[..end - start];
        for ((((term, x), y), z), m) in terms.iter_mut().zip(x).zip(y).zip(z).zip(m) {
            let (dx, dy, dz) = (x - target[0], y - target[1], z - target[2]);
            let d2 = dx * dx + dy * dy + dz * dz;
            let separate = m / (d2 + softening2).sqrt();
            *term = if d2 > 0.0 { separate } else { 0.0 };
        }
        let mut lanes = [0.0; LANES];
        let (whole, rest) = terms.as_chunks::<LANES>();
        for terms in whole {
            for l in 0..LANES {
                lanes[l] += terms[l];
            }
        }
        for (lane, term) in lanes.iter_mut().zip(rest) {
            *lane += term;
        }
        sum.separate_sum += fold(lanes);
        // The terms of padding are 0, too, but padding has no mass.
        let mut coincident = 0;
        for (&term, &m) in terms.iter().zip(m) {
            coincident += u32::from((term == 0.0) & (m > 0.0));
        }
        sum.n_coincident += coincident;
        if coincident > 0 {
            for (&term, &m) in terms.iter().zip(m) {
                sum.coincident_mass += if term == 0.0 { m } else { 0.0 };
            }
        }
    }
}

#[inline(always)]
fn fold(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// A bound on the relative error of a sum over `n` members, and of values compared with it.
pub(crate) fn rounding(n: usize) -> f64 {
    1e-12 + n as f64 / (BLOCK as f64) * f64::EPSILON
}

/// The sums at some members, in parallel.
pub(crate) fn sums(members: &ScaledMembers, targets: &[u32]) -> Vec<Sum> {
    let mut sums = filled(targets.len(), Sum::default());
    // A small number of targets is distributed over all threads.
    let task = targets.len().div_ceil(4 * rayon::current_num_threads()).clamp(1, TASK);
    let [x, y, z] = &members.axes;
    fill(&mut sums, task, &|own, sums| {
        let targets = &targets[own];
        let mut terms = NO_TERMS;
        for start in (0..x.len()).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(x.len());
            let sources = [&x[block.clone()], &y[block.clone()], &z[block.clone()], &members.masses[block]];
            dispatch!(_level => for (&target, sum) in targets.iter().zip(&mut *sums) {
                add(sum, sources, members.position(target as usize), members.softening2, &mut terms);
            });
        }
    });
    sums
}

/// The most bound particle, and the work of finding it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MostBound {
    pub best: MostBoundMember,
    /// The number of evaluated ordered pairs of members; a node or a cell counts as a member.
    pub pairs: u64,
    /// The number of unordered pairs without a distance among these.
    pub coincident: u64,
}

/// Finds the most bound particle by all direct sums; `None` if there are no members.
pub(crate) fn most_bound(members: &ScaledMembers) -> Option<MostBound> {
    let targets: Vec<u32> = (0..members.len() as u32).collect();
    let sums = sums(members, &targets);
    let coincident = sums.iter().map(|sum| u64::from(sum.n_coincident - 1)).sum::<u64>() / 2;
    let n = members.len() as u64;
    MostBoundMember::new(members, &targets, &sums).map(|best| MostBound {
        best,
        pairs: n * n.saturating_sub(1),
        coincident,
    })
}

/// Like [`most_bound`], for members that all coincide: one sum serves all of them.
pub(crate) fn most_bound_in_one_place(members: &ScaledMembers) -> Option<MostBound> {
    let n = members.len() as u64;
    let targets: Vec<u32> = (0..members.len() as u32).collect();
    let sums = filled(targets.len(), sums(members, &[0]).first().copied()?);
    let coincident = n * (n - 1) / 2;
    MostBoundMember::new(members, &targets, &sums).map(|best| MostBound { best, pairs: n - 1, coincident })
}

/// The member with the largest sum (1); ties go to the smallest index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MostBoundMember {
    pub member: u32,
    /// The sum of the member: -phi.
    pub potential: f64,
}

impl MostBoundMember {
    /// Returns the best of `targets`: that with the largest -phi, ties by index.
    pub fn new(members: &ScaledMembers, targets: &[u32], sums: &[Sum]) -> Option<Self> {
        let candidates = targets.iter().zip(sums).map(|(&member, sum)| {
            let potential = sum.potential(members.masses[member as usize], members.softening);
            Self { member, potential }
        });
        candidates.reduce(Self::better)
    }

    /// Returns the better of two members: that with the larger -phi, ties by index.
    pub fn better(self, other: Self) -> Self {
        let is_tie = other.potential == self.potential;
        if other.potential > self.potential || (is_tie && other.member < self.member) { other } else { self }
    }
}
