//! The state of one reading of a file: options, progress, and checks that the file does not change.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use ropewalk::halo::MassSum;
use ropewalk::{Error, Result};

use crate::number_types::Target;
use crate::part::{Part, RowRange, Slice, common};
use crate::particle_type::{NO_TYPE, counts};
use crate::source::Source;
use crate::subsample::Keep;
use crate::total_mass::TotalMass;
use crate::type_column::TypeColumn;
use crate::{ReadOptions, TypeRun};

/// The progress of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of arrays that are filled.
    pub done: u64,
    /// Total bytes of arrays to be filled, for the columns encountered so far.
    pub total: u64,
}

/// The callback that receives each [`Progress`]. Several threads call it at the same time.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Sync);

/// The size and the modification time of a file when it was first opened.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn new(meta: &Metadata) -> Self {
        Self { len: meta.len(), modified: meta.modified().ok() }
    }
}

/// The state of one call of [`read_with`](crate::read_with).
pub(super) struct Reading<'a> {
    pub options: &'a ReadOptions,
    pub keep: Keep,
    /// If `true`, columns are read as fields, and their names assign no roles (velocities, ids, ...).
    pub reads_fields: bool,
    part: Option<Part>,
    /// The rows of the part within the whole, set once the number of rows of the whole is known.
    places: OnceLock<RowRange>,
    /// The part's share of the mass of all particles, if that mass is to be summed.
    share: OnceLock<MassSum>,
    /// The types of the rows of a table, set once they are read.
    types: OnceLock<TypeColumn>,
    /// The note on a column named as types that holds other values.
    other_types: OnceLock<String>,
    /// The number of particles of each type in the file, set once it is known.
    counts: OnceLock<Vec<(u8, u64)>>,
    /// The number of files of the snapshot, if only one of them is read.
    one_of_files: OnceLock<u32>,
    on_progress: Option<OnProgress<'a>>,
    done: AtomicU64,
    total: AtomicU64,
    /// If `true`, the file is a copy in another folder, so the other files of its snapshot are not beside it.
    is_copy: AtomicBool,
    stamps: Mutex<BTreeMap<PathBuf, Stamp>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(options: &'a ReadOptions, on_progress: Option<OnProgress<'a>>) -> Result<Self> {
        options.part.map_or(Ok(()), Part::check)?;
        Ok(Self {
            options,
            keep: Keep::new(options.subsample)?,
            reads_fields: false,
            part: options.part,
            places: OnceLock::new(),
            share: OnceLock::new(),
            types: OnceLock::new(),
            other_types: OnceLock::new(),
            counts: OnceLock::new(),
            one_of_files: OnceLock::new(),
            on_progress,
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            is_copy: AtomicBool::new(false),
            stamps: Mutex::default(),
        })
    }

    /// Returns the same reading, with columns read as fields.
    pub(super) fn of_fields(self) -> Self {
        Self { reads_fields: true, ..self }
    }

    /// Opens a file. If the file changed since it was first opened, returns an error.
    pub(super) fn open(&self, path: &Path) -> Result<Source> {
        let source = Source::open(path)?;
        self.watch(path, source.metadata()?)?;
        Ok(source)
    }

    /// Records the size and the modification time of a file. If they differ from those recorded before, returns an
    /// error.
    pub(super) fn watch(&self, path: &Path, meta: Metadata) -> Result<()> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Stamp::new(&meta);
        if *stamps.entry(path.to_path_buf()).or_insert(now) == now { Ok(()) } else { Err(changed(path)) }
    }

    /// Records that the file is a copy in the folder for temporary files.
    pub(super) fn mark_copy(&self) {
        self.is_copy.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if files beside the one that is read may belong to it.
    pub(super) fn has_companions(&self) -> bool {
        !self.is_copy.load(Ordering::Relaxed)
    }

    /// Returns the requested types in the order of `counts`, the number of particles of each type in the file. Keeps
    /// the counts for [`Snapshot::file_types`](crate::Snapshot::file_types).
    pub(super) fn wanted_types(&self, path: &Path, counts: &[(u8, u64)]) -> Result<Vec<u8>> {
        let types = self.options.wanted_types(path, counts)?;
        // One reading reads one snapshot.
        _ = self.counts.set(counts.iter().copied().filter(|&(_, count)| count > 0).collect());
        Ok(types)
    }

    /// Records for [`Snapshot::one_of_files`](crate::Snapshot::one_of_files) that only one of `files` files is read.
    pub(super) fn mark_single_file(&self, files: u32) {
        _ = self.one_of_files.set(files);
    }

    /// The number of files of the snapshot, if only one of them is read.
    pub(super) fn one_of_files(&self) -> Option<u32> {
        self.one_of_files.get().copied()
    }

    /// The number of particles of each type in the file; empty if the format has no types.
    pub(super) fn file_types(&self) -> Vec<(u8, u64)> {
        self.counts.get().cloned().unwrap_or_default()
    }

    /// Returns the types of the rows of the table `path`, read from its column `name`. If the column holds values
    /// other than particle types and no types are requested, the column has another meaning: this is noted, and
    /// `None` is returned.
    ///
    /// Errors: types are requested, and the column holds other values, or lacks a requested type.
    pub(super) fn type_column(&self, path: &Path, name: &str, each: Vec<u8>) -> Result<Option<TypeColumn>> {
        if let Some(row) = each.iter().position(|&kind| kind == NO_TYPE) {
            if self.options.types.is_empty() {
                self.note_unread_types(&format!("row {} of {name}", row + 1));
                return Ok(None);
            }
            let must = <u8 as Target>::MUST;
            let message = format!("row {} of {name} is not {must}, but types were requested", row + 1);
            return Err(Error::file(path, message));
        }
        let counts = counts(each.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)));
        let wanted = self.wanted_types(path, &counts)?;
        Ok(Some(TypeColumn::new(each, counts, &wanted)))
    }

    /// Sets the types of the rows of a table. Rows of types that are not requested are left out.
    pub(super) fn set_types(&self, types: Option<TypeColumn>) {
        // One reading reads one table.
        _ = types.map(|types| self.types.set(types));
    }

    /// The types of the rows of a table, if it has them.
    pub(super) fn types(&self) -> Option<&TypeColumn> {
        self.types.get()
    }

    /// Records the note that a column named as types is not read, since `what` is not a particle type.
    pub(super) fn note_unread_types(&self, what: &str) {
        // One reading reads one table.
        _ = self.other_types.set(format!("types are not read: {what} is not {}", <u8 as Target>::MUST));
    }

    /// The note on a column that is named as types and is not read.
    pub(super) fn note_on_types(&self) -> Option<String> {
        self.other_types.get().cloned()
    }

    /// Returns `true` if the parts together read all rows of a table.
    #[cfg(feature = "parquet")]
    pub(super) fn is_whole(&self) -> bool {
        self.keep.is_all() && self.types().is_none_or(TypeColumn::is_all)
    }

    /// Returns `true` if this reading reads all particles of the requested types.
    pub(super) fn keeps_all(&self) -> bool {
        self.keep.is_all() && self.part.is_none()
    }

    /// Returns the range of this part among the `all` particles of the requested types. The subsample is taken from
    /// this range.
    pub(super) fn places(&self, all: u64) -> Range<u64> {
        let Some(part) = self.part else { return 0..all };
        let places = self.places.get_or_init(|| RowRange::new(part, all, &self.keep));
        // All columns have the same number of rows.
        if places.all == all { places.range.clone() } else { RowRange::new(part, all, &self.keep).range }
    }

    /// Returns this part's share of `all`, the list of all rows that are kept.
    #[cfg(feature = "parquet")]
    pub(super) fn share_of<T: Copy>(&self, all: Vec<T>) -> Vec<T> {
        match self.places.get() {
            Some(RowRange { rows, .. }) => all.get(rows.start as usize..rows.end as usize).unwrap_or_default().to_vec(),
            None => all,
        }
    }

    /// Returns the rows of this part in a sum that all parts compute together.
    pub(super) fn share(&self, rows: u64) -> Range<u64> {
        self.part.map_or(0..rows, |part| part.rows(rows))
    }

    /// Returns the mass of all particles. `None` if it is not above 0, and in a part whose share was summed:
    /// [`Reading::slice`] returns that share.
    pub(super) fn matter(&self, matter: TotalMass) -> Option<f64> {
        let TotalMass { mut known, share } = matter;
        match (self.part, share) {
            (Some(part), Some(mut share)) => {
                if part.index == 0 {
                    share.merge(&known);
                }
                // One reading reads one snapshot.
                _ = self.share.set(share);
                return None;
            }
            (_, share) => share.iter().for_each(|share| known.merge(share)),
        }
        Some(known.value()).filter(|&matter| matter > 0.0)
    }

    /// Returns the location of the part in the whole, if this reading reads a part.
    pub(super) fn slice(&self) -> Option<Slice> {
        self.part.map(|_| {
            let places = self.places.get();
            let (first, total) = places.map_or((0, 0), |places| (places.rows.start, places.total));
            Slice { first, total, matter: self.share.get().cloned() }
        })
    }

    /// Stops checking a file that will be removed.
    pub(super) fn forget(&self, path: &Path) {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// Returns an error if a file changed since it was first opened.
    pub(super) fn finish(self) -> Result<()> {
        for (path, stamp) in self.stamps.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let meta = std::fs::metadata(&path).map_err(|error| Error::io(&path, "cannot read metadata", error))?;
            if Stamp::new(&meta) != stamp {
                return Err(changed(&path));
            }
        }
        Ok(())
    }

    /// Returns the types of the particles that are kept, as runs. `stretches` lists runs of particles of one type.
    pub(super) fn runs(&self, stretches: impl Iterator<Item = (u8, u64)>) -> Vec<TypeRun> {
        let stretches: Vec<(u8, u64)> = stretches.collect();
        let places = self.places(stretches.iter().map(|(_, n)| n).sum());
        let mut place = 0;
        let mut runs: Vec<TypeRun> = vec![];
        for (particle_type, n) in stretches {
            let count = self.keep.count(common(&places, &(place..place + n))) as usize;
            place += n;
            match runs.last_mut().filter(|last| last.particle_type == particle_type) {
                Some(last) => last.count += count,
                None if count > 0 => runs.push(TypeRun { particle_type, count }),
                None => {}
            }
        }
        runs
    }

    /// Returns the types of the rows of a table that are kept, as runs; empty if the table has no types.
    pub(super) fn type_runs(&self) -> Vec<TypeRun> {
        self.types().map(|types| self.runs(types.wanted_runs())).unwrap_or_default()
    }

    /// Adds to the number of bytes to be filled, and reports progress.
    pub(super) fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.advance(0);
    }

    /// Adds to the number of bytes filled, and reports progress.
    pub(super) fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(tell) = self.on_progress {
            tell(Progress { done, total: self.total.load(Ordering::Relaxed) });
        }
    }
}

fn changed(path: &Path) -> Error {
    Error::file(path, "changed while it was read; read it again when no program writes to it")
}
