//! The largest halos: their most bound particles, R200c, and density profiles.

use ropewalk::Result;
use ropewalk::halo::{Centers, Halos, NfwFit, Profile, Profiles, Resolution, Shell};
use ropewalk::units::Quantity;
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Column, Values};

use crate::combined::Spheres;
use crate::options::CenterKind;
use crate::{Found, Pipeline};

/// Shells of a profile.
const SHELLS: usize = 20;

/// The largest halos of a catalogue, in its order; of subhalos it has none.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Largest {
    /// Their members.
    pub halos: Halos,
    /// Their tags.
    pub tags: Vec<u64>,
    /// Their most bound particles.
    pub centers: Centers,
    /// The radius within which the mean density is 200 times the critical one; `None` where density, centre, units or cosmology do
    /// not give one, or where few particles are inside.
    pub r200c: Vec<Option<f64>>,
}

impl Pipeline<'_> {
    /// The first `count` halos of a catalogue, subhalos not counted, with their most bound particles and R200c.
    ///
    /// Errors as [`CenterFinder::run`](ropewalk::CenterFinder::run) and [`overdensities`](ropewalk::halo::overdensities).
    pub fn largest(&self, found: &Found<'_>, catalog: &Catalog, count: usize) -> Result<Largest> {
        Largest::new(self, found, catalog, count)
    }

    /// The density profiles of the largest halos, in 20 shells out to R200c, fitted outside of three softenings
    /// ([`Options::softening`](super::Options::softening)), or without one outside of the radius of Power et al. 2003 ([`Resolution`]).
    ///
    /// Errors as [`profiles`](ropewalk::halo::profiles).
    pub fn profiles(&self, largest: &Largest) -> Result<Vec<Profile>> {
        self.shells(&largest.centers, &largest.radii(), &self.how_profiles())
    }

    /// How profiles are measured.
    pub(super) fn how_profiles(&self) -> Profiles {
        Profiles::new(SHELLS).resolution(match (self.options.softening, self.r200c) {
            (softening, _) if softening > 0.0 => Resolution::Softening(softening),
            (_, Some(threshold)) => Resolution::Power2003(threshold / 200.0),
            _ => Resolution::Everywhere,
        })
    }
}

impl Largest {
    pub(super) fn new(pipeline: &Pipeline<'_>, found: &Found<'_>, catalog: &Catalog, count: usize) -> Result<Self> {
        let rows: Vec<usize> = (0..catalog.order().len()).filter(|&row| catalog.is_host(row)).take(count).collect();
        let (mut offsets, mut members) = (vec![0], vec![]);
        for &row in &rows {
            members.extend_from_slice(found.halos.members(catalog.order()[row] as usize));
            offsets.push(members.len());
        }
        let halos = Halos::from_lists(pipeline.points.len(), &offsets, &members)?;
        let centers = pipeline.centers_of(&halos, CenterKind::MostBound)?;
        let r200c = match pipeline.r200c {
            Some(threshold) => radii_of(pipeline, &pipeline.spheres(&centers, &[threshold])?),
            None => vec![None; halos.len()],
        };
        let tags = rows.into_iter().map(|row| catalog.halos()[row].tag).collect();
        Ok(Self { halos, tags, centers, r200c })
    }

    /// R200c of each, 0 where there is none.
    pub(super) fn radii(&self) -> Vec<f64> {
        self.r200c.iter().map(|radius| radius.unwrap_or(0.0)).collect()
    }
}

/// The radius of the first sphere of each halo, unless few particles are inside.
pub(super) fn radii_of(pipeline: &Pipeline<'_>, spheres: &Spheres) -> Vec<Option<f64>> {
    let least = pipeline.options.min_sphere_particles.max(1);
    let radius = |sphere: ropewalk::halo::SphericalOverdensity| (sphere.count >= least).then_some(sphere.radius);
    spheres.iter().map(|row| row.first().and_then(|sphere| sphere.ok()).and_then(radius)).collect()
}

/// Profiles as a table with a row for each shell of each profile; `tags` name the halos in a column `{prefix}_tag`, as the catalogue
/// does ([`Finder::column_prefix`](super::Finder::column_prefix)).
pub fn profile_columns(prefix: &str, tags: &[u64], profiles: &[Profile]) -> Vec<Column> {
    let shells = || {
        tags.iter()
            .zip(profiles)
            .flat_map(|(tag, profile)| profile.shells.iter().map(move |shell| (*tag, profile, shell)))
    };
    let integers = |value: &dyn Fn((u64, &Profile, &Shell)) -> u64| Values::Integers(shells().map(value).collect());
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
        column(&format!("{prefix}_tag"), Quantity::Pure, integers(&|(tag, ..)| tag), "the halo, as in the catalogue"),
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
            Quantity::Pure,
            integers(&|(.., shell)| shell.count as u64),
            "particles in the shell, of all that were read",
        ),
        column("shell_mass", Quantity::Mass, numbers(&|_, shell| shell.mass), "their mass"),
        column(
            "shell_density",
            Quantity::Density,
            numbers(&|_, shell| shell.density),
            "mass over the volume of the shell",
        ),
        column("enclosed_mass", Quantity::Mass, numbers(&|_, shell| shell.enclosed), "mass within the outer radius"),
        column(
            "shell_fitted",
            Quantity::Pure,
            is_fitted,
            "1 where the shell is one of those that the NFW profile is fitted to",
        ),
        column(
            "resolved_radius",
            Quantity::Length,
            numbers(&|profile, _| profile.resolved),
            "fits begin with the first shell outside: three softenings, or without one the radius of Power et al. 2003, equation 20",
        ),
        column(
            "nfw_density",
            Quantity::Density,
            model,
            "density of the most likely NFW profile in the middle of the shell",
        ),
        column("nfw_scale_radius", Quantity::Length, of_fit(|fit| fit.radius), "scale radius of that profile"),
        column("nfw_scale_radius_error", Quantity::Length, of_fit(|fit| fit.radius_error), "its standard deviation"),
        column(
            "nfw_characteristic_density",
            Quantity::Density,
            of_fit(|fit| fit.density),
            "four times the density of that profile at the scale radius",
        ),
        column(
            "nfw_characteristic_density_error",
            Quantity::Density,
            of_fit(|fit| fit.density_error),
            "its standard deviation",
        ),
        column("nfw_concentration", Quantity::Pure, of_fit(|fit| fit.concentration), "R200c over the scale radius"),
        column(
            "nfw_concentration_error",
            Quantity::Pure,
            of_fit(|fit| fit.concentration_error),
            "its standard deviation, with R200c as it is",
        ),
        column(
            "nfw_chi2",
            Quantity::Pure,
            of_fit(|fit| fit.chi2),
            "squared deviations of the shells' masses over their variances",
        ),
        column(
            "nfw_shells",
            Quantity::Pure,
            integers(&|(_, profile, _)| profile.fit.map_or(0, |fit| fit.shells as u64)),
            "shells that were fitted: nfw_chi2 has two degrees of freedom less",
        ),
    ]
}
