//! The table of a report.

use ropewalk::Result;
use ropewalk::units::KnownUnits;
use ropewalk_table::columns::{Column, Values, rows_of};
use serde_json::{Value, json};

/// The columns of a table, and their units.
#[derive(Clone, Debug)]
pub struct Catalogue<'a> {
    columns: &'a [Column],
    units: KnownUnits,
    n_rows: usize,
}

impl<'a> Catalogue<'a> {
    /// Creates a table of columns in `units`.
    ///
    /// # Errors
    /// Fails if columns have different lengths.
    pub fn new(columns: &'a [Column], units: impl Into<KnownUnits>) -> Result<Self> {
        Ok(Self { columns, units: units.into(), n_rows: rows_of(columns)? })
    }

    /// Returns the number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns the name, unit, description and type of each column.
    pub(crate) fn describe(&self) -> Value {
        let of = |column: &Column| {
            let kind = match column.values() {
                Values::Integers(_) => "u64",
                Values::Signed(_) => "i64",
                Values::Numbers(_) => "f64",
            };
            let unit = column.unit(self.units).map(|unit| unit.replace("littleh", "h"));
            json!({ "name": column.name(), "unit": unit, "about": column.describe(self.units), "kind": kind })
        };
        json!({ "rows": self.n_rows, "columns": self.columns.iter().map(of).collect::<Vec<_>>() })
    }

    /// Returns the values, column by column, with eight bytes each.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 * self.columns.len() * self.n_rows);
        for column in self.columns {
            match column.values() {
                Values::Integers(values) => values.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
                Values::Signed(values) => values.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
                Values::Numbers(values) => values.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
            }
        }
        bytes
    }
}
