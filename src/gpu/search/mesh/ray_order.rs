//! The order in which many rays are taken: along a curve of where they enter the box around the tree, and where they go.
//!
//! In: rays. Out: their numbers, such that neighbours begin near each other and go alike. Cost: that of sorting them by 27 bits.
//! Source: as the CPU's (`Mesh::first_hits`); Aila and Karras 2010 for what it gains.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::Coordinate;
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::search::mesh::cast::{Items, ItemsIn};
use crate::gpu::search::mesh::rays::{FrameRay, READY, Rays, RaysIn};

/// Fewer rays are taken as they come.
const FEW: usize = 1 << 14;
/// Bits of a key: five for each coordinate of where a ray enters, four for each of where it goes.
const BITS: u32 = 27;

/// The order of many rays.
pub(super) fn along_curve<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    items: &Items<S>,
    rays: &Rays<S>,
) -> Option<Buffer<u32>> {
    let n = rays.len();
    if n < FEW {
        return None;
    }
    let words = Buffer::<u64>::new(client, n);
    let dim = CubeDim::new_1d(UNITS);
    let has_ranges = rays.has_ranges();
    ray_words::launch::<S, R>(client, cubes(n), dim, items.arg(), rays.arg(), words.arg(), n as u32, has_ranges);
    Some(sort_words(client, words, 1 << BITS))
}

/// A key in the upper half of a word, and a ray's number in the lower one.
#[cube(launch)]
fn ray_words<F: Float>(
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    words: &mut Array<u64>,
    n: u32,
    #[comptime] has_ranges: bool,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let ray = rays.ray(at as u32, &items.numbers, has_ranges);
        // What meets nothing comes last.
        let mut key = Array::<u32>::new(1usize);
        key[0] = comptime!((1u32 << BITS) - 1);
        if ray.is_proper {
            let placed = FrameRay::new(&ray, &items.numbers);
            if placed.state == READY {
                key[0] = 0;
                #[unroll]
                for k in 0..3usize {
                    let from = cell((placed.origin[k] + f32::new(0.5)) * f32::new(32.0), 31u32);
                    let towards = cell((f32::new(1.0) / placed.inverse[k] + f32::new(1.0)) * f32::new(8.0), 15u32);
                    // The highest bits are of where it enters, then the two take turns.
                    key[0] = key[0] | spread(from, comptime!(k as u32)) | spread(towards, comptime!(k as u32 + 3));
                }
            }
        }
        words[at] = (u64::cast_from(key[0]) << 32) | u64::cast_from(at as u32);
    }
}

/// The cell of a number, from 0 on.
#[cube]
fn cell(x: f32, last: u32) -> u32 {
    u32::cast_from(max(min(x, f32::cast_from(last)), f32::new(0.0)))
}

/// Moves the bits of a number six apart, from bit `first` on.
#[cube]
fn spread(cell: u32, #[comptime] first: u32) -> u32 {
    let mut all = 0u32.runtime();
    #[unroll]
    for bit in 0..5u32 {
        if comptime!(6 * bit + first < BITS) {
            all |= ((cell >> comptime!(bit)) & 1) << comptime!(6 * bit + first);
        }
    }
    all
}
