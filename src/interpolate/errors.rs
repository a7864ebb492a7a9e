//! Errors of interpolation.

use crate::error::{Error, ErrorKind};
use crate::format::number;

/// Fields whose number of values is not `columns` for each source.
pub(crate) fn field_length(len: usize, sources: usize, columns: usize) -> Error {
    let must = if columns == 1 { "one".into() } else { columns.to_string() };
    let sentence = format!("the field has {len} values for {sources} sources; it must have {must} per source");
    Error::new(ErrorKind::Input, sentence)
}

/// A field value that is not finite.
pub(crate) fn source_value(index: usize, value: f64) -> Error {
    let sentence = format!("its value is {}; values must be finite", number(value));
    Error::new(ErrorKind::Input, sentence).of_item("source", index)
}

/// A volume that is negative or not finite.
pub(super) fn volume(index: usize, volume: f64) -> Error {
    let sentence = format!("its volume is {}; volumes must be finite and not negative", number(volume));
    Error::new(ErrorKind::Input, sentence).of_item("source", index)
}

/// Fewer neighbours than a polynomial has coefficients.
pub(super) fn too_few_neighbors(k: usize, basis: usize, degree: usize, dim: usize) -> Error {
    let sentence = format!(
        "{k} neighbours are too few: a polynomial of degree {degree} in {dim} dimensions has {basis} coefficients; use \
         at least {basis}, better {}",
        2 * basis
    );
    Error::new(ErrorKind::Parameter, sentence).about("neighbors")
}
