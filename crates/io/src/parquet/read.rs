//! Reads Parquet tables: columns by name, as of text.

use std::path::Path;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};

use crate::contents::{Contents, Field, Role, TypeContents};
use crate::csv_columns::{Columns, own_coordinates};
use crate::fill::{Rows, fill, fill_whole};
use crate::number_types::{Half, Number, Numeric, Target};
use crate::parquet::kind::{Kind, decimal, unscaled};
use crate::parquet::opened::Opened;
use crate::parquet::pages;
use crate::parquet::said::Said;
use crate::parquet::unpack::{is_unpacked_here, packed_reader};
use crate::reading::Reading;
use crate::sides::side_of_chosen;
use crate::source::room;
use crate::type_column::TypeColumn;
use crate::typed_columns::{Typed, choose_typed};
use crate::{Format, Masses, Points, ReadOptions, Snapshot, Table, ecsv};

/// Values that are unpacked at a time.
const BATCH: usize = 1 << 14;
/// Rows that a byte of a file may stand for.
const MOST_ROWS: u64 = 256;

/// A table whose metadata has been read.
struct Scan<'a> {
    path: &'a Path,
    file: SerializedFileReader<Opened>,
    len: u64,
    columns: Columns,
    /// The kinds of all columns of the file.
    kinds: Vec<Kind>,
    header: ecsv::Header,
    /// Sentences about what is not used.
    notes: Vec<String>,
}

fn refuse(path: &Path) -> impl Fn(ParquetError) -> Error {
    move |error| Error::file(path, format!("is a Parquet table that cannot be read: {error}"))
}

/// The name of a column: of lists, that of the outermost field.
fn name_of(column: &ColumnDescriptor) -> String {
    let path = column.path();
    let outermost = path.parts().first().filter(|_| column.max_rep_level() > 0);
    outermost.map_or_else(|| path.string(), String::clone)
}

