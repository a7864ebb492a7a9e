//! Named columns of typed values.

use std::io::{self, Write};

use ropewalk::units::{KnownUnits, Quantity};

/// The values of a column.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Values {
    /// Non-negative integers: ids, counts, offsets.
    Integers(Vec<u64>),
    /// Integers with negative values, such as labels with -1 for no cluster.
    Signed(Vec<i64>),
    /// Real numbers.
    Numbers(Vec<f64>),
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integers(values) => {
                f.debug_tuple("Integers").field(&ropewalk::internals::brief::Brief(values)).finish()
            }
            Self::Signed(values) => f.debug_tuple("Signed").field(&ropewalk::internals::brief::Brief(values)).finish(),
            Self::Numbers(values) => {
                f.debug_tuple("Numbers").field(&ropewalk::internals::brief::Brief(values)).finish()
            }
        }
    }
}

impl Values {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values at the given positions, which must be below the length.
    pub(crate) fn at(&self, order: &[u32]) -> Self {
        match self {
            Self::Integers(values) => Self::Integers(order.iter().map(|&i| values[i as usize]).collect()),
            Self::Signed(values) => Self::Signed(order.iter().map(|&i| values[i as usize]).collect()),
            Self::Numbers(values) => Self::Numbers(order.iter().map(|&i| values[i as usize]).collect()),
        }
    }

    pub(super) fn write(&self, row: usize, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Integers(values) => write!(out, "{}", values[row]),
            Self::Signed(values) => write!(out, "{}", values[row]),
            Self::Numbers(values) => write!(out, "{}", Digits(values[row])),
        }
    }
}

/// A column of a table: a name, a value for each row, their physical quantity, and a description.
///
/// ```
/// use ropewalk_table::columns::{Column, Values};
/// use ropewalk::units::Quantity;
///
/// let radius = Column::new("radius", Values::Numbers(vec![0.5])).quantity(Quantity::Length).description("of the sphere");
/// assert_eq!((radius.name(), radius.values().len()), ("radius", 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
    pub(crate) quantity: Quantity,
    pub(crate) description: String,
}

impl Column {
    /// Creates a column of dimensionless numbers, without a description.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, quantity: Quantity::Dimensionless, description: String::new() }
    }

    /// Sets the physical quantity of the values, which determines their unit.
    #[must_use]
    pub fn quantity(mut self, quantity: Quantity) -> Self {
        self.quantity = quantity;
        self
    }

    /// Sets the description of the column: definition and frame of the values, for readers.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Appends text to the description.
    #[doc(hidden)]
    pub fn describe_more(&mut self, more: &str) {
        self.description.push_str(more);
    }

    /// Returns the name of the column; names in catalogues follow HACC's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the values of the column, one per row.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the unit of the values, as spelled by [`KnownUnits::astropy_name`]; `None` if it is unknown or the
    /// values have none.
    ///
    /// ```
    /// use ropewalk_table::columns::{Column, Values};
    /// use ropewalk::units::{Quantity, Units};
    ///
    /// let radius = Column::new("radius", Values::Numbers(vec![0.5])).quantity(Quantity::Length).description("of the sphere");
    /// assert_eq!(radius.unit(Some(&Units::GADGET)).as_deref(), Some("Mpc / littleh"));
    /// assert_eq!(radius.describe(Some(&Units::GADGET)), "of the sphere; comoving");
    /// assert_eq!((radius.unit(None), radius.describe(None)), (None, "of the sphere".into()));
    /// ```
    pub fn unit(&self, units: impl Into<KnownUnits>) -> Option<String> {
        units.into().astropy_name(self.quantity)
    }

    /// Returns the frame of the values, comoving, physical or peculiar; empty if the units are unknown or the values
    /// have no frame.
    pub fn frame(&self, units: impl Into<KnownUnits>) -> &'static str {
        units.into().frame_of(self.quantity)
    }

    /// Returns the description, followed by the frame, comoving, physical or peculiar, if the units are known.
    pub fn describe(&self, units: impl Into<KnownUnits>) -> String {
        let texts = [&*self.description, self.frame(units)];
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Prints nine significant digits without trailing zeros, with an exponent for small and large numbers.
pub(super) struct Digits(pub f64);

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
