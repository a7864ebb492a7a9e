//! The output arrays for hits.

use crate::gpu::buffer::Buffer;
use crate::gpu::search::mesh::primitives::Item;

/// The results of a call.
#[derive(Clone, Debug)]
pub(super) struct CastOutput {
    pub indices: Buffer<u32>,
    pub numbers: Buffer<f64>,
    pub offsets: Buffer<u32>,
}

/// The number of numbers per hit: `t`, and a triangle's weights.
pub(super) fn width(item: Item) -> usize {
    if item == Item::Triangle { 4 } else { 1 }
}
