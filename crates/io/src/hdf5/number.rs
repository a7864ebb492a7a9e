//! Numbers of datasets: the layout of the bits in a stored word, and the value of a word.
//!
//! In: the bytes of a datatype message. Out: [`Number`], and functions from stored words to values. Source: The HDF
//! Group, HDF5 File Format Specification 3.0, section IV.A.2.d, "The Datatype Message". IEEE 754 for the values.
//!
//! Codes with lossy compression (SWIFT: Borrow and Borrisov 2023, section on output) store floats and integers with
//! fewer bits in words of the usual size. Their values follow IEEE 754 for these widths.

use std::fmt;

/// A conversion from contiguous stored words to values.
pub(super) type Converter<T> = Box<dyn Fn(&[u8], &mut [T]) + Send + Sync>;

/// The number format of a word of 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub size: usize,
    big_endian: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Whole { signed: bool, at: u8, bits: u8 },
    Float(Float),
}

/// The bit layout of a float with an implied leading 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Float {
    sign_at: u8,
    exponent_at: u8,
    mantissa_at: u8,
    mantissa_bits: u8,
    range: Range,
}

/// The number of bits and the bias of an exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    /// 5 bits, bias 15, and at most 10 bits of mantissa.
    Half,
    /// 8 bits, bias 127, and at most 23 bits of mantissa.
    Single,
    /// 11 bits, bias 1023, and at most 52 bits of mantissa.
    Double,
}

/// The reason why numbers cannot be read, as a phrase whose subject is the dataset that holds them.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The header is damaged.
    Damaged(String),
    /// The shape or the type is not supported.
    Unsupported(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Damaged(what) | Self::Unsupported(what)) = self;
        f.write_str(what)
    }
}

impl Number {
    /// An unsigned byte.
    pub(super) const BYTE: Self =
        Self { size: 1, big_endian: false, kind: Kind::Whole { signed: false, at: 0, bits: 8 } };

    /// Returns the number format that a datatype message describes.
    pub(super) fn parse(message: &[u8]) -> Result<Self, Unreadable> {
        let byte = |at: usize| {
            message.get(at).copied().ok_or_else(|| Unreadable::Damaged("has a datatype that is cut off".into()))
        };
        let pair = |at: usize| Ok(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
        let wide = |at: usize| Ok(u32::from_le_bytes([byte(at)?, byte(at + 1)?, byte(at + 2)?, byte(at + 3)?]));
        let (class, flags, size) = (byte(0)? & 15, byte(1)?, wide(4)?);
        let size = match (class, size) {
            (0 | 1, 1 | 2 | 4 | 8) => size as usize,
            (0 | 1, _) => {
                return Err(Unreadable::Unsupported(format!(
                    "has numbers of {size} bytes; they must have 1, 2, 4 or 8"
                )));
            }
            _ => return Err(Unreadable::Unsupported(format!("holds {}, not numbers", class_name(class)))),
        };
        let bits = 8 * size as u32;
        let (at, precision) = (u32::from(pair(8)?), u32::from(pair(10)?));
        let fits = |at: u32, bits_wide: u32| at + bits_wide <= bits;
        let big_endian = flags & 1 == 1;
        if class == 0 {
            if precision == 0 || !fits(at, precision) {
                return Err(Unreadable::Unsupported(format!(
                    "has whole numbers of {precision} bits from bit {at} on in words of {bits}, which is not supported"
                )));
            }
            let kind = Kind::Whole { signed: flags & 8 != 0, at: at as u8, bits: precision as u8 };
            return Ok(Self { size, big_endian, kind });
        }
        let (exponent_at, exponent_bits, mantissa_at, mantissa_bits) = (byte(12)?, byte(13)?, byte(14)?, byte(15)?);
        let (sign_at, bias) = (byte(2)?, wide(16)?);
        let range = match (exponent_bits, bias, mantissa_bits) {
            (5, 15, 1..=10) => Some(Range::Half),
            (8, 127, 1..=23) => Some(Range::Single),
            (11, 1023, 1..=52) => Some(Range::Double),
            _ => None,
        };
        let is_implied = (flags >> 4) & 3 == 2;
        let is_vax = flags & 0x40 != 0;
        let inside = fits(u32::from(exponent_at), u32::from(exponent_bits))
            && fits(u32::from(mantissa_at), u32::from(mantissa_bits))
            && fits(u32::from(sign_at), 1);
        let (Some(range), true, false, true) = (range, is_implied, is_vax, inside) else {
            return Err(Unreadable::Unsupported(format!(
                "has floats of {bits} bits with {exponent_bits} of exponent (bias {bias}) and {mantissa_bits} of mantissa; they must \
                 have IEEE 754 single or double precision, or fewer bits of mantissa"
            )));
        };
        let kind = Kind::Float(Float { sign_at, exponent_at, mantissa_at, mantissa_bits, range });
        Ok(Self { size, big_endian, kind })
    }

    /// Returns the NumPy name of the type as which the number is read: `f32`, `u64`.
    pub(super) fn name(&self) -> String {
        match self.kind {
            Kind::Whole { signed, .. } => format!("{}{}", if signed { 'i' } else { 'u' }, 8 * self.size),
            Kind::Float(Float { range: Range::Half, .. }) => "f16".into(),
            Kind::Float(Float { range: Range::Single, .. }) => "f32".into(),
            Kind::Float(Float { range: Range::Double, .. }) => "f64".into(),
        }
    }

    /// Returns `true` if single precision represents all values.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Float(Float { range: Range::Half | Range::Single, .. }))
    }

