//! Reading of Parquet tables: columns by name, as in text tables.

use std::path::Path;

use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};

use crate::box_sides::side_of_chosen;
use crate::contents::{Contents, Field, TypeContents};
use crate::number_types::Target;
use crate::parquet::group::Group;
use crate::parquet::kind::Kind;
use crate::parquet::scan::Scan;
use crate::read_columns::{RowSource, fill, fill_whole};
use crate::reading::Reading;
use crate::source::room;
use crate::table_columns::own_coordinates;
use crate::type_column::TypeColumn;
use crate::{Format, Masses, Points, ReadOptions, Snapshot, Table, ecsv};

impl Scan<'_> {
    /// Returns columns of a row group, multiplied by `factor`.
    fn group<'b>(
        &'b self,
        group: usize,
        columns: &'b [usize],
        factor: f64,
        reading: &Reading<'_>,
    ) -> Result<Group<'b>> {
        let pages = self.check(group, columns, reading)?;
        Ok(Group { scan: self, group, columns, pages, factor, nulls_are_nan: false })
    }

    /// Returns the rows of these columns, multiplied by `factor`.
    fn gather<T: Target>(&self, columns: &[usize], factor: f64, reading: &Reading<'_>) -> Result<Vec<T>> {
        fill(reading, self.path, columns.len(), &self.pieces(columns, factor, reading)?)
    }

    fn pieces<'b, T: Target>(
        &'b self,
        columns: &'b [usize],
        factor: f64,
        reading: &Reading<'_>,
    ) -> Result<Vec<Box<dyn RowSource<T> + 'b>>> {
        let mut pieces: Vec<Box<dyn RowSource<T> + '_>> = vec![];
        // Only coordinates may be missing.
        let nulls_are_nan = reading.options.skip_missing && columns == self.columns.coordinates;
        for group in 0..self.metadata().num_row_groups() {
            pieces.push(Box::new(Group { nulls_are_nan, ..self.group(group, columns, factor, reading)? }));
        }
        Ok(pieces)
    }

    fn points(&self, columns: &[usize], factor: f64, reading: &Reading<'_>) -> Result<Points> {
        let dim = columns.len();
        Ok(if columns.iter().all(|&column| self.kinds.get(column).is_some_and(|kind| kind.is_narrow_float())) {
            Points::F32(Table::from_valid(dim, self.gather(columns, factor, reading)?))
        } else {
            Points::F64(Table::from_valid(dim, self.gather(columns, factor, reading)?))
        })
    }

    /// Returns the sum of a column that has been read.
    fn sum(&self, column: usize, reading: &Reading<'_>) -> Result<f64> {
        let (mut total, column) = (0.0, [column]);
        for group in 0..self.metadata().num_row_groups() {
            let piece = self.group(group, &column, 1.0, reading)?;
            let mut values = vec![0.0; RowSource::<f64>::len(&piece) as usize];
            piece.read(0, &mut values)?;
            total += values.iter().sum::<f64>();
        }
        Ok(total)
    }

    /// Returns the types of the rows, if there is a column of types.
    fn types(&self, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
        let Some(column) = self.columns.type_column.map(|column| [column]) else { return Ok(None) };
        let mut each: Vec<u8> = room(self.path, self.rows())?;
        for group in 0..self.metadata().num_row_groups() {
            let piece = self.group(group, &column, 1.0, reading)?;
            let start = each.len();
            each.resize(start + RowSource::<u8>::len(&piece) as usize, 0);
            piece.read(0, &mut each[start..])?;
        }
        reading.type_column(self.path, "column type", each)
    }
}

/// Describes the table.
pub(super) fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let field =
        |(column, kind): (usize, &Kind)| Field::new(scan.name(column), kind.name(), 1, scan.columns.role(column));
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

/// Reads the points of the table.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let ecsv::Header { units, redshift, box_size, background, particle_mass, .. } = scan.header;
    let options = ReadOptions { redshift: reading.options.redshift.or(redshift), ..reading.options.clone() };
    let unit = options.velocity_unit.or(units.velocity);
    let factor = unit.map(|unit| options.velocity_factor(unit, options.redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(path, error))?.unwrap_or(1.0);
    reading.set_types(scan.types(reading)?);
    let (columns, mut notes) = (&scan.columns, scan.notes.clone());
    let box_size = match options.columns.is_empty() {
        true => box_size,
        false => side_of_chosen(box_size, &own_coordinates(&columns.names), &columns.called(), &mut notes),
    };
    let has_velocities = options.velocities && !columns.velocities.is_empty();
    let (mut masses, mut matter) = (Masses::Unknown, None);
    if let Some(mass) = columns.mass.filter(|_| options.masses) {
        // Every part reads all masses, since no part alone can determine whether all masses are equal.
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
        coordinate_unit: scan.header.coordinate_unit.clone(),
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
        snapshot.masses = Masses::Each(reading.share_of(all));
    }
    Ok(snapshot)
}
