//! Particles that Abacus packs into nine bytes each, relative to a cell.
//!
//! In: rows of nine bytes. A row whose first byte is 255 is the header of a cell, and the rows after it are the
//! particles of the cell. Out: positions and velocities. Cost: rows are unpacked twice for positions, to count
//! particles and to convert them, and twice more for velocities. Source: `_unpack_pack9` of abacusutils, for the
//! meaning of the bits.

use std::path::Path;

use ropewalk::internals::parallel::map_tasks;
use ropewalk::{Error, Result};

use super::asdf::Block;
use crate::read_columns::RowSource;
use crate::reading::Reading;

/// Bytes of a row.
pub(super) const ROW: u64 = 9;
/// Rows that are unpacked together.
const BAND: u64 = 1 << 18;
/// The first byte of a cell header.
const HEADER: u8 = 0xff;
/// The step of packed positions and velocities, relative to the scale of a cell.
const STEP: f64 = 0.0005;

/// Returns the six 12-bit numbers of a row, shifted to be symmetric about zero.
fn numbers(row: &[u8; 9]) -> [i32; 6] {
    let pair = |at: usize| {
        let [a, b, c] = [row[at], row[at + 1], row[at + 2]].map(i32::from);
        [(b & 0x0f | a << 4) - 2048, ((b & 0xf0) << 4 | c) - 2048]
    };
    let [[a, b], [c, d], [e, f]] = [0, 3, 6].map(pair);
    [a, b, c, d, e, f]
}

/// A cell, decoded from its header.
#[derive(Clone, Copy, Debug)]
struct Cell {
    middle: [f64; 3],
    /// The step of packed positions, in the unit of the box.
    length: f64,
    /// The step of packed velocities, in km/s.
    velocity: f64,
}

/// The side of the box, and the factor from velocities in units of the box to km/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub box_size: f64,
    pub velocity: f64,
}

impl Scale {
    fn cell(&self, row: &[u8; 9]) -> Cell {
        let [_, cells, steps, middle @ ..] = numbers(row).map(|number| f64::from(number) + 2000.0);
        let side = self.box_size / cells;
        Cell {
            middle: middle.map(|at| (at + 0.5) * side - self.box_size / 2.0),
            length: STEP * side,
            velocity: steps * STEP / cells * self.velocity,
        }
    }
}

/// A range of rows of a file, the number of their particles, and the cell in which the range begins.
pub(super) struct Band<'a> {
    file: File<'a>,
    rows: std::ops::Range<u64>,
    particles: u64,
    cell: Option<Cell>,
    wants: Quantity,
}

/// The quantity to unpack from the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    Positions,
    /// Velocities, multiplied by a factor.
    Velocities(f64),
}

/// The location of the rows.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    pub reading: &'a Reading<'a>,
    pub path: &'a Path,
    pub block: &'a Block,
    pub rows: u64,
    pub scale: Scale,
}

impl<'a> File<'a> {
    /// Returns bands of rows that can be unpacked independently.
    ///
    /// Errors: particles before the first cell.
    pub(super) fn bands(self, wants: Quantity) -> Result<Vec<Band<'a>>> {
        let bands = self.rows.div_ceil(BAND);
        let rows = |band: u64| band * BAND..((band + 1) * BAND).min(self.rows);
        let counted = map_tasks(bands as usize, 1, &|at| self.count(rows(at.start as u64)));
        let (mut all, mut cell) = (vec![], None);
        for (band, counted) in (0..).zip(counted) {
            let (particles, is_in_cell, last) = counted?;
            if cell.is_none() && !is_in_cell && particles > 0 {
                return Err(Error::file(self.path, "array pack9 has particles before the first cell header"));
            }
            all.push(Band { file: self, rows: rows(band), particles, cell, wants });
            cell = last.or(cell);
        }
        Ok(all)
    }

    /// Returns the number of particles in these rows, whether the first row is a cell header, and the last cell.
    fn count(&self, rows: std::ops::Range<u64>) -> Result<(u64, bool, Option<Cell>)> {
        let bytes = self.bytes(rows)?;
        let rows = bytes.as_chunks::<9>().0;
        let is_header = |row: &&[u8; 9]| row[0] == HEADER;
        let headers = rows.iter().filter(is_header).count();
        let last = rows.iter().rfind(is_header).map(|row| self.scale.cell(row));
        Ok(((rows.len() - headers) as u64, rows.first().is_some_and(|row| row[0] == HEADER), last))
    }

    fn bytes(&self, rows: std::ops::Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; ((rows.end - rows.start) * ROW) as usize];
        let mut source = self.reading.open(self.path)?;
        self.block.fill(&mut source, rows.start * ROW..rows.end * ROW, &mut bytes)?;
        Ok(bytes)
    }
}

impl RowSource<f32> for Band<'_> {
    fn len(&self) -> u64 {
        self.particles
    }

    fn band(&self) -> u64 {
        self.particles
    }

    fn read(&self, _: u64, out: &mut [f32]) -> Result<()> {
        let bytes = self.file.bytes(self.rows.clone())?;
        let (mut cell, mut out) = (self.cell, out.as_chunks_mut::<3>().0.iter_mut());
        for row in bytes.as_chunks::<9>().0 {
            if row[0] == HEADER {
                cell = Some(self.file.scale.cell(row));
                continue;
            }
            // `out` has room for the particles that were counted.
            let (Some(cell), Some(out)) = (cell, out.next()) else { break };
            let [x, y, z, vx, vy, vz] = numbers(row).map(f64::from);
            *out = match self.wants {
                Quantity::Positions => {
                    let [a, b, c] = cell.middle;
                    [a + x * cell.length, b + y * cell.length, c + z * cell.length].map(|x| x as f32)
                }
                Quantity::Velocities(factor) => [vx, vy, vz].map(|v| (v * cell.velocity * factor) as f32),
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_twelve_bits() {
        assert_eq!(numbers(&[0; 9]), [-2048; 6]);
        // 0xabc and 0x123 are stored as: one byte, the low half of the next, its high half, and the third byte.
        let row = [0xab, 0x1c, 0x23, 0x80, 0x70, 0xff, 0, 0x0f, 0];
        assert_eq!(numbers(&row), [0xabc, 0x123, 0x800, 0x7ff, 0xf, 0].map(|number: i32| number - 2048));
    }
}
