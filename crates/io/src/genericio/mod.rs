//! GenericIO files, as written by HACC.
//!
//! - in: one file, in either byte order and by any number of ranks; or `base`, a map of the files `base#0`, `base#1`,
//!   and so on
//! - out: a [`Snapshot`]: `x`, `y`, `z` or the variables marked as coordinates, or chosen ones; `vx`, `vy`, `vz`,
//!   `id`, `mass`
//! - cost: requested variables are read twice, first for their checksums; for a part, only the blocks that overlap
//!   its rows
//! - source: GenericIO (ANL-15-066)
//!
//! The file names no units, so those of HACC are assumed: comoving Mpc/h, peculiar km/s, Msun/h.

mod crc64;
mod header;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crc64::Crc64;
use header::{Header, byte_order, check};
use ropewalk::halo::MassSum;
use ropewalk::internals::parallel::map_tasks;
use ropewalk::units::{KnownUnits, LengthUnit, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};

use crate::box_sides::{of_chosen, side_or_note};
use crate::columns::{Column, gather, points, sum, whole};
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::part::common;
use crate::reading::Reading;
use crate::split_files::named;
use crate::table_columns::choose;
use crate::total_mass::TotalMass;
use crate::{Background, Format, Masses, Snapshot};

/// The GenericIO format.
pub(crate) struct GenericIo;

impl FileFormat for GenericIo {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        byte_order(prefix).is_some()
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        parts_by_name(path)
    }
}

/// Returns the map of the split file to which `path` belongs, by its name.
fn map_of(path: &Path) -> Option<PathBuf> {
    let (base, part) = path.to_str()?.rsplit_once('#')?;
    (!part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| base.into())
}

/// Returns the files of a split file by their names. `path` is its map or one of its parts.
fn parts_by_name(path: &Path) -> Vec<PathBuf> {
    let base = map_of(path).unwrap_or_else(|| path.to_path_buf());
    let Some((name, folder)) = base.file_name().and_then(|name| name.to_str()).zip(base.parent()) else {
        return vec![];
    };
    named(folder, |other| other == name || map_of(Path::new(other)).is_some_and(|map| map == Path::new(name)))
}

/// Returns the headers of all files that `path` names.
fn parts(path: &Path, reading: &Reading<'_>) -> Result<Vec<Header>> {
    let base = match map_of(path) {
        Some(base) if base.is_file() => base,
        Some(base) => {
            let message = format!("is part of a split file, whose map {} is missing", base.display());
            return Err(Error::file(path, message));
        }
        None => path.to_path_buf(),
    };
    let first = Header::read(base.clone(), reading)?;
    let Some(partition) = first.find("$partition") else {
        return if base == path { Ok(vec![first]) } else { Ok(vec![Header::read(path.to_path_buf(), reading)?]) };
    };
    let mut files = BTreeSet::new();
    for columns in blocks(&first, &[partition], reading)? {
        verify(reading, &columns)?;
        files.extend(whole::<u64>(reading, &columns)?);
    }
    let mut parts: Vec<Header> = vec![];
    for file in files {
        let mut name = base.as_os_str().to_os_string();
        name.push(format!("#{file}"));
        let name = PathBuf::from(name);
        if !name.is_file() {
            return Err(Error::file(name, format!("is missing: it belongs to the split file {}", base.display())));
        }
        let part = Header::read(name, reading)?;
        if let Some(first) = parts.first() {
            let same = first.variables == part.variables && first.origin == part.origin && first.scale == part.scale;
            if !same {
                let message = format!("has other variables or another box than {}", first.path.display());
                return Err(Error::file(part.path, message));
            }
        }
        parts.push(part);
    }
    let (ranks, promised) = (parts.iter().map(|part| part.ranks.len() as u64).sum::<u64>(), first.rows());
    if parts.is_empty() || ranks != promised {
        let message = format!("maps {promised} ranks to files, but the files have {ranks}");
        return Err(Error::file(base, message));
    }
    Ok(parts)
}

/// Returns the columns of `variables`, one list per rank of a file.
fn blocks<'a>(header: &'a Header, variables: &[usize], reading: &Reading<'_>) -> Result<Vec<Vec<Column<'a>>>> {
    let mut pieces = vec![];
    for (rank, of) in header.ranks.iter().enumerate() {
        let mut columns = vec![];
        for &variable in variables {
            let own = &header.variables[variable];
            let Some(number) = own.number.filter(|_| own.width > 0) else {
                let message = format!("variable {} has values of {} bytes, which are not numbers", own.name, own.size);
                return Err(Error::file(&header.path, message));
            };
            let at = header.block(rank, variable)?;
            columns.push(Column {
                path: &header.path,
                at,
                rows: of.rows,
                width: own.width as usize,
                stride: own.size,
                number,
                big_endian: header.big_endian,
            });
        }
        pieces.push(columns);
    }
    // Ranks whose blocks overlap could require more memory than the size of the file.
    let bytes = pieces.iter().flatten().map(|column| column.rows * column.stride).fold(0, u64::saturating_add);
    let source = reading.open(&header.path)?;
    if bytes > source.len() {
        return Err(
            source.error(format!("has {} bytes, but its ranks declare {bytes} bytes of some variables", source.len()))
        );
    }
    Ok(pieces)
}

