//! What `ropewalk halos` shows of the largest halos: profiles, and pictures with all kinds of centres.

use std::io::{self, Write};

use ropewalk::plot::{self, Portrait};
use ropewalk::{Catalog, Centers, Halos, Profile, Scalar, overdensities, profiles};

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
                .map(|spheres| spheres[0].map(|sphere| sphere.radius).ok())
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
            Portrait {
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
        let portraits: Vec<Portrait> = (0..self.halos.len()).map(portrait).collect();
        let title = match portraits.len() {
            0 => "no halos".into(),
            1 => "The largest halo along the z axis".into(),
            many => format!("The {many} largest halos along the z axis"),
        };
        let sphere = if self.radii.iter().any(Option::is_some) { sphere } else { "" };
        Ok(plot::gallery(&portraits, &KINDS.map(|(_, name)| name), sphere, &title)?)
    }

    /// The density about the most bound particles, out to the spheres, as CSV.
    pub fn write_profiles<S: Scalar>(&self, case: &Case<'_, S>, mut out: impl Write) -> Result<(), Failure> {
        let radii: Vec<f64> = self.radii.iter().map(|radius| radius.unwrap_or(0.0)).collect();
        let found = profiles(case.particles, &self.centers[0], &radii, SHELLS)?;
        writeln!(out, "# shells about the most bound particle, over all particles read, out to R200c; comoving")?;
        writeln!(
            out,
            "# nfw_*: the most likely NFW profile of the halo; concentration is R200c over the scale radius"
        )?;
        writeln!(
            out,
            "fof_halo_tag,shell_inner,shell_outer,shell_count,shell_mass,shell_density,enclosed_mass,nfw_density,\
             nfw_scale_radius,nfw_concentration"
        )?;
        for (tag, profile) in self.tags.iter().zip(&found) {
            write_profile(*tag, profile, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

fn write_profile(tag: u64, profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let fit = profile.fit;
    for shell in &profile.shells {
        // At the middle of the shell on a logarithmic scale.
        let x = |radius: f64| (shell.inner * shell.outer).sqrt() / radius;
        let model = fit.map_or(f64::NAN, |fit| fit.density / (x(fit.radius) * (1.0 + x(fit.radius)).powi(2)));
        let (radius, concentration) = fit.map_or((f64::NAN, f64::NAN), |fit| (fit.radius, fit.concentration));
        write!(out, "{tag},{:.8e},{:.8e},{}", shell.inner, shell.outer, shell.count)?;
        for value in [shell.mass, shell.density, shell.enclosed, model, radius, concentration] {
            write!(out, ",{value:.8e}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