impl<'a> Scan<'a> {
    fn new(path: &'a Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let file = SerializedFileReader::new(Opened { path: path.to_path_buf(), len }).map_err(refuse(path))?;
        let metadata = file.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let names: Vec<String> = schema.columns().iter().map(|column| name_of(column)).collect();
        let said = Said::of(path, metadata.file_metadata())?;
        let kinds = schema.columns().iter().zip(&names).map(|(column, name)| said.kind(name, Kind::of(column)));
        let kinds: Vec<Kind> = kinds.collect();
        let typed: Vec<Typed> = names.into_iter().zip(&kinds).map(|(name, kind)| said.typed(name, *kind)).collect();
        let columns =
            choose_typed(&typed, &reading.options.columns, reading).map_err(|message| Error::file(path, message))?;
        let header = match reading.is_of_fields {
            true => ecsv::Header::default(),
            false => ecsv::Header::of(path, &said.values, &columns.called())?,
        };
        let rows = metadata
            .row_groups()
            .iter()
            .try_fold(0u64, |sum, group| sum.checked_add(group.num_rows().try_into().ok()?));
        if rows.is_none_or(|rows| rows > len.saturating_mul(MOST_ROWS)) {
            return Err(Error::file(path, format!("promises more rows than its {len} bytes can hold")));
        }
        let notes = [columns.notes(), header.notes.clone(), said.notes].concat();
        Ok(Self { path, columns, kinds, header, notes, file, len })
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    fn schema(&self) -> &SchemaDescriptor {
        self.metadata().file_metadata().schema_descr()
    }

    /// The reader of a column of a row group, whose pages unpack to at most `most` bytes each.
    fn reader(&self, group: usize, column: usize, most: u64) -> Result<ColumnReader> {
        let metadata = self.metadata().row_group(group);
        let reader = match is_unpacked_here(metadata.column(column).compression()) {
            true => packed_reader(Opened { path: self.path.to_path_buf(), len: self.len }, metadata, column, most),
            false => self.file.get_row_group(group).and_then(|group| group.get_column_reader(column)),
        };
        reader.map_err(refuse(self.path))
    }

    fn rows(&self) -> u64 {
        self.metadata().row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }

    fn name(&self, column: usize) -> String {
        let column = self.schema().columns().get(column);
        column.map_or_else(String::new, |column| name_of(column).escape_debug().to_string())
    }

    /// The most bytes of a page of each of these columns of a row group, whose pages can be what they promise.
    fn check(&self, group: usize, columns: &[usize], reading: &Reading<'_>) -> Result<Vec<u64>> {
        let mut sizes = vec![];
        let mut source = reading.open(self.path)?;
        let Some(group) = self.metadata().row_groups().get(group) else {
            return Err(source.error("has no such row group"));
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
                        "column {name} is compressed by {code}; Snappy, gzip, Zstandard, Brotli, LZ4 and none can be read"
                    );
                    return Err(source.error(message));
                }
            }
            let first = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let (Ok(start), Ok(length)) = (u64::try_from(first), u64::try_from(chunk.compressed_size())) else {
                return Err(source.error(format!("column {name} is said to begin at byte {first}")));
            };
            let ratio = pages::most_ratio(chunk.compression());
            sizes.push(pages::check(&mut source, start, length, ratio, &name)?);
        }
        Ok(sizes)
    }

    /// Columns of a row group, times `factor`.
    fn group<'b>(
        &'b self,
        group: usize,
        columns: &'b [usize],
        factor: f64,
        reading: &Reading<'_>,
    ) -> Result<Group<'b>> {
        let pages = self.check(group, columns, reading)?;
        Ok(Group { scan: self, group, columns, pages, factor })
    }

    /// Rows of these columns together, times `factor`.
    fn gather<T: Target>(&self, columns: &[usize], factor: f64, reading: &Reading<'_>) -> Result<Vec<T>> {
        fill(reading, self.path, columns.len(), &self.pieces(columns, factor, reading)?)
    }

    fn pieces<'b, T: Target>(
        &'b self,
        columns: &'b [usize],
        factor: f64,
        reading: &Reading<'_>,
    ) -> Result<Vec<Box<dyn Rows<T> + 'b>>> {
        let mut pieces: Vec<Box<dyn Rows<T> + '_>> = vec![];
        for group in 0..self.metadata().num_row_groups() {
            pieces.push(Box::new(self.group(group, columns, factor, reading)?));
        }
        Ok(pieces)
    }

    fn points(&self, columns: &[usize], factor: f64, reading: &Reading<'_>) -> Result<Points> {
        let dim = columns.len();
        Ok(if columns.iter().all(|&column| self.kinds.get(column).is_some_and(|kind| kind.is_narrow_float())) {
            Points::F32(Table::of(dim, self.gather(columns, factor, reading)?))
        } else {
            Points::F64(Table::of(dim, self.gather(columns, factor, reading)?))
        })
    }

    /// The sum of a column that has been read.
    fn sum(&self, column: usize, reading: &Reading<'_>) -> Result<f64> {
        let (mut total, column) = (0.0, [column]);
        for group in 0..self.metadata().num_row_groups() {
            let piece = self.group(group, &column, 1.0, reading)?;
            let mut values = vec![0.0; Rows::<f64>::len(&piece) as usize];
            piece.read(0, &mut values)?;
            total += values.iter().sum::<f64>();
        }
        Ok(total)
    }

    /// The types of the rows, if there is a column of types.
    fn types(&self, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
        let Some(column) = self.columns.kind.map(|column| [column]) else { return Ok(None) };
        let mut each: Vec<u8> = room(self.path, self.rows())?;
        for group in 0..self.metadata().num_row_groups() {
            let piece = self.group(group, &column, 1.0, reading)?;
            let start = each.len();
            each.resize(start + Rows::<u8>::len(&piece) as usize, 0);
            piece.read(0, &mut each[start..])?;
        }
        reading.type_column(self.path, "column type", each)
    }

    fn role(&self, column: usize) -> Role {
        match column {
            _ if self.columns.coordinates.contains(&column) => Role::Position,
            _ if self.columns.velocities.contains(&column) => Role::Velocity,
            _ if self.columns.id == Some(column) => Role::Id,
            _ if self.columns.mass == Some(column) => Role::Mass,
            _ if self.columns.kind == Some(column) => Role::Type,
            _ => Role::Other,
        }
    }
}

/// Columns of a row group.
struct Group<'a> {
    scan: &'a Scan<'a>,
    group: usize,
    columns: &'a [usize],
    /// The most bytes of a page of each of the columns.
    pages: Vec<u64>,
    factor: f64,
}

