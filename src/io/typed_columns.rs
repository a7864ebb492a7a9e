//! Which columns of a table with typed columns are what, and which are left out.
//!
//! In: names of the columns, and what they hold. Out: the columns that are read, and sentences about the others.
//! Columns without numbers are left out. An unreadable column that a caller named, or that has the name of a coordinate or of another
//! quantity that is wanted, is an error.

use crate::io::ReadOptions;
use crate::io::csv_columns::{ADVICE, Columns};
use crate::io::reading::Reading;

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Typed {
    pub name: String,
    /// What it holds, if it cannot be read as numbers.
    pub unread: Option<&'static str>,
    /// Whether what it holds are numbers all the same, in a form that is not read.
    pub is_of_numbers: bool,
    /// Whether it is an index of a pandas table.
    pub is_index: bool,
}

/// The columns that are read.
pub(super) struct Choice {
    pub columns: Columns,
    /// Sentences about columns that are left out.
    pub notes: Vec<String>,
}

/// Chooses the columns that are read: those that `chosen` names, or those that have the names of quantities.
pub(super) fn choose_typed(typed: &[Typed], chosen: &[String], reading: &Reading<'_>) -> Result<Choice, String> {
    let names: Vec<String> = typed.iter().map(|column| column.name.clone()).collect();
    let named = |names: Vec<String>, chosen: &[String]| match (reading.is_of_fields, names.len()) {
        (true, width) => Columns::fields(names, width, chosen),
        (false, _) => Columns::named(names, chosen),
    };
    let refuse = |column: &Typed| {
        let (name, what) = (column.name.escape_debug(), column.unread.unwrap_or_default());
        format!("column {name} holds {what}, which cannot be read as numbers")
    };
    let columns = if chosen.is_empty() {
        for column in typed.iter().filter(|_| !reading.is_of_fields) {
            let quantity = column.name.to_lowercase();
            if column.is_index && ["x", "y", "z"].contains(&quantity.as_str()) {
                return Err(format!("column {} is an index of a pandas table. {ADVICE}", column.name.escape_debug()));
            }
            if column.unread.is_some() && is_wanted(&quantity, reading.options) {
                return Err(format!("{}. {ADVICE}", refuse(column)));
            }
        }
        // An index has no coordinates, but it may have ids.
        let may_be = |column: &Typed| !column.is_index || column.name.eq_ignore_ascii_case("id");
        let is_candidate = |at: &usize| typed[*at].unread.is_none() && may_be(&typed[*at]);
        let candidates: Vec<usize> = (0..typed.len()).filter(is_candidate).collect();
        let mut columns = named(candidates.iter().map(|&at| names[at].clone()).collect(), &[])?;
        columns.places_mut().for_each(|place| *place = candidates[*place]);
        columns.names = names;
        let numbers = typed.iter().find(|column| column.unread.is_some() && column.is_of_numbers);
        if let Some(column) = numbers.filter(|_| columns.is_rest()) {
            return Err(format!("{}. {ADVICE}", refuse(column)));
        }
        columns
    } else {
        let mut columns = named(names, chosen)?;
        columns.kind = columns.kind.filter(|&place| typed[place].unread.is_none());
        if let Some(&mut place) = columns.places_mut().find(|place| typed[**place].unread.is_some()) {
            return Err(refuse(&typed[place]));
        }
        columns
    };
    let notes = left_out(typed, &columns);
    Ok(Choice { columns, notes })
}

/// Whether a column of this name holds what is to be read.
fn is_wanted(name: &str, options: &ReadOptions) -> bool {
    match name {
        "x" | "y" | "z" => true,
        "vx" | "vy" | "vz" => options.velocities,
        "id" => options.ids,
        "mass" => options.masses,
        "type" => !options.types.is_empty(),
        _ => false,
    }
}

/// A sentence about the columns that are not used, and what those hold that cannot be read.
fn left_out(typed: &[Typed], columns: &Columns) -> Vec<String> {
    let used: Vec<usize> = columns.places().copied().collect();
    let out = typed.iter().enumerate().filter(|(place, _)| !used.contains(place)).map(|(_, column)| {
        let name = column.name.escape_debug();
        match column.unread {
            _ if column.is_index => format!("{name} (an index of a pandas table)"),
            Some(what) => format!("{name} ({what})"),
            None => name.to_string(),
        }
    });
    let out: Vec<String> = out.collect();
    if out.is_empty() { vec![] } else { vec![format!("columns that are not used: {}", out.join(", "))] }
}
