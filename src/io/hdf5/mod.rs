//! HDF5 snapshots: of Gadget, AREPO and IllustrisTNG, GIZMO, EAGLE and SWIFT.
//!
//! - in: one file or the parts of a split snapshot, contiguous or in chunks, compressed or not
//! - out: a [`Snapshot`] of all particles, or of some types
//! - cost: all files are opened first, so that what is read is known to be there; then columns are read one after the other, their
//!   bands of rows in parallel
//! - what describes the data is read by the crate hdf5-reader; their bytes are read and decoded here

mod bands;
mod chunks;
mod dataset;
mod fields;
mod file;
mod header;
mod number;
mod parts;
mod units;

use std::path::Path;

use crate::Error;
use crate::io::contents::{Contents, Field, Role, TypeContents};
use crate::io::reading::Reading;
use crate::io::sides::told;
use crate::io::{Masses, Points, Result, Snapshot, Table};
use crate::units::{KnownUnits, VelocityUnit};
use dataset::Shape;
use fields::{COORDINATES, Fields, IDS, MASSES, VELOCITIES, group};
use file::{Attributes, File};
use header::Header;
use number::Number;
use parts::{Part, open_all};
use units::Scaling;

pub(super) use parts::{first, named};

/// The first bytes of an HDF5 file, or of what is behind a block of a user's own.
pub(super) const MAGIC: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Whether a file that begins with `prefix` is one of HDF5: its own bytes come at 0, 512, 1024, 2048.
pub(super) fn is_hdf5(prefix: &[u8]) -> bool {
    [0, 512, 1024, 2048].iter().any(|&at| prefix.get(at..).is_some_and(|rest| rest.starts_with(MAGIC)))
}

/// The particles of the snapshot that `path` is, or is part of.
pub(super) fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let (parts, options) = (open_all(path, reading)?, reading.options);
    let header = first_header(path, &parts)?;
    let counts = particles(&parts)?;
    let types = options.wanted_types(path, &counts)?;
    let all: Vec<u8> = counts.iter().map(|&(particle_type, _)| particle_type).collect();
    let fields = Fields { path, reading, parts: &parts, types: &types };

    let none = Points::F32(Table::of(3, vec![]));
    let positions = fields.needed(COORDINATES, 3)?;
    let velocities = if options.velocities { fields.optional(VELOCITIES, 3)? } else { vec![] };
    let ids = if options.ids { fields.optional(IDS, 1)? } else { vec![] };
    let points = fields.vectors(&positions, |_| 1.0)?.unwrap_or(none);
    let factors = velocities.iter().map(|column| fields.velocity_factor(&column.attributes, header));
    let factors = factors.collect::<Result<Vec<f64>>>()?;
    let is_scaled = |column: &dataset::Column| Scaling::velocity(&column.attributes, header).a != 0.0;
    let mut notes = options.settled(path, header.epoch.doubt.as_ref(), velocities.iter().any(is_scaled))?;
    let box_size = options.side(path, &header.sides, &mut notes)?;
    let mut units = units_of(header, positions.first().map(|column| &column.attributes));
    for (what, columns) in [("Coordinates", &positions), ("Velocities", &velocities)] {
        let scaling = |column: &dataset::Column| match what {
            "Coordinates" => Scaling::length(&column.attributes, header),
            _ => Scaling::velocity(&column.attributes, header),
        };
        if columns.windows(2).any(|pair| scaling(&pair[0]) != scaling(&pair[1])) {
            return Err(Error::file(
                path,
                format!("has {what} in different units for different types; read one of them"),
            ));
        }
    }
    if let Some(column) = velocities.first() {
        units.velocity = Scaling::velocity(&column.attributes, header).velocity_unit(header);
    }
    let velocity = options.velocity_unit.or(units.velocity);
    units.velocity = velocity.map(|unit| VelocityUnit { is_internal: false, ..unit });
    let masses = if options.masses { fields.masses(header, &mut units)? } else { Masses::Unknown };
    Ok(Snapshot {
        points,
        velocities: fields.vectors(&velocities, |k| factors.get(k).copied().unwrap_or(1.0))?,
        ids: fields.ids(&ids)?,
        matter: fields.matter(&all, &masses),
        masses,
        types: fields.runs(),
        units,
        redshift: header.epoch.redshift,
        box_size,
        background: header.background,
        header: None,
        format: header.format(),
        columns: vec![],
        skipped: vec![],
        notes,
        slice: None,
    })
}

