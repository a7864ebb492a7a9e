//! The largest halos: their most bound particles, R200c, and density profiles.

use ropewalk::Result;
use ropewalk::distributed::agree;
use ropewalk::halo::{Centers, Halos, NfwFit, Profile, Profiles, Resolution, Shell};
use ropewalk::units::Quantity;
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Column, Values};

use crate::halo_name::HaloName;
use crate::members::HaloKey;
use crate::options::CenterKind;
use crate::overdensity_across::{SphereRequest, Spheres};
use crate::{FoundHalos, Pipeline};

/// The number of shells of a profile.
const SHELLS: usize = 20;

/// The largest halos of a catalogue on this rank, without subhalos, in the order of the catalogue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Largest {
    /// The halos, with members as in [`FoundHalos::halos`].
    pub halos: Halos,
    /// The index of each halo in [`FoundHalos::halos`].
    pub found: Vec<usize>,
    /// The name of each halo.
    pub names: Vec<HaloName>,
    /// The most bound particle of each halo.
    pub centers: Centers,
    /// The radius within which the mean density is 200 times the critical one. `None` if density, centre, units or
    /// cosmology do not give one, or if too few particles are inside. Across ranks also `None` if the options request
    /// neither overdensities nor profiles.
    pub r200c: Vec<Option<f64>>,
    /// The rank of each halo by size among the largest halos of all ranks, from 0.
    pub places: Vec<usize>,
    /// The number of largest halos on all ranks.
    pub count: usize,
}

/// The profiles of the largest halos of all ranks, in the order of the catalogue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LargestProfiles {
    /// The name of each halo.
    pub names: Vec<HaloName>,
    /// The radius of each halo, as [`Largest::r200c`].
    pub r200c: Vec<Option<f64>>,
    /// The profile of each halo.
    pub profiles: Vec<Profile>,
}

