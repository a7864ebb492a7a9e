//! What a file holds, in memory.

use ropewalk::halo::{Background, StatedUniverse, Universe, UniverseOptions};
use ropewalk::units::KnownUnits;

use crate::gadget_header::Header;
use crate::{Format, Points, Slice};

/// The masses of the particles, in the file's unit (Gadget: usually 1e10 Msun/h).
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Masses {
    /// All the same.
    Equal(f64),
    /// One per point, in the order of the points.
    Each(Vec<f64>),
    /// The file does not say.
    Unknown,
}

impl std::fmt::Debug for Masses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equal(mass) => f.debug_tuple("Equal").field(mass).finish(),
            Self::Each(masses) => f.debug_tuple("Each").field(&ropewalk::internals::brief::Brief(masses)).finish(),
            Self::Unknown => f.write_str("Unknown"),
        }
    }
}

/// Particles of one type, next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TypeRun {
    /// The type, as in [`ReadOptions::types`](crate::ReadOptions::types).
    pub particle_type: u8,
    /// How many.
    pub count: usize,
}

impl TypeRun {
    /// The type that particles have in formats without types: dark matter.
    pub(super) const DARK: u8 = 1;
}

/// The contents of a file. All per-point parts have the length and the order of `points`.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The points, as read, in the file's unit. With several files: file by file, in each type by type.
    pub points: Points,
    /// The type of each point, as stretches of points of one type, in their order; empty if the format has no types.
    pub types: Vec<TypeRun>,
    /// The number of particles of each type in the file, including types that were not read, ascending; empty if the format has no types.
    pub file_types: Vec<(u8, u64)>,
    /// Peculiar velocities, if the file has them, in the file's unit.
    ///
    /// Gadget stores u = v / sqrt(a) for a comoving run; these are peculiar velocities v = u sqrt(a). A run is comoving if its header says
    /// so, or if its time is 1 / (1 + redshift); in others the file's numbers are velocities already. At a = 1 both are the same. What a
    /// header leaves open is in [`Snapshot::notes`]; one whose time and redshift exclude each other is refused.
    /// [`ReadOptions::velocity_unit`](crate::ReadOptions::velocity_unit) overrules this.
    pub velocities: Option<Points>,
    /// Particle ids, if the file has them. Those of particles without an id are 2^64 - 1: see [`Snapshot::types_without_ids`].
    pub ids: Option<Vec<u64>>,
    /// The types whose particles have no ids, ascending, where other types have some ([`ReadOptions::partial_ids`](crate::ReadOptions::partial_ids)).
    pub types_without_ids: Vec<u8>,
    /// Particle masses.
    pub masses: Masses,
    /// The mass of all particles in the file, of all types, also of those that were not read; `None` where masses are unknown, and in a part
    /// of a whole ([`ReadOptions::part`](crate::ReadOptions::part)) where it is the sum of [`Slice::matter`] of all parts.
    pub matter: Option<f64>,
    /// The units that the file names, which Gadget's and arrays do not; those of Gadget's velocities are km/s by custom.
    pub units: KnownUnits,
    /// The redshift, if the file names one.
    pub redshift: Option<f64>,
    /// Side of the periodic box, if the file names one.
    pub box_size: Option<f64>,
    /// The cosmology that the file names.
    pub background: Background,
    /// The header of a Gadget binary.
    pub header: Option<Header>,
    /// The format found.
    pub format: Format,
    /// The columns of a table that coordinates were read from, as it names them or as they were chosen; empty if neither did.
    pub columns: Vec<String>,
    /// The rows of a table that are left out as values are missing ([`ReadOptions::skip_missing`](crate::ReadOptions::skip_missing)),
    /// ascending, from 0 among those of the wanted types; of the whole table, also in a part or a subsample of it.
    pub skipped: Vec<u64>,
    /// What the file leaves open and was taken for so, in sentences for people.
    pub notes: Vec<String>,
    /// Where these points are in the whole that they are a part of; `None` if they are the whole.
    pub slice: Option<Slice>,
    /// The fraction of the particles that were kept, as [`ReadOptions::subsample`](crate::ReadOptions::subsample) asks. `None` if all
    /// were.
    pub subsample: Option<f64>,
    /// The number of files of the snapshot, where one of several was read alone ([`ReadOptions::single_part`](crate::ReadOptions::single_part)).
    pub one_of_files: Option<u32>,
}

