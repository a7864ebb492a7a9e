//! Reads Parquet tables: columns by name, as of text.

use std::path::Path;

use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::io::columns::{Number, Target};
use crate::io::contents::{Contents, Field, Role, TypeContents};
use crate::io::csv_columns::Columns;
use crate::io::fill::{Rows, fill, fill_whole};
use crate::io::parquet::opened::Opened;
use crate::io::parquet::{arrow, arrow_schema, pages};
use crate::io::reading::Reading;
use crate::io::source::{Word, room};
use crate::io::type_column::TypeColumn;
use crate::io::{Error, Format, Masses, Points, ReadOptions, Result, Snapshot, Table, ecsv};
use crate::units::{KnownUnits, VelocityUnit};

/// Values that are unpacked at a time.
const BATCH: usize = 1 << 14;
/// Rows that a byte of a file may stand for.
const MOST_ROWS: u64 = 256;

/// A table whose metadata has been read.
struct Scan<'a> {
    path: &'a Path,
    file: SerializedFileReader<Opened>,
    columns: Columns,
    /// Of all columns of the file; none for what is no number.
    numbers: Vec<Option<Number>>,
    header: ecsv::Header,
}

fn refuse(path: &Path) -> impl Fn(ParquetError) -> Error {
    move |error| Error::file(path, format!("is a Parquet table that cannot be read: {error}"))
}

/// What the values of a column are, one a row.
fn number(column: &ColumnDescriptor) -> Option<Number> {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return None;
    }
    let unsigned = matches!(
        column.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    let is_whole = matches!(
        column.converted_type(),
        ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64
    ) && matches!(column.logical_type_ref(), None | Some(LogicalType::Integer(_)));
    match column.physical_type() {
        Physical::FLOAT => Some(Number::F32),
        Physical::DOUBLE => Some(Number::F64),
        Physical::INT32 if unsigned => Some(Number::U32),
        Physical::INT64 if unsigned => Some(Number::U64),
        // No dates, times or decimals.
        Physical::INT32 if is_whole => Some(Number::I32),
        Physical::INT64 if is_whole => Some(Number::I64),
        _ => None,
    }
}

