//! A description of a file, made without reading its particles.

use std::path::{Path, PathBuf};

use ropewalk::units::KnownUnits;

use crate::{Background, Format, Masses, Points, ReadOptions, Snapshot, particle_type};

/// A description of a file: see [`inspect`](crate::inspect).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Contents {
    /// The detected format.
    pub format: Format,
    /// The code that wrote the file, as `SWIFT 2025.10`, if the file names it.
    pub code: Option<String>,
    /// The files of the snapshot, in the order of their particles.
    pub files: Vec<PathBuf>,
    /// The particles by type. In formats without types, one entry whose [`TypeContents::particle_type`] is `None`.
    pub types: Vec<TypeContents>,
    /// The side of the periodic box, if the file names one.
    pub box_size: Option<f64>,
    /// The redshift, if the file names one.
    pub redshift: Option<f64>,
    /// The cosmology that the file names.
    pub background: Background,
    /// The units that the file names.
    pub units: KnownUnits,
    /// Ambiguities of the file, on which readers fail or make an assumption, as sentences for users.
    pub notes: Vec<String>,
}

/// The particles of a type.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TypeContents {
    /// The type, as in [`ReadOptions::types`]; `None` in formats without types.
    pub particle_type: Option<u8>,
    /// The name of the type in the file: `PartType1`, `gas`.
    pub name: String,
    /// The number of particles of the type.
    pub count: u64,
    /// The mass of each particle, in the file's unit, if all have the same mass.
    pub mass: Option<f64>,
    /// The fields stored for each particle.
    pub fields: Vec<Field>,
}

/// A field of particles: a column, or several columns that belong together.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Field {
    /// The name of the field in the file.
    pub name: String,
    /// The number type of the values: `f32`, `u64`.
    pub number: String,
    /// The number of values per particle.
    pub width: u64,
    /// The unit that the file states; empty if it states none.
    pub unit: String,
    /// The meaning that the reader assigns to the field.
    pub role: Role,
}

/// The meaning that a reader assigns to a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Role {
    /// All coordinates, or one of them.
    Position,
    /// All components of the velocities, or one of them.
    Velocity,
    /// Ids.
    Id,
    /// Masses.
    Mass,
    /// Particle types.
    Type,
    /// No meaning: the field is not read.
    #[default]
    Other,
}

impl Role {
    /// Returns the role of `column`: the one whose list of columns contains it.
    pub(crate) fn from_column(column: usize, roles: &[(Self, &[usize])]) -> Self {
        roles.iter().find(|(_, columns)| columns.contains(&column)).map_or(Self::Other, |&(role, _)| role)
    }
}

impl Contents {
    /// Returns the contents of a table that has been read.
    pub(super) fn from_table(path: &Path, table: &Snapshot) -> Self {
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

    /// Returns the number of particles of all types.
    pub fn total(&self) -> u64 {
        self.types.iter().fold(0, |sum, kind| sum.saturating_add(kind.count))
    }

    /// Returns the bytes of the arrays that [`read`](crate::read) fills with these options, including the bytes of
    /// rows that the options leave out. The arrays are larger if types differ in precision, or if only some types
    /// have individual masses.
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

/// Returns the bytes of a coordinate in memory: 4 for floats of at most 32 bits, 8 for other numbers.
fn number_bytes(number: &str) -> u64 {
    if matches!(number, "f16" | "f32") { 4 } else { 8 }
}

impl TypeContents {
    /// Returns the contents of a table with `rows` rows. `counts` holds the number of rows of each type; empty if
    /// there are no types.
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
    /// Creates a field with `width` values per particle.
    pub(super) fn new(name: impl Into<String>, number: impl Into<String>, width: u64, role: Role) -> Self {
        Self { name: name.into(), number: number.into(), width, unit: String::new(), role }
    }
}
