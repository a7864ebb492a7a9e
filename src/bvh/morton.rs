//! Morton codes, which order points along the Z curve.
//!
//! Input: points. Output: a 64-bit code for each point, of which the axes share 63 bits evenly. All axes have the
//! same scale, so that cells are cubes even in a flat point cloud.
//! Cost: one pass over the points. Source: Morton 1966; Lauterbach et al. 2009, section 3.

use crate::bvh::radix_sort::{Buckets, Source};
use crate::geometry::{Aabb, Scalar};
use crate::memory::zeroed;
use crate::parallel::fill;

/// The map from points to codes: the corner and the scale of the cell grid.
#[derive(Clone, Copy, Debug)]
pub struct Grid<S, const D: usize> {
    /// The first factor of coordinates: 1, or a half if their differences would overflow.
    shrink: S,
    origin: [S; D],
    scale: S,
}

impl<S: Scalar, const D: usize> Grid<S, D> {
    /// Bits per axis: 21 in three dimensions, 31 in two. `D == 0` compiles; the construction of a tree refuses it.
    const AXIS_BITS: u32 = if D == 0 { 0 } else { 63 / D as u32 };
    /// Bits per code.
    pub const BITS: u32 = Self::AXIS_BITS * D as u32;

    /// Creates the grid over a box. All arithmetic is in `S`, so that a device without `f64` computes the same codes.
    pub fn over(bounds: &Aabb<S, D>) -> Self {
        let extent = |shrink: S| (0..D).map(|k| bounds.hi[k] * shrink - bounds.lo[k] * shrink).fold(S::ZERO, S::max);
        let shrink = S::from_f64(if extent(S::from_f64(1.0)) <= S::MAX { 1.0 } else { 0.5 });
        let extent = extent(shrink);
        let cells = (1u64 << Self::AXIS_BITS) as f64;
        let scale = if extent > S::ZERO { S::from_f64(cells / extent.into()).min(S::MAX) } else { S::ZERO };
        Self { shrink, origin: bounds.lo.map(|x| x * shrink), scale }
    }

    /// Returns the parameters `shrink`, `origin` and `scale` with which a device computes the same codes: a cell is
    /// `(point * shrink - origin) * scale`.
    #[cfg(feature = "gpu")]
    pub fn numbers(&self) -> (S, [S; D], S) {
        (self.shrink, self.origin, self.scale)
    }

    /// Returns the last cell of an axis, to which a device clamps cells beyond it.
    #[cfg(feature = "gpu")]
    pub fn last_cell() -> u64 {
        Self::cell(S::INFINITY)
    }

    /// Writes the code of each point to `codes`. Points outside the box get the codes of the nearest cells.
    #[inline(always)]
    pub fn codes(&self, points: impl Iterator<Item = [S; D]>, codes: &mut [u64]) {
        let mut points = points.fuse();
        for codes in codes.chunks_mut(BATCH) {
            // First all cells, then all codes, so that both loops compile to vector instructions.
            let mut cells = [[S::ZERO; BATCH]; D];
            for (i, point) in points.by_ref().take(codes.len()).enumerate() {
                for (k, x) in point.into_iter().enumerate() {
                    cells[k][i] = (x * self.shrink - self.origin[k]) * self.scale;
                }
            }
            codes.fill(0);
            for (k, cells) in cells.iter().enumerate() {
                for (code, &cell) in codes.iter_mut().zip(cells) {
                    // The first axis takes the highest bit of each group.
                    *code |= spread::<D>(Self::cell(cell)) << (D - 1 - k);
                }
            }
        }
    }

    #[inline(always)]
    fn cell(x: S) -> u64 {
        // Conversions to 32 bits exist as vector instructions, and suffice for more than one axis.
        let cell = if D == 1 { x.truncate() } else { u64::from(x.truncate_31()) };
        cell.min((1 << Self::AXIS_BITS) - 1)
    }
}

/// The indices `0..n`, sorted by the codes of `point(0)`, `point(1)`, and so on.
pub(crate) fn curve_order<S: Scalar, const D: usize>(
    n: usize,
    grid: &Grid<S, D>,
    point: impl Fn(usize) -> [S; D] + Sync,
) -> Vec<u32> {
    let mut codes = zeroed(n);
    fill(&mut codes, 1 << 12, &|range, codes| grid.codes(range.map(&point), codes));
    order_of_codes(&codes, Grid::<S, D>::BITS)
}

