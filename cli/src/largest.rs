//! What `ropewalk halos` shows of the largest halos: profiles, and pictures with all kinds of centres.

use std::io::Write;

use ropewalk::plot::{self, GalleryPanel};
use ropewalk::{
    Catalog, Centers, Column, Halos, Meta, NfwFit, Profile, Quantity, Scalar, Shell, Units, Values, overdensities,
    profiles, write_ecsv,
};

use super::centers::{Case, Kind};
use super::{Failure, grouped, short};

/// Shells of a profile.
const SHELLS: usize = 20;
/// What the gallery marks.
const KINDS: [(Kind, &str); 5] = [
    (Kind::Mbp, "most bound particle (MBP)"),
    (Kind::MbpPoisson, "MBP by Poisson's grid"),
    (Kind::Mcp, "most connected particle"),
    (Kind::Com, "centre of mass"),
    (Kind::ShrinkingSphere, "shrinking sphere"),
];

/// The largest halos, and a sphere about the most bound particle of each, of a density.
pub struct Largest {
    halos: Halos,
    tags: Vec<u64>,
    /// One row for each kind.
    centers: Vec<Centers>,
    radii: Vec<Option<f64>>,
}

impl Largest {
    /// The first `count` of a catalogue. Spheres have the mean density `threshold`, if there is one.
    pub fn new<S: Scalar>(
        case: &Case<'_, S>,
        catalog: &Catalog,
        count: usize,
        softening: f64,
        threshold: Option<f64>,
    ) -> Result<Self, Failure> {
        let order = &catalog.order()[..count.min(catalog.order().len())];
        let (mut offsets, mut members) = (vec![0], vec![]);
        for &halo in order {
            members.extend_from_slice(case.halos.members(halo as usize));
            offsets.push(members.len());
        }
        let halos = Halos::from_lists(case.positions.len(), &offsets, &members)?;
        let centers = KINDS
            .iter()
            .map(|(kind, _)| case.centers_of(&halos, kind.center(softening, case.linking_length)))
            .collect::<Result<Vec<Centers>, Failure>>()?;
        let radii = match threshold {
            Some(threshold) => overdensities(case.particles, &centers[0], &[threshold])?
                .iter()
                .map(|spheres| {
                    let sphere = spheres[0].ok().filter(|sphere| sphere.count >= case.least_in_sphere.max(1));
                    sphere.map(|sphere| sphere.radius)
                })
                .collect(),
            None => vec![None; halos.len()],
        };
        let tags = catalog.halos().iter().take(halos.len()).map(|halo| halo.tag).collect();
        Ok(Self { halos, tags, centers, radii })
    }

    /// A PNG file.
    pub fn gallery<S: Scalar>(&self, case: &Case<'_, S>, sphere: &str) -> Result<Vec<u8>, Failure> {
        let apart = |a: f64, b: f64| case.period.map_or(a - b, |side| a - b - side * ((a - b) / side).round());
        let portrait = |halo: usize| {
            // About the middle of the members, seen from one of them.
            let from = case.positions[self.halos.members(halo)[0] as usize].map(Into::into);
            let offset = |at: [f64; 3]| [apart(at[0], from[0]), apart(at[1], from[1])];
            let members = self.halos.members(halo).iter();
            let mut members: Vec<[f64; 2]> =
                members.map(|&i| offset(case.positions[i as usize].map(Into::into))).collect();
            let middle = [0, 1].map(|k| {
                let extent =
                    members.iter().map(|at| at[k]).fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
                0.5 * (extent.0 + extent.1)
            });
            let about = |at: [f64; 2]| [at[0] - middle[0], at[1] - middle[1]];
            members.iter_mut().for_each(|at| *at = about(*at));
            let radius = self.radii[halo];
            let shown = radius.map_or(String::new(), |radius| format!(", {sphere} {}", short(radius)));
            GalleryPanel {
                caption: [
                    format!("{}: halo {}", halo + 1, self.tags[halo]),
                    format!("{} members{shown}", grouped(members.len() as u64)),
                ],
                // Those that there are not are not marked.
                centers: self.centers.iter().map(|kind| about(offset(kind.as_slice()[halo].position))).collect(),
                radius,
                members,
            }
        };
        let portraits: Vec<GalleryPanel> = (0..self.halos.len()).map(portrait).collect();
        let title = match portraits.len() {
            0 => "no halos".into(),
            1 => "The largest halo along the z axis".into(),
            many => format!("The {many} largest halos along the z axis"),
        };
        let sphere = if self.radii.iter().any(Option::is_some) { sphere } else { "" };
        Ok(plot::gallery(&portraits, &KINDS.map(|(_, name)| name), sphere, &title)?)
    }

    /// The density about the most bound particles, out to the spheres, as enhanced CSV.
    pub fn write_profiles<S: Scalar>(
        &self,
        case: &Case<'_, S>,
        out: impl Write,
        units: Option<&Units>,
        meta: &[(&str, Meta)],
    ) -> Result<(), Failure> {
        let radii: Vec<f64> = self.radii.iter().map(|radius| radius.unwrap_or(0.0)).collect();
        let found = profiles(case.particles, &self.centers[0], &radii, SHELLS)?;
        Ok(write_ecsv(out, &columns(&self.tags, &found), units, meta)?)
    }
}

/// A row for each shell of each profile.
fn columns(tags: &[u64], profiles: &[Profile]) -> Vec<Column> {
    let shells = || {
        tags.iter()
            .zip(profiles)
            .flat_map(|(tag, profile)| profile.shells.iter().map(move |shell| (*tag, profile, shell)))
    };
    let integers = |value: &dyn Fn((u64, &Profile, &Shell)) -> u64| Values::Integers(shells().map(value).collect());
    let numbers = |value: &dyn Fn(&Profile, &Shell) -> f64| {
        Values::Numbers(shells().map(|(_, profile, shell)| value(profile, shell)).collect())
    };
    let of_fit = |profile: &Profile, value: fn(&NfwFit) -> f64| profile.fit.as_ref().map_or(f64::NAN, value);
    // At the middle of the shell on a logarithmic scale.
    let model = |profile: &Profile, shell: &Shell| {
        let x = |radius: f64| (shell.inner * shell.outer).sqrt() / radius;
        profile.fit.map_or(f64::NAN, |fit| fit.density / (x(fit.radius) * (1.0 + x(fit.radius)).powi(2)))
    };
    let column = |name: &str, quantity, values, description: &str| {
        Column::new(name, values).quantity(quantity).description(description)
    };
    let scale_radius = numbers(&|profile, _| of_fit(profile, |fit| fit.radius));
    let concentration = numbers(&|profile, _| of_fit(profile, |fit| fit.concentration));
    vec![
        column("fof_halo_tag", Quantity::Pure, integers(&|(tag, ..)| tag), "the halo, as in the catalogue"),
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
            "nfw_density",
            Quantity::Density,
            numbers(&model),
            "density of the most likely NFW profile in the middle of the shell",
        ),
        column("nfw_scale_radius", Quantity::Length, scale_radius, "scale radius of that profile"),
        column("nfw_concentration", Quantity::Pure, concentration, "R200c over the scale radius"),
    ]
}
