//! Typed columns with names, and how they are written as text.

use std::io::{self, Write};

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers: ids, counts, offsets.
    Integers(Vec<u64>),
    /// Everything that is measured.
    Numbers(Vec<f64>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values at these positions, which must be below the length.
    pub(super) fn at(&self, order: &[u32]) -> Self {
        match self {
            Self::Integers(values) => Self::Integers(order.iter().map(|&i| values[i as usize]).collect()),
            Self::Numbers(values) => Self::Numbers(order.iter().map(|&i| values[i as usize]).collect()),
        }
    }

    fn write(&self, row: usize, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Integers(values) => write!(out, "{}", values[row]),
            Self::Numbers(values) => write!(out, "{}", Digits(values[row])),
        }
    }
}

/// A column of a [`Catalog`](super::Catalog): a value for each halo.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(super) name: String,
    pub(super) values: Values,
}

impl Column {
    /// Its name, in the manner of HACC's catalogues.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A value for each halo, in the order of the catalogue.
    pub fn values(&self) -> &Values {
        &self.values
    }
}

/// Writes notes as lines that start with `#`, the names, and a line for each of `rows` rows.
pub(super) fn write_csv(columns: &[Column], rows: usize, mut out: impl Write, notes: &[String]) -> io::Result<()> {
    for note in notes {
        writeln!(out, "# {}", note.replace(['\n', '\r'], " "))?;
    }
    for (i, column) in columns.iter().enumerate() {
        write!(out, "{}{}", if i > 0 { "," } else { "" }, column.name)?;
    }
    writeln!(out)?;
    for row in 0..rows {
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                out.write_all(b",")?;
            }
            column.values.write(row, &mut out)?;
        }
        writeln!(out)?;
    }
    out.flush()
}

/// Nine significant digits and no trailing zeros, with an exponent where it is shorter.
struct Digits(f64);

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        // The shortest decimal that reads back as the rounded value.
        let rounded = format!("{:.8e}", self.0).parse().unwrap_or(self.0);
        if rounded == 0.0 || (1e-4..1e15).contains(&rounded.abs()) {
            write!(f, "{rounded}")
        } else {
            write!(f, "{rounded:e}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_digits() {
        let numbers = [0.1 + 0.2, -1234.0, 1e-7, 123456789012.0, 1e20, 0.0, 2.0 / 3.0];
        let written = ["0.3", "-1234", "1e-7", "123456789000", "1e20", "0", "0.666666667"];
        for (number, written) in numbers.into_iter().zip(written) {
            assert_eq!(Digits(number).to_string(), written);
        }
    }
}
