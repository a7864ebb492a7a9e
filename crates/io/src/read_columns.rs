//! Reading of columns from files into one array: in parallel over pieces and bands of rows, without a second copy.
//!
//! In: the pieces of a column in order, each a run of rows of a file. Out: one vector with the rows that are kept.
//! Cost: the vector, and one band per thread if rows are left out.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use ropewalk::internals::memory::try_zeroed;
use ropewalk::internals::parallel::for_each;
use ropewalk::{Error, Result};

use crate::memory_limit;
use crate::number_types::Word;
use crate::part::common;
use crate::reading::Reading;
use crate::source::no_room;
use crate::type_column::TypeColumn;

/// Bytes of a band, for rows that can be read in any grouping.
const BAND: usize = 1 << 20;

/// A run of rows of a column.
pub(super) trait RowSource<T>: Sync {
    /// The number of rows. Their bytes have been checked against the length of the file.
    fn len(&self) -> u64;

    /// The preferred number of rows per read. Bands begin at multiples of it.
    fn band(&self) -> u64;

    /// The granularity of reads: a read begins at a multiple of this number of rows, and ends at a multiple or at the
    /// last row.
    fn step(&self) -> u64 {
        self.band()
    }

    /// Reads rows from `first` on until `out` is full.
    fn read(&self, first: u64, out: &mut [T]) -> Result<()>;
}

/// Rows of words that are contiguous in a file.
pub(super) struct ContiguousRows<'a, W, F> {
    pub reading: &'a Reading<'a>,
    pub path: &'a Path,
    /// The byte offset of the first row.
    pub at: u64,
    pub rows: u64,
    /// The number of words per row.
    pub width: usize,
    pub big_endian: bool,
    pub convert: F,
    pub word: std::marker::PhantomData<W>,
}

impl<W, F> ContiguousRows<'_, W, F> {
    fn row_bytes(&self) -> u64 {
        (self.width * size_of::<W>()) as u64
    }
}

impl<W: Word, T, F: Fn(W) -> T + Sync> RowSource<T> for ContiguousRows<'_, W, F>
where
    W: Sync,
{
    fn len(&self) -> u64 {
        self.rows
    }

    fn band(&self) -> u64 {
        (BAND as u64 / self.row_bytes().max(1)).max(1)
    }

    fn step(&self) -> u64 {
        1
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        let mut source = self.reading.open(self.path)?;
        source.seek(self.at + first * self.row_bytes())?;
        let mut places = out.iter_mut();
        let n = places.len() as u64;
        source.words(n, self.big_endian, |chunk: &[W]| {
            // `chunk` must come first: `zip` advances its second iterator only if the first one has an item.
            chunk.iter().zip(places.by_ref()).for_each(|(&word, place)| *place = (self.convert)(word));
        })
    }
}

/// Rows that all have the same value.
pub(super) struct ConstantRows<T> {
    pub rows: u64,
    pub value: T,
}

impl<T: Copy + Sync> RowSource<T> for ConstantRows<T> {
    fn len(&self) -> u64 {
        self.rows
    }

    fn band(&self) -> u64 {
        BAND as u64
    }

    fn step(&self) -> u64 {
        1
    }

    fn read(&self, _: u64, out: &mut [T]) -> Result<()> {
        out.fill(self.value);
        Ok(())
    }
}

/// Rows of a piece that are read together.
struct Band<'a, T> {
    piece: &'a dyn RowSource<T>,
    rows: Range<u64>,
    /// The index of the first row among the rows of all pieces.
    first: u64,
    /// The place of the first row: its index among the rows of requested types.
    place: u64,
    types: Option<&'a TypeColumn>,
    /// The places of the part that is read.
    places: Range<u64>,
    out: &'a mut [T],
}

/// Rows of a piece that are read together, before memory for them is allocated.
struct PlannedBand<'a, T> {
    piece: &'a dyn RowSource<T>,
    rows: Range<u64>,
    first: u64,
    place: u64,
    /// The number of rows that are kept.
    count: u64,
}

/// Returns the bands that contain kept rows within `places`, and the number of rows that are kept.
fn plan_bands<'a, T>(
    reading: &Reading<'_>,
    pieces: &'a [Box<dyn RowSource<T> + '_>],
    types: Option<&TypeColumn>,
    places: &Range<u64>,
) -> (Vec<PlannedBand<'a, T>>, u64) {
    let mut planned = vec![];
    let (mut row, mut place, mut kept) = (0u64, 0u64, 0u64);
    for piece in pieces {
        let (n, step, band) = (piece.len(), piece.step().max(1), piece.band().max(1));
        for start in (0..n.div_ceil(band)).map(|k| k * band) {
            let mut rows = start..(start + band).min(n);
            let all = rows.end - rows.start;
            let wanted = types.map_or(all, |types| types.count(row..row + all));
            let own = common(places, &(place..place + wanted));
            let count = reading.keep.count(own.clone());
            let (mut first_row, mut first_place) = (row, place);
            if types.is_none() && count > 0 {
                // Without types, each row is a place, so the rows before and after `own` need not be read.
                let skipped = (own.start - place) / step * step;
                let end = (own.end - place).div_ceil(step).saturating_mul(step).min(all);
                (first_row, first_place) = (row + skipped, place + skipped);
                rows = start + skipped..start + end;
            }
            if count > 0 {
                planned.push(PlannedBand { piece: piece.as_ref(), rows, first: first_row, place: first_place, count });
            }
            (row, place, kept) = (row + all, place + wanted, kept + count);
        }
    }
    (planned, kept)
}

