//! The exact test whether a point lies in a tetrahedron: the GPU counterpart of `geometry::shapes::closest` and of the
//! predicate `orient3d` of the crate `robust`.
//!
//! In: five points. Out: `true` if the first lies in the tetrahedron of the others.
//! Cost: five determinants. If rounding leaves the sign of one open, an exact sum decides. It has 24 terms, or 96 if
//! differences of coordinates are rounded.
//! Source: Shewchuk 1997, Adaptive Precision Floating-Point Arithmetic.

use cubecl::prelude::*;

use crate::gpu::geometry::vector::{extent, literal, nth, unit, vector_at};
use crate::gpu::primitives::expansion::{Expansion, two_sum};
use crate::gpu::primitives::rounding::product;

/// The maximum number of terms of a determinant: four from each of 24 products of three.
const TERMS: usize = 96;

/// Half the distance from 1 to the next number.
const ROUNDING: f64 = f64::EPSILON / 2.0;

/// Returns `true` if a point lies in a tetrahedron. Its corners are followed by zero bits.
#[cube]
pub(super) fn is_in_tetrahedron(p: &Array<f64>, corners: &Array<f64>) -> bool {
    let zero = f64::new(0.0);
    let zero_bits = u64::reinterpret(corners[12]);
    let mut most = extent(p, 3usize);
    #[unroll]
    for i in 0..4usize {
        most = max(most, extent(&nth(corners, i, 3usize), 3usize));
    }
    let unit = unit(most);
    // The side of the last corner, and 1 as long as the point may be inside.
    let (mut all, mut agrees) = (Array::<f64>::new(1usize), Array::<u32>::new(1usize));
    all[0] = zero;
    agrees[0] = 1;
    // The tetrahedron itself, followed by those in which the point replaces a corner.
    for turn in 0..5u32 {
        if agrees[0] == 1 {
            let mut points = Array::<f64>::new(12usize);
            #[unroll]
            for i in 0..4u32 {
                #[unroll]
                for k in 0..3u32 {
                    let own = select(turn == i + 1, p[k as usize], corners[(3 * i + k) as usize]);
                    points[(3 * i + k) as usize] = product(own, unit);
                }
            }
            let side = side(&points, zero_bits);
            all[0] = select(turn == 0, side, all[0]);
            let is_same = (side > zero) == (all[0] > zero);
            let is_fine = (turn == 0 && side != zero) || (turn > 0 && (side == zero || is_same));
            agrees[0] = u32::cast_from(is_fine);
        }
    }
    agrees[0] == 1
}

/// Returns the side of the plane of three points on which a fourth lies: positive, negative, or zero in the plane. Only
/// the sign is exact.
#[cube]
fn side(points: &Array<f64>, zero_bits: u64) -> f64 {
    let zero = f64::new(0.0);
    // Differences from the last point, and 1 if none is rounded.
    let (mut off, mut is_exact) = (Array::<f64>::new(12usize), Array::<u32>::new(1usize));
    is_exact[0] = 1;
    #[unroll]
    for i in 0..9usize {
        let (sum, rest) = two_sum(points[i], -points[comptime!(9 + i % 3)], zero_bits);
        off[i] = sum;
        is_exact[0] = select(rest == zero, is_exact[0], 0u32.runtime());
    }
    // The determinant, and the sum of the absolute values of its terms.
    let (mut found, mut permanent) = (Array::<f64>::new(1usize), zero + zero);
    found[0] = zero;
    #[unroll]
    for i in 0..3usize {
        let (j, k) = (comptime!((i + 1) % 3), comptime!((i + 2) % 3));
        let left = product(off[comptime!(3 * j)], off[comptime!(3 * k + 1)]);
        let right = product(off[comptime!(3 * k)], off[comptime!(3 * j + 1)]);
        let height = off[comptime!(3 * i + 2)];
        found[0] = found[0] + product(height, left - right);
        permanent += product(left.abs() + right.abs(), height.abs());
    }
    let bound = product(literal(comptime!((7.0 + 56.0 * ROUNDING) * ROUNDING)), permanent);
    if found[0].abs() <= bound {
        #[unroll]
        for i in 0..9usize {
            off[i] = select(is_exact[0] == 1, off[i], points[i]);
        }
        #[unroll]
        for i in 9..12usize {
            off[i] = points[i];
        }
        found[0] = exact_side(&off, select(is_exact[0] == 1, 1u32.runtime(), 4u32.runtime()), zero_bits);
    }
    found[0]
}

/// Returns the determinant of the first three vectors, without rounding. If there are four turns, the fourth vector is
/// subtracted from each.
#[cube]
fn exact_side(vectors: &Array<f64>, turns: u32, zero_bits: u64) -> f64 {
    let mut sum = Expansion::new(zero_bits, literal(134_217_729.0), TERMS);
    for turn in 0..turns {
        // One of the vectors is replaced by the fourth with the opposite sign.
        let p = vector_at(vectors, select(turn == 1, 9u32.runtime(), 0u32.runtime()), 3usize);
        let q = vector_at(vectors, select(turn == 2, 9u32.runtime(), 3u32.runtime()), 3usize);
        let r = vector_at(vectors, select(turn == 3, 9u32.runtime(), 6u32.runtime()), 3usize);
        let sign = select(turn == 0, f64::new(1.0), f64::new(-1.0));
        for k in 0..3u32 {
            let (i, j) = (((k + 1) % 3) as usize, ((k + 2) % 3) as usize);
            let own = sign * p[k as usize];
            sum.add_product(own, q[i], r[j]);
            sum.add_product(-own, q[j], r[i]);
        }
    }
    sum.value()
}
