//! Spherical overdensity: the radius and the mass of a halo, defined by the mean density within a sphere.
//!
//! In: all particles, centres, and densities. Out: for each centre and density, the sphere within which the mean
//! density falls to it, `3 M(<R) / (4 pi R^3) = threshold`. All particles count, whether or not they are members of
//! halos.
//! Cost: one tree. For each centre a few range queries, which grow to its largest sphere, and a sort of the distances.
//! Source: Lacey and Cole 1994; Tinker et al. 2008, section 2.2.

use std::f64::consts::PI;
use std::str::FromStr;

use crate::cancel::guarded;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Scalar, Space};
use crate::halo::centers::CenterPositions;
use crate::halo::cosmology::Cosmology;
use crate::halo::particles::Particles;
use crate::halo::sphere_search::{ParticleInSphere, ParticleTree};
use crate::parallel::map;

/// The mean density at which a halo ends. Written as text, it is `200c`, `500c`, `200m` or `vir`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Overdensity {
    /// A multiple of the critical density, as in 200c.
    Critical(f64),
    /// A multiple of the mean density of matter, as in 200m.
    Mean(f64),
    /// The density of a sphere that has just collapsed: Bryan and Norman 1998, equation 6 (for a flat universe).
    Virial,
}

impl Overdensity {
    /// Computes the comoving threshold density at the redshift of `cosmology`, in the unit of `critical_density`.
    ///
    /// `critical_density` is the critical density *today*. In the units of a snapshot, it is
    /// [`Conversion::critical_density`](crate::units::Conversion::critical_density).
    ///
    /// ```
    /// use ropewalk::halo::{Cosmology, Overdensity};
    ///
    /// let flat = Cosmology::flat(0.25);
    /// assert_eq!(Overdensity::Critical(200.0).threshold(&flat, 8.0), 1600.0);
    /// assert_eq!(Overdensity::Mean(200.0).threshold(&flat, 8.0), 400.0);
    /// assert!((Overdensity::Virial.threshold(&flat, 8.0) / 8.0 - 94.2).abs() < 0.1);
    /// ```
    pub fn threshold(self, cosmology: &Cosmology, critical_density: f64) -> f64 {
        let volume = (1.0 + cosmology.redshift).powi(3);
        let expansion2 = cosmology.expansion2(1.0 + cosmology.redshift);
        let critical = critical_density * expansion2 / volume;
        match self {
            Self::Critical(times) => times * critical,
            Self::Mean(times) => times * cosmology.omega_m * critical_density,
            Self::Virial => {
                let x = cosmology.omega_m * volume / expansion2 - 1.0;
                (18.0 * PI * PI + 82.0 * x - 39.0 * x * x) * critical
            }
        }
    }
}

impl FromStr for Overdensity {
    type Err = Error;

    /// Parses a whole number followed by `c` or `m`, as in `200c`, `500c` and `200m`, or `vir`.
    fn from_str(name: &str) -> Result<Self> {
        let unknown = || {
            let known = "a whole number with c (critical density) or m (mean density), such as 200c, or vir";
            Error::new(ErrorKind::Parameter, format!("{name:?} is not an overdensity; use {known}"))
        };
        let times =
            |digits: &str| digits.parse().ok().filter(|&times: &u32| times > 0).map(f64::from).ok_or_else(unknown);
        match (name, name.strip_suffix('c'), name.strip_suffix('m')) {
            ("vir", ..) => Ok(Self::Virial),
            (_, Some(digits), _) => times(digits).map(Self::Critical),
            (.., Some(digits)) => times(digits).map(Self::Mean),
            _ => Err(unknown()),
        }
    }
}

impl std::fmt::Display for Overdensity {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Critical(times) => write!(f, "{times}c"),
            Self::Mean(times) => write!(f, "{times}m"),
            Self::Virial => f.write_str("vir"),
        }
    }
}

/// The sphere around a centre within which the mean density equals a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SphericalOverdensity {
    /// The mass within the sphere, in the unit of the particles.
    pub mass: f64,
    /// The radius of the sphere, in the unit of the particles: `(3 mass / (4 pi threshold))^(1/3)`.
    pub radius: f64,
    /// The number of particles within the sphere.
    pub count: usize,
}

