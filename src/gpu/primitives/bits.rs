//! The highest bit of a word, and a set of up to 32 numbers below 32, as the bits of a word.
//!
//! In: a word, such as a ballot or the hits of a leaf. Out: its bits one by one, lowest first.
//! Cost: a register, and two instructions per bit.

use cubecl::prelude::*;

/// The bits of a word that remain to be processed.
#[derive(CubeType)]
pub(in crate::gpu) struct Bits {
    /// In an array, because one of cubecl's optimisers fails on loop variables.
    word: Array<u32>,
}

#[cube]
impl Bits {
    pub fn new(bits: u32) -> Bits {
        let mut word = Array::<u32>::new(1usize);
        word[0] = bits;
        Bits { word }
    }

    /// Returns `true` if a bit remains.
    pub fn any(&self) -> bool {
        self.word[0] != 0
    }

    /// Removes the lowest bit and returns its number. There must be one.
    pub fn pop(&mut self) -> u32 {
        let bit = self.word[0].find_first_set() - 1;
        self.word[0] = self.word[0] & (self.word[0] - 1);
        bit
    }

    /// Returns the remaining bits.
    pub fn left(&self) -> u32 {
        self.word[0]
    }

    /// Replaces the remaining bits.
    pub fn set(&mut self, bits: u32) {
        self.word[0] = bits;
    }
}

/// Returns the number of the highest set bit of `x`, which is not zero.
#[cube]
pub(in crate::gpu) fn highest_bit(x: u64) -> u32 {
    let high = u32::cast_from(x >> 32u64);
    let low = u32::cast_from(x & 0xffff_ffffu64);
    let mut bit = 31 - low.leading_zeros();
    if high != 0 {
        bit = 63 - high.leading_zeros();
    }
    bit
}
