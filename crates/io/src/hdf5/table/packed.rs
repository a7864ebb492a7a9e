//! Rows of numbers assembled from the elements of one or more datasets.
//!
//! In: columns that are read as bytes, and the locations of numbers in their rows. Out: [`RowSource`] for `fill`. Cost:
//! for each thread, the bytes of a band.

use ropewalk::{Error, Result};

use crate::hdf5::bands::Band;
use crate::hdf5::dataset::Column;
use crate::hdf5::number::{Converter, Number};
use crate::hdf5::table::record::NumberLocation;
use crate::number_types::{EXACT, Target};
use crate::read_columns::RowSource;
use crate::reading::Reading;

/// The numbers from one dataset.
pub(super) struct Source<'a> {
    pub column: &'a Column,
    /// The location of each number in a row, and the name of its column.
    pub locations: &'a [NumberLocation],
    pub names: &'a [String],
    /// Values that mark missing data.
    pub missing: &'a [f64],
}

/// A type to which numbers of a file are converted.
pub(super) trait Value: bytemuck::Pod + Send + Sync {
    /// The requirement on numbers, for error messages.
    const MUST: &'static str;

    /// Returns the conversion of the words of a number. Its results are `None` for numbers that are not valid values.
    fn take(spot: &NumberLocation) -> Converter<Option<Self>>;
}

impl Value for f64 {
    const MUST: &'static str = <Self as Target>::MUST;

    fn take((_, number): &NumberLocation) -> Converter<Option<Self>> {
        let (values, wholes, is_signed) = (number.values(), number.ids(), number.is_signed());
        Box::new(move |bytes, out| {
            let mut floats = vec![0.0; out.len()];
            values(bytes, &mut floats);
            out.iter_mut().zip(floats).for_each(|(slot, x)| *slot = Some(x));
            // Floats do not tell 2^53 from 2^53 + 1, which rounds to it.
            let Some(wholes) = &wholes else { return };
            let mut exact = vec![0; out.len()];
            wholes(bytes, &mut exact);
            for (slot, whole) in out.iter_mut().zip(exact) {
                let size = if is_signed { (whole as i64).unsigned_abs() } else { whole };
                *slot = slot.filter(|_| size <= EXACT);
            }
        })
    }
}

impl Value for f32 {
    const MUST: &'static str = "a number";

    fn take(spot: &NumberLocation) -> Converter<Option<Self>> {
        let take = f64::take(spot);
        Box::new(move |bytes, out| {
            let mut values = vec![None; out.len()];
            take(bytes, &mut values);
            out.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.map(|x: f64| x as f32));
        })
    }
}

impl Value for u64 {
    const MUST: &'static str = <Self as Target>::MUST;

    fn take((_, number): &NumberLocation) -> Converter<Option<Self>> {
        let (values, wholes) = (number.values(), number.wholes());
        let below = number.exact_below().unwrap_or_default() as f64;
        Box::new(move |bytes, out| {
            let mut floats = vec![0.0; out.len()];
            values(bytes, &mut floats);
            let mut exact = vec![0; out.len()];
            if let Some(wholes) = &wholes {
                wholes(bytes, &mut exact);
            }
            for ((slot, x), whole) in out.iter_mut().zip(floats).zip(exact) {
                *slot = match wholes {
                    Some(_) => (x >= 0.0).then_some(whole),
                    None => ((0.0..below).contains(&x) && x.fract() == 0.0).then_some(x as u64),
                };
            }
        })
    }
}

impl Value for u8 {
    const MUST: &'static str = "a particle type";

    fn take(spot: &NumberLocation) -> Converter<Option<Self>> {
        let take = spot.1.values();
        Box::new(move |bytes, out| {
            let mut values = vec![0.0; out.len()];
            take(bytes, &mut values);
            let types = values.into_iter().map(crate::particle_type::of_number);
            out.iter_mut().zip(types).for_each(|(slot, kind)| *slot = Some(kind));
        })
    }
}

/// A source, the bands of its bytes, and the conversion of each of its columns.
type Banded<'a, T> = (Source<'a>, Band<'a, u8>, Vec<Converter<Option<T>>>);

/// Rows of the numbers of all sources, which have the same number of rows. Values are scaled by `scale` with
/// `factor`.
pub(super) struct Packed<'a, T> {
    sources: Vec<Banded<'a, T>>,
    width: usize,
    scale: fn(T, f64) -> T,
    factor: f64,
}

