//! Potentials by direct sums: the oracle, and what decides between the last candidates of every other way.
//!
//! In: members. Out: for some or all of them the sum of m / distance over the others, and the member with the largest one.
//! There is one order of summation, the same at every level of instructions: blocks of [`BLOCK`] members, in each eight
//! interleaved sums which are folded as a tree; blocks one after the other. So potentials that are equal by symmetry of the
//! terms, as those of coincident members, are equal bit by bit, and the relative error is below [`ROUNDING`].
//! Cost: n distances a sum, with a square root and a division each; O(n²) for all.

use rayon::prelude::*;

use super::members::Members;
use crate::simd::{LANES, dispatch};

/// Sources that are summed before the next: they stay in the first cache while all targets of a task pass by.
const BLOCK: usize = 512;
/// Targets per parallel task, at most.
const TASK: usize = 32;

/// Members that lie within a sum, and what they add to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    /// Of m / sqrt(d² + softening²), over sources at a distance.
    pub apart: f64,
    /// The masses of sources at no distance, the target among them.
    pub here: f64,
    /// How many these are.
    pub count: f64,
}

impl Sum {
    /// What a target of this mass feels: of coincident sources, the softened share; without softening they are left out.
    #[inline(always)]
    pub fn felt(&self, mass: f64, softening2: f64) -> f64 {
        if softening2 > 0.0 { self.apart + (self.here - mass) / softening2.sqrt() } else { self.apart }
    }
}

/// Sums over sources of whole lanes.
#[inline(always)]
pub(super) fn sum_over([x, y, z, m]: [&[f64]; 4], target: [f64; 3], softening2: f64) -> Sum {
    let (mut apart, mut here, mut count) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let blocks = x.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0).zip(z.as_chunks::<LANES>().0);
    for (((x, y), z), m) in blocks.zip(m.as_chunks::<LANES>().0) {
        for l in 0..LANES {
            let (dx, dy, dz) = (x[l] - target[0], y[l] - target[1], z[l] - target[2]);
            let d2 = dx * dx + dy * dy + dz * dz;
            let share = m[l] / (d2 + softening2).sqrt();
            apart[l] += if d2 > 0.0 { share } else { 0.0 };
            here[l] += if d2 > 0.0 { 0.0 } else { m[l] };
            count[l] += if d2 > 0.0 { 0.0 } else { 1.0 };
        }
    }
    Sum { apart: fold(apart), here: fold(here), count: fold(count) }
}

#[inline(always)]
fn fold(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// The relative error of a sum over `n` members, at most, and of all that is compared with it.
pub(super) fn rounding(n: usize) -> f64 {
    1e-12 + n as f64 / (BLOCK as f64) * f64::EPSILON
}

/// The sums at some members, in parallel.
pub(super) fn sums(members: &Members, targets: &[u32]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); targets.len()];
    // Few targets are shared among all threads.
    let task = targets.len().div_ceil(4 * rayon::current_num_threads()).clamp(1, TASK);
    let [x, y, z] = &members.axes;
    targets.par_chunks(task).zip(sums.par_chunks_mut(task)).for_each(|(targets, sums)| {
        for start in (0..x.len()).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(x.len());
            let sources = [&x[block.clone()], &y[block.clone()], &z[block.clone()], &members.masses[block]];
            dispatch!(_level => for (&target, sum) in targets.iter().zip(&mut *sums) {
                let more = sum_over(sources, members.position(target as usize), members.softening2);
                sum.apart += more.apart;
                sum.here += more.here;
                sum.count += more.count;
            });
        }
    });
    sums
}

/// The member that feels most, the first of equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deepest {
    pub member: u32,
    /// What it feels.
    pub felt: f64,
}

impl Deepest {
    /// Among these members.
    pub fn of(members: &Members, targets: &[u32], sums: &[Sum]) -> Option<Self> {
        let felt = targets.iter().zip(sums).map(|(&member, sum)| Self {
            member,
            felt: sum.felt(members.masses[member as usize], members.softening2),
        });
        felt.reduce(Self::deeper)
    }

    pub fn deeper(self, other: Self) -> Self {
        if other.felt > self.felt || (other.felt == self.felt && other.member < self.member) { other } else { self }
    }
}
