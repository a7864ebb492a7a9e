//! The 32 bytes at the start of a Tipsy file, and the layout of the records that follow.

use std::path::Path;

use ropewalk::{Error, Result};

/// Bytes of the header: a double, and six 32-bit words.
const BYTES: usize = 32;

/// The particle families, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Gas,
    Dark,
    Star,
}

impl Family {
    pub(super) const ALL: [Self; 3] = [Self::Gas, Self::Dark, Self::Star];

    /// Returns the particle type, numbered as in [`ReadOptions::types`](crate::ReadOptions::types).
    pub(super) fn particle_type(self) -> u8 {
        match self {
            Self::Gas => 0,
            Self::Dark => 1,
            Self::Star => 4,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gas => "gas",
            Self::Dark => "dark",
            Self::Star => "star",
        }
    }

    /// Returns the names of the values after mass, position and velocity, of 32 bits each.
    pub(super) fn others(self) -> &'static [&'static str] {
        match self {
            Self::Gas => &["rho", "temp", "eps", "metals", "phi"],
            Self::Dark => &["eps", "phi"],
            Self::Star => &["metals", "tform", "eps", "phi"],
        }
    }
}

/// The contents of a header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub big_endian: bool,
    /// The scale factor of a run in comoving coordinates; in other runs, the time.
    pub time: f64,
    /// The number of particles of each family.
    pub counts: [u64; 3],
}

impl Header {
    /// Returns the header at the start of a file, if it has three dimensions and its counts agree.
    pub(super) fn recognises_prefix(prefix: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = prefix.first_chunk()?;
        [true, false].into_iter().find_map(|big_endian| Self::decode(bytes, big_endian))
    }

    fn decode(bytes: &[u8; BYTES], big_endian: bool) -> Option<Self> {
        let word = |at: usize| {
            let bytes: [u8; 4] = std::array::from_fn(|i| bytes[at + i]);
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let time: [u8; 8] = std::array::from_fn(|i| bytes[i]);
        let time = if big_endian { f64::from_be_bytes(time) } else { f64::from_le_bytes(time) };
        let [total, dimensions, gas, dark, star, high] = [8, 12, 16, 20, 24, 28].map(word);
        if dimensions != 3 || !time.is_finite() {
            return None;
        }
        let counts = [gas, dark, star].map(u64::from);
        // Counts beyond 32 bits have eight further bits each in the last word.
        let high = high.to_le_bytes().map(|byte| u64::from(byte) << 32);
        let large = [counts[0] | high[1], counts[1] | high[2], counts[2] | high[3]];
        let agrees = |counts: &[u64; 3], total: u64| counts.iter().sum::<u64>() == total;
        let counts = if agrees(&large, u64::from(total) | high[0]) {
            large
        // Programs that do not use these bits may write any value in the last word.
        } else if agrees(&counts, total.into()) && total > 0 {
            counts
        } else {
            return None;
        };
        Some(Self { big_endian, time, counts })
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the bytes of the header; `None` if a count exceeds 40 bits.
    pub(super) fn encode(&self) -> Option<[u8; BYTES]> {
        let numbers = [self.total(), self.counts[0], self.counts[1], self.counts[2]];
        if numbers.iter().any(|&n| n >> 40 != 0) {
            return None;
        }
        let [total, gas, dark, star] = numbers.map(|n| n as u32);
        let high = u32::from_le_bytes(numbers.map(|n| (n >> 32) as u8));
        let mut bytes = [0; BYTES];
        let time = if self.big_endian { self.time.to_be_bytes() } else { self.time.to_le_bytes() };
        bytes[..8].copy_from_slice(&time);
        for (place, word) in bytes[8..].chunks_exact_mut(4).zip([total, 3, gas, dark, star, high]) {
            place.copy_from_slice(&if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        Some(bytes)
    }

    /// Returns the layout of the records, which follows from `len`, the length of the file in bytes. If either
    /// positions or velocities have 64 bits, `is_wide_velocity` decides which of them.
    pub(super) fn layout(&self, path: &Path, len: u64, is_wide_velocity: bool) -> Result<Layout> {
        let one = if is_wide_velocity { (false, true) } else { (true, false) };
        let layouts =
            [(false, false), one, (true, true)].map(|(positions, velocities)| Layout { positions, velocities });
        let bytes = |layout: &Layout| {
            let of = |(family, n): (Family, u64)| u128::from(layout.record(family)) * u128::from(n);
            BYTES as u128 + Family::ALL.into_iter().zip(self.counts).map(of).sum::<u128>()
        };
        if let Some(layout) = layouts.iter().find(|layout| bytes(layout) == u128::from(len)) {
            return Ok(*layout);
        }
        let [gas, dark, star] = self.counts;
        let [narrow, mixed, wide] = layouts.map(|layout| bytes(&layout));
        Err(Error::file(
            path,
            format!(
                "is {len} bytes long, truncated or not a Tipsy file: {gas} gas, {dark} dark and {star} star particles are {narrow} bytes, \
                 or {mixed} or {wide} with positions and velocities of 64 bits"
            ),
        ))
    }

    /// Returns the byte offset of the records of a family.
    pub(super) fn start(&self, layout: &Layout, family: Family) -> u64 {
        let before = Family::ALL.into_iter().zip(self.counts).take_while(|(other, _)| *other != family);
        BYTES as u64 + before.map(|(other, n)| n * layout.record(other)).sum::<u64>()
    }
}

/// The values of a record that have 64 bits; all other values have 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub positions: bool,
    pub velocities: bool,
}

impl Layout {
    /// Returns the bytes before the velocities: mass and position.
    pub(super) fn velocity_at(&self) -> u64 {
        4 + if self.positions { 24 } else { 12 }
    }

    /// Returns the bytes per particle.
    pub(super) fn record(&self, family: Family) -> u64 {
        self.velocity_at() + if self.velocities { 24 } else { 12 } + 4 * family.others().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_forty_bits() {
        for big_endian in [false, true] {
            let header = Header { big_endian, time: 0.5, counts: [3 << 32, (5 << 32) + 7, 11] };
            assert_eq!(Header::recognises_prefix(&header.encode().unwrap()), Some(header));
        }
        assert_eq!(Header { big_endian: true, time: 1.0, counts: [1 << 40, 0, 0] }.encode(), None);
    }
}
