//! Hits of rays on triangles, without gaps between triangles: the GPU counterpart of `search::mesh::triangle_hit`.
//!
//! In: a ray and a triangle, in `f64`. Out: the weights of the corners and `t`, bit-identical to the CPU's, or a `t` in
//! `f64` with a bound of its error.
//! The fast kernel leaves cases in doubt if rounding could affect them. Another kernel computes these without
//! rounding.

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;
use crate::gpu::search::mesh::constants::{HUGE, TINY};
use crate::gpu::search::mesh::exact::Scaled;
use crate::gpu::search::mesh::ray_parameter::correct;
use crate::gpu::search::mesh::rays::{ExactRay, longest_axis, pick};

/// The results of a test of a ray with an item.
pub(super) const MISSED: u32 = 0;
pub(super) const MET: u32 = 1;
pub(super) const IN_DOUBT: u32 = 2;

/// The options of a triangle test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct HitSpec {
    /// `true` if no case is left in doubt.
    pub exact: bool,
    /// `true` if each edge belongs to one of its triangles, as for counting crossings, rather than to all of them.
    pub crossing: bool,
    /// `true` if `t` is the CPU's; otherwise it is approximate. It is always the CPU's if no case is left in doubt.
    pub is_rounded: bool,
}

/// Tests the line against a triangle. `found` receives `t` and the weights. Its last element receives a bound of the
/// error of `t` if that is approximate; otherwise the number of exact sums is added to it.
#[cube]
pub(super) fn triangle_hit(
    ray: &ExactRay,
    corners: &Array<f64>,
    found: &mut Array<f64>,
    numbers: &Array<f64>,
    #[comptime] spec: HitSpec,
) -> u32 {
    let (zero, epsilon) = (f64::new(0.0), f64::new(2.220_446e-16));
    let tiny = numbers[TINY];
    let last = longest_axis(&ray.direction);
    let (kx, ky) = ((last + 1) % 3, (last + 2) % 3);
    let deep = pick(&ray.direction, last);
    let (shear, other) = (pick(&ray.direction, kx) / deep, pick(&ray.direction, ky) / deep);
    let (mut x, mut y, mut z) = (Array::<f64>::new(3usize), Array::<f64>::new(3usize), Array::<f64>::new(3usize));
    let (mut far, mut wide) = (zero, zero);
    #[unroll]
    for at in 0..3usize {
        let mut p = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            p[k] = corners[3 * at + k] - ray.origin[k];
            far = max(far, p[k].abs());
        }
        let depth = pick(&p, last);
        x[at] = pick(&p, kx) - product(shear, depth);
        y[at] = pick(&p, ky) - product(other, depth);
        z[at] = depth;
        wide = max(wide, max(x[at].abs(), y[at].abs()));
    }
    // The CPU's bound, with products that may be fused, so it may differ in the last digits.
    let four = f64::new(4.0) * epsilon;
    let bound = four * far;
    let error = f64::new(4.0) * bound * (wide + bound) + four * wide * wide + tiny;
    let mut edges = Array::<f64>::new(3usize);
    edges[0] = product(x[1], y[2]) - product(x[2], y[1]);
    edges[1] = product(x[2], y[0]) - product(x[0], y[2]);
    edges[2] = product(x[0], y[1]) - product(x[1], y[0]);
    let lowest = min(edges[0], min(edges[1], edges[2]));
    let highest = max(edges[0], max(edges[1], edges[2]));
    let mut result = MISSED.runtime();
    if !(lowest < -error && highest > error) {
        // Beyond this bound, the sign and some digits are certain. NaN is not.
        let sure = f64::new(1e6) * error;
        let are_sure = edges[0].abs() > sure && edges[1].abs() > sure && edges[2].abs() > sure;
        #[unroll]
        for at in 0..3usize {
            z[at] = z[at] / deep;
        }
        if comptime!(spec.exact) {
            let mut points = Array::<f64>::new(12usize);
            #[unroll]
            for k in 0..3usize {
                points[k] = ray.origin[k];
            }
            #[unroll]
            for k in 0..9usize {
                points[3 + k] = corners[k];
            }
            let scaled = Scaled::new(&ray.direction, &points, numbers);
            let turn = select(deep < zero, f64::new(-1.0), f64::new(1.0));
            let mut signs = Array::<i32>::new(3usize);
            // In a loop, because the code for each edge is long.
            for edge in 0..3u32 {
                let (at, b, c) = (edge as usize, (edge + 1) % 3 + 1, (edge + 2) % 3 + 1);
                let is_sure = edges[at].abs() > sure;
                if !is_sure {
                    let volume = scaled.volume(b, c);
                    found[4] = found[4] + f64::new(1.0);
                    let area = volume / deep;
                    let least = select(volume < zero, -tiny, tiny) * turn;
                    edges[at] = select(volume != zero && area == zero, least, area);
                }
                signs[at] = sign(edges[at]);
                if comptime!(spec.crossing) {
                    if signs[at] == 0 {
                        signs[at] = sign(scaled.first_of_cross(b, c) * turn);
                    }
                }
            }
            if have_same_sign(&signs, comptime!(spec.crossing)) {
                result = MET.runtime();
                place(ray, corners, &edges, &z, found, numbers, &scaled);
            }
        } else {
            let sum = edges[0] + edges[1] + edges[2];
            let is_met = lowest > zero || highest < zero;
            result = select(are_sure, select(is_met, MET.runtime(), MISSED.runtime()), IN_DOUBT.runtime());
            #[unroll]
            for at in 0..3usize {
                found[1 + at] = edges[at] / sum;
            }
            found[0] = product(found[1], z[0]) + product(found[2], z[1]) + product(found[3], z[2]);
            if result == MET {
                let mut is_sure = sum.abs() >= tiny && sum.abs() <= numbers[HUGE];
                if comptime!(spec.is_rounded) {
                    is_sure = correct(ray, corners, found, numbers) && is_sure;
                }
                result = select(is_sure, result, IN_DOUBT.runtime());
            }
            if comptime!(!spec.is_rounded) {
                // The errors of the edges move `t` towards the depths of other points of the triangle. These, the
                // errors of the depths, and that `t` is rounded up, cause at most half of this. Below 1e-309 it is 0,
                // as the CPU returns an approximate `t` there.
                let t = found[0];
                let off = max((z[0] - t).abs(), max((z[1] - t).abs(), (z[2] - t).abs()));
                let most = max(z[0].abs(), max(z[1].abs(), z[2].abs()));
                found[4] = f64::new(6.0) * error * (off / sum.abs()) + four * f64::new(8.0) * most;
            }
        }
    }
    result
}