    /// Returns the bound below which floats of this format represent all integers exactly. At or above it, several
    /// integers round to one float. `None` for integers.
    pub(super) fn exact_below(&self) -> Option<u64> {
        match self.kind {
            Kind::Float(float) => Some(2 << float.mantissa_bits),
            Kind::Whole { .. } => None,
        }
    }

    /// Returns the conversion of floats, followed by `convert`; `None` for integers.
    pub(super) fn floats<T: 'static>(
        &self,
        convert: impl Fn(f64) -> T + Copy + Send + Sync + 'static,
    ) -> Option<Converter<T>> {
        let Kind::Float(float) = self.kind else { return None };
        Some(match (float, self.size, self.big_endian) {
            // Words of the usual formats need no rearrangement of bits.
            (Float::SINGLE, 4, false) => direct::<4, T>(move |word| convert(f64::from(f32::from_le_bytes(word)))),
            (Float::DOUBLE, 8, false) => direct::<8, T>(move |word| convert(f64::from_le_bytes(word))),
            _ => self.each(move |word| convert(float.value(word))),
        })
    }

    /// Returns the conversion of integers to their bits, so that the sign of a signed number is its highest bit.
    /// `None` for floats.
    pub(super) fn wholes(&self) -> Option<Converter<u64>> {
        let Kind::Whole { at, bits, .. } = self.kind else { return None };
        let mask = u64::MAX >> (64 - bits);
        Some(self.each(move |word| (word >> at) & mask))
    }

    /// Returns the conversion of integers to ids. Negative numbers wrap around to 2^63 or more, which no other signed
    /// numbers reach. `None` for floats.
    pub(super) fn ids(&self) -> Option<Converter<u64>> {
        let Kind::Whole { signed: true, at, bits } = self.kind else { return self.wholes() };
        let shift = 64 - bits;
        Some(self.each(move |word| (((word >> at) << shift) as i64 >> shift) as u64))
    }

    /// Returns `true` for integers that may be negative.
    pub(super) fn is_signed(&self) -> bool {
        matches!(self.kind, Kind::Whole { signed: true, .. })
    }

    /// Returns the conversion of numbers of either kind to floats. Integers beyond 2^53 are rounded.
    pub(super) fn values(&self) -> Converter<f64> {
        match self.kind {
            Kind::Float(_) => self.floats(|x| x).unwrap_or_else(|| Box::new(|_, _| {})),
            Kind::Whole { at, bits, signed } => {
                let shift = 64 - bits;
                self.each(move |word| {
                    let top = (word >> at) << shift;
                    if signed { (top as i64 >> shift) as f64 } else { (top >> shift) as f64 }
                })
            }
        }
    }

    /// Returns the conversion of words of any width and byte order. Words are widened in blocks, so that only the
    /// loop over `value` is compiled for each `T`.
    fn each<T: 'static>(&self, value: impl Fn(u64) -> T + Copy + Send + Sync + 'static) -> Converter<T> {
        const BLOCK: usize = 128;
        let (size, widen) = (self.size, self.widen());
        Box::new(move |bytes, out| {
            let mut words = [0; BLOCK];
            for (bytes, out) in bytes.chunks(BLOCK * size).zip(out.chunks_mut(BLOCK)) {
                widen(bytes, &mut words);
                out.iter_mut().zip(&words[..bytes.len() / size]).for_each(|(place, &word)| *place = value(word));
            }
        })
    }

    /// Returns the function that widens words to 64 bits.
    fn widen(&self) -> fn(&[u8], &mut [u64]) {
        match (self.size, self.big_endian) {
            (1, _) => widened::<1, false>,
            (2, false) => widened::<2, false>,
            (2, true) => widened::<2, true>,
            (4, false) => widened::<4, false>,
            (4, true) => widened::<4, true>,
            (_, false) => widened::<8, false>,
            (_, true) => widened::<8, true>,
        }
    }
}

