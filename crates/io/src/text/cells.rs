//! All columns of a text table as text, with the kinds of their values.
//!
//! In: a path. Out: [`Cells`], also of columns of text. Cost: one pass, and a second one over the cells for their
//! kinds.

use std::path::Path;

use ropewalk::{Error, Result};

use crate::cells::{CellKind, Cells};
use crate::ecsv;
use crate::text::layout::Layout;
use crate::text::lines::{Lines, Record};
use crate::text::values::{is_missing, is_whole, number};

/// Reads all columns of a table. Columns without names are called `column_1`, `column_2` and so on. Also returns `true`
/// if the header of an enhanced CSV table has metadata, which is left out.
pub(crate) fn read_cells(path: &Path) -> Result<(Vec<Cells>, bool)> {
    let refuse = |message: String| Error::file(path, message);
    let layout = Layout::read(path)?;
    let header = layout.header.as_deref().unwrap_or_default();
    let has_metadata = header.iter().any(|(path, _)| path.first().is_some_and(|key| key == "meta"));
    let units = ecsv::units(header);
    let name = |column: usize| layout.names.get(column).cloned().unwrap_or_else(|| format!("column_{}", column + 1));
    let new = |column: usize| {
        let mut cells = Cells::new(name(column), CellKind::Text);
        cells.unit = units.get(&cells.name).cloned();
        cells
    };
    let mut columns: Vec<Cells> = (0..layout.width).map(new).collect();
    let (mut lines, mut fields) = (Lines::open(path)?, Record::default());
    while lines.advance().map_err(refuse)? {
        if lines.number() <= layout.before || !layout.syntax.is_row(lines.line()) {
            continue;
        }
        layout.syntax.split(lines.line(), &mut fields);
        if fields.len() == 0 {
            continue;
        }
        if fields.len() != layout.width {
            let message = layout.wrong_width(&fields, lines.number());
            return Err(refuse(format!("line {}: {message}", lines.number())));
        }
        for (field, cells) in fields.iter().zip(&mut columns) {
            cells.push(&String::from_utf8_lossy(field));
        }
    }
    for cells in &mut columns {
        cells.kind = kind(cells);
    }
    Ok((columns, has_metadata))
}

/// Returns `true` if a cell has no value.
pub(crate) fn lacks_value(cell: &str) -> bool {
    is_missing(cell.as_bytes())
}

/// Returns the number in a cell.
pub(crate) fn number_in(cell: &str) -> Option<f64> {
    number(cell.as_bytes())
}

/// Returns the kind of all values that are not missing. Digits after a zero, as in 007, are text.
fn kind(cells: &Cells) -> CellKind {
    let values = || (0..cells.len()).map(|row| cells.get(row)).filter(|cell| !lacks_value(cell));
    let has_zero = |cell: &str| {
        let digits = cell.trim_start_matches(['+', '-']);
        digits.len() > 1 && digits.starts_with('0') && is_whole(cell.as_bytes())
    };
    if values().next().is_none() || values().any(has_zero) {
        return CellKind::Text;
    }
    if values().all(|cell| cell.eq_ignore_ascii_case("true") || cell.eq_ignore_ascii_case("false")) {
        return CellKind::Boolean;
    }
    if values().all(|cell| cell.parse::<i64>().is_ok()) {
        return CellKind::Signed;
    }
    if values().all(|cell| cell.parse::<u64>().is_ok()) {
        return CellKind::Unsigned;
    }
    match values().all(|cell| number_in(cell).is_some()) {
        true => CellKind::Number,
        false => CellKind::Text,
    }
}
