//! Particles that are attached to halos, and their number and mass in each halo.
//!
//! In: the particles of other types than the linked ones, and the halo of each. Out: [`Attached`], with the indices,
//! ids, numbers and masses of each type in each halo. Cost: O(particles).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use ropewalk::internals::parallel::map;
use ropewalk_io::{Masses, Snapshot};

use crate::particle_sets::kinds;

/// Returns the names of the lists of members of a type.
pub(super) fn list_names(kind: u8) -> [&'static str; 2] {
    static NAMES: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
        (0..=u8::MAX).map(|kind| ["offsets", "ids"].map(|what| format!("{what}_type{kind}"))).collect()
    });
    NAMES[usize::from(kind)].each_ref().map(String::as_str)
}

/// Particles that were attached to halos after these were found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attached<'a> {
    /// The label of each particle, -1 for none, in the order of the snapshot of
    /// [`Pipeline::attaching`](super::Pipeline::attaching). Labels are those of
    /// [`FoundHalos::labels`](super::FoundHalos::labels), with subhalos that of the innermost.
    /// [`Snapshot::of_type`] returns those of one type.
    pub labels: Vec<i32>,
    /// For each type, the number and the mass of its particles in each halo.
    pub(super) sums: BTreeMap<u8, Sums>,
    /// For each halo, the indices of its particles in their snapshot, ascending.
    members: Vec<Vec<u32>>,
    /// The other particles. Across ranks, those that joined halos of this rank.
    pub(super) others: Cow<'a, Snapshot>,
}

/// For each halo, the number of particles of a type and their mass.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    pub counts: Vec<u64>,
    pub masses: Vec<f64>,
}

impl<'a> Attached<'a> {
    /// Sums up the particles of `others` that joined halos. `members` has the particles of each halo, ascending.
    pub(super) fn new(others: Cow<'a, Snapshot>, labels: Vec<i32>, members: Vec<Vec<u32>>) -> Self {
        let sums = sums_of(&others, members.len(), &|halo| &members[halo]);
        Self { labels, sums, members, others }
    }

    /// Returns the indices in their snapshot of the particles that joined a halo or its subhalos, ascending; empty if
    /// there is no such halo.
    pub fn members(&self, halo: usize) -> &[u32] {
        self.members.get(halo).map_or(&[], Vec::as_slice)
    }

    /// Returns the positions of the particles that joined a halo, for each attached type in ascending order.
    pub fn positions_by_type(&self, halo: usize) -> Vec<(u8, Vec<[f64; 3]>)> {
        let ends: Vec<usize> = ends_of_runs(&self.others);
        let mut positions: Vec<(u8, Vec<[f64; 3]>)> = self.types().into_iter().map(|kind| (kind, vec![])).collect();
        for &place in self.members(halo) {
            let run = self.others.types.get(ends.partition_point(|&end| end <= place as usize));
            let list = run.and_then(|run| positions.iter_mut().find(|(kind, _)| *kind == run.particle_type));
            let at = self.others.points.in_space(place as usize);
            if let Some((list, at)) = list.zip(at) {
                list.1.push(at);
            }
        }
        positions
    }

    /// Returns the snapshot that the indices of [`Attached::members`] refer to. It has all particles that could join
    /// a halo; across ranks, those that joined a halo of this rank.
    pub fn snapshot(&self) -> &Snapshot {
        &self.others
    }

    /// Returns the types of the attached particles, ascending.
    pub fn types(&self) -> Vec<u8> {
        kinds(&self.others)
    }

    /// Returns the ids of the particles of one type in each halo. Particles without ids are named by their index
    /// among the particles of their type.
    pub(super) fn ids_of_type(&self, kind: u8) -> Vec<Vec<u64>> {
        let each = type_of_each(&self.others);
        let ids = ids_or_places(&self.others, &[0; 256]);
        let of = |list: &Vec<u32>| {
            let of_kind = list.iter().map(|&place| place as usize).filter(|&place| each.get(place) == Some(&kind));
            of_kind.map(|place| ids[place]).collect()
        };
        self.members.iter().map(of).collect()
    }
}

/// Returns the type of each particle.
pub(super) fn type_of_each(snapshot: &Snapshot) -> Vec<u8> {
    snapshot.types.iter().flat_map(|run| std::iter::repeat_n(run.particle_type, run.count)).collect()
}

/// Returns the id of each particle. Particles without ids get their index among the particles of their type, starting
/// at the number in `before`.
pub(super) fn ids_or_places(snapshot: &Snapshot, before: &[u64; 256]) -> Vec<u64> {
    let Some(ids) = &snapshot.ids else { return places_in_types(snapshot, before) };
    if snapshot.types_without_ids.is_empty() {
        return ids.clone();
    }
    let named = type_of_each(snapshot).into_iter().zip(ids).zip(places_in_types(snapshot, before));
    let lacks_ids = |kind| snapshot.types_without_ids.contains(&kind);
    named.map(|((kind, &id), place)| if lacks_ids(kind) { place } else { id }).collect()
}

/// Returns the index of each particle among those of its type, starting at the number in `before`.
fn places_in_types(snapshot: &Snapshot, before: &[u64; 256]) -> Vec<u64> {
    let mut next = *before;
    let place = |kind: u8| {
        let place = &mut next[usize::from(kind)];
        *place += 1;
        *place - 1
    };
    type_of_each(snapshot).into_iter().map(place).collect()
}

/// Returns the index after the last particle of each run of one type.
fn ends_of_runs(snapshot: &Snapshot) -> Vec<usize> {
    let ends = snapshot.types.iter().scan(0, |end, run| {
        *end += run.count;
        Some(*end)
    });
    ends.collect()
}

/// Sums counts and masses of each type in each halo, in the order of the members.
pub(super) fn sums_of<'a>(
    snapshot: &Snapshot,
    halos: usize,
    members: &(dyn Fn(usize) -> &'a [u32] + Sync),
) -> BTreeMap<u8, Sums> {
    let ends = ends_of_runs(snapshot);
    let mut kinds: Vec<u8> = snapshot.types.iter().map(|run| run.particle_type).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mass_of = |place: usize| match &snapshot.masses {
        Masses::Equal(mass) => *mass,
        Masses::Each(masses) => masses[place],
        Masses::Unknown => 1.0,
    };
    let rows = map(halos, 16, &|halo| {
        let mut sums = vec![(0u64, 0.0); kinds.len()];
        for &member in members(halo) {
            let run = ends.partition_point(|&end| end <= member as usize);
            let kind = snapshot.types.get(run).and_then(|run| kinds.binary_search(&run.particle_type).ok());
            if let Some(sum) = kind.and_then(|kind| sums.get_mut(kind)) {
                *sum = (sum.0 + 1, sum.1 + mass_of(member as usize));
            }
        }
        sums
    });
    let of = |at: usize| Sums {
        counts: rows.iter().map(|row| row[at].0).collect(),
        masses: rows.iter().map(|row| row[at].1).collect(),
    };
    kinds.iter().enumerate().map(|(at, &kind)| (kind, of(at))).collect()
}
