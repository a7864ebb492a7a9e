//! Shapes of datasets: the number of rows, the numbers per row, and the type of the numbers.
//!
//! In: the header of a dataset. Out: its [`Shape`], or the reason why particles and tables cannot have it. Cost:
//! none; the header has been read.

use hdf5_reader::Dataset;

use crate::hdf5::number::{Number, Unreadable};

/// The shape and the number type of a dataset.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub rows: u64,
    /// The number of numbers per row.
    pub width: u64,
    pub number: Number,
    /// The number of numbers per element: more than one if a record is read as bytes.
    pub unit: u64,
}

impl Shape {
    /// Returns the shape of a dataset.
    pub(super) fn of(dataset: &Dataset) -> Result<Self, Unreadable> {
        let (rows, width) = extent(dataset).map_err(Unreadable::Unsupported)?;
        let message = dataset.raw_datatype().map_err(|error| Unreadable::Damaged(format!("is damaged: {error}")))?;
        Ok(Self { rows, width, number: Number::parse(&message)?, unit: 1 })
    }

    /// Returns the shape of a dataset whose elements, of `bytes` bytes each, are read as bytes.
    pub(super) fn of_bytes(dataset: &Dataset, bytes: u64) -> Result<Self, String> {
        let (rows, width) = extent(dataset)?;
        let width = width.checked_mul(bytes).ok_or("has rows with a size above 2^64 bytes")?;
        Ok(Self { rows, width, number: Number::BYTE, unit: bytes })
    }

    /// Returns the bytes per element.
    pub(super) fn element(&self) -> usize {
        self.unit as usize * self.number.size
    }
}

/// Returns the rows of a dataset, and the elements per row.
fn extent(dataset: &Dataset) -> Result<(u64, u64), String> {
    match *dataset.shape() {
        [rows] => Ok((rows, 1)),
        [rows, width] => Ok((rows, width)),
        ref other => Err(format!("has {} dimensions; it must have 1 or 2", other.len())),
    }
}
