//! Writing of tables in formats that other programs read: enhanced CSV, plain CSV, HDF5, Parquet.
//!
//! In: columns, their units, entries for the header, and lists of members. Out: bytes through [`Write`]. Cost: one
//! pass; nothing is copied.
//!
//! HDF5 files have one data set per column, with the attributes `unit` (spelled as in astropy), `description` and
//! `frame`, if they apply. Entries are attributes of the root group, and members are in a group of their own.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use ropewalk::units::KnownUnits;
use ropewalk::{Error, Result};
use ropewalk_table::columns::{Column, Meta, Values, rows_of, write_csv, write_ecsv};

use crate::hdf5_write::{Dataset, Group, Value};

/// The format of a table to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum TableFormat {
    /// CSV with a YAML header, which `astropy.table.Table.read` reads with units: see [`write_ecsv`].
    Ecsv,
    /// CSV with a line of names: see [`write_csv`].
    Csv,
    /// HDF5 with one data set per column.
    Hdf5,
    /// Parquet with units: see [`write_parquet`](crate::write_parquet).
    #[cfg(feature = "parquet")]
    Parquet,
}

/// The extensions that [`TableFormat::from_path`] recognises.
#[cfg(feature = "parquet")]
const ENDINGS: &str = ".ecsv, .csv, .hdf5, .h5 and .parquet";
#[cfg(not(feature = "parquet"))]
const ENDINGS: &str = ".ecsv, .csv, .hdf5 and .h5";

impl TableFormat {
    /// Returns the format for the extension of a file name: `.ecsv`, `.csv`, `.hdf5` or `.h5`, and `.parquet` with
    /// the feature `parquet`.
    ///
    /// ```
    /// use ropewalk_io::TableFormat;
    ///
    /// assert_eq!(TableFormat::from_path("out/halos.HDF5")?, TableFormat::Hdf5);
    /// assert!(TableFormat::from_path("halos.txt").is_err());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another extension, or none.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        match ending(path).as_str() {
            "ecsv" => Ok(Self::Ecsv),
            "csv" => Ok(Self::Csv),
            "hdf5" | "h5" => Ok(Self::Hdf5),
            #[cfg(feature = "parquet")]
            "parquet" => Ok(Self::Parquet),
            _ => Err(Error::file(path, format!("unknown extension; use {ENDINGS}"))),
        }
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ecsv => "enhanced CSV",
            Self::Csv => "CSV",
            Self::Hdf5 => "HDF5",
            #[cfg(feature = "parquet")]
            Self::Parquet => "Parquet",
        })
    }
}

/// Returns the extension of a file name in lower case, without the dot; empty for a name without extension.
pub(super) fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// A table to be written: columns, their units, entries for the header, and lists of members.
///
/// ```
/// use ropewalk_table::columns::{Column, Meta, Values};
/// use ropewalk_io::{TableFormat, TableWriter};
/// use ropewalk::units::{Quantity, Units};
///
/// let columns = [Column::new("radius", Values::Numbers(vec![0.5])).quantity(Quantity::Length)];
/// let meta = [("redshift", Meta::Number(1.0))];
/// let table = TableWriter::new(&columns).units(Units::GADGET).meta(&meta);
/// let (mut text, mut bytes) = (vec![], vec![]);
/// table.write(&mut text, TableFormat::Csv)?;
/// table.write(&mut bytes, TableFormat::Hdf5)?;
/// assert_eq!(text, b"radius\n0.5\n");
/// assert!(bytes.starts_with(b"\x89HDF"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableWriter<'a> {
    columns: &'a [Column],
    units: KnownUnits,
    meta: &'a [(&'a str, Meta)],
    members: &'a [(&'a str, Values)],
}

impl<'a> TableWriter<'a> {
    /// Creates a table with these columns, without units, entries and members.
    pub fn new(columns: &'a [Column]) -> Self {
        Self { columns, units: KnownUnits::default(), meta: &[], members: &[] }
    }

    /// Sets the units of the columns, by the quantity that each measures.
    #[must_use]
    pub fn units(mut self, units: impl Into<KnownUnits>) -> Self {
        self.units = units.into();
        self
    }

