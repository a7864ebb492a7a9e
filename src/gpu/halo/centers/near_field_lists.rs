//! Lists of the blocks near to each block.
//!
//! In: blocks, and a test of nearness. Out: for each block the first `capacity` near blocks, and the number of near
//! blocks. A block with more near blocks goes through all blocks of its halo and tests them again. Cost: 4 bytes for
//! each place of a list, and 4 per block.

use cubecl::prelude::*;

use crate::gpu::buffer::Buffer;
use crate::gpu::halo::centers::blocks::BlocksArg;

/// The lists of all blocks.
pub(super) struct NearLists {
    blocks: Buffer<u32>,
    counts: Buffer<u32>,
    capacity: usize,
}

/// The kernel argument for [`NearLists`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct NearListsArg {
    /// `capacity` places for each block.
    pub blocks: Array<u32>,
    /// The number of blocks near to each block, listed or not.
    pub counts: Array<u32>,
    pub capacity: u32,
}

impl NearLists {
    /// Allocates the lists of `blocks` blocks. Returns `None` if the number of places exceeds `u32`, in which kernels
    /// index them.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, blocks: usize, capacity: usize) -> Option<Self> {
        if blocks > u32::MAX as usize / capacity {
            return None;
        }
        Some(Self { blocks: Buffer::new(client, capacity * blocks), counts: Buffer::new(client, blocks), capacity })
    }

    /// Returns the lists as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> NearListsArgLaunch<R> {
        NearListsArgLaunch::new(self.blocks.arg(), self.counts.arg(), self.capacity as u32)
    }
}

/// The blocks that a block goes through.
#[derive(CubeType)]
pub(super) struct NearList {
    /// The place of the first entry in the lists, or the first block of the halo.
    pub start: u32,
    pub len: u32,
    /// `true` if the blocks are listed, and therefore all near.
    pub listed: bool,
}

/// The blocks that `block` goes through.
#[cube]
pub(super) fn near_list(near: &NearListsArg, blocks: &BlocksArg, block: u32) -> NearList {
    let halo = blocks.owners[block as usize] as usize;
    let mut start = blocks.of_halos[halo];
    let mut len = blocks.of_halos[halo + 1] - start;
    let listed = near.counts[block as usize] <= near.capacity;
    if listed {
        start = block * near.capacity;
        len = near.counts[block as usize];
    }
    NearList { start, len, listed }
}

/// Block `i` of a list.
#[cube]
pub(super) fn block_at(near: &NearListsArg, list: &NearList, i: u32) -> u32 {
    let mut block = list.start + i;
    if list.listed {
        block = near.blocks[block as usize];
    }
    block
}