/// What the snapshot that `path` is, or is part of, says about itself.
pub(super) fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let parts = open_all(path, reading)?;
    let header = first_header(path, &parts)?;
    let mut units = units_of(header, None);
    let (mut types, mut is_scaled) = (vec![], false);
    for (t, &count) in header.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let mut fields = vec![];
        if let Some(part) = parts.iter().find(|part| part.header.here.get(t).is_some_and(|&n| n > 0)) {
            fields = stored(&part.file, &group(t as u8), header, (&mut units, &mut is_scaled))?;
        }
        let has_masses = fields.iter().any(|field| field.role == Role::Mass);
        let mass = header.masses.get(t).copied().filter(|&mass| mass != 0.0 && !has_masses);
        types.push(TypeContents { particle_type: Some(t as u8), name: group(t as u8), count, mass, fields });
    }
    let (box_size, mut notes) = told(&header.sides);
    notes.extend(reading.options.in_doubt(header.epoch.doubt.as_ref(), is_scaled).map(str::to_string));
    Ok(Contents {
        format: header.format(),
        code: header.code.clone(),
        files: parts.iter().map(|part| part.file.path.clone()).collect(),
        types,
        box_size,
        redshift: header.epoch.redshift,
        background: header.background,
        units,
        notes,
    })
}

fn first_header<'a>(path: &Path, parts: &'a [Part]) -> Result<&'a Header> {
    parts.first().map(|part| &part.header).ok_or_else(|| Error::file(path, "is a snapshot of no files"))
}

/// Particles of each type in all files. AREPO's tracers are numbered as a type, but have no places.
fn particles(parts: &[Part]) -> Result<Vec<(u8, u64)>> {
    let mut counts = vec![];
    let Some(first) = parts.first() else { return Ok(counts) };
    for (t, &count) in (0..=u8::MAX).zip(&first.header.counts) {
        let owner = parts.iter().find(|part| part.header.here.get(usize::from(t)).is_some_and(|&n| n > 0));
        let names = owner.map_or(Ok(vec![]), |part| part.file.datasets(&group(t)))?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        if !has("TracerID") || COORDINATES.iter().any(|name| has(name)) {
            counts.push((t, count));
        }
    }
    Ok(counts)
}

/// The units that hold for the whole snapshot, as its header and one column of coordinates have them.
fn units_of(header: &Header, coordinates: Option<&Attributes>) -> KnownUnits {
    let none = Attributes::default();
    KnownUnits {
        length: Scaling::length(coordinates.unwrap_or(&none), header).length_unit(),
        mass: Scaling::mass(&none, header).mass_unit(),
        velocity: Scaling::velocity(&none, header).velocity_unit(header),
    }
}

/// The datasets of a type, the units of those that are read, and whether velocities are to be scaled.
fn stored(
    file: &File,
    group: &str,
    header: &Header,
    (units, is_scaled): (&mut KnownUnits, &mut bool),
) -> Result<Vec<Field>> {
    let mut fields = vec![];
    for name in file.datasets(group)? {
        let Some(dataset) = file.dataset(group, &name)? else { continue };
        let attributes = Attributes::new(&dataset.attributes());
        let is = |names: &[&str]| names.contains(&name.as_str());
        let role = if is(COORDINATES) {
            units.length = Scaling::length(&attributes, header).length_unit();
            Role::Position
        } else if is(VELOCITIES) {
            let scaling = Scaling::velocity(&attributes, header);
            units.velocity = scaling.velocity_unit(header);
            *is_scaled |= scaling.a != 0.0;
            Role::Velocity
        } else if is(IDS) {
            Role::Id
        } else if is(MASSES) {
            units.mass = Scaling::mass(&attributes, header).mass_unit();
            Role::Mass
        } else {
            Role::Other
        };
        let number = match (Shape::of(&dataset), dataset.raw_datatype()) {
            (Ok(shape), _) => shape.number.name(),
            (Err(_), Ok(message)) => Number::parse(&message).map_or("other".into(), |number| number.name()),
            (Err(_), Err(_)) => "other".into(),
        };
        let width = dataset.shape().iter().skip(1).fold(1, |width: u64, &n| width.saturating_mul(n));
        fields.push(Field { unit: Scaling::describe(&attributes), ..Field::new(name, number, width, role) });
    }
    Ok(fields)
}