fn widened<const N: usize, const IS_BIG: bool>(bytes: &[u8], out: &mut [u64]) {
    for (bytes, place) in bytes.as_chunks::<N>().0.iter().zip(out) {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(bytes);
        if IS_BIG {
            wide[..N].reverse();
        }
        *place = u64::from_le_bytes(wide);
    }
}

fn direct<const N: usize, T: 'static>(value: impl Fn([u8; N]) -> T + Send + Sync + 'static) -> Converter<T> {
    Box::new(move |bytes, out| {
        bytes.as_chunks().0.iter().zip(out).for_each(|(&word, place)| *place = value(word));
    })
}

impl Float {
    const SINGLE: Self = Self { sign_at: 31, exponent_at: 23, mantissa_at: 0, mantissa_bits: 23, range: Range::Single };
    const DOUBLE: Self = Self { sign_at: 63, exponent_at: 52, mantissa_at: 0, mantissa_bits: 52, range: Range::Double };

    fn value(self, word: u64) -> f64 {
        let bits = |at: u8, bits: u8| (word >> at) & (u64::MAX >> (64 - bits));
        let (sign, mantissa) = (bits(self.sign_at, 1), bits(self.mantissa_at, self.mantissa_bits));
        match self.range {
            Range::Double => {
                let exponent = bits(self.exponent_at, 11);
                f64::from_bits(sign << 63 | exponent << 52 | mantissa << (52 - self.mantissa_bits))
            }
            Range::Single => {
                let exponent = bits(self.exponent_at, 8);
                let word = sign << 31 | exponent << 23 | mantissa << (23 - self.mantissa_bits);
                f64::from(f32::from_bits(word as u32))
            }
            Range::Half => {
                let exponent = bits(self.exponent_at, 5);
                let mantissa = mantissa << (10 - self.mantissa_bits);
                let size = match (exponent, mantissa) {
                    (31, 0) => f64::INFINITY,
                    (31, _) => f64::NAN,
                    (0, _) => mantissa as f64 * 2f64.powi(-24),
                    _ => (1024 + mantissa) as f64 * 2f64.powi(exponent as i32 - 25),
                };
                if sign == 1 { -size } else { size }
            }
        }
    }
}

