//! Tables in HDF5: datasets of one length, compounds, and arrays of points, as written by h5py, PyTables and pandas.
//!
//! - in: a file without the groups of a snapshot, and the chosen columns, by path (`group/x`, `table/x`, `points`) or
//!   by name
//! - out: points, with the quantities that the names of other columns identify, as in text tables; boxes, redshifts,
//!   cosmologies and units from attributes
//! - without a choice, the columns must be unambiguous: several groups of columns, or arrays of several widths, are
//!   an error
//! - cost: that of `fill`

mod choose;
mod list;
mod metadata;
mod quantities;
mod packed;
mod record;
mod scalar;

use std::path::Path;

use choose::{CellIndex, ChosenColumns, choose};
use list::{Column, Listing, listing};
use metadata::{Metadata, missing_values, unit};
use packed::{Packed, Source, Value};
use ropewalk::halo::MassSum;
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};

use crate::box_sides::{of_chosen, side_or_note};
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::hdf5::attributes::Attributes;
use crate::hdf5::dataset::Column as Stored;
use crate::hdf5::file::File;
use crate::hdf5::number::Number;
use crate::hdf5::shape::Shape;
use crate::read_columns::{RowSource, fill};
use crate::reading::Reading;
use crate::table_columns::Columns;
use crate::total_mass::TotalMass;
use crate::type_column::TypeColumn;
use crate::{Background, Format, Masses, Points, ReadOptions, Snapshot, Table};

/// A table whose columns are known.
struct Scan<'a> {
    file: &'a File,
    all: Listing,
    /// The numbers of a row of the table, and their roles.
    cells_read: Vec<CellIndex>,
    roles: Columns,
    /// The attributes of the datasets that are read.
    attributes: Vec<Attributes>,
}

/// The numbers that are read from one dataset.
struct OpenDataset {
    stored: Stored,
    /// The path of the dataset.
    path: String,
    names: Vec<String>,
    locations: Vec<record::NumberLocation>,
    missing: Vec<f64>,
}

impl OpenDataset {
    fn source(&self) -> Source<'_> {
        let Self { stored, names, locations, missing, .. } = self;
        Source { column: stored, names, locations, missing }
    }
}

impl<'a> Scan<'a> {
    fn new(file: &'a File, reading: &Reading<'_>) -> Result<Self> {
        let all = listing(file)?;
        let ChosenColumns { cells_read, roles } = choose(file, &all.columns, reading)?;
        let mut scan = Self { file, all, cells_read, roles, attributes: vec![] };
        let mut attributes: Vec<Attributes> = vec![];
        for &place in scan.roles.places() {
            let column = scan.column(place);
            let path = column.dataset_path();
            if attributes.iter().all(|own| own.owner() != path)
                && let Some(found) = file.dataset(&column.group, &column.dataset)?
            {
                attributes.push(file.dataset_attributes(&path, &found)?);
            }
        }
        scan.attributes = attributes;
        Ok(scan)
    }

    /// Returns the column that contains a number of a row.
    fn column(&self, place: usize) -> &Column {
        &self.all.columns[self.cells_read[place].column]
    }

    /// Returns the attributes of the dataset that contains a number of a row.
    fn attributes(&self, place: usize) -> Option<&Attributes> {
        let path = self.column(place).dataset_path();
        self.attributes.iter().find(|attributes| attributes.owner() == path)
    }

    fn rows(&self) -> u64 {
        self.roles.coordinates.first().map_or(0, |&place| self.column(place).rows)
    }

    fn number(&self, place: usize) -> Number {
        self.column(place).numbers.number
    }

    /// Returns the quantities of the table; none for fields.
    fn metadata(&self, reading: &Reading<'_>) -> Result<Metadata> {
        if reading.reads_fields {
            return Ok(Metadata::default());
        }
        let used: Vec<&Column> = self.roles.places().map(|&place| self.column(place)).collect();
        Metadata::new(self.file, &self.all, &used, &self.attributes)
    }

    /// Returns the sides of the box for the columns that are read, and adds notes on sides that are not used.
    fn sides(&self, reading: &Reading<'_>, sides: &[f64], notes: &mut Vec<String>) -> Result<Vec<f64>> {
        if reading.options.columns.is_empty() {
            return Ok(sides.to_vec());
        }
        let options = ReadOptions::default();
        let own = Scan::new(self.file, &Reading::new(&options, None)?).map(|own| own.coordinates());
        Ok(of_chosen(sides, &own.unwrap_or_default(), &self.coordinates(), notes))
    }

    fn coordinates(&self) -> Vec<CellIndex> {
        self.roles.coordinates.iter().map(|&place| self.cells_read[place]).collect()
    }

