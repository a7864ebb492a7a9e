//! Optional fields, which are read if they exist and hold valid values.
//!
//! In: a piece of a snapshot. Out: the reason why its field is left out.

use ropewalk::Result;

use crate::hdf5::dataset::Column;
use crate::hdf5::fields::{Fields, IDS, Piece, VELOCITIES, group};
use crate::hdf5::number::Unreadable;
use crate::hdf5::shape::Shape;

/// A field that is read if it exists.
pub(super) struct OptionalField<'a> {
    names: &'a [&'a str],
    /// The number of numbers per row.
    width: u64,
    /// The name of the quantity in messages.
    what: &'static str,
    are_floats: bool,
}

impl OptionalField<'_> {
    pub(super) const VELOCITIES: Self = Self { names: VELOCITIES, width: 3, what: "velocities", are_floats: true };
    pub(super) const IDS: Self = Self { names: IDS, width: 1, what: "ids", are_floats: false };
}

impl Piece<'_> {
    /// Returns the reason why an existing field cannot be used; `None` if it can be, or does not exist. Damage is
    /// reported when the field is read.
    pub(super) fn unusable(&self, wanted: &OptionalField<'_>) -> Result<Option<String>> {
        let group = group(self.particle_type);
        for name in wanted.names {
            let Some(dataset) = self.part.file.dataset(&group, name)? else { continue };
            let why = match Shape::of(&dataset) {
                Ok(shape) if (shape.rows, shape.width) != (self.rows, wanted.width) => {
                    Some(self.wrong_shape(&shape, wanted.width))
                }
                Ok(shape) if wanted.are_floats && shape.number.wholes().is_some() => {
                    Some("must hold floats, but holds whole numbers".into())
                }
                Ok(_) => None,
                Err(Unreadable::Damaged(_)) => None,
                Err(Unreadable::Unsupported(why)) => Some(why),
            };
            return Ok(why.map(|why| format!("{group}/{name} {why}")));
        }
        Ok(None)
    }
}

impl Fields<'_> {
    /// Returns a field that either all particles or no particles have. A field with values other than `wanted` is
    /// left out, with a note in `notes`.
    pub(super) fn optional(&self, wanted: &OptionalField<'_>, notes: &mut Vec<String>) -> Result<Vec<Column>> {
        let (mut found, mut missing) = (vec![], None);
        let OptionalField { names, width, what, .. } = *wanted;
        for piece in self.pieces(self.types) {
            if let Some(why) = piece.unusable(wanted)? {
                notes.push(format!("{}: {why}: {what} are left out", piece.part.file.path.display()));
                return Ok(vec![]);
            }
            match self.column(piece, names, width)? {
                Some(column) => found.push(column),
                None => missing = missing.or(Some(piece)),
            }
        }
        match missing.filter(|_| !found.is_empty()) {
            Some(piece) => Err(piece.missing(names)),
            None => Ok(found),
        }
    }
}
