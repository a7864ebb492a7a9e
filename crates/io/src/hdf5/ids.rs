//! Ids of particles: of all types, or of the types that have ids.
//!
//! In: the columns of the pieces of a snapshot. Out: ids, and the types without ids. Cost: columns of floats are read
//! twice.

use std::collections::BTreeSet;

use ropewalk::Result;

use crate::hdf5::bands::Band;
use crate::hdf5::dataset::Column;
use crate::hdf5::fields::{Fields, IDS, Piece};
use crate::hdf5::optional_fields::OptionalField;
use crate::read_columns::{ConstantRows, RowSource, fill};

/// The value for particles without an id.
const NO_ID: u64 = u64::MAX;

/// Returns `true` for a negative number that has wrapped around.
fn is_negative(id: u64) -> bool {
    id > i64::MAX as u64
}

impl Fields<'_> {
    /// Returns the column of ids of each piece; an empty list if no piece has one. Columns that cannot hold ids are
    /// left out, with a note in `notes`. Unless the options allow types without ids, such a column leaves out the ids
    /// of all pieces.
    ///
    /// Errors: some pieces have no column of ids, and the options do not allow that.
    pub(super) fn id_columns(&self, notes: &mut Vec<String>) -> Result<Vec<(Piece<'_>, Option<Column>)>> {
        let mut all = vec![];
        for piece in self.pieces(self.types) {
            let unusable = piece.unusable(&OptionalField::IDS)?;
            let Some(why) = unusable else {
                all.push((piece, self.column(piece, IDS, 1)?));
                continue;
            };
            let is_partial = self.reading.options.partial_ids;
            let whose = if is_partial { format!(" of type {}", piece.particle_type) } else { String::new() };
            notes.push(format!("{}: {why}: ids{whose} are left out", piece.part.file.path.display()));
            if !is_partial {
                return Ok(vec![]);
            }
            all.push((piece, None));
        }
        if all.iter().all(|(_, column)| column.is_none()) {
            return Ok(vec![]);
        }
        let missing = all.iter().find(|(_, column)| column.is_none());
        match missing.filter(|_| !self.reading.options.partial_ids) {
            Some((piece, _)) => Err(piece.missing(IDS)),
            None => Ok(all),
        }
    }

    /// Returns the ids, and the types without ids if other types have them. The ids are `None` if there are no
    /// columns, or if floats are not exact ids, with a note in `notes`. If the options allow types without ids, such
    /// floats leave out only the ids of their type.
    pub(super) fn ids(
        &self,
        columns: &[(Piece<'_>, Option<Column>)],
        notes: &mut Vec<String>,
    ) -> Result<(Option<Vec<u64>>, Vec<u8>)> {
        let lacking = columns.iter().filter(|(_, column)| column.is_none());
        let mut without: BTreeSet<u8> = lacking.map(|(piece, _)| piece.particle_type).collect();
        for (piece, column) in columns {
            let kind = piece.particle_type;
            let Some(column) = column.as_ref().filter(|column| column.shape.number.wholes().is_none()) else {
                continue;
            };
            // All rows are checked, so that all parts of a whole reach the same result.
            let value = if without.contains(&kind) { None } else { self.inexact_id(column)? };
            if let Some(value) = value {
                let is_partial = self.reading.options.partial_ids;
                notes.push(format!(
                    "{}: {} holds floats, among them {value}, which is not an exact id (whole numbers from 0, below {}): ids{} are \
                     left out",
                    column.path.display(),
                    column.name,
                    column.shape.number.exact_below().unwrap_or_default(),
                    if is_partial { format!(" of type {kind}") } else { String::new() },
                ));
                if !is_partial {
                    return Ok((None, vec![]));
                }
                without.insert(kind);
            }
        }
        if columns.iter().all(|(piece, _)| without.contains(&piece.particle_type)) {
            return Ok((None, vec![]));
        }
        let rows = columns.iter().map(|(piece, column)| -> Result<Box<dyn RowSource<u64> + '_>> {
            match column.as_ref().filter(|_| !without.contains(&piece.particle_type)) {
                None => Ok(Box::new(ConstantRows { rows: piece.rows, value: NO_ID })),
                Some(column) => {
                    let number = &column.shape.number;
                    let take = number.ids().or_else(|| number.floats(|x| x as u64));
                    let take = take.ok_or_else(|| column.error("holds no numbers"))?;
                    Ok(Box::new(Band::new(self.reading, column, take)))
                }
            }
        });
        let ids = fill(self.reading, self.path, 1, &rows.collect::<Result<Vec<_>>>()?)?;
        // Only ids above the maximum of signed numbers can be negative numbers that have wrapped around.
        if ids.iter().any(|&id| is_negative(id)) {
            columns.iter().filter_map(|(_, column)| column.as_ref()).try_for_each(|column| self.check_signs(column))?;
        }
        Ok((Some(ids), without.into_iter().collect()))
    }

    /// Errors: the first negative id of a column.
    fn check_signs(&self, column: &Column) -> Result<()> {
        let Some(take) = column.shape.number.ids().filter(|_| column.shape.number.is_signed()) else { return Ok(()) };
        let (rows, mut first) = (Band::new(self.reading, column, take), 0);
        while first < column.shape.rows {
            let mut ids = vec![0; rows.band().max(1).min(column.shape.rows - first) as usize];
            rows.read(first, &mut ids)?;
            if let Some((row, &id)) = (first..).zip(&ids).find(|(_, id)| is_negative(**id)) {
                return Err(column.error(format!("has {} in row {}; ids must not be negative", id as i64, row + 1)));
            }
            first += ids.len() as u64;
        }
        Ok(())
    }

    /// Returns a value of a column of floats that is not an id, or that represents several ids.
    fn inexact_id(&self, column: &Column) -> Result<Option<f64>> {
        let below = column.shape.number.exact_below().unwrap_or_default() as f64;
        let bad = self.fold(column, 0..column.shape.rows, |ids| {
            ids.iter().copied().find(|&id| !((0.0..below).contains(&id) && id.fract() == 0.0))
        })?;
        Ok(bad.into_iter().flatten().next())
    }
}
