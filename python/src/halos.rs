//! Halo finding: a catalogue, and the halo of each particle.

use std::collections::HashMap;
use std::path::PathBuf;

use bytemuck::cast_slice;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use ropewalk::internals::memory::copy_of;
use ropewalk::units::{KnownUnits, Quantity, UnitSystem};
use ropewalk::{Csr, Error, ErrorKind};
use ropewalk_io::{AtomicFile, Masses, Snapshot, TableFormat, TableWriter};
use ropewalk_pipeline::{Attached, FoundHalos, Largest, Pipeline, profile_columns};
use ropewalk_report::Catalogue;
use ropewalk_table::columns::{Column, Meta, Values, meta_in_units};

use crate::arrays::Rows;
use crate::borrowed::borrowed_array;
use crate::calls::run;
use crate::errors::{advised, exception};
use crate::halo_figures::HaloFigures;
use crate::halo_options::HaloArguments;
use crate::indices::narrow;
use crate::snapshot::Particles;

/// Columns with their units, and metadata of the table.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct HaloTable {
    columns: Vec<Column>,
    units: KnownUnits,
    meta: Vec<(&'static str, Meta)>,
}

impl HaloTable {
    /// Returns the columns as the table of a report.
    pub fn catalogue(&self) -> ropewalk::Result<Catalogue<'_>> {
        Catalogue::new(&self.columns, self.units)
    }
}

/// An entry of the metadata: a text, a number, or several texts.
#[derive(IntoPyObject)]
enum Entry {
    Text(String),
    Number(f64),
    Lines(Vec<String>),
}

/// A column in Python.
#[derive(IntoPyObject)]
struct ColumnAbout<'py> {
    name: String,
    values: Bound<'py, PyAny>,
    unit: Option<String>,
    description: String,
}

/// Returns `true` if a column holds ids, which may use all 64 bits. Counts and labels are below 2^63 and therefore
/// become signed, so that their differences are correct.
fn is_id(name: &str) -> bool {
    name.ends_with("_tag") || name.ends_with("_id")
}

/// Returns the values of a column as an array, with `of` selecting the type.
fn values<'py, T: numpy::Element>(
    slf: &Bound<'py, HaloTable>,
    place: usize,
    of: impl for<'a> Fn(&'a Values) -> &'a [T],
) -> PyResult<Bound<'py, PyAny>> {
    let values = borrowed_array(slf, |table| table.columns.get(place).map_or(&[][..], |column| of(column.values())))?;
    Ok(values.into_any())
}

#[pymethods]
impl HaloTable {
    fn columns<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<ColumnAbout<'py>>> {
        let Self { columns, units, .. } = slf.get();
        let units = *units;
        let description = |(place, column): (usize, &Column)| {
            let values = match column.values() {
                Values::Integers(_) if is_id(column.name()) => values::<u64>(slf, place, |values| match values {
                    Values::Integers(values) => values,
                    _ => &[],
                }),
                Values::Integers(_) => values::<i64>(slf, place, |values| match values {
                    Values::Integers(values) => cast_slice(values),
                    _ => &[],
                }),
                Values::Signed(_) => values::<i64>(slf, place, |values| match values {
                    Values::Signed(values) => values,
                    _ => &[],
                }),
                _ => values::<f64>(slf, place, |values| match values {
                    Values::Numbers(values) => values,
                    _ => &[],
                }),
            };
            Ok(ColumnAbout {
                name: column.name().into(),
                values: values?,
                unit: column.unit(units),
                description: column.describe(units),
            })
        };
        columns.iter().enumerate().map(description).collect()
    }

    /// Returns the entries of the metadata in order.
    fn meta(&self) -> Vec<(&'static str, Entry)> {
        let entry = |(name, value): &(&'static str, Meta)| {
            let value = match value {
                Meta::Text(text) => Entry::Text(text.clone()),
                Meta::Number(number) | Meta::Measured(number, _) => Entry::Number(*number),
                Meta::Lines(lines) => Entry::Lines(lines.clone()),
            };
            (*name, value)
        };
        self.meta.iter().map(entry).collect()
    }

    /// Writes the table in the format of the file extension.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        run(py, None, || {
            let format = TableFormat::from_path(&path)?;
            let mut file = AtomicFile::create(&path)?;
            TableWriter::new(&self.columns).units(self.units).meta(&self.meta).write(&mut file, format)?;
            file.commit()
        })
    }
}

