//! What a caller wants of a file.

use std::path::Path;

use ropewalk::units::{Units, VelocityUnit};
use ropewalk::{Error, Result};

use crate::Part;
use crate::epoch::Doubt;

/// What to read of a file. Start from [`ReadOptions::default`].
///
/// ```
/// let options = ropewalk_io::ReadOptions::default().types([1]).redshift(0.5).ids(false);
/// assert_eq!((options.types, options.redshift, options.ids), (vec![1], Some(0.5), false));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ReadOptions {
    /// The particle types to read, numbered as Gadget does: 0 gas, 1 dark matter, 2 and 3 others (disk, bulge, or tracers), 4 stars,
    /// 5 black holes or boundary, 6 neutrinos. Empty reads all. Formats and tables without types ignore this; tables have them in a column
    /// `type`, archives of arrays in `types`, if all its values are types.
    pub types: Vec<u8>,
    /// Whether to read velocities, if the file has them.
    pub velocities: bool,
    /// Whether to read ids, if the file has them.
    pub ids: bool,
    /// If `true`, types without ids are listed in [`Snapshot::types_without_ids`](crate::Snapshot::types_without_ids), and ids of the other
    /// types are read. If `false`, a file that has ids for some of the wanted types alone is an error. Only HDF5 has such types.
    pub partial_ids: bool,
    /// Whether to read masses, if the file has them.
    pub masses: bool,
    /// If `true`, velocities, ids and masses of a table are not read, nor are types unless [`ReadOptions::types`] chooses some.
    /// [`Snapshot::notes`](crate::Snapshot::notes) names their columns, unless columns are chosen.
    pub coordinates_only: bool,
    /// Reads about this part of the particles, above 0 and at most 1: each is kept or not by its place among those of the wanted types, so
    /// that all runs keep the same. Their masses are divided by it, so that sums stay what they are on average. `None` keeps all.
    pub subsample: Option<f64>,
    /// Reads one of several parts, as the processes of a run do that share the points: its rows of those that the whole read gives with the
    /// same options, [`Part::rows`], in the same order. All else is as in the whole read but for [`Snapshot::slice`], which tells where these
    /// rows are, and [`Snapshot::matter`]. `None` reads all.
    ///
    /// A part holds no more than its rows in memory, and reads no more than their bytes, what tells where they are, and what is decoded or
    /// checked with them: chunks of HDF5, row groups of Parquet, blocks of GenericIO. Exceptions: text is read whole, and but for ids of Tipsy
    /// held first; so are the types of particles that lie mixed, in tables and RAMSES, and masses of Parquet; the arrays of a NumPy archive are
    /// read whole for their checksums. A compressed file is uncompressed by each process. With [`ReadOptions::subsample`] each part looks at
    /// the places of all particles, some nanoseconds each, and has its part of those that are kept.
    ///
    /// [`Snapshot::slice`]: crate::Snapshot::slice
    /// [`Snapshot::matter`]: crate::Snapshot::matter
    pub part: Option<Part>,
    /// Tables: the columns that are coordinates, in this order, by name or by number from 1; NumPy arrays have numbers alone. Empty
    /// leaves it to the table: all columns if it has no names; else those named x, y (and z, if there is one) if it has both; else those
    /// of longitude and latitude, as `lon` and `lat` or `RA` and `DEC`, and z; otherwise all columns of numbers but id, mass, type, vx, vy, vz
    /// and those whose names say that they are indexes, ids, labels, weights or flags. [`Snapshot::notes`](crate::Snapshot::notes) names
    /// the columns that are left out. A Gadget snapshot has no columns, and refuses to have them chosen.
    ///
    /// The periodic box of a table holds for chosen columns that are coordinates without a choice. For others it is not used, which
    /// [`Snapshot::notes`](crate::Snapshot::notes) says.
    pub columns: Vec<String>,
    /// Text tables: whether rows with a missing value in a column that is read are left out; otherwise such a value is an error. Missing are
    /// empty fields, `NA`, `N/A`, `NaN`, `null`, `None`, `--`, `?` and the other words that pandas takes for missing values.
    /// [`Snapshot::skipped`](crate::Snapshot::skipped) has the rows that are left out. Other formats refuse this.
    pub skip_missing: bool,
    /// The unit of the file's velocities, if the user knows better than the file. Gadget: `None` stands for km/s, as
    /// [`Snapshot::velocities`](crate::Snapshot::velocities) says.
    pub velocity_unit: Option<VelocityUnit>,
    /// The redshift, if the user knows better than the header.
    pub redshift: Option<f64>,
    /// Whether a periodic box that is no cube is taken for open; otherwise it is an error, for only cubes are periodic.
    pub open: bool,
    /// Whether to read one file of a split snapshot alone, without the others. Its particles are a part of the snapshot, so
    /// [`Snapshot::matter`](crate::Snapshot::matter) is `None`, and [`Snapshot::notes`](crate::Snapshot::notes) names the part.
    pub single_part: bool,
}

