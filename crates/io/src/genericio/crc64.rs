//! The checksum of GenericIO: CRC-64 with the reflected polynomial of ECMA-182. The initial value is all ones, and
//! the result is inverted. Catalogues of checksums call it CRC-64/XZ.
//!
//! In: bytes. Out: their checksum. Cost: one step per eight bytes.

/// The polynomial of ECMA-182 with its bits reversed.
const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;

/// The contribution of a byte that is followed by 0 to 7 other bytes.
const TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut place = 1;
    while place < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[place - 1][byte];
            tables[place][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        place += 1;
    }
    tables
}

/// The checksum of the bytes processed so far.
pub(super) struct Crc64(u64);

impl Crc64 {
    pub(super) fn new() -> Self {
        Self(u64::MAX)
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        let mut crc = self.0;
        for &eight in eights {
            let word = (crc ^ u64::from_le_bytes(eight)).to_le_bytes();
            crc = (0..8).fold(0, |crc, place| crc ^ TABLES[7 - place][usize::from(word[place])]);
        }
        for &byte in rest {
            crc = crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)];
        }
        self.0 = crc;
    }

    pub(super) fn value(&self) -> u64 {
        !self.0
    }
}

/// Returns the checksum of `bytes`.
pub(super) fn crc64(bytes: &[u8]) -> u64 {
    let mut crc = Crc64::new();
    crc.update(bytes);
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_check() {
        assert_eq!(crc64(b"123456789"), 0x995d_c9bb_df19_39fa);
        let bytes: Vec<u8> = (0..100).collect();
        let mut parts = Crc64::new();
        parts.update(&bytes[..13]);
        parts.update(&bytes[13..]);
        assert_eq!(parts.value(), crc64(&bytes));
    }
}