impl Pipeline<'_> {
    /// Returns the first `count` halos of the catalogue of all ranks, without subhalos, with their most bound
    /// particles and R200c. Each rank gets the halos that it owns. `catalog` is the result of [`Pipeline::measure`]
    /// on this rank. Collective.
    ///
    /// # Errors
    /// As [`CenterFinder::run`](ropewalk::halo::CenterFinder::run) and
    /// [`overdensities`](ropewalk::halo::overdensities).
    pub fn largest(&self, found: &FoundHalos<'_>, catalog: &Catalog, count: usize) -> Result<Largest> {
        let hosts: Vec<usize> = (0..catalog.order().len()).filter(|&row| catalog.is_host(row)).take(count).collect();
        let all = self.in_catalogue(found, catalog, &hosts)?;
        let all = &all[..count.min(all.len())];
        let is_own = |key: &HaloKey| key.owner == self.ranks.rank();
        let (places, own): (Vec<usize>, Vec<HaloKey>) =
            all.iter().copied().enumerate().filter(|(_, key)| is_own(key)).unzip();
        let (mut offsets, mut members) = (vec![0], vec![]);
        for key in &own {
            members.extend_from_slice(found.halos.members(key.halo));
            offsets.push(members.len());
        }
        let here = self.owner_pipeline(found);
        let halos = Halos::from_lists(here.points.len(), &offsets, &members)
            .and_then(|halos| Ok((here.centers_of(&halos, CenterKind::MostBound)?, halos)));
        let (centers, halos) = agree(self.ranks, halos)?;
        let spheres = match self.whole.r200c {
            Some(threshold) => self.spheres(found, &halos, &centers, &[threshold])?,
            None => None,
        };
        let r200c = spheres.map_or_else(|| vec![None; halos.len()], |spheres| radii_of(self, &spheres));
        // AdaptaHOP, whose halos are not successive rows, runs on one rank.
        let row = |place: usize| if self.ranks.size() == 1 { hosts[place] } else { place };
        let names = places.iter().zip(&own).map(|(&place, key)| HaloName { row: row(place), tag: key.tag }).collect();
        let found = own.iter().map(|key| key.halo).collect();
        Ok(Largest { halos, found, names, centers, r200c, places, count: all.len() })
    }

    /// Measures the density profiles of the largest halos of this rank, in 20 shells out to R200c. The fit excludes
    /// three softening lengths ([`Options::softening`](super::Options::softening)) or, without softening, the radius
    /// of Power et al. 2003 ([`Resolution`]). A halo without R200c has no shells. Collective.
    ///
    /// # Errors
    /// As [`profiles`](ropewalk::halo::profiles).
    pub fn profiles(&self, found: &FoundHalos<'_>, largest: &Largest) -> Result<Vec<Profile>> {
        let radii: Vec<f64> = largest.r200c.iter().map(|radius| radius.unwrap_or(0.0)).collect();
        let (centers, how) = (&largest.centers, self.how_profiles());
        match found.shared.as_ref().map(|shared| &shared.around) {
            None => self.shells_here(centers, &radii, &how),
            Some(Some(around)) => around.profiles(self.ranks, &centers.into(), &radii, &how),
            // No radius is known.
            Some(None) => Ok(vec![Profile::default(); radii.len()]),
        }
    }

    /// Measures spheres about the centres of some halos of this rank, over all particles that were read. Across ranks
    /// `None` if the options request neither overdensities nor profiles. Collective.
    pub(super) fn spheres(
        &self,
        found: &FoundHalos<'_>,
        halos: &Halos,
        centers: &Centers,
        thresholds: &[f64],
    ) -> Result<Option<Spheres>> {
        let Some(shared) = &found.shared else { return self.spheres_here(centers, thresholds).map(Some) };
        let Some(around) = &shared.around else { return Ok(None) };
        let (masses, least) = (shared.masses_of(halos), self.whole.scales.linking_length);
        let asked = SphereRequest { centers: centers.into(), masses: &masses, thresholds, least };
        around.spheres(self.ranks, &asked).map(Some)
    }

    /// Returns the options of the profiles.
    fn how_profiles(&self) -> Profiles {
        Profiles::new(SHELLS).resolution(match (self.options.softening, self.whole.r200c) {
            (softening, _) if softening > 0.0 => Resolution::Softening(softening),
            (_, Some(threshold)) => Resolution::Power2003(threshold / 200.0),
            _ => Resolution::Everywhere,
        })
    }
}

/// Returns the radius of the first sphere of each halo; `None` if it has too few particles.
fn radii_of(pipeline: &Pipeline<'_>, spheres: &Spheres) -> Vec<Option<f64>> {
    let least = pipeline.options.min_sphere_particles.max(1);
    let radius = |sphere: ropewalk::halo::SphericalOverdensity| (sphere.count >= least).then_some(sphere.radius);
    spheres.iter().map(|row| row.first().and_then(|sphere| sphere.ok()).and_then(radius)).collect()
}

