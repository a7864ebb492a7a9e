//! Typed columns with names.

use std::io::{self, Write};

use ropewalk::units::{KnownUnits, Quantity};

/// The values of a column.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Values {
    /// Whole numbers: ids, counts, offsets.
    Integers(Vec<u64>),
    /// Whole numbers of which some are negative: labels, -1 for none.
    Signed(Vec<i64>),
    /// Measurements.
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
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values at these positions, which must be below the length.
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

/// A column of a table: a name, a value for each row, what the values measure, and a sentence about them.
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
    /// A column of pure numbers, without a description.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, quantity: Quantity::Pure, description: String::new() }
    }

    /// What the values measure; it determines their unit.
    #[must_use]
    pub fn quantity(mut self, quantity: Quantity) -> Self {
        self.quantity = quantity;
        self
    }

    /// A sentence for the reader: definition and frame of the values.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Appends to the sentence about the values.
    #[doc(hidden)]
    pub fn describe_more(&mut self, more: &str) {
        self.description.push_str(more);
    }

    /// Its name, in the manner of HACC's catalogues.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A value for each row, in the order of the catalogue.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The unit of the values, as astropy spells it ([`KnownUnits::astropy_name`]), where `units` are known and there is one.
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

    /// The frame of the values where `units` are known: comoving, physical or peculiar; empty if they have none.
    pub fn frame(&self, units: impl Into<KnownUnits>) -> &'static str {
        units.into().frame_of(self.quantity)
    }

    /// The sentence about the values, and their frame where `units` are known: comoving, physical or peculiar.
    pub fn describe(&self, units: impl Into<KnownUnits>) -> String {
        let texts = [&*self.description, self.frame(units)];
        texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

/// Nine significant digits and no trailing zeros, with an exponent where it is shorter.
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
