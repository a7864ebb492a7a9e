//! The particle types that the numbers of a catalogue are over: linked, attached, and not read.
//!
//! In: the snapshots that were read. Out: types, their share of the mass, and sentences for reports, headers and
//! columns.
//! Cost: one pass over the masses, if some types were not read.

use ropewalk::internals::format::share_in_percent;
use ropewalk_io::{MassSum, Masses, Snapshot};
use ropewalk_table::Catalog;
use ropewalk_table::columns::Column;

/// Columns over the linked members, without their prefix.
const OF_LINKED: [&str; 24] = [
    "count",
    "mass",
    "mean_x",
    "mean_y",
    "mean_z",
    "mean_vx",
    "mean_vy",
    "mean_vz",
    "vel_disp",
    "rms_radius",
    "max_radius",
    "center_x",
    "center_y",
    "center_z",
    "center_id",
    "mcp_x",
    "mcp_y",
    "mcp_z",
    "mcp_id",
    "mcp_friends",
    "mcp_ties",
    "found_mass",
    "bound_vmax",
    "bound_rvmax",
];
/// Columns over linked members and attached particles, without their prefix.
const OF_ALL: [&str; 10] = [
    "count_total",
    "mass_total",
    "contamination",
    "vmax",
    "rvmax",
    "half_mass_radius",
    "spin",
    "axis_ratio_b",
    "axis_ratio_c",
    "center_offset",
];

/// The particle types that were linked, attached or not read. All lists are ascending, and empty if the snapshot has
/// no types.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ParticleSets {
    /// The types that were linked.
    pub linked: Vec<u8>,
    /// The types whose particles joined halos.
    pub attached: Vec<u8>,
    /// The types of the file that were not read.
    pub unread: Vec<u8>,
    /// The share of the mass of the file that the types in [`ParticleSets::unread`] have. `None` if it is not known,
    /// for example if only a sample of the particles was read.
    pub unread_share: Option<f64>,
}

impl ParticleSets {
    /// Sorts the linked and the other types into sets; `about` has the types of the file. The share of the mass is
    /// not set.
    pub(super) fn of_types([linked, others]: [&[u8]; 2], about: &Snapshot) -> Self {
        let is_read = |kind: &u8| linked.contains(kind) || others.contains(kind);
        let mut unread: Vec<u8> =
            about.file_types.iter().map(|&(kind, _)| kind).filter(|kind| !is_read(kind)).collect();
        unread.sort_unstable();
        Self { linked: linked.to_vec(), attached: others.to_vec(), unread, unread_share: None }
    }

    /// Returns `true` if there is at most one type, so that reports need not mention types.
    pub fn is_one_type(&self) -> bool {
        self.linked.len() < 2 && self.attached.is_empty() && self.unread.is_empty()
    }

    /// Returns the lists that are not empty, with their names in headers.
    pub(super) fn lists(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let lists =
            [("linked_types", &self.linked), ("attached_types", &self.attached), ("types_not_read", &self.unread)];
        lists.into_iter().filter(|(_, kinds)| !kinds.is_empty()).map(|(name, kinds)| (name, kinds.as_slice()))
    }

    /// Returns the particle types that were read, linked or attached, in ascending order. Total masses, spheres and
    /// profiles are over them.
    pub fn types_read(&self) -> Vec<u8> {
        sorted([&self.linked[..], &self.attached])
    }

    /// Returns a text that names the particle types of the file that were not read and their share of its mass, such as
    /// `types 0, 4 and 5: 15.4% of the mass in the file`. `None` if all types were read.
    pub fn describe_unread(&self) -> Option<String> {
        Some(format!("{}: {}", named(&self.unread)?, self.share()))
    }

    /// Returns a sentence for reports that names the particle types of the file that were not read, and the results
    /// that do not include them. `None` if all types were read.
    pub fn unread_sentence(&self) -> Option<String> {
        let (unread, read) = (named(&self.unread)?, named(&self.types_read())?);
        let were = if self.unread.len() == 1 { "was" } else { "were" };
        Some(format!(
            "{unread} {were} not read ({}); masses, spheres, profiles and mass functions are of {read} alone",
            self.share()
        ))
    }

