//! Tables as plain CSV: a line of names, and a line per row.

use std::io::{self, Write};

use ropewalk::{Error, ErrorKind, Result};

use crate::columns::column::Column;

/// Writes columns as plain CSV, with nine significant digits: the rows of [`write_ecsv`](crate::columns::write_ecsv),
/// without their metadata.
///
/// ```
/// use ropewalk_table::columns::{Column, Values, write_csv};
///
/// let mut text = vec![];
/// write_csv(&mut text, &[Column::new("id", Values::Integers(vec![7])), Column::new("x", Values::Numbers(vec![0.1 + 0.2]))])?;
/// assert_eq!(String::from_utf8_lossy(&text), "id,x\n7,0.3\n");
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if writing to `out` fails, or if columns have different lengths.
pub fn write_csv(mut out: impl Write, columns: &[Column]) -> Result<()> {
    let rows = rows_of(columns)?;
    write_rows(&mut out, columns, rows).map_err(Error::write)
}

/// Returns the number of rows; fails if columns have different lengths.
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

/// Writes the line of names and all rows.
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

/// Returns a column's name for text tables, in quotes if readers could misinterpret parts of it, such as delimiters,
/// blanks and `#`.
///
/// Line breaks become blanks, since they end a line of a table even within quotes.
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
