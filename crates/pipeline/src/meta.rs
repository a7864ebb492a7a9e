//! The entries of the catalogue's header, and notes for the user.

use std::fmt;

use ropewalk::halo::{Centers, NoCenter};
use ropewalk::internals::format::short;
use ropewalk::units::Quantity;
use ropewalk_io::Masses;
use ropewalk_table::Catalog;
use ropewalk_table::columns::Meta;

use crate::particle_sets::{listed, named};
use crate::shared_state::SharedState;
use crate::{Finder, ParticleSets, Pipeline};

/// The note on masses that are counts.
const COUNTS: &str = "the snapshot has no masses; masses are particle counts, without a unit, and are not converted";

/// Sides of boxes that differ by this part of their length are equal: headers may have 32-bit floats.
const SAME_BOX: f64 = 1e-6;

/// A note for the user on the results. Its `Display` is a sentence.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Note {
    /// Some halos have no centre, and NaN in the catalogue.
    NoCenter {
        /// The tag of the largest of these halos.
        tag: u64,
        /// The reason why its centre is missing.
        reason: NoCenter,
        /// The number of the other halos without a centre.
        others: usize,
    },
    /// The redshift is unknown, and assumed to be 0.
    NoRedshift,
    /// The unit of velocities is unknown, so that there are no spins.
    NoVelocityUnit,
    /// The attached particles have no velocities, so that there are no spins.
    NoAttachedVelocities,
    /// The particles have no masses, so that masses are numbers of particles although units are known.
    NoMasses,
    /// Only some of the particles in halos have ids. The sentence says what replaces the missing ids.
    SomeIds(String),
    /// Types of the file were not read. The sentence lists them and their share of the mass.
    TypesNotRead(String),
    /// The side of the box in the options differs from that of the file. The sentence has both.
    OtherBox(String),
    /// The particles are only a part of the matter of their volume, as in zoom runs. The sentence describes the
    /// consequences.
    PartOfVolume(String),
    /// The file has low-resolution dark matter, and it is not known whether the linked particles fill the volume of
    /// the mean separation. The sentence lists the missing data.
    FillingUnknown(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NoCenter { tag, reason, others } => {
                write!(f, "the halo with the tag {tag} has no centre (NaN in the catalogue)")?;
                if *others > 0 {
                    write!(f, ", and neither do {others} other halos")?;
                }
                write!(f, ": {reason}")
            }
            Self::NoRedshift => f.write_str("unknown redshift, assumed to be 0"),
            Self::NoVelocityUnit => f.write_str("no spins: the unit of velocities is unknown"),
            Self::NoAttachedVelocities => f.write_str("no spins: the attached particles have no velocities"),
            Self::NoMasses => f.write_str(COUNTS),
            Self::SomeIds(sentence)
            | Self::TypesNotRead(sentence)
            | Self::OtherBox(sentence)
            | Self::PartOfVolume(sentence)
            | Self::FillingUnknown(sentence) => f.write_str(sentence),
        }
    }
}

impl Pipeline<'_> {
    /// Returns sentences on linked and attached particles without ids, and on what replaces ids in lists of members
    /// and group catalogues. Empty if all have ids.
    pub fn notes_on_ids(&self) -> Vec<String> {
        notes_on_ids(self, self.particle_sets())
    }
}

/// Returns a sentence if the side of the box in the options is not that of the file, up to rounding.
pub(super) fn other_box(pipeline: &Pipeline<'_>) -> Option<String> {
    let (given, of_file) = pipeline.options.box_size.zip(pipeline.whole.about.box_size)?;
    let differs = (given - of_file).abs() > SAME_BOX * given.max(of_file);
    let [given, of_file] = [given, of_file].map(short);
    differs.then(|| {
        format!("the side of the box is {given} as specified, but {of_file} in the file; the specified side is used")
    })
}

/// Returns a note on halos without centres, if there are any.
pub(super) fn without_centers(centers: &Centers, catalog: &Catalog) -> Option<Note> {
    let missing = |&halo: &u32| centers.as_slice()[halo as usize].missing;
    let count = catalog.order().iter().filter_map(missing).count();
    let mut rows = catalog.halos().iter().zip(catalog.order());
    let (halo, reason) = rows.find_map(|(halo, i)| Some((halo, missing(i)?)))?;
    Some(Note::NoCenter { tag: halo.tag, reason, others: count - 1 })
}

