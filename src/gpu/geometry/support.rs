//! The point of a core that is farthest along a direction: the GPU counterpart of the `support` of
//! `geometry::shapes::core`.
//!
//! In: a core and a direction. Out: the first of its farthest points. Cost: O(d) per corner, O(d²) for frames.

use cubecl::prelude::*;

use crate::gpu::geometry::frame::{components, half, place};
use crate::gpu::geometry::solid::{CoreKind, SolidSpec};
use crate::gpu::geometry::vector::{dot, length2, nth, vector_at};
use crate::gpu::primitives::rounding::product;

/// Corners of a k-DOP per iteration of a loop. A software driver of Vulkan ends all loops of a thread after 65,535
/// iterations.
const STEP: u32 = 8;

/// Returns a point of a core that is farthest along a direction. `corners` are those of k-DOPs.
#[cube]
pub(super) fn support(
    core: &Array<f64>,
    corners: &Array<f64>,
    direction: &Array<f64>,
    #[comptime] spec: SolidSpec,
) -> Array<f64> {
    let d = comptime!(spec.d);
    if comptime!(spec.kind == CoreKind::Box) {
        let mut out = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            out[k] = select(direction[k] < f64::new(0.0), core[k], core[comptime!(d + k)]);
        }
        out
    } else if comptime!(spec.kind == CoreKind::Oriented) {
        let mut along = components(core, direction, d);
        #[unroll]
        for k in 0..d {
            let half = half(core, k, d);
            along[k] = select(along[k] < f64::new(0.0), -half, half);
        }
        place(core, &along, d)
    } else if comptime!(spec.kind == CoreKind::Ellipsoid) {
        of_ellipsoid(core, direction, d)
    } else if comptime!(matches!(spec.kind, CoreKind::Slabs(_))) {
        let n = comptime!(spec.slabs().len());
        farthest_corner(corners, core[comptime!(2 * n)], core[comptime!(2 * n + 1)], direction, d)
    } else {
        let mut best = nth(core, 0usize, d);
        let mut most = dot(&best, direction, d);
        #[unroll]
        for i in 1..comptime!(spec.numbers() / d) {
            let point = nth(core, i, d);
            let at = dot(&point, direction, d);
            let is_farther = at > most;
            most = select(is_farther, at, most);
            #[unroll]
            for k in 0..d {
                best[k] = select(is_farther, point[k], best[k]);
            }
        }
        best
    }
}

#[cube]
fn of_ellipsoid(frame: &Array<f64>, direction: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let mut stretched = components(frame, direction, d);
    #[unroll]
    for k in 0..d {
        stretched[k] = product(half(frame, k, d), stretched[k]);
    }
    let length = length2(&stretched, d).sqrt();
    let is_long = length > f64::new(0.0);
    let divisor = select(is_long, length, f64::new(1.0));
    #[unroll]
    for k in 0..d {
        // If the length is 0, so are the components, and the point is the centre.
        stretched[k] = product(half(frame, k, d), stretched[k] / divisor);
        stretched[k] = select(is_long, stretched[k], f64::new(0.0));
    }
    place(frame, &stretched, d)
}

/// Returns the first of the farthest corners among those of a k-DOP, of which there is at least one. `first` and `n`
/// are whole numbers.
#[cube]
fn farthest_corner(
    corners: &Array<f64>,
    first: f64,
    n: f64,
    direction: &Array<f64>,
    #[comptime] d: usize,
) -> Array<f64> {
    let at = u32::cast_from(first);
    let mut best = vector_at(corners, at, d);
    let mut most = Array::<f64>::new(1usize);
    most[0] = dot(&best, direction, d);
    let count = u32::cast_from(n);
    for step in 0..count.div_ceil(STEP) {
        #[unroll]
        for k in 0..STEP {
            // The last corner may be repeated.
            let place = min(step * STEP + k, count - 1);
            let point = vector_at(corners, at + place * comptime!(d as u32), d);
            let along = dot(&point, direction, d);
            if along > most[0] {
                most[0] = along;
                #[unroll]
                for k in 0..d {
                    best[k] = point[k];
                }
            }
        }
    }
    best
}
