//! The hits of a query among up to 32 points, as a bit for each point.

use cubecl::prelude::*;

/// The points of one leaf or of a packet that are within a query's radius.
#[derive(CubeType)]
pub(in crate::gpu) struct Hits {
    /// A bit for each point, set if it is within the radius.
    pub bits: u32,
    /// Bits of the points in uniform leaves, where one hit is enough for the whole leaf.
    uniform_bits: u32,
    /// Bits of the points that are the first of their leaf.
    leaf_start_bits: u32,
    /// The position in the tree of the first point, or its index in `positions`.
    first: u32,
    /// The positions of a packet's points, in shared memory.
    positions: SharedMemory<u32>,
    #[cube(comptime)]
    of_packet: bool,
}

#[cube]
impl Hits {
    /// Creates the hits among the points of a leaf, which begins at `first`.
    pub fn of_leaf(bits: u32, first: u32, is_uniform: bool) -> Hits {
        let uniform_bits = select(is_uniform, 0xffff_ffffu32, 0u32);
        let positions = SharedMemory::new(1usize);
        Hits { bits, uniform_bits, leaf_start_bits: 0u32.runtime(), first, positions, of_packet: false }
    }

    /// Creates the hits among the points of a packet, which begin at index `first` of `positions`.
    pub fn of_packet(
        bits: u32,
        uniform_bits: u32,
        leaf_start_bits: u32,
        first: u32,
        positions: SharedMemory<u32>,
    ) -> Hits {
        Hits { bits, uniform_bits, leaf_start_bits, first, positions, of_packet: true }
    }

    /// Creates hits with other `bits` among the same points.
    pub fn with(&self, bits: u32) -> Hits {
        Hits {
            bits,
            uniform_bits: self.uniform_bits,
            leaf_start_bits: self.leaf_start_bits,
            first: self.first,
            positions: self.positions,
            of_packet: comptime!(self.of_packet),
        }
    }

    /// Returns the position in the tree of the point of a bit.
    pub fn position(&self, bit: u32) -> u32 {
        let mut position = self.first + bit;
        if comptime!(self.of_packet) {
            position = self.positions[position as usize];
        }
        position
    }

    /// Removes from the hits `left` after `bit` those of the same leaf, if it is uniform.
    pub fn after(&self, left: u32, bit: u32) -> u32 {
        let next = self.leaf_start_bits & (!1u32 << bit);
        // The bits below the first point of the next leaf, or all bits.
        let same_leaf = (next & (!next + 1)) - 1;
        let mut rest = left + 0;
        if (self.uniform_bits >> bit) & 1 != 0 {
            rest &= !same_leaf;
        }
        rest
    }
}
