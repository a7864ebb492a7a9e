//! Numbers of `f64` that kernels are given: cubecl writes its own as `f32`.
//!
//! In: the frame of a tree. Out: one array, whose places have names here. The first three are the centre of the frame.

use crate::gpu::bvh::Coordinate;
use crate::search::mesh::frame::{self, Frame};

/// What a length is multiplied by to be in the unit of the tree.
pub(super) const SCALE: usize = 3;
/// The least normal number, and the largest.
pub(super) const TINY: usize = 4;
pub(super) const HUGE: usize = 5;
/// Error bounds below this may have lost digits to underflow.
pub(super) const LEAST_BOUND: usize = 6;
/// The largest coordinate.
pub(super) const LARGEST: usize = 7;
/// The padding of queries that begin near the tree.
pub(super) const PADDING: usize = 8;
pub(super) const INFINITE: usize = 9;
/// Between these, products of lengths neither overflow nor vanish, as `shapes::vector::unit` has it; and the least that one is divided by there.
pub(super) const SHORT: usize = 10;
pub(super) const LONG: usize = 11;
pub(super) const SHORTEST: usize = 12;
/// The same for sides of triangles, as `point_triangle` has it.
pub(super) const THIN: usize = 13;
pub(super) const WIDE: usize = 14;
/// 0, which compilers are not to know.
pub(super) const NO_BITS: usize = 15;
/// 2^27 + 1, which splits a number in halves.
pub(super) const SPLIT: usize = 16;
/// Between these, products of three numbers are far from the ends of `f64`, as `ray_parameter` has it; and the least that one is rounded by.
pub(super) const LEAST_FACTOR: usize = 17;
pub(super) const MOST_FACTOR: usize = 18;
pub(super) const LEAST_REST: usize = 19;

pub(super) fn numbers<S: Coordinate>(frame: &Frame) -> [f64; 20] {
    let mut all = [0.0; 20];
    all[..3].copy_from_slice(&frame.center);
    for (at, value) in [
        (SCALE, frame.scale),
        (TINY, f64::MIN_POSITIVE),
        (HUGE, f64::MAX),
        (LEAST_BOUND, 1e-280),
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
