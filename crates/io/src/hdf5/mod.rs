//! HDF5 snapshots of Gadget, AREPO and IllustrisTNG, GIZMO, EAGLE and SWIFT.
//!
//! - in: one file or the parts of a split snapshot, with contiguous or chunked data, compressed or not
//! - out: a [`Snapshot`] of all particles, or of some types
//! - cost: all files are opened first, so that all data to be read are known to exist. Columns are then read one
//!   after the other, with bands of rows in parallel
//! - the crate hdf5-reader reads the metadata; the data are read and decoded here

mod attributes;
mod bands;
mod chunks;
mod dataset;
mod fields;
mod file;
mod header;
mod ids;
mod links;
mod number;
mod object_header;
mod parts;
mod shape;
mod table;
mod units;
mod optional_fields;

use std::path::{Path, PathBuf};

use attributes::Attributes;
use fields::{COORDINATES, Fields, IDS, MASSES, VELOCITIES, group, mixed_units};
use file::File;
use header::Header;
use number::Number;
use optional_fields::OptionalField;
use parts::{SnapshotFile, first, has_particles, is_ending, named, open_all, open_present, viewed};
use ropewalk::units::{KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};
use shape::Shape;
use units::Scaling;

use crate::box_sides::side_or_note;
use crate::contents::{Contents, Field, Role, TypeContents};
use crate::file_format::FileFormat;
use crate::reading::Reading;
use crate::split_files::ends_with_number;
use crate::{Masses, Points, Snapshot, Table};

/// The signature of an HDF5 file, at its start or after a user block.
pub(super) const MAGIC: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// The format of snapshots and tables in HDF5.
pub(crate) struct Hdf5;

impl FileFormat for Hdf5 {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        // The signature is at the start of the file, or after a user block.
        [0, 512, 1024, 2048].iter().any(|&at| prefix.get(at..).is_some_and(|rest| rest.starts_with(MAGIC)))
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }

    fn is_snapshot_in_folder(&self, file: &Path) -> bool {
        has_particles(file)
    }

    fn first_part(&self, path: &Path) -> Option<PathBuf> {
        first(path)
    }

    fn parts(&self, path: &Path) -> Vec<PathBuf> {
        named(path)
    }

    fn without_part_number(&self, path: &Path) -> Option<PathBuf> {
        let (end, stem) = (path.extension().filter(|end| is_ending(end))?, path.with_extension(""));
        ends_with_number(&stem).then(|| stem.with_extension(end))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        viewed(path)
    }
}

/// Reads the particles of the snapshot that `path` names or belongs to.
fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    if let Some(file) = table_file(path, reading)? {
        return table::read(&file, reading);
    }
    if reading.reads_fields {
        return Err(Error::file(path, "is a snapshot of a simulation, not a table of fields"));
    }
    if !reading.options.columns.is_empty() {
        return Err(Error::file(path, "is an HDF5 snapshot, whose columns cannot be chosen"));
    }
    let (parts, options) = (open_all(path, reading)?, reading.options);
    let header = first_header(path, &parts)?;
    let counts = particles(&parts)?;
    let uncounted = uncounted(&parts)?;
    // A choice of types can exclude groups that are not counted.
    let is_wanted = |group: &&Uncounted| options.types.is_empty() || options.types.contains(&group.particle_type);
    if let Some(group) = uncounted.iter().find(is_wanted) {
        return Err(group.file.error(format!("{}; {UNCOUNTED_ADVICE}", group.describe())));
    }
    let types = reading.wanted_types(path, &counts)?;
    let all: Vec<u8> = counts.iter().map(|&(particle_type, _)| particle_type).collect();
    let fields = Fields { path, reading, parts: &parts, types: &types };

    let none = Points::F32(Table::from_valid(3, vec![]));
    let positions = fields.needed(COORDINATES, 3)?;
    let mut left_out = vec![];
    let velocities =
        if options.velocities { fields.optional(&OptionalField::VELOCITIES, &mut left_out)? } else { vec![] };
    let ids = if options.ids { fields.id_columns(&mut left_out)? } else { vec![] };
    let points = fields.vectors(&positions, |_| 1.0)?.unwrap_or(none);
    let factors = velocities.iter().map(|column| fields.velocity_factor(&column.attributes, header));
    let factors = factors.collect::<Result<Vec<f64>>>()?;
    let scalings = |columns: &[dataset::Column], of: fn(&Attributes, &Header) -> Result<Scaling>| {
        columns.iter().map(|column| of(&column.attributes, header)).collect::<Result<Vec<Scaling>>>()
    };
    let (lengths, speeds) = (scalings(&positions, Scaling::length)?, scalings(&velocities, Scaling::velocity)?);
    let is_scaled = speeds.iter().any(|scaling| scaling.a != 0.0);
    let mut notes = options.settled(path, header.epoch.doubt.as_ref(), is_scaled)?;
    notes.extend(header.notes.iter().cloned());
    notes.extend(left_out);
    notes.extend(uncounted.iter().map(Uncounted::describe));
    let box_size = options.side(path, &header.sides, &mut notes)?;
    let mut units = units_of(header, positions.first().map(|column| &column.attributes))?;
    for (what, scalings) in [("Coordinates", &lengths), ("Velocities", &speeds)] {
        if scalings.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Error::file(path, mixed_units(what)));
        }
    }
    if let Some(scaling) = speeds.first() {
        units.velocity = scaling.velocity_unit(header);
    }
    let velocity = options.velocity_unit.or(units.velocity);
    units.velocity = velocity.map(|unit| VelocityUnit { is_internal: false, ..unit });
    let masses = if options.masses { fields.masses(header, &mut units, &mut notes)? } else { Masses::Unknown };
    let (ids, types_without_ids) = fields.ids(&ids, &mut notes)?;
    Ok(Snapshot {
        points,
        velocities: fields.vectors(&velocities, |k| factors.get(k).copied().unwrap_or(1.0))?,
        ids,
        types_without_ids,
        // The mass of one part, or of some of the particles, does not determine the mass of the whole.
        matter: match options.single_part && header.files > 1 || !uncounted.is_empty() {
            true => None,
            false => fields.matter(&all, &masses, units.mass),
        },
        masses,
        types: fields.runs(),
        units,
        coordinate_unit: None,
        redshift: header.epoch.redshift,
        box_size,
        background: header.background,
        header: None,
        format: header.format(),
        columns: vec![],
        skipped: vec![],
        notes,
        slice: None,
        subsample: None,
        file_types: vec![],
        one_of_files: None,
    })
}