/// The particles of one type that could be attached to halos.
struct AttachedType {
    particle_type: u8,
    labels: Vec<i32>,
    ids: Option<Vec<u64>>,
}

/// A type, with the labels and ids of its particles.
type AttachedArrays<'py> = (u8, Bound<'py, PyArray1<i32>>, Option<Bound<'py, PyArray1<u64>>>);

/// The halos that were found.
#[pyclass(frozen, module = "ropewalk._native")]
pub struct Halos {
    /// The row of the catalogue of each linked particle, -1 for none.
    labels: Vec<i32>,
    /// The members of each halo.
    members: Csr<u32>,
    /// The index in `members` of each row of the catalogue.
    order: Vec<u32>,
    density: Option<Vec<f64>>,
    /// The attached types, with the row of each particle, and the ids if the particles have any.
    attached: Vec<AttachedType>,
    #[pyo3(get)]
    notes: Vec<String>,
    /// The linking length, like the volume in the units of the catalogue.
    #[pyo3(get)]
    linking_length: f64,
    #[pyo3(get)]
    volume: f64,
    #[pyo3(get)]
    n_wrapped: u64,
    /// The data of figures.
    pub figures: HaloFigures,
}

#[pymethods]
impl Halos {
    fn labels<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        borrowed_array(slf, |found| &found.labels[..])
    }

    fn density<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let has_density = slf.get().density.is_some();
        has_density.then(|| borrowed_array(slf, |found| found.density.as_deref().unwrap_or_default())).transpose()
    }

    /// Returns the attached types, each with the labels and ids of its particles in file order.
    fn attached<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<AttachedArrays<'py>>> {
        let of = |place: usize| {
            let own = &slf.get().attached[place];
            let labels = borrowed_array(slf, move |found| &found.attached[place].labels[..])?;
            let has_ids = own.ids.is_some();
            let ids = has_ids
                .then(|| borrowed_array(slf, move |found| found.attached[place].ids.as_deref().unwrap_or_default()));
            Ok((own.particle_type, labels, ids.transpose()?))
        };
        (0..slf.get().attached.len()).map(of).collect()
    }

    /// Returns the members of a row in ascending order.
    fn members<'py>(slf: &Bound<'py, Self>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let n = slf.get().labels.len();
        if n > i32::MAX as usize {
            return Ok(narrow(slf.py(), slf.get().row(row).to_vec(), n));
        }
        Ok(borrowed_array(slf, move |found| cast_slice::<u32, i32>(found.row(row)))?.into_any())
    }

    /// Returns the offsets of rows, and the concatenated members of all rows.
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>)> {
        let (offsets, members) = run(py, None, || {
            let lists = || (0..self.order.len()).map(|row| self.row(row));
            let ends = lists().scan(0, |end, list| {
                *end += list.len() as i64;
                Some(*end)
            });
            let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
            Ok((offsets, lists().flatten().copied().collect::<Vec<u32>>()))
        })?;
        Ok((offsets.into_pyarray(py), narrow(py, members, self.labels.len())))
    }
}

impl Halos {
    /// Returns the row of each linked particle, -1 for none.
    pub fn rows_of_particles(&self) -> &[i32] {
        &self.labels
    }

    /// Returns the remarks on the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the indices of the particles of an attached type that joined each of the chosen rows. One pass over the
    /// type.
    pub fn attached_members(&self, particle_type: u8, rows: &[usize]) -> Vec<Vec<usize>> {
        let mut members: HashMap<usize, Vec<usize>> = rows.iter().map(|&row| (row, vec![])).collect();
        let attached = self.attached.iter().find(|attached| attached.particle_type == particle_type);
        for (i, &label) in attached.iter().flat_map(|attached| &attached.labels).enumerate() {
            if let Some(list) = usize::try_from(label).ok().and_then(|row| members.get_mut(&row)) {
                list.push(i);
            }
        }
        rows.iter().map(|row| members.get(row).cloned().unwrap_or_default()).collect()
    }

    /// Returns the members of a row; empty if there is no such row.
    pub fn row(&self, row: usize) -> &[u32] {
        self.order.get(row).map_or(&[], |&halo| self.members.of(halo as usize))
    }
}

/// The halos, their catalogue, and the profiles of the largest ones.
type Catalog = (Halos, HaloTable, Option<HaloTable>);