/// Returns the name of the values of a datatype class other than numbers.
pub(super) fn class_name(class: u8) -> &'static str {
    match class {
        3 => "strings",
        4 => "bit fields",
        6 => "compounds",
        7 => "references",
        8 => "enumerations",
        9 => "values of variable length",
        10 => "arrays",
        _ => "opaque values",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bit field of a float.
    struct Field {
        at: u8,
        width: u8,
    }

    fn field(at: u8, width: u8) -> Field {
        Field { at, width }
    }

    /// Parses the datatype message of a float with these properties: size in bytes, position of the sign bit,
    /// exponent, mantissa, and bias.
    fn float(size: u8, sign: u8, exponent: Field, mantissa: Field, bias: u32) -> Number {
        let mut message = vec![0x11, 0x20, sign, 0, size, 0, 0, 0, 0, 0, 8 * size, 0];
        message.extend([exponent.at, exponent.width, mantissa.at, mantissa.width]);
        message.extend(bias.to_le_bytes());
        Number::parse(&message).unwrap()
    }

    fn value(number: Number, word: u64) -> f64 {
        let mut out = [0.0];
        number.floats(|x| x).unwrap()(&word.to_le_bytes()[..number.size], &mut out);
        out[0]
    }

    #[test]
    fn floats_of_all_widths() {
        let single = float(4, 31, field(23, 8), field(0, 23), 127);
        let double = float(8, 63, field(52, 11), field(0, 52), 1023);
        let half = float(2, 15, field(10, 5), field(0, 10), 15);
        // SWIFT's floats with 9 bits of mantissa, in the lowest 18 bits of a word.
        let nine = float(4, 17, field(9, 8), field(0, 9), 127);
        for x in [0.0f32, -1.5, 3.25e10, f32::MIN_POSITIVE / 4.0, f32::INFINITY] {
            assert_eq!(value(single, u64::from(x.to_bits())), f64::from(x));
            assert_eq!(value(double, f64::from(x).to_bits()), f64::from(x));
            if x.to_bits().trailing_zeros() >= 14 {
                assert_eq!(value(nine, u64::from(x.to_bits() >> 14)), f64::from(x));
            }
        }
        assert_eq!(
            [0x3c00, 0xc000, 0x7bff, 0x0001].map(|word| value(half, word)),
            [1.0, -2.0, 65504.0, 2f64.powi(-24)]
        );
        assert!(value(half, 0x7e00).is_nan());
        assert_eq!(value(half, 0xfc00), f64::NEG_INFINITY);
        assert!(nine.is_single() && half.is_single() && !double.is_single());
        let bounds = [half, nine, single, double].map(|number| number.exact_below());
        assert_eq!(bounds, [11, 10, 24, 53].map(|bits| Some(1 << bits)));
    }

    #[test]
    fn wholes_of_all_widths() {
        let message = |flags: u8, size: u8, at: u8, bits: u8| [0x10, flags, 0, 0, size, 0, 0, 0, at, 0, bits, 0];
        let take = |message: [u8; 12], bytes: &[u8]| {
            let mut out = [0];
            Number::parse(&message).unwrap().wholes().unwrap()(bytes, &mut out);
            out[0]
        };
        assert_eq!(take(message(0, 4, 0, 32), &[1, 2, 0, 0x80]), 0x8000_0201);
        assert_eq!(take(message(1, 4, 0, 32), &[1, 2, 0, 0x80]), 0x0102_0080);
        assert_eq!(take(message(8, 8, 0, 40), &[1, 0, 0, 0, 2, 9, 9, 9]), 0x02_0000_0001);
        assert_eq!(take(message(0, 2, 4, 8), &[0x34, 0x12]), 0x23);
        let parse = |message: &[u8]| Number::parse(message).unwrap_err();
        for bad in [message(0, 3, 0, 24), message(0, 4, 8, 32), message(0, 4, 0, 0)] {
            assert!(matches!(parse(&bad), Unreadable::Unsupported(_)));
        }
        assert_eq!(Number::parse(&[0x13, 0, 0, 0, 8, 0, 0, 0]).unwrap_err().to_string(), "holds strings, not numbers");
        // Only messages that end too early are damaged.
        let whole = message(0, 4, 0, 32);
        for length in 0..whole.len() {
            assert!(matches!(parse(&whole[..length]), Unreadable::Damaged(_)), "{length}");
        }
    }
}
