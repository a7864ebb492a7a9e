//! Candidates for the hits of a ray: children of nodes by their boxes, and triangles in `f32` with a margin for all
//! rounding errors.
//!
//! In: a ray in the unit of the tree, and the limit of the search. Out: candidates, which include every hit. Source:
//! as for the CPU (`search::mesh::rays`).

use cubecl::prelude::*;

use crate::gpu::search::mesh::ray_frame::FrameRay;
use crate::gpu::search::mesh::tree::{Axis, Node, byte};

/// Returns the children of a node that a ray enters below a limit, one bit each.
#[cube]
pub(in crate::gpu::search) fn entered(ray: &FrameRay, node: &Node, limit: f32) -> u32 {
    let mut hits = Array::<u32>::new(1usize);
    hits[0] = 0;
    let x = Slab::new(&node.x, ray, 0usize);
    let y = Slab::new(&node.y, ray, 1usize);
    let z = Slab::new(&node.z, ray, 2usize);
    #[unroll]
    for place in 0..8usize {
        let (word, at) = comptime!((place / 4, place as u32 % 4));
        let enter = max(max(x.enter(word, at), y.enter(word, at)), max(z.enter(word, at), f32::new(0.0)));
        let leave = min(min(x.leave(word, at), y.leave(word, at)), min(z.leave(word, at), limit));
        hits[0] = hits[0] | select(enter <= leave, comptime!(1u32 << place), 0u32);
    }
    hits[0]
}

/// The results of [`box_entered`].
pub(in crate::gpu::search) const MISSED: u32 = 0;
pub(in crate::gpu::search) const IN_DOUBT: u32 = 1;
pub(in crate::gpu::search) const ENTERED: u32 = 2;

/// Returns whether a ray meets a box: certainly, possibly, or certainly not. `corners` holds the lower corner, then the
/// upper one.
#[cube]
pub(in crate::gpu::search) fn box_entered(ray: &FrameRay, corners: &Array<f32>) -> u32 {
    let padding = ray.padding();
    // The first and last positions along the longest axis, at the latest and at the earliest.
    let limit = ray.limit[0];
    let mut first = padding + f32::new(0.0);
    let mut last = limit - (limit.abs() * f32::new(1e-5) + f32::new(4.0) * padding);
    let mut least = f32::new(0.0);
    let mut most = limit + f32::new(0.0);
    #[unroll]
    for k in 0..3usize {
        let inverse = ray.inverse[k];
        let is_negative = inverse < f32::new(0.0);
        let (near, far) =
            (select(is_negative, corners[k + 3], corners[k]), select(is_negative, corners[k], corners[k + 3]));
        let (enter, leave) = ((near - ray.origin[k]) * inverse, (far - ray.origin[k]) * inverse);
        let error = padding * inverse.abs();
        first = max(first, enter + error);
        last = min(last, leave - error);
        least = max(least, enter - error);
        most = min(most, leave + error);
    }
    let is_sure = select(first <= last, ENTERED.runtime(), IN_DOUBT.runtime());
    select(least <= most, is_sure, MISSED.runtime())
}

/// The parameters at which a ray enters and leaves the children of a node along one axis.
#[derive(CubeType)]
struct Slab {
    step: f32,
    enter: f32,
    leave: f32,
    near: Array<u32>,
    far: Array<u32>,
}

#[cube]
impl Slab {
    fn new(axis: &Axis, ray: &FrameRay, #[comptime] k: usize) -> Slab {
        let inverse = ray.inverse[k];
        let is_negative = inverse < f32::new(0.0);
        let at = (axis.lo - ray.origin[k]) * inverse;
        let padding = ray.padding() * inverse.abs();
        let (mut near, mut far) = (Array::<u32>::new(2usize), Array::<u32>::new(2usize));
        #[unroll]
        for word in 0..2usize {
            near[word] = select(is_negative, axis.to[word], axis.from[word]);
            far[word] = select(is_negative, axis.from[word], axis.to[word]);
        }
        Slab { step: axis.step * inverse, enter: at - padding, leave: at + padding, near, far }
    }

    fn enter(&self, #[comptime] word: usize, #[comptime] at: u32) -> f32 {
        fma(byte(self.near[word], at), self.step, self.enter)
    }

    fn leave(&self, #[comptime] word: usize, #[comptime] at: u32) -> f32 {
        fma(byte(self.far[word], at), self.step, self.leave)
    }
}

/// Returns `true` if a ray may meet a triangle below a limit.
#[cube]
pub(super) fn may_meet(ray: &FrameRay, corners: &Array<f32>, limit: f32) -> bool {
    let (mut x, mut y, mut z) = (Array::<f32>::new(3usize), Array::<f32>::new(3usize), Array::<f32>::new(3usize));
    let mut wide = f32::new(0.0);
    let last = ray.longest();
    let is_back = ray.octant() & (1u32 << last) != 0;
    #[unroll]
    for at in 0..3usize {
        let mut p = Array::<f32>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            p[k] = corners[3 * at + k] - ray.origin[k];
        }
        let depth = select(last == 0, p[0], select(last == 1, p[1], p[2]));
        x[at] = select(last == 0, p[1], select(last == 1, p[2], p[0])) - ray.shear[0] * depth;
        y[at] = select(last == 0, p[2], select(last == 1, p[0], p[1])) - ray.shear[1] * depth;
        z[at] = select(is_back, -depth, depth);
        wide = max(wide, max(x[at].abs(), y[at].abs()));
    }
    let a = x[1] * y[2] - x[2] * y[1];
    let b = x[2] * y[0] - x[0] * y[2];
    let c = x[0] * y[1] - x[1] * y[0];
    let padding = ray.padding();
    let error = padding * (f32::new(5.0) * wide + f32::new(2.0) * padding);
    let is_mixed = min(a, min(b, c)) < -error && max(a, max(b, c)) > error;
    let is_behind = max(z[0], max(z[1], z[2])) < -padding;
    let is_beyond = min(z[0], min(z[1], z[2])) - padding > limit;
    !(is_mixed || is_behind || is_beyond)
}