/// Describes the snapshot that `path` names or belongs to.
fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    if let Some(file) = table_file(path, reading)? {
        return table::inspect(path, &file, reading);
    }
    let (parts, missing) = open_present(path, reading)?;
    let header = first_header(path, &parts)?;
    let mut stored = StoredUnits { units: units_of(header, None)?, scalings: vec![] };
    let (mut types, mut doubled, mut unreadable) = (vec![], vec![], vec![]);
    for (t, &count) in header.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let mut fields = vec![];
        if let Some(part) = parts.iter().find(|part| part.header.here.get(t).is_some_and(|&n| n > 0)) {
            fields = stored.fields(&part.file, &group(t as u8), header)?;
            unreadable.extend(unreadable_fields(&part.file, t as u8, &fields)?);
        }
        let has_masses = fields.iter().any(|field| field.role == Role::Mass);
        let mass = header.masses.get(t).copied().filter(|&mass| mass != 0.0);
        if let Some(mass) = mass.filter(|_| has_masses) {
            let own = "has a dataset of masses, which is read";
            doubled.push(format!("{} {own}; the header's MassTable has {mass} for type {t}", group(t as u8)));
        }
        let mass = mass.filter(|_| !has_masses);
        types.push(TypeContents { particle_type: Some(t as u8), name: group(t as u8), count, mass, fields });
    }
    let (box_size, mut notes) = side_or_note(&header.sides);
    notes.extend(reading.options.in_doubt(header.epoch.doubt.as_ref(), stored.is_scaled()).map(str::to_string));
    notes.extend(stored.notes());
    notes.extend(doubled);
    notes.extend(unreadable);
    notes.extend(uncounted(&parts)?.iter().map(Uncounted::describe));
    notes.extend(missing);
    notes.extend(header.notes.iter().cloned());
    notes.extend(Some(&header.unused).filter(|unused| !unused.is_empty()).cloned());
    Ok(Contents {
        format: header.format(),
        code: header.code.clone(),
        files: parts.iter().map(|part| part.file.path.clone()).collect(),
        types,
        box_size,
        redshift: header.epoch.redshift,
        background: header.background,
        units: stored.units,
        notes,
    })
}

/// Describes the links of a type's group that cannot be followed, and missing coordinates. AREPO's tracers have none.
fn unreadable_fields(file: &File, particle_type: u8, fields: &[Field]) -> Result<Vec<String>> {
    let group = group(particle_type);
    let mut notes = file.dead_links(&group)?;
    let is_placed = fields.iter().any(|field| field.role == Role::Position || field.name == "TracerID");
    if !is_placed && notes.is_empty() {
        notes.push(format!("{group} has no {}, so that its particles cannot be read", COORDINATES.join(" or ")));
    }
    Ok(notes)
}

/// Returns the file if it is a table: it has no header, and it has no groups of particles unless columns are chosen.
fn table_file(path: &Path, reading: &Reading<'_>) -> Result<Option<File>> {
    let file = File::open(path, reading)?;
    let has_header = file.group("Header")?.is_some();
    let is_chosen = !reading.options.columns.is_empty();
    let is_table = !has_header && (is_chosen || !file.groups()?.iter().any(|name| name.starts_with("PartType")));
    Ok(is_table.then_some(file))
}

fn first_header<'a>(path: &Path, parts: &'a [SnapshotFile]) -> Result<&'a Header> {
    parts.first().map(|part| &part.header).ok_or_else(|| Error::file(path, "is a snapshot without files"))
}

