//! Notes on particles that are, or may be, only a part of the matter of their volume.
//!
//! In: the data that all ranks share. Out: sentences for reports and headers, and phrases for titles.

use ropewalk::internals::format::share_in_percent;
use ropewalk_io::Masses;

use crate::matter_fraction::{DARK, LOW_RESOLUTION, low_resolution_types};
use crate::particle_sets::named;
use crate::{ParticleSets, Pipeline};

impl Pipeline<'_> {
    /// Describes, for titles, which part of a snapshot or volume the particles are: `one of 3 files`,
    /// `5.3% of the matter of the box`. `None` if they are the whole, or if this is not known. Otherwise numbers of
    /// halos per volume are not those of the whole volume.
    pub fn part_of_volume(&self) -> Option<String> {
        if let Some(files) = self.whole.about.one_of_files {
            return Some(format!("one of {files} files"));
        }
        self.whole
            .scales
            .share_of_matter
            .map(|share| format!("{} of the matter of the {}", share_in_percent(share), self.place()))
    }

    /// Returns a sentence for particles from one file of several.
    pub(super) fn one_file_sentence(&self) -> Option<String> {
        let (files, place) = (self.whole.about.one_of_files?, self.place());
        Some(format!(
            "one of {files} files of the snapshot was read: halos, masses, spheres, profiles and mass functions are of its particles alone; \
             mass functions divide by the volume of the whole {place}"
        ))
    }

    /// Returns a sentence for particles that do not fill their volume.
    pub(super) fn filling_sentence(&self) -> Option<String> {
        let (share, place) = (share_in_percent(self.whole.scales.share_of_matter?), self.place());
        if self.whole.about.one_of_files.is_some() && self.mean_dependencies() == [false; 2] {
            // The sentence on the file is sufficient.
            return None;
        }
        let sets = &self.whole.sets;
        let kinds = named(&filling_kinds(sets)).map_or("the particles".into(), |kinds| format!("particles of {kinds}"));
        let [has_density, has_separations] = self.mean_dependencies();
        let means = match [has_density, has_separations] {
            [true, true] => {
                "the mean density and the mean separation are those within the volume that these particles fill; "
            }
            [true, false] => "the mean density is that within the volume that these particles fill; ",
            [false, true] => "the mean separation is that within the volume that these particles fill; ",
            [false, false] => "",
        };
        Some(format!(
            "{kinds} have {share} of the matter of the {place} (omega_m times the critical density): {means}mass functions divide by the \
             volume of the whole {place}"
        ))
    }

    /// Returns a sentence for particles that may not fill their volume, if their share of the matter is not known.
    pub(super) fn filling_unknown(&self) -> Option<String> {
        let sets = &self.whole.sets;
        let coarse = named(&low_resolution_types(&self.whole.about, &sets.linked))?;
        let means = match self.mean_dependencies() {
            [true, true] => "the mean density and the mean separation are",
            [true, false] => "the mean density is",
            [false, true] => "the mean separation is",
            [false, false] => return None,
        };
        let universe = &self.whole.universe;
        let lacks = [
            (self.whole.about.masses == Masses::Unknown, "masses"),
            (universe.omega_m.is_none(), "omega_m"),
            (universe.units().is_none(), "units"),
        ];
        let lacks: Vec<&str> = lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what).collect();
        let lacks = match (&lacks[..], sets.unread.contains(&DARK)) {
            ([], false) => return None,
            ([], true) => "type 1 is not read".into(),
            (["omega_m"], _) => "omega_m is unknown".into(),
            (lacks, _) => format!("{} are unknown", lacks.join(", ")),
        };
        let linked = named(&sets.linked).unwrap_or_default();
        Some(format!(
            "the file also has {coarse}, which are low-resolution dark matter in zoom runs; {linked} may not fill the {place}, because \
             {lacks}: {means} over the whole {place}",
            place = self.place()
        ))
    }

    /// Returns two flags: halos depend on the mean density; halos depend on the mean separation.
    fn mean_dependencies(&self) -> [bool; 2] {
        let options = self.options;
        let has_density = options.finder.has_mean_density();
        let has_length = !has_density || options.has_most_connected() || !self.whole.sets.attached.is_empty();
        // `separations` is `Some` if the linking length was given in mean separations.
        let in_separations = self.whole.scales.separations.is_some();
        [has_density, has_length && in_separations]
    }

    fn place(&self) -> &'static str {
        let has_box = self.options.box_size.or(self.whole.about.box_size).is_some();
        if has_box { "box" } else { "volume" }
    }
}

/// Returns the types whose masses are summed.
fn filling_kinds(sets: &ParticleSets) -> Vec<u8> {
    let mut kinds = sets.types_read();
    kinds.retain(|kind| sets.linked.contains(kind) || !LOW_RESOLUTION.contains(kind));
    kinds
}
