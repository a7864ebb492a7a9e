//! Rows of a catalogue as groups and their subhalos.

use std::ops::Range;

use ropewalk_table::Catalog;

use crate::FoundHalos;

/// Groups in the order of the catalogue, and subhalos in the order of their groups.
pub(super) struct Structures {
    pub groups: Vec<Group>,
    pub subhalos: Vec<InGroup>,
}

/// A halo that is not in another halo.
pub(super) struct Group {
    /// The row of the group in the catalogue.
    pub row: usize,
    /// The subhalos of the group. The first has the particles that are in no other subhalo. Empty if the finder has
    /// no subhalos.
    pub subhalos: Range<usize>,
}

/// A subhalo, or a halo without its subhalos.
pub(super) struct InGroup {
    /// The row in the catalogue.
    pub row: usize,
    /// The index of the group.
    pub group: usize,
    /// The rank in the group of the direct parent.
    pub parent_rank: usize,
}

impl Structures {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let (mut groups, mut subhalos): (Vec<Group>, Vec<InGroup>) = (vec![], vec![]);
        let mut inner: Vec<Vec<usize>> = vec![vec![]; catalog.halos().len()];
        for (row, subhalo) in catalog.subhalos().iter().enumerate() {
            inner[subhalo.host as usize].push(row);
        }
        for row in (0..catalog.halos().len()).filter(|&row| catalog.is_host(row)) {
            let start = subhalos.len();
            if !catalog.subhalos().is_empty() {
                // The halo itself comes first, then its subhalos in the order of the catalogue.
                let rows: Vec<usize> =
                    [row].into_iter().chain(inner[row].iter().copied().filter(|&other| other != row)).collect();
                let mut rank_of: Vec<(usize, usize)> = rows.iter().copied().zip(0..).collect();
                rank_of.sort_unstable();
                let rank = |row: usize| rank_of.binary_search_by_key(&row, |pair| pair.0).map_or(0, |at| rank_of[at].1);
                for row in rows {
                    let parent = catalog.subhalos()[row].parent;
                    let parent_rank = parent.map_or(0, |parent| rank(parent as usize));
                    subhalos.push(InGroup { row, group: groups.len(), parent_rank });
                }
            }
            groups.push(Group { row, subhalos: start..subhalos.len() });
        }
        Self { groups, subhalos }
    }
}

/// The members of a row of the catalogue that are in none of its subhalos.
pub(super) struct OwnMembers {
    /// Indices of linked particles, ascending.
    pub linked: Vec<u32>,
    /// Indices of attached particles, ascending.
    pub attached: Vec<u32>,
}

impl OwnMembers {
    pub(super) fn new(row: usize, catalog: &Catalog, found: &FoundHalos<'_>) -> Self {
        let (halo, label) = (catalog.order()[row] as usize, catalog.labels()[row] as i32);
        let own = |members: &[u32], labels: &[i32]| -> Vec<u32> {
            members.iter().copied().filter(|&member| labels[member as usize] == label).collect()
        };
        let linked = own(found.halos.members(halo), found.halos.labels().as_slice());
        let attached = found.attached.as_ref().map_or(vec![], |all| own(all.members(halo), &all.labels));
        Self { linked, attached }
    }
}
