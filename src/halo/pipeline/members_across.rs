//! The members of the halos of all ranks, as one process lists them.
//!
//! In: on each rank the halos that it owns. Out: on rank 0 lists of all, in the order of the catalogue.
//! Cost: a member of a halo is sent once, in 8 bytes; rank 0 holds 16 bytes for each, and 8 when the lists are there, and 40
//! bytes for each halo of all ranks.

use std::cmp::Reverse;

use crate::distributed::Communicator;
use crate::distributed::communicator::gather;
use crate::error::Result;
use crate::halo::Values;
use crate::halo::pipeline::Across;

/// Of a halo how many members it has, its tag, its first member, its owner, and its number there.
pub(super) type Key = [u64; 5];

/// The order of the catalogue: the largest first, ties by the tag; those of one tag, where ids are not unique, by the first member.
pub(super) fn in_catalogue(key: &Key) -> (Reverse<u64>, u64, u64) {
    (Reverse(key[0]), key[1], key[2])
}

impl Across<'_> {
    /// The members of all halos as [`Pipeline::members`](crate::halo::pipeline::Pipeline::members) lists them, on rank 0; `None` on the
    /// others. Rank 0 must have room for all of them. Collective.
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn member_lists(&self, ranks: &dyn Communicator) -> Result<Option<Vec<(&'static str, Values)>>> {
        let keys = self.sorted_keys(ranks);
        let all_ids = self.members.ids.as_deref().unwrap_or_default();
        let members = keys.iter().flat_map(|key| self.halos.owned().members(key[4] as usize));
        let own: Vec<u64> = members.filter_map(|&at| all_ids.get(at as usize)).copied().collect();
        let (_, mut keys) = gather(ranks, &keys, 0)?.into_parts();
        let lists = gather(ranks, &own, 0)?;
        drop(own);
        if ranks.rank() != 0 {
            return Ok(None);
        }
        keys.sort_unstable_by_key(in_catalogue);
        let mut rest: Vec<&[u64]> = lists.iter().collect();
        let (mut offsets, mut ids) = (vec![0], Vec::with_capacity(lists.values().len()));
        for [count, _, _, owner, _] in keys {
            ids.extend(rest[owner as usize].split_off(..count as usize).unwrap_or_default());
            offsets.push(ids.len() as u64);
        }
        Ok(Some(vec![("offsets", Values::Integers(offsets)), ("ids", Values::Integers(ids))]))
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
