//! Shapes of datasets: the rows, the numbers of a row, and the type of the numbers.
//!
//! In: a dataset's header. Out: its [`Shape`], or why it has none that particles or tables have. Cost: none; the header has been read.

use hdf5_reader::Dataset;

use crate::hdf5::number::Number;

/// The shape and the type of a dataset, before its data are looked for.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub rows: u64,
    /// Numbers of a row.
    pub width: u64,
    pub number: Number,
    /// Numbers of an element: several where a record is read as its bytes.
    pub unit: u64,
}

impl Shape {
    /// The shape of a dataset, or why it has none that particles have.
    pub(super) fn of(dataset: &Dataset) -> std::result::Result<Self, String> {
        let (rows, width) = extent(dataset)?;
        let message = dataset.raw_datatype().map_err(|error| format!("is damaged: {error}"))?;
        Ok(Self { rows, width, number: Number::parse(&message)?, unit: 1 })
    }

    /// The shape of a dataset whose elements of `bytes` bytes are read as bytes.
    pub(super) fn of_bytes(dataset: &Dataset, bytes: u64) -> std::result::Result<Self, String> {
        let (rows, width) = extent(dataset)?;
        let width = width.checked_mul(bytes).ok_or("has rows of more bytes than there are numbers for")?;
        Ok(Self { rows, width, number: Number::BYTE, unit: bytes })
    }

    /// Bytes of an element.
    pub(super) fn element(&self) -> usize {
        self.unit as usize * self.number.size
    }
}

/// Rows of a dataset, and elements of a row.
fn extent(dataset: &Dataset) -> std::result::Result<(u64, u64), String> {
    match *dataset.shape() {
        [rows] => Ok((rows, 1)),
        [rows, width] => Ok((rows, width)),
        ref other => Err(format!("has {} dimensions; those with 1 or 2 are read", other.len())),
    }
}
