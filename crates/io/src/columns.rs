//! Columns of binary files whose number types are known only at run time. Values are contiguous or spread over
//! records.
//!
//! In: the location of a column's values. Out: positions, velocities, ids or masses of the rows that are kept. Cost:
//! that of [`fill`], and a quarter of a megabyte per thread.

use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use ropewalk::halo::MassSum;
use ropewalk::internals::parallel::map_tasks;
use ropewalk::{Error, Result};

use crate::number_types::{Half, Number, Numeric, Target, Word, foreign};
use crate::read_columns::{RowSource, fill};
use crate::reading::Reading;
use crate::source::room;
use crate::{Points, Table};

/// Bytes read at a time.
const CHUNK: u64 = 1 << 18;
/// Bytes of a band, for rows that can be read in any grouping.
const BAND: u64 = 1 << 20;

/// A column of a file, whose length has been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<'a> {
    pub path: &'a Path,
    /// The byte offset of the first row.
    pub at: u64,
    pub rows: u64,
    /// The number of contiguous values per row.
    pub width: usize,
    /// Bytes from the start of a row to the start of the next; at least the bytes of its values.
    pub stride: u64,
    pub number: Number,
    pub big_endian: bool,
}

/// Contiguous words in records at a constant stride.
pub(super) struct Records<'a> {
    pub path: &'a Path,
    /// The byte offset of the words of the first record.
    pub at: u64,
    /// Bytes from the words of one record to those of the next.
    pub stride: u64,
    /// Bytes of the words of one record.
    pub bytes: usize,
}

/// A callback that receives a range of row numbers and the bytes of these rows.
type TakeRows<'t> = dyn FnMut(Range<u64>, &[u8]) -> Result<()> + 't;

impl Records<'_> {
    /// Reads rows in chunks. `take` receives their numbers, and the bytes from the words of the first row to those of
    /// the last.
    pub(super) fn read(&self, reading: &Reading<'_>, rows: Range<u64>, take: &mut TakeRows<'_>) -> Result<()> {
        let mut source = reading.open(self.path)?;
        let step = (CHUNK / self.stride.max(1)).max(1);
        let mut buffer = vec![];
        for first in rows.clone().step_by(step as usize) {
            let end = rows.end.min(first + step);
            // The file may end directly after the words of the last record.
            buffer.resize((end - first - 1) as usize * self.stride as usize + self.bytes, 0);
            source.seek(self.at + first * self.stride)?;
            source.fill(&mut buffer)?;
            take(first..end, &buffer)?;
        }
        Ok(())
    }
}

/// Rows assembled from several columns of the same length.
pub(super) struct Joined<'a> {
    reading: &'a Reading<'a>,
    columns: Vec<Column<'a>>,
    factor: f64,
}

impl<'a> Joined<'a> {
    pub(super) fn new(reading: &'a Reading<'a>, columns: Vec<Column<'a>>, factor: f64) -> Self {
        Self { reading, columns, factor }
    }

    pub(super) fn width(&self) -> usize {
        self.columns.iter().map(|column| column.width).sum()
    }

    /// Reads the words of one column, converts them with `widen`, and writes them to `out` from position `place` of
    /// each row on.
    fn read_words<W: Word, V: Numeric, T: Target>(
        &self,
        column: &Column<'_>,
        first: u64,
        place: usize,
        out: &mut [T],
        widen: impl Fn(W) -> V,
    ) -> Result<()> {
        let (width, own, bytes) = (self.width(), column.width, size_of::<W>());
        let (stride, swap) = (column.stride as usize, foreign(column.big_endian));
        let rows = first..first + (out.len() / width) as u64;
        let records = Records { path: column.path, at: column.at, stride: column.stride, bytes: own * bytes };
        records.read(self.reading, rows, &mut |rows, buffer| {
            let out = &mut out[(rows.start - first) as usize * width..(rows.end - first) as usize * width];
            for (i, values) in out.chunks_exact_mut(width).enumerate() {
                for (k, slot) in values[place..place + own].iter_mut().enumerate() {
                    let at = i * stride + k * bytes;
                    let word: W = bytemuck::pod_read_unaligned(&buffer[at..at + bytes]);
                    let word = widen(if swap { word.swapped() } else { word });
                    let Some(value) = T::of(word) else {
                        return Err(refused(column, rows.start + i as u64, &word, T::MUST));
                    };
                    *slot = value.times(self.factor);
                }
            }
            Ok(())
        })
    }
}