/// Returns the rows of all pieces, concatenated, with `width` values each. Only rows of the part that is read are
/// included, and of these only the rows that are kept.
///
/// Errors: the error of a band that fails.
pub(super) fn fill<T: Pod + Send + Sync>(
    reading: &Reading<'_>,
    path: &Path,
    width: usize,
    pieces: &[Box<dyn RowSource<T> + '_>],
) -> Result<Vec<T>> {
    let places = reading.places(wanted(reading, pieces));
    fill_places(reading, path, width, pieces, places)
}

/// Returns the rows of all parts, otherwise as [`fill`].
#[cfg(feature = "parquet")]
pub(super) fn fill_whole<T: Pod + Send + Sync>(
    reading: &Reading<'_>,
    path: &Path,
    width: usize,
    pieces: &[Box<dyn RowSource<T> + '_>],
) -> Result<Vec<T>> {
    let places = 0..wanted(reading, pieces);
    fill_places(reading, path, width, pieces, places)
}

/// Returns the number of rows of requested types.
fn wanted<T>(reading: &Reading<'_>, pieces: &[Box<dyn RowSource<T> + '_>]) -> u64 {
    let rows: u64 = pieces.iter().map(|piece| piece.len()).sum();
    reading.types().map_or(rows, |types| types.count(0..rows))
}

fn fill_places<T: Pod + Send + Sync>(
    reading: &Reading<'_>,
    path: &Path,
    width: usize,
    pieces: &[Box<dyn RowSource<T> + '_>],
    places: Range<u64>,
) -> Result<Vec<T>> {
    let types = reading.types().filter(|types| !types.is_all());
    let (planned, kept) = plan_bands(reading, pieces, types, &places);
    let values =
        kept.checked_mul(width as u64).ok_or_else(|| Error::file(path, "has a size that overflows 64 bits"))?;
    reading.expect(values * size_of::<T>() as u64);
    memory_limit::check(path, values.saturating_mul(size_of::<T>() as u64))?;
    // The system provides zeroed memory without writing it.
    let all = usize::try_from(values).ok().and_then(try_zeroed);
    let mut all: Vec<T> = all.ok_or_else(|| no_room::<T>(path, values))?;
    let mut left = all.as_mut_slice();
    let mut bands = Vec::with_capacity(planned.len());
    for PlannedBand { piece, rows, first, place, count } in planned {
        let (out, rest) = left.split_at_mut(count as usize * width);
        left = rest;
        bands.push(Band { piece, rows, first, place, types, places: places.clone(), out });
    }
    let failed = AtomicBool::new(false);
    let first_error: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    for_each(bands, &|at, band| {
        // A band before the failed one may contain an earlier error, but reporting one error is enough.
        if failed.load(Ordering::Relaxed) {
            return;
        }
        let bytes = size_of_val(band.out) as u64;
        match read_band(reading, band, width) {
            Ok(()) => reading.advance(bytes),
            Err(error) => {
                failed.store(true, Ordering::Relaxed);
                let mut slot = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                if slot.as_ref().is_none_or(|(other, _)| at < *other) {
                    *slot = Some((at, error));
                }
            }
        }
    });
    match first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(all),
    }
}

fn read_band<T: Pod>(reading: &Reading<'_>, band: Band<'_, T>, width: usize) -> Result<()> {
    let Band { piece, rows, first, mut place, types, places, out } = band;
    let n = (rows.end - rows.start) as usize;
    if out.len() == n * width {
        return piece.read(rows.start, out);
    }
    let mut whole = vec![T::zeroed(); n * width];
    piece.read(rows.start, &mut whole)?;
    let mut is_kept = |row| {
        let is_wanted = types.is_none_or(|types| types.is_wanted(row));
        place += u64::from(is_wanted);
        is_wanted && places.contains(&(place - 1)) && reading.keep.keeps(place - 1)
    };
    let kept = whole.chunks_exact(width).zip(first..).filter(|(_, row)| is_kept(*row));
    for ((row, _), slot) in kept.zip(out.chunks_exact_mut(width)) {
        slot.copy_from_slice(row);
    }
    Ok(())
}