/// Without the header, which repeats the rest.
impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("format", &self.format)
            .field("points", &self.points)
            .field("types", &ropewalk::internals::brief::Brief(&self.types))
            .field("velocities", &self.velocities)
            .field("ids", &self.ids.as_deref().map(ropewalk::internals::brief::Brief))
            .field("masses", &self.masses)
            .field("matter", &self.matter)
            .field("units", &self.units)
            .field("redshift", &self.redshift)
            .field("box_size", &self.box_size)
            .field("background", &self.background)
            .field("columns", &self.columns)
            .field("notes", &self.notes)
            .field("slice", &self.slice)
            .finish_non_exhaustive()
    }
}

impl Snapshot {
    /// Points alone, which are not from a file: nothing else is known of them. Set the fields that are.
    pub fn new(points: Points) -> Self {
        Self {
            points,
            types: vec![],
            file_types: vec![],
            velocities: None,
            ids: None,
            types_without_ids: vec![],
            masses: Masses::Unknown,
            matter: None,
            units: KnownUnits::default(),
            redshift: None,
            box_size: None,
            background: Background::default(),
            header: None,
            format: Format::Memory,
            columns: vec![],
            skipped: vec![],
            notes: vec![],
            slice: None,
            subsample: None,
            one_of_files: None,
        }
    }

    /// What is known of all points, without any.
    #[doc(hidden)]
    pub fn without_particles(&self) -> Self {
        Self {
            units: self.units,
            redshift: self.redshift,
            box_size: self.box_size,
            background: self.background,
            header: self.header.clone(),
            format: self.format,
            columns: self.columns.clone(),
            notes: self.notes.clone(),
            file_types: self.file_types.clone(),
            types_without_ids: self.types_without_ids.clone(),
            subsample: self.subsample,
            one_of_files: self.one_of_files,
            ..Self::new(Points::F32(ropewalk_table::points::Table::of(3, vec![])))
        }
    }

    /// Points of the whole before the first of these: 0, unless these are a part.
    pub fn first_row(&self) -> u64 {
        self.slice.as_ref().map_or(0, |slice| slice.first)
    }

    /// Points of the whole that these are, or are a part of.
    pub fn total_rows(&self) -> u64 {
        self.slice.as_ref().map_or(self.points.len() as u64, |slice| slice.total)
    }

    /// The values of the particles of one type, in the order of these particles in the file; `values` has one for each particle.
    ///
    /// ```
    /// use ropewalk_io::{Points, Snapshot, Table, TypeRun};
    ///
    /// let mut snapshot = Snapshot::new(Points::F32(Table::new(1, vec![0.0, 1.0, 2.0])?));
    /// snapshot.types = [0, 4, 0].map(|particle_type| TypeRun { particle_type, count: 1 }).to_vec();
    /// assert_eq!(snapshot.of_type(0, &[7, 8, 9]), [7, 9]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn of_type<T: Copy>(&self, particle_type: u8, values: &[T]) -> Vec<T> {
        let mut rest = values;
        let mut of_type = vec![];
        for run in &self.types {
            let (own, others) = rest.split_at(run.count.min(rest.len()));
            if run.particle_type == particle_type {
                of_type.extend_from_slice(own);
            }
            rest = others;
        }
        of_type
    }

    /// Whether particles have types that are to be told: some are not of type 1, dark matter, which readers take those without types for.
    ///
    /// ```
    /// use ropewalk_io::{Points, Snapshot, Table, TypeRun};
    ///
    /// let mut snapshot = Snapshot::new(Points::F32(Table::new(1, vec![0.0, 1.0])?));
    /// snapshot.types = vec![TypeRun { particle_type: 1, count: 2 }];
    /// assert!(!snapshot.has_types());
    /// snapshot.types[0].particle_type = 4;
    /// assert!(snapshot.has_types());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn has_types(&self) -> bool {
        self.types.iter().any(|run| run.particle_type != TypeRun::DARK)
    }

    /// The units and the cosmology, from the options and from what the snapshot states. `side` is that of the periodic box, whether or
    /// not halos are found in it.
    pub fn universe(&self, options: &UniverseOptions, side: Option<f64>) -> Universe {
        let (background, redshift, units, matter) = (self.background, self.redshift, self.units, self.matter);
        Universe::new(options, &StatedUniverse { background, redshift, units, matter, side })
    }
}

impl Snapshot {
    /// One mass in place of a list, where the header of a table says that all particles have that one. Masses in the list are divided
    /// by `fraction`; `rows` are those of the table, read or not.
    pub(super) fn with_equal_masses(mut self, mass: Option<f64>, fraction: f64, rows: u64) -> Self {
        if let (Masses::Each(masses), Some(mass)) = (&self.masses, mass)
            && masses.iter().all(|own| *own == mass / fraction)
        {
            if masses.len() as u64 == rows {
                self.matter = Some(mass * masses.len() as f64);
            }
            self.masses = Masses::Equal(mass / fraction);
        }
        self
    }
}
