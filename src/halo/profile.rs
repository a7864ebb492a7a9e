//! Density profiles of halos about their centres, with NFW fits.
//!
//! In: all particles, centres, and the radius of each halo. Out: a [`Profile`] for each centre.
//! Cost: one tree; a range query for each centre, and a search in one dimension for the fit. In parallel over centres.
//! Source: Navarro, Frenk and White 1997.

use std::f64::consts::PI;

use crate::error::{Kind, Result};
use crate::geometry::Scalar;
use crate::halo::centers::Places;
use crate::halo::particles::Particles;
use crate::halo::sphere_search::{ParticleInSphere, ParticleTree};
use crate::parallel::map;

/// The innermost radius of a profile, in units of the outermost.
const INNER: f64 = 0.02;
/// The range of scale radii of the fit, in the same units.
const SCALES: (f64, f64) = (1e-3, 10.0);

/// A spherical shell: `inner < r <= outer`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Shell {
    /// The inner radius, exclusive.
    pub inner: f64,
    /// The outer radius, inclusive.
    pub outer: f64,
    /// The number of particles inside; the density's relative Poisson error is `1 / sqrt(count)`.
    pub count: usize,
    /// Their mass.
    pub mass: f64,
    /// The mass over the volume.
    pub density: f64,
    /// The mass within the outer radius, from the centre on.
    pub enclosed: f64,
}

/// `rho(r) = density / ((r / radius) (1 + r / radius)^2)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NfwFit {
    /// The scale radius.
    pub radius: f64,
    /// The characteristic density.
    pub density: f64,
    /// The outermost radius over the scale radius.
    pub concentration: f64,
}

/// The profile of one halo.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Profile {
    /// From the inside out.
    pub shells: Vec<Shell>,
    /// The most likely NFW profile; `None` with fewer than three shells that have mass, or if its scale radius is not from 0.001 to 10
    /// times the outermost radius.
    pub fit: Option<NfwFit>,
}

/// Profiles about each of `centers`, in `shells` shells of equal logarithmic width from 0.02 times the halo's radius to it.
///
/// Centres are `&`[`Centers`](crate::Centers), or places of one's own; particles and centres are in the space that any of them knows.
/// A radius of 0, as of a halo without an overdense sphere, and a halo without a centre give a profile without shells. The fit is by
/// maximum likelihood, with the shells' masses as a multinomial sample of the model's: empty shells count, and no error is estimated
/// from few particles.
///
/// Errors: not one radius for each centre; a radius that is negative or not finite, or more than half of a periodic box; a
/// centre that is not finite; centres of another space than the particles'; masses whose sum is not finite; particles that
/// [`Catalog::new`](crate::Catalog::new) or [`Bvh::build`](crate::Bvh::build) refuses.
///
/// ```
/// use ropewalk::halo::profiles;
/// use ropewalk::Particles;
///
/// let positions: Vec<[f64; 3]> = (1..=100).map(|i| [0.01 * f64::from(i), 0.0, 0.0]).collect();
/// let profile = &profiles(&Particles::new(&positions), &[[0.0; 3]], &[1.0], 5)?[0];
/// assert_eq!(profile.shells.len(), 5);
/// assert_eq!(profile.shells[4].enclosed, 100.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn profiles<'c, S: Scalar>(
    particles: &Particles<S>,
    centers: impl Into<Places<'c>>,
    radii: &[f64],
    shells: usize,
) -> Result<Vec<Profile>> {
    profiles_about(particles, &centers.into(), radii, shells)
}

fn profiles_about<S: Scalar>(
    particles: &Particles<S>,
    centers: &Places<'_>,
    radii: &[f64],
    shells: usize,
) -> Result<Vec<Profile>> {
    let around = ParticleTree::new(particles, centers)?;
    if radii.len() != centers.len() {
        return Err(Kind::ColumnLength { name: "radii".into(), len: radii.len(), halos: centers.len() }.into());
    }
    for &value in radii {
        around.space.check_length("a radius", value)?;
    }
    let measure = |index: usize| match centers.at(index) {
        Some(center) if radii[index] > 0.0 => {
            let shells = measure(&around, &center, radii[index], shells);
            let fit = fit(&shells, radii[index]);
            Profile { shells, fit }
        }
        _ => Profile::default(),
    };
    Ok(map(radii.len(), 1, &measure))
}

fn measure<S: Scalar>(around: &ParticleTree<S>, center: &[f64; 3], radius: f64, n: usize) -> Vec<Shell> {
    let edge = |i: usize| radius * INNER.powf(1.0 - i as f64 / n as f64);
    let mut shells: Vec<Shell> = (0..n)
        .map(|i| Shell { inner: edge(i), outer: if i + 1 == n { radius } else { edge(i + 1) }, ..Shell::default() })
        .collect();
    let mut near = around.within(center, radius).into_iter().peekable();
    let mut enclosed = 0.0;
    let inner = shells.first().map_or(0.0, |shell| shell.inner);
    while let Some(ParticleInSphere { mass, .. }) = near.next_if(|near| near.distance2.sqrt() <= inner) {
        enclosed += mass;
    }
    for shell in &mut shells {
        while let Some(ParticleInSphere { mass, .. }) = near.next_if(|near| near.distance2.sqrt() <= shell.outer) {
            shell.count += 1;
            shell.mass += mass;
        }
        enclosed += shell.mass;
        shell.enclosed = enclosed;
        shell.density = shell.mass / (4.0 / 3.0 * PI * (shell.outer.powi(3) - shell.inner.powi(3)));
    }
    shells
}

/// The mass within `x` scale radii, in units of `4 pi density radius^3`.
fn within(x: f64) -> f64 {
    if x < 1e-3 { x * x * (0.5 - x * (2.0 / 3.0 - 0.75 * x)) } else { x.ln_1p() - x / (1.0 + x) }
}

fn fit(shells: &[Shell], radius: f64) -> Option<NfwFit> {
    if shells.iter().filter(|shell| shell.mass > 0.0).count() < 3 {
        return None;
    }
    let (first, last) = (shells.first()?, shells.last()?);
    let likelihood = |ln_scale: f64| {
        let scale = ln_scale.exp();
        let all = within(last.outer / scale) - within(first.inner / scale);
        let part = |shell: &Shell| (within(shell.outer / scale) - within(shell.inner / scale)) / all;
        shells.iter().filter(|shell| shell.mass > 0.0).map(|shell| shell.mass * part(shell).ln()).sum::<f64>()
    };
    // The best value of a grid, then a golden-section search between its neighbours.
    let (from, to) = ((SCALES.0 * radius).ln(), (SCALES.1 * radius).ln());
    let steps = 60;
    let at = |i: usize| from + (to - from) * i as f64 / steps as f64;
    let best = (0..=steps).max_by(|&a, &b| likelihood(at(a)).total_cmp(&likelihood(at(b))))?;
    if best == 0 || best == steps {
        return None;
    }
    let (mut lo, mut hi) = (at(best - 1), at(best + 1));
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..50 {
        let (a, b) = (hi - golden * (hi - lo), lo + golden * (hi - lo));
        if likelihood(a) < likelihood(b) { lo = a } else { hi = b }
    }
    let scale = (0.5 * (lo + hi)).exp();
    let mass: f64 = shells.iter().map(|shell| shell.mass).sum();
    let model = 4.0 * PI * scale.powi(3) * (within(last.outer / scale) - within(first.inner / scale));
    Some(NfwFit { radius: scale, density: mass / model, concentration: radius / scale })
}
