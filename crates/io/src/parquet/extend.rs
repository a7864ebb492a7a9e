//! Parquet tables with further columns, and Parquet tables of text cells.
//!
//! In: a Parquet table, or [`Cells`] of any table. Out: a Parquet table. The columns of a Parquet table are copied as
//! they are stored, with their compression. Of its metadata, the descriptions of all columns by Arrow and astropy are
//! left out, because they would lack the further columns. Cost: one pass.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use ropewalk::{Error, Result};

use crate::cells::{CellKind, Cells};
use crate::parquet::arrow;
use crate::parquet::reopening_file::ReopeningFile;
use crate::parquet::scan::refuse;
use crate::text::{lacks_value, number_in};

/// The number of rows per row group.
const GROUP: usize = 1 << 20;
/// The key of astropy's description of all columns.
const ASTROPY: &str = "table_meta_yaml";

fn failed(error: ParquetError) -> Error {
    Error::write(match error {
        ParquetError::External(error) => io::Error::other(error),
        error => io::Error::other(error),
    })
}

/// Writes a table of these columns.
pub(crate) fn write_cells(out: impl Write + Send, columns: &[&Cells]) -> Result<()> {
    let rows = columns.first().map_or(0, |cells| cells.len());
    let write = || -> ParquetResult<()> {
        let fields = columns.iter().copied().map(field).collect::<ParquetResult<Vec<_>>>()?;
        let mut file = writer(out, fields, vec![])?;
        for first in (0..rows).step_by(GROUP) {
            let mut group = file.next_row_group()?;
            let last = (first + GROUP).min(rows);
            columns.iter().try_for_each(|cells| write_column(&mut group, cells, first, last))?;
            group.close()?;
        }
        file.close().map(|_| ())
    };
    write().map_err(failed)
}

/// The file of a Parquet table.
pub(crate) struct ParquetFile {
    file: ReopeningFile,
    metadata: ParquetMetaData,
}

impl ParquetFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let len = std::fs::metadata(path).map_err(|error| Error::io(path, "cannot be opened", error))?.len();
        let file = || ReopeningFile { path: path.to_path_buf(), len };
        let reader = SerializedFileReader::new(file()).map_err(refuse(path))?;
        Ok(Self { file: file(), metadata: reader.metadata().clone() })
    }

    /// Returns the names of the outermost fields.
    pub(crate) fn names(&self) -> Vec<String> {
        self.fields().iter().map(|field| field.name().to_string()).collect()
    }

    /// Returns `true` if astropy has described the columns, as by units. A copy has no such descriptions.
    pub(crate) fn has_descriptions(&self) -> bool {
        let entries = self.metadata.file_metadata().key_value_metadata();
        entries.is_some_and(|entries| entries.iter().any(|entry| entry.key == ASTROPY))
    }

    pub(crate) fn rows(&self) -> usize {
        self.metadata.row_groups().iter().map(|group| group.num_rows() as usize).sum()
    }

    fn fields(&self) -> &[TypePtr] {
        self.metadata.file_metadata().schema_descr().root_schema().get_fields()
    }

    /// Writes the table with further columns.
    pub(crate) fn write_with(&self, out: impl Write + Send, more: &[Cells]) -> Result<()> {
        let write = || -> ParquetResult<()> {
            let mut fields = self.fields().to_vec();
            fields.extend(more.iter().map(field).collect::<ParquetResult<Vec<_>>>()?);
            let entries = self.metadata.file_metadata().key_value_metadata().cloned().unwrap_or_default();
            let is_kept = |entry: &KeyValue| entry.key != arrow::KEY && entry.key != ASTROPY;
            let mut file = writer(out, fields, entries.into_iter().filter(is_kept).collect())?;
            let mut first = 0;
            for from in self.metadata.row_groups() {
                let mut group = file.next_row_group()?;
                for column in from.columns() {
                    let copied = ColumnCloseResult {
                        bytes_written: column.compressed_size() as u64,
                        rows_written: from.num_rows() as u64,
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: None,
                        offset_index: None,
                    };
                    group.append_column(&self.file, copied)?;
                }
                let last = first + from.num_rows() as usize;
                more.iter().try_for_each(|cells| write_column(&mut group, cells, first, last))?;
                first = last;
                group.close()?;
            }
            file.close().map(|_| ())
        };
        write().map_err(failed)
    }
}

fn writer<W: Write + Send>(
    out: W,
    fields: Vec<TypePtr>,
    entries: Vec<KeyValue>,
) -> ParquetResult<SerializedFileWriter<W>> {
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by(format!("ropewalk {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        // The copied columns have no page index.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata((!entries.is_empty()).then_some(entries))
        .build();
    SerializedFileWriter::new(out, schema, Arc::new(properties))
}

/// Returns the field of a column, whose values may be missing.
fn field(cells: &Cells) -> ParquetResult<TypePtr> {
    let (physical, logical) = match cells.kind {
        CellKind::Signed => (Physical::INT64, None),
        CellKind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        CellKind::Number => (Physical::DOUBLE, None),
        CellKind::Boolean => (Physical::BOOLEAN, None),
        CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let field = Type::primitive_type_builder(&cells.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(logical).build()?))
}

/// Writes rows of a column as the next one of a row group.
fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &Cells,
    first: usize,
    last: usize,
) -> ParquetResult<()> {
    match cells.kind {
        CellKind::Signed => write_values::<W, Int64Type>(group, cells, first..last, |cell| cell.parse().ok()),
        CellKind::Unsigned => write_values::<W, Int64Type>(group, cells, first..last, |cell| {
            // The bits are the same; the type of the column determines their meaning.
            cell.parse::<u64>().ok().map(|value| value as i64)
        }),
        CellKind::Number => write_values::<W, DoubleType>(group, cells, first..last, number_in),
        CellKind::Boolean => write_values::<W, BoolType>(group, cells, first..last, |cell| {
            (!lacks_value(cell)).then(|| cell.eq_ignore_ascii_case("true"))
        }),
        CellKind::Text => write_values::<W, parquet::data_type::ByteArrayType>(group, cells, first..last, |cell| {
            (!cell.is_empty()).then(|| ByteArray::from(cell))
        }),
    }
}

fn write_values<W: Write + Send, D: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &Cells,
    rows: std::ops::Range<usize>,
    value: impl Fn(&str) -> Option<D::T>,
) -> ParquetResult<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let each: Vec<Option<D::T>> = rows.map(|row| value(cells.get(row))).collect();
    let levels: Vec<i16> = each.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<D::T> = each.into_iter().flatten().collect();
    column.typed::<D>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
