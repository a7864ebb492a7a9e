//! Codes of points along the Morton and the Hilbert curve.

/// A curve through the cells of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    Morton,
    Hilbert,
}

/// Computes the code of each point, on a grid of `2^bits` cells per axis over the bounding box. The cells are those of
/// the library.
pub fn codes<const D: usize>(points: &[[f32; D]], curve: Curve, bits: u32) -> Vec<u64> {
    let (mut lo, mut hi) = ([f32::INFINITY; D], [f32::NEG_INFINITY; D]);
    for point in points {
        (lo, hi) = (std::array::from_fn(|k| lo[k].min(point[k])), std::array::from_fn(|k| hi[k].max(point[k])));
    }
    let extent = (0..D).map(|k| hi[k] - lo[k]).fold(0.0, f32::max);
    let scale = ((1u64 << bits) as f64 / f64::from(extent)) as f32;
    let cell = |x: f32, lo: f32| (((x - lo) * scale) as u32).min((1 << bits) - 1);
    points.iter().map(|point| code::<D>(std::array::from_fn(|k| cell(point[k], lo[k])), curve, bits)).collect()
}

/// Computes the position of a cell along a curve.
pub fn code<const D: usize>(cell: [u32; D], curve: Curve, bits: u32) -> u64 {
    let cell = if curve == Curve::Hilbert { transposed(cell, bits) } else { cell };
    (0..bits).rev().fold(0, |code, bit| cell.iter().fold(code, |code, x| code << 1 | u64::from(x >> bit & 1)))
}

/// The bits of the position along the Hilbert curve: bit `b` of number `k` is the `k`-th bit of group `b` of the code.
/// Source: Skilling 2004, "Programming the Hilbert curve".
fn transposed<const D: usize>(mut x: [u32; D], bits: u32) -> [u32; D] {
    for bit in (1..bits).rev() {
        let (own, below) = (1 << bit, (1 << bit) - 1);
        for k in 0..D {
            if x[k] & own != 0 {
                x[0] ^= below;
            } else {
                let differing = (x[0] ^ x[k]) & below;
                x[0] ^= differing;
                x[k] ^= differing;
            }
        }
    }
    for k in 1..D {
        x[k] ^= x[k - 1];
    }
    let flipped = (1..bits).filter(|bit| x[D - 1] >> bit & 1 == 1).fold(0, |flipped, bit| flipped ^ ((1 << bit) - 1));
    x.map(|x| x ^ flipped)
}

/// Checks that consecutive cells along the Hilbert curve share a face, and that each cell has its own code.
pub fn check<const D: usize>() {
    const BITS: u32 = 3;
    let side = 1u32 << BITS;
    let mut cells: Vec<(u64, [u32; D])> = (0..side.pow(D as u32))
        .map(|i| std::array::from_fn(|k| i / side.pow(k as u32) % side))
        .map(|cell| (code(cell, Curve::Hilbert, BITS), cell))
        .collect();
    cells.sort_unstable();
    for (i, pair) in cells.windows(2).enumerate() {
        let steps: u32 = (0..D).map(|k| pair[0].1[k].abs_diff(pair[1].1[k])).sum();
        assert!(pair[0].0 == i as u64 && steps == 1, "cells {pair:?} are not neighbours along the curve");
    }
}
