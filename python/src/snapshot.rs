//! Snapshots of simulations: the contents of a file, and the fields that are read.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use ropewalk::halo::UniverseOptions;
use ropewalk::units::{Frame, KnownUnits};
use ropewalk_io::{
    Contents, Format, Header, Masses, Points, ReadOptions, Role, Snapshot, SnapshotFormat, Table, TypeContents,
};

use crate::borrowed::{borrowed_array, borrowed_rows};
use crate::calls::{run, run_reporting};
use crate::errors::in_python;

/// Options of reading, and values that override those of the file.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ReadSettings {
    types: Vec<u8>,
    subsample: Option<f64>,
    columns: Vec<String>,
    open: bool,
    single_part: bool,
    redshift: Option<f64>,
    length_unit: Option<String>,
    mass_unit: Option<String>,
    velocity_unit: Option<String>,
}

impl ReadSettings {
    fn units(&self) -> ropewalk::Result<KnownUnits> {
        units(&self.length_unit, &self.mass_unit, &self.velocity_unit)
    }

    /// Returns options that read only points.
    fn options(&self) -> ropewalk::Result<ReadOptions> {
        let mut options = ReadOptions::default().types(self.types.iter().copied()).velocities(false).ids(false);
        options = options.masses(false).columns(self.columns.iter());
        (options.subsample, options.redshift) = (self.subsample, self.redshift);
        options.velocity_unit = self.units()?.velocity;
        (options.open, options.single_part) = (self.open, self.single_part);
        Ok(options)
    }
}

/// Parses the names of units.
pub fn units(
    length: &Option<String>,
    mass: &Option<String>,
    velocity: &Option<String>,
) -> ropewalk::Result<KnownUnits> {
    Ok(KnownUnits {
        length: length.as_deref().map(str::parse).transpose()?,
        mass: mass.as_deref().map(str::parse).transpose()?,
        velocity: velocity.as_deref().map(str::parse).transpose()?,
    })
}

/// The description of a file: a dictionary in Python.
#[derive(IntoPyObject)]
pub struct FileDescription {
    format: String,
    code: Option<String>,
    files: Vec<PathBuf>,
    types: Vec<TypeDescription>,
    box_size: Option<f64>,
    redshift: Option<f64>,
    cosmology: Background,
    units: UnitNames,
    header: Option<GadgetHeader>,
    /// Features of the file that readers may reject or misinterpret.
    notes: Vec<String>,
}

#[derive(IntoPyObject)]
struct TypeDescription {
    particle_type: Option<u8>,
    name: String,
    count: u64,
    mass: Option<f64>,
    fields: Vec<Field>,
}

#[derive(IntoPyObject)]
struct Field {
    name: String,
    number: String,
    width: u64,
    unit: String,
    role: Option<&'static str>,
}

#[derive(IntoPyObject)]
struct Background {
    omega_m: Option<f64>,
    omega_lambda: Option<f64>,
    h: Option<f64>,
}

impl From<ropewalk_io::Background> for Background {
    fn from(background: ropewalk_io::Background) -> Self {
        let ropewalk_io::Background { omega_m, omega_lambda, h } = background;
        Self { omega_m, omega_lambda, h }
    }
}

