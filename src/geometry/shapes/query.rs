//! Shapes as queries of a tree.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::pairs;
use crate::geometry::shapes::vector::to_f64;
use crate::geometry::{
    Aabb, Bounded, Capsule, Convex, Ellipsoid, Kdop, Obb, Query, Scalar, Segment, Space, Tetrahedron, Triangle,
};

/// The maximum number of images of a box that are tested one by one.
const IMAGES: f64 = 1e6;

/// Returns `true` if a shape meets a box, or any image of it in a periodic space. The box is widened by the fraction
/// `wider` of the coordinates.
fn meets<S: Scalar, const D: usize>(
    shape: &impl Convex<S, D>,
    bounds: &Aabb<S, D>,
    space: &Space<D>,
    wider: f64,
) -> bool {
    let reach = shape.bounds();
    let (lo, hi) = (to_f64(&reach.lo), to_f64(&reach.hi));
    let (mut from, mut to) = (to_f64(&bounds.lo), to_f64(&bounds.hi));
    for k in 0..D {
        let most = [lo[k], hi[k], from[k], to[k]].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        // Infinite bounds overlap any box, and a box that is widened by them would have no points.
        if most.is_finite() {
            (from[k], to[k]) = (from[k] - wider * most, to[k] + wider * most);
        }
    }
    let Some(period) = space.period() else {
        return (0..D).all(|k| lo[k] <= to[k] && from[k] <= hi[k]) && meets_box(&shape.solid(), [from, to]);
    };
    // The range of images along each axis whose boxes overlap that of the shape.
    let first: [f64; D] = std::array::from_fn(|k| ((lo[k] - to[k]) / period[k] - 1e-9).ceil());
    let last: [f64; D] = std::array::from_fn(|k| ((hi[k] - from[k]) / period[k] + 1e-9).floor());
    let count: f64 = (0..D).map(|k| (last[k] - first[k] + 1.0).max(0.0)).product();
    if count == 0.0 || count.is_nan() {
        return false;
    }
    let solid = shape.solid();
    if count > IMAGES {
        return !matches!(solid.core, Core::Empty);
    }
    let mut image = first;
    loop {
        let shift = |corner: &[f64; D]| std::array::from_fn(|k| corner[k] + image[k] * period[k]);
        if meets_box(&solid, [shift(&from), shift(&to)]) {
            return true;
        }
        let Some(axis) = (0..D).find(|&k| image[k] < last[k]) else { return false };
        image[axis] += 1.0;
        image[..axis].copy_from_slice(&first[..axis]);
    }
}

fn meets_box<const D: usize>(solid: &Solid<D>, corners: [[f64; D]; 2]) -> bool {
    pairs::intersects(solid, &Solid::new(Core::Box(corners), 0.0, f64::MAX))
}

macro_rules! query {
    ($($shape:ty, $dim:expr, [$($generics:tt)*];)*) => {$(
        impl<S: Scalar, $($generics)*> Query<S, $dim> for $shape {
            /// Returns `true` if the shape intersects the box; in a periodic space, any image of the box.
            ///
            /// Each image is shifted by whole sides in `f64`. A shape so long that more than a million images are in
            /// reach meets every box.
            fn meets(&self, bounds: &Aabb<S, $dim>, space: &Space<$dim>) -> bool {
                meets(self, bounds, space, 0.0)
            }

            fn may_meet(&self, bounds: &Aabb<S, $dim>, space: &Space<$dim>) -> bool {
                // Exceeds the effect of rounding on any test.
                meets(self, bounds, space, 1e-11)
            }

            fn center(&self) -> Option<[S; $dim]> {
                Some(Bounded::bounds(self).center())
            }
        }
    )*};
}

for_each_shape!(query);
