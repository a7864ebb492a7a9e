//! Columns of fixed-size records: words at a constant stride, mapped to numbers.
//!
//! In: the locations of the words of each column. Out: rows of values, or an error that names the row and the column.
//! Cost: one pass over the records for each column, and a quarter of a megabyte per thread.

use std::fmt::Display;
use std::path::Path;

use ropewalk::halo::MassSum;
use ropewalk::internals::parallel::map_tasks;
use ropewalk::{Error, Result};

use crate::columns::Records;
use crate::number_types::{Number, Target, Word, foreign};
use crate::read_columns::RowSource;
use crate::reading::Reading;

/// Bytes of a band.
const BAND: u64 = 1 << 20;

/// The mapping from the words of a column to numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mapping {
    /// The words are the numbers.
    Same,
    /// The sign bit is inverted: unsigned integers stored as signed ones, or signed bytes stored as unsigned ones.
    Flipped,
    /// The number is `word * scale + offset`, in 64-bit floats.
    Linear { scale: f64, offset: f64 },
}

/// A value that every record has.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub name: String,
    /// The byte offset of the word in the first record.
    pub at: u64,
    /// Bytes between the words of successive records.
    pub stride: u64,
    pub number: Number,
    pub mapping: Mapping,
    /// The word that marks a missing value.
    pub null: Option<i64>,
}

impl Slot {
    /// Returns `true` if 32-bit floats represent the values exactly.
    pub(super) fn is_narrow(&self) -> bool {
        self.number == Number::F32 && self.mapping == Mapping::Same
    }

    /// Returns the Rust name of the type of the values.
    pub(super) fn kind(&self) -> &'static str {
        match (self.mapping, self.number) {
            (Mapping::Linear { .. }, _) => "f64",
            (Mapping::Flipped, Number::U8) => "i8",
            (Mapping::Flipped, Number::I16) => "u16",
            (Mapping::Flipped, Number::I32) => "u32",
            (Mapping::Flipped, Number::I64) => "u64",
            (_, number) => number.name(),
        }
    }
}

/// Rows assembled from several slots.
pub(super) struct Joined<'a> {
    pub reading: &'a Reading<'a>,
    /// The file that contains the records.
    pub path: &'a Path,
    pub rows: u64,
    pub big_endian: bool,
    pub slots: Vec<&'a Slot>,
    /// The factor that multiplies every value.
    pub factor: f64,
    /// If `true`, NaN and infinity are errors.
    pub is_finite: bool,
}

impl Joined<'_> {
    /// Reads the words of one slot, and converts them with `widen`, which returns `None` for missing values.
    fn read_words<W: Word, V: Word, T: Target>(
        &self,
        slot: &Slot,
        place: usize,
        first: u64,
        out: &mut [T],
        widen: impl Fn(W) -> Option<V>,
    ) -> Result<()> {
        let (width, bytes) = (self.slots.len(), size_of::<W>());
        let (stride, swap) = (slot.stride as usize, foreign(self.big_endian));
        let rows = first..first + (out.len() / width) as u64;
        let records = Records { path: self.path, at: slot.at, stride: slot.stride, bytes };
        records.read(self.reading, rows, &mut |rows, buffer| {
            let out = &mut out[(rows.start - first) as usize * width..(rows.end - first) as usize * width];
            for (i, values) in out.chunks_exact_mut(width).enumerate() {
                let word: W = bytemuck::pod_read_unaligned(&buffer[i * stride..i * stride + bytes]);
                let word = widen(if swap { word.swapped() } else { word });
                values[place] = match word.and_then(|word| self.value(slot, word)) {
                    Some(value) => value,
                    None => {
                        let word = word.as_ref().map(|word| (word as &dyn Display, word.number()));
                        return Err(self.refused(slot, rows.start + i as u64, word, T::MUST));
                    }
                };
            }
            Ok(())
        })
    }

    /// Returns the value of a word; `None` if the value is not valid, for which [`Self::refused`] returns the error.
    fn value<V: Word, T: Target>(&self, slot: &Slot, word: V) -> Option<T> {
        let is_wanted = |x: f64| !self.is_finite || x.is_finite();
        if !word.number().is_none_or(is_wanted) {
            return None;
        }
        let value = match slot.mapping {
            Mapping::Linear { scale, offset } => {
                T::of(Some(word.number()? * scale + offset).filter(|&x| is_wanted(x))?)
            }
            _ => T::of(word),
        };
        Some(value?.times(self.factor))
    }

    /// Returns the error for a word without a valid value.
    #[cold]
    fn refused(&self, slot: &Slot, row: u64, word: Option<(&dyn Display, Option<f64>)>, must: &str) -> Error {
        let what = match (word, slot.mapping) {
            (None, _) => "has no value".to_string(),
            (Some((word, Some(x))), _) if self.is_finite && !x.is_finite() => format!("{word} is not a coordinate"),
            (Some((word, Some(x))), Mapping::Linear { scale, offset })
                if self.is_finite && !(x * scale + offset).is_finite() =>
            {
                format!("{word} is scaled to {}, which is not a coordinate", x * scale + offset)
            }
            (Some((word, _)), _) => format!("{word} must be {must}"),
        };
        Error::file(self.path, format!("row {}, column {}: {what}", row + 1, slot.name.escape_debug()))
    }
}

