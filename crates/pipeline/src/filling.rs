//! The share of the matter of a volume that its particles are: a part of it in zoom runs, cut-outs and single files of a snapshot.
//!
//! In: the masses of linked particles and of baryons read with them, `omega_m` and units. Out: the share where it is clearly less than all,
//! which scales mean separations and densities, and sentences about it. Cost: one pass over the masses.

use ropewalk::halo::Universe;
use ropewalk::internals::format::share_in_percent;
use ropewalk_io::{MassSum, Masses, Snapshot};

use crate::particle_sets::{mass_sum, mass_sum_of, named};
use crate::{ParticleSets, Pipeline};

/// Types that are dark matter of low resolution in zoom runs.
pub(super) const LOW_RESOLUTION: [u8; 2] = [2, 3];
/// The type of dark matter of the highest resolution.
const DARK: u8 = 1;
/// Particles with a smaller share of the mean density of matter do not fill their volume.
const CLEARLY_LESS: f64 = 0.5;

/// The types of a file that are low-resolution dark matter beside the linked types.
fn coarse(about: &Snapshot, linked: &[u8]) -> Vec<u8> {
    let is_coarse = |&(kind, count): &(u8, u64)| count > 0 && LOW_RESOLUTION.contains(&kind) && !linked.contains(&kind);
    about.file_types.iter().filter(|of| is_coarse(of)).map(|&(kind, _)| kind).collect()
}

/// The mass of the particles that fill the volume as the linked ones do: all matter of the file, or without low-resolution dark matter
/// what `read` sums. `None` where it is not known.
pub(super) fn mass(
    about: &Snapshot,
    matter: Option<f64>,
    [linked, others]: [&[u8]; 2],
    read: impl FnOnce() -> Option<MassSum>,
) -> Option<f64> {
    if coarse(about, linked).is_empty() && matter.is_some() {
        return matter;
    }
    // Stars alone are a small share of any volume.
    let lacks_dark =
        |&(kind, count): &(u8, u64)| kind == DARK && count > 0 && ![linked, others].concat().contains(&DARK);
    if about.file_types.iter().any(lacks_dark) {
        return None;
    }
    Some(read()?.value())
}

/// The mass of linked particles and of others but low-resolution dark matter.
pub(super) fn mass_read(linked: &Snapshot, others: Option<&Snapshot>) -> Option<MassSum> {
    let mut all = mass_sum(linked)?;
    if let Some(others) = others.filter(|others| !others.points.is_empty()) {
        all.merge(&mass_sum_of(others, |kind| !LOW_RESOLUTION.contains(&kind))?);
    }
    Some(all)
}

/// The share of the matter of a volume that a mass is, if it is clearly less than all.
pub(super) fn share(universe: &Universe, mass: Option<f64>, volume: f64) -> Option<f64> {
    let share = mass? / (universe.matter_density()? * volume);
    (share > 0.0 && share < CLEARLY_LESS).then_some(share)
}

impl Pipeline<'_> {
    /// The part of a snapshot or volume that the particles are, for titles: `one of 3 files`, `5.3% of the matter of the box`. `None` where
    /// they are the whole, or where that is not known. Numbers of halos per volume are then not those of the whole volume.
    pub fn part_of_volume(&self) -> Option<String> {
        if let Some(files) = self.snapshot.one_of_files {
            return Some(format!("one of {files} files"));
        }
        self.scales
            .share_of_matter
            .map(|share| format!("{} of the matter of the {}", share_in_percent(share), self.place()))
    }

    /// A sentence on particles of one file of several.
    pub(super) fn one_file_sentence(&self) -> Option<String> {
        let (files, place) = (self.snapshot.one_of_files?, self.place());
        Some(format!(
            "one of {files} files of the snapshot was read: halos, masses, spheres, profiles and mass functions are of its particles alone; \
             mass functions divide by the volume of the whole {place}"
        ))
    }

    /// A sentence on the column of contamination, which finders of subhalos do not have.
    pub(super) fn contamination_sentence(&self) -> Option<String> {
        let coarse = named(&coarse(self.snapshot, &self.particle_sets().linked)).filter(|_| !self.joins())?;
        Some(format!(
            "no contamination: AdaptaHOP attaches no particles, so that halos do not show how much of {coarse} they hold, which are \
             low-resolution dark matter in zoom runs"
        ))
    }

    /// A sentence on particles that do not fill their volume, if so.
    pub(super) fn filling_sentence(&self) -> Option<String> {
        let (share, place) = (share_in_percent(self.scales.share_of_matter?), self.place());
        if self.snapshot.one_of_files.is_some() && self.means() == [false; 2] {
            // The sentence on the file says all.
            return None;
        }
        let sets = self.particle_sets();
        let kinds =
            named(&filling_kinds(&sets)).map_or("the particles".into(), |kinds| format!("particles of {kinds}"));
        let [has_density, has_separations] = self.means();
        let means = match [has_density, has_separations] {
            [true, true] => "the mean density and the mean separation are those of such particles where they fill it; ",
            [true, false] => "the mean density is that of such particles where they fill it; ",
            [false, true] => "the mean separation is that of such particles where they fill it; ",
            [false, false] => "",
        };
        Some(format!(
            "{kinds} fill {share} of the matter of the {place} (omega_m times the critical density): {means}mass functions divide by the \
             volume of the whole {place}"
        ))
    }

    /// A sentence on particles that may fill a part of their volume, where it is not known what share of the matter they are.
    pub(super) fn filling_unknown(&self) -> Option<String> {
        let linked = self.particle_sets().linked;
        let coarse = named(&coarse(self.snapshot, &linked))?;
        let means = match self.means() {
            [true, true] => "the mean density and the mean separation are",
            [true, false] => "the mean density is",
            [false, true] => "the mean separation is",
            [false, false] => return None,
        };
        let universe = &self.universe;
        let lacks = [
            (self.snapshot.masses == Masses::Unknown, "masses"),
            (universe.omega_m.is_none(), "omega_m"),
            (universe.units().is_none(), "units"),
        ];
        let lacks: Vec<&str> = lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what).collect();
        let sets = self.particle_sets();
        let lacks = match (&lacks[..], sets.unread.contains(&DARK)) {
            ([], false) => return None,
            ([], true) => "type 1 is not read".into(),
            (lacks, _) => format!("{} are not known", lacks.join(", ")),
        };
        let linked = named(&linked).unwrap_or_default();
        Some(format!(
            "the file also has {coarse}, which are low-resolution dark matter in zoom runs, and {lacks}, which would tell whether {linked} \
             fills the {place}: {means} of the whole {place}",
            place = self.place()
        ))
    }

    /// Returns whether halos depend on the mean density, and whether on the mean separation.
    fn means(&self) -> [bool; 2] {
        let options = self.options;
        let has_density = options.finder.has_mean_density();
        let has_length = !has_density || options.has_most_connected() || !self.particle_sets().attached.is_empty();
        // Across ranks the options have the length.
        let in_separations = self.scales.separations.is_some();
        [has_density, has_length && in_separations]
    }

    fn place(&self) -> &'static str {
        let has_box = self.options.box_size.or(self.snapshot.box_size).is_some();
        if has_box { "box" } else { "volume" }
    }
}

/// The types whose masses are summed.
fn filling_kinds(sets: &ParticleSets) -> Vec<u8> {
    let mut kinds = sets.of_spheres();
    kinds.retain(|kind| sets.linked.contains(kind) || !LOW_RESOLUTION.contains(kind));
    kinds
}
