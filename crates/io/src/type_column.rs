//! Particle types of a table: one for each row.
//!
//! In: the type of each row, and the types that are wanted. Out: which rows are wanted, and their types as stretches. Rows stay in their
//! order. Cost: a byte a row, and 16 bytes a stretch.

use std::ops::Range;

use crate::particle_type::LAST;

/// The types of all rows of a table.
pub(super) struct TypeColumn {
    each: Vec<u8>,
    counts: Vec<(u8, u64)>,
    /// Whether rows of a type are wanted.
    wanted: [bool; LAST as usize + 1],
}

impl TypeColumn {
    /// The column of the types `each`, of which there are `counts`. Rows of the types `wanted` are read.
    pub(super) fn new(each: Vec<u8>, counts: Vec<(u8, u64)>, wanted: &[u8]) -> Self {
        let wanted = std::array::from_fn(|kind| wanted.contains(&(kind as u8)));
        Self { each, counts, wanted }
    }

    /// Particles of each type that is there, wanted or not.
    pub(super) fn counts(&self) -> &[(u8, u64)] {
        &self.counts
    }

    /// Whether all rows are wanted.
    pub(super) fn is_all(&self) -> bool {
        self.counts.iter().all(|&(kind, _)| self.wants(kind))
    }

    fn wants(&self, kind: u8) -> bool {
        self.wanted.get(usize::from(kind)).is_some_and(|&wanted| wanted)
    }

    pub(super) fn is_wanted(&self, row: u64) -> bool {
        usize::try_from(row).is_ok_and(|row| self.each.get(row).is_some_and(|&kind| self.wants(kind)))
    }

    /// How many of these rows are wanted.
    pub(super) fn count(&self, rows: Range<u64>) -> u64 {
        let rows = self.each.get(rows.start as usize..rows.end as usize).unwrap_or_default();
        rows.iter().filter(|&&kind| self.wants(kind)).count() as u64
    }

    /// Stretches of wanted rows of one type: the type, and the number of rows.
    pub(super) fn wanted_runs(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        let runs = self.each.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        runs.filter(|&(kind, _)| self.wants(kind))
    }
}