impl<T: Target> RowSource<T> for Joined<'_> {
    fn len(&self) -> u64 {
        self.rows
    }

    fn band(&self) -> u64 {
        (BAND / self.slots.iter().map(|slot| slot.stride).max().unwrap_or(1).max(1)).max(1)
    }

    fn step(&self) -> u64 {
        1
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        for (place, &slot) in self.slots.iter().enumerate() {
            let null = slot.null;
            let is_flipped = slot.mapping == Mapping::Flipped;
            macro_rules! whole {
                ($word:ty) => {
                    self.read_words(slot, place, first, out, |word: $word| {
                        (Some(i64::from(word)) != null).then_some(word)
                    })
                };
                ($word:ty => $other:ty) => {
                    self.read_words(slot, place, first, out, |word: $word| {
                        let flipped = (word as $other) ^ (1 << (<$other>::BITS - 1));
                        (Some(i64::from(word)) != null).then_some(flipped)
                    })
                };
            }
            match slot.number {
                Number::U8 if is_flipped => whole!(u8 => i8),
                Number::I16 if is_flipped => whole!(i16 => u16),
                Number::I32 if is_flipped => whole!(i32 => u32),
                Number::I64 if is_flipped => whole!(i64 => u64),
                Number::I8 => whole!(i8),
                Number::I16 => whole!(i16),
                Number::I32 => whole!(i32),
                Number::I64 => whole!(i64),
                Number::U8 => whole!(u8),
                Number::U16 => whole!(u16),
                Number::U32 => whole!(u32),
                Number::U64 => self.read_words(slot, place, first, out, |word: u64| Some(word)),
                // No point cloud format has 16-bit floats.
                Number::F16 => Err(Error::file(self.path, "has 16-bit floats, which are not supported")),
                Number::F32 => self.read_words(slot, place, first, out, |word: f32| Some(word)),
                Number::F64 => self.read_words(slot, place, first, out, |word: f64| Some(word)),
            }?;
        }
        Ok(())
    }
}

/// Returns the sum of one slot over this part's share of all rows. Rows are read in bands.
pub(super) fn sum(joined: &Joined<'_>) -> Result<MassSum> {
    let step = RowSource::<f64>::band(joined);
    let share = joined.reading.share(joined.rows);
    let bands = usize::try_from((share.end - share.start).div_ceil(step)).unwrap_or(usize::MAX);
    let sums = map_tasks(bands, 1, &|at| -> Result<MassSum> {
        let first = share.start + at.start as u64 * step;
        let mut values = vec![0.0; (share.end - first).min(step) as usize];
        joined.read(first, &mut values)?;
        Ok(MassSum::from_values(&values))
    });
    let mut total = MassSum::default();
    sums.into_iter().try_for_each(|sum| sum.map(|sum| total.merge(&sum)))?;
    Ok(total)
}
