//! The 256-byte header of a Gadget-2 snapshot, the header of GADGET-4, and the two ways to frame blocks in a file.
//!
//! | field | use |
//! |---|---|
//! | counts, high words, masses, time, redshift, box, matter, lambda, h, number of files | read; impossible values are errors |
//! | flags, and the bytes that fill up the 256 bytes | [`inspect`](crate::inspect) names those that are not 0 |
//! | trees of GADGET-4 | not used |
//!
//! Source: Springel, Users guide for GADGET-2, section 6; the structure `io_header` of GADGET-4, with
//! `GADGET2_HEADER` and without.

use ropewalk::{Error, Result};
use std::path::Path;

use crate::gadget_header::Header;
use crate::same_headers::check_same;
use crate::{Background, Format};

/// Flags of a header, with their byte offsets.
const FLAGS: [(usize, &str); 8] = [
    (88, "Flag_Sfr"),
    (92, "Flag_Feedback"),
    (120, "Flag_Cooling"),
    (160, "Flag_StellarAge"),
    (164, "Flag_Metals"),
    (192, "Flag_Entropy_ICs"),
    (196, "Flag_DoublePrecision"),
    (200, "Flag_IC_Info"),
];
/// Bytes of GADGET-4's header per type, and the remaining bytes.
const LONG_TYPE: usize = 24;
const LONG_REST: usize = 48;
/// The maximum number of types in GADGET-4's header.
const MAX_TYPES: usize = 32;

impl Header {
    /// Returns the cosmology. Its density parameters are unknown if the header states no matter density.
    pub(super) fn background(&self) -> Background {
        let has_matter = self.omega_m != 0.0;
        Background {
            omega_m: has_matter.then_some(self.omega_m),
            omega_lambda: has_matter.then_some(self.omega_lambda),
            h: (self.hubble != 0.0).then_some(self.hubble),
        }
    }

    /// Returns the fields that all files of a snapshot share, by name.
    fn shared(&self) -> [(&'static str, String); 9] {
        [
            ("total particle counts", format!("{:?}", self.counts)),
            ("mass table", format!("{:?}", self.mass_table)),
            ("time", self.time.to_string()),
            ("redshift", self.redshift.to_string()),
            ("box size", self.box_size.to_string()),
            ("Omega_m", self.omega_m.to_string()),
            ("Omega_Lambda", self.omega_lambda.to_string()),
            ("Hubble constant", self.hubble.to_string()),
            ("number of files", self.files.to_string()),
        ]
    }

    /// Returns an error if `other`, the header of the file `path`, belongs to another snapshot.
    pub(super) fn check_same(&self, other: &Self, path: &Path) -> Result<()> {
        check_same(&self.shared(), &other.shared(), path)
    }

    /// Returns the 256 bytes of the header of a file that holds the particles `here`, counted by type.
    pub(super) fn encode(&self, here: [u32; 6], big_endian: bool) -> [u8; 256] {
        let mut raw = Raw { bytes: [0; 256], big_endian };
        for (t, ((here, mass), count)) in here.into_iter().zip(self.mass_table).zip(self.counts).enumerate() {
            raw.set(4 * t, here.to_be_bytes());
            raw.set(24 + 8 * t, mass.to_be_bytes());
            raw.set(96 + 4 * t, (count as u32).to_be_bytes());
            raw.set(168 + 4 * t, ((count >> 32) as u32).to_be_bytes());
        }
        raw.set(124, self.files.to_be_bytes());
        let numbers = [(72, self.time), (80, self.redshift), (128, self.box_size), (136, self.omega_m)];
        for (at, value) in numbers.into_iter().chain([(144, self.omega_lambda), (152, self.hubble)]) {
            raw.set(at, value.to_be_bytes());
        }
        raw.bytes
    }

    /// Returns the header in `bytes`, and the number of particles of each type in its file.
    pub(super) fn decode(bytes: [u8; 256], big_endian: bool) -> (Self, [u64; 6]) {
        let raw = Raw { bytes, big_endian };
        let mut header = Self {
            counts: std::array::from_fn(|t| raw.u32(96 + 4 * t) | raw.u32(168 + 4 * t) << 32),
            mass_table: std::array::from_fn(|t| raw.f64(24 + 8 * t)),
            time: raw.f64(72),
            redshift: raw.f64(80),
            box_size: raw.f64(128),
            omega_m: raw.f64(136),
            omega_lambda: raw.f64(144),
            hubble: raw.f64(152),
            files: raw.u32(124) as u32,
        };
        let here = std::array::from_fn(|t| raw.u32(4 * t));
        // Some generators of initial conditions leave the totals of a single file empty.
        if header.files == 1 && header.counts == [0; 6] {
            header.counts = here;
        }
        (header, here)
    }

    /// Returns the GADGET-4 header in `bytes`, and the number of particles of each type in its file, which has `len`
    /// bytes.
    ///
    /// Errors: particles of types above 5; more particles than the file has bytes.
    pub(super) fn decode_long(
        bytes: &[u8],
        big_endian: bool,
        len: u64,
    ) -> std::result::Result<(Self, [u64; 6]), String> {
        let types = bytes.len().saturating_sub(LONG_REST) / LONG_TYPE;
        let word = |at: usize| -> u64 {
            let Some(&word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { return 0 };
            if big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) }
        };
        let number = |at: usize| f64::from_bits(word(at));
        let (here, counts, masses) = (0, 8 * types, 16 * types);
        for t in 0..types {
            let (own, all) = (word(here + 8 * t), word(counts + 8 * t));
            if t >= 6 && (own > 0 || all > 0) {
                return Err(format!("has {all} particles of type {t}; types must be 0 to 5"));
            }
            if own > len {
                return Err(format!("its header declares {own} particles of type {t}, but the file has {len} bytes"));
            }
        }
        let of = |from: usize, t: usize| if t < types { word(from + 8 * t) } else { 0 };
        let rest = LONG_TYPE * types;
        let files: [u8; 4] = std::array::from_fn(|i| bytes.get(rest + 24 + i).copied().unwrap_or(0));
        let mut header = Self {
            counts: std::array::from_fn(|t| of(counts, t)),
            mass_table: std::array::from_fn(|t| f64::from_bits(of(masses, t))),
            time: number(rest),
            redshift: number(rest + 8),
            box_size: number(rest + 16),
            omega_m: 0.0,
            omega_lambda: 0.0,
            hubble: 0.0,
            files: if big_endian { u32::from_be_bytes(files) } else { u32::from_le_bytes(files) },
        };
        let here = std::array::from_fn(|t| of(here, t));
        if header.files == 1 && header.counts == [0; 6] {
            header.counts = here;
        }
        Ok((header, here))
    }

