//! The members of halos, as lists in the order of the catalogue.
//!
//! In: on each rank its halos. Out: on rank 0 the lists of all halos.
//! Cost: a member of a halo is sent once, in 8 bytes. Rank 0 holds 16 bytes per member, 8 after the lists are
//! complete, and 40 bytes per halo of all ranks.

use std::cmp::Reverse;

use ropewalk::Result;
use ropewalk::distributed::Communicator;
use ropewalk::internals::distributed::{all_gather_v, gather};
use ropewalk_table::Catalog;
use ropewalk_table::columns::Values;

use crate::attached::list_names;
use crate::{FoundHalos, Pipeline, columns};

/// A halo of any rank: its position in the catalogue of all halos, and its location.
#[derive(Clone, Copy, Debug)]
pub(super) struct HaloKey {
    /// The number of members.
    pub count: u64,
    pub tag: u64,
    /// The index of the first member among the particles of all ranks.
    pub first_member: u64,
    /// The rank that owns the halo.
    pub owner: usize,
    /// The index of the halo on its owner.
    pub halo: usize,
}

impl HaloKey {
    /// Returns the sort key of the catalogue: the largest halo first, ties by tag. Equal tags, of ids that are not
    /// unique, are sorted by the first member.
    fn place(&self) -> (Reverse<u64>, u64, u64) {
        (Reverse(self.count), self.tag, self.first_member)
    }

    /// Encodes the key for sending.
    fn to_words(self) -> [u64; 5] {
        [self.count, self.tag, self.first_member, self.owner as u64, self.halo as u64]
    }

    /// Decodes a received key.
    fn of_words([count, tag, first_member, owner, halo]: [u64; 5]) -> Self {
        Self { count, tag, first_member, owner: owner as usize, halo: halo as usize }
    }
}

/// Decodes keys and sorts them in the order of the catalogue.
fn in_places(words: Vec<[u64; 5]>) -> Vec<HaloKey> {
    let mut keys: Vec<HaloKey> = words.into_iter().map(HaloKey::of_words).collect();
    keys.sort_unstable_by_key(HaloKey::place);
    keys
}

/// Names and values of lists of members: those of the linked members, then those of each attached type.
type Lists = Vec<(&'static str, Values)>;

impl Pipeline<'_> {
    /// Returns the ids of the members of all halos, in the order of the catalogue, as lists `offsets` and `ids`.
    /// Collective.
    ///
    /// The members of row i are `ids[offsets[i]..offsets[i + 1]]`. These lists hold the linked particles, from which
    /// halos were found. Particles of attached types have lists of their own, such as `offsets_type0` and `ids_type0`.
    ///
    /// Particles without ids are named by their index among the linked particles, or among the attached particles of
    /// their type. `catalog` is the result of [`Pipeline::measure`] on this rank. Of several ranks, rank 0 gets the
    /// members of all halos, and must have memory for them. The other ranks get `None`.
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn members(&self, found: &FoundHalos<'_>, catalog: &Catalog) -> Result<Option<Lists>> {
        let snapshot = found.shared.as_ref().map_or(self.snapshot, |shared| &shared.members);
        let ids = snapshot.ids.as_deref();
        let linked = |halo: usize| found.halos.members(halo).iter().map(|&member| columns::id(ids, member)).collect();
        let linked = columns::lists(catalog, &linked);
        let mut lists: Vec<_> = vec![(["offsets", "ids"], linked)];
        if let Some(attached) = &found.attached {
            for &kind in &self.whole.sets.attached {
                let of_halos = attached.ids_of_type(kind);
                lists.push((list_names(kind), columns::lists(catalog, &|halo| of_halos[halo].clone())));
            }
        }
        if self.ranks.size() == 1 {
            return Ok(Some(lists.into_iter().flat_map(|(names, lists)| names.into_iter().zip(lists)).collect()));
        }
        let rows: Vec<usize> = (0..catalog.order().len()).collect();
        let own: Vec<[u64; 5]> = self.keys(found, catalog, &rows).map(HaloKey::to_words).collect();
        let keys = in_places(gather(self.ranks, &own, 0)?.into_parts().1);
        let mut all = vec![];
        for (names, own) in lists {
            let owners = keys.iter().map(|key| key.owner);
            all.extend(names.into_iter().zip(in_order(self.ranks, &own, owners)?));
        }
        Ok((self.ranks.rank() == 0).then_some(all))
    }

    /// Returns, on all ranks, the keys of the given rows of all ranks' catalogues, in the order of the catalogue of
    /// all halos. Collective.
    pub(super) fn in_catalogue(
        &self,
        found: &FoundHalos<'_>,
        catalog: &Catalog,
        rows: &[usize],
    ) -> Result<Vec<HaloKey>> {
        let own = self.keys(found, catalog, rows);
        if self.ranks.size() == 1 {
            return Ok(own.collect());
        }
        let own: Vec<[u64; 5]> = own.map(HaloKey::to_words).collect();
        Ok(in_places(all_gather_v(self.ranks, &own)?.into_parts().1))
    }

    /// Returns the keys of rows of this rank's catalogue.
    fn keys(&self, found: &FoundHalos<'_>, catalog: &Catalog, rows: &[usize]) -> impl Iterator<Item = HaloKey> {
        let index = move |member: u32| found.across().map_or(member.into(), |halos| halos.indices()[member as usize]);
        let key = move |&row: &usize| {
            let (halo, row) = (catalog.order()[row], &catalog.halos()[row]);
            let first_member = found.halos.members(halo as usize).first().map_or(u64::MAX, |&member| index(member));
            let owner = self.ranks.rank();
            HaloKey { count: row.count as u64, tag: row.tag, first_member, owner, halo: halo as usize }
        };
        rows.iter().map(key)
    }
}

/// Merges offsets and ids of the halos of all ranks on rank 0, in the order of their `owners`. Each rank has its own
/// halos in that order. Collective.
fn in_order(ranks: &dyn Communicator, own: &[Values; 2], owners: impl Iterator<Item = usize>) -> Result<[Values; 2]> {
    let [Values::Integers(offsets), Values::Integers(ids)] = own else { return Ok(own.clone()) };
    let counts: Vec<u64> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let (counts, lists) = (gather(ranks, &counts, 0)?, gather(ranks, ids, 0)?);
    if ranks.rank() != 0 {
        return Ok([Values::Integers(vec![]), Values::Integers(vec![])]);
    }
    let mut rest: Vec<(&[u64], &[u64])> = counts.iter().zip(lists.iter()).collect();
    let (mut offsets, mut ids) = (vec![0], Vec::with_capacity(lists.values().len()));
    for owner in owners {
        let (counts, list) = &mut rest[owner];
        let count = counts.split_off_first().copied().unwrap_or(0);
        ids.extend(list.split_off(..count as usize).unwrap_or_default());
        offsets.push(ids.len() as u64);
    }
    Ok([Values::Integers(offsets), Values::Integers(ids)])
}