/// Converts a table to the requested units, or keeps its own.
fn in_units(
    pipeline: &Pipeline<'_>,
    system: Option<UnitSystem>,
    columns: &[Column],
    units: KnownUnits,
    meta: &[(&'static str, Meta)],
) -> ropewalk::Result<HaloTable> {
    let Some(system) = system else {
        return Ok(HaloTable { columns: columns.to_vec(), units: units.completed(), meta: meta.to_vec() });
    };
    let factors = pipeline.universe().factors(system)?;
    Ok(HaloTable {
        columns: columns.iter().map(|column| column.in_units(&factors)).collect(),
        units: (*factors.units()).into(),
        meta: meta_in_units(meta, &factors),
    })
}

/// Finds halos on the device that `arguments` selects.
fn find_groups<'a>(pipeline: &Pipeline<'a>, arguments: &HaloArguments) -> ropewalk::Result<FoundHalos<'a>> {
    #[cfg(feature = "cuda")]
    if let Some(number) = arguments.device {
        return pipeline.find_on(ropewalk::gpu::Device::cuda(number)?);
    }
    _ = arguments;
    pipeline.find()
}

/// The particles, those that may be attached to halos, and the name of the file.
struct Input<'a> {
    snapshot: &'a Snapshot,
    others: Option<&'a Snapshot>,
    name: Option<&'a str>,
}

fn find(input: &Input<'_>, arguments: &HaloArguments) -> ropewalk::Result<Catalog> {
    let Input { snapshot, others, name } = *input;
    let options = arguments.options()?;
    let system = arguments.system()?;
    let mut pipeline = Pipeline::new(snapshot, &options)?;
    // Adds the way to omit other particles to errors about particles that cannot be attached.
    let of_others = |error: Error| match error.kind() {
        ErrorKind::Memory | ErrorKind::Cancelled => error,
        kind => Error::new(kind, format!("{error}; use attach=() to omit other types")),
    };
    if let Some(others) = others {
        pipeline = pipeline.attaching(others).map_err(of_others)?;
    }
    let mut found = find_groups(&pipeline, arguments)?;
    pipeline.attach(&mut found).map_err(of_others)?;
    let measured = pipeline.measure(&found)?;
    let mut meta: Vec<_> = name.map(|name| ("snapshot", Meta::Text(name.into()))).into_iter().collect();
    meta.extend(pipeline.meta());
    let catalog = measured.catalog;
    let table = in_units(&pipeline, system, catalog.columns(), catalog.column_units(), &meta)?;
    let (mut profiles, mut drawn) = (None, vec![]);
    if options.profiles > 0 {
        let largest: Largest = pipeline.largest(&found, &catalog, options.profiles)?;
        let shells = pipeline.profiles(&found, &largest)?;
        let columns = profile_columns(pipeline.finder().column_prefix(), &largest.names, &shells);
        profiles = Some(in_units(&pipeline, system, &columns, pipeline.universe().known_units(), &meta)?);
        drawn = largest
            .names
            .into_iter()
            .zip(shells)
            .zip(largest.r200c)
            .map(|((name, shells), r)| (name, shells, r))
            .collect();
    }
    let length = match system {
        Some(system) => pipeline.universe().factors(system)?.of(Quantity::Length),
        None => 1.0,
    };
    let rows = pipeline.halo_rows(Some(&catalog))?;
    let attached = |attached: &Attached<'_>| -> ropewalk::Result<Vec<AttachedType>> {
        let of = |particle_type: u8| {
            let others = attached.snapshot();
            let labels = rows.of(&others.of_type(particle_type, &attached.labels))?;
            let ids = others.ids.as_ref().filter(|_| !others.types_without_ids.contains(&particle_type));
            Ok(AttachedType { particle_type, labels, ids: ids.map(|ids| others.of_type(particle_type, ids)) })
        };
        attached.types().into_iter().map(of).collect()
    };
    let halos = Halos {
        labels: rows.of(found.halos.labels().as_slice())?,
        order: catalog.order().to_vec(),
        density: found.density().filter(|_| arguments.density).map(<[f64]>::to_vec),
        notes: measured.notes.iter().map(ToString::to_string).collect(),
        linking_length: length * pipeline.scales().linking_length,
        volume: length.powi(3) * pipeline.scales().volume,
        n_wrapped: pipeline.outside(),
        figures: HaloFigures::new(&pipeline, catalog, drawn, system),
        attached: found.attached.as_ref().map(attached).transpose()?.unwrap_or_default(),
        members: found.halos.into_members(),
    };
    Ok((halos, table, profiles))
}

