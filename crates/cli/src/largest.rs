//! Pictures of the largest halos: `ropewalk halos --gallery` and `--profiles`.

use ropewalk::geometry::Space;
use ropewalk::halo::{Centers, Profile};
use ropewalk::units::Quantity;
use ropewalk_pipeline::{CenterKind, FoundHalos, HaloName, Pipeline};
use ropewalk_plot::{GalleryHalo, GalleryPanel, ProfilePanel};
use ropewalk_table::Catalog;

use super::args::Halos as Args;
use super::failure::Failure;
use super::output_units::{axes, factor, of_pictures};
use super::pictures::Picture;

/// The maximum number of halos in a picture of profiles.
const PANELS: usize = 100;
/// The maximum number of kinds of centres in a gallery, the most bound particle included.
const CENTERS: usize = 5;

/// Returns the kinds of centres of `--center`, besides the most bound particle, without repetitions.
fn chosen_centers(args: &Args) -> Vec<CenterKind> {
    let mut kinds: Vec<CenterKind> = vec![];
    for kind in args.center.iter().map(|&kind| CenterKind::from(kind)) {
        if !matches!(kind, CenterKind::MostBound | CenterKind::MostBoundBrute) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.truncate(CENTERS - 1);
    kinds
}

/// Returns the name of a kind of centre in the legend.
fn center_name(kind: CenterKind) -> String {
    match kind {
        CenterKind::MostBoundPoisson => "most bound particle by a grid".into(),
        CenterKind::MostBoundAStar => "most bound particle by A*".into(),
        CenterKind::ShrinkingSphere => "shrinking sphere".into(),
        _ => kind.to_string(),
    }
}

/// Draws members and centres of the largest halos of a catalogue: the linked particles, those of each attached type,
/// the most bound particle, and the other centres of `--center`.
pub fn gallery(
    args: &Args,
    pipeline: &Pipeline<'_>,
    found: &FoundHalos<'_>,
    catalog: &Catalog,
) -> Result<Vec<u8>, Failure> {
    let largest = pipeline.largest(found, catalog, args.gallery.into())?;
    let kinds = chosen_centers(args);
    let others = kinds.iter().map(|&kind| pipeline.centers_of(&largest.halos, kind));
    let others = others.collect::<ropewalk::Result<Vec<Centers>>>()?;
    let space: Space<3> = Space::periodic(pipeline.period())?;
    let position = |&i: &u32| pipeline.position(i).unwrap_or([f64::NAN; 3]);
    let factors = of_pictures(args, pipeline)?;
    let units = axes(pipeline, factors.as_ref());
    let panel = |halo: usize| {
        let attached = found.attached.as_ref().map(|attached| attached.positions_by_type(largest.found[halo]));
        let centers = [&largest.centers].into_iter().chain(&others);
        let halo = GalleryHalo {
            name: largest.names[halo].to_string(),
            members: largest.halos.members(halo).iter().map(position).collect(),
            others: attached.unwrap_or_default(),
            centers: centers.map(|kind| kind.as_slice()[halo].position).collect(),
            r200c: largest.r200c[halo],
        };
        halo.panel(&space, &units)
    };
    let panels: Vec<GalleryPanel> = (0..largest.halos.len()).map(panel).collect();
    let title = match panels.len() {
        0 => "no halos".into(),
        1 => format!("The largest halo, seen along z{}", units.when()),
        many => format!("The {many} largest halos, seen along z{}", units.when()),
    };
    let names: Vec<String> =
        ["most bound particle".into()].into_iter().chain(kinds.iter().map(|&kind| center_name(kind))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
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
    let of = pipeline.particle_sets().alone().map_or(String::new(), |kinds| format!(", {kinds}"));
    let halos = match panels.len() {
        1 => "Density profile of the largest halo",
        _ => "Density profiles of the largest halos",
    };
    let title = format!("{halos}{of}{}", units.when());
    Ok(ropewalk_plot::profiles(&panels, [&title, "R200c"], &units, Picture::Profiles.style(args))?)
}
