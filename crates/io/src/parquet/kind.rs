//! The kinds of values in a Parquet column, and which of them are numbers.
//!
//! In: the description of a column. Out: its kind. Cost: none. Source: Apache Parquet, "Logical Types".

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

use crate::number_types::Number;

/// The maximum number of decimal digits that 128 bits hold.
const MAX_DIGITS: i32 = 38;

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Numbers, one per row.
    Number(Number),
    /// Integer multiples of 10^-scale, one per row. They are read as the nearest 64-bit floats.
    Decimal { scale: i32 },
    /// Numbers in an unsupported form.
    UnreadNumbers(&'static str),
    /// Values that are not numbers.
    Other(&'static str),
}

impl Kind {
    pub(super) fn from_column(column: &ColumnDescriptor) -> Self {
        let kind = Self::from_leaf(column);
        match kind {
            _ if column.max_rep_level() == 0 => kind,
            Self::Other(_) => Self::Other("lists"),
            _ => Self::UnreadNumbers("lists of numbers"),
        }
    }

    fn from_leaf(column: &ColumnDescriptor) -> Self {
        let logical = column.logical_type_ref();
        let converted = column.converted_type();
        if converted == ConvertedType::DECIMAL || matches!(logical, Some(LogicalType::Decimal { .. })) {
            let (scale, precision) = (column.type_scale(), column.type_precision());
            return if precision <= MAX_DIGITS && (-MAX_DIGITS..=MAX_DIGITS).contains(&scale) {
                Self::Decimal { scale }
            } else {
                Self::UnreadNumbers("decimals of more than 38 digits")
            };
        }
        let is_unsigned = matches!(
            converted,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        );
        let is_integer = match logical {
            None => matches!(
                converted,
                ConvertedType::NONE
                    | ConvertedType::INT_8
                    | ConvertedType::INT_16
                    | ConvertedType::INT_32
                    | ConvertedType::INT_64
            ),
            Some(logical) => matches!(logical, LogicalType::Integer(_)),
        };
        match column.physical_type() {
            Physical::FLOAT => Self::Number(Number::F32),
            Physical::DOUBLE => Self::Number(Number::F64),
            Physical::FIXED_LEN_BYTE_ARRAY if matches!(logical, Some(LogicalType::Float16)) => {
                Self::Number(Number::F16)
            }
            Physical::INT32 if is_unsigned => Self::Number(Number::U32),
            Physical::INT64 if is_unsigned => Self::Number(Number::U64),
            Physical::INT32 if is_integer => Self::Number(Number::I32),
            Physical::INT64 if is_integer => Self::Number(Number::I64),
            Physical::INT32 | Physical::INT64 if matches!(logical, Some(LogicalType::Unknown)) => Self::Other("nulls"),
            Physical::INT32 | Physical::INT64 | Physical::INT96 => Self::Other("dates or times"),
            Physical::BOOLEAN => Self::Other("true and false"),
            Physical::BYTE_ARRAY if converted == ConvertedType::UTF8 || converted == ConvertedType::ENUM => {
                Self::Other("text")
            }
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Self::Other("bytes"),
        }
    }

    /// Returns `true` if the values are read as numbers.
    pub(super) fn is_read(self) -> bool {
        matches!(self, Self::Number(_) | Self::Decimal { .. })
    }

    /// Returns `true` if 32-bit floats represent all values.
    pub(super) fn is_narrow_float(self) -> bool {
        matches!(self, Self::Number(number) if number.is_narrow_float())
    }

    /// The name of the kind.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number(number) => number.name(),
            Self::Decimal { .. } => "decimal",
            Self::UnreadNumbers(what) | Self::Other(what) => what,
        }
    }
}

/// Returns the integer of a decimal in big-endian two's complement. `None` if it does not fit into 128 bits.
pub(super) fn unscaled(bytes: &[u8]) -> Option<i128> {
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if is_negative { 0xff } else { 0 };
    let (extra, own) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut word = [fill; 16];
    word[16 - own.len()..].copy_from_slice(own);
    let value = i128::from_be_bytes(word);
    (extra.iter().all(|&byte| byte == fill) && (value < 0) == is_negative).then_some(value)
}

/// Returns the 64-bit float nearest to a decimal.
pub(super) fn decimal(unscaled: i128, scale: i32) -> f64 {
    // The parser of the standard library rounds to nearest for any number of digits.
    format!("{unscaled}e{}", -scale).parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        assert_eq!([&[][..], &[5], &[0xff], &[0x80, 0], &[0, 0x80]].map(unscaled), [0, 5, -1, -32768, 128].map(Some));
        let mut wide = [0u8; 18];
        wide[17] = 7;
        assert_eq!(unscaled(&wide), Some(7));
        wide[1] = 1;
        assert_eq!(unscaled(&wide), None);
        let mut negative = [0xffu8; 18];
        assert_eq!(unscaled(&negative), Some(-1));
        negative[2] = 0x7f;
        assert_eq!(unscaled(&negative), None);
        assert_eq!((decimal(1, 1), decimal(-12345, 3), decimal(7, -2)), (0.1, -12.345, 700.0));
    }
}
