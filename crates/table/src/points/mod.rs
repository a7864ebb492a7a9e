//! Points and vectors whose type and dimension are known at run time, as in files and in arrays of other languages.
//!
//! In: numbers of 32 or 64 bits, row by row, owned or shared with another owner. Out: [`Points`] and [`Table`]s.

mod data;
#[doc(hidden)]
pub mod extent;
mod finite;

use std::sync::Arc;

use data::Storage;
use ropewalk::internals::memory::collected;
use ropewalk::{Error, Result};

/// N rows of 1 to 10 values, row-major, in file order. Values are owned, or in memory of another owner
/// ([`Table::shared`]).
///
/// Cloning copies owned values, and shares shared ones. Tables are equal if their rows are equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<S> {
    dim: usize,
    data: Storage<S>,
}

impl<S> Table<S> {
    /// Creates a table of rows of `dim` values.
    ///
    /// # Errors
    /// Fails if `dim` is not 1 to 10, or does not divide the number of values.
    pub fn new(dim: usize, data: Vec<S>) -> Result<Self> {
        check(dim, data.len())?;
        Ok(Self::from_valid(dim, data))
    }

    /// Creates a table of rows of `dim` values that `owner` holds, such as an array of another language, a mapped
    /// file, or an `Arc<Vec<S>>`. Nothing is copied, and `owner` lives as long as the table and its clones.
    ///
    /// The table calls `owner.as_ref()` at each use of the values, which must always return the same values. If it
    /// returns more values, the table keeps its length; if it returns fewer, the table is empty while it does. If the
    /// values change during a call, its results are meaningless, or the call fails or panics.
    ///
    /// Nothing may write to the memory while a call reads it. Safe Rust cannot; another language can, which is
    /// undefined behaviour by Rust's rules. Trees compare stored values with those read before, so that their depth
    /// stays bounded. Tests with such a writer have produced wrong results and errors, but no crash; this is not a
    /// guarantee.
    ///
    /// Memory: about ten words. Cost: a call of `as_ref` at each use of the values.
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
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn shared(dim: usize, owner: Arc<dyn AsRef<[S]> + Send + Sync>) -> Result<Self> {
        let data = Storage::shared(owner);
        check(dim, data.values().len())?;
        Ok(Self { dim, data })
    }

    /// Creates a table from rows whose number of values is known to be valid.
    #[doc(hidden)]
    pub fn from_valid(dim: usize, data: Vec<S>) -> Self {
        Self { dim, data: Storage::Own(data) }
    }

    /// Returns the number of values per row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.as_slice().len() / self.dim
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Returns the rows, or `None` if they do not have `D` values.
    pub fn rows<const D: usize>(&self) -> Option<&[[S; D]]> {
        (self.dim == D).then(|| self.as_slice().as_chunks().0)
    }

    /// Returns all values, row by row.
    pub fn as_slice(&self) -> &[S] {
        self.data.values()
    }
}

impl<S: Clone> Table<S> {
    /// Returns all values, row by row. Shared values are copied.
    pub fn into_vec(self) -> Vec<S> {
        self.data.into_vec()
    }

    /// Returns all values for modification. Shared values are copied first.
    #[doc(hidden)]
    pub fn values_mut(&mut self) -> &mut Vec<S> {
        self.data.own()
    }
}

/// Fails if the values are not whole rows.
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
    /// Converts the values to 64 bits, exactly.
    #[doc(hidden)]
    pub fn widened(&self) -> Table<f64> {
        Table::from_valid(self.dim, collected(self.as_slice().iter().map(|&x| x.into())))
    }
}

/// Points, or vectors that belong to points, in the precision of their file or array.
#[derive(Debug, Clone, PartialEq)]
pub enum Points {
    /// 32-bit floats.
    F32(Table<f32>),
    /// 64-bit floats.
    F64(Table<f64>),
}

impl Points {
    /// Returns the number of coordinates per point.
    pub fn dim(&self) -> usize {
        match self {
            Self::F32(table) => table.dim(),
            Self::F64(table) => table.dim(),
        }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(table) => table.len(),
            Self::F64(table) => table.len(),
        }
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a point of three coordinates; `None` if there is no such point, or if points have other dimensions.
    ///
    /// ```
    /// use ropewalk_table::{Points, Table};
    ///
    /// let points = Points::F32(Table::new(3, vec![0.0, 1.0, 2.0])?);
    /// assert_eq!((points.in_space(0), points.in_space(1)), (Some([0.0, 1.0, 2.0]), None));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn in_space(&self, index: usize) -> Option<[f64; 3]> {
        match self {
            Self::F32(table) => table.rows::<3>()?.get(index).map(|row| row.map(f64::from)),
            Self::F64(table) => table.rows::<3>()?.get(index).copied(),
        }
    }
}
