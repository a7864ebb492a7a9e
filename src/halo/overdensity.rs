//! Spherical overdensity: the radius and the mass of a halo by the mean density within a sphere.
//!
//! In: all particles, centres, and densities. Out: for each centre and density the sphere within which the mean density falls to
//! it, `3 M(<R) / (4 pi R^3) = threshold`. All particles count, members of halos or not.
//! Cost: one tree, and for each centre a few range queries that grow to its largest sphere; the distances there are sorted.
//! Source: Lacey and Cole 1994; Tinker et al. 2008, section 2.2.

use std::f64::consts::PI;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Scalar, Space};
use crate::halo::centers::Places;
use crate::halo::cosmology::Cosmology;
use crate::halo::particles::Particles;
use crate::halo::sphere_search::{ParticleInSphere, ParticleTree};
use crate::parallel::map;

/// The mean density at which a halo ends. Its text is `200c`, `500c`, `200m` or `vir`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Overdensity {
    /// This multiple of the critical density, as in 200c.
    Critical(f64),
    /// This multiple of the mean density of matter, as in 200m.
    Mean(f64),
    /// The density of a sphere that has just collapsed: Bryan and Norman 1998, equation 6 (for a flat universe).
    Virial,
}

impl Overdensity {
    /// The comoving density at the cosmology's redshift, in the unit of `critical_density`, which is the critical density *today*:
    /// [`Conversion::critical_density`](crate::units::Conversion::critical_density) in the units of a snapshot.
    ///
    /// ```
    /// use ropewalk::halo::Overdensity;
    /// use ropewalk::Cosmology;
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

