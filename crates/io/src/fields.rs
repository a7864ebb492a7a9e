//! Reading of fields: rows of numbers that are not coordinates.
//!
//! - in: a table in any format that [`read`](crate::read) accepts for tables
//! - out: one row of values per row of the table, and the names of the columns. No value is converted, and names have
//!   no meaning
//! - cost: that of reading points, and 8 bytes per value

use std::path::Path;

use ropewalk::Result;

use crate::read_file::read_all;
use crate::reading::Reading;
use crate::{Points, ReadOptions};

/// The columns of numbers that [`read_fields`] reads from a table: names and values, one row per row of the table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fields {
    /// All values, in row-major order.
    pub values: Vec<f64>,
    /// The number of values per row, at least one.
    pub columns: usize,
    /// The name of each column; empty if the file has no names.
    pub names: Vec<String>,
    /// Notes about content that is not read, such as columns without numbers.
    pub notes: Vec<String>,
}

/// Reads the fields of a table, in any format that [`read`](crate::read) accepts for tables.
///
/// `chosen` lists the names of the fields, or their numbers from 1; in an archive, the names of its arrays. Each may
/// occur once. If `chosen` is empty, all columns that hold numbers are read, including `x`, `id` and `mass`:
///
/// - text: the first row decides.
///   - A column whose first value is a word, as `NA`, is text and left out. If the second row has a number in that
///     column, this is an error.
///   - A column whose first value is empty, or begins like a number, as `2020-01-01` and `3C273`, is an error. Write
///     missing numbers as `nan`, and leave out columns of text by choosing the others.
/// - archives: the arrays with as many rows as the longest one. Arrays of numbers among these must hold floats of 16
///   to 64 bits or integers, with one or several values per row. Arrays of text, booleans, dates, objects and records
///   are left out.
/// - Parquet: all such columns except the indexes of a pandas table
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("fields.csv");
/// std::fs::write(&path, "id,mass,name,vx\n7,0.5,a,-1\n8,1.5,b,2\n")?;
/// let fields = ropewalk_io::read_fields(&path, &[])?;
/// assert_eq!((fields.names.join(" "), fields.columns), ("id mass vx".into(), 3));
/// assert_eq!(ropewalk_io::read_fields(&path, &["mass".into()])?.values, [0.5, 1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file cannot be read, is not a table, is truncated or contradicts itself. If a chosen column does not exist,
/// holds no numbers, is chosen twice, or is masked according to the header of enhanced CSV. In formats other than
/// text, if an integer exceeds 2^53, as large ids do: choose the other columns then.
pub fn read_fields(path: impl AsRef<Path>, chosen: &[String]) -> Result<Fields> {
    let options = ReadOptions::default().columns(chosen);
    let reading = Reading::new(&options, None)?.of_fields();
    let snapshot = read_all(path.as_ref(), reading)?;
    let columns = snapshot.points.dim();
    let values = match snapshot.points {
        Points::F32(table) => table.as_slice().iter().map(|&x| x.into()).collect(),
        Points::F64(table) => table.into_vec(),
    };
    Ok(Fields { values, columns, names: snapshot.columns, notes: snapshot.notes })
}
