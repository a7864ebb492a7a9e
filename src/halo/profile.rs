//! Density profiles of halos around their centres, with NFW fits.
//!
//! In: all particles, centres, and the radius of each halo. Out: a [`Profile`] for each centre.
//! Cost: one tree; for each centre a range query, and a one-dimensional search for the fit. Parallel over centres.
//! Source: Navarro, Frenk and White 1997. Power et al. 2003, MNRAS 338, 14, equation 20.

use std::f64::consts::PI;

use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::Scalar;
use crate::halo::centers::CenterPositions;
use crate::halo::nfw::{NfwFit, fit};
use crate::halo::particles::Particles;
use crate::halo::shell::Shell;
use crate::halo::sphere_search::{ParticleInSphere, ParticleTree};
use crate::parallel::map;
use crate::units::{Factors, Quantity};

/// The innermost radius of a profile, in units of the outermost radius.
const INNER: f64 = 0.02;
/// The radius within which forces differ from those of points, in softening lengths.
const SOFTENINGS: f64 = 3.0;
/// The minimum relaxation time of resolved radii, in circular periods at R200c.
const RELAXED: f64 = 0.6;

/// The criterion for the radius from which on a halo is resolved. Fits leave out shells further in.
///
/// ```
/// use ropewalk::halo::{Particles, Profiles, Resolution};
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
    /// All radii.
    #[default]
    Everywhere,
    /// Radii from three softening lengths on. The value is the softening length.
    Softening(f64),
    /// Radii beyond the largest `r` within which two-body relaxation is too fast (Power et al. 2003). There the
    /// relaxation time of the `N` particles within `r`, `sqrt(200) / 8 N / ln N (rho / rho_crit)^(-1/2)` with their
    /// mean density `rho`, is less than 0.6 circular periods at R200c. The value is the critical density, in the frame
    /// and the units of the particles.
    Power2003(f64),
}

impl Resolution {
    /// Returns `true` if the relaxation time of `count` particles of mass `enclosed` within `radius` is too short.
    fn is_relaxed(self, count: usize, enclosed: f64, radius: f64) -> bool {
        let Self::Power2003(critical) = self else { return false };
        // For one particle the logarithm is 0, and the ratio is undefined.
        if count < 2 || radius <= 0.0 {
            return true;
        }
        let (n, density) = (count as f64, enclosed / (4.0 / 3.0 * PI * radius.powi(3)));
        200f64.sqrt() / 8.0 * n / n.ln() * (critical / density).sqrt() < RELAXED
    }
}

/// The density profile of one halo and its fit, in the units of the particles.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profile {
    /// The shells, from the innermost outwards.
    pub shells: Vec<Shell>,
    /// The radius from which on the halo is resolved; see [`Resolution`].
    pub resolved: f64,
    /// The most likely NFW profile of the shells outside of the resolved radius. `None` if fewer than three of them
    /// have mass, or if the scale radius is not from 0.001 to 10 times the outermost radius.
    pub fit: Option<NfwFit>,
}

impl Profile {
    /// Converts lengths, masses and densities of the profile to other units.
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

    /// Returns the shells of the fit, which are outside of the resolved radius.
    pub fn fitted(&self) -> &[Shell] {
        // The tolerance covers the rounding of edges and of the radius.
        let first = self.shells.partition_point(|shell| shell.inner < self.resolved * (1.0 - 1e-12));
        &self.shells[first..]
    }
}

/// A builder of profiles: set the [`Resolution`], then call [`Profiles::run`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profiles {
    shells: usize,
    resolution: Resolution,
}

/// Measures the profile of each halo, in `shells` shells of equal logarithmic width from 0.02 times its radius to the
/// radius.
///
/// Centres are `&`[`Centers`](crate::halo::Centers) or positions given by the caller. Particles and centres are in the
/// space that either of them specifies. If the radius is 0, as for a halo without an overdense sphere, or if the halo
/// has no centre, its profile has no shells.
///
/// The fit maximizes the likelihood of the shells' masses as a multinomial sample of the model's masses. So empty
/// shells count, and no error is estimated from few particles.
///
/// # Errors
/// - A number of radii that differs from the number of centres.
/// - A radius that is negative, not finite, or more than half of a periodic box.
/// - A centre that is not finite, or in a space other than that of the particles.
/// - Masses whose sum is not finite.
/// - Particles that `Catalog::new` of `ropewalk-table` or [`Bvh::build`](crate::Bvh::build) rejects.
///
/// # Example
///
/// ```
/// use ropewalk::halo::{Particles, profiles};
///
/// let positions: Vec<[f64; 3]> = (1..=100).map(|i| [0.01 * f64::from(i), 0.0, 0.0]).collect();
/// let profile = &profiles(&Particles::new(&positions), &[[0.0; 3]], &[1.0], 5)?[0];
/// assert_eq!(profile.shells.len(), 5);
/// assert_eq!(profile.shells[4].enclosed, 100.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn profiles<'c, S: Scalar>(
    particles: &Particles<S>,
    centers: impl Into<CenterPositions<'c>>,
    radii: &[f64],
    shells: usize,
) -> Result<Vec<Profile>> {
    Profiles::new(shells).run(particles, centers, radii)
}

impl Profiles {
    /// Creates options for profiles in `shells` shells of equal logarithmic width, from 0.02 times the halo's radius to
    /// the radius. All shells are fitted.
    pub fn new(shells: usize) -> Self {
        Self { shells, resolution: Resolution::Everywhere }
    }

    /// Sets the criterion for the radii at which shells are resolved; other shells are excluded from the fit. Default:
    /// [`Resolution::Everywhere`].
    #[must_use]
    pub fn resolution(mut self, resolution: Resolution) -> Self {
        self.resolution = resolution;
        self
    }

    /// Measures the density profile of each halo: in spherical shells around its centre in `centers`, out to its radius
    /// in `radii`.
    ///
    /// # Errors
    /// The errors of [`profiles`], or a [`Resolution`] whose softening length or critical density is negative or not
    /// finite.
    pub fn run<'c, S: Scalar>(
        &self,
        particles: &Particles<S>,
        centers: impl Into<CenterPositions<'c>>,
        radii: &[f64],
    ) -> Result<Vec<Profile>> {
        let centers = centers.into();
        guarded(|| self.about(particles, &centers, radii))
    }

    fn about<S: Scalar>(
        &self,
        particles: &Particles<S>,
        centers: &CenterPositions<'_>,
        radii: &[f64],
    ) -> Result<Vec<Profile>> {
        let around = ParticleTree::new(particles, centers)?;
        if radii.len() != centers.len() {
            return Err(Error::column_length("radii", radii.len(), centers.len()));
        }
        for &value in radii {
            around.space.check_length("radius", value)?;
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
            Resolution::Power2003(critical) => Some(("critical_density", critical)),
        };
        if let Some((name, value)) = known.filter(|(_, value)| !(*value >= 0.0 && *value < f64::INFINITY)) {
            return Err(Error::parameter_must(name, value, "finite and not negative"));
        }
        Ok(())
    }

    /// Computes the profile of all particles within a radius, which must be in order of distance.
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