    /// Returns the units that the attributes of columns state.
    fn units(&self, notes: &mut Vec<String>) -> Result<KnownUnits> {
        let of = |places: &[usize]| -> Vec<(&str, &Attributes)> {
            let one = |&place: &usize| Some((self.roles.names.get(place)?.as_str(), self.attributes(place)?));
            places.iter().filter_map(one).collect()
        };
        let (file, roles) = (self.file, &self.roles);
        Ok(KnownUnits {
            length: unit(file, &of(&roles.coordinates), "length", notes)?,
            mass: unit(file, &of(roles.mass.as_slice()), "mass", notes)?,
            velocity: unit(file, &of(&roles.velocities), "velocity", notes)?,
        })
    }

    /// Opens the datasets that contain these numbers of a row.
    fn open(&self, places: &[usize]) -> Result<Vec<OpenDataset>> {
        let mut all: Vec<OpenDataset> = vec![];
        for &place in places {
            let column = self.column(place);
            let (path, spot) = (column.dataset_path(), column.numbers.spot(self.cells_read[place].number));
            if let Some(last) = all.last_mut().filter(|last| last.path == path) {
                last.names.push(column.path.clone());
                last.locations.push(spot);
                continue;
            }
            let found = self.file.dataset(&column.group, &column.dataset)?;
            let found = found.ok_or_else(|| self.file.error(format!("has no {path}")))?;
            let shape = Shape::of_bytes(&found, column.element);
            let shape = shape.map_err(|what| self.file.error(format!("{path} {what}")))?;
            let stored = Stored::with_shape(self.file, &path, &found, shape)?;
            let missing = missing_values(self.file, &stored.attributes)?;
            all.push(OpenDataset { stored, path, names: vec![column.path.clone()], locations: vec![spot], missing });
        }
        Ok(all)
    }

    /// Returns the rows of these numbers, with each value scaled by `scale` with `factor`.
    fn gather<T: Value>(
        &self,
        reading: &Reading<'_>,
        places: &[usize],
        scale: fn(T, f64) -> T,
        factor: f64,
    ) -> Result<Vec<T>> {
        let opened = self.open(places)?;
        let packed = Packed::new(reading, opened.iter().map(OpenDataset::source).collect(), scale, factor);
        let width = packed.width();
        let pieces: Vec<Box<dyn RowSource<T> + '_>> = vec![Box::new(packed)];
        fill(reading, &self.file.path, width, &pieces)
    }

    fn points(&self, reading: &Reading<'_>, places: &[usize], factor: f64) -> Result<Points> {
        let dim = places.len();
        Ok(if places.iter().all(|&place| self.number(place).is_single()) {
            let scale = |x: f32, factor: f64| (f64::from(x) * factor) as f32;
            Points::F32(Table::from_valid(dim, self.gather(reading, places, scale, factor)?))
        } else {
            Points::F64(Table::from_valid(dim, self.gather(reading, places, |x: f64, factor| x * factor, factor)?))
        })
    }

    /// Returns the types of all rows, if there is a column of types.
    fn types(&self, reading: &Reading<'_>) -> Result<Option<TypeColumn>> {
        let Some(place) = self.roles.type_column else { return Ok(None) };
        let opened = self.open(&[place])?;
        let packed = Packed::new(reading, opened.iter().map(OpenDataset::source).collect(), |kind: u8, _| kind, 1.0);
        let mut each = crate::source::room(&self.file.path, self.rows())?;
        each.resize(self.rows() as usize, 0);
        packed.read(0, &mut each)?;
        reading.type_column(&self.file.path, "column type", each)
    }

    /// Returns the role of a column.
    fn role(&self, column: usize) -> Role {
        let is = |places: &[usize]| places.iter().any(|&place| self.cells_read[place].column == column);
        let roles = &self.roles;
        match column {
            _ if is(&roles.coordinates) => Role::Position,
            _ if is(&roles.velocities) => Role::Velocity,
            _ if is(roles.id.as_slice()) => Role::Id,
            _ if is(roles.mass.as_slice()) => Role::Mass,
            _ if is(roles.type_column.as_slice()) => Role::Type,
            _ => Role::Other,
        }
    }
}