/// Returns the number of particles of each type in all files. AREPO's tracers have a type number, but no positions,
/// and are omitted.
fn particles(parts: &[SnapshotFile]) -> Result<Vec<(u8, u64)>> {
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

/// Particles of a type that the header of their file does not count.
struct Uncounted<'a> {
    file: &'a File,
    particle_type: u8,
    /// The name of their dataset of coordinates, and its number of rows.
    name: String,
    rows: u64,
}

impl Uncounted<'_> {
    fn describe(&self) -> String {
        let Self { name, rows, particle_type, .. } = self;
        format!("{name} has {rows} rows, but the header counts no particles of type {particle_type}")
    }
}

const UNCOUNTED_ADVICE: &str = "choose the types to read without them (ReadOptions::types)";

/// Returns the groups of particles with coordinates that the headers do not count.
fn uncounted(parts: &[SnapshotFile]) -> Result<Vec<Uncounted<'_>>> {
    let mut found = vec![];
    for SnapshotFile { file, header } in parts {
        for group in file.groups()? {
            let Some(particle_type) = group.strip_prefix("PartType").and_then(|number| number.parse().ok()) else {
                continue;
            };
            if header.here.get(usize::from(particle_type)).is_some_and(|&count| count > 0) {
                continue;
            }
            for name in COORDINATES {
                // A dataset that cannot be opened has no particles that could be read.
                let rows =
                    file.dataset(&group, name).ok().flatten().and_then(|dataset| dataset.shape().first().copied());
                let rows = rows.filter(|&rows| rows > 0);
                found.extend(rows.map(|rows| Uncounted { file, particle_type, name: format!("{group}/{name}"), rows }));
            }
        }
    }
    Ok(found)
}

/// Returns the units of the whole snapshot, from its header and the attributes of one column of coordinates.
fn units_of(header: &Header, coordinates: Option<&Attributes>) -> Result<KnownUnits> {
    let none = Attributes::default();
    Ok(KnownUnits {
        length: Scaling::length(coordinates.unwrap_or(&none), header)?.length_unit(),
        mass: Scaling::mass(&none, header)?.mass_unit(),
        velocity: Scaling::velocity(&none, header)?.velocity_unit(header),
    })
}

/// The units of the fields of all types.
struct StoredUnits {
    units: KnownUnits,
    /// The scalings of the fields that are read, in the order of the types.
    scalings: Vec<(Role, Scaling)>,
}

impl StoredUnits {
    /// Returns `true` if velocities must be scaled.
    fn is_scaled(&self) -> bool {
        self.scalings.iter().any(|(role, scaling)| *role == Role::Velocity && scaling.a != 0.0)
    }

    /// Returns notes about fields whose units differ between types.
    fn notes(&self) -> impl Iterator<Item = String> {
        let fields = [(Role::Position, "Coordinates"), (Role::Velocity, "Velocities"), (Role::Mass, "Masses")];
        fields.into_iter().filter_map(|(role, name)| {
            let own: Vec<Scaling> =
                self.scalings.iter().filter(|(other, _)| *other == role).map(|(_, scaling)| *scaling).collect();
            let is_same = |a: Scaling, b: Scaling| if role == Role::Mass { a.is_same_mass(b) } else { a == b };
            own.windows(2).any(|pair| !is_same(pair[0], pair[1])).then(|| mixed_units(name))
        })
    }

    /// Returns the datasets of a type, and records their units.
    fn fields(&mut self, file: &File, group: &str, header: &Header) -> Result<Vec<Field>> {
        let mut fields = vec![];
        for name in file.datasets(group)? {
            let Some(dataset) = file.dataset(group, &name)? else { continue };
            let attributes = file.dataset_attributes(&format!("{group}/{name}"), &dataset)?;
            let role = self.role(&name, &attributes, header)?;
            let number = match (Shape::of(&dataset), dataset.raw_datatype()) {
                (Ok(shape), _) => shape.number.name(),
                (Err(_), Ok(message)) => Number::parse(&message).map_or("other".into(), |number| number.name()),
                (Err(_), Err(_)) => "other".into(),
            };
            let width = dataset.shape().iter().skip(1).fold(1, |width: u64, &n| width.saturating_mul(n));
            fields.push(Field { unit: Scaling::describe(&attributes)?, ..Field::new(name, number, width, role) });
        }
        Ok(fields)
    }

    /// Returns the role of a dataset by its name, and records its unit.
    fn role(&mut self, name: &str, attributes: &Attributes, header: &Header) -> Result<Role> {
        let (role, scaling) = if COORDINATES.contains(&name) {
            let scaling = Scaling::length(attributes, header)?;
            self.units.length = scaling.length_unit();
            (Role::Position, scaling)
        } else if VELOCITIES.contains(&name) {
            let scaling = Scaling::velocity(attributes, header)?;
            self.units.velocity = scaling.velocity_unit(header);
            (Role::Velocity, scaling)
        } else if MASSES.contains(&name) {
            let scaling = Scaling::mass(attributes, header)?;
            self.units.mass = scaling.mass_unit();
            (Role::Mass, scaling)
        } else {
            return Ok(if IDS.contains(&name) { Role::Id } else { Role::Other });
        };
        self.scalings.push((role, scaling));
        Ok(role)
    }
}