    /// Returns the particle types that were read, for titles: `type 1 alone`. `None` if these are all types of the
    /// file.
    pub fn alone(&self) -> Option<String> {
        named(&self.types_read()).filter(|_| !self.unread.is_empty()).map(|read| format!("{read} alone"))
    }

    /// Returns the linked types, for titles with numbers of linked members: `type 1 alone`. `None` if these are all
    /// types of the file.
    pub fn linked_alone(&self) -> Option<String> {
        let is_all = self.attached.is_empty() && self.unread.is_empty();
        named(&self.linked).filter(|_| !is_all).map(|linked| format!("{linked} alone"))
    }

    fn share(&self) -> String {
        match self.unread_share {
            None => "share of the mass unknown".into(),
            Some(share) => format!("{} of the mass in the file", share_in_percent(share)),
        }
    }

    /// Adds to the description of each column which types it is over.
    pub(super) fn describe(&self, catalog: &mut Catalog) {
        if self.is_one_type() {
            return;
        }
        let unread =
            named(&self.unread).map_or(String::new(), |unread| format!("; {unread} not read, {}", self.share()));
        let words = |kinds: &[u8]| named(kinds).unwrap_or_default();
        let read = words(&self.types_read());
        let linked = format!("; over linked particles: {}{unread}", words(&self.linked));
        let halos = match self.attached[..] {
            [] => linked.clone(),
            _ => format!("; over linked and attached particles: {read}{unread}"),
        };
        let spheres = format!("; over {read}{unread}");
        let prefix = catalog.name("");
        let more = |column: &Column| {
            let name = column.name();
            match name.strip_prefix(&prefix) {
                Some(bare) if OF_LINKED.contains(&bare) => Some(&linked),
                Some(bare) if OF_ALL.contains(&bare) => Some(&halos),
                _ => name.starts_with("sod_halo_").then_some(&spheres),
            }
        };
        for column in catalog.columns_mut() {
            if let Some(more) = more(column) {
                column.describe_more(more);
            }
        }
    }
}

/// Formats types as `type 1`, `types 0 and 1` or `types 0, 1 and 4`; `None` for no types.
pub(super) fn named(kinds: &[u8]) -> Option<String> {
    let (last, others) = kinds.split_last()?;
    if others.is_empty() {
        return Some(format!("type {last}"));
    }
    Some(format!("types {} and {last}", listed(others)))
}

/// Formats types as `0, 1, 4`.
pub(super) fn listed(kinds: &[u8]) -> String {
    kinds.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

fn sorted(lists: [&[u8]; 2]) -> Vec<u8> {
    let mut all = lists.concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the types of the particles of a snapshot, ascending.
pub(super) fn kinds(snapshot: &Snapshot) -> Vec<u8> {
    let all: Vec<u8> = snapshot.types.iter().filter(|run| run.count > 0).map(|run| run.particle_type).collect();
    sorted([&all[..], &[]])
}

/// Returns the mass of all particles of a snapshot; `None` if masses are not known.
pub(super) fn mass_sum(snapshot: &Snapshot) -> Option<MassSum> {
    let mut sum = MassSum::default();
    match &snapshot.masses {
        Masses::Equal(mass) => sum.add_times(*mass, snapshot.points.len() as u64),
        Masses::Each(masses) => sum = MassSum::from_values(masses),
        Masses::Unknown => return None,
    }
    Some(sum)
}

/// Returns the mass of the particles of some types; `None` if masses are not known.
pub(super) fn mass_sum_of(snapshot: &Snapshot, is_wanted: impl Fn(u8) -> bool) -> Option<MassSum> {
    let (mut sum, mut start) = (MassSum::default(), 0);
    for run in &snapshot.types {
        let rows = start..start + run.count;
        start = rows.end;
        match &snapshot.masses {
            _ if !is_wanted(run.particle_type) => {}
            Masses::Equal(mass) => sum.add_times(*mass, run.count as u64),
            Masses::Each(masses) => sum.merge(&MassSum::from_values(masses.get(rows).unwrap_or_default())),
            Masses::Unknown => return None,
        }
    }
    Some(sum)
}
