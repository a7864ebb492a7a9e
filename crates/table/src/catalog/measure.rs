//! Measures one row of a catalogue: mass, centre, motion and size of a halo's members.
//!
//! Cost: two passes over the members; sums are in `f64`, in the order of the members.

use ropewalk::Scalar;
use ropewalk::geometry::Space;
use ropewalk::halo::Particles;
use ropewalk::internals::length2;

use super::halo::{Halo, Motion};

/// Returns the smallest id of the members with the halo's label, or of all members if none has it.
pub(super) fn tag_of<S: Scalar>(members: &[u32], labels: &[i32], label: u32, particles: &Particles<S>) -> u64 {
    let id = |&i: &u32| particles.id(i as usize);
    let own = members.iter().filter(|&&i| labels[i as usize] == label as i32).map(id).min();
    own.or_else(|| members.iter().map(id).min()).unwrap_or(0)
}

/// Measures one halo.
pub(super) fn measure<S: Scalar>(tag: u64, members: &[u32], particles: &Particles<S>, space: &Space<3>) -> Halo {
    let at = |i: u32| particles.position(i as usize);
    let mass_of = |i: u32| particles.mass_of(i as usize);
    let mass: f64 = members.iter().map(|&i| mass_of(i)).sum();
    // If all members are massless, they have equal weights.
    let weight_of = |i: u32| if mass > 0.0 { mass_of(i) } else { 1.0 };
    let total = if mass > 0.0 { mass } else { members.len() as f64 };
    let mean = |value: &dyn Fn(u32) -> [f64; 3]| {
        let mut sum = [0.0; 3];
        for &i in members {
            let (weight, value) = (weight_of(i), value(i));
            for k in 0..3 {
                sum[k] += weight * value[k];
            }
        }
        sum.map(|sum| sum / total)
    };

    let first = members.first().map_or([0.0; 3], |&i| at(i));
    let offset = |i: u32| space.offset(&first, &at(i));
    let drift = mean(&offset);
    let sum: f64 = members.iter().map(|&i| weight_of(i) * distance2(offset(i), drift)).sum();
    let rms_radius = (sum / total).sqrt();
    let max_radius2 = members.iter().map(|&i| distance2(offset(i), drift)).fold(0.0, f64::max);

    let motion = particles.has_velocities().then(|| {
        let velocity = |i: u32| particles.velocity(i as usize);
        let mean = mean(&velocity);
        let sum: f64 = members.iter().map(|&i| weight_of(i) * distance2(velocity(i), mean)).sum();
        Motion { mean, dispersion: (sum / (3.0 * total)).sqrt() }
    });
    Halo {
        tag,
        count: members.len(),
        mass,
        total_mass: mass,
        center: into_box(std::array::from_fn(|k| first[k] + drift[k]), space),
        motion,
        rms_radius,
        max_radius: max_radius2.sqrt(),
    }
}

fn distance2(a: [f64; 3], b: [f64; 3]) -> f64 {
    length2(std::array::from_fn(|k| a[k] - b[k]))
}

/// Wraps a position into `[0, L)`; unlike [`Space::wrap`] excludes the upper faces.
fn into_box(place: [f64; 3], space: &Space<3>) -> [f64; 3] {
    let inside = space.wrap(place);
    let Some(period) = space.period() else { return inside };
    std::array::from_fn(|k| if inside[k] < period[k] { inside[k] } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centers_stay_below_the_side() {
        let space = Space::periodic([4.0, 4.0, 2.0]).unwrap();
        assert_eq!(into_box([-1e-20, 5.0, 2.0], &space), [0.0, 1.0, 0.0]);
    }
}
