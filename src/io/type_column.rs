//! Particle types of a table: one for each row.
//!
//! In: the type of each row, and the types that are wanted. Out: which rows are wanted, and the types of those that are kept, as
//! stretches. Rows stay in their order. Cost: a byte a row, and 16 bytes a stretch.

use std::ops::Range;
use std::path::Path;

use crate::io::columns::Target;
use crate::io::reading::Reading;
use crate::io::source::Numeric;
use crate::io::{Error, Result, TypeRun};

/// The highest type.
const LAST: u8 = 6;
/// Stands for a value that is no particle type.
pub(super) const NO_TYPE: u8 = u8::MAX;

/// The particle type that a number is, or [`NO_TYPE`].
pub(super) fn particle_type(number: f64) -> u8 {
    if (0.0..=f64::from(LAST)).contains(&number) && number.fract() == 0.0 { number as u8 } else { NO_TYPE }
}

/// Particle types, or [`NO_TYPE`] for other values.
impl Target for u8 {
    const MUST: &'static str = "a particle type (a whole number from 0 to 6)";

    fn of<W: Numeric>(word: W) -> Option<Self> {
        Some(word.number().map_or(NO_TYPE, particle_type))
    }

    fn times(self, _: f64) -> Self {
        self
    }
}

/// The types of all rows of a table.
pub(super) struct TypeColumn {
    each: Vec<u8>,
    counts: Vec<(u8, u64)>,
    /// Whether rows of a type are wanted.
    wanted: [bool; LAST as usize + 1],
}

impl TypeColumn {
    /// The column `name` of the table `path`. `None` if it has other values than particle types and no types are wanted: it means
    /// something else.
    ///
    /// Errors: types are wanted, and there are other values, or a type that is not there.
    pub(super) fn of(path: &Path, name: &str, each: Vec<u8>, reading: &Reading<'_>) -> Result<Option<Self>> {
        if let Some(row) = each.iter().position(|&kind| kind == NO_TYPE) {
            if reading.options.types.is_empty() {
                return Ok(None);
            }
            let message = format!("row {} of {name} is not {}, and types are to be chosen", row + 1, u8::MUST);
            return Err(Error::file(path, message));
        }
        let counts: Vec<(u8, u64)> = counts(each.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)));
        let types = reading.wanted_types(path, &counts)?;
        let mut wanted = [false; LAST as usize + 1];
        for (slot, kind) in wanted.iter_mut().zip(0..) {
            *slot = types.contains(&kind);
        }
        Ok(Some(Self { each, counts, wanted }))
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

    /// The types of the rows that are kept.
    pub(super) fn runs(&self, reading: &Reading<'_>) -> Vec<TypeRun> {
        let runs = self.each.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        reading.runs(runs.filter(|&(kind, _)| self.wants(kind)))
    }
}

/// Particles of each type of these stretches, by type; of each that is there.
pub(super) fn counts(stretches: impl Iterator<Item = (u8, u64)>) -> Vec<(u8, u64)> {
    let mut counts = [0u64; u8::MAX as usize + 1];
    stretches.for_each(|(kind, n)| counts[usize::from(kind)] += n);
    (0..=u8::MAX).zip(counts).filter(|(_, n)| *n > 0).collect()
}

/// What the particles of a type are.
pub(super) fn name(kind: u8) -> &'static str {
    match kind {
        0 => "gas",
        1 => "dark matter",
        4 => "stars",
        5 => "black holes or boundary",
        6 => "neutrinos",
        _ => "others",
    }
}
