//! Centres of mass of a whole halo and of its core.
//!
//! In: the unwrapped positions and the masses of the members. Out: a position. Sums are in `f64` and in the order of
//! the members.
//! Cost: one pass over the members; for the shrinking sphere one pass per step.
//! Source: Power et al. 2003, section 2.5.

use crate::geometry::length2;
use crate::halo::centers::members::{exponent, power};

/// A sphere may always shrink to one in this number of members.
const MIN_PART: usize = 100;
/// The maximum factor; factors nearer to 1 take too many steps.
pub(super) const MAX_SHRINK: f64 = 0.9999;
/// The minimum radius of a sphere, in units of the halo's extent. Squares of larger radii do not underflow.
const MIN_RADIUS: f64 = f64::from_bits((1023 - 500) << 52);

pub(super) fn center_of_mass(offsets: &[[f64; 3]], mass: &dyn Fn(usize) -> f64) -> [f64; 3] {
    // Masses are in units of the largest, so that no sum overflows.
    let unit = (0..offsets.len()).map(mass).fold(0.0, f64::max);
    let (mut sum, mut total) = ([0.0; 3], 0.0);
    for (member, offset) in offsets.iter().enumerate() {
        let weight = mass(member) / unit;
        total += weight;
        for k in 0..3 {
            sum[k] += weight * offset[k];
        }
    }
    sum.map(|sum| sum / total)
}

/// Starts with the sphere around the centre of mass that extends to the farthest member. Each step multiplies the
/// radius by `shrink` and moves the centre to the centre of mass of the members inside. Stops before fewer than
/// `least` members are inside.
///
/// The radius starts below 4 and ends at [`MIN_RADIUS`] at the latest, after ln(4 / MIN_RADIUS) / -ln(shrink) steps.
/// These are about 14,000 for 0.975, and 3.5 million for [`MAX_SHRINK`]. Only members that are nested over 150 powers
/// of ten take that many.
pub(super) fn shrinking_sphere(
    offsets: &[[f64; 3]],
    mass: &dyn Fn(usize) -> f64,
    shrink: f64,
    least: usize,
) -> [f64; 3] {
    let least = least.min(offsets.len() / MIN_PART).max(1);
    // Offsets are in units of the extent, so that squares do not underflow. The unit is a power of two, which rounds
    // nothing.
    let unit = exponent(offsets.iter().flatten().fold(0.0, |max, x| x.abs().max(max)));
    let scaled: Vec<[f64; 3]> = offsets.iter().map(|offset| offset.map(|x| x * power(-unit))).collect();
    let distance2 = |a: &[f64; 3], b: &[f64; 3]| length2(std::array::from_fn(|k| a[k] - b[k]));
    let mut center = center_of_mass(&scaled, mass);
    let mut radius = scaled.iter().map(|offset| distance2(offset, &center)).fold(0.0, f64::max).sqrt();
    while radius > MIN_RADIUS {
        radius *= shrink;
        let within = |member: &usize| distance2(&scaled[*member], &center) <= radius * radius;
        let inside: Vec<usize> = (0..scaled.len()).filter(within).collect();
        if inside.len() < least {
            break;
        }
        let chosen: Vec<[f64; 3]> = inside.iter().map(|&member| scaled[member]).collect();
        center = center_of_mass(&chosen, &|i| mass(inside[i]));
        // Coincident members are inside every smaller sphere.
        if chosen.iter().all(|offset| offset == &chosen[0]) {
            center = chosen[0];
            break;
        }
    }
    center.map(|x| x * power(unit))
}
