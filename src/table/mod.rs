//! Points whose dimension and type are known at run time: what files hold, and what programs ask about them.
//!
//! In: [`Points`] of 1 to 10 coordinates, `f32` or `f64`. Out: what the generic functions give.
//! These functions are not generic, so a program that calls them compiles none of the algorithms. They are compiled for few kinds of
//! points, for each takes its time: two and three dimensions in either precision, and 6 and 10 dimensions of 64 bits. Other
//! points become the next wider ones: the axes that are added are 0 everywhere and leave distances alone, and each `f32` is
//! an `f64`. So answers stay what they are. Cost: that of the copy, 8 bytes a coordinate.

mod dbscan;
mod hdbscan;
mod hop;
mod k_distances;
mod neighbors;
mod rows;
mod spanning_tree;

pub use dbscan::dbscan;
pub use hdbscan::hdbscan;
pub use hop::{adaptahop, density, hop};
pub use k_distances::k_distances;
pub use neighbors::{Pairs, nearest_neighbors, nearest_to, pairs};
pub use spanning_tree::minimum_spanning_tree;

use crate::error::{Kind, Result};

/// N rows of 1 to 10 values, row-major, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<S> {
    pub(crate) dim: usize,
    pub(crate) data: Vec<S>,
}

impl<S> Table<S> {
    /// A table of rows of `dim` values.
    ///
    /// # Errors
    /// If `dim` is not 1 to 10, or does not divide the number of values.
    pub fn new(dim: usize, data: Vec<S>) -> Result<Self> {
        if !(1..=10).contains(&dim) {
            return Err(Kind::Dimension { dim }.into());
        }
        if !data.len().is_multiple_of(dim) {
            let value = data.len() as f64;
            return Err(Kind::Parameter { name: "data.len()", value, must: "a multiple of the dimension" }.into());
        }
        Ok(Self { dim, data })
    }

    /// Values in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The rows, or `None` if they have other than `D` values.
    pub fn rows<const D: usize>(&self) -> Option<&[[S; D]]> {
        (self.dim == D).then(|| self.data.as_chunks().0)
    }

    /// All values, row by row.
    pub fn as_slice(&self) -> &[S] {
        &self.data
    }
}

impl Table<f32> {
    /// The same numbers in 64 bits.
    pub(crate) fn widened(&self) -> Table<f64> {
        Table { dim: self.dim, data: self.data.iter().map(|&x| x.into()).collect() }
    }
}

/// Points, or vectors that belong to them, in the precision of the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Points {
    /// 32-bit floats.
    F32(Table<f32>),
    /// 64-bit floats.
    F64(Table<f64>),
}

impl Points {
    /// Coordinates per point.
    pub fn dim(&self) -> usize {
        match self {
            Self::F32(table) => table.dim(),
            Self::F64(table) => table.dim(),
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(table) => table.len(),
            Self::F64(table) => table.len(),
        }
    }

    /// True if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
