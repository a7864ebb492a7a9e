//! Sums in single precision, three times as fast: for bounds.
//!
//! In: coordinates and masses of at most about 1. Out: for targets the sums of m / sqrt(d² + softening²) over sources, with a
//! relative error of at most [`ROUGH`], and how many sources are too near for that, the target itself among them.
//! A coordinate is held as the sum of two `f32`, so that differences have the relative precision of `f32`, too.
//! Cost: 28 bytes a member.

use crate::halo::centers::members::NOWHERE;
use crate::simd::LANES;

/// The relative error, at most.
pub(super) const ROUGH: f64 = 5e-6;
/// So many sources are added at once, at most, or rounding would add up to more.
pub(super) const MOST: usize = 32;
/// The square of the distance from which on differences of coordinates are good enough.
const LEAST: f32 = 1e-12;

/// A source: the parts of its coordinates, and its mass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    at: [[f32; 2]; 3],
    mass: f32,
}

impl Source {
    pub fn new(at: [f64; 3], mass: f64) -> Self {
        Self { at: at.map(split), mass: mass as f32 }
    }
}

#[inline(always)]
fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - f64::from(high)) as f32]
}

/// Eight targets, and what was found for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    /// For each axis the parts of the coordinates.
    at: [[[f32; LANES]; 2]; 3],
    /// The sums over sources at a distance.
    pub sums: [f64; LANES],
    /// The same while they are being added.
    apart: [f32; LANES],
    /// How many sources are not.
    pub close: [f32; LANES],
}

impl Targets {
    /// At most eight; what is missing is far away.
    #[inline(always)]
    pub fn new(places: impl Iterator<Item = [f64; 3]>) -> Self {
        let mut targets = Self {
            at: [[[NOWHERE as f32; LANES], [0.0; LANES]]; 3],
            sums: [0.0; LANES],
            apart: [0.0; LANES],
            close: [0.0; LANES],
        };
        for (l, place) in places.take(LANES).enumerate() {
            for ([high, low], x) in targets.at.iter_mut().zip(place) {
                [high[l], low[l]] = split(x);
            }
        }
        targets
    }
}

/// Adds what sources amount to, at most [`MOST`] at once.
#[inline(always)]
pub(super) fn add(targets: &mut [Targets], sources: &[Source], softening2: f32) {
    for Targets { at: [[x, x1], [y, y1], [z, z1]], apart, close, .. } in &mut *targets {
        for Source { at, mass } in sources {
            // Step by step, and with `f64` left for later, or the compiler does not see eight at once.
            let (mut d2, mut share) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                let dx = (x[l] - at[0][0]) + (x1[l] - at[0][1]);
                let dy = (y[l] - at[1][0]) + (y1[l] - at[1][1]);
                let dz = (z[l] - at[2][0]) + (z1[l] - at[2][1]);
                d2[l] = dx * dx + dy * dy + dz * dz;
            }
            for l in 0..LANES {
                share[l] = mass / (d2[l] + softening2).sqrt();
            }
            for l in 0..LANES {
                apart[l] += if d2[l] >= LEAST { share[l] } else { 0.0 };
            }
            for l in 0..LANES {
                close[l] += if d2[l] >= LEAST { 0.0 } else { 1.0 };
            }
        }
    }
    for targets in targets {
        for l in 0..LANES {
            targets.sums[l] += f64::from(targets.apart[l]);
        }
        targets.apart = [0.0; LANES];
    }
}
