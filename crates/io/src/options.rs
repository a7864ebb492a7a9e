//! The options that select what to read from a file.

use std::path::Path;

use ropewalk::units::{Units, VelocityUnit};
use ropewalk::{Error, Result};

use crate::Part;
use crate::epoch::Doubt;

/// The selection of what to read from a file. Start from [`ReadOptions::default`].
///
/// ```
/// let options = ropewalk_io::ReadOptions::default().types([1]).redshift(0.5).ids(false);
/// assert_eq!((options.types, options.redshift, options.ids), (vec![1], Some(0.5), false));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ReadOptions {
    /// The particle types to read, numbered as in Gadget. If empty, all types are read.
    ///
    /// 0 is gas, 1 dark matter, 4 stars, 5 black holes or boundary, and 6 neutrinos. 2 and 3 differ among codes: disk
    /// and bulge, or tracers.
    ///
    /// Formats and tables without types ignore this. Tables store types in a column `type`, and archives of arrays in
    /// `types`, if all its values are types.
    pub types: Vec<u8>,
    /// If `true`, velocities are read, if the file has them.
    pub velocities: bool,
    /// If `true`, ids are read, if the file has them.
    pub ids: bool,
    /// If `true`, types without ids are listed in
    /// [`Snapshot::types_without_ids`](crate::Snapshot::types_without_ids), and ids of the other types are read. If
    /// `false`, a file that has ids for only some of the requested types is an error. Only HDF5 files can have such
    /// types.
    pub partial_ids: bool,
    /// If `true`, masses are read, if the file has them.
    pub masses: bool,
    /// If `true`, velocities, ids and masses of a table are not read. Its types are read only if
    /// [`ReadOptions::types`] selects some. [`Snapshot::notes`](crate::Snapshot::notes) names the columns left out,
    /// unless [`ReadOptions::columns`] chooses columns.
    pub coordinates_only: bool,
    /// The fraction of the particles to read, above 0 and at most 1. A hash of a particle's index among those of the
    /// requested types decides whether it is kept, so that every run keeps the same particles. Masses are divided by
    /// the fraction, so that sums keep their expected value. `None` keeps all particles.
    pub subsample: Option<f64>,
    /// The part to read, where the ranks of a run share the points. A part consists of the rows [`Part::rows`] of
    /// those that the whole reading returns with the same options, in the same order. Everything else is as in the
    /// whole reading, except [`Snapshot::slice`], which locates these rows in the whole, and [`Snapshot::matter`].
    /// `None` reads all rows.
    ///
    /// A part holds only its own rows in memory. It reads only their bytes, the data that locates them, and the data
    /// decoded or checked together with them (chunks of HDF5, row groups of Parquet, blocks of GenericIO).
    /// Exceptions:
    ///
    /// - Text is read whole, and all its rows are held first, except ids of Tipsy.
    /// - Types of particles stored in mixed order, in tables and RAMSES, and masses of Parquet are also read and held
    ///   whole.
    /// - The arrays of a NumPy archive are read whole, for their checksums.
    /// - Each process uncompresses a compressed file.
    /// - With [`ReadOptions::subsample`], each part evaluates the hash of every particle, some nanoseconds each, and
    ///   reads its share of the particles that are kept.
    ///
    /// [`Snapshot::slice`]: crate::Snapshot::slice
    /// [`Snapshot::matter`]: crate::Snapshot::matter
    pub part: Option<Part>,
    /// Tables: the columns that are coordinates, in this order, by name or by number from 1. Columns of NumPy arrays
    /// have only numbers. If empty, the first of these rules that applies chooses the columns:
    ///
    /// 1. All columns, if the table has no names.
    /// 2. Those named x, y (and z, if there is one), if x and y both exist.
    /// 3. Those of longitude and latitude, as `lon` and `lat` or `RA` and `DEC`, and z, if there is one.
    /// 4. All columns of numbers except id, mass, type, vx, vy, vz, and those whose names mark them as indexes, ids,
    ///    labels, weights or flags.
    ///
    /// [`Snapshot::notes`](crate::Snapshot::notes) names the columns that are left out. Choosing columns of a Gadget
    /// snapshot is an error, since it has no columns.
    ///
    /// The periodic box of a table applies to chosen columns if they would also be the coordinates without a choice.
    /// Otherwise the box is not used, and [`Snapshot::notes`](crate::Snapshot::notes) says so.
    pub columns: Vec<String>,
    /// If `true`, rows of a table with a missing value in a column that is read are left out. If `false`, such a
    /// value is an error. For snapshots of simulations, `true` is an error.
    ///
    /// Missing values are NaN and, in coordinates of Parquet tables, nulls. In text they are empty fields and the words
    /// that pandas treats as missing, such as `NA`, `N/A`, `null`, `None`, `--` and `?`.
    /// [`Snapshot::skipped`](crate::Snapshot::skipped) lists the rows that are left out.
    pub skip_missing: bool,
    /// The unit of the file's velocities, which overrides the unit that the file states. For Gadget files, `None`
    /// means that [`Snapshot::velocities`](crate::Snapshot::velocities) are in km/s, converted as described there.
    pub velocity_unit: Option<VelocityUnit>,
    /// The redshift, which overrides that of the header.
    pub redshift: Option<f64>,
    /// If `true`, a periodic box that is not a cube is treated as open. If `false`, such a box is an error, since
    /// only cubes are supported as periodic boxes.
    pub open: bool,
    /// If `true`, only one file of a split snapshot is read, without the others. Its particles are a part of the
    /// snapshot, so [`Snapshot::matter`](crate::Snapshot::matter) is `None`, and
    /// [`Snapshot::notes`](crate::Snapshot::notes) names the part.
    pub single_part: bool,
}

