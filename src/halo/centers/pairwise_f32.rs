//! Sums over pairs in single precision, for bounds. They are three times as fast as sums in double precision.
//!
//! In: coordinates and masses of at most about 1. Out: for each target, the sum of m / sqrt(d² + softening²) over
//! sources with a relative error of at most [`RELATIVE_ERROR`]. Sources that are too close for that error, including
//! the target itself, are counted instead.
//! A coordinate is stored as the sum of two `f32`, which gives differences the relative precision of `f32`.
//! Cost: 28 bytes per member.

use crate::halo::centers::members::PADDING;
use crate::simd::LANES;

/// A bound on the relative error of a sum.
pub(super) const RELATIVE_ERROR: f64 = 5e-6;
/// The maximum number of sources in one call of [`add`]; the rounding error of longer sums exceeds the bound.
pub(super) const MAX_SOURCES: usize = 32;
/// The squared distance below which sources are close: differences of coordinates are not precise enough.
const MIN_DISTANCE2: f32 = 1e-12;

/// A source: the two parts of each coordinate, and the mass.
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

/// Eight targets and their sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    /// The two parts of the coordinates, for each axis.
    at: [[[f32; LANES]; 2]; 3],
    /// The sums over sources that are not close.
    pub sums: [f64; LANES],
    /// The sums of the current call of [`add`].
    separate_sum: [f32; LANES],
    /// The number of close sources.
    pub n_close: [f32; LANES],
}

impl Targets {
    /// Stores at most eight positions; unused lanes are at [`PADDING`].
    #[inline(always)]
    pub fn new(places: impl Iterator<Item = [f64; 3]>) -> Self {
        let mut targets = Self {
            at: [[[PADDING as f32; LANES], [0.0; LANES]]; 3],
            sums: [0.0; LANES],
            separate_sum: [0.0; LANES],
            n_close: [0.0; LANES],
        };
        for (l, place) in places.take(LANES).enumerate() {
            for ([high, low], x) in targets.at.iter_mut().zip(place) {
                [high[l], low[l]] = split(x);
            }
        }
        targets
    }
}

/// Adds at most [`MAX_SOURCES`] sources to the sums of all targets.
#[inline(always)]
pub(super) fn add(targets: &mut [Targets], sources: &[Source], softening2: f32) {
    for Targets { at: [[x, x1], [y, y1], [z, z1]], separate_sum, n_close, .. } in &mut *targets {
        for Source { at, mass } in sources {
            // Separate loops without `f64`, because otherwise the compiler does not use whole vectors.
            let (mut d2, mut term) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                let dx = (x[l] - at[0][0]) + (x1[l] - at[0][1]);
                let dy = (y[l] - at[1][0]) + (y1[l] - at[1][1]);
                let dz = (z[l] - at[2][0]) + (z1[l] - at[2][1]);
                d2[l] = dx * dx + dy * dy + dz * dz;
            }
            for l in 0..LANES {
                term[l] = mass / (d2[l] + softening2).sqrt();
            }
            for l in 0..LANES {
                separate_sum[l] += if d2[l] >= MIN_DISTANCE2 { term[l] } else { 0.0 };
            }
            for l in 0..LANES {
                n_close[l] += if d2[l] >= MIN_DISTANCE2 { 0.0 } else { 1.0 };
            }
        }
    }
    for targets in targets {
        for l in 0..LANES {
            targets.sums[l] += f64::from(targets.separate_sum[l]);
        }
        targets.separate_sum = [0.0; LANES];
    }
}
