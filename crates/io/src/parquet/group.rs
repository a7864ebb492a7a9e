//! The values of columns in a row group of a Parquet table.
//!
//! In: columns whose pages have been checked. Out: rows of values, or an error that names the row and the column.

use std::fmt::Display;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};

use ropewalk::{Error, Result};

use crate::number_types::{Half, Number, Numeric, Target};
use crate::parquet::kind::{Kind, decimal, unscaled};
use crate::parquet::scan::{Scan, refuse};
use crate::read_columns::RowSource;

/// The number of values that are decoded at a time.
const BATCH: usize = 1 << 14;

/// A callback that receives a batch of values, the row of the first, and which rows have a value.
type TakeBatch<'t, T> = dyn FnMut(u64, &mut Vec<T>, &[bool]) -> Result<()> + 't;

/// Columns of a row group.
pub(super) struct Group<'a> {
    pub scan: &'a Scan<'a>,
    pub group: usize,
    pub columns: &'a [usize],
    /// The maximum size of a page in bytes, for each of the columns.
    pub pages: Vec<u64>,
    pub factor: f64,
    /// If `true`, values that are null are NaN; otherwise they are an error.
    pub nulls_are_nan: bool,
}

impl<T: Target> RowSource<T> for Group<'_> {
    fn len(&self) -> u64 {
        self.scan.metadata().row_groups().get(self.group).map_or(0, |group| group.num_rows() as u64)
    }

    /// Pages can be read only sequentially from the first one.
    fn band(&self) -> u64 {
        RowSource::<T>::len(self)
    }

    fn read(&self, _: u64, out: &mut [T]) -> Result<()> {
        let path = self.scan.path;
        for (place, (&column, &most)) in self.columns.iter().zip(&self.pages).enumerate() {
            let Some(&kind) = self.scan.kinds.get(column) else { continue };
            let is_unsigned = matches!(kind, Kind::Number(Number::U32 | Number::U64));
            match self.scan.reader(self.group, column, most)? {
                reader if matches!(kind, Kind::Decimal { .. }) => self.read_decimals(reader, place, kind, out),
                ColumnReader::FloatColumnReader(reader) => {
                    self.read_column(reader, place, out, |value: f32| Some(value))
                }
                ColumnReader::DoubleColumnReader(reader) => {
                    self.read_column(reader, place, out, |value: f64| Some(value))
                }
                ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
                    self.read_column(reader, place, out, |value: i32| Some(value as u32))
                }
                ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
                    self.read_column(reader, place, out, |value: i64| Some(value as u64))
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    self.read_column(reader, place, out, |value: i32| Some(value))
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    self.read_column(reader, place, out, |value: i64| Some(value))
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) if kind == Kind::Number(Number::F16) => self
                    .read_column(reader, place, out, |value: FixedLenByteArray| {
                        Some(Half(u16::from_le_bytes(*value.data().first_chunk()?)))
                    }),
                _ => Err(Error::file(path, format!("column {} holds no numbers", self.scan.name(column)))),
            }?;
        }
        Ok(())
    }
}