impl Default for ReadOptions {
    /// Selects all particles of all types, with velocities, ids and masses.
    fn default() -> Self {
        Self {
            types: vec![],
            velocities: true,
            ids: true,
            partial_ids: false,
            masses: true,
            coordinates_only: false,
            subsample: None,
            part: None,
            columns: vec![],
            skip_missing: false,
            velocity_unit: None,
            redshift: None,
            open: false,
            single_part: false,
        }
    }
}

impl ReadOptions {
    /// Selects the particle types to read, numbered as in Gadget; all types if empty. Sets [`ReadOptions::types`].
    #[must_use]
    pub fn types(mut self, types: impl IntoIterator<Item = u8>) -> Self {
        self.types = types.into_iter().collect();
        self
    }

    /// Requests velocities, if the file has them, or with `false` skips them. Sets [`ReadOptions::velocities`].
    #[must_use]
    pub fn velocities(mut self, wanted: bool) -> Self {
        self.velocities = wanted;
        self
    }

    /// Requests particle ids, if the file has them, or with `false` skips them. Sets [`ReadOptions::ids`].
    #[must_use]
    pub fn ids(mut self, wanted: bool) -> Self {
        self.ids = wanted;
        self
    }

    /// Allows files that have ids for only some of the requested particle types, or with `false` makes them an error.
    /// Sets [`ReadOptions::partial_ids`].
    #[must_use]
    pub fn partial_ids(mut self, allowed: bool) -> Self {
        self.partial_ids = allowed;
        self
    }

    /// Requests particle masses, if the file has them, or with `false` skips them. Sets [`ReadOptions::masses`].
    #[must_use]
    pub fn masses(mut self, wanted: bool) -> Self {
        self.masses = wanted;
        self
    }