    /// Returns a note on bytes that are not 0 outside the fields that are read.
    pub(super) fn unused(bytes: [u8; 256], big_endian: bool) -> Option<String> {
        let raw = Raw { bytes, big_endian };
        // GADGET-4 repeats the counts in the bytes that other codes use as filler, and stores the Hubble constant in
        // place of flags.
        let is_gadget4 = (0..6).any(|t| raw.u32(96 + 4 * t) > 0)
            && (0..6).all(|t| u64::from_be_bytes(raw.get(208 + 8 * t)) == raw.u32(96 + 4 * t));
        let flags = FLAGS.iter().filter(|(at, _)| !is_gadget4 || !(160..168).contains(at));
        let mut found: Vec<String> = flags
            .map(|&(at, name)| (name, raw.u32(at)))
            .filter(|(_, flag)| *flag != 0)
            .map(|(name, flag)| format!("{name} {flag}"))
            .collect();
        if !is_gadget4 && bytes[204..].iter().any(|&byte| byte != 0) {
            found.push("bytes 204 to 255".into());
        }
        (!found.is_empty()).then(|| format!("its header has unused entries: {}", found.join(", ")))
    }

    /// Returns an error if a value of the header is impossible.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        if self.files == 0 {
            return Err(Error::file(path, "its header says the snapshot is split over 0 files; it must be 1 or more"));
        }
        if !(self.box_size.is_finite() && self.box_size >= 0.0) {
            let message = format!("its header has box size {}; it must be positive, or 0 for none", self.box_size);
            return Err(Error::file(path, message));
        }
        for (t, mass) in self.mass_table.iter().enumerate() {
            if !(mass.is_finite() && *mass >= 0.0) {
                let message = format!("its header has mass {mass} for type {t}; it must be positive, or 0 for none");
                return Err(Error::file(path, message));
            }
        }
        Ok(())
    }
}

/// The bytes of the header; every offset is a constant in this file.
struct Raw {
    bytes: [u8; 256],
    big_endian: bool,
}

impl Raw {
    /// Returns `N` bytes in big-endian order.
    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut word: [u8; N] = std::array::from_fn(|i| self.bytes[at + i]);
        if !self.big_endian {
            word.reverse();
        }
        word
    }

    fn set<const N: usize>(&mut self, at: usize, mut word: [u8; N]) {
        if !self.big_endian {
            word.reverse();
        }
        self.bytes[at..at + N].copy_from_slice(&word);
    }

    fn u32(&self, at: usize) -> u64 {
        u64::from(u32::from_be_bytes(self.get(at)))
    }

    fn f64(&self, at: usize) -> f64 {
        f64::from_be_bytes(self.get(at))
    }
}

/// The framing of the blocks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) big_endian: bool,
    /// If `true`, a record with a label precedes each block (`SnapFormat` 2).
    pub(super) labels: bool,
}

impl Layout {
    /// Returns the layout of a file that begins with `prefix`: the marker of the header, or of the label before it.
    pub(super) fn recognises_prefix(prefix: &[u8]) -> Option<Self> {
        let (marker, rest) = prefix.split_first_chunk::<4>()?;
        let (big_endian, labels) = match marker {
            [0, 1, 0, 0] => (false, false),
            [0, 0, 1, 0] => (true, false),
            [8, 0, 0, 0] if rest.starts_with(b"HEAD") => (false, true),
            [0, 0, 0, 8] if rest.starts_with(b"HEAD") => (true, true),
            _ => (begins_long(u32::from_be_bytes(*marker), marker, rest)?, false),
        };
        Some(Self { big_endian, labels })
    }

    /// Returns `true` if a header can have this number of bytes.
    pub(super) fn is_header(bytes: u64) -> bool {
        bytes == 256 || is_long(bytes)
    }

    pub(super) fn format(self) -> Format {
        if self.labels { Format::Gadget2 } else { Format::Gadget1 }
    }
}

/// Returns `true` if GADGET-4's header has this number of bytes for some number of types.
fn is_long(bytes: u64) -> bool {
    let of_types = bytes.checked_sub(LONG_REST as u64).filter(|of_types| of_types % LONG_TYPE as u64 == 0);
    of_types.is_some_and(|of_types| (1..=MAX_TYPES as u64).contains(&(of_types / LONG_TYPE as u64)))
}

/// Returns the byte order (`true` for big-endian) of a file that begins with GADGET-4's header; `None` for other
/// files. The same marker precedes and follows the header.
fn begins_long(big: u32, marker: &[u8; 4], rest: &[u8]) -> Option<bool> {
    [(big, true), (big.swap_bytes(), false)].into_iter().find_map(|(bytes, big_endian)| {
        let after = rest.get(bytes as usize..).filter(|_| is_long(bytes.into()))?;
        after.starts_with(marker).then_some(big_endian)
    })
}
