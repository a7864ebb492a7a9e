//! Columns of any kind as text, and the kind of their values.
//!
//! In: the cells of a table, row by row. Out: [`Cells`], from which tables in other formats are written. Cost: the
//! bytes of the text, and 8 bytes per cell.

use ropewalk::internals::memory::grow;
use ropewalk_table::columns::{Column, Values};

/// The kind of the values of a column, apart from missing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    /// Integers of 64 bits with a sign.
    Signed,
    /// Integers of 64 bits, of which some are beyond the signed ones.
    Unsigned,
    Number,
    Boolean,
    Text,
}

/// A column of a table, with a text for each row.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub name: String,
    /// The unit that the table states.
    pub unit: Option<String>,
    pub kind: CellKind,
    text: String,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
}

impl Cells {
    pub(super) fn new(name: impl Into<String>, kind: CellKind) -> Self {
        Self { name: name.into(), unit: None, kind, text: String::new(), ends: vec![] }
    }

    /// Returns a column of values.
    pub(super) fn of(column: &Column) -> Self {
        let kind = match column.values() {
            Values::Integers(_) => CellKind::Unsigned,
            Values::Signed(_) => CellKind::Signed,
            Values::Numbers(_) => CellKind::Number,
        };
        let mut cells = Self::new(column.name(), kind);
        for row in 0..column.values().len() {
            match column.values() {
                Values::Integers(values) => cells.push(&values[row].to_string()),
                Values::Signed(values) => cells.push(&values[row].to_string()),
                // `Debug` uses an exponent for numbers that would have many digits.
                Values::Numbers(values) => cells.push(&format!("{:?}", values[row])),
            }
        }
        cells
    }

    pub(super) fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        grow(&mut self.ends, 1);
        self.ends.push(self.text.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a cell; empty beyond the last.
    pub(super) fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends.get(row - 1).copied().unwrap_or(self.text.len()) };
        let end = self.ends.get(row).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default()
    }
}
