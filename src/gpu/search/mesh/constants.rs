//! Constants in `f64` that are passed to kernels, because cubecl writes literals as `f32`.
//!
//! In: the frame of a tree. Out: one array, whose indices have names here. The first three elements are the centre of
//! the frame.

use crate::gpu::bvh::Coordinate;
use crate::search::mesh::frame::{self, Frame};

/// The factor from lengths to the unit of the tree.
pub(super) const SCALE: usize = 3;
/// The smallest normal number, and the largest number.
pub(super) const TINY: usize = 4;
pub(super) const HUGE: usize = 5;
/// The rounding error of the origin of a ray in the unit of the tree, relative to its coordinates.
pub(super) const FAR_ERROR: usize = 6;
/// The largest coordinate.
pub(super) const LARGEST: usize = 7;
/// The padding of queries that begin near the tree.
pub(super) const PADDING: usize = 8;
pub(super) const INFINITE: usize = 9;
/// Lengths between the first two have products that neither overflow nor underflow, as in `shapes::vector::unit`. The
/// third is the smallest divisor there.
pub(super) const SHORT: usize = 10;
pub(super) const LONG: usize = 11;
pub(super) const SHORTEST: usize = 12;
/// The same range for sides of triangles, as in `point_triangle`.
pub(super) const THIN: usize = 13;
pub(super) const WIDE: usize = 14;
/// Zero, passed at run time so that the compiler cannot fold it.
pub(super) const ZERO_BITS: usize = 15;
/// 2^27 + 1, which splits a number into halves.
pub(super) const SPLIT: usize = 16;
/// Factors between the first two have products of three that are far from the ends of `f64`, as in `ray_parameter`.
/// The third is the smallest rounding error there.
pub(super) const LEAST_FACTOR: usize = 17;
pub(super) const MOST_FACTOR: usize = 18;
pub(super) const LEAST_REST: usize = 19;
/// The number of constants.
pub(super) const N_NUMBERS: usize = 20;

pub(super) fn numbers<S: Coordinate>(frame: &Frame) -> [f64; N_NUMBERS] {
    let mut all = [0.0; N_NUMBERS];
    all[..3].copy_from_slice(&frame.center);
    for (at, value) in [
        (SCALE, frame.scale),
        (TINY, f64::MIN_POSITIVE),
        (HUGE, f64::MAX),
        (FAR_ERROR, 64.0 * f64::EPSILON),
        (LARGEST, S::MAX.into()),
        (PADDING, frame::PADDING),
        (INFINITE, f64::INFINITY),
        (SHORT, 1e-45),
        (LONG, 1e45),
        (SHORTEST, 1e-300),
        (THIN, 1e-40),
        (WIDE, 1e40),
        (SPLIT, 134_217_729.0),
        (LEAST_FACTOR, 1e-50),
        (MOST_FACTOR, 1e80),
        (LEAST_REST, 1e-120),
    ] {
        all[at] = value;
    }
    all
}