#[cube]
fn sign(x: f64) -> i32 {
    let zero = f64::new(0.0);
    select(x > zero, 1i32, select(x < zero, -1i32, 0i32))
}

/// Returns `true` if the signs are those of a hit.
#[cube]
fn have_same_sign(signs: &Array<i32>, #[comptime] crossing: bool) -> bool {
    let (a, b, c) = (signs[0], signs[1], signs[2]);
    let lowest = min(a, min(b, c));
    let highest = max(a, max(b, c));
    let mut are = lowest == highest && lowest != 0;
    if comptime!(!crossing) {
        // If all signs are 0, the ray is in the plane, or the triangle is degenerate.
        are = (lowest >= 0 || highest <= 0) && lowest != highest || are;
    }
    are
}

/// Computes the hit for edge functions of the same sign.
#[cube]
fn place(
    ray: &ExactRay,
    corners: &Array<f64>,
    edges: &Array<f64>,
    z: &Array<f64>,
    found: &mut Array<f64>,
    numbers: &Array<f64>,
    scaled: &Scaled,
) {
    let (zero, one, tiny) = (f64::new(0.0), f64::new(1.0), numbers[TINY]);
    let sum = edges[0] + edges[1] + edges[2];
    let most_edge = max(edges[0].abs(), max(edges[1].abs(), edges[2].abs()));
    let is_normal = sum.abs() >= tiny && sum.abs() <= numbers[HUGE];
    // `is_normal` is false if the sum overflows or the edge functions underflow.
    let by = select(is_normal, one, most_edge);
    let parts = edges[0] / by + edges[1] / by + edges[2] / by;
    #[unroll]
    for at in 0..3usize {
        found[1 + at] = edges[at] / by / parts + zero;
    }
    found[0] = product(found[1], z[0]) + product(found[2], z[1]) + product(found[3], z[2]);
    if !correct(ray, corners, found, numbers) {
        found[0] = scaled.parameter(found[0]);
        found[4] = found[4] + one;
    }
}
