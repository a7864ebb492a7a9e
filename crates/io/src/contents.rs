//! What a file holds, without reading its particles.

use std::path::{Path, PathBuf};

use ropewalk::units::KnownUnits;

use crate::{Background, Format, Masses, Points, ReadOptions, Snapshot, particle_type};

/// What a file says about itself: see [`inspect`](crate::inspect).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Contents {
    /// The format found.
    pub format: Format,
    /// The code that wrote it, as `SWIFT 2025.10`, if the file tells.
    pub code: Option<String>,
    /// The files it is made of, in the order of their particles.
    pub files: Vec<PathBuf>,
    /// The particles, by type; one entry with [`TypeContents::particle_type`] of `None` where the format has no types.
    pub types: Vec<TypeContents>,
    /// Side of the periodic box, if the file names one.
    pub box_size: Option<f64>,
    /// The redshift, if the file names one.
    pub redshift: Option<f64>,
    /// The cosmology that the file names.
    pub background: Background,
    /// The units that the file names.
    pub units: KnownUnits,
    /// What it leaves in doubt, and readers refuse or assume, in sentences for people.
    pub notes: Vec<String>,
}

/// The particles of a type.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TypeContents {
    /// The type, as in [`ReadOptions::types`]; `None` in formats without types.
    pub particle_type: Option<u8>,
    /// What the file calls them: `PartType1`, `gas`.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Their mass, in the file's unit, if all have one.
    pub mass: Option<f64>,
    /// What is stored for each.
    pub fields: Vec<Field>,
}

/// A field of particles: a column, or a few that belong together.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Field {
    /// As the file calls it.
    pub name: String,
    /// What its values are: `f32`, `u64`.
    pub number: String,
    /// Values of a particle.
    pub width: u64,
    /// What the file says of its unit; empty if it says nothing.
    pub unit: String,
    /// What the reader makes of it.
    pub role: Role,
}

/// What a reader makes of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Role {
    /// Coordinates, or one of them.
    Position,
    /// Velocities, or a component.
    Velocity,
    /// Ids.
    Id,
    /// Masses.
    Mass,
    /// Particle types.
    Type,
    /// Nothing: it is not read.
    #[default]
    Other,
}

impl Role {
    /// Returns the role whose columns have this one.
    pub(crate) fn of(column: usize, roles: &[(Self, &[usize])]) -> Self {
        roles.iter().find(|(_, columns)| columns.contains(&column)).map_or(Self::Other, |&(role, _)| role)
    }
}

impl Contents {
    /// Those of a table that has been read.
    pub(super) fn of_table(path: &Path, table: &Snapshot) -> Self {
        let number = |points: &Points| if let Points::F32(_) = points { "f32" } else { "f64" };
        let mut fields =
            vec![Field::new("coordinates", number(&table.points), table.points.dim() as u64, Role::Position)];
        if let Some(velocities) = &table.velocities {
            fields.push(Field::new("velocities", number(velocities), velocities.dim() as u64, Role::Velocity));
        }
        if table.ids.is_some() {
            fields.push(Field::new("id", "u64", 1, Role::Id));
        }
        if let Masses::Each(_) = table.masses {
            fields.push(Field::new("mass", "f64", 1, Role::Mass));
        }
        if !table.types.is_empty() {
            fields.push(Field::new("type", "u8", 1, Role::Type));
        }
        let counts = particle_type::counts(table.types.iter().map(|run| (run.particle_type, run.count as u64)));
        Self {
            format: table.format,
            code: None,
            files: vec![path.to_path_buf()],
            types: TypeContents::of_table(table.points.len() as u64, &counts, &fields),
            box_size: table.box_size,
            redshift: table.redshift,
            background: table.background,
            units: table.units,
            notes: table.notes.clone(),
        }
    }

    /// Particles of all types.
    pub fn total(&self) -> u64 {
        self.types.iter().fold(0, |sum, kind| sum.saturating_add(kind.count))
    }

    /// The bytes of the arrays that [`read`](crate::read) fills with these options, rows that they leave out counted, too. Where types
    /// differ in precision, or only some have masses of their own, there are more.
    pub fn bytes(&self, options: &ReadOptions) -> u64 {
        let wanted = |kind: &&TypeContents| match kind.particle_type {
            Some(number) => options.types.is_empty() || options.types.contains(&number),
            None => true,
        };
        let of = |field: &Field| match field.role {
            Role::Position => field.width.saturating_mul(number_bytes(&field.number)),
            Role::Velocity if options.velocities => field.width.saturating_mul(number_bytes(&field.number)),
            Role::Id if options.ids => 8,
            Role::Mass if options.masses => 8,
            _ => 0,
        };
        let each =
            |kind: &TypeContents| kind.count.saturating_mul(kind.fields.iter().map(of).fold(0, u64::saturating_add));
        self.types.iter().filter(wanted).fold(0, |sum, kind| sum.saturating_add(each(kind)))
    }
}

/// Bytes of a coordinate in memory: 4 for floats of at most 32 bits, 8 for other numbers.
fn number_bytes(number: &str) -> u64 {
    if matches!(number, "f16" | "f32") { 4 } else { 8 }
}

impl TypeContents {
    /// Those of a table with that many rows, of which there are `counts` of each type if it has types.
    pub(super) fn of_table(rows: u64, counts: &[(u8, u64)], fields: &[Field]) -> Vec<Self> {
        let of = |particle_type: Option<u8>, name: &str, count| {
            let name = name.to_string();
            Self { particle_type, name, count, mass: None, fields: fields.to_vec() }
        };
        if counts.is_empty() {
            return vec![of(None, "points", rows)];
        }
        counts.iter().map(|&(kind, count)| of(Some(kind), particle_type::name(kind), count)).collect()
    }
}

impl Field {
    /// A field of that many values a particle.
    pub(super) fn new(name: impl Into<String>, number: impl Into<String>, width: u64, role: Role) -> Self {
        Self { name: name.into(), number: number.into(), width, unit: String::new(), role }
    }
}
