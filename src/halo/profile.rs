//! Density profiles of halos about their centres, with NFW fits.
//!
//! In: all particles, centres, and the radius of each halo. Out: a [`Profile`] for each centre.
//! Cost: one tree; a range query for each centre, and a search in one dimension for the fit. In parallel over centres.
//! Source: Navarro, Frenk and White 1997; Power et al. 2003, MNRAS 338, 14, equation 20.

use std::f64::consts::PI;

use crate::error::{Error, Result};
use crate::geometry::Scalar;
use crate::halo::centers::Places;
use crate::halo::nfw::{NfwFit, fit};
use crate::halo::particles::Particles;
use crate::halo::shell::Shell;
use crate::halo::sphere_search::{ParticleInSphere, ParticleTree};
use crate::parallel::map;
use crate::units::{Factors, Quantity};

/// The innermost radius of a profile, in units of the outermost.
const INNER: f64 = 0.02;
/// Softenings within which forces are not those of points.
const SOFTENINGS: f64 = 3.0;
/// The least relaxation time of what is resolved, in circular periods at R200c.
const RELAXED: f64 = 0.6;

/// From which radius on a halo is as its particles' forces and their number let it be: fits leave out what is further in.
///
/// ```
/// use ropewalk::halo::{Profiles, Resolution};
/// use ropewalk::Particles;
///
/// let positions: Vec<[f64; 3]> = (1..=1000).map(|i| [0.001 * f64::from(i), 0.0, 0.0]).collect();
/// let profiles = Profiles::new(20).resolution(Resolution::Softening(0.1));
/// let profile = &profiles.run(&Particles::new(&positions), &[[0.0; 3]], &[1.0])?[0];
/// assert!((profile.resolved - 0.3).abs() < 1e-12);
/// assert_eq!(profile.fitted().len(), 6);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Resolution {
    /// From the centre on.
    #[default]
    Everywhere,
    /// From three softening lengths on.
    Softening(f64),
    /// From the largest radius `r` on within which particles meet often: the relaxation time, `sqrt(200) / 8 N / ln N
    /// (rho / rho_crit)^(-1/2)` of the `N` particles within `r` and their mean density, is less than 0.6 circular periods at R200c. Power et
    /// al. 2003. The value is the critical density, in the frame and the units of the particles.
    Power2003(f64),
}

impl Resolution {
    /// Whether `count` particles, with the mass `enclosed`, within a radius relax too soon.
    fn is_relaxed(self, count: usize, enclosed: f64, radius: f64) -> bool {
        let Self::Power2003(critical) = self else { return false };
        // Of one particle the logarithm is 0, and the ratio has no value.
        if count < 2 || radius <= 0.0 {
            return true;
        }
        let (n, density) = (count as f64, enclosed / (4.0 / 3.0 * PI * radius.powi(3)));
        200f64.sqrt() / 8.0 * n / n.ln() * (critical / density).sqrt() < RELAXED
    }
}

/// The profile of one halo.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profile {
    /// From the inside out.
    pub shells: Vec<Shell>,
    /// From which radius on the halo is resolved: [`Resolution`].
    pub resolved: f64,
    /// The most likely NFW profile of the shells that lie outside of that radius; `None` with fewer than three of them that have mass, or if
    /// its scale radius is not from 0.001 to 10 times the outermost radius.
    pub fit: Option<NfwFit>,
}

impl Profile {
    /// The profile in other units.
    #[must_use]
    pub fn in_units(&self, factors: &Factors) -> Self {
        let [length, mass, density] =
            [Quantity::Length, Quantity::Mass, Quantity::Density].map(|what| factors.of(what));
        let shell = |shell: &Shell| Shell {
            inner: length * shell.inner,
            outer: length * shell.outer,
            count: shell.count,
            mass: mass * shell.mass,
            density: density * shell.density,
            enclosed: mass * shell.enclosed,
        };
        let fit = |fit: NfwFit| NfwFit {
            radius: length * fit.radius,
            radius_error: length * fit.radius_error,
            density: density * fit.density,
            density_error: density * fit.density_error,
            ..fit
        };
        Self {
            shells: self.shells.iter().map(shell).collect(),
            resolved: length * self.resolved,
            fit: self.fit.map(fit),
        }
    }

