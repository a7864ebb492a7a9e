//! Number types in files, and their conversion to types in memory.
//!
//! In: words of a file, of any width and byte order. Out: floats, ids, types or small integers; `None` for a value
//! that the target type cannot hold exactly. Cost: none; conversions are inlined into the loops over words.

use bytemuck::Pod;

use crate::particle_type::{NO_TYPE, of_number};

/// A number read from a file.
pub(super) trait Numeric: Copy + std::fmt::Display {
    /// Returns the number as a float; `None` for an integer that a float cannot hold exactly.
    fn number(self) -> Option<f64>;

    /// Returns the number as an id. `None` if it is negative or not an integer, or is a float so large that several
    /// integers round to it.
    fn id(self) -> Option<u64>;
}

/// The representation of a number in a file.
pub(super) trait Word: Numeric + bytemuck::Pod {
    fn swapped(self) -> Self;
}

/// Floats of 64 bits represent all integers up to this one exactly.
pub(super) const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// Returns the id stored as a float with `digits` binary digits of mantissa. `None` if several integers round to it.
pub(super) fn float_id(value: f64, digits: u32) -> Option<u64> {
    let below = (1u64 << digits) as f64;
    ((0.0..below).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

macro_rules! whole_words {
    ($($word:ty),*) => {
        $(impl Word for $word {
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
        }

        impl Numeric for $word {
            fn number(self) -> Option<f64> {
                (i128::from(self).unsigned_abs() <= EXACT.into()).then_some(self as f64)
            }

            fn id(self) -> Option<u64> {
                i128::from(self).try_into().ok()
            }
        })*
    };
}

whole_words!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

macro_rules! float_words {
    ($($word:ty),*) => {
        $(impl Word for $word {
            fn swapped(self) -> Self {
                Self::from_bits(self.to_bits().swap_bytes())
            }
        }

        impl Numeric for $word {
            fn number(self) -> Option<f64> {
                Some(self.into())
            }

            fn id(self) -> Option<u64> {
                float_id(self.into(), Self::MANTISSA_DIGITS)
            }
        })*
    };
}

float_words!(f32, f64);

/// A 16-bit float, stored as its bits.
#[derive(Clone, Copy)]
pub(super) struct Half(pub u16);

impl std::fmt::Display for Half {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        half(self.0).fmt(f)
    }
}

impl Numeric for Half {
    fn number(self) -> Option<f64> {
        Some(half(self.0).into())
    }

    fn id(self) -> Option<u64> {
        // 10 stored bits, and the implied one.
        float_id(half(self.0).into(), 11)
    }
}

/// Returns the value of a 16-bit float, which 32 bits represent exactly.
fn half(bits: u16) -> f32 {
    let (sign, exponent) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31));
    let fraction = u32::from(bits & 1023);
    f32::from_bits(
        sign | match exponent {
            // Subnormal: multiples of 2^-24.
            0 => (fraction as f32 / 16_777_216.0).to_bits(),
            31 => 0x7f80_0000 | fraction << 13,
            _ => (exponent + 112) << 23 | fraction << 13,
        },
    )
}

/// Returns `true` if words of this byte order must be swapped on this machine.
pub(super) fn foreign(big_endian: bool) -> bool {
    big_endian != cfg!(target_endian = "big")
}

/// The type of a number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Number {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Returns `true` if 32-bit floats represent all values of this type.
    pub(super) fn is_narrow_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    /// The name of the type in Rust.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }
}

/// A type to which values of a file are converted.
pub(super) trait Target: Pod + Send + Sync {
    /// The requirement on values, for error messages.
    const MUST: &'static str;

    /// Returns the converted value; `None` if the target cannot hold it exactly.
    fn of<W: Numeric>(word: W) -> Option<Self>;

    fn times(self, factor: f64) -> Self;
}

impl Target for f32 {
    const MUST: &'static str = "a number";

    fn of<W: Numeric>(word: W) -> Option<Self> {
        Some(word.number()? as Self)
    }

    fn times(self, factor: f64) -> Self {
        (f64::from(self) * factor) as Self
    }
}

impl Target for f64 {
    const MUST: &'static str = "a whole number that 64-bit floats hold, up to 2^53";

    fn of<W: Numeric>(word: W) -> Option<Self> {
        word.number()
    }

    fn times(self, factor: f64) -> Self {
        self * factor
    }
}

impl Target for u64 {
    const MUST: &'static str = "an id (a whole number from 0; a float must be small enough to be exact)";

    fn of<W: Numeric>(word: W) -> Option<Self> {
        word.id()
    }

    fn times(self, _: f64) -> Self {
        self
    }
}

impl Target for i8 {
    const MUST: &'static str = "a whole number from -128 to 127";

    fn of<W: Numeric>(word: W) -> Option<Self> {
        let value = word.number()?;
        ((-128.0..=127.0).contains(&value) && value.fract() == 0.0).then_some(value as Self)
    }

    fn times(self, _: f64) -> Self {
        self
    }
}

/// Particle types; [`NO_TYPE`] for other values.
impl Target for u8 {
    const MUST: &'static str = "a particle type (a whole number from 0 to 6)";

    fn of<W: Numeric>(word: W) -> Option<Self> {
        Some(word.number().map_or(NO_TYPE, of_number))
    }

    fn times(self, _: f64) -> Self {
        self
    }
}
