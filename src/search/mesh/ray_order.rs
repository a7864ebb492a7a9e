//! The order in which many rays are cast: along a curve through their entry points and directions, so that consecutive
//! rays meet the same nodes.
//!
//! Input: rays, and the frame of what they are cast at. Output: an order, unless the rays are in a similar one already.
//! Cost: that of sorting the rays.

use crate::bvh::morton::{Grid, curve_order};
use crate::geometry::{Aabb, Ray, Scalar};
use crate::search::mesh::frame::{Frame, FrameRay, Prepared};

/// The order in which to process rays: along a curve, or `None` if most of them resemble the ray before.
pub(super) fn ray_order<S: Scalar>(rays: &[Ray<S, 3>], frame: &Frame) -> Option<Vec<u32>> {
    /// The number of rays that are compared with the ray before.
    const SAMPLE: usize = 256;
    /// Rays with smaller differences are alike.
    const ALIKE: f32 = 0.05;
    let place = |ray: usize| match FrameRay::new(&rays[ray], frame) {
        Prepared::Ready(ray) => {
            let [x, y, z] = ray.origin;
            let [i, j, k] = ray.inverse.map(f32::recip);
            // The start of a ray matters more than its direction.
            [2.0 * x, 2.0 * y, 2.0 * z, i, j, k]
        }
        Prepared::Nothing | Prepared::TooFar => [-1.0; 6],
    };
    let step = (rays.len() / SAMPLE).max(1);
    let sampled = (1..rays.len()).step_by(step);
    let n = sampled.len();
    let is_alike = |&ray: &usize| place(ray).into_iter().zip(place(ray - 1)).all(|(a, b)| (a - b).abs() < ALIKE);
    if 2 * sampled.filter(is_alike).count() >= n {
        return None;
    }
    Some(curve_order(rays.len(), &Grid::over(&Aabb { lo: [-1.0f32; 6], hi: [1.0; 6] }), place))
}
