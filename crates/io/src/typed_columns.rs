//! Roles of the columns of a table with typed columns.
//!
//! In: names and kinds of the columns. Out: the columns that are read, and notes on the others. Columns without
//! numbers are left out. An unreadable column is an error if the caller chose it, or if it has the name of a
//! coordinate or of another requested quantity.

use crate::reading::Reading;
use crate::table_columns::{ADVICE, Columns};

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TypedColumn {
    pub name: String,
    /// The kind of its values, if they cannot be read as numbers.
    pub unread: Option<&'static str>,
    /// If `true`, unreadable values are numbers in an unsupported form.
    pub is_of_numbers: bool,
    /// If `true`, the column is an index of a pandas table.
    pub is_index: bool,
}

/// Chooses the columns that are read: those that `chosen` names, or those with the names of quantities.
///
/// Errors: as [`Columns::named_of`]; a column of numbers that cannot be read, if all columns of numbers are
/// coordinates.
pub(super) fn choose_typed(typed: &[TypedColumn], chosen: &[String], reading: &Reading<'_>) -> Result<Columns, String> {
    if reading.reads_fields {
        return fields(typed, chosen);
    }
    let why = |place: usize| -> Option<String> {
        // An index is not a coordinate, but it may hold ids.
        let is_index = is_index(&typed[place]) && chosen.is_empty();
        typed[place].unread.or(is_index.then_some(INDEX)).map(Into::into)
    };
    let names = typed.iter().map(|column| column.name.clone()).collect();
    let columns = Columns::named_of(names, &why, &reading.options.clone().columns(chosen))?;
    let numbers = typed.iter().find(|column| column.unread.is_some() && column.is_of_numbers);
    match numbers.filter(|_| columns.is_fallback() && chosen.is_empty()) {
        Some(column) => Err(format!("{}; {ADVICE}", unreadable(column))),
        None => Ok(columns),
    }
}

const INDEX: &str = "an index of a pandas table";

fn is_index(column: &TypedColumn) -> bool {
    column.is_index && !column.name.eq_ignore_ascii_case("id")
}

/// Chooses fields: those that `chosen` names, or all columns of numbers except an index.
fn fields(typed: &[TypedColumn], chosen: &[String]) -> Result<Columns, String> {
    let names: Vec<String> = typed.iter().map(|column| column.name.clone()).collect();
    if !chosen.is_empty() {
        let columns = Columns::fields(names, typed.len(), chosen)?;
        let unread = columns.places().find(|place| typed[**place].unread.is_some());
        return unread.map_or(Ok(columns.clone()), |&place| Err(unreadable(&typed[place])));
    }
    let is_field = |place: &usize| typed[*place].unread.is_none() && !is_index(&typed[*place]);
    let (read, others): (Vec<usize>, Vec<usize>) = (0..typed.len()).partition(is_field);
    let mut columns = Columns::fields(read.iter().map(|&place| names[place].clone()).collect(), read.len(), &[])?;
    columns.places_mut().for_each(|place| *place = read[*place]);
    let why = |place: usize| typed[place].unread.unwrap_or(INDEX).to_string();
    columns.left_out = others.into_iter().map(|place| (names[place].clone(), why(place))).collect();
    columns.names = names;
    Ok(columns)
}

fn unreadable(column: &TypedColumn) -> String {
    let (name, what) = (column.name.escape_debug(), column.unread.unwrap_or_default());
    format!("column {name} holds {what}, which cannot be read as numbers")
}