    /// Sets the named entries of the table's header. Plain CSV has no header, so they are omitted there.
    #[must_use]
    pub fn meta(mut self, meta: &'a [(&'a str, Meta)]) -> Self {
        self.meta = meta;
        self
    }

    /// Sets lists of members, as returned by `Pipeline::members` of `ropewalk-pipeline`: the members of row i are
    /// `ids[offsets[i]..offsets[i + 1]]`. Only HDF5 can store them.
    #[must_use]
    pub fn members(mut self, members: &'a [(&'a str, Values)]) -> Self {
        self.members = members;
        self
    }

    /// Writes the table in the given format to `out`.
    ///
    /// # Errors
    /// If `out` fails, if columns differ in length, or if there are members and the format is not HDF5. In HDF5, also
    /// if a name occurs twice or contains a slash, or if an entry has 64 kB or more.
    pub fn write(&self, mut out: impl Write + Send, format: TableFormat) -> Result<()> {
        if !self.members.is_empty() && format != TableFormat::Hdf5 {
            let message = format!("{format} cannot store member lists; use HDF5");
            return Err(Error::write(io::Error::new(io::ErrorKind::Unsupported, message)));
        }
        match format {
            TableFormat::Ecsv => write_ecsv(out, self.columns, self.units, self.meta),
            TableFormat::Csv => write_csv(out, self.columns),
            TableFormat::Hdf5 => {
                rows_of(self.columns)?;
                self.hdf5().write(&mut out).map_err(Error::write)
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => crate::write_parquet(out, self.columns, self.units, self.meta),
        }
    }

    fn hdf5(&self) -> Group<'a> {
        let mut root = Group::default();
        for (name, value) in self.meta {
            root.attribute(
                *name,
                match value {
                    Meta::Text(text) => Value::from(text.as_str()),
                    Meta::Number(number) | Meta::Measured(number, _) => Value::from(*number),
                    Meta::Lines(lines) => Value::texts(lines),
                },
            );
        }
        for column in self.columns {
            let mut values = dataset(column.values());
            let unit = column.unit(self.units).unwrap_or_default();
            let (description, frame) = (column.describe(None), column.frame(self.units));
            for (name, text) in [("unit", &*unit), ("description", &*description), ("frame", frame)] {
                if !text.is_empty() {
                    values = values.attribute(name, text);
                }
            }
            root.dataset(column.name(), values);
        }
        if !self.members.is_empty() {
            let mut members = Group::default();
            members.attribute("description", "the members of row i are ids[offsets[i]:offsets[i + 1]]");
            for (name, values) in self.members {
                members.dataset(*name, dataset(values));
            }
            root.group("members", members);
        }
        root
    }
}

fn dataset(values: &Values) -> Dataset<'_> {
    match values {
        Values::Integers(values) => Dataset::pieces(vec![values], None),
        Values::Signed(values) => Dataset::pieces(vec![values], None),
        Values::Numbers(values) => Dataset::pieces(vec![values], None),
    }
}

#[cfg(test)]
mod tests {
    use hdf5_reader::Hdf5File;

    use ropewalk::units::{Quantity, Units};

    use super::*;

    #[test]
    fn hdf5_has_all_that_the_header_has() {
        let columns = [
            Column::new("tag", Values::Integers(vec![u64::MAX, 3])).description("an id"),
            Column::new("parent", Values::Signed(vec![-1, 0])),
            Column::new("x", Values::Numbers(vec![1.0 / 3.0, f64::NAN])).quantity(Quantity::Length),
        ];
        let meta = [
            ("program", Meta::Text("ropewalk".into())),
            ("box_size", Meta::Measured(32.0, Quantity::Length)),
            ("notes", Meta::Lines(vec!["one".into(), "another".into()])),
        ];
        let members = [("offsets", Values::Integers(vec![0, 1, 1])), ("ids", Values::Integers(vec![9]))];
        let table = TableWriter::new(&columns).units(Units::GADGET).meta(&meta).members(&members);
        let mut bytes = vec![];
        table.write(&mut bytes, TableFormat::Hdf5).unwrap();

        let file = Hdf5File::from_vec(bytes).unwrap();
        let text = |name: &str, attribute: &str| {
            file.dataset(name).unwrap().attribute(attribute).and_then(|value| value.read_string()).ok()
        };
        let x = file.dataset("x").unwrap().read_array::<f64>().unwrap();
        assert_eq!(x[[0]], 1.0 / 3.0);
        assert!(x[[1]].is_nan());
        assert_eq!(
            ["unit", "frame"].map(|what| text("x", what)),
            ["Mpc / littleh", "comoving"].map(|t| Some(t.into()))
        );
        assert_eq!(["unit", "description"].map(|what| text("tag", what)), [None, Some("an id".into())]);
        assert_eq!(file.dataset("tag").unwrap().read_array::<u64>().unwrap().as_slice().unwrap(), [u64::MAX, 3]);
        assert_eq!(file.dataset("parent").unwrap().read_array::<i64>().unwrap().as_slice().unwrap(), [-1, 0]);
        assert_eq!(
            file.dataset("members/offsets").unwrap().read_array::<u64>().unwrap().as_slice().unwrap(),
            [0, 1, 1]
        );
        let root = file.root_group().unwrap();
        assert_eq!(root.attribute("box_size").unwrap().read_scalar::<f64>().unwrap(), 32.0);
        assert_eq!(root.attribute("notes").unwrap().read_strings().unwrap(), ["one", "another"]);
    }

    #[test]
    fn what_a_format_has_no_place_for() {
        let members = [("offsets", Values::Integers(vec![0]))];
        let error = |table: TableWriter<'_>, format| table.write(vec![], format).unwrap_err().to_string();
        assert!(
            error(TableWriter::new(&[]).members(&members), TableFormat::Csv)
                .starts_with("CSV cannot store member lists")
        );
        let columns = [0, 1].map(|n| Column::new("x", Values::Numbers(vec![0.0; n])));
        assert!(error(TableWriter::new(&columns), TableFormat::Hdf5).contains("column x has 1 values"));
        let columns = [Column::new("a/b", Values::Numbers(vec![]))];
        assert!(error(TableWriter::new(&columns), TableFormat::Hdf5).contains("\"a/b\""));
        let message = TableFormat::from_path("halos").unwrap_err().to_string();
        assert_eq!(message, format!("halos: unknown extension; use {ENDINGS}"));
    }
}
