//! The columns of FITS tables: locations and types of their values.

use crate::messages::shorten;
use crate::number_types::Number;

use super::super::rows::Mapping;
use super::super::{Field, Kind};
use super::header::{Hdu, real};

/// The maximum number of columns of a table.
const MAX_COLUMNS: u64 = 999;
/// The maximum number of characters of a number.
const WIDEST_NUMBER: u64 = 256;

/// Parses `TFORM` of a binary table: a count and a letter. The rest of the text is ignored.
fn form(text: &str) -> Option<(u64, char)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let count = if end == 0 { 1 } else { text[..end].parse().ok()? };
    Some((count, text[end..].chars().next()?))
}

/// Returns the name of a column; without a name, `col` and its number.
fn name(table: &Hdu, column: u64) -> String {
    let name = table.text(&format!("TTYPE{column}")).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("col{column}"), str::to_string)
}

fn unit(table: &Hdu, column: u64) -> Option<String> {
    table.text(&format!("TUNIT{column}")).map(|unit| unit.trim().to_string()).filter(|unit| !unit.is_empty())
}

fn count(table: &Hdu) -> Result<u64, String> {
    let n = table.count("TFIELDS")?;
    if n > MAX_COLUMNS { Err(format!("its keyword TFIELDS is {n}; it must be at most {MAX_COLUMNS}")) } else { Ok(n) }
}

/// Returns the mapping from stored to actual values, from `TSCAL` and `TZERO` of a column.
fn mapping(table: &Hdu, column: u64, number: Number) -> Result<Mapping, String> {
    let scale = table.real(&format!("TSCAL{column}"))?.unwrap_or(1.0);
    let offset = table.real(&format!("TZERO{column}"))?.unwrap_or(0.0);
    // The offset by which integers of the opposite signedness are stored.
    let half = match number {
        Number::U8 => -128.0,
        Number::I16 => 32_768.0,
        Number::I32 => 2_147_483_648.0,
        Number::I64 => 9_223_372_036_854_775_808.0,
        _ => f64::NAN,
    };
    Ok(match (scale, offset) {
        (1.0, 0.0) => Mapping::Same,
        (1.0, offset) if offset == half => Mapping::Flipped,
        _ => Mapping::Linear { scale, offset },
    })
}

/// Returns the columns of a binary table.
pub(super) fn binary(table: &Hdu) -> Result<Vec<Field>, String> {
    let stride = table.count("NAXIS1")?;
    let (mut fields, mut at) = (vec![], table.at);
    for column in 1..=count(table)? {
        let key = format!("TFORM{column}");
        let text = table.text(&key).ok_or_else(|| format!("its header has no keyword {key}"))?;
        let wrong = || format!("its keyword {key} is '{}', which is not a column format", shorten(text.as_bytes()));
        let (width, letter) = form(text).ok_or_else(wrong)?;
        let number =
            |number: Number| Ok::<_, String>((number.bytes(), Kind::Number(number, mapping(table, column, number)?)));
        let (bytes, kind) = match letter {
            'B' => number(Number::U8)?,
            'I' => number(Number::I16)?,
            'J' => number(Number::I32)?,
            'K' => number(Number::I64)?,
            'E' => number(Number::F32)?,
            'D' => number(Number::F64)?,
            'L' => (1, Kind::Other("truth values")),
            'A' => (1, Kind::Other("text")),
            'X' => (0, Kind::Other("bits")),
            'C' => (8, Kind::Other("complex numbers")),
            'M' => (16, Kind::Other("complex numbers")),
            'P' => (8, Kind::Other("lists of variable length")),
            'Q' => (16, Kind::Other("lists of variable length")),
            _ => return Err(wrong()),
        };
        let size = if letter == 'X' { Some(width.div_ceil(8)) } else { width.checked_mul(bytes) };
        let null = if matches!(letter, 'B' | 'I' | 'J' | 'K') { table.whole(&format!("TNULL{column}"))? } else { None };
        fields.push(Field {
            width,
            unit: unit(table, column),
            null,
            ..Field::new(name(table, column), at, stride, kind)
        });
        at = size.and_then(|size| at.checked_add(size)).ok_or_else(wrong)?;
    }
    if at - table.at != stride {
        return Err(format!("its columns have {} bytes a row, but NAXIS1 is {stride}", at - table.at));
    }
    Ok(fields)
}

