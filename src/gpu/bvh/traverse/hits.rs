//! What a query found among up to 32 points: a bit for each.

use cubecl::prelude::*;

/// Points within a query's radius, of one leaf or of a packet.
#[derive(CubeType)]
pub(in crate::gpu) struct Hits {
    /// A bit for each point: whether it is within the radius.
    pub bits: u32,
    /// Bits of the points whose leaf is uniform: one hit among them is as good as all.
    uniform_bits: u32,
    /// Bits of the points that are the first of their leaf.
    leaf_start_bits: u32,
    /// The position of the first point in the tree, or its place in `positions`.
    first: u32,
    /// The positions of a packet's points, in shared memory.
    positions: SharedMemory<u32>,
    #[cube(comptime)]
    of_packet: bool,
}

#[cube]
impl Hits {
    /// Hits among the points of a leaf, which begins at `first`.
    pub fn of_leaf(bits: u32, first: u32, is_uniform: bool) -> Hits {
        let uniform_bits = select(is_uniform, 0xffff_ffffu32, 0u32);
        let positions = SharedMemory::new(1usize);
        Hits { bits, uniform_bits, leaf_start_bits: 0u32.runtime(), first, positions, of_packet: false }
    }

    /// Hits among the points of a packet, which begin at the place `first` of `positions`.
    pub fn of_packet(
        bits: u32,
        uniform_bits: u32,
        leaf_start_bits: u32,
        first: u32,
        positions: SharedMemory<u32>,
    ) -> Hits {
        Hits { bits, uniform_bits, leaf_start_bits, first, positions, of_packet: true }
    }

    /// Other hits among the same points.
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

    /// The position of a point in the tree.
    pub fn position(&self, bit: u32) -> u32 {
        let mut position = self.first + bit;
        if comptime!(self.of_packet) {
            position = self.positions[position as usize];
        }
        position
    }

    /// Of the hits `left` behind one, those still worth a look: none of its leaf, if that is uniform.
    pub fn after(&self, left: u32, bit: u32) -> u32 {
        let next = self.leaf_start_bits & (!1u32 << bit);
        // The bits below the next leaf's first, or all.
        let same_leaf = (next & (!next + 1)) - 1;
        let mut rest = left + 0;
        if (self.uniform_bits >> bit) & 1 != 0 {
            rest &= !same_leaf;
        }
        rest
    }
}