impl<'a, T: Value> Packed<'a, T> {
    pub(super) fn new(reading: &'a Reading<'a>, sources: Vec<Source<'a>>, scale: fn(T, f64) -> T, factor: f64) -> Self {
        let width = sources.iter().map(|source| source.locations.len()).sum();
        let with_bands = sources.into_iter().map(|source| {
            let copy: Converter<u8> = Box::new(|bytes, out| {
                out.iter_mut().zip(bytes).for_each(|(slot, &byte)| *slot = byte);
            });
            let takes = source.locations.iter().map(T::take).collect();
            let band = Band::new(reading, source.column, copy);
            (source, band, takes)
        });
        Self { sources: with_bands.collect(), width, scale, factor }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }
}

impl<T: Value> RowSource<T> for Packed<'_, T> {
    fn len(&self) -> u64 {
        self.sources.first().map_or(0, |(source, ..)| source.column.shape.rows)
    }

    fn band(&self) -> u64 {
        match &self.sources[..] {
            [(_, band, _)] => band.band(),
            all => all.iter().map(|(_, band, _)| band.band()).max().unwrap_or(1),
        }
    }

    fn step(&self) -> u64 {
        match &self.sources[..] {
            [(_, band, _)] => band.step(),
            _ => self.band(),
        }
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        let rows = out.len() / self.width.max(1);
        let mut place = 0;
        for (source, band, takes) in &self.sources {
            let row = source.column.shape.width as usize;
            let bytes = read_rows(band, source.column.shape.rows, first, rows, row)?;
            for (((at, number), take), name) in source.locations.iter().zip(takes).zip(source.names) {
                let mut words = vec![0; rows * number.size];
                for (word, row) in words.chunks_exact_mut(number.size).zip(bytes.chunks_exact(row)) {
                    word.copy_from_slice(&row[*at..*at + number.size]);
                }
                let refuse = |k: usize, what: &str| {
                    let row = first + k as u64 + 1;
                    Error::file(&source.column.path, format!("row {row} of {name} {what}"))
                };
                if let Some((k, value)) = missing(*number, &words, rows, source.missing) {
                    return Err(refuse(k, &format!("is {value}, which its attributes declare a missing value")));
                }
                let mut values = vec![None; rows];
                take(&words, &mut values);
                for (k, (values, row)) in values.iter().zip(out.chunks_exact_mut(self.width)).enumerate() {
                    let Some(value) = values else { return Err(refuse(k, &format!("is not {}", T::MUST))) };
                    row[place] = (self.scale)(*value, self.factor);
                }
                place += 1;
            }
        }
        Ok(())
    }
}

/// Returns the index and the value of the first of `rows` numbers that is in `missing`.
fn missing(number: Number, words: &[u8], rows: usize, missing: &[f64]) -> Option<(usize, f64)> {
    if missing.is_empty() {
        return None;
    }
    let mut values = vec![0.0; rows];
    number.values()(words, &mut values);
    values.into_iter().enumerate().find(|(_, value)| missing.contains(value))
}

/// Returns the bytes of `rows` rows of `row` bytes from row `first` on, for any step of the band.
fn read_rows(band: &Band<'_, u8>, all: u64, first: u64, rows: usize, row: usize) -> Result<Vec<u8>> {
    let step = band.step().max(1);
    let start = first / step * step;
    let end = (first + rows as u64).div_ceil(step).saturating_mul(step).min(all);
    let mut bytes = vec![0; (end - start) as usize * row];
    band.read(start, &mut bytes)?;
    let skipped = (first - start) as usize * row;
    bytes.drain(..skipped);
    bytes.truncate(rows * row);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_floats_hold() {
        let value = |flags: u8, word: u64| {
            let number = Number::parse(&[0x10, flags, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0]).unwrap();
            let mut out = [None::<f64>];
            f64::take(&(0, number))(&word.to_le_bytes(), &mut out);
            out[0]
        };
        let (unsigned, signed) = (0, 8);
        assert_eq!(value(unsigned, EXACT), Some(EXACT as f64));
        assert_eq!(value(signed, EXACT.wrapping_neg()), Some(-(EXACT as f64)));
        for (flags, word) in
            [(unsigned, EXACT + 1), (unsigned, u64::MAX), (signed, EXACT + 1), (signed, (EXACT + 1).wrapping_neg())]
        {
            assert_eq!(value(flags, word), None);
        }
    }
}
