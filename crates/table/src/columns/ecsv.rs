//! Tables as enhanced CSV: a YAML header that describes the columns, then plain CSV.
//!
//! In: columns of one length, their units, and entries for the header. Out: text that `astropy.table.Table.read` and
//! `pandas.read_csv(.., comment="#")` can read.
//! Source: Aldcroft, "The Enhanced Character Separated Values table format", APE 6.

use std::io::{self, Write};

use ropewalk::units::{KnownUnits, Quantity};
use ropewalk::{Error, Result};

use crate::columns::column::{Column, Values};
use crate::columns::csv::{rows_of, write_rows};

/// An entry of a table's header.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Meta {
    /// Text.
    Text(String),
    /// A dimensionless number.
    Number(f64),
    /// A number in the units of the columns, and its physical quantity.
    Measured(f64, Quantity),
    /// A list of texts.
    Lines(Vec<String>),
}

/// Writes columns as enhanced CSV, with nine significant digits. If `units` are known, the header contains the unit
/// and the frame of each column.
///
/// ```
/// use ropewalk_table::columns::{Column, Meta, Values, write_ecsv};
/// use ropewalk::units::{Quantity, Units};
///
/// let radius = Column::new("radius", Values::Numbers(vec![0.5, f64::NAN])).quantity(Quantity::Length);
/// let mut text = vec![];
/// write_ecsv(&mut text, &[radius], Some(&Units::GADGET), &[("redshift", Meta::Number(1.0))])?;
/// let expected = "# %ECSV 1.0
/// ## ---
/// ## delimiter: ','
/// ## datatype:
/// ## - {name: radius, unit: Mpc / littleh, datatype: float64, description: \"comoving\"}
/// ## meta: !!omap
/// ## - {redshift: 1}
/// ## schema: astropy-2.0
/// radius
/// 0.5
/// NaN
/// ";
/// assert_eq!(String::from_utf8_lossy(&text), expected);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if writing to `out` fails, or if columns have different lengths.
pub fn write_ecsv(
    mut out: impl Write,
    columns: &[Column],
    units: impl Into<KnownUnits>,
    meta: &[(&str, Meta)],
) -> Result<()> {
    let rows = rows_of(columns)?;
    write(&mut out, columns, rows, units.into(), meta).map_err(Error::write)
}

fn write(
    out: &mut dyn Write,
    columns: &[Column],
    rows: usize,
    units: KnownUnits,
    meta: &[(&str, Meta)],
) -> io::Result<()> {
    write_header(out, &heads(columns, units), meta)?;
    write_rows(out, columns, rows)
}

/// The header entry of a column.
pub struct HeaderEntry<'a> {
    /// The name.
    pub name: &'a str,
    /// The unit in astropy's spelling.
    pub unit: Option<String>,
    /// The type, as named in enhanced CSV.
    pub datatype: &'static str,
    /// The description.
    pub description: String,
}

fn heads<'a>(columns: &'a [Column], units: KnownUnits) -> Vec<HeaderEntry<'a>> {
    let head = |column: &'a Column| HeaderEntry {
        name: &column.name,
        unit: column.unit(units),
        datatype: match column.values {
            Values::Integers(_) => "uint64",
            Values::Signed(_) => "int64",
            Values::Numbers(_) => "float64",
        },
        description: column.describe(units),
    };
    columns.iter().map(head).collect()
}

/// Returns the description of the columns as YAML in astropy's format, which is also used in Parquet files.
pub fn header(columns: &[Column], units: KnownUnits, meta: &[(&str, Meta)]) -> String {
    yaml(&heads(columns, units), meta)
}

/// Writes the lines before the line of names.
pub fn write_header(out: &mut dyn Write, columns: &[HeaderEntry<'_>], meta: &[(&str, Meta)]) -> io::Result<()> {
    writeln!(out, "# %ECSV 1.0\n# ---\n# delimiter: ','")?;
    yaml(columns, meta).lines().try_for_each(|line| writeln!(out, "# {line}"))
}

fn yaml(columns: &[HeaderEntry<'_>], meta: &[(&str, Meta)]) -> String {
    let mut lines = vec!["datatype:".to_string()];
    for HeaderEntry { name, unit, datatype, description } in columns {
        let mut line = format!("- {{name: {}", plain(name));
        if let Some(unit) = unit {
            line += &format!(", unit: {unit}");
        }
        line += &format!(", datatype: {datatype}");
        if !description.is_empty() {
            line += &format!(", description: {}", quoted(description));
        }
        lines.push(line + "}");
    }
    if !meta.is_empty() {
        lines.push("meta: !!omap".into());
    }
    for (name, value) in meta {
        match value {
            Meta::Text(text) => lines.push(format!("- {{{}: {}}}", plain(name), quoted(text))),
            Meta::Number(number) | Meta::Measured(number, _) => {
                lines.push(format!("- {{{}: {}}}", plain(name), yaml_number(*number)));
            }
            Meta::Lines(all) => {
                lines.push(format!("- {}:", plain(name)));
                lines.extend(all.iter().map(|line| format!("  - {}", quoted(line))));
            }
        }
    }
    lines.push("schema: astropy-2.0\n".into());
    lines.join("\n")
}

/// Returns a name as a YAML scalar, in quotes unless it is a plain word.
fn plain(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        // YAML 1.1 interprets these as booleans and null.
        && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&name.to_ascii_lowercase().as_str());
    if is_plain { name.into() } else { quoted(name) }
}

/// Returns any text in double quotes, escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c) => {
                quoted.push_str(&format!("\\u{:04x}", c as u32))
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a number so that YAML 1.1 does not read it as text: exponents need a decimal point and a sign.
fn yaml_number(number: f64) -> String {
    if number.is_nan() {
        return ".nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf".into() } else { "-.inf".into() };
    }
    if number == 0.0 || (1e-4..1e15).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = if digits.contains('.') { digits.to_string() } else { format!("{digits}.0") };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{digits}e{sign}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml() {
        assert_eq!([0.5, 1e-9, 2.5e20, -1e30].map(yaml_number), ["0.5", "1.0e-9", "2.5e+20", "-1.0e+30"]);
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(yaml_number), [".nan", "-.inf"]);
        assert_eq!(quoted("a \"b\" \\ c\nd"), r#""a \"b\" \\ c\u000ad""#);
        assert_eq!(["fof_halo_tag", "y", "2x", "a b"].map(plain), ["fof_halo_tag", "\"y\"", "\"2x\"", "\"a b\""]);
    }

    #[test]
    fn columns_have_one_length() {
        let column = |n| Column::new("x", Values::Numbers(vec![0.0; n]));
        let error = write_ecsv(vec![], &[column(2), column(3)], None, &[]).unwrap_err();
        assert_eq!(error.to_string(), "column x has 3 values, but the first column has 2");
    }
}