impl Default for ReadOptions {
    /// All particles of all types, and all that belongs to them.
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
    /// Sets [`ReadOptions::types`].
    #[must_use]
    pub fn types(mut self, types: impl IntoIterator<Item = u8>) -> Self {
        self.types = types.into_iter().collect();
        self
    }

    /// Sets [`ReadOptions::velocities`].
    #[must_use]
    pub fn velocities(mut self, wanted: bool) -> Self {
        self.velocities = wanted;
        self
    }

    /// Sets [`ReadOptions::ids`].
    #[must_use]
    pub fn ids(mut self, wanted: bool) -> Self {
        self.ids = wanted;
        self
    }

    /// Sets [`ReadOptions::partial_ids`].
    #[must_use]
    pub fn partial_ids(mut self, allowed: bool) -> Self {
        self.partial_ids = allowed;
        self
    }

    /// Sets [`ReadOptions::masses`].
    #[must_use]
    pub fn masses(mut self, wanted: bool) -> Self {
        self.masses = wanted;
        self
    }

    /// Sets [`ReadOptions::coordinates_only`]; if it is `true`, velocities, ids and masses are not read in any format.
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

    /// Sets [`ReadOptions::subsample`].
    #[must_use]
    pub fn subsample(mut self, fraction: f64) -> Self {
        self.subsample = Some(fraction);
        self
    }

    /// Sets [`ReadOptions::part`]: which one, from 0, of how many. What the parts hold, one after the other, is what the whole read holds.
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

    /// Sets [`ReadOptions::columns`].
    #[must_use]
    pub fn columns<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`ReadOptions::skip_missing`].
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

    /// Sets [`ReadOptions::velocity_unit`].
    #[must_use]
    pub fn velocity_unit(mut self, unit: VelocityUnit) -> Self {
        self.velocity_unit = Some(unit);
        self
    }

    /// Sets [`ReadOptions::redshift`].
    #[must_use]
    pub fn redshift(mut self, redshift: f64) -> Self {
        self.redshift = Some(redshift);
        self
    }

    /// Sets [`ReadOptions::open`].
    #[must_use]
    pub fn open(mut self, open: bool) -> Self {
        self.open = open;
        self
    }

    /// Sets [`ReadOptions::single_part`].
    #[must_use]
    pub fn single_part(mut self, single: bool) -> Self {
        self.single_part = single;
        self
    }

    /// What to multiply numbers in `unit` with to be peculiar velocities, in a file that says its redshift and, where it has more
    /// digits, its scale factor.
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

    /// What is in doubt about a header's epoch and not settled by these options; velocities depend on it if `has_velocities`.
    pub(super) fn in_doubt<'a>(&self, doubt: Option<&'a Doubt>, has_velocities: bool) -> Option<&'a str> {
        let depends = has_velocities && self.velocity_unit.is_none();
        match doubt? {
            Doubt::Conflict(text) if depends || self.redshift.is_none() => Some(text),
            Doubt::Assumed(text) if depends => Some(text),
            _ => None,
        }
    }

    /// What is to be said of a doubt about a header's epoch, on which velocities depend if `has_velocities`.
    ///
    /// Errors: velocities whose meaning nothing tells.
    pub(super) fn settled(&self, path: &Path, doubt: Option<&Doubt>, has_velocities: bool) -> Result<Vec<String>> {
        let Some(text) = self.in_doubt(doubt, has_velocities) else { return Ok(vec![]) };
        let depends = has_velocities && self.velocity_unit.is_none();
        let advice = "(ReadOptions::velocity_unit: km/s for peculiar velocities, gadget for those over sqrt(a))";
        match doubt {
            Some(Doubt::Conflict(_)) if depends => {
                Err(Error::file(path, format!("{text}: say what its velocities are in {advice}, and its redshift")))
            }
            Some(Doubt::Assumed(_)) => Ok(vec![format!("{text} {advice}")]),
            _ => Ok(vec![text.into()]),
        }
    }

    /// The wanted ones of these types in their order, or an error that names those which are there. `counts` has particles of each type.
    /// Readers call [`Reading::wanted_types`](crate::reading::Reading::wanted_types), which keeps the counts.
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