/// Returns an error unless every block has the checksum that follows it.
fn verify(reading: &Reading<'_>, columns: &[Column<'_>]) -> Result<()> {
    map_tasks(columns.len(), 1, &|at| verify_one(reading, &columns[at.start])).into_iter().collect()
}

fn verify_one(reading: &Reading<'_>, column: &Column<'_>) -> Result<()> {
    let mut source = reading.open(column.path)?;
    source.seek(column.at)?;
    let mut crc = Crc64::new();
    source.words(column.rows * column.stride, false, |bytes: &[u8]| crc.update(bytes))?;
    let stored: [u8; 8] = source.array()?;
    check(&source, &format!("the block at byte {}", column.at), crc.value(), &stored)
}

/// The roles of the variables.
struct Variables {
    positions: Vec<usize>,
    velocities: Vec<usize>,
    id: Option<usize>,
    mass: Option<usize>,
    /// The variables that are positions if no columns are chosen.
    own: Vec<usize>,
    /// If `true`, all positions are among `own`.
    has_own_positions: bool,
}

/// Returns the variables with these names, if all exist.
fn by_name(header: &Header, names: [&str; 3]) -> Option<Vec<usize>> {
    names.iter().map(|name| header.find(name)).collect()
}

/// Returns the variables that are positions if no columns are chosen.
fn own_positions(header: &Header) -> Option<Vec<usize>> {
    let marked = |axis: usize| {
        let mut all = (0..).zip(&header.variables).filter(|(_, variable)| variable.axis == Some(axis));
        all.next().filter(|_| all.next().is_none()).map(|(place, _)| place)
    };
    by_name(header, ["x", "y", "z"]).or_else(|| (0..3).map(marked).collect())
}

impl Variables {
    fn new(header: &Header, reading: &Reading<'_>) -> Result<Self> {
        let chosen = &reading.options.columns[..];
        let names: Vec<String> = header.variables.iter().map(|variable| variable.name.clone()).collect();
        let refuse = |message: String| Error::file(&header.path, message);
        let positions = if chosen.is_empty() && reading.reads_fields {
            let is_field = |place: &usize| {
                let variable = &header.variables[*place];
                variable.number.is_some() && variable.width == 1
            };
            (0..names.len()).filter(is_field).collect()
        } else if chosen.is_empty() {
            own_positions(header).ok_or_else(|| {
                let list =
                    names.iter().take(20).map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
                refuse(format!(
                    "has no variables x, y and z; it has {list}; choose those that are coordinates \
                     (ReadOptions::columns)"
                ))
            })?
        } else {
            choose(chosen, &names, names.len()).map_err(refuse)?
        };
        if positions.len() > 10 && !reading.reads_fields {
            return Err(refuse(format!(
                "{} variables are chosen; points must have 1 to 10 coordinates",
                positions.len()
            )));
        }
        if positions.is_empty() {
            return Err(refuse("has no variable of numbers".into()));
        }
        let rest = |variable: &usize| !reading.reads_fields && !positions.contains(variable);
        let other = |name: &str| header.find(name).filter(rest);
        let (id, mass) = (other("id"), other("mass"));
        let velocities = by_name(header, ["vx", "vy", "vz"]).filter(|all| positions.len() == 3 && all.iter().all(rest));
        let velocities = velocities.unwrap_or_default();
        let is_wide = |variable: &usize| header.variables[*variable].width > 1;
        if let Some(wide) = positions.iter().chain(&velocities).chain(&id).chain(&mass).find(|v| is_wide(v)) {
            let Some(variable) = header.variables.get(*wide) else { return Err(refuse("has no such variable".into())) };
            let message =
                format!("variable {} has {} values per particle; it must have one", variable.name, variable.width);
            return Err(refuse(message));
        }
        let own = own_positions(header).unwrap_or_default();
        let has_own_positions = positions.iter().all(|variable| own.contains(variable));
        Ok(Self { positions, velocities, id, mass, own, has_own_positions })
    }

    fn role(&self, variable: usize) -> Role {
        if self.positions.contains(&variable) {
            Role::Position
        } else if self.velocities.contains(&variable) {
            Role::Velocity
        } else if self.id == Some(variable) {
            Role::Id
        } else if self.mass == Some(variable) {
            Role::Mass
        } else {
            Role::Other
        }
    }

