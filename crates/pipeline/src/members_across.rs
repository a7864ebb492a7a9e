//! The members of the halos of all ranks, as one process lists them.
//!
//! In: on each rank the halos that it owns. Out: on rank 0 lists of all, in the order of the catalogue.
//! Cost: a member of a halo is sent once, in 8 bytes; rank 0 holds 16 bytes for each, and 8 when the lists are there, and 40
//! bytes for each halo of all ranks.

use std::cmp::Reverse;

use ropewalk::Result;
use ropewalk::distributed::Communicator;
use ropewalk::internals::distributed::gather;
use ropewalk_table::columns::Values;

use crate::Across;
use crate::attached::list_names;

/// Of a halo how many members it has, its tag, its first member, its owner, and its number there.
pub(super) type Key = [u64; 5];

/// The order of the catalogue: the largest first, ties by the tag; those of one tag, where ids are not unique, by the first member.
pub(super) fn in_catalogue(key: &Key) -> (Reverse<u64>, u64, u64) {
    (Reverse(key[0]), key[1], key[2])
}

/// Offsets and ids of the halos of all ranks on rank 0, in the order in which these have their `owners`. Each rank has its lists in that
/// order, with so many ids each. Collective.
fn in_order(
    ranks: &dyn Communicator,
    counts: &[u64],
    own: &[u64],
    owners: impl Iterator<Item = usize>,
) -> Result<[Values; 2]> {
    let (counts, lists) = (gather(ranks, counts, 0)?, gather(ranks, own, 0)?);
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

impl Across<'_> {
    /// The members of all halos as [`Pipeline::members`](crate::Pipeline::members) lists them, on rank 0; `None` on the
    /// others. Rank 0 must have room for all of them. Collective.
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn member_lists(&self, ranks: &dyn Communicator) -> Result<Option<Vec<(&'static str, Values)>>> {
        let keys = self.sorted_keys(ranks);
        let all_ids = self.members.ids.as_deref().unwrap_or_default();
        let members = keys.iter().flat_map(|key| self.halos.owned().members(key[4] as usize));
        let own: Vec<u64> = members.filter_map(|&at| all_ids.get(at as usize)).copied().collect();
        let (_, mut all) = gather(ranks, &keys, 0)?.into_parts();
        all.sort_unstable_by_key(in_catalogue);
        let owners = || all.iter().map(|key| key[3] as usize);
        let counts: Vec<u64> = keys.iter().map(|key| key[0]).collect();
        let linked = in_order(ranks, &counts, &own, owners())?;
        drop(own);
        let mut lists: Vec<_> = ["offsets", "ids"].into_iter().zip(linked).collect();
        if let Some(joined) = &self.joined {
            let attached = joined.attached(self.halos.owned());
            for &kind in &self.sets.attached {
                let of_halos = attached.ids_of_type(kind);
                let counts: Vec<u64> = keys.iter().map(|key| of_halos[key[4] as usize].len() as u64).collect();
                let own: Vec<u64> = keys.iter().flat_map(|key| &of_halos[key[4] as usize]).copied().collect();
                let found = in_order(ranks, &counts, &own, owners())?;
                lists.extend(list_names(kind).into_iter().zip(found));
            }
        }
        Ok((ranks.rank() == 0).then_some(lists))
    }

    /// The halos of this rank in the order of the catalogue.
    pub(super) fn sorted_keys(&self, ranks: &dyn Communicator) -> Vec<Key> {
        let owned = self.halos.owned();
        let ids = self.members.ids.as_deref().unwrap_or_default();
        let key = |halo: usize| {
            let members = owned.members(halo);
            let tag = members.iter().filter_map(|&at| ids.get(at as usize)).min().copied().unwrap_or(0);
            let first = members.first().map_or(u64::MAX, |&at| self.halos.indices()[at as usize]);
            [members.len() as u64, tag, first, ranks.rank() as u64, halo as u64]
        };
        let mut keys: Vec<Key> = (0..owned.len()).map(key).collect();
        keys.sort_unstable_by_key(in_catalogue);
        keys
    }
}