impl<T: Target> Rows<T> for Group<'_> {
    fn len(&self) -> u64 {
        self.scan.metadata().row_groups().get(self.group).map_or(0, |group| group.num_rows() as u64)
    }

    /// Pages are read from the first on.
    fn band(&self) -> u64 {
        Rows::<T>::len(self)
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
    /// Decimals, of which those without a fraction are whole numbers.
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
            _ => Err(Error::file(self.scan.path, "has decimals that are no whole numbers")),
        }
    }

    fn read_column<D: DataType, W: Numeric, T: Target>(
        &self,
        mut reader: ColumnReaderImpl<D>,
        place: usize,
        out: &mut [T],
        word: impl Fn(D::T) -> Option<W>,
    ) -> Result<()> {
        let path = self.scan.path;
        let name = || self.columns.get(place).map_or_else(String::new, |&column| self.scan.name(column));
        let width = self.columns.len();
        let mut slots = out.chunks_exact_mut(width);
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        let mut row = 0u64;
        let column = self.columns.get(place).and_then(|&column| self.scan.schema().columns().get(column));
        // Of values that are there.
        let complete = column.map_or(0, |column| column.max_def_level());
        while slots.len() > 0 {
            values.clear();
            levels.clear();
            let most = slots.len().min(BATCH);
            let (rows, found, _) =
                reader.read_records(most, Some(&mut levels), None, &mut values).map_err(refuse(path))?;
            if rows == 0 {
                let left = slots.len();
                return Err(Error::file(path, format!("truncated: column {} lacks {left} rows", name())));
            }
            if found != rows {
                let at = levels.iter().position(|&level| level != complete).unwrap_or(0) as u64 + row + 1;
                return Err(Error::file(path, format!("column {} has no value in row {at}", name())));
            }
            for (value, slot) in values.drain(..).zip(slots.by_ref()) {
                row += 1;
                let Some(word) = word(value) else {
                    let message = format!("column {} holds a number of more than 128 bits in row {row}", name());
                    return Err(Error::file(path, message));
                };
                let Some(value) = T::of(word) else {
                    let message = format!("column {} holds {word} in row {row}; it must be {}", name(), T::MUST);
                    return Err(Error::file(path, message));
                };
                slot[place] = value.times(self.factor);
            }
        }
        Ok(())
    }
}

/// What the table says about itself.
pub(super) fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let field = |(column, kind): (usize, &Kind)| Field::new(scan.name(column), kind.name(), 1, scan.role(column));
    let fields: Vec<Field> = scan.kinds.iter().enumerate().map(field).collect();
    let types = scan.types(reading)?;
    let counts = types.as_ref().map_or(&[][..], TypeColumn::counts);
    Ok(Contents {
        format: Format::Parquet,
        code: scan.metadata().file_metadata().created_by().map(str::to_string),
        files: vec![path.to_path_buf()],
        types: TypeContents::of_table(scan.rows(), counts, &fields),
        box_size: scan.header.box_size,
        redshift: scan.header.redshift,
        background: scan.header.background,
        units: scan.header.units,
        notes: scan.notes,
    })
}

/// The points of the table.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let ecsv::Header { units, redshift, box_size, background, particle_mass, .. } = scan.header;
    let options = ReadOptions { redshift: reading.options.redshift.or(redshift), ..reading.options.clone() };
    let unit = options.velocity_unit.or(units.velocity);
    let factor = unit.map(|unit| options.velocity_factor(unit, options.redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(path, error))?.unwrap_or(1.0);
    reading.choose(scan.types(reading)?);
    let (columns, mut notes) = (&scan.columns, scan.notes.clone());
    let box_size = match options.columns.is_empty() {
        true => box_size,
        false => side_of_chosen(box_size, &own_coordinates(&columns.names), &columns.called(), &mut notes),
    };
    let has_velocities = options.velocities && !columns.velocities.is_empty();
    let (mut masses, mut matter) = (Masses::Unknown, None);
    if let Some(mass) = columns.mass.filter(|_| options.masses) {
        // Whether all are the same, none of the parts can tell alone.
        let all: Vec<f64> = fill_whole(reading, path, 1, &scan.pieces(&[mass], 1.0 / reading.keep.fraction, reading)?)?;
        let total = if reading.is_whole() { all.iter().sum() } else { scan.sum(mass, reading)? };
        matter = Some(total).filter(|&matter: &f64| matter > 0.0);
        masses = Masses::Each(all);
    }
    let id = columns.id.filter(|_| options.ids);
    let mut snapshot = Snapshot {
        types: reading.type_runs(),
        velocities: has_velocities.then(|| scan.points(&columns.velocities, factor, reading)).transpose()?,
        ids: id.map(|id| scan.gather(&[id], 1.0, reading)).transpose()?,
        masses,
        matter,
        units: KnownUnits { velocity: unit.map(|unit| VelocityUnit { is_internal: false, ..unit }), ..units },
        redshift,
        box_size,
        background,
        notes,
        format: Format::Parquet,
        columns: columns.called(),
        ..Snapshot::new(scan.points(&columns.coordinates, 1.0, reading)?)
    }
    .with_equal_masses(particle_mass, reading.keep.fraction, scan.rows());
    if let Masses::Each(all) = snapshot.masses {
        snapshot.masses = Masses::Each(reading.own(all));
    }
    Ok(snapshot)
}