/// Returns the entries for the header.
pub(super) fn entries(pipeline: &Pipeline<'_>) -> Vec<(&'static str, Meta)> {
    let Pipeline { options, whole, .. } = pipeline;
    let SharedState { about, scales, universe, sets, .. } = whole;
    let text = |text: &str| Meta::Text(text.into());
    let mut meta = vec![
        ("finder", Meta::Text(options.finder.to_string())),
        ("program", text(concat!("ropewalk ", env!("CARGO_PKG_VERSION")))),
        ("min_members", Meta::Number(options.min_members as f64)),
        ("particles", Meta::Number(whole.census.n as f64)),
        ("boundaries", text(if whole.period.is_some() { "periodic" } else { "open" })),
    ];
    if !sets.is_one_type() {
        meta.extend(sets.lists().map(|(name, kinds)| (name, Meta::Text(listed(kinds)))));
        meta.extend(sets.unread_share.map(|share| ("mass_share_not_read", Meta::Number(share))));
    }
    match &options.finder {
        Finder::FriendsOfFriends => {}
        Finder::Hop(hop) => {
            meta.extend(hop.parameters().map(|(name, value)| (name, Meta::Number(value))));
            meta.extend(hop.other_kernel().map(|kernel| ("kernel", text(kernel))));
        }
        Finder::AdaptaHop { finder, .. } => {
            meta.extend(finder.numbers().map(|(name, value)| (name, Meta::Number(value))));
            meta.extend(finder.choices().map(|(name, choice)| (name, text(choice))));
        }
    }
    // HOP and AdaptaHOP use the length only for attached particles and for the most connected particle.
    if options.finder.has_linking_length() || options.has_most_connected() || !sets.attached.is_empty() {
        meta.push(("linking_length", Meta::Measured(scales.linking_length, Quantity::Length)));
        meta.extend(scales.separations.map(|value| ("linking_length_in_mean_separations", Meta::Number(value))));
    }
    if let Some(side) = options.box_size.or(about.box_size) {
        meta.push(("box_size", Meta::Measured(side, Quantity::Length)));
    }
    if let Masses::Equal(mass) = about.masses {
        meta.push(("particle_mass", Meta::Measured(mass, Quantity::Mass)));
    }
    let numbers = [
        ("omega_m", universe.omega_m),
        ("omega_lambda", universe.omega_lambda),
        ("h", universe.h),
        ("redshift", universe.redshift),
        ("scale_factor", universe.redshift.map(|redshift| 1.0 / (1.0 + redshift))),
    ];
    meta.extend(numbers.into_iter().filter_map(|(name, number)| Some((name, Meta::Number(number?)))));
    meta.push(("units", Meta::Text(universe.describe_units())));
    if let Some(ratio) = universe.matter {
        meta.push(("matter_over_mean_density", Meta::Number(ratio)));
    }
    if let Some(files) = about.one_of_files {
        meta.push(("one_of_files", Meta::Number(files.into())));
    }
    if let Some(share) = scales.share_of_matter {
        meta.push(("share_of_matter", Meta::Number(share)));
    }
    if let Some(kind) = options.center_kind() {
        meta.push(("center", Meta::Text(kind.to_string())));
    }
    if whole.unbinding.is_some() {
        meta.push(("unbound_particles", text("removed")));
    }
    if options.center_kind().is_some() || whole.unbinding.is_some() {
        meta.push(("softening", Meta::Measured(options.softening, Quantity::Length)));
    }
    let mut notes = particle_notes(pipeline, sets);
    if let Finder::AdaptaHop { unbind, .. } = options.finder {
        notes.push(
            "a row is a halo or a subhalo; halo_count, halo_mass and all other columns are over its own particles and those of all its \
             subhalos, except halo_tag and halo_own_count, which are over its own particles alone; halo_label is the row of the catalogue, \
             from 0, and halo_parent and halo_host are such rows"
                .into(),
        );
        if unbind {
            notes.push(
                "particles of positive energy are removed from halos and subhalos: those of a subhalo join its parent, those of a halo become \
                 ungrouped; halo_mass is the bound mass, and halo_found_mass is the mass before the removal"
                    .into(),
            );
            if let Some(attached) = named(&sets.attached) {
                notes.push(format!(
                    "particles of {attached} are attached after the removal, and are not removed themselves, so halo_mass_total, the structure \
                     of halos and mass functions are not of bound particles alone"
                ));
            }
        }
    }
    if !options.overdensities.is_empty() {
        meta.push(("min_so_particles", Meta::Number(options.min_sphere_particles as f64)));
        notes.push(
            "sod_halo_*: over all particles read within the sphere about the centre of a halo or subhalo whose mean density is this \
             multiple of the critical (c) or mean (m) density; NaN if the centre is not dense enough, if the sphere meets its own image in the box, or if \
             it has fewer than min_so_particles particles"
                .into(),
        );
    }
    if !notes.is_empty() {
        meta.push(("notes", Meta::Lines(notes)));
    }
    meta
}

