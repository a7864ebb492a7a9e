//! The contents of a file, in memory.

use ropewalk::halo::{Background, StatedUniverse, Universe, UniverseOptions};
use ropewalk::units::KnownUnits;

use crate::gadget_header::Header;
use crate::{Format, Points, Slice};

/// The masses of the particles, in the file's unit (Gadget: usually 1e10 Msun/h).
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Masses {
    /// The mass of every particle, if all masses are equal.
    Equal(f64),
    /// One mass per point, in the order of the points.
    Each(Vec<f64>),
    /// The file does not state masses.
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

/// A run of consecutive particles of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TypeRun {
    /// The type, as in [`ReadOptions::types`](crate::ReadOptions::types).
    pub particle_type: u8,
    /// The number of particles.
    pub count: usize,
}

impl TypeRun {
    /// The type of particles in formats without types: dark matter.
    pub(super) const DARK: u8 = 1;
}

/// The points of a file with their types, velocities, ids and masses, and the information in its header. All arrays
/// with one value per point have the length and the order of `points`.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The points as stored, in the file's unit. Points of several files are in the order of the files, and within a
    /// file in the order of the types.
    pub points: Points,
    /// The types of the points, as runs of consecutive points of one type; empty if the format has no types.
    pub types: Vec<TypeRun>,
    /// The number of particles of each type in the file, ascending by type, including types that were not read. Empty
    /// if the format has no types.
    pub file_types: Vec<(u8, u64)>,
    /// Peculiar velocities in the file's unit, if the file has velocities.
    ///
    /// Gadget stores u = v / sqrt(a) for a comoving run; this field holds peculiar velocities v = u sqrt(a). A run is
    /// comoving if its header says so, or if its time is 1 / (1 + redshift). In other runs the stored numbers are
    /// peculiar velocities. At a = 1 both are the same. [`Snapshot::notes`] lists assumptions about an ambiguous
    /// header. A header whose time and redshift contradict each other is rejected.
    /// [`ReadOptions::velocity_unit`](crate::ReadOptions::velocity_unit) overrides the header.
    pub velocities: Option<Points>,
    /// Particle ids, if the file has them. Particles without an id have the value 2^64 - 1: see
    /// [`Snapshot::types_without_ids`].
    pub ids: Option<Vec<u64>>,
    /// The types whose particles have no ids, ascending, if other types have ids
    /// ([`ReadOptions::partial_ids`](crate::ReadOptions::partial_ids)).
    pub types_without_ids: Vec<u8>,
    /// The masses of the particles, in the file's unit.
    pub masses: Masses,
    /// The mass of all particles in the file, including types and particles that were not read. `None` if masses are
    /// unknown. Also `None` in a part ([`ReadOptions::part`](crate::ReadOptions::part)) whose share is in
    /// [`Slice::matter`]: the mass is then the sum over all parts.
    pub matter: Option<f64>,
    /// The units that the file names. Gadget binaries and arrays name none; velocities of Gadget are in km/s by
    /// convention.
    pub units: KnownUnits,
    /// The unit of the coordinates of a table as written, such as `deg`, if it is not a known unit of length.
    pub coordinate_unit: Option<String>,
    /// The redshift, if the file names one.
    pub redshift: Option<f64>,
    /// The side of the periodic box, if the file names one.
    pub box_size: Option<f64>,
    /// The cosmology that the file names.
    pub background: Background,
    /// The header of a Gadget binary file.
    pub header: Option<Header>,
    /// The detected format.
    pub format: Format,
    /// The names of the columns from which coordinates of a table were read, as in the table or as chosen; empty if
    /// there are no names.
    pub columns: Vec<String>,
    /// The rows of a table that are left out because values are missing
    /// ([`ReadOptions::skip_missing`](crate::ReadOptions::skip_missing)). Indices are ascending, from 0 among the
    /// rows of the requested types. The list covers the whole table, also in a part or a subsample.
    pub skipped: Vec<u64>,
    /// Assumptions about what the file does not settle, as sentences for users.
    pub notes: Vec<String>,
    /// The location of these points in the whole, if they are a part; `None` if they are the whole.
    pub slice: Option<Slice>,
    /// The fraction of the particles that were kept, as requested by
    /// [`ReadOptions::subsample`](crate::ReadOptions::subsample). `None` if all particles were kept.
    pub subsample: Option<f64>,
    /// The number of files of the snapshot, if only one of them was read
    /// ([`ReadOptions::single_part`](crate::ReadOptions::single_part)).
    pub one_of_files: Option<u32>,
}

/// Omits the header, which repeats other fields.
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
    /// Creates a snapshot of points that are not from a file. All other fields are empty or unknown; set those that
    /// are known.
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
            coordinate_unit: None,
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

    /// Returns this snapshot without its points: only the information about the whole.
    #[doc(hidden)]
    pub fn without_particles(&self) -> Self {
        Self {
            units: self.units,
            coordinate_unit: self.coordinate_unit.clone(),
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
            ..Self::new(Points::F32(ropewalk_table::points::Table::from_valid(3, vec![])))
        }
    }

    /// Returns the number of points of the whole snapshot that precede the first of these points: 0, unless they are a
    /// part.
    pub fn first_row(&self) -> u64 {
        self.slice.as_ref().map_or(0, |slice| slice.first)
    }

    /// Returns the number of points of the whole snapshot, of which these points may be a part.
    pub fn total_rows(&self) -> u64 {
        self.slice.as_ref().map_or(self.points.len() as u64, |slice| slice.total)
    }

    /// Returns the values of the particles of one type, in their order in the file. `values` has one value per
    /// particle.
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

    /// Returns `true` if any particle has a type other than 1 (dark matter). Readers assign type 1 to all particles of
    /// formats without types.
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

    /// Returns the units and the cosmology that follow from the options and from the statements of the snapshot.
    /// `side` is the side of the periodic box, whether or not halos are found in it.
    pub fn universe(&self, options: &UniverseOptions, side: Option<f64>) -> Universe {
        let (background, redshift, units, matter) = (self.background, self.redshift, self.units, self.matter);
        Universe::new(options, &StatedUniverse { background, redshift, units, matter, side })
    }
}

impl Snapshot {
    /// Replaces a list of masses by one mass, if the header of a table states that all particles have mass `mass` and
    /// the list agrees. The listed masses are divided by `fraction`; `rows` is the number of rows of the table, read
    /// or not.
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
