//! Centres of mass, of a whole halo and of its core.
//!
//! In: the members' positions, unwrapped, and masses. Out: a place. Sums are in `f64` and in the order of the members.
//! Cost: one pass; a sphere that shrinks takes as many as it takes steps.
//! Source: Power et al. 2003, section 2.5.

/// The part of a halo that a sphere may shrink to at most.
const HUNDREDTH: usize = 100;

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
pub(super) fn shrinking_sphere(
    offsets: &[[f64; 3]],
    mass: &dyn Fn(usize) -> f64,
    shrink: f64,
    least: usize,
) -> [f64; 3] {
    let least = least.min(offsets.len() / HUNDREDTH).max(1);
    let square = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>();
    let mut center = center_of_mass(offsets, mass);
    let mut radius = offsets.iter().map(|offset| square(offset, &center)).fold(0.0, f64::max).sqrt();
    loop {
        radius *= shrink;
        let within = |member: &usize| square(&offsets[*member], &center) <= radius * radius;
        let inside: Vec<usize> = (0..offsets.len()).filter(within).collect();
        if inside.len() < least {
            return center;
        }
        let chosen: Vec<[f64; 3]> = inside.iter().map(|&member| offsets[member]).collect();
        center = center_of_mass(&chosen, &|i| mass(inside[i]));
        // Coincident members stay inside of any sphere.
        if chosen.iter().all(|offset| offset == &chosen[0]) {
            return chosen[0];
        }
    }
}