    /// The shells of the fit.
    pub fn fitted(&self) -> &[Shell] {
        // Edges are computed, and so is the radius.
        let first = self.shells.partition_point(|shell| shell.inner < self.resolved * (1.0 - 1e-12));
        &self.shells[first..]
    }
}

/// How profiles are measured: a builder for [`profiles`] with a [`Resolution`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profiles {
    shells: usize,
    resolution: Resolution,
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
/// `Catalog::new` of `ropewalk-table` or [`Bvh::build`](crate::Bvh::build) refuses.
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
    Profiles::new(shells).run(particles, centers, radii)
}

impl Profiles {
    /// So many shells of equal logarithmic width from 0.02 times the halo's radius to it, all of them fitted.
    pub fn new(shells: usize) -> Self {
        Self { shells, resolution: Resolution::Everywhere }
    }

    /// Leaves the shells out of the fit that are not resolved.
    #[must_use]
    pub fn resolution(mut self, resolution: Resolution) -> Self {
        self.resolution = resolution;
        self
    }

    /// Profiles about each of `centers`.
    ///
    /// Errors: as [`profiles`]; a softening or a density that is negative or not finite.
    pub fn run<'c, S: Scalar>(
        &self,
        particles: &Particles<S>,
        centers: impl Into<Places<'c>>,
        radii: &[f64],
    ) -> Result<Vec<Profile>> {
        self.about(particles, &centers.into(), radii)
    }

    fn about<S: Scalar>(&self, particles: &Particles<S>, centers: &Places<'_>, radii: &[f64]) -> Result<Vec<Profile>> {
        let around = ParticleTree::new(particles, centers)?;
        if radii.len() != centers.len() {
            return Err(Error::column_length("radii", radii.len(), centers.len()));
        }
        for &value in radii {
            around.space.check_length("a radius", value)?;
        }
        self.check()?;
        let measure = |index: usize| match centers.at(index) {
            Some(center) if radii[index] > 0.0 => self.of(&around.within(&center, radii[index]), radii[index]),
            _ => Profile::default(),
        };
        Ok(map(radii.len(), 1, &measure))
    }

    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        let known = match self.resolution {
            Resolution::Everywhere => None,
            Resolution::Softening(softening) => Some(("softening", softening)),
            Resolution::Power2003(critical) => Some(("critical density", critical)),
        };
        if let Some((name, value)) = known.filter(|(_, value)| !(*value >= 0.0 && *value < f64::INFINITY)) {
            return Err(Error::parameter_must(name, value, "at least 0 and finite"));
        }
        Ok(())
    }

    /// The profile of all particles within a radius, which come by their distance.
    #[doc(hidden)]
    pub fn of(&self, near: &[ParticleInSphere], radius: f64) -> Profile {
        let mut profile = self.measure(near, radius);
        profile.fit = fit(profile.fitted(), radius);
        profile
    }

    fn measure(&self, near: &[ParticleInSphere], radius: f64) -> Profile {
        let n = self.shells;
        let edge = |i: usize| radius * INNER.powf(1.0 - i as f64 / n as f64);
        let mut shells: Vec<Shell> = (0..n)
            .map(|i| Shell { inner: edge(i), outer: if i + 1 == n { radius } else { edge(i + 1) }, ..Shell::default() })
            .collect();
        let mut resolved =
            if let Resolution::Softening(softening) = self.resolution { SOFTENINGS * softening } else { 0.0 };
        let mut shell = 0;
        let (mut enclosed, mut inner, mut count) = (0.0, 0.0, 0);
        for &ParticleInSphere { mass, distance2, .. } in near {
            let distance = distance2.sqrt();
            enclosed += mass;
            count += 1;
            if self.resolution.is_relaxed(count, enclosed, distance) {
                resolved = distance;
            }
            while shells.get(shell).is_some_and(|shell| distance > shell.outer) {
                shell += 1;
            }
            match shells.get_mut(shell) {
                Some(shell) if distance > shell.inner => {
                    shell.count += 1;
                    shell.mass += mass;
                }
                _ => inner += mass,
            }
        }
        let mut enclosed = inner;
        for shell in &mut shells {
            enclosed += shell.mass;
            shell.enclosed = enclosed;
            shell.density = shell.mass / (4.0 / 3.0 * PI * (shell.outer.powi(3) - shell.inner.powi(3)));
        }
        Profile { shells, resolved, fit: None }
    }
}
