//! Rays as walks take them, and the order in which many are taken: along a curve of where they enter the box around the tree, and where they
//! go.
//!
//! In: rays. Out: each in the unit of the tree, and their numbers, such that neighbours begin near each other and go alike. Cost: that of
//! sorting them by 27 bits. Source: as the CPU's (`Mesh::first_hits`); Aila and Karras 2010 for what it gains.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, check_allocation, cubes};
use crate::gpu::bvh::Coordinate;
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::search::mesh::frame_ray::{FrameRay, READY, VECTORS};
use crate::gpu::search::mesh::items::{Items, ItemsIn};
use crate::gpu::search::mesh::rays::{Rays, RaysIn};
use crate::gpu::search::mesh::tree::Vec4;

/// Fewer rays are taken as they come.
const FEW: usize = 1 << 14;
/// Bits of a key: five for each coordinate of where a ray enters, four for each of where it goes.
const BITS: u32 = 27;

/// Rays in the unit of a tree.
pub(super) struct PreparedRays {
    words: Buffer<u32>,
    scales: Buffer<f64>,
    /// The order in which they are taken; empty if they are taken as they come.
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
            cubes(n),
            CubeDim::new_1d(UNITS),
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

    /// Whether they are taken in an order of their own.
    pub fn is_ordered(&self) -> bool {
        self.order.len() > 0
    }
}

/// Rays of a tree in a kernel.
#[derive(CubeType, CubeLaunch)]
pub(super) struct PreparedRaysIn {
    /// Each as [`FrameRay::store`] writes it.
    pub words: Vec4,
    /// The scale of each, as [`FrameRay::set`] has it.
    scales: Array<f64>,
    order: Array<u32>,
}

#[cube]
impl PreparedRaysIn {
    /// The ray at a place.
    pub fn ray(&self, place: u32, #[comptime] is_ordered: bool) -> u32 {
        let mut at = place + 0;
        if comptime!(is_ordered) {
            at = self.order[place as usize];
        }
        at
    }

    /// `t` times the first number, less the second, is along the longest axis of a ray in the unit of the tree.
    pub fn scale(&self, at: u32) -> (f64, f64) {
        (self.scales[2 * at as usize], self.scales[2 * at as usize + 1])
    }
}

/// Prepares rays. If they are to be sorted: a key in the upper half of a word, and the ray's number in the lower one.
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
        // What meets nothing comes last.
        let mut key = Array::<u32>::new(1usize);
        key[0] = comptime!((1u32 << BITS) - 1);
        let mut placed = FrameRay::new();
        if ray.is_proper {
            let mut scale = Array::<f64>::new(2usize);
            placed.set(&ray, &items.numbers, &mut scale);
            prepared.scales[2 * at] = scale[0];
            prepared.scales[2 * at + 1] = scale[1];
            if placed.state() == READY {
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
        placed.store(&mut prepared.words, at as u32);
        if comptime!(is_ordered) {
            keys[at] = (u64::cast_from(key[0]) << 32) | u64::cast_from(at as u32);
        }
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
