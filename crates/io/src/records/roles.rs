//! The roles of the columns of a table of records.
//!
//! In: the names of the columns, and the kinds of values in columns without numbers. Out: the columns that are read,
//! and notes on the others.

use crate::ReadOptions;
use crate::messages::{list, shorten};
use crate::reading::Reading;
use crate::table_columns::Columns;

/// A column without numbers: its name, and the kind of its values, as in messages.
pub(super) type UnreadableColumn = (String, String);

/// Returns the columns of points or fields of a table. `names` are its columns of numbers. The columns `unread`,
/// without numbers, get the positions after these, and no role.
///
/// Errors: as [`Columns::named_of`]. For example, a column `x` of text is an error, and no other column replaces it.
pub(super) fn named(
    mut names: Vec<String>,
    unread: &[UnreadableColumn],
    chosen: &[String],
    reading: &Reading<'_>,
) -> std::result::Result<Columns, String> {
    let width = names.len();
    if reading.reads_fields {
        return Columns::fields(names, width, chosen);
    }
    names.extend(unread.iter().map(|(name, _)| name.clone()));
    let why = |place: usize| Some(unread.get(place.checked_sub(width)?)?.1.clone());
    let columns = Columns::named_of(names.clone(), &why, &reading.options.clone().columns(chosen))?;
    // Roles are assigned even to columns that are not requested, so that notes do not list them.
    let all = ReadOptions::default().columns(chosen);
    let all = ReadOptions { coordinates_only: reading.options.coordinates_only, ..all };
    Ok(Columns::named_of(names, &why, &all).unwrap_or(columns))
}

/// Returns a note that names the columns that are not read; `None` if all are read.
pub(super) fn left_out(names: &[&str]) -> Option<String> {
    let list = list(&names.iter().map(|name| shorten(name.as_bytes())).collect::<Vec<_>>());
    (!names.is_empty()).then(|| format!("columns that are not read: {list} (choose columns with ReadOptions::columns)"))
}