impl Group<'_> {
    /// Reads decimals. Those without a fraction are integers.
    fn read_decimals<T: Target>(&self, reader: ColumnReader, place: usize, kind: Kind, out: &mut [T]) -> Result<()> {
        match kind {
            Kind::Decimal { scale } if scale > 0 => {
                self.read_unscaled(reader, place, out, |value| Some(decimal(value, scale)))
            }
            Kind::Decimal { scale } => {
                let factor = 10i128.checked_pow(scale.unsigned_abs());
                self.read_unscaled(reader, place, out, |value| value.checked_mul(factor?))
            }
            _ => Ok(()),
        }
    }

    fn read_unscaled<W: Numeric, T: Target>(
        &self,
        reader: ColumnReader,
        place: usize,
        out: &mut [T],
        word: impl Fn(i128) -> Option<W>,
    ) -> Result<()> {
        match reader {
            ColumnReader::Int32ColumnReader(reader) => {
                self.read_column(reader, place, out, |value: i32| word(value.into()))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                self.read_column(reader, place, out, |value: i64| word(value.into()))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.read_column(reader, place, out, |value: ByteArray| word(unscaled(value.data())?))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                self.read_column(reader, place, out, |value: FixedLenByteArray| word(unscaled(value.data())?))
            }
            _ => Err(Error::file(self.scan.path, "has decimals that are not whole numbers")),
        }
    }

    /// Reads values and converts them to numbers with `word`.
    fn read_column<D: DataType, W: Numeric, T: Target>(
        &self,
        reader: ColumnReaderImpl<D>,
        place: usize,
        out: &mut [T],
        word: impl Fn(D::T) -> Option<W>,
    ) -> Result<()> {
        let width = self.columns.len();
        let mut slots = out.chunks_exact_mut(width);
        self.read_batches(reader, place, slots.len(), &mut |first, values, is_there| {
            let mut found = values.drain(..);
            for (row, slot) in (first..first + is_there.len() as u64).zip(slots.by_ref()) {
                let is_null = is_there.get((row - first) as usize) == Some(&false);
                let value = if is_null { None } else { found.next() };
                let Some(value) = value else {
                    slot[place] = T::of(f64::NAN).unwrap_or_else(bytemuck::Zeroable::zeroed);
                    continue;
                };
                let Some(word) = word(value) else { return Err(self.refused(place, row, None)) };
                let Some(value) = T::of(word) else { return Err(self.refused(place, row, Some((&word, T::MUST)))) };
                slot[place] = value.times(self.factor);
            }
            Ok(())
        })
    }

    /// Reads `n` values in batches. `take` receives each batch, and the row of its first value.
    fn read_batches<D: DataType>(
        &self,
        mut reader: ColumnReaderImpl<D>,
        place: usize,
        n: usize,
        take: &mut TakeBatch<'_, D::T>,
    ) -> Result<()> {
        let path = self.scan.path;
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        let column = self.columns.get(place).and_then(|&column| self.scan.schema().columns().get(column));
        // The definition level of values that are not null.
        let complete = column.map_or(0, |column| column.max_def_level());
        let (mut row, mut is_there) = (0, Vec::with_capacity(BATCH));
        while row < n {
            values.clear();
            levels.clear();
            let most = (n - row).min(BATCH);
            let (rows, found, _) =
                reader.read_records(most, Some(&mut levels), None, &mut values).map_err(refuse(path))?;
            if rows == 0 {
                return Err(Error::file(
                    path,
                    format!("truncated: column {} lacks {} rows", self.name(place), n - row),
                ));
            }
            if found != rows && !self.nulls_are_nan {
                let at = levels.iter().position(|&level| level != complete).unwrap_or(0) + row + 1;
                return Err(Error::file(path, format!("column {} has no value in row {at}", self.name(place))));
            }
            // Columns without nulls have no levels.
            is_there.clear();
            is_there.extend((0..rows).map(|at| levels.get(at).is_none_or(|&level| level == complete)));
            take(row as u64, &mut values, &is_there)?;
            row += rows;
        }
        Ok(())
    }

    fn name(&self, place: usize) -> String {
        self.columns.get(place).map_or_else(String::new, |&column| self.scan.name(column))
    }

    /// Returns the error for a value that does not fit into 128 bits, or for a number that violates a requirement.
    #[cold]
    fn refused(&self, place: usize, row: u64, word: Option<(&dyn Display, &str)>) -> Error {
        let (name, row) = (self.name(place), row + 1);
        let message = match word {
            None => format!("column {name} holds a number of more than 128 bits in row {row}"),
            Some((word, must)) => format!("column {name} holds {word} in row {row}; it must be {must}"),
        };
        Error::file(self.scan.path, message)
    }
}