impl<'a> Scan<'a> {
    fn new(path: &'a Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let file = SerializedFileReader::new(Opened { path: path.to_path_buf(), len }).map_err(refuse(path))?;
        let metadata = file.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
        let numbers: Vec<Option<Number>> = schema.columns().iter().map(|column| number(column)).collect();
        let columns = choose(names, &numbers, reading).map_err(|message| Error::file(path, message))?;
        let value = |key: &str| {
            let entries = metadata.file_metadata().key_value_metadata()?;
            entries.iter().find(|entry| entry.key == key)?.value.as_deref()
        };
        // What astropy leaves, or Arrow; and entries of the file's own.
        let known =
            value("table_meta_yaml").and_then(ecsv::values).or_else(|| arrow_schema::decode(value(arrow::KEY)?));
        let mut known = known.unwrap_or_default();
        for entry in metadata.file_metadata().key_value_metadata().into_iter().flatten() {
            // Long ones are no numbers.
            if let Some(value) = entry.value.as_ref().filter(|value| value.len() < 64) {
                known.push((vec!["meta".into(), entry.key.clone()], value.clone()));
            }
        }
        let header = match reading.is_of_fields {
            true => ecsv::Header::default(),
            false => ecsv::Header::of(path, &known, &columns.called())?,
        };
        let rows = metadata
            .row_groups()
            .iter()
            .try_fold(0u64, |sum, group| sum.checked_add(group.num_rows().try_into().ok()?));
        if rows.is_none_or(|rows| rows > len.saturating_mul(MOST_ROWS)) {
            return Err(Error::file(path, format!("promises more rows than its {len} bytes can hold")));
        }
        Ok(Self { path, columns, numbers, header, file })
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    fn rows(&self) -> u64 {
        self.metadata().row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }

    fn name(&self, column: usize) -> String {
        let schema = self.metadata().file_metadata().schema_descr();
        schema
            .columns()
            .get(column)
            .map_or_else(String::new, |column| column.path().string().escape_debug().to_string())
    }

    /// Columns of a row group whose pages can be what they promise.
    fn check(&self, group: usize, columns: &[usize], reading: &Reading<'_>) -> Result<()> {
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
                | Compression::LZ4
                | Compression::LZ4_RAW => {}
                other => {
                    let other = other.to_string();
                    let code = other.split('(').next().unwrap_or_default();
                    let message =
                        format!("column {name} is compressed by {code}; Snappy, gzip, LZ4 and none can be read");
                    return Err(source.error(message));
                }
            }
            let first = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let (Ok(start), Ok(length)) = (u64::try_from(first), u64::try_from(chunk.compressed_size())) else {
                return Err(source.error(format!("column {name} is said to begin at byte {first}")));
            };
            pages::check(&mut source, start, length, &name)?;
        }
        Ok(())
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
            self.check(group, columns, reading)?;
            pieces.push(Box::new(Group { scan: self, group, columns, factor }));
        }
        Ok(pieces)
    }

    fn points(&self, columns: &[usize], factor: f64, reading: &Reading<'_>) -> Result<Points> {
        let dim = columns.len();
        Ok(if columns.iter().all(|&column| self.numbers.get(column) == Some(&Some(Number::F32))) {
            Points::F32(Table::of(dim, self.gather(columns, factor, reading)?))
        } else {
            Points::F64(Table::of(dim, self.gather(columns, factor, reading)?))
        })
    }

    /// The sum of a column that has been read.
    fn sum(&self, column: usize) -> Result<f64> {
        let mut total = 0.0;
        for group in 0..self.metadata().num_row_groups() {
            let piece = Group { scan: self, group, columns: &[column], factor: 1.0 };
            let mut values = vec![0.0; Rows::<f64>::len(&piece) as usize];
            piece.read(0, &mut values)?;
            total += values.iter().sum::<f64>();
        }
        Ok(total)
    }

    /// The types of the rows, if there is a column of types.
    fn types(&self, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
        let Some(column) = self.columns.kind else { return Ok(None) };
        let mut each: Vec<u8> = room(self.path, self.rows())?;
        for group in 0..self.metadata().num_row_groups() {
            self.check(group, &[column], reading)?;
            let piece = Group { scan: self, group, columns: &[column], factor: 1.0 };
            let start = each.len();
            each.resize(start + Rows::<u8>::len(&piece) as usize, 0);
            piece.read(0, &mut each[start..])?;
        }
        TypeColumn::of(self.path, "column type", each, reading.options)
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

/// Which columns are what, by the names of those that hold numbers; chosen ones must.
fn choose(
    names: Vec<String>,
    numbers: &[Option<Number>],
    reading: &Reading<'_>,
) -> std::result::Result<Columns, String> {
    let chosen = &reading.options.columns[..];
    let named = |names: Vec<String>, chosen: &[String]| match (reading.is_of_fields, names.len()) {
        (true, width) => Columns::fields(names, width, chosen),
        (false, _) => Columns::named(names, chosen),
    };
    let is_number = |column: usize| numbers.get(column).is_some_and(Option::is_some);
    if !chosen.is_empty() {
        let mut columns = named(names.clone(), chosen)?;
        columns.kind = columns.kind.filter(|&column| is_number(column));
        let mut used = columns.coordinates.iter().chain(&columns.velocities).chain(&columns.id).chain(&columns.mass);
        return match used.find(|&&column| !is_number(column)) {
            Some(&column) => Err(format!("column {} holds no numbers", names[column].escape_debug())),
            None => Ok(columns),
        };
    }
    // An index of pandas is no coordinate.
    let wanted: Vec<usize> = (0..names.len()).filter(|&i| is_number(i) && !names[i].starts_with("__")).collect();
    let mut columns = named(wanted.iter().map(|&i| names[i].clone()).collect(), &[])?;
    let back = |column: &mut usize| *column = wanted[*column];
    columns.names = names;
    columns
        .coordinates
        .iter_mut()
        .chain(&mut columns.velocities)
        .chain(&mut columns.id)
        .chain(&mut columns.mass)
        .chain(&mut columns.kind)
        .for_each(back);
    Ok(columns)
}

/// Columns of a row group.
struct Group<'a> {
    scan: &'a Scan<'a>,
    group: usize,
    columns: &'a [usize],
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
        let Scan { path, file, numbers, .. } = self.scan;
        let group = file.get_row_group(self.group).map_err(refuse(path))?;
        for (place, &column) in self.columns.iter().enumerate() {
            let reader = group.get_column_reader(column).map_err(refuse(path))?;
            let whole = matches!(numbers.get(column), Some(Some(Number::U32 | Number::U64)));
            match reader {
                ColumnReader::FloatColumnReader(reader) => self.read_column(reader, place, out, |value: f32| value),
                ColumnReader::DoubleColumnReader(reader) => self.read_column(reader, place, out, |value: f64| value),
                ColumnReader::Int32ColumnReader(reader) if whole => {
                    self.read_column(reader, place, out, |value: i32| value as u32)
                }
                ColumnReader::Int64ColumnReader(reader) if whole => {
                    self.read_column(reader, place, out, |value: i64| value as u64)
                }
                ColumnReader::Int32ColumnReader(reader) => self.read_column(reader, place, out, |value: i32| value),
                ColumnReader::Int64ColumnReader(reader) => self.read_column(reader, place, out, |value: i64| value),
                _ => Err(Error::file(*path, format!("column {} holds no numbers", self.scan.name(column)))),
            }?;
        }
        Ok(())
    }
}

