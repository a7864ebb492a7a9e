//! Rays as walks read them, and the order in which many rays are cast: along a curve through their entry points into
//! the tree's box and their directions.
//!
//! In: rays. Out: each ray in the unit of the tree, and an order in which neighbours enter nearby with similar
//! directions.
//! Cost: that of sorting the rays by 27 bits.
//! Sources: as for the CPU (`Mesh::first_hits`). Aila and Karras 2010 for the benefit.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::Coordinate;
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::search::mesh::primitives::{Items, ItemsIn};
use crate::gpu::search::mesh::ray_frame::{FrameRay, READY, VECTORS};
use crate::gpu::search::mesh::rays::{Rays, RaysIn};
use crate::gpu::search::mesh::tree::Vec4;

/// Fewer rays than this are cast in their own order.
const FEW: usize = 1 << 14;
/// The number of bits of a key: five for each coordinate of the entry point, four for each component of the
/// direction.
const BITS: u32 = 27;

/// Rays in the unit of a tree.
pub(in crate::gpu::search) struct PreparedRays {
    words: Buffer<u32>,
    scales: Buffer<f64>,
    /// The order in which rays are cast; empty for their own order.
    order: Buffer<u32>,
}

impl PreparedRays {
    pub fn new<R: Runtime, S: Coordinate>(client: &ComputeClient<R>, items: &Items<S>, rays: &Rays<S>) -> Result<Self> {
        let n = rays.len();
        check_allocation(client, (16 * VECTORS * n) as u128)?;
        let is_ordered = n >= FEW;
        let mut prepared = Self {
            words: Buffer::new(client, 4 * VECTORS * n),
            scales: Buffer::new(client, 2 * n),
            order: Buffer::new(client, 0),
        };
        let keys = Buffer::<u64>::new(client, if is_ordered { n } else { 0 });
        prepare::launch::<S, R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            items.arg(),
            rays.arg(),
            prepared.arg(),
            keys.arg(),
            n as u32,
            rays.has_ranges(),
            is_ordered,
        );
        if is_ordered {
            prepared.order = sort_words(client, keys, 1 << BITS);
        }
        Ok(prepared)
    }

    pub fn arg<R: Runtime>(&self) -> PreparedRaysInLaunch<R> {
        PreparedRaysInLaunch::new(self.words.quads(), self.scales.arg(), self.order.arg())
    }

    /// Returns `true` if rays are cast in a sorted order.
    pub fn is_ordered(&self) -> bool {
        self.order.len() > 0
    }
}

/// The kernel argument for [`PreparedRays`].
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu::search) struct PreparedRaysIn {
    /// The rays as [`FrameRay::store`] writes them.
    pub words: Vec4,
    /// The scale of each ray, as [`FrameRay::set`] computes it.
    scales: Array<f64>,
    order: Array<u32>,
}

#[cube]
impl PreparedRaysIn {
    /// Returns the number of the ray at a place in the order.
    pub fn ray(&self, place: u32, #[comptime] is_ordered: bool) -> u32 {
        let mut at = place + 0;
        if comptime!(is_ordered) {
            at = self.order[place as usize];
        }
        at
    }

    /// Returns the scale of a ray: `t` times the first number, minus the second, is the distance along its longest axis
    /// in the unit of the tree.
    pub fn scale(&self, at: u32) -> (f64, f64) {
        (self.scales[2 * at as usize], self.scales[2 * at as usize + 1])
    }
}

/// Prepares rays. If they are to be sorted, writes a key to the upper half of a word and the ray's number to the
/// lower one.
#[cube(launch)]
fn prepare<F: Float>(
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    prepared: &mut PreparedRaysIn,
    keys: &mut Array<u64>,
    n: u32,
    #[comptime] has_ranges: bool,
    #[comptime] is_ordered: bool,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let ray = rays.ray(at as u32, &items.numbers, has_ranges);
        // Rays that meet nothing come last.
        let mut key = Array::<u32>::new(1usize);
        key[0] = comptime!((1u32 << BITS) - 1);
        let mut framed = FrameRay::new();
        if ray.is_proper {
            let mut scale = Array::<f64>::new(2usize);
            framed.set(&ray, &items.numbers, &mut scale);
            prepared.scales[2 * at] = scale[0];
            prepared.scales[2 * at + 1] = scale[1];
            if framed.state() == READY {
                key[0] = 0;
                #[unroll]
                for k in 0..3usize {
                    let from = cell((framed.origin[k] + f32::new(0.5)) * f32::new(32.0), 31u32);
                    let towards = cell((f32::new(1.0) / framed.inverse[k] + f32::new(1.0)) * f32::new(8.0), 15u32);
                    // The highest bits are from the entry point; then bits of the entry point and the direction
                    // alternate.
                    key[0] = key[0] | spread(from, comptime!(k as u32)) | spread(towards, comptime!(k as u32 + 3));
                }
            }
        }
        framed.store(&mut prepared.words, at as u32);
        if comptime!(is_ordered) {
            keys[at] = (u64::cast_from(key[0]) << 32) | u64::cast_from(at as u32);
        }
    }
}

/// Returns the cell of a number, clamped to `0..=last`.
#[cube]
fn cell(x: f32, last: u32) -> u32 {
    u32::cast_from(max(min(x, f32::cast_from(last)), f32::new(0.0)))
}

/// Moves the bits of a number to every sixth bit from bit `first` on.
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
