//! Particle types of a table: one per row.
//!
//! In: the type of each row, and the requested types. Out: the rows of requested types, and their types as runs. Rows
//! keep their order. Cost: one byte per row, and 16 bytes per run.

use std::ops::Range;

use crate::particle_type::LAST;

/// The types of all rows of a table.
pub(super) struct TypeColumn {
    types: Vec<u8>,
    counts: Vec<(u8, u64)>,
    /// For each type, `true` if its rows are requested.
    wanted: [bool; LAST as usize + 1],
}

impl TypeColumn {
    /// Creates the column from `types`, the type of every row, and `counts`, the number of rows per type. Rows of the
    /// types `wanted` are read.
    pub(super) fn new(types: Vec<u8>, counts: Vec<(u8, u64)>, wanted: &[u8]) -> Self {
        let wanted = std::array::from_fn(|kind| wanted.contains(&(kind as u8)));
        Self { types, counts, wanted }
    }

    /// Returns the number of rows of each type that occurs, requested or not.
    pub(super) fn counts(&self) -> &[(u8, u64)] {
        &self.counts
    }

    /// Returns `true` if all rows are of requested types.
    pub(super) fn is_all(&self) -> bool {
        self.counts.iter().all(|&(kind, _)| self.wants(kind))
    }

    fn wants(&self, kind: u8) -> bool {
        self.wanted.get(usize::from(kind)).is_some_and(|&wanted| wanted)
    }

    pub(super) fn is_wanted(&self, row: u64) -> bool {
        usize::try_from(row).is_ok_and(|row| self.types.get(row).is_some_and(|&kind| self.wants(kind)))
    }

    /// Returns the number of these rows that are of requested types.
    pub(super) fn count(&self, rows: Range<u64>) -> u64 {
        let rows = self.types.get(rows.start as usize..rows.end as usize).unwrap_or_default();
        rows.iter().filter(|&&kind| self.wants(kind)).count() as u64
    }

    /// Returns runs of rows of one requested type: the type, and the number of rows.
    pub(super) fn wanted_runs(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        let runs = self.types.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        runs.filter(|&(kind, _)| self.wants(kind))
    }
}
