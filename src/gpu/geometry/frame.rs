//! Orthonormal axes around a centre: the GPU counterpart of `geometry::shapes::frame`.
//!
//! In: a frame as the numbers of a core: the centre, the axes, and half the length along each. Out: components along
//! the axes, and the points with given components. Cost: O(d²).

use cubecl::prelude::*;

use crate::gpu::geometry::vector::{dot, nth};
use crate::gpu::primitives::rounding::product;

/// Returns the components of a vector along the axes.
#[cube]
pub(super) fn components(frame: &Array<f64>, vector: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        out[k] = dot(&nth(frame, comptime!(k + 1), d), vector, d);
    }
    out
}

/// Returns the point with the given components relative to the centre.
#[cube]
pub(super) fn place(frame: &Array<f64>, components: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let mut point = nth(frame, 0usize, d);
    #[unroll]
    for k in 0..d {
        #[unroll]
        for j in 0..d {
            point[j] = point[j] + product(components[k], frame[comptime!((k + 1) * d + j)]);
        }
    }
    point
}

/// Returns half the length along an axis.
#[cube]
pub(super) fn half(frame: &Array<f64>, #[comptime] k: usize, #[comptime] d: usize) -> f64 {
    frame[comptime!(d * (d + 1) + k)]
}
