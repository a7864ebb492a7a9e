//! Entries of a table's header: text, numbers, and measured values, whose unit is that of the columns.
//!
//! Catalogues and finders make them; writers turn them into text (`catalog::ecsv`, `io`).

use crate::units::Quantity;

/// An entry of a table's header.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Meta {
    /// Text.
    Text(String),
    /// A pure number.
    Number(f64),
    /// A number in the units of the columns, and what it measures.
    Measured(f64, Quantity),
    /// A list of texts.
    Lines(Vec<String>),
}