/// Returns sentences on the particles: those of the reader, and those on the types that numbers are over.
pub(super) fn particle_notes(pipeline: &Pipeline<'_>, sets: &ParticleSets) -> Vec<String> {
    let mut notes = pipeline.whole.about.notes.clone();
    for note in pipeline.others().iter().flat_map(|others| &others.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes.extend(pipeline.one_file_sentence());
    notes.extend(sets.unread_sentence());
    notes.extend(attached_sentence(sets, &pipeline.options.finder));
    notes.extend(pipeline.filling_sentence());
    notes.extend(pipeline.filling_unknown());
    if pipeline.counts_particles() {
        notes.push(COUNTS.into());
    }
    notes.extend(notes_on_ids(pipeline, sets));
    notes
}

/// Returns the attached types whose particles have no ids.
fn attached_without_ids(pipeline: &Pipeline<'_>, sets: &ParticleSets) -> Vec<u8> {
    let without = pipeline.others.as_ref().map_or(&[][..], |others| &others.types_without_ids);
    sets.attached.iter().copied().filter(|kind| without.contains(kind)).collect()
}

/// Returns `true` if only some of the types in halos have ids.
pub(super) fn has_some_ids(pipeline: &Pipeline<'_>, sets: &ParticleSets) -> bool {
    let without = attached_without_ids(pipeline, sets).len();
    if pipeline.whole.census.has_ids { without > 0 } else { without < sets.attached.len() }
}

/// Returns sentences on linked and attached particles without ids.
pub(super) fn notes_on_ids(pipeline: &Pipeline<'_>, sets: &ParticleSets) -> Vec<String> {
    let mut notes = vec![];
    if !pipeline.whole.census.has_ids {
        let whose = match named(&sets.linked).filter(|_| has_some_ids(pipeline, sets)) {
            Some(linked) => format!("the linked particles ({linked}) have no readable ids"),
            None => "the snapshot has no particle ids".into(),
        };
        notes.push(format!("{whose}; tags are indices from 0, and a group catalogue has no list of ids"));
    }
    if let Some(attached) = named(&attached_without_ids(pipeline, sets)) {
        notes.push(format!(
            "attached particles ({attached}) have no readable ids; in lists of members they are indices from 0 among the particles \
             of their type, and a group catalogue has no list of ids"
        ));
    }
    notes
}

/// Returns a sentence on the particles that masses, structure, spheres and mass functions are over; `None` without
/// attached types.
fn attached_sentence(sets: &ParticleSets, finder: &Finder) -> Option<String> {
    let prefix = finder.column_prefix();
    let containing = if finder.has_subhalos() { ", and all halos and subhalos that contain it" } else { "" };
    let (linked, all) = (named(&sets.linked)?, named(&sets.types_read())?);
    (!sets.attached.is_empty()).then(|| {
        format!(
            "halos are found among {linked}; other types join the halo of their nearest linked particle within the linking \
             length{containing}; \
             {prefix}_mass, means, dispersions and centres are of {linked}; {prefix}_mass_total, the structure of halos and mass \
             functions, spheres and profiles are of {all}"
        )
    })
}
