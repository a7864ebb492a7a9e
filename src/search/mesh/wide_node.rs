//! A node of the wide tree: the boxes of eight children, with one array per coordinate, and the numbers of the
//! children.

use crate::simd::{LANES, Lanes};

/// The bit that is set in the number of a child that is a block.
pub(crate) const BLOCK: u32 = 1 << 31;

/// Eight children: their boxes and their numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Node {
    /// The lower corners by axis, then the upper ones. A missing child has an empty box.
    pub bounds: [Lanes<f32>; 6],
    /// Indices of nodes, or of blocks with the bit [`BLOCK`].
    pub child: Lanes<u32>,
}

impl Node {
    pub const EMPTY: Self = Self {
        bounds: {
            let (lo, hi) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
            [lo, lo, lo, hi, hi, hi]
        },
        child: [0; LANES],
    };
}