/// Units, each with its name in messages, its name in astropy, and its frame.
#[derive(IntoPyObject)]
pub struct UnitNames {
    length: Option<(String, String, &'static str)>,
    mass: Option<(String, String, &'static str)>,
    velocity: Option<(String, String, &'static str)>,
}

impl From<KnownUnits> for UnitNames {
    fn from(units: KnownUnits) -> Self {
        let frame = |frame| if frame == Frame::Comoving { "comoving" } else { "physical" };
        Self {
            length: units.length.map(|unit| (unit.name(), unit.astropy_name(), frame(unit.frame))),
            mass: units.mass.map(|unit| (unit.to_string(), unit.astropy_name(), "")),
            // Velocities are converted to peculiar ones by reading, whatever the file contains.
            velocity: units.velocity.map(|unit| {
                let name = ropewalk::units::VelocityUnit { is_internal: false, ..unit }.to_string();
                (name, unit.astropy_name(), "peculiar")
            }),
        }
    }
}

fn type_description(contents: TypeContents) -> TypeDescription {
    let field = |field: ropewalk_io::Field| {
        let role = match field.role {
            Role::Position => Some("positions"),
            Role::Velocity => Some("velocities"),
            Role::Id => Some("ids"),
            Role::Mass => Some("masses"),
            _ => None,
        };
        Field { name: field.name, number: field.number, width: field.width, unit: field.unit, role }
    };
    let TypeContents { particle_type, name, count, mass, fields, .. } = contents;
    TypeDescription { particle_type, name, count, mass, fields: fields.into_iter().map(field).collect() }
}

/// Returns the particle type with a name, or `None` if there is no such type.
#[pyfunction]
pub fn particle_type(name: &str) -> Option<u8> {
    ropewalk_io::particle_type(name)
}

/// Describes the contents of a file.
#[pyfunction]
pub fn inspect(py: Python<'_>, path: PathBuf, settings: ReadSettings) -> PyResult<FileDescription> {
    let (contents, units, header) = run(py, None, || {
        let contents = ropewalk_io::inspect(&path, &settings.options()?)?;
        let is_gadget = matches!(contents.format, Format::Gadget1 | Format::Gadget2);
        // The header of a compressed file cannot be read, and is omitted.
        let header = is_gadget.then(|| ropewalk_io::read_header(&path).ok()).flatten();
        Ok((contents, settings.units()?, header))
    })?;
    let Contents { format, code, files, types, box_size, redshift, background, notes, .. } = contents;
    Ok(FileDescription {
        format: format.to_string(),
        code,
        files,
        types: types.into_iter().map(type_description).collect(),
        box_size,
        redshift: settings.redshift.or(redshift),
        cosmology: background.into(),
        units: units.or(contents.units).into(),
        header: header.as_ref().map(GadgetHeader::from),
        notes: notes.iter().map(|note| in_python(note)).collect(),
    })
}

/// The particles that were read: positions and other requested fields.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct Particles {
    pub snapshot: Snapshot,
    /// The number of particles, valid also if positions were not requested.
    #[pyo3(get)]
    len: usize,
}

/// Reads positions, if `positions` is true, and those of `velocities`, `masses` and `ids` that `others` contains.
/// With `partial_ids`, types without ids are accepted. `report` is called with the bytes read and to be read.
#[pyfunction]
#[pyo3(signature = (path, settings, positions, others, n_jobs, report))]
pub fn read_particles(
    py: Python<'_>,
    path: PathBuf,
    settings: ReadSettings,
    positions: bool,
    others: Vec<String>,
    n_jobs: Option<isize>,
    report: Option<Py<PyAny>>,
) -> PyResult<Particles> {
    let has = |field: &str| others.iter().any(|other| other == field);
    run_reporting(py, n_jobs, report, |progress| {
        let options = settings.options()?.velocities(has("velocities")).ids(has("ids")).masses(has("masses"));
        let options = options.partial_ids(has("partial_ids"));
        let units = settings.units()?;
        let mut snapshot = ropewalk_io::read_with(&path, &options, progress)?;
        snapshot.units = units.or(snapshot.units);
        snapshot.redshift = settings.redshift.or(snapshot.redshift);
        let len = snapshot.points.len();
        if !positions {
            snapshot.points = Points::F32(Table::new(3, vec![])?);
        }
        Ok(Particles { snapshot, len })
    })
}

/// Returns the rows of a table as an array that shares its memory.
fn rows<'py>(
    slf: &Bound<'py, Particles>,
    of: impl for<'a> Fn(&'a Particles) -> Option<&'a Points>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let single = |particles: &'_ Particles| matches!(of(particles), Some(Points::F32(_)));
    let Some(dim) = of(slf.get()).map(Points::dim) else { return Ok(None) };
    Ok(Some(if single(slf.get()) {
        borrowed_rows(slf, dim, |particles| match of(particles) {
            Some(Points::F32(table)) => table.as_slice(),
            _ => &[],
        })?
        .into_any()
    } else {
        borrowed_rows(slf, dim, |particles| match of(particles) {
            Some(Points::F64(table)) => table.as_slice(),
            _ => &[],
        })?
        .into_any()
    }))
}

#[pymethods]
impl Particles {
    fn positions<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        rows(slf, |particles| Some(&particles.snapshot.points))
    }

    fn velocities<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        rows(slf, |particles| particles.snapshot.velocities.as_ref())
    }

    fn ids<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyArray1<u64>>>> {
        let has_ids = slf.get().snapshot.ids.is_some();
        has_ids
            .then(|| borrowed_array(slf, |particles| particles.snapshot.ids.as_deref().unwrap_or_default()))
            .transpose()
    }

    /// Returns the common mass of all particles, or an array with the mass of each, or `None`.
    fn masses<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &slf.get().snapshot.masses {
            Masses::Equal(mass) => Ok(Some(mass.into_pyobject(slf.py())?.into_any())),
            Masses::Each(_) => {
                let masses = borrowed_array(slf, |particles| match &particles.snapshot.masses {
                    Masses::Each(masses) => masses,
                    _ => &[],
                })?;
                Ok(Some(masses.into_any()))
            }
            _ => Ok(None),
        }
    }

    /// Returns the types of particles in storage order, as runs: the type and the length of each run.
    fn types<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>) {
        let types: Vec<u8> = self.snapshot.types.iter().map(|run| run.particle_type).collect();
        let counts: Vec<i64> = self.snapshot.types.iter().map(|run| run.count as i64).collect();
        (types.into_pyarray(py), counts.into_pyarray(py))
    }

    /// Returns the names of the columns of a table that hold the coordinates.
    fn columns(&self) -> Vec<String> {
        self.snapshot.columns.clone()
    }

    /// Returns units as named in the file or inferred from the mean matter density, and a description of their
    /// origin.
    fn units(&self) -> (UnitNames, String) {
        let universe = self.snapshot.universe(&UniverseOptions::default(), self.snapshot.box_size);
        (universe.known_units().into(), universe.describe_units())
    }

    /// Returns the assumptions that were made while reading.
    fn notes(&self) -> Vec<String> {
        self.snapshot.notes.iter().map(|note| in_python(note)).collect()
    }

    /// Writes the particles in the format of the file extension. Returns the reason if known units cannot be stored
    /// in the file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
        run(py, None, || {
            let format = SnapshotFormat::from_path(&path)?;
            ropewalk_io::write_snapshot(&path, &self.snapshot, format)?;
            Ok(format.lacks_units(&self.snapshot))
        })
    }
}

/// A Gadget header: a dictionary in Python.
#[derive(IntoPyObject)]
struct GadgetHeader {
    counts: [u64; 6],
    mass_table: [f64; 6],
    time: f64,
    redshift: f64,
    box_size: f64,
    omega_m: f64,
    omega_lambda: f64,
    h: f64,
    files: u32,
}

impl From<&Header> for GadgetHeader {
    fn from(header: &Header) -> Self {
        Self {
            counts: header.counts,
            mass_table: header.mass_table,
            time: header.time,
            redshift: header.redshift,
            box_size: header.box_size,
            omega_m: header.omega_m,
            omega_lambda: header.omega_lambda,
            h: header.hubble,
            files: header.files,
        }
    }
}
