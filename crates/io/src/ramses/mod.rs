//! Particles of RAMSES.
//!
//! - in: a folder `output_00080`, its info file, or one of its particle files. Families and a descriptor are optional
//! - out: a [`Snapshot`] of the particles of all processes, in the order of the files, and within a file in the order
//!   of the types that [`ProcessFile::types`] assigns
//! - cost: the markers and the data that determine the types are read first, then the requested columns
//! - source: Teyssier, RAMSES; records of Fortran
//!
//! Coordinates range from 0 to `boxlen`. Units are those of the info file, with lengths converted to comoving ones.
//! Velocities are stored as peculiar velocities. Gas is in cells, which are not read; sinks are not read either.

mod output;
mod part;
mod rows_of_type;

use std::path::{Path, PathBuf};

use output::Output;
use part::ProcessFile;
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};
use rows_of_type::{RowsOfType, Types};

use crate::columns::{Column, Joined, sum};
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::number_types::{Number, Target};
use crate::read_columns::{RowSource, fill};
use crate::reading::Reading;
use crate::split_files::named;
use crate::total_mass::TotalMass;
use crate::{Format, Masses, Points, Snapshot, Table};

const POSITION: [&str; 3] = ["position_x", "position_y", "position_z"];
const VELOCITY: [&str; 3] = ["velocity_x", "velocity_y", "velocity_z"];
/// The names of the types.
const NAMES: [(u8, &str); 5] = [(1, "dark"), (2, "debris"), (3, "tracer"), (4, "star"), (5, "cloud")];

/// The format of RAMSES outputs, which is detected from the names of files.
pub(crate) struct Ramses;

impl FileFormat for Ramses {
    fn recognises_prefix(&self, _: &[u8]) -> bool {
        false
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }

    fn is_of_simulations(&self) -> bool {
        true
    }

    fn recognises_path(&self, path: &Path) -> bool {
        output::find(path).is_some()
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        files(path)
    }
}

/// Returns the files of the output that `path` names or belongs to; empty if it is not an output.
fn files(path: &Path) -> Vec<PathBuf> {
    let Some((folder, number)) = output::find(path) else { return vec![] };
    let starts = [format!("info_{number}."), format!("header_{number}."), format!("part_{number}.")];
    named(&folder, |name| name == "part_file_descriptor.txt" || starts.iter().any(|start| name.starts_with(start)))
}

/// An output whose files have been scanned.
struct Scan {
    output: Output,
    parts: Vec<(ProcessFile, Types)>,
}

impl Scan {
    fn new(path: &Path, reading: &Reading<'_>) -> Result<Self> {
        let Some((folder, number)) = output::find(path) else {
            return Err(Error::file(path, "is not an output of RAMSES: it has no info file"));
        };
        let output = Output::read(folder, number)?;
        let names = output.columns();
        let mut parts: Vec<(ProcessFile, Types)> = vec![];
        for process in 1..=output.files {
            let part = ProcessFile::scan(&output, process, &names, reading)?;
            if let Some((first, _)) = parts.first() {
                let empty = first.particles == 0 || part.particles == 0;
                if !empty && !first.names().eq(part.names()) {
                    let message = format!("has other columns than {}", first.path.display());
                    return Err(Error::file(part.path, message));
                }
            }
            let types = part.types(reading)?;
            parts.push((part, types));
        }
        Ok(Self { output, parts })
    }

    fn counts(&self) -> Vec<(u8, u64)> {
        NAMES.iter().map(|&(t, _)| (t, self.parts.iter().map(|(_, types)| types.count(t)).sum())).collect()
    }

    /// Returns notes about data that is not read.
    fn notes(&self) -> Vec<String> {
        let nameless = self.parts.iter().map(|(part, _)| part.nameless()).max().unwrap_or(0);
        let note =
            (nameless > 0).then(|| format!("{nameless} columns of its particles have no names and are not read"));
        self.output.unread().into_iter().chain(note).collect()
    }

    /// Returns `true` if every file with particles has these columns.
    fn has(&self, names: &[&str]) -> bool {
        let mut owners = self.parts.iter().filter(|(part, _)| part.particles > 0);
        owners.all(|(part, _)| names.iter().all(|name| part.column(name).is_some()))
    }