/// Converts profiles to a table with a row for each shell of each profile. `names` are the values of the columns
/// `{prefix}_tag` and `{prefix}_label`, which identify the halo as in the catalogue
/// ([`Finder::column_prefix`](super::Finder::column_prefix)).
pub fn profile_columns(prefix: &str, names: &[HaloName], profiles: &[Profile]) -> Vec<Column> {
    let shells = || {
        names
            .iter()
            .zip(profiles)
            .flat_map(|(name, profile)| profile.shells.iter().map(move |shell| (*name, profile, shell)))
    };
    let integers =
        |value: &dyn Fn((HaloName, &Profile, &Shell)) -> u64| Values::Integers(shells().map(value).collect());
    let numbers = |value: &dyn Fn(&Profile, &Shell) -> f64| {
        Values::Numbers(shells().map(|(_, profile, shell)| value(profile, shell)).collect())
    };
    let of_fit = |value: fn(&NfwFit) -> f64| numbers(&|profile, _| profile.fit.as_ref().map_or(f64::NAN, value));
    // At the middle of the shell on a logarithmic scale.
    let model = numbers(&|profile, shell| {
        profile.fit.map_or(f64::NAN, |fit| fit.density_at((shell.inner * shell.outer).sqrt()))
    });
    let is_fitted = integers(&|(_, profile, shell)| {
        u64::from(profile.fit.is_some() && profile.fitted().first().is_some_and(|first| shell.inner >= first.inner))
    });
    let column = |name: &str, quantity, values, description: &str| {
        Column::new(name, values).quantity(quantity).description(description)
    };
    vec![
        column(
            &format!("{prefix}_tag"),
            Quantity::Dimensionless,
            integers(&|(name, ..)| name.tag),
            "tag of the halo, as in the catalogue",
        ),
        column(
            &format!("{prefix}_label"),
            Quantity::Dimensionless,
            integers(&|(name, ..)| name.row as u64),
            "row of the halo in the catalogue, from 0",
        ),
        column(
            "shell_inner",
            Quantity::Length,
            numbers(&|_, shell| shell.inner),
            "inner radius, not included, about the most bound particle",
        ),
        column(
            "shell_outer",
            Quantity::Length,
            numbers(&|_, shell| shell.outer),
            "outer radius, included; the last is R200c",
        ),
        column(
            "shell_count",
            Quantity::Dimensionless,
            integers(&|(.., shell)| shell.count as u64),
            "number of particles in the shell, of all particles read",
        ),
        column("shell_mass", Quantity::Mass, numbers(&|_, shell| shell.mass), "mass of the particles in the shell"),
        column(
            "shell_density",
            Quantity::Density,
            numbers(&|_, shell| shell.density),
            "mass over the volume of the shell",
        ),
        column("enclosed_mass", Quantity::Mass, numbers(&|_, shell| shell.enclosed), "mass within the outer radius"),
        column(
            "shell_fitted",
            Quantity::Dimensionless,
            is_fitted,
            "1 if the NFW profile is fitted to the shell, otherwise 0",
        ),
        column(
            "resolved_radius",
            Quantity::Length,
            numbers(&|profile, _| profile.resolved),
            "radius outside which shells are fitted: three softenings, or the radius of Power et al. 2003, equation 20, without a softening",
        ),
        column("nfw_density", Quantity::Density, model, "density of the fitted NFW profile in the middle of the shell"),
        column("nfw_scale_radius", Quantity::Length, of_fit(|fit| fit.radius), "scale radius of the NFW profile"),
        column(
            "nfw_scale_radius_error",
            Quantity::Length,
            of_fit(|fit| fit.radius_error),
            "standard deviation of nfw_scale_radius",
        ),
        column(
            "nfw_characteristic_density",
            Quantity::Density,
            of_fit(|fit| fit.density),
            "four times the density of the NFW profile at the scale radius",
        ),
        column(
            "nfw_characteristic_density_error",
            Quantity::Density,
            of_fit(|fit| fit.density_error),
            "standard deviation of nfw_characteristic_density",
        ),
        column(
            "nfw_concentration",
            Quantity::Dimensionless,
            of_fit(|fit| fit.concentration),
            "R200c over the scale radius",
        ),
        column(
            "nfw_concentration_error",
            Quantity::Dimensionless,
            of_fit(|fit| fit.concentration_error),
            "standard deviation of nfw_concentration for a fixed R200c",
        ),
        column(
            "nfw_chi2",
            Quantity::Dimensionless,
            of_fit(|fit| fit.chi2),
            "sum over the fitted shells of the squared deviation of the mass over its variance",
        ),
        column(
            "nfw_shells",
            Quantity::Dimensionless,
            integers(&|(_, profile, _)| profile.fit.map_or(0, |fit| fit.shells as u64)),
            "number of fitted shells; nfw_chi2 has two degrees of freedom fewer",
        ),
    ]
}