    /// Reads a whole number before `c` or `m`, as in `200c`, `500c` and `200m`, or `vir`.
    fn from_str(name: &str) -> Result<Self> {
        let unknown = || {
            let known = "200c is 200 times the critical density, 200m the mean one; or vir";
            Error::new(ErrorKind::Parameter, format!("{name:?} is not an overdensity: {known}"))
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

/// The sphere about a centre within which the mean density is a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SphericalOverdensity {
    /// The mass within, in the particles' unit.
    pub mass: f64,
    /// The radius, in the particles' unit: `(3 mass / (4 pi threshold))^(1/3)`.
    pub radius: f64,
    /// How many particles are within.
    pub count: usize,
}

/// Why there is no overdense sphere about a centre. As text it is a part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NoSphere {
    /// The mean density is below the threshold already at the particle nearest to the centre; or no particle has a mass, or none
    /// lies within half of a periodic box.
    NotDense,
    /// The mean density does not fall to the threshold within half of the shortest side of a periodic box, where the sphere would
    /// meet its own image.
    BeyondHalfBox,
    /// The halo has no centre: see [`HaloCenter::missing`](crate::halo::HaloCenter::missing).
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

/// The overdense spheres about each of `centers`: a row for each, with one sphere for each of `thresholds`, or why there is none.
///
/// Thresholds are densities in the particles' units: 200 times the critical density, say ([`Overdensity::threshold`]). Outwards from
/// the particle nearest to the centre, the radius is the first at which the mean density within falls to the threshold. Particles
/// without mass do not affect it.
///
/// Centres are `&`[`Centers`](crate::Centers), or places of one's own. Particles and centres are in the space that any of them
/// knows; in open space, if none does.
///
/// Deterministic: masses are summed in the order of the distance, ties by index.
///
/// Errors: a threshold or a centre that is not positive or not finite; centres of another space than the particles'; masses whose
/// sum is not finite; particles that [`Bvh::build`](crate::Bvh::build) or `Catalog::new` of `ropewalk-table` refuses.
///
/// ```
/// use ropewalk::halo::{NoSphere, overdensities};
/// use ropewalk::Particles;
///
/// // Eight particles of mass 1 at a distance of 1, and one in their middle.
/// let corner = |i: usize| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 } / 3f64.sqrt());
/// let mut positions: Vec<[f64; 3]> = (0..8).map(corner).collect();
/// positions.push([0.0; 3]);
/// let spheres = overdensities(&Particles::new(&positions), &[[0.0; 3]], &[0.1, 1.0])?;
/// assert_eq!(spheres[0][0]?.count, 9); // out to a radius of 2.78
/// assert_eq!(spheres[0][1]?.count, 1); // 0.62, before the others come in
/// let spheres = overdensities(&Particles::new(&positions).periodic(5.0), &[[0.0; 3]], &[0.1])?;
/// assert_eq!(spheres[0][0], Err(NoSphere::BeyondHalfBox));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn overdensities<'c, S: Scalar>(
    particles: &Particles<S>,
    centers: impl Into<Places<'c>>,
    thresholds: &[f64],
) -> Result<Vec<Vec<Outcome>>> {
    overdensities_about(particles, &centers.into(), thresholds)
}

/// A sphere, or why there is none.
pub(crate) type Outcome = std::result::Result<SphericalOverdensity, NoSphere>;

fn overdensities_about<S: Scalar>(
    particles: &Particles<S>,
    centers: &Places<'_>,
    thresholds: &[f64],
) -> Result<Vec<Vec<Outcome>>> {
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

/// The smallest sphere that is searched: its squared radius does not underflow.
pub const MIN_RADIUS: f64 = 1e-150;
/// The largest: coordinates are at most 1e150, and no distance is larger.
const MAX_RADIUS: f64 = 1e151;
/// The factor from one sphere to the next.
pub const GROWTH: f64 = 1.6;

/// The radius beyond which no particle counts, for a larger sphere meets its own image, and the largest that is searched.
pub fn reach(space: &Space<3>) -> (f64, f64) {
    let reach = space.period().map_or(f64::INFINITY, |sides| sides.iter().fold(f64::INFINITY, |a, &b| a.min(0.5 * b)));
    (reach, reach.min(MAX_RADIUS))
}

struct Search<'a, S> {
    particles: &'a Particles<'a, S>,
    around: ParticleTree<'a, S>,
    thresholds: &'a [f64],
}

impl<S: Scalar> Search<'_, S> {
    /// Searches larger and larger spheres until every threshold has its answer, or until no farther particle can change one:
    /// ln(`MAX_RADIUS` / `MIN_RADIUS`) / ln(`GROWTH`) of them at most, which is 1475.
    fn about(&self, center: &[f64; 3]) -> Vec<Outcome> {
        let mut found: Vec<Option<Outcome>> = vec![None; self.thresholds.len()];
        let n = self.particles.positions().len();
        let lowest = self.thresholds.iter().copied().fold(f64::INFINITY, f64::min);
        let (reach, most) = reach(&self.around.space);
        // The first sphere holds the mass of some particles at the lowest density.
        let mass = (0..n.min(64)).map(|i| self.particles.mass_of(i)).sum::<f64>();
        let mut radius = radius_of(mass, lowest).max(MIN_RADIUS).min(most);
        while found.iter().any(Option::is_none) {
            let near = self.around.within(center, radius);
            let all_known = near.len() == n || radius >= most;
            // In open space no particle is beyond the largest radius.
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

/// The first radius at which the mean density falls to a threshold, as particles come in by their distance from the centre.
#[derive(Clone, Debug)]
pub struct Crossing {
    threshold: f64,
    /// Of the particles so far, and how far the last of them is.
    mass: f64,
    count: usize,
    distance2: f64,
    /// Whether no density has been looked at.
    is_first: bool,
    /// The sphere, once no farther particle can change it.
    pub found: Option<Outcome>,
}

impl Crossing {
    /// Looks for where the mean density falls below a threshold.
    pub fn new(threshold: f64) -> Self {
        Self { threshold, mass: 0.0, count: 0, distance2: 0.0, is_first: true, found: None }
    }

    /// Adds particles by their distance: all that are beyond the earlier ones and within the radius `known`. `all_known` says that no
    /// particles beyond it count.
    pub fn extend(&mut self, near: &[ParticleInSphere], known: f64, all_known: bool) {
        for particle in near {
            // The density is defined after all particles of one distance.
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

    /// Looks for the sphere between the last particle and the distance `next`; from the first mass on there is a density.
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

/// The radius of a sphere of a mass and a density.
pub fn radius_of(mass: f64, density: f64) -> f64 {
    let cube = 3.0 * mass / (4.0 * PI * density);
    // Where the quotient is out of the range of `f64`, its root is not.
    if cube.is_normal() { cube.cbrt() } else { (0.75 / PI).cbrt() * (mass.cbrt() / density.cbrt()) }
}
