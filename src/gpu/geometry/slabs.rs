//! Intersections of slabs: the GPU counterpart of `geometry::shapes::slabs`.
//!
//! In: the numbers of a core: the two ends of each interval. Out: tests of points, of other slabs and of lines, rounded
//! as on the CPU. Cost: O(directions).

use cubecl::prelude::*;

use crate::geometry::shapes::kdop::directions_of;
use crate::geometry::shapes::vector::length2;
use crate::gpu::geometry::interval::{all, clip};
use crate::gpu::geometry::solid::{CoreKind, SolidSpec};
use crate::gpu::geometry::support::support;
use crate::gpu::geometry::vector::{dot, literal, times};
use crate::gpu::primitives::rounding::product;

impl SolidSpec {
    /// The directions of the slabs.
    pub(super) fn slabs(self) -> &'static [[i8; 3]] {
        if let CoreKind::Slabs(n) = self.kind { directions_of(self.d, n) } else { &[] }
    }

    /// The length of a direction of the slabs.
    fn slab_length(self, i: usize) -> f64 {
        length2(&self.slabs()[i].map(f64::from)).sqrt()
    }

    /// The interval along the same direction of other slabs, if they have it.
    fn same_slab(self, i: usize, other: Self) -> Option<usize> {
        other.slabs().iter().position(|direction| *direction == self.slabs()[i])
    }
}

/// Returns a direction.
#[cube]
fn direction(#[comptime] i: usize, #[comptime] spec: SolidSpec) -> Array<f64> {
    let mut out = Array::<f64>::new(comptime!(spec.d));
    #[unroll]
    for k in 0..comptime!(spec.d) {
        out[k] = f64::new(comptime!(f32::from(spec.slabs()[i][k])));
    }
    out
}

/// Returns the interval of a line in slabs.
#[cube]
pub(super) fn line_interval(
    slabs: &Array<f64>,
    from: &Array<f64>,
    by: &Array<f64>,
    #[comptime] spec: SolidSpec,
) -> Array<f64> {
    let d = comptime!(spec.d);
    let mut inside = all(from[0]);
    #[unroll]
    for i in 0..comptime!(spec.slabs().len()) {
        let normal = direction(i, spec);
        let (lo, hi) = (slabs[comptime!(2 * i)], slabs[comptime!(2 * i + 1)]);
        clip(&mut inside, dot(&normal, from, d), dot(&normal, by, d), lo, hi);
    }
    inside
}

/// Returns `true` if a point lies in all slabs.
#[cube]
pub(super) fn contains(slabs: &Array<f64>, p: &Array<f64>, #[comptime] spec: SolidSpec) -> bool {
    let mut found = true.runtime();
    #[unroll]
    for i in 0..comptime!(spec.slabs().len()) {
        let at = dot(&direction(i, spec), p, comptime!(spec.d));
        found = found && slabs[comptime!(2 * i)] <= at && at <= slabs[comptime!(2 * i + 1)];
    }
    found
}

/// Returns `true` if the centre of the common box along the axes lies in both, which proves that they intersect.
#[cube]
pub(super) fn share_middle(p: &Array<f64>, q: &Array<f64>, #[comptime] a: SolidSpec, #[comptime] b: SolidSpec) -> bool {
    let d = comptime!(a.d);
    let mut ends = Array::<f64>::new(comptime!(2 * d));
    #[unroll]
    for k in 0..d {
        ends[k] = q[comptime!(2 * k)];
        ends[comptime!(d + k)] = q[comptime!(2 * k + 1)];
    }
    let middle = middle_within(p, &ends, d);
    contains(p, &middle, a) && contains(q, &middle, b)
}

/// Returns `true` if the centre of the common box along the axes lies in the slabs and in the box, which proves that
/// they intersect.
#[cube]
pub(super) fn share_middle_of_box(slabs: &Array<f64>, corners: &Array<f64>, #[comptime] spec: SolidSpec) -> bool {
    let d = comptime!(spec.d);
    let middle = middle_within(slabs, corners, d);
    let mut found = contains(slabs, &middle, spec);
    #[unroll]
    for k in 0..d {
        found = found && corners[k] <= middle[k] && middle[k] <= corners[comptime!(d + k)];
    }
    found
}

/// Returns the centre of the intersection of a box with slabs along the axes.
#[cube]
fn middle_within(slabs: &Array<f64>, corners: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        let lo = max(slabs[comptime!(2 * k)], corners[k]);
        let hi = min(slabs[comptime!(2 * k + 1)], corners[comptime!(d + k)]);
        out[k] = f64::new(0.5) * (lo + hi);
    }
    out
}

/// Returns `true` if one interval of slabs alone proves that all points within a radius of a core lie outside.
#[cube]
pub(super) fn are_separated(
    slabs: &Array<f64>,
    core: &Array<f64>,
    corners: &Array<f64>,
    radius: f64,
    #[comptime] spec: SolidSpec,
    #[comptime] other: SolidSpec,
) -> bool {
    let d = comptime!(spec.d);
    let mut found = false.runtime();
    #[unroll]
    for i in 0..comptime!(spec.slabs().len()) {
        let (lo, hi) = (slabs[comptime!(2 * i)], slabs[comptime!(2 * i + 1)]);
        if comptime!(matches!(other.kind, CoreKind::Slabs(_))) {
            if comptime!(spec.same_slab(i, other).is_some()) {
                let same = comptime!(spec.same_slab(i, other).unwrap_or(0));
                found = found || hi < core[comptime!(2 * same)] || core[comptime!(2 * same + 1)] < lo;
            }
        } else {
            let normal = direction(i, spec);
            let back = times(&normal, f64::new(-1.0), d);
            // Rounded up, because the root is rounded.
            let length = literal(comptime!(spec.slab_length(i)));
            let reach = product(product(radius, length), literal(1.0 + 1e-12));
            let from = -dot(&back, &support(core, corners, &back, other), d);
            let to = dot(&normal, &support(core, corners, &normal, other), d);
            found = found || hi < from - reach || to + reach < lo;
        }
    }
    found
}
