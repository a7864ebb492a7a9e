//! Tables as plain CSV: a line of names, and a line for each row.

use std::io::{self, Write};

use ropewalk::{Error, ErrorKind, Result};

use crate::columns::column::Column;

/// Writes columns as plain CSV, with nine significant digits: the rows of [`write_ecsv`](crate::columns::write_ecsv), without what it
/// says about them.
///
/// Errors: what `out` refuses; columns of unequal length.
///
/// ```
/// use ropewalk_table::columns::{Column, Values, write_csv};
///
/// let mut text = vec![];
/// write_csv(&mut text, &[Column::new("id", Values::Integers(vec![7])), Column::new("x", Values::Numbers(vec![0.1 + 0.2]))])?;
/// assert_eq!(String::from_utf8_lossy(&text), "id,x\n7,0.3\n");
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn write_csv(mut out: impl Write, columns: &[Column]) -> Result<()> {
    let rows = rows_of(columns)?;
    write_rows(&mut out, columns, rows).map_err(Error::write)
}

/// How many rows columns have, if they have as many.
pub fn rows_of(columns: &[Column]) -> Result<usize> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    match columns.iter().find(|column| column.values.len() != rows) {
        None => Ok(rows),
        Some(Column { name, values, .. }) => {
            let len = values.len();
            let sentence = format!("column {name} has {len} values, but the first column has {rows}");
            Err(Error::new(ErrorKind::Input, sentence))
        }
    }
}

/// The line of names and all rows.
pub fn write_rows(out: &mut dyn Write, columns: &[Column], rows: usize) -> io::Result<()> {
    let names: Vec<String> = columns.iter().map(|column| csv_name(&column.name)).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in 0..rows {
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                out.write_all(b",")?;
            }
            column.values.write(row, out)?;
        }
        writeln!(out)?;
    }
    out.flush()
}

/// A column's name as text tables take it: in quotes if a reader would take parts of it for something else, as delimiters, blanks and `#`.
/// Ends of lines become blanks, for a line of a table ends there also within quotes.
///
/// ```
/// use ropewalk_table::columns::csv_name;
///
/// assert_eq!(["mass", "a;b", "", "a \"b\""].map(csv_name), ["mass", "\"a;b\"", "\"\"", "\"a \"\"b\"\"\""]);
/// ```
pub fn csv_name(name: &str) -> String {
    let name = name.replace(['\n', '\r'], " ");
    let is_plain = |letter: char| !letter.is_whitespace() && !",;|\"'#".contains(letter);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name,
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
