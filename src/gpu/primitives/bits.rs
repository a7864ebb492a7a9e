//! A set of up to 32 numbers below 32, as the bits of a word.
//!
//! In: a word, as of a ballot or of what a leaf has near a query. Out: its bits one by one, lowest first.
//! Cost: a register, and two instructions a bit.

use cubecl::prelude::*;

/// The bits of a word that are left to look at.
#[derive(CubeType)]
pub(in crate::gpu) struct Bits {
    /// In an array, because an optimiser of cubecl's fails on loops of variables.
    word: Array<u32>,
}

#[cube]
impl Bits {
    pub fn new(bits: u32) -> Bits {
        let mut word = Array::<u32>::new(1usize);
        word[0] = bits;
        Bits { word }
    }

    /// Whether a bit is left.
    pub fn any(&self) -> bool {
        self.word[0] != 0
    }

    /// Takes the lowest bit out, and returns its number. There must be one.
    pub fn pop(&mut self) -> u32 {
        let bit = self.word[0].find_first_set() - 1;
        self.word[0] = self.word[0] & (self.word[0] - 1);
        bit
    }

    /// The bits that are left.
    pub fn left(&self) -> u32 {
        self.word[0]
    }

    /// Replaces the bits that are left.
    pub fn set(&mut self, bits: u32) {
        self.word[0] = bits;
    }
}