/// A column of a text table.
pub(super) struct TextColumn {
    pub name: String,
    pub unit: Option<String>,
    pub is_number: bool,
    start: usize,
    width: usize,
    /// The number of digits after an implied decimal point.
    digits: i32,
    scale: f64,
    offset: f64,
    null: Option<String>,
}

/// Returns the columns of a text table.
pub(super) fn texts(table: &Hdu) -> Result<Vec<TextColumn>, String> {
    let length = table.count("NAXIS1")?;
    let mut columns = vec![];
    for column in 1..=count(table)? {
        let key = format!("TFORM{column}");
        let text = table.text(&key).ok_or_else(|| format!("its header has no keyword {key}"))?;
        let wrong = || format!("its keyword {key} is '{}', which is not a column format", shorten(text.as_bytes()));
        let text = text.trim();
        let letter = text.chars().next().ok_or_else(wrong)?;
        let mut sizes = text.get(1..).ok_or_else(wrong)?.split('.');
        let width: u64 = sizes.next().and_then(|size| size.parse().ok()).ok_or_else(wrong)?;
        let digits: i32 = sizes.next().map_or(Ok(0), str::parse).map_err(|_| wrong())?;
        let is_number = matches!(letter, 'I' | 'F' | 'E' | 'D');
        if !(is_number || letter == 'A') || is_number && width > WIDEST_NUMBER || !(0..=64).contains(&digits) {
            return Err(wrong());
        }
        let start = table.count(&format!("TBCOL{column}"))?;
        let end = start.checked_add(width).filter(|&end| start > 0 && end - 1 <= length);
        if end.is_none() {
            return Err(format!("column {column} is beyond the {length} bytes of a row"));
        }
        columns.push(TextColumn {
            name: name(table, column),
            unit: unit(table, column),
            is_number,
            start: start as usize - 1,
            width: width as usize,
            digits: if letter == 'I' { 0 } else { digits },
            scale: table.real(&format!("TSCAL{column}"))?.unwrap_or(1.0),
            offset: table.real(&format!("TZERO{column}"))?.unwrap_or(0.0),
            null: table.text(&format!("TNULL{column}")).map(|null| null.trim().to_string()),
        });
    }
    Ok(columns)
}

impl TextColumn {
    /// Returns the number in a row, as text; empty if the value is missing. Text that is not a number is returned
    /// unchanged.
    pub(super) fn word(&self, row: &[u8]) -> Result<String, String> {
        let bytes = row.get(self.start..self.start + self.width).ok_or("has no value")?;
        let text = String::from_utf8_lossy(bytes).trim().to_string();
        if text.is_empty() || self.null.as_ref() == Some(&text) {
            return Ok(String::new());
        }
        let Some(number) = real(&text) else { return Ok(text) };
        let has_point = text.contains('.') || self.digits == 0;
        if has_point && (self.scale, self.offset) == (1.0, 0.0) {
            return Ok(text.replace(['D', 'd'], "E"));
        }
        let number = if has_point { number } else { number / 10f64.powi(self.digits) };
        Ok(format!("{:?}", number * self.scale + self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_columns() {
        assert_eq!(form("3E"), Some((3, 'E')));
        assert_eq!(form(" D "), Some((1, 'D')));
        assert_eq!(form("0A"), Some((0, 'A')));
        assert_eq!(form("1PE(7)"), Some((1, 'P')));
        assert_eq!((form(""), form("12"), form("99999999999999999999E")), (None, None, None));
    }
}
