//! Decoding of the particles that Abacus packs into few bytes.
//!
//! In: rows of bytes. Out: positions, velocities, ids. Cost: one band of decompressed bytes per thread. Source:
//! `unpack_rvint`, `unpack_pids` and `unpack_pack9` of abacusutils, for the meaning of the bits.

use ropewalk::Result;

use crate::abacus::asdf::Block;
use crate::number_types::Target;
use crate::read_columns::RowSource;
use crate::reading::Reading;

/// Bytes of a band.
const BAND: u64 = 1 << 22;

/// Rows that are decoded independently, each from a fixed number of bytes.
pub(super) struct Unpacked<'a, F> {
    pub reading: &'a Reading<'a>,
    pub path: &'a std::path::Path,
    pub block: &'a Block,
    pub rows: u64,
    /// Bytes per row.
    pub row: u64,
    /// Values per row.
    pub width: usize,
    pub convert: F,
}

impl<T: Target, F: Fn(&[u8], &mut [T]) + Sync> RowSource<T> for Unpacked<'_, F> {
    fn len(&self) -> u64 {
        self.rows
    }

    fn band(&self) -> u64 {
        (BAND / self.row.max(1)).max(1)
    }

    fn step(&self) -> u64 {
        1
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        let rows = (out.len() / self.width) as u64;
        let mut bytes = vec![0; (rows * self.row) as usize];
        let mut source = self.reading.open(self.path)?;
        self.block.fill(&mut source, first * self.row..(first + rows) * self.row, &mut bytes)?;
        for (row, values) in bytes.chunks_exact(self.row as usize).zip(out.chunks_exact_mut(self.width)) {
            (self.convert)(row, values);
        }
        Ok(())
    }
}

/// Returns the 32-bit words of a row.
fn words(row: &[u8]) -> impl Iterator<Item = i32> {
    row.as_chunks::<4>().0.iter().map(|word| i32::from_le_bytes(*word))
}

/// Decodes positions of `rvint`: the upper 20 bits of each 32-bit word are a coordinate in millionths of the box.
pub(super) fn rvint_position(box_size: f64) -> impl Fn(&[u8], &mut [f32]) + Sync {
    let scale = box_size / 1e6;
    move |row, values| {
        values.iter_mut().zip(words(row)).for_each(|(value, word)| *value = (f64::from(word >> 12) * scale) as f32)
    }
}

/// Decodes velocities of `rvint`: the lower 12 bits of each word are a velocity from -6000 to 6000 km/s. The result
/// is multiplied by `factor`.
pub(super) fn rvint_velocity(factor: f64) -> impl Fn(&[u8], &mut [f32]) + Sync {
    const SCALE: f64 = 6000.0 / 2048.0;
    move |row, values| {
        for (value, word) in values.iter_mut().zip(words(row)) {
            let velocity = (f64::from((word & 0xfff) - 2048) * SCALE) as f32;
            *value = velocity.times(factor);
        }
    }
}

/// Decodes an id: three groups of 15 among the 64 bits, which are the particle's position in the initial lattice.
pub(super) fn pid(row: &[u8], values: &mut [u64]) {
    let word = row.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    values.fill(word & 0x7fff_7fff_7fff);
}