    /// Returns HACC's units. Chosen variables that are not positions have no known unit.
    fn units(&self) -> KnownUnits {
        KnownUnits {
            length: self.has_own_positions.then_some(LengthUnit::MPC_H),
            mass: self.mass.map(|_| MassUnit::MSUN_H),
            velocity: (!self.velocities.is_empty()).then_some(VelocityUnit::KM_S),
        }
    }
}

/// Returns a note about a box that does not begin at 0.
fn origin(header: &Header) -> Option<String> {
    let sides = header.origin.map(|side| side.to_string()).join(", ");
    header
        .origin
        .iter()
        .any(|&side| side != 0.0)
        .then(|| format!("its box begins at {sides}; coordinates are not shifted"))
}

/// Describes the files.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let parts = parts(path, reading)?;
    let Some(first) = parts.first() else { return Err(Error::file(path, "has no files")) };
    let variables = Variables::new(first, reading)?;
    let field = |(place, own): (usize, &header::Variable)| {
        let number = own.number.map_or("bytes", |number| number.name());
        Field::new(own.name.as_str(), number, own.width, variables.role(place))
    };
    let count = parts.iter().map(Header::rows).fold(0, u64::saturating_add);
    let fields = first.variables.iter().enumerate().map(field).collect();
    let (box_size, mut notes) = side_or_note(&first.scale);
    notes.extend(origin(first));
    Ok(Contents {
        format: Format::GenericIo,
        code: None,
        files: parts.iter().map(|part| part.path.clone()).collect(),
        types: vec![TypeContents { particle_type: None, name: "particles".into(), count, mass: None, fields }],
        box_size,
        redshift: None,
        background: Background::default(),
        units: variables.units(),
        notes,
    })
}

/// Reads the particles of the files.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let parts = parts(path, reading)?;
    let Some(first) = parts.first() else { return Err(Error::file(path, "has no files")) };
    let options = reading.options;
    let variables = Variables::new(first, reading)?;
    let total = parts.iter().map(Header::rows).fold(0, u64::saturating_add);
    // The masses of all particles are summed, even in a subsample.
    let is_summed = |of: &[usize]| !reading.keep.is_all() && variables.mass.is_some_and(|mass| of == [mass]);
    let columns = |of: &[usize]| -> Result<Vec<Vec<Column<'_>>>> {
        let pieces = parts.iter().map(|part| blocks(part, of, reading)).collect::<Result<Vec<_>>>()?.concat();
        let places = if is_summed(of) { 0..total } else { reading.places(total) };
        let mut row = 0;
        let mut own = vec![];
        for columns in &pieces {
            let rows = columns.first().map_or(0, |column| column.rows);
            if !common(&places, &(row..row + rows)).is_empty() {
                own.extend_from_slice(columns);
            }
            row += rows;
        }
        verify(reading, &own)?;
        Ok(pieces)
    };
    let units = variables.units();
    let unit = options.velocity_unit.or(units.velocity).unwrap_or(VelocityUnit::KM_S);
    let factor = options.velocity_factor(unit, None, None).map_err(|error| Error::file(path, error))?;
    let positions = points(reading, path, &columns(&variables.positions)?, 1.0)?;
    let has_velocities = options.velocities && !variables.velocities.is_empty();
    let velocities =
        has_velocities.then(|| points(reading, path, &columns(&variables.velocities)?, factor)).transpose()?;
    let id = variables.id.filter(|_| options.ids);
    let ids = id.map(|id| gather(reading, path, &columns(&[id])?, 1.0)).transpose()?;
    let (mut masses, mut matter) = (Masses::Unknown, None);
    if let Some(mass) = variables.mass.filter(|_| options.masses) {
        let pieces = columns(&[mass])?;
        let own = gather(reading, path, &pieces, 1.0 / reading.keep.fraction)?;
        let share = if reading.keep.is_all() { MassSum::from_values(&own) } else { sum(reading, &pieces.concat())? };
        masses = Masses::Each(own);
        let share = Some(share);
        matter = reading.matter(TotalMass { share, ..TotalMass::default() });
    }
    let mut notes = vec![];
    notes.extend(origin(first));
    let sides = match reading.reads_fields {
        true => vec![],
        false => of_chosen(&first.scale, &variables.own, &variables.positions, &mut notes),
    };
    let box_size = options.side(path, &sides, &mut notes)?;
    let velocity = velocities.as_ref().map(|_| VelocityUnit { is_internal: false, ..unit });
    Ok(Snapshot {
        velocities,
        ids,
        masses,
        matter,
        units: KnownUnits { velocity, ..units },
        box_size,
        notes,
        format: Format::GenericIo,
        columns: match reading.reads_fields {
            true => variables.positions.iter().map(|&place| first.variables[place].name.clone()).collect(),
            false => options.columns.clone(),
        },
        ..Snapshot::new(positions)
    })
}
