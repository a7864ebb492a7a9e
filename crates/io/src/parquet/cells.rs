//! All columns of a Parquet table as text.
//!
//! In: a path. Out: [`Cells`] of all columns except lists, which are named. Dates and times are written as ISO 8601
//! does, apart from the blank between them. Cost: each column is decoded once.

use std::path::Path;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::record::Field;
use parquet::schema::types::ColumnDescPtr;

use ropewalk::{Error, Result};

use crate::ReadOptions;
use crate::cells::{CellKind, Cells};
use crate::number_types::Number;
use crate::parquet::kind::Kind;
use crate::parquet::scan::{Scan, refuse};
use crate::reading::Reading;

/// The number of values that are decoded at a time.
const BATCH: usize = 1 << 14;

/// Reads all columns of a table. Also returns the names of the columns that are left out.
pub(crate) fn read_cells(path: &Path) -> Result<(Vec<Cells>, Vec<String>)> {
    let options = ReadOptions::default();
    let reading = Reading::new(&options, None)?.of_fields();
    let scan = Scan::new(path, &reading)?;
    let (mut columns, mut left_out) = (vec![], vec![]);
    for (column, about) in scan.schema().columns().iter().enumerate() {
        let name = about.path().string();
        if about.max_rep_level() > 0 {
            left_out.push(name);
            continue;
        }
        let mut cells = Cells::new(name, kind(scan.kinds.get(column).copied()));
        for group in 0..scan.metadata().num_row_groups() {
            let pages = scan.check(group, &[column], &reading)?;
            let reader = scan.reader(group, column, pages.first().copied().unwrap_or(0))?;
            let rows = scan.metadata().row_group(group).num_rows() as usize;
            let mut batches = Batches { path, about, cells: &mut cells, rows };
            match reader {
                ColumnReader::BoolColumnReader(reader) => batches.read(reader, Field::convert_bool),
                ColumnReader::Int32ColumnReader(reader) => batches.read(reader, Field::convert_int32),
                ColumnReader::Int64ColumnReader(reader) => batches.read(reader, Field::convert_int64),
                ColumnReader::Int96ColumnReader(reader) => batches.read(reader, Field::convert_int96),
                ColumnReader::FloatColumnReader(reader) => batches.read(reader, Field::convert_float),
                ColumnReader::DoubleColumnReader(reader) => batches.read(reader, Field::convert_double),
                ColumnReader::ByteArrayColumnReader(reader) => {
                    batches.read(reader, |about, value| Field::convert_byte_array(about, value).unwrap_or(Field::Null))
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) => batches
                    .read(reader, |about, value| Field::convert_byte_array(about, value.into()).unwrap_or(Field::Null)),
            }?;
        }
        columns.push(cells);
    }
    Ok((columns, left_out))
}

/// Returns the kind of the values of a column.
fn kind(kind: Option<Kind>) -> CellKind {
    match kind {
        Some(Kind::Number(Number::U64)) => CellKind::Unsigned,
        Some(Kind::Number(Number::F16 | Number::F32 | Number::F64) | Kind::Decimal { .. }) => CellKind::Number,
        Some(Kind::Number(_)) => CellKind::Signed,
        Some(Kind::Other("true and false")) => CellKind::Boolean,
        _ => CellKind::Text,
    }
}

/// A column of a row group, and the cells that it is added to.
struct Batches<'a> {
    path: &'a Path,
    about: &'a ColumnDescPtr,
    cells: &'a mut Cells,
    rows: usize,
}

impl Batches<'_> {
    fn read<D: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<D>,
        field: impl Fn(&ColumnDescPtr, D::T) -> Field,
    ) -> Result<()> {
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        let complete = self.about.max_def_level();
        let mut row = 0;
        while row < self.rows {
            values.clear();
            levels.clear();
            let most = (self.rows - row).min(BATCH);
            let (rows, _, _) =
                reader.read_records(most, Some(&mut levels), None, &mut values).map_err(refuse(self.path))?;
            if rows == 0 {
                let message = format!("truncated: column {} lacks {} rows", self.cells.name, self.rows - row);
                return Err(Error::file(self.path, message));
            }
            let mut found = values.drain(..);
            for at in 0..rows {
                // Without levels, no value is missing.
                let is_there = levels.get(at).is_none_or(|&level| level == complete);
                let value = if is_there { found.next() } else { None };
                self.cells.push(&value.map_or_else(String::new, |value| text(field(self.about, value))));
            }
            row += rows;
        }
        Ok(())
    }
}

fn text(field: Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text,
        Field::Float(value) => format!("{value:?}"),
        Field::Double(value) => format!("{value:?}"),
        Field::Bytes(bytes) => bytes.data().iter().map(|byte| format!("{byte:02x}")).collect(),
        other => other.to_string(),
    }
}
