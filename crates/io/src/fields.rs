//! Values of fields: numbers that stand for no places, row by row.
//!
//! - in: a table of any of the formats that [`read`](crate::read) takes for tables
//! - out: a row of values for each row of it, and what they are called; nothing is converted, and names mean nothing
//! - cost: that of reading points, and 8 bytes a value

use std::path::Path;

use ropewalk::Result;

use crate::read_file::read_all;
use crate::reading::Reading;
use crate::{Points, ReadOptions};

/// The values of fields.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fields {
    /// All values, row by row.
    pub values: Vec<f64>,
    /// Values in a row, at least one.
    pub columns: usize,
    /// What the columns are called, each; empty if the file does not say.
    pub names: Vec<String>,
    /// Sentences about what the file has and is not read, such as columns without numbers.
    pub notes: Vec<String>,
}

/// Reads the fields of a table: text, a NumPy array or archive, Parquet, or GenericIO. `chosen` are their names, or their numbers from 1, in
/// an archive those of its arrays, each but once. None stand for all columns that hold numbers, `x`, `id` and `mass` as any other:
///
/// - text: the first row shows which do. One that begins with another word, as `NA`, is text and left out; it is an error if the second row
///   has a number there. One that is empty at first, or begins like a number, as `2020-01-01` and `3C273`, is an error: numbers that are
///   missing are `nan`, and columns of text are left out by choosing others
/// - archives: arrays that have as many rows as the longest. Of numbers all of these must be floats of 16 to 64 bits or integers, with one
///   value or several a row; arrays of text, truths, dates, objects and records are left out
/// - Parquet: but for the indexes of a pandas table
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
/// If the file cannot be read, is no table, is cut off or contradicts itself; a chosen column that is not there, holds no numbers or is chosen twice;
/// in other formats than text a whole number beyond 2^53, as large ids are: choose the other columns then; a chosen column that the header of enhanced CSV masks.
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
