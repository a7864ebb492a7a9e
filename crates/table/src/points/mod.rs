//! Points and vectors whose type and dimension are known at run time: what files and arrays of other languages hold.
//!
//! In: numbers in 32 or 64 bits, row by row, their own or shared with another owner. Out: [`Points`] and [`Table`]s.

mod data;
#[doc(hidden)]
pub mod extent;
mod finite;

use std::sync::Arc;

use data::Data;
use ropewalk::internals::memory::collected;
use ropewalk::{Error, Result};

/// N rows of 1 to 10 values, row-major, in file order: its own, or in memory that something else owns ([`Table::shared`]).
///
/// A clone of its own values is a copy; a clone of shared ones shares them. Two are equal if their rows are.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<S> {
    dim: usize,
    data: Data<S>,
}

impl<S> Table<S> {
    /// A table of rows of `dim` values.
    ///
    /// # Errors
    /// If `dim` is not 1 to 10, or does not divide the number of values.
    pub fn new(dim: usize, data: Vec<S>) -> Result<Self> {
        check(dim, data.len())?;
        Ok(Self::of(dim, data))
    }

    /// A table of rows of `dim` values that `owner` holds: an array of another language, a mapped file, an `Arc<Vec<S>>`. Nothing is
    /// copied, and `owner` lives as long as the table and its clones.
    ///
    /// `owner` is asked for its values again at each use of them, and must always give the same. If it gives more, the table ends where it
    /// did; if it gives fewer, the table is empty for as long. Other values in the middle of a call make its answer meaningless, or the
    /// call fails or panics.
    ///
    /// Nothing may write to the memory while a call reads it. Safe Rust cannot; another language can, and by Rust's rules a program in
    /// which that happens is undefined. Trees compare what they store with what they read before, so that their depth stays bounded, and
    /// tests with such a writer have seen wrong answers and errors, but no crash; that is no promise.
    ///
    /// Memory: some ten words. Cost: a call of `as_ref` at each use of the values.
    ///
    /// # Errors
    /// As [`Table::new`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ropewalk_table::Table;
    ///
    /// let values = Arc::new(vec![0.0f32, 0.5, 1.0, 2.0]);
    /// let table = Table::shared(2, values.clone())?;
    /// assert_eq!(table.rows::<2>(), Some(&[[0.0, 0.5], [1.0, 2.0]][..]));
    /// assert_eq!(table.clone().as_slice().as_ptr(), values.as_ptr());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn shared(dim: usize, owner: Arc<dyn AsRef<[S]> + Send + Sync>) -> Result<Self> {
        let data = Data::shared(owner);
        check(dim, data.values().len())?;
        Ok(Self { dim, data })
    }

    /// Rows whose number of values is known to be right.
    #[doc(hidden)]
    pub fn of(dim: usize, data: Vec<S>) -> Self {
        Self { dim, data: Data::Own(data) }
    }

    /// Values in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.as_slice().len() / self.dim
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// The rows, or `None` if they have other than `D` values.
    pub fn rows<const D: usize>(&self) -> Option<&[[S; D]]> {
        (self.dim == D).then(|| self.as_slice().as_chunks().0)
    }

    /// All values, row by row.
    pub fn as_slice(&self) -> &[S] {
        self.data.values()
    }
}

impl<S: Clone> Table<S> {
    /// All values, row by row. They are copied if they are shared.
    pub fn into_vec(self) -> Vec<S> {
        self.data.into_vec()
    }

    /// All values, to be changed. They are copied if they are shared.
    #[doc(hidden)]
    pub fn values_mut(&mut self) -> &mut Vec<S> {
        self.data.own()
    }
}

/// Errors: a number of values that are not whole rows.
fn check(dim: usize, values: usize) -> Result<()> {
    if !(1..=10).contains(&dim) {
        return Err(Error::dimension(dim));
    }
    if !values.is_multiple_of(dim) {
        let (name, must) = ("data.len()", "a multiple of the dimension");
        return Err(Error::parameter_must(name, values as f64, must));
    }
    Ok(())
}

impl Table<f32> {
    /// The same numbers in 64 bits.
    #[doc(hidden)]
    pub fn widened(&self) -> Table<f64> {
        Table::of(self.dim, collected(self.as_slice().iter().map(|&x| x.into())))
    }
}

/// Points, or vectors that belong to them, in the precision of the file or of the array that they are from.
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