/// Reads the points of a table.
pub(super) fn read(file: &File, reading: &Reading<'_>) -> Result<Snapshot> {
    let (scan, options) = (Scan::new(file, reading)?, reading.options);
    let (roles, metadata) = (&scan.roles, scan.metadata(reading)?);
    let mut notes = [roles.notes(), metadata.notes].concat();
    let units = if reading.reads_fields { KnownUnits::default() } else { scan.units(&mut notes)? };
    let sides = scan.sides(reading, &metadata.sides, &mut notes)?;
    let box_size = options.side(&file.path, &sides, &mut notes)?;
    reading.set_types(scan.types(reading)?);
    let velocities = Some(&roles.velocities).filter(|places| options.velocities && !places.is_empty());
    let velocity = options.velocity_unit.or(units.velocity);
    let factor = velocity.map(|unit| options.velocity_factor(unit, metadata.redshift, None)).transpose();
    let factor = factor.map_err(|error| Error::file(&file.path, error))?.unwrap_or(1.0);
    let mass = roles.mass.filter(|_| options.masses);
    let each = 1.0 / reading.keep.fraction;
    let masses = mass.map(|mass| scan.gather(reading, &[mass], |x: f64, factor| x * factor, each)).transpose()?;
    let is_whole = reading.keep.is_all() && reading.types().is_none_or(TypeColumn::is_all);
    let matter = masses.as_ref().filter(|_| is_whole).and_then(|masses| {
        reading.matter(TotalMass { share: Some(MassSum::from_values(masses)), ..TotalMass::default() })
    });
    let id = roles.id.filter(|_| options.ids);
    Ok(Snapshot {
        types: reading.type_runs(),
        velocities: velocities.map(|places| scan.points(reading, places, factor)).transpose()?,
        ids: id.map(|id| scan.gather(reading, &[id], |id: u64, _| id, 1.0)).transpose()?,
        masses: masses.map_or(Masses::Unknown, Masses::Each),
        matter,
        units: KnownUnits { velocity: velocity.map(|unit| VelocityUnit { is_internal: false, ..unit }), ..units },
        redshift: metadata.redshift,
        box_size,
        background: metadata.background,
        format: Format::Hdf5Table,
        columns: roles.called(),
        notes,
        ..Snapshot::new(scan.points(reading, &roles.coordinates, 1.0)?)
    })
}

/// Describes a file without a header: the table that is read, or all groups of columns if the choice is ambiguous.
pub(super) fn inspect(path: &Path, file: &File, reading: &Reading<'_>) -> Result<Contents> {
    let field = |scan: Option<&Scan<'_>>, index: usize, column: &Column| {
        let numbers = column.numbers;
        let number = if column.unread.is_none() { numbers.number.name() } else { "other".into() };
        let role = scan.map_or(Role::Other, |scan| scan.role(index));
        Field::new(column.path.clone(), number, numbers.count.max(1), role)
    };
    let fields = |scan: Option<&Scan<'_>>, all: &[Column], container: Option<&str>| -> Vec<Field> {
        let own = all.iter().enumerate().filter(|(_, column)| container.is_none_or(|name| column.container == name));
        own.map(|(index, column)| field(scan, index, column)).collect()
    };
    let contents = |types, notes| Contents {
        format: Format::Hdf5Table,
        code: None,
        files: vec![path.to_path_buf()],
        types,
        box_size: None,
        redshift: None,
        background: Background::default(),
        units: KnownUnits::default(),
        notes,
    };
    match Scan::new(file, reading) {
        Ok(scan) => {
            let types = scan.types(reading)?;
            let counts = types.as_ref().map_or(&[][..], TypeColumn::counts);
            let all = fields(Some(&scan), &scan.all.columns, None);
            let metadata = scan.metadata(reading)?;
            let (box_size, no_cube) = side_or_note(&metadata.sides);
            let mut notes = [no_cube, scan.roles.notes(), metadata.notes].concat();
            let units = scan.units(&mut notes)?;
            // Packed numbers are an error here, as in reading.
            scan.attributes.iter().try_for_each(|attributes| missing_values(file, attributes).map(|_| ()))?;
            Ok(Contents {
                box_size,
                redshift: metadata.redshift,
                background: metadata.background,
                units,
                ..contents(TypeContents::of_table(scan.rows(), counts, &all), notes)
            })
        }
        Err(error) => {
            let all = listing(file)?.columns;
            if all.iter().all(|column| column.unread.is_some()) {
                return Err(error);
            }
            let mut containers: Vec<&str> = all.iter().map(|column| column.container.as_str()).collect();
            containers.sort_unstable();
            containers.dedup();
            let types = containers.into_iter().map(|name| TypeContents {
                particle_type: None,
                name: format!("/{name}"),
                count: all
                    .iter()
                    .filter(|column| column.container == name)
                    .map(|column| column.rows)
                    .max()
                    .unwrap_or(0),
                mass: None,
                fields: fields(None, &all, Some(name)),
            });
            Ok(contents(types.collect(), vec![error.to_string()]))
        }
    }
}
