//! A Parquet table whose metadata has been read.
//!
//! In: the file, and the options of the reading. Out: its columns and their kinds, its metadata, and readers of its
//! columns.

use std::path::Path;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use ropewalk::{Error, Result};

use crate::ecsv;
use crate::parquet::decompress_pages::{is_unpacked_here, packed_reader};
use crate::parquet::kind::Kind;
use crate::parquet::metadata::ParquetMetadata;
use crate::parquet::pages;
use crate::parquet::reopening_file::ReopeningFile;
use crate::reading::Reading;
use crate::table_columns::Columns;
use crate::typed_columns::{TypedColumn, choose_typed};

/// The maximum number of rows per byte of a file.
const MAX_ROWS: u64 = 256;

/// A table whose metadata has been read.
pub(super) struct Scan<'a> {
    pub path: &'a Path,
    file: SerializedFileReader<ReopeningFile>,
    len: u64,
    pub columns: Columns,
    /// The kinds of all columns of the file.
    pub kinds: Vec<Kind>,
    pub header: ecsv::Header,
    /// Notes about content that is not used.
    pub notes: Vec<String>,
}

pub(super) fn refuse(path: &Path) -> impl Fn(ParquetError) -> Error {
    move |error| Error::file(path, format!("is a Parquet table that cannot be read: {error}"))
}

/// Returns the name of a column; for lists, the name of the outermost field.
fn name_of(column: &ColumnDescriptor) -> String {
    let path = column.path();
    let outermost = path.parts().first().filter(|_| column.max_rep_level() > 0);
    outermost.map_or_else(|| path.string(), String::clone)
}

impl<'a> Scan<'a> {
    pub(super) fn new(path: &'a Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let file = SerializedFileReader::new(ReopeningFile { path: path.to_path_buf(), len }).map_err(refuse(path))?;
        let metadata = file.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let names: Vec<String> = schema.columns().iter().map(|column| name_of(column)).collect();
        let said = ParquetMetadata::new(path, metadata.file_metadata())?;
        let kinds =
            schema.columns().iter().zip(&names).map(|(column, name)| said.kind(name, Kind::from_column(column)));
        let kinds: Vec<Kind> = kinds.collect();
        let typed: Vec<TypedColumn> =
            names.into_iter().zip(&kinds).map(|(name, kind)| said.typed(name, *kind)).collect();
        let columns =
            choose_typed(&typed, &reading.options.columns, reading).map_err(|message| Error::file(path, message))?;
        let header = match reading.reads_fields {
            true => ecsv::Header::default(),
            false => ecsv::Header::new(path, &said.values, &columns.called())?,
        };
        let rows = metadata
            .row_groups()
            .iter()
            .try_fold(0u64, |sum, group| sum.checked_add(group.num_rows().try_into().ok()?));
        if rows.is_none_or(|rows| rows > len.saturating_mul(MAX_ROWS)) {
            return Err(Error::file(path, format!("declares more rows than its {len} bytes can hold")));
        }
        let notes = [columns.notes(), header.notes.clone(), said.notes].concat();
        Ok(Self { path, columns, kinds, header, notes, file, len })
    }

    pub(super) fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    pub(super) fn schema(&self) -> &SchemaDescriptor {
        self.metadata().file_metadata().schema_descr()
    }

    /// Returns the reader of a column of a row group, whose pages decompress to at most `most` bytes each.
    pub(super) fn reader(&self, group: usize, column: usize, most: u64) -> Result<ColumnReader> {
        let metadata = self.metadata().row_group(group);
        let reader = match is_unpacked_here(metadata.column(column).compression()) {
            true => {
                packed_reader(ReopeningFile { path: self.path.to_path_buf(), len: self.len }, metadata, column, most)
            }
            false => self.file.get_row_group(group).and_then(|group| group.get_column_reader(column)),
        };
        reader.map_err(refuse(self.path))
    }

    pub(super) fn rows(&self) -> u64 {
        self.metadata().row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }

    pub(super) fn name(&self, column: usize) -> String {
        let column = self.schema().columns().get(column);
        column.map_or_else(String::new, |column| name_of(column).escape_debug().to_string())
    }

    /// Checks the pages of these columns of a row group. Returns the maximum decompressed size of a page of each
    /// column.
    pub(super) fn check(&self, group: usize, columns: &[usize], reading: &Reading<'_>) -> Result<Vec<u64>> {
        let mut sizes = vec![];
        let mut source = reading.open(self.path)?;
        let Some(group) = self.metadata().row_groups().get(group) else {
            return Err(source.error("has no row group with this index"));
        };
        for &column in columns {
            let name = self.name(column);
            let Some(chunk) = group.columns().get(column) else {
                return Err(source.error(format!("has a row group without column {name}")));
            };
            match chunk.compression() {
                Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::ZSTD(_)
                | Compression::BROTLI(_)
                | Compression::LZ4
                | Compression::LZ4_RAW => {}
                other => {
                    let other = other.to_string();
                    let code = other.split('(').next().unwrap_or_default();
                    let message = format!(
                        "column {name} is compressed by {code}; it must be uncompressed or compressed by Snappy, gzip, Zstandard, Brotli or LZ4"
                    );
                    return Err(source.error(message));
                }
            }
            let first = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let (Ok(start), Ok(length)) = (u64::try_from(first), u64::try_from(chunk.compressed_size())) else {
                return Err(source.error(format!("column {name} begins at byte {first}, outside the file")));
            };
            let ratio = pages::most_ratio(chunk.compression());
            sizes.push(pages::check(&mut source, start, length, ratio, &name)?);
        }
        Ok(sizes)
    }
}