/// The positions of codes in ascending order of code.
fn order_of_codes(codes: &[u64], bits: u32) -> Vec<u32> {
    Buckets::split(&Codes { codes, bits }).into_order()
}

/// Codes as input of the sort.
struct Codes<'a> {
    codes: &'a [u64],
    bits: u32,
}

impl Source for Codes<'_> {
    type Item = u64;

    fn len(&self) -> usize {
        self.codes.len()
    }
    fn bits(&self) -> u32 {
        self.bits
    }
    fn item(&self, index: usize) -> u64 {
        self.codes[index]
    }
    fn prefetch(&self, _index: usize) {}
    fn codes(&self, items: &[u64], codes: &mut [u64]) {
        codes.copy_from_slice(items);
    }
}

/// The number of codes computed at once.
const BATCH: usize = 64;

/// Moves bit `i` to bit `i * D`.
#[inline(always)]
fn spread<const D: usize>(cell: u64) -> u64 {
    let mut x = cell;
    match D {
        1 => x,
        2 => {
            x = (x | x << 16) & 0x0000_ffff_0000_ffff;
            x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
            x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
            x = (x | x << 2) & 0x3333_3333_3333_3333;
            (x | x << 1) & 0x5555_5555_5555_5555
        }
        3 => {
            x = (x | x << 32) & 0x001f_0000_0000_ffff;
            x = (x | x << 16) & 0x001f_0000_ff00_00ff;
            x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
            x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
            (x | x << 2) & 0x1249_2492_4924_9249
        }
        _ => (0..63 / D).fold(0, |code, i| code | ((cell >> i & 1) << (i * D))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spreads<const D: usize>() {
        for cell in [0, 1, 2, 3, 0x5a5a, 0x1f_ffff, 0x12_3456] {
            let cell = cell & ((1u64 << (63 / D)) - 1);
            let bits = (0..63 / D).filter(|i| cell >> i & 1 == 1);
            assert_eq!(spread::<D>(cell), bits.map(|i| 1u64 << (i * D)).sum::<u64>(), "{D} dimensions, cell {cell:x}");
        }
    }

    #[test]
    fn spread_moves_every_bit() {
        spreads::<1>();
        spreads::<2>();
        spreads::<3>();
        spreads::<4>();
        spreads::<7>();
        spreads::<10>();
    }

    fn code<const D: usize>(grid: &Grid<f32, D>, point: [f32; D]) -> u64 {
        let mut codes = [0];
        grid.codes([point].into_iter(), &mut codes);
        codes[0]
    }

    #[test]
    fn corners_get_the_first_and_the_last_code() {
        let grid = Grid::over(&Aabb::new([-1.0f32, 0.0, 5.0], [1.0, 2.0, 7.0]));
        assert_eq!(code(&grid, [-1.0, 0.0, 5.0]), 0);
        assert_eq!(code(&grid, [1.0, 2.0, 7.0]), (1 << 63) - 1);
    }

    #[test]
    fn one_scale_for_all_axes() {
        // In a flat box, the short axis never reaches its high bits.
        let grid = Grid::over(&Aabb::new([0.0f32, 0.0, 0.0], [1.0, 1.0, 0.01]));
        assert_eq!(code(&grid, [0.0, 0.0, 0.01]) >> 50, 0);
    }

    #[test]
    fn extremes_do_not_overflow() {
        for corner in [f32::MAX, 1e-45, 0.0] {
            let grid = Grid::over(&Aabb::new([-corner; 3], [corner; 3]));
            assert!(code(&grid, [-corner; 3]) <= code(&grid, [corner; 3]));
        }
        // Coordinate differences overflow, but the cells are still distinct.
        let grid = Grid::over(&Aabb::new([f32::MIN; 2], [f32::MAX; 2]));
        let codes = [f32::MIN, -1e38, 0.0, 1e38, f32::MAX].map(|x| code(&grid, [x, 0.0]));
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:x?}");
    }
}
