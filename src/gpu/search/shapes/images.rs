//! Shapes as queries of a periodic box, which meet the images of stored boxes: the GPU counterpart of
//! `geometry::shapes::query`.
//!
//! In: the box around a shape, and a stored box. Out: `true` if the shape meets any image of the box whose bounds
//! overlap those of the shape. The images are tested one by one, in `f64`. Cost: a test per image in reach; there is
//! usually one.

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;
use crate::gpu::search::shapes::tests::BoxTest;

/// The maximum number of images of a box that are tested. With more, the box counts as met, as on the CPU.
const IMAGES: f32 = 1e6;

/// The images of a box in reach of a shape.
#[derive(CubeType)]
pub(super) struct Images {
    /// The first image along each axis, in sides.
    first: Array<f64>,
    /// The number of images along each axis.
    counts: Array<f64>,
    /// The number of all images, at index 0.
    total: Array<f64>,
}

/// Finds the images of the box between `corners`. `row` holds a state and the ends of the shape's bounds, axis by axis.
#[cube]
fn images_of<F: Float>(row: &Array<f64>, corners: &Array<F>, sides: &Array<f64>, #[comptime] d: usize) -> Images {
    let (mut first, mut counts) = (Array::<f64>::new(d), Array::<f64>::new(d));
    let mut total = Array::<f64>::new(1usize);
    let (zero, one) = (f64::new(0.0), f64::new(1.0));
    // The quotient is 1e-9 in `f64`.
    let margin = one / f64::new(1e9);
    total[0] = select(row[0] > zero, one, zero);
    #[unroll]
    for k in 0..d {
        let (lo, hi) = (row[comptime!(1 + 2 * k)], row[comptime!(2 + 2 * k)]);
        let (from, to) = (f64::cast_from(corners[k]), f64::cast_from(corners[d + k]));
        first[k] = ((lo - to) / sides[k] - margin).ceil();
        let last = ((hi - from) / sides[k] + margin).floor();
        let count = last - first[k] + one;
        // A NaN is not positive.
        counts[k] = select(count > zero, count, zero);
        total[0] = total[0] * counts[k];
    }
    Images { first, counts, total }
}

/// Returns `true` if the bounds of a shape overlap an image of the box between `corners`. If it is `true` for a box, it
/// is for all boxes around it.
#[cube]
pub(super) fn overlaps_image<F: Float>(
    row: &Array<f64>,
    corners: &Array<F>,
    sides: &Array<f64>,
    #[comptime] d: usize,
) -> bool {
    images_of::<F>(row, corners, sides, d).total[0] > f64::new(0.0)
}

/// Returns `true` if a query meets the box between `corners`; in a periodic box with the given sides, any image of it.
///
/// The numbers of the query begin at `queries[at]`, and `row` holds its bounds.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn meets_image<F: Float, B: BoxTest>(
    row: &Array<f64>,
    corners: &Array<F>,
    sides: &Array<f64>,
    queries: &Array<f64>,
    at: u32,
    extra: &Array<f64>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
) -> bool {
    let mut own = Array::<f64>::new(comptime!(2 * d));
    let mut is_met = Array::<u32>::new(1usize);
    is_met[0] = 0;
    if comptime!(!periodic) {
        #[unroll]
        for k in 0..2 * d {
            own[k] = f64::cast_from(corners[k]);
        }
        is_met[0] = select(B::meets(queries, at, extra, &own), 1u32, 0u32);
    } else {
        let images = images_of::<F>(row, corners, sides, d);
        let is_tested = images.total[0] <= f64::new(IMAGES);
        is_met[0] = select(is_tested, 0u32, 1u32);
        let mut left = Array::<u32>::new(1usize);
        left[0] = 0;
        if is_tested {
            left[0] = u32::cast_from(images.total[0]);
        }
        while left[0] > 0 && is_met[0] == 0 {
            left[0] = left[0] - 1;
            let mut rest = Array::<u32>::new(1usize);
            rest[0] = left[0] + 0;
            #[unroll]
            for k in 0..d {
                let count = u32::cast_from(images.counts[k]);
                let by = product(images.first[k] + f64::cast_from(rest[0] % count), sides[k]);
                rest[0] = rest[0] / count;
                own[k] = f64::cast_from(corners[k]) + by;
                own[d + k] = f64::cast_from(corners[d + k]) + by;
            }
            is_met[0] = select(B::meets(queries, at, extra, &own), 1u32, 0u32);
        }
    }
    is_met[0] != 0
}