    /// Selects the coordinates alone: if `only` is `true`, velocities, ids and masses are not read in any format. Sets
    /// [`ReadOptions::coordinates_only`].
    ///
    /// ```
    /// use ropewalk_io::{ReadOptions, read_from};
    ///
    /// let table = &b"x,y,id\n1,2,7\n3,4,8\n"[..];
    /// let snapshot = read_from(table, "standard input", &ReadOptions::default().coordinates_only(true), None)?;
    /// assert!(snapshot.ids.is_none() && snapshot.notes[0].starts_with("columns left out: id (an id by its name)"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn coordinates_only(mut self, only: bool) -> Self {
        self.coordinates_only = only;
        if only { self.velocities(false).ids(false).masses(false) } else { self }
    }

    /// Selects a reproducible sample with this fraction of the particles, above 0 and at most 1. Sets
    /// [`ReadOptions::subsample`].
    #[must_use]
    pub fn subsample(mut self, fraction: f64) -> Self {
        self.subsample = Some(fraction);
        self
    }

    /// Selects the part with index `part`, from 0, of the rows divided into `parts` parts. The rows of all parts,
    /// concatenated, are the rows of the whole reading. Sets [`ReadOptions::part`].
    ///
    /// ```
    /// use ropewalk_io::{ReadOptions, read_from};
    ///
    /// let table = &b"x,y\n1,2\n3,4\n5,6\n"[..];
    /// let part = read_from(table, "standard input", &ReadOptions::default().part(1, 2), None)?;
    /// assert_eq!((part.first_row(), part.points.len(), part.total_rows()), (1, 2, 3));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn part(mut self, part: usize, parts: usize) -> Self {
        self.part = Some(Part { index: part, count: parts });
        self
    }

    /// Selects the columns of a table that are coordinates, by name or by number from 1. Sets [`ReadOptions::columns`].
    #[must_use]
    pub fn columns<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Leaves out rows of a table with missing values, or with `false` makes such values an error. Sets
    /// [`ReadOptions::skip_missing`].
    ///
    /// ```
    /// use ropewalk_io::{ReadOptions, read_from};
    ///
    /// let table = &b"lon,lat\n1,2\n,4\n5,NA\n7,8\n"[..];
    /// let snapshot = read_from(table, "standard input", &ReadOptions::default().skip_missing(true), None)?;
    /// assert_eq!((snapshot.points.len(), snapshot.skipped), (2, vec![1, 2]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn skip_missing(mut self, skip: bool) -> Self {
        self.skip_missing = skip;
        self
    }

    /// Sets the unit of the file's velocities, which overrides the unit that the file states:
    /// [`ReadOptions::velocity_unit`].
    #[must_use]
    pub fn velocity_unit(mut self, unit: VelocityUnit) -> Self {
        self.velocity_unit = Some(unit);
        self
    }

    /// Sets the redshift, which overrides that of the header: [`ReadOptions::redshift`].
    #[must_use]
    pub fn redshift(mut self, redshift: f64) -> Self {
        self.redshift = Some(redshift);
        self
    }

    /// Treats a periodic box that is not a cube as open space, or with `false` makes it an error. Sets
    /// [`ReadOptions::open`].
    #[must_use]
    pub fn open(mut self, open: bool) -> Self {
        self.open = open;
        self
    }

    /// Selects a single file of a split snapshot, without the others, or with `false` the whole snapshot. Sets
    /// [`ReadOptions::single_part`].
    #[must_use]
    pub fn single_part(mut self, single: bool) -> Self {
        self.single_part = single;
        self
    }

    /// Returns the factor that converts numbers in `unit` to peculiar velocities. The file states `redshift` and, if
    /// that has more digits, `scale_factor`.
    pub(super) fn velocity_factor(
        &self,
        unit: VelocityUnit,
        redshift: Option<f64>,
        scale_factor: Option<f64>,
    ) -> Result<f64> {
        if !unit.is_internal {
            return Ok(1.0);
        }
        match (self.redshift, scale_factor) {
            (None, Some(scale_factor)) => Ok(scale_factor.sqrt()),
            (own, _) => {
                let Some(redshift) = own.or(redshift) else {
                    let message = format!("velocities in {unit} need the redshift, which is not known");
                    return Err(Error::missing("redshift", message));
                };
                Ok(Units::GADGET.conversion(redshift, None)?.scale_factor.sqrt())
            }
        }
    }

    /// Returns the doubt about a header's epoch that these options do not settle. Velocities depend on the epoch if
    /// `has_velocities`.
    pub(super) fn in_doubt<'a>(&self, doubt: Option<&'a Doubt>, has_velocities: bool) -> Option<&'a str> {
        let depends = has_velocities && self.velocity_unit.is_none();
        match doubt? {
            Doubt::Conflict(text) if depends || self.redshift.is_none() => Some(text),
            Doubt::Assumed(text) if depends => Some(text),
            _ => None,
        }
    }

    /// Returns the notes on a doubt about a header's epoch. Velocities depend on the epoch if `has_velocities`.
    ///
    /// Errors: velocities whose unit nothing settles.
    pub(super) fn settled(&self, path: &Path, doubt: Option<&Doubt>, has_velocities: bool) -> Result<Vec<String>> {
        let Some(text) = self.in_doubt(doubt, has_velocities) else { return Ok(vec![]) };
        let depends = has_velocities && self.velocity_unit.is_none();
        let advice = "(ReadOptions::velocity_unit: km/s for peculiar velocities, gadget for those over sqrt(a))";
        match doubt {
            Some(Doubt::Conflict(_)) if depends => {
                Err(Error::file(path, format!("{text}: give the unit of velocities {advice}, and the redshift")))
            }
            Some(Doubt::Assumed(_)) => Ok(vec![format!("{text} {advice}")]),
            _ => Ok(vec![text.into()]),
        }
    }

    /// Returns the requested types among these, in their order. `counts` holds the number of particles of each type.
    /// Readers call [`Reading::wanted_types`](crate::reading::Reading::wanted_types), which keeps the counts.
    ///
    /// Errors: a requested type has no particles; the message names the types that exist.
    pub(super) fn wanted_types(&self, path: &Path, counts: &[(u8, u64)]) -> Result<Vec<u8>> {
        let there = |t: u8| counts.iter().any(|&(other, n)| other == t && n > 0);
        if let Some(&missing) = self.types.iter().find(|&&t| !there(t)) {
            let present: Vec<String> =
                counts.iter().filter(|(_, n)| *n > 0).map(|(t, n)| format!("{t} ({n})")).collect();
            let present = if present.is_empty() { "none".into() } else { present.join(", ") };
            return Err(Error::file(path, format!("has no particles of type {missing}; types present: {present}")));
        }
        let is_wanted = |t: u8| self.types.is_empty() || self.types.contains(&t);
        Ok(counts.iter().map(|&(t, _)| t).filter(|&t| is_wanted(t)).collect())
    }
}