/// The reason why a centre has no overdense sphere. Formatted as a clause of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NoSphere {
    /// The mean density is below the threshold already at the particle nearest to the centre. Also if no particle has
    /// a mass, or no particle lies within half of a periodic box.
    NotDense,
    /// The mean density does not fall to the threshold within half of the shortest side of a periodic box. A larger
    /// sphere would overlap its own image.
    BeyondHalfBox,
    /// The halo has no centre; see [`HaloCenter::missing`](crate::halo::HaloCenter::missing).
    NoCenter,
}

impl std::fmt::Display for NoSphere {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotDense => "the mean density is below the threshold at the particle nearest to the centre",
            Self::BeyondHalfBox => "the mean density does not fall to the threshold within half the periodic box",
            Self::NoCenter => "the halo has no centre",
        })
    }
}

impl std::error::Error for NoSphere {}

/// Finds the overdense spheres around each of `centers`. A row holds one result for each of `thresholds`: a sphere, or
/// the reason why it is missing.
///
/// Thresholds are densities in the units of the particles, for example 200 times the critical density
/// ([`Overdensity::threshold`]). The search goes outwards from the particle nearest to the centre. The radius is the
/// first at which the mean density within falls to the threshold. Particles without mass do not affect it.
///
/// Centres are `&`[`Centers`](crate::halo::Centers) or positions given by the caller. Particles and centres are in the
/// space that either of them specifies; if neither does, in open space.
///
/// The result is deterministic: masses are summed in order of distance, ties by index.
///
/// # Errors
/// - A threshold that is not positive and finite; a centre that is not finite.
/// - Centres in a space other than that of the particles.
/// - Masses whose sum is not finite.
/// - Particles that [`Bvh::build`](crate::Bvh::build) or `Catalog::new` of `ropewalk-table` rejects.
///
/// # Example
///
/// ```
/// use ropewalk::halo::{NoSphere, Particles, overdensities};
///
/// // Eight particles of mass 1 at a distance of 1, and one at their centre.
/// let corner = |i: usize| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 } / 3f64.sqrt());
/// let mut positions: Vec<[f64; 3]> = (0..8).map(corner).collect();
/// positions.push([0.0; 3]);
/// let spheres = overdensities(&Particles::new(&positions), &[[0.0; 3]], &[0.1, 1.0])?;
/// assert_eq!(spheres[0][0]?.count, 9); // out to a radius of 2.78
/// assert_eq!(spheres[0][1]?.count, 1); // a radius of 0.62, which excludes the others
/// let spheres = overdensities(&Particles::new(&positions).periodic(5.0), &[[0.0; 3]], &[0.1])?;
/// assert_eq!(spheres[0][0], Err(NoSphere::BeyondHalfBox));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn overdensities<'c, S: Scalar>(
    particles: &Particles<S>,
    centers: impl Into<CenterPositions<'c>>,
    thresholds: &[f64],
) -> Result<Vec<Vec<SphereResult>>> {
    let centers = centers.into();
    guarded(|| overdensities_about(particles, &centers, thresholds))
}

/// A sphere, or the reason why it is missing.
pub(crate) type SphereResult = std::result::Result<SphericalOverdensity, NoSphere>;

fn overdensities_about<S: Scalar>(
    particles: &Particles<S>,
    centers: &CenterPositions<'_>,
    thresholds: &[f64],
) -> Result<Vec<Vec<SphereResult>>> {
    for &value in thresholds {
        if !(value > 0.0 && value < f64::INFINITY) {
            return Err(Error::parameter_must("threshold", value, "positive and finite"));
        }
    }
    let search = Search { particles, around: ParticleTree::new(particles, centers)?, thresholds };
    let about = |index: usize| match centers.at(index) {
        Some(center) => search.about(&center),
        None => vec![Err(NoSphere::NoCenter); thresholds.len()],
    };
    Ok(map(centers.len(), 1, &about))
}

/// The minimum radius of a search: its square does not underflow.
pub const MIN_RADIUS: f64 = 1e-150;
/// The maximum radius of a search: coordinates are at most 1e150, and no distance is larger.
const MAX_RADIUS: f64 = 1e151;
/// The factor between the radii of successive searches.
pub const GROWTH: f64 = 1.6;

