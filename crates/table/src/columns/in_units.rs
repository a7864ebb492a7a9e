//! Conversion of columns and header entries to other units.

use ropewalk::units::Factors;

use crate::columns::{Column, Meta, Values};

impl Column {
    /// Returns the column with its values converted to other units, according to their quantity. Names and
    /// descriptions are unchanged.
    ///
    /// ```
    /// use ropewalk_table::columns::{Column, Values};
    /// use ropewalk::units::{Factors, Quantity, UnitSystem, Units};
    ///
    /// let factors = Factors::new(&Units::GADGET, &UnitSystem::H.units(), 0.0, None)?;
    /// let mass = Column::new("mass", Values::Numbers(vec![0.5])).quantity(Quantity::Mass);
    /// assert_eq!(mass.in_units(&factors).values(), &Values::Numbers(vec![5e9]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn in_units(&self, factors: &Factors) -> Self {
        let factor = factors.of(self.quantity);
        let values = match &self.values {
            Values::Numbers(values) => Values::Numbers(values.iter().map(|value| value * factor).collect()),
            other => other.clone(),
        };
        Self { values, ..self.clone() }
    }
}

/// Converts the entries of a header to other units: numbers with a quantity are converted, and an entry `units` names
/// the new units.
pub fn meta_in_units<'a>(meta: &[(&'a str, Meta)], factors: &Factors) -> Vec<(&'a str, Meta)> {
    let convert = |(name, value): &(&'a str, Meta)| {
        let value = match value {
            Meta::Measured(value, quantity) => Meta::Measured(value * factors.of(*quantity), *quantity),
            Meta::Text(_) if *name == "units" => Meta::Text(factors.units().to_string()),
            other => other.clone(),
        };
        (*name, value)
    };
    meta.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use ropewalk::units::{Quantity, UnitSystem, Units};

    use super::*;

    #[test]
    fn entries_follow_the_columns() {
        let meta = [
            ("box_size", Meta::Measured(32.0, Quantity::Length)),
            ("redshift", Meta::Number(1.0)),
            ("units", Meta::Text("lengths in comoving Mpc/h, as specified".into())),
        ];
        let factors = Factors::new(&Units::GADGET, &UnitSystem::Physical.units(), 1.0, Some(0.5)).unwrap();
        let meta = meta_in_units(&meta, &factors);
        assert_eq!(meta[0].1, Meta::Measured(32.0, Quantity::Length));
        assert_eq!(meta[1].1, Meta::Number(1.0));
        assert_eq!(meta[2].1, Meta::Text(UnitSystem::Physical.units().to_string()));
    }
}
