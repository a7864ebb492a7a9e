//! Writing of tables as Parquet, which pyarrow, pandas and astropy read with units.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use ropewalk::units::KnownUnits;
use ropewalk::{Error, Result};
use ropewalk_table::columns::{Column, Meta, Values, ecsv_header, rows_of};

use crate::parquet::arrow::{self, Field, Kind};

/// The number of rows per row group.
const GROUP: usize = 1 << 20;

/// Writes columns as a Parquet table of `uint64`, `int64` or `float64`, compressed with Snappy.
///
/// If `units` are known, each column of a physical quantity has its unit and its description as metadata of its field
/// (`unit`, `description`); astropy finds both as well. Each entry of `meta` becomes an entry of the file's metadata.
/// A list of texts has one line per text.
///
/// # Errors
/// If `out` fails, columns differ in length, or two columns have the same name.
///
/// ```
/// use ropewalk_table::columns::{Column, Values};
/// use ropewalk_io::write_parquet;
/// use ropewalk::units::{Quantity, Units};
///
/// let radius = Column::new("radius", Values::Numbers(vec![0.5, 2.0])).quantity(Quantity::Length);
/// let mut bytes = vec![];
/// write_parquet(&mut bytes, &[radius], Some(&Units::GADGET), &[])?;
/// assert!(bytes.starts_with(b"PAR1"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn write_parquet(
    out: impl Write + Send,
    columns: &[Column],
    units: impl Into<KnownUnits>,
    meta: &[(&str, Meta)],
) -> Result<()> {
    let rows = rows_of(columns)?;
    for (i, column) in columns.iter().enumerate() {
        if columns[..i].iter().any(|other| other.name() == column.name()) {
            return Err(Error::write(io::Error::other(format!("two columns are named {}", column.name()))));
        }
    }
    write(out, columns, rows, units.into(), meta).map_err(|error| {
        Error::write(match error {
            ParquetError::External(error) => io::Error::other(error),
            error => io::Error::other(error),
        })
    })
}

fn write(
    out: impl Write + Send,
    columns: &[Column],
    rows: usize,
    units: KnownUnits,
    meta: &[(&str, Meta)],
) -> std::result::Result<(), ParquetError> {
    let fields = columns.iter().map(primitive).collect::<std::result::Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by(format!("ropewalk {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        // Values of measurements rarely repeat.
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(entries(columns, units, meta)))
        .build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    for first in (0..rows).step_by(GROUP) {
        let group = first..(first + GROUP).min(rows);
        let mut writer = file.next_row_group()?;
        for column in columns {
            let Some(mut chunk) = writer.next_column()? else { break };
            match column.values() {
                Values::Integers(values) => {
                    // The bits are the same; the type of the column determines their meaning.
                    let values: &[i64] = bytemuck::cast_slice(&values[group.clone()]);
                    chunk.typed::<Int64Type>().write_batch(values, None, None)?;
                }
                Values::Signed(values) => {
                    chunk.typed::<Int64Type>().write_batch(&values[group.clone()], None, None)?;
                }
                Values::Numbers(values) => {
                    chunk.typed::<DoubleType>().write_batch(&values[group.clone()], None, None)?;
                }
            }
            chunk.close()?;
        }
        writer.close()?;
    }
    file.close()?;
    Ok(())
}

fn primitive(column: &Column) -> std::result::Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.values() {
        Values::Integers(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Values::Signed(_) => (Physical::INT64, None),
        Values::Numbers(_) => (Physical::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(column.name(), physical).with_repetition(Repetition::REQUIRED);
    Ok(Arc::new(field.with_logical_type(logical).build()?))
}

/// Returns the metadata of the file: those of the caller, of astropy and of Arrow.
fn entries(columns: &[Column], units: KnownUnits, meta: &[(&str, Meta)]) -> Vec<KeyValue> {
    let text = |value: &Meta| match value {
        Meta::Text(text) => text.clone(),
        Meta::Number(number) | Meta::Measured(number, _) => number.to_string(),
        Meta::Lines(lines) => lines.join("\n"),
    };
    let field = |column: &Column| {
        let description = Some(column.describe(units)).filter(|text| !text.is_empty());
        [("unit", column.unit(units)), ("description", description)]
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    };
    let kind = |column: &Column| match column.values() {
        Values::Integers(_) => Kind::Unsigned64,
        Values::Signed(_) => Kind::Signed64,
        Values::Numbers(_) => Kind::Float64,
    };
    let fields: Vec<Field<'_>> = columns
        .iter()
        .map(|column| Field { name: column.name(), kind: kind(column), metadata: field(column) })
        .collect();
    let mut all: Vec<(String, String)> = meta.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    all.push(("table_meta_yaml".into(), ecsv_header(columns, units, meta)));
    // If there is an Arrow schema, Arrow libraries look for metadata there.
    let schema = arrow::encode(&fields, &all);
    all.push((arrow::KEY.into(), schema));
    all.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect()
}