/// Returns the radius beyond which no particle counts, because a larger sphere overlaps its own image; and the maximum
/// radius of a search.
pub fn max_radii(space: &Space<3>) -> (f64, f64) {
    let reach = space.period().map_or(f64::INFINITY, |sides| sides.iter().fold(f64::INFINITY, |a, &b| a.min(0.5 * b)));
    (reach, reach.min(MAX_RADIUS))
}

struct Search<'a, S> {
    particles: &'a Particles<'a, S>,
    around: ParticleTree<'a, S>,
    thresholds: &'a [f64],
}

impl<S: Scalar> Search<'_, S> {
    /// Searches growing spheres until every threshold has a result, or until no farther particle can change one. At
    /// most ln(`MAX_RADIUS` / `MIN_RADIUS`) / ln(`GROWTH`) spheres are searched, which is 1475.
    fn about(&self, center: &[f64; 3]) -> Vec<SphereResult> {
        let mut found: Vec<Option<SphereResult>> = vec![None; self.thresholds.len()];
        let n = self.particles.positions().len();
        let lowest = self.thresholds.iter().copied().fold(f64::INFINITY, f64::min);
        let (reach, most) = max_radii(&self.around.space);
        // The first sphere has the mass of some particles at the lowest threshold.
        let mass = (0..n.min(64)).map(|i| self.particles.mass_of(i)).sum::<f64>();
        let mut radius = radius_of(mass, lowest).max(MIN_RADIUS).min(most);
        while found.iter().any(Option::is_none) {
            let near = self.around.within(center, radius);
            let all_known = near.len() == n || radius >= most;
            // In open space there are no particles beyond the maximum radius.
            let known = if all_known { reach } else { radius };
            for (found, &threshold) in found.iter_mut().zip(self.thresholds) {
                if found.is_none() {
                    let mut crossing = Crossing::new(threshold);
                    crossing.extend(&near, known, all_known);
                    *found = crossing.found;
                }
            }
            if all_known {
                break;
            }
            radius = (GROWTH * radius).min(most);
        }
        found.into_iter().map(|sphere| sphere.unwrap_or(Err(NoSphere::BeyondHalfBox))).collect()
    }
}

/// A search for the first radius at which the mean density falls to a threshold, from particles in order of distance.
#[derive(Clone, Debug)]
pub struct Crossing {
    threshold: f64,
    /// The mass and the number of the particles so far, and the squared distance of the last.
    mass: f64,
    count: usize,
    distance2: f64,
    /// True until a density has been tested.
    is_first: bool,
    /// The result, once no farther particle can change it.
    pub found: Option<SphereResult>,
}

impl Crossing {
    /// Starts the search for the radius at which the mean density falls to a threshold.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, mass: 0.0, count: 0, distance2: 0.0, is_first: true, found: None }
    }

    /// Adds particles in order of distance: all that are beyond the earlier ones and within the radius `known`. If
    /// `all_known`, no particles beyond it count.
    pub fn extend(&mut self, near: &[ParticleInSphere], known: f64, all_known: bool) {
        for particle in near {
            // The density is defined after all particles at one distance.
            if particle.distance2 != self.distance2 {
                self.look(particle.distance2.sqrt());
            }
            if self.found.is_some() {
                return;
            }
            self.mass += particle.mass;
            self.count += 1;
            self.distance2 = particle.distance2;
        }
        self.look(known);
        if all_known && self.mass == 0.0 {
            self.found = Some(Err(NoSphere::NotDense));
        }
    }

    /// Tests if the sphere ends between the last particle and the distance `next`. The density is defined from the
    /// first mass on.
    fn look(&mut self, next: f64) {
        if self.mass == 0.0 || self.found.is_some() {
            return;
        }
        let radius = radius_of(self.mass, self.threshold);
        if self.is_first && radius < self.distance2.sqrt() {
            self.found = Some(Err(NoSphere::NotDense));
        } else if radius < next {
            self.found = Some(Ok(SphericalOverdensity { mass: self.mass, radius, count: self.count }));
        }
        self.is_first = false;
    }
}

/// Returns the radius of a sphere of the given mass and mean density.
pub fn radius_of(mass: f64, density: f64) -> f64 {
    let cube = 3.0 * mass / (4.0 * PI * density);
    // If the quotient is out of the range of `f64`, its root still is in range.
    if cube.is_normal() { cube.cbrt() } else { (0.75 / PI).cbrt() * (mass.cbrt() / density.cbrt()) }
}
