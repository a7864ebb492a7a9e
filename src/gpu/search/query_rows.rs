//! Queries of a tree of boxes as rows of numbers.
//!
//! In: spheres and boxes. Out: a row of `f64` for each, which `box_queries` compares with boxes.
//! Cost: D + 1 numbers per sphere; per box 1 + 2 D, or 1 + 6 D in a periodic box.

use crate::geometry::{Aabb, Space, Sphere};
use crate::gpu::bvh::Coordinate;

/// The shape of queries, which determines their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum RowShape {
    /// The centre and the squared radius, or -1 for an empty sphere.
    Sphere,
    /// 1, or 0 for an empty box. Then the ends of its intervals, axis by axis: one in open space, three images in a
    /// periodic box.
    Box,
}

/// Writes the row of a sphere.
pub(super) fn write_sphere<S: Coordinate, const D: usize>(space: &Space<D>, own: &Sphere<S, D>, row: &mut [f64]) {
    let center = space.wrap(own.center);
    let is_proper = own.radius >= 0.0 && Aabb::point(center).is_finite();
    for (to, x) in row.iter_mut().zip(center) {
        *to = if is_proper { x.into() } else { 0.0 };
    }
    row[D] = if is_proper { own.radius * own.radius } else { -1.0 };
}

/// Writes the row of a box.
pub(super) fn write_box<S: Coordinate, const D: usize>(space: &Space<D>, own: &Aabb<S, D>, row: &mut [f64]) {
    let is_proper = (0..D).all(|k| own.lo[k] <= own.hi[k]);
    row[0] = f64::from(u8::from(is_proper));
    let ends = row[1..].as_chunks_mut::<2>().0;
    for (k, ends) in ends.chunks_mut(if space.period().is_some() { 3 } else { 1 }).enumerate() {
        match space.period() {
            Some(period) if is_proper => {
                ends.copy_from_slice(&space.images_along(k, period[k], [own.lo[k], own.hi[k]]))
            }
            _ => ends.fill([own.lo[k].into(), own.hi[k].into()]),
        }
    }
}