#[cold]
fn refused(column: &Column<'_>, row: u64, word: &dyn Display, must: &str) -> Error {
    Error::file(column.path, format!("row {} of a column holds {word}; it must be {must}", row + 1))
}

impl<T: Target> RowSource<T> for Joined<'_> {
    fn len(&self) -> u64 {
        self.columns.first().map_or(0, |column| column.rows)
    }

    fn band(&self) -> u64 {
        (BAND / self.columns.iter().map(|column| column.stride).max().unwrap_or(1).max(1)).max(1)
    }

    fn step(&self) -> u64 {
        1
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        let mut place = 0;
        for column in &self.columns {
            match column.number {
                Number::F16 => self.read_words(column, first, place, out, Half),
                Number::F32 => self.read_words(column, first, place, out, |word: f32| word),
                Number::F64 => self.read_words(column, first, place, out, |word: f64| word),
                Number::I8 => self.read_words(column, first, place, out, |word: i8| word),
                Number::I16 => self.read_words(column, first, place, out, |word: i16| word),
                Number::I32 => self.read_words(column, first, place, out, |word: i32| word),
                Number::I64 => self.read_words(column, first, place, out, |word: i64| word),
                Number::U8 => self.read_words(column, first, place, out, |word: u8| word),
                Number::U16 => self.read_words(column, first, place, out, |word: u16| word),
                Number::U32 => self.read_words(column, first, place, out, |word: u32| word),
                Number::U64 => self.read_words(column, first, place, out, |word: u64| word),
            }?;
            place += column.width;
        }
        Ok(())
    }
}

/// Returns the rows of all pieces, concatenated and multiplied by `factor`. The rows of each piece are assembled from
/// its columns.
pub(super) fn gather<'a, T: Target>(
    reading: &'a Reading<'a>,
    path: &Path,
    pieces: &[Vec<Column<'a>>],
    factor: f64,
) -> Result<Vec<T>> {
    let joined = |columns: &Vec<Column<'a>>| Joined { reading, columns: columns.clone(), factor };
    let width = pieces.first().map_or(1, |columns| joined(columns).width());
    let rows: Vec<Box<dyn RowSource<T> + '_>> =
        pieces.iter().map(|columns| Box::new(joined(columns)) as Box<dyn RowSource<T>>).collect();
    fill(reading, path, width, &rows)
}

/// Returns the rows of [`gather`] as points: of 32 bits if all columns are floats of at most 32 bits. Without pieces,
/// returns no points, of three dimensions.
pub(super) fn points<'a>(
    reading: &'a Reading<'a>,
    path: &Path,
    pieces: &[Vec<Column<'a>>],
    factor: f64,
) -> Result<Points> {
    let dim = pieces.first().map_or(3, |columns| columns.iter().map(|column| column.width).sum());
    Ok(if pieces.iter().flatten().all(|column| column.number.is_narrow_float()) {
        Points::F32(Table::from_valid(dim, gather(reading, path, pieces, factor)?))
    } else {
        Points::F64(Table::from_valid(dim, gather(reading, path, pieces, factor)?))
    })
}

/// Returns all rows assembled from columns, including rows that are not kept.
pub(super) fn whole<T: Target>(reading: &Reading<'_>, columns: &[Column<'_>]) -> Result<Vec<T>> {
    let joined = Joined { reading, columns: columns.to_vec(), factor: 1.0 };
    let Some(first) = columns.first() else { return Ok(vec![]) };
    let n = first.rows.saturating_mul(joined.width() as u64);
    let mut values = room(first.path, n)?;
    values.resize(n as usize, T::zeroed());
    joined.read(0, &mut values)?;
    Ok(values)
}

/// Returns the sum of all values of columns, over this part's share of the rows of each. The columns are read in
/// chunks.
pub(super) fn sum(reading: &Reading<'_>, columns: &[Column<'_>]) -> Result<MassSum> {
    let mut total = MassSum::default();
    for column in columns {
        let whole = Joined { reading, columns: vec![*column], factor: 1.0 };
        let step = RowSource::<f64>::band(&whole);
        let share = reading.share(column.rows);
        let bands = usize::try_from((share.end - share.start).div_ceil(step)).unwrap_or(usize::MAX);
        let sums = map_tasks(bands, 1, &|at| -> Result<MassSum> {
            let first = share.start + at.start as u64 * step;
            let mut values = vec![0.0; (share.end - first).min(step) as usize * column.width];
            whole.read(first, &mut values)?;
            Ok(MassSum::from_values(&values))
        });
        sums.into_iter().try_for_each(|sum| sum.map(|sum| total.merge(&sum)))?;
    }
    Ok(total)
}
