//! Pictures of the largest halos: `ropewalk halos --gallery` with all kinds of centres, and `--profiles`.

use ropewalk::geometry::Space;
use ropewalk::halo::{Centers, Profile};
use ropewalk::units::Quantity;
use ropewalk_pipeline::{CenterKind, HaloName, Largest, Pipeline};
use ropewalk_plot::{GalleryPanel, ProfilePanel};

use super::args::Halos as Args;
use super::failure::Failure;
use super::output_units::{axes, factor, of_pictures};
use super::pictures::Picture;
use super::text::{grouped, short};

/// The centres that the gallery marks in addition to the most bound particle, which comes first.
const KINDS: [(CenterKind, &str); 4] = [
    (CenterKind::MostBoundPoisson, "MBP by Poisson's grid"),
    (CenterKind::MostConnected, "most connected particle"),
    (CenterKind::CenterOfMass, "centre of mass"),
    (CenterKind::ShrinkingSphere, "shrinking sphere"),
];

/// The maximum number of halos in a picture of profiles.
const PANELS: usize = 100;

/// Draws the members and centres of the largest halos.
pub fn gallery(args: &Args, pipeline: &Pipeline<'_>, largest: &Largest) -> Result<Vec<u8>, Failure> {
    let others = KINDS.iter().map(|&(kind, _)| pipeline.centers_of(&largest.halos, kind));
    let others = others.collect::<ropewalk::Result<Vec<Centers>>>()?;
    let space: Space<3> = Space::periodic(pipeline.period())?;
    let position = |&i: &u32| pipeline.position(i).unwrap_or([f64::NAN; 3]);
    let factors = of_pictures(args, pipeline)?;
    let length = factor(factors.as_ref(), Quantity::Length);
    let units = axes(pipeline, factors.as_ref());
    let panel = |halo: usize| {
        let members = largest.halos.members(halo);
        // Offsets are from the first member; the picture is centred on the middle of the members.
        let first = members.first().map_or([f64::NAN; 3], position);
        let offset = |at: [f64; 3]| {
            let [x, y, _] = space.offset(&first, &at);
            [x, y]
        };
        let mut members: Vec<[f64; 2]> = members.iter().map(|i| offset(position(i))).collect();
        let middle = [0, 1].map(|k| {
            let extent =
                members.iter().map(|at| at[k]).fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
            0.5 * (extent.0 + extent.1)
        });
        let about = |at: [f64; 2]| [length * (at[0] - middle[0]), length * (at[1] - middle[1])];
        members.iter_mut().for_each(|at| *at = about(*at));
        let radius = largest.r200c[halo].map(|radius| length * radius);
        let shown = radius.map_or(String::new(), |radius| format!(", R200c {} {}", short(radius), units.length()));
        let centers = [&largest.centers].into_iter().chain(&others);
        GalleryPanel {
            caption: [largest.names[halo].to_string(), format!("{} members{shown}", grouped(members.len() as u64))],
            // A missing centre is NaN and is not drawn.
            centers: centers.map(|kind| about(offset(kind.as_slice()[halo].position))).collect(),
            radius,
            members,
        }
    };
    let panels: Vec<GalleryPanel> = (0..largest.halos.len()).map(panel).collect();
    let title = match panels.len() {
        0 => "no halos".into(),
        1 => format!("The largest halo along the z axis{}", units.when()),
        many => format!("The {many} largest halos along the z axis{}", units.when()),
    };
    let names: Vec<&str> =
        ["most bound particle (MBP)"].into_iter().chain(KINDS.iter().map(|&(_, name)| name)).collect();
    let sphere = if largest.r200c.iter().any(Option::is_some) { "R200c" } else { "" };
    Ok(ropewalk_plot::gallery(&panels, &names, [&title, sphere], &units, Picture::Gallery.style(args))?)
}

/// Draws density profiles and their fits. `names`, `profiles` and `r200c` have one entry per halo.
pub fn profiles_picture(
    args: &Args,
    pipeline: &Pipeline<'_>,
    names: &[HaloName],
    profiles: &[Profile],
    r200c: &[Option<f64>],
) -> Result<Vec<u8>, Failure> {
    let factors = of_pictures(args, pipeline)?;
    let length = factor(factors.as_ref(), Quantity::Length);
    let halos = names.iter().zip(profiles).zip(r200c).take(PANELS);
    let panels: Vec<ProfilePanel> = halos
        .map(|((name, profile), radius)| ProfilePanel {
            caption: name.to_string(),
            profile: factors.as_ref().map_or_else(|| profile.clone(), |factors| profile.in_units(factors)),
            radius: radius.map(|radius| length * radius),
        })
        .collect();
    let units = axes(pipeline, factors.as_ref());
    let of = pipeline.particle_sets().spheres_alone().map_or(String::new(), |kinds| format!(", {kinds}"));
    let title = format!("Density profiles of the largest halos{of}{}", units.when());
    Ok(ropewalk_plot::profiles(&panels, [&title, "R200c"], &units, Picture::Profiles.style(args))?)
}
