//! The hits of rays on triangles that are known to be their first ones.
//!
//! In: rays, and the triangle that each hits first. Out: `t` and the weights of the corners, as on the CPU, or a mark
//! if they depend on rounding.
//! Each ray has one triangle, so the threads of a warp compute together, which they do not during a walk.

use cubecl::prelude::*;

use crate::gpu::search::mesh::constants::INFINITE;
use crate::gpu::search::mesh::primitives::ItemsIn;
use crate::gpu::search::mesh::rays::RaysIn;
use crate::gpu::search::mesh::triangle_hit::{HitSpec, MET, triangle_hit};

/// Writes the `t` and the weights of each hit, four numbers for each of `n` rays: infinity and zeros for rays without
/// one. Rays in doubt have a mark, which is not 0.
#[cube(launch)]
pub(super) fn finish_hits<F: Float>(
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    triangles: &Array<u32>,
    numbers: &mut Array<f64>,
    marks: &mut Array<u32>,
    n: u32,
) {
    let at = ABSOLUTE_POS as u32;
    if at < n {
        if marks[at as usize] == 0 {
            let triangle = triangles[at as usize];
            let mut found = Array::<f64>::new(5usize);
            found[0] = items.numbers[INFINITE];
            #[unroll]
            for k in 1..5usize {
                found[k] = f64::new(0.0);
            }
            if triangle != u32::MAX {
                // The hit is known to be in the range of the ray.
                let ray = rays.ray(at, &items.numbers, false);
                let spec = comptime!(HitSpec { exact: false, crossing: false, is_rounded: true });
                let result = triangle_hit(&ray, &items.triangle(triangle), &mut found, &items.numbers, spec);
                if result != MET {
                    marks[at as usize] = 1;
                }
            }
            #[unroll]
            for k in 0..4usize {
                numbers[4 * at as usize + k] = found[k];
            }
        }
    }
}