impl Group<'_> {
    fn read_column<D: DataType, W: Word, T: Target>(
        &self,
        mut reader: ColumnReaderImpl<D>,
        place: usize,
        out: &mut [T],
        word: impl Fn(D::T) -> W,
    ) -> Result<()> {
        let path = self.scan.path;
        let name = || self.columns.get(place).map_or_else(String::new, |&column| self.scan.name(column));
        let width = self.columns.len();
        let mut slots = out.chunks_exact_mut(width);
        let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        let mut row = 0u64;
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
                let at = levels.iter().position(|&level| level == 0).unwrap_or(0) as u64 + row + 1;
                return Err(Error::file(path, format!("column {} has no value in row {at}", name())));
            }
            for (value, slot) in values.drain(..).zip(slots.by_ref()) {
                row += 1;
                let word = word(value);
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
pub(in crate::io) fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let field = |(column, number): (usize, &Option<Number>)| {
        Field::new(scan.name(column), number.map_or("other", Number::name), 1, scan.role(column))
    };
    let fields: Vec<Field> = scan.numbers.iter().enumerate().map(field).collect();
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
        notes: [scan.columns.notes(), scan.header.notes.clone()].concat(),
    })
}

/// The points of the table.
pub(in crate::io) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let ecsv::Header { units, redshift, box_size, background, particle_mass, ref notes } = scan.header;
    let options = ReadOptions { redshift: reading.options.redshift.or(redshift), ..reading.options.clone() };
    let unit = options.velocity_unit.or(units.velocity);
    let factor = unit.map(|unit| options.velocity_factor(unit, options.redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(path, error))?.unwrap_or(1.0);
    reading.choose(scan.types(reading)?);
    let columns = &scan.columns;
    let has_velocities = options.velocities && !columns.velocities.is_empty();
    let (mut masses, mut matter) = (Masses::Unknown, None);
    if let Some(mass) = columns.mass.filter(|_| options.masses) {
        // Whether all are the same, none of the parts can tell alone.
        let all: Vec<f64> = fill_whole(reading, path, 1, &scan.pieces(&[mass], 1.0 / reading.keep.fraction, reading)?)?;
        let total = if reading.is_whole() { all.iter().sum() } else { scan.sum(mass)? };
        matter = Some(total).filter(|&matter: &f64| matter > 0.0);
        masses = Masses::Each(all);
    }
    let id = columns.id.filter(|_| options.ids);
    let mut snapshot = Snapshot {
        types: reading.types().map(|types| types.runs(reading)).unwrap_or_default(),
        velocities: has_velocities.then(|| scan.points(&columns.velocities, factor, reading)).transpose()?,
        ids: id.map(|id| scan.gather(&[id], 1.0, reading)).transpose()?,
        masses,
        matter,
        units: KnownUnits { velocity: unit.map(|unit| VelocityUnit { is_internal: false, ..unit }), ..units },
        redshift,
        box_size,
        background,
        format: Format::Parquet,
        columns: columns.called(),
        notes: [columns.notes(), notes.clone()].concat(),
        ..Snapshot::new(scan.points(&columns.coordinates, 1.0, reading)?)
    }
    .with_equal_masses(particle_mass, reading.keep.fraction, scan.rows());
    if let Masses::Each(all) = snapshot.masses {
        snapshot.masses = Masses::Each(reading.own(all));
    }
    Ok(snapshot)
}