/// Converts an error, with a hint at the argument that the caller may give.
fn refused(error: Error) -> PyErr {
    let give = match (error.kind(), error.parameter()) {
        (ErrorKind::Missing, Some("linking_length")) => "eps",
        (ErrorKind::Missing, Some("omega_m")) => "omega_m",
        (ErrorKind::Missing, Some("units")) => "length_unit and mass_unit",
        (ErrorKind::Missing, Some("length_unit")) => "length_unit",
        (ErrorKind::Missing, Some("mass_unit")) => "mass_unit",
        (ErrorKind::Missing, Some("h")) => "h",
        (ErrorKind::Missing, Some("velocity_unit")) => "velocity_unit",
        (ErrorKind::Missing, Some("velocities")) => "velocities",
        (ErrorKind::Missing, Some("masses")) => "masses",
        (ErrorKind::Missing, Some("redshift")) => "redshift",
        _ => return exception(error),
    };
    pyo3::exceptions::PyValueError::new_err(advised(&error.to_string(), give))
}

fn halos(py: Python<'_>, input: &Input<'_>, arguments: &HaloArguments) -> PyResult<Catalog> {
    #[cfg(not(feature = "cuda"))]
    if let Some(number) = arguments.device {
        let message = format!(
            "device cuda:{number}: this build of ropewalk has no CUDA support; only the device cpu is available"
        );
        return Err(pyo3::exceptions::PyRuntimeError::new_err(message));
    }
    run(py, arguments.n_jobs, || Ok(find(input, arguments)))?.map_err(refused)
}

/// The mass of each particle, or one mass for all.
#[derive(FromPyObject)]
pub enum Mass<'py> {
    // First, since an array of one mass would also be accepted as a number.
    Each(PyReadonlyArray1<'py, f64>),
    Equal(f64),
}

impl Mass<'_> {
    /// Adds the masses to a snapshot. The mass of all matter is known if the file has no other particle types.
    fn add_to(self, py: Python<'_>, snapshot: &mut Snapshot) -> PyResult<()> {
        let n = snapshot.points.len() as f64;
        let (masses, matter) = match self {
            Self::Equal(mass) => (Masses::Equal(mass), mass * n),
            Self::Each(array) => {
                let values = array.as_slice()?;
                let masses = run(py, Some(1), || Ok(copy_of(values)))?;
                let matter = masses.iter().sum();
                (Masses::Each(masses), matter)
            }
        };
        snapshot.masses = masses;
        snapshot.matter = (snapshot.file_types.len() < 2).then_some(matter);
        Ok(())
    }
}

/// Finds the halos of particles in arrays.
#[pyfunction]
#[pyo3(signature = (positions, velocities, masses, ids, arguments))]
pub fn halos_of_arrays(
    py: Python<'_>,
    positions: Rows,
    velocities: Option<Rows>,
    masses: Option<Mass<'_>>,
    ids: Option<PyReadonlyArray1<'_, u64>>,
    arguments: HaloArguments,
) -> PyResult<Catalog> {
    let ids = ids.as_ref().map(|ids| ids.as_slice()).transpose()?;
    let own_ids = run(py, Some(1), || Ok(ids.map(copy_of)))?;
    let mut snapshot = Snapshot::new(positions.0);
    snapshot.velocities = velocities.map(|rows| rows.0);
    if let Some(masses) = masses {
        masses.add_to(py, &mut snapshot)?;
    }
    snapshot.ids = own_ids;
    halos(py, &Input { snapshot: &snapshot, others: None, name: None }, &arguments)
}

/// Finds the halos of particles that were read. `masses` are those of a file without masses, `others` are attached to
/// the particles, and `name` is the name of the file.
#[pyfunction]
#[pyo3(signature = (particles, masses, others, name, arguments))]
pub fn halos_of_particles(
    py: Python<'_>,
    particles: &Bound<'_, Particles>,
    masses: Option<Mass<'_>>,
    others: Option<&Bound<'_, Particles>>,
    name: &str,
    arguments: HaloArguments,
) -> PyResult<Catalog> {
    let read = &particles.get().snapshot;
    let mut own = None;
    if let Some(masses) = masses {
        masses.add_to(py, own.insert(run(py, Some(1), || Ok(read.clone()))?))?;
    }
    let snapshot = own.as_ref().unwrap_or(read);
    let others = others.map(|others| &others.get().snapshot);
    halos(py, &Input { snapshot, others, name: Some(name) }, &arguments)
}
