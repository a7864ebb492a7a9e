//! Centres of mass, of a whole halo and of its core.
//!
//! In: the members' positions, unwrapped, and masses. Out: a place. Sums are in `f64` and in the order of the members.
//! Cost: one pass; a sphere that shrinks takes as many as it takes steps.
//! Source: Power et al. 2003, section 2.5.

use crate::halo::centers::members::{exponent, power};

/// The part of a halo that a sphere may shrink to at most.
const HUNDREDTH: usize = 100;
/// A factor nearer to 1 takes too many steps.
pub(super) const MOST_SHRINK: f64 = 0.9999;
/// The least radius of a sphere, in units of the halo's extent: squares of larger ones are far above the least of `f64`.
const LEAST_RADIUS: f64 = f64::from_bits((1023 - 500) << 52);

pub(super) fn center_of_mass(offsets: &[[f64; 3]], mass: &dyn Fn(usize) -> f64) -> [f64; 3] {
    // In units of the largest, so that no sum overflows.
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

/// From the centre of mass and the farthest member on, the radius becomes smaller by a factor and the centre that of the
/// members inside, until the next step would leave too few of them.
///
/// Every step multiplies the radius by `shrink`, and none follows one below [`LEAST_RADIUS`], to which it falls from less than 4
/// in ln(4 / LEAST_RADIUS) / -ln(shrink) steps: some 14,000 for 0.975, 3.5 million for [`MOST_SHRINK`]. So many are taken only by
/// members that lie in spheres within spheres over 150 powers of ten.
pub(super) fn shrinking_sphere(
    offsets: &[[f64; 3]],
    mass: &dyn Fn(usize) -> f64,
    shrink: f64,
    least: usize,
) -> [f64; 3] {
    let least = least.min(offsets.len() / HUNDREDTH).max(1);
    // In units of the extent, by a power of two, which rounds nothing: so that no square is 0 that decides.
    let unit = exponent(offsets.iter().flatten().fold(0.0, |most, x| x.abs().max(most)));
    let scaled: Vec<[f64; 3]> = offsets.iter().map(|offset| offset.map(|x| x * power(-unit))).collect();
    let square = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>();
    let mut center = center_of_mass(&scaled, mass);
    let mut radius = scaled.iter().map(|offset| square(offset, &center)).fold(0.0, f64::max).sqrt();
    while radius > LEAST_RADIUS {
        radius *= shrink;
        let within = |member: &usize| square(&scaled[*member], &center) <= radius * radius;
        let inside: Vec<usize> = (0..scaled.len()).filter(within).collect();
        if inside.len() < least {
            break;
        }
        let chosen: Vec<[f64; 3]> = inside.iter().map(|&member| scaled[member]).collect();
        center = center_of_mass(&chosen, &|i| mass(inside[i]));
        // Coincident members stay inside of any sphere.
        if chosen.iter().all(|offset| offset == &chosen[0]) {
            center = chosen[0];
            break;
        }
    }
    center.map(|x| x * power(unit))
}