    /// Returns the values of these columns for these types, multiplied by `factor`.
    fn gather<T: Target>(
        &self,
        path: &Path,
        reading: &Reading<'_>,
        types: &[u8],
        names: &[&str],
        factor: f64,
    ) -> Result<Vec<T>> {
        let mut pieces: Vec<Box<dyn RowSource<T> + '_>> = vec![];
        for (part, own) in self.parts.iter().filter(|(part, _)| part.particles > 0) {
            let columns: Option<Vec<Column<'_>>> = names.iter().map(|name| part.column(name)).collect();
            let Some(columns) = columns else {
                return Err(Error::file(&part.path, format!("has no columns {}", names.join(", "))));
            };
            for &particle_type in types.iter().filter(|&&t| own.count(t) > 0) {
                let all = Joined::new(reading, columns.clone(), factor);
                if own.count(particle_type) == part.particles {
                    pieces.push(Box::new(all));
                } else {
                    pieces.push(Box::new(RowsOfType { all, types: own, particle_type }));
                }
            }
        }
        fill(reading, path, names.len(), &pieces)
    }

    fn points(&self, path: &Path, reading: &Reading<'_>, types: &[u8], names: &[&str], factor: f64) -> Result<Points> {
        let dim = names.len();
        let columns = self.parts.iter().flat_map(|(part, _)| names.iter().filter_map(|name| part.column(name)));
        let mut owners = columns.filter(|column| column.rows > 0).peekable();
        Ok(if owners.peek().is_some() && owners.all(|column| column.number == Number::F32) {
            Points::F32(Table::from_valid(dim, self.gather(path, reading, types, names, factor)?))
        } else {
            Points::F64(Table::from_valid(dim, self.gather(path, reading, types, names, factor)?))
        })
    }
}

fn role(name: &str) -> Role {
    match name {
        _ if POSITION.contains(&name) => Role::Position,
        _ if VELOCITY.contains(&name) => Role::Velocity,
        "identity" => Role::Id,
        "mass" => Role::Mass,
        _ => Role::Other,
    }
}

/// Describes the output.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let scan = Scan::new(path, reading)?;
    let Scan { output, parts } = &scan;
    let owner = parts.iter().map(|(part, _)| part).find(|part| part.particles > 0);
    let field = |(name, number): (&str, Number)| Field::new(name, number.name(), 1, role(name));
    let fields: Vec<Field> = owner.into_iter().flat_map(|part| part.names().map(field)).collect();
    let types = NAMES.iter().map(|&(t, name)| TypeContents {
        particle_type: Some(t),
        name: name.into(),
        count: parts.iter().map(|(_, types)| types.count(t)).sum(),
        mass: None,
        fields: fields.clone(),
    });
    Ok(Contents {
        format: Format::Ramses,
        code: Some("RAMSES".into()),
        files: parts.iter().map(|(part, _)| part.path.clone()).collect::<Vec<PathBuf>>(),
        types: types.filter(|kind| kind.count > 0).collect(),
        box_size: Some(output.box_size),
        redshift: output.scale_factor.map(|a| 1.0 / a - 1.0),
        background: output.background,
        units: output.units,
        notes: scan.notes(),
    })
}

/// Reads the particles of the output.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let scan = Scan::new(path, reading)?;
    let (options, output) = (reading.options, &scan.output);
    let types = reading.wanted_types(path, &scan.counts())?;
    let redshift = output.scale_factor.map(|a| 1.0 / a - 1.0);
    let unit = options.velocity_unit.or(output.units.velocity).unwrap_or(VelocityUnit::KM_S);
    let factor =
        options.velocity_factor(unit, redshift, output.scale_factor).map_err(|error| Error::file(path, error))?;
    let dim = output.dimensions;
    let points = |names: &[&str], factor| scan.points(path, reading, &types, names, factor);
    let (mut masses, mut matter) = (Masses::Unknown, None);
    if options.masses && scan.has(&["mass"]) {
        masses = Masses::Each(scan.gather(path, reading, &types, &["mass"], 1.0 / reading.keep.fraction)?);
        if !output.has_gas() {
            let columns: Vec<Column<'_>> = scan.parts.iter().filter_map(|(part, _)| part.column("mass")).collect();
            let share = Some(sum(reading, &columns)?);
            matter = reading.matter(TotalMass { share, ..TotalMass::default() });
        }
    }
    let has_velocities = options.velocities && scan.has(&VELOCITY[..dim]);
    let has_ids = options.ids && scan.has(&["identity"]);
    let runs = scan.parts.iter().flat_map(|(_, own)| types.iter().map(|&t| (t, own.count(t))));
    Ok(Snapshot {
        velocities: has_velocities.then(|| points(&VELOCITY[..dim], factor)).transpose()?,
        ids: has_ids.then(|| scan.gather(path, reading, &types, &["identity"], 1.0)).transpose()?,
        masses,
        matter,
        types: reading.runs(runs),
        units: KnownUnits { velocity: Some(VelocityUnit { is_internal: false, ..unit }), ..output.units },
        redshift,
        box_size: Some(output.box_size),
        background: output.background,
        notes: scan.notes(),
        format: Format::Ramses,
        ..Snapshot::new(points(&POSITION[..dim], 1.0)?)
    })
}
