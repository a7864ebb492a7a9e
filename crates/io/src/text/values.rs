//! Values of text tables: numbers, ids, and words for missing values.

use crate::number_types::float_id;

/// The words for a missing value in tables of pandas, R and astropy.
const MISSING: [&[u8]; 20] = [
    b"",
    b"#N/A",
    b"#N/A N/A",
    b"#NA",
    b"-1.#IND",
    b"-1.#QNAN",
    b"-NaN",
    b"-nan",
    b"1.#IND",
    b"1.#QNAN",
    b"<NA>",
    b"N/A",
    b"NA",
    b"NULL",
    b"NaN",
    b"None",
    b"n/a",
    b"nan",
    b"null",
    b"--",
];

/// The words for a missing value that begin with the comment character.
pub(super) const MISSING_AFTER_HASH: [&[u8]; 3] = [b"#N/A N/A", b"#N/A", b"#NA"];

/// Returns `true` if a field marks a missing value.
pub(super) fn is_missing(field: &[u8]) -> bool {
    MISSING.contains(&field) || field == b"?"
}

/// Parses a number, which may have a Fortran exponent, as `1.5D+03`.
pub(super) fn number(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?;
    text.parse().ok().or_else(|| {
        let (digits, exponent) = text.split_once(['D', 'd'])?;
        let is_exponent = exponent.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
        let has_digit = digits.bytes().any(|byte| byte.is_ascii_digit());
        if is_exponent && has_digit { format!("{digits}e{exponent}").parse().ok() } else { None }
    })
}

/// Parses an integer of at least 0. Forms such as `1.0` or `1e3` are accepted if they are below 2^53, since one
/// larger float represents several integers.
pub(super) fn id(field: &[u8]) -> Option<u64> {
    if let Some(id) = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok()) {
        return Some(id);
    }
    float_id(number(field)?, f64::MANTISSA_DIGITS)
}

/// Returns `true` if a field begins like a number.
pub(super) fn begins_like_a_number(field: &[u8]) -> bool {
    field.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte))
}

/// Returns `true` if a field may name a column. A typing error in the first row must not turn it into a line of
/// names.
pub(super) fn is_name(field: &[u8]) -> bool {
    !begins_like_a_number(field) && number(field).is_none()
}

/// Returns `true` if a field begins like a number and contains a word, as `2mass_k`, but not `1,5` or `1e`.
pub(super) fn is_name_with_a_number(field: &[u8]) -> bool {
    let is_word = |pair: &[u8]| pair.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_' || *byte >= 0x80);
    begins_like_a_number(field) && number(field).is_none() && field.windows(2).any(is_word)
}

/// Returns `true` if readers certainly recognise this text in the first line as the name of a column.
pub(crate) fn may_name_a_column(name: &str) -> bool {
    let field = name.as_bytes();
    let begins = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    let is_plain = name.trim_end() == name && !name.contains(|letter: char| letter.is_control() || letter == '"');
    begins && is_plain && number(field).is_none() && !is_missing(field)
}

/// Returns `true` if a field is an integer.
pub(super) fn is_whole(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Returns `true` if a field is an integer, without decimal point and exponent, that differs from its float `value`.
/// Floats that programs write with all digits, as `1e20` without a decimal point, are not considered rounded.
pub(super) fn is_rounded(field: &[u8], value: f64) -> bool {
    let size = value.abs();
    if size < (1u64 << f64::MANTISSA_DIGITS) as f64 || !is_whole(field) {
        return false;
    }
    let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let is_same = |text: String| text.as_bytes() == &digits[zeros..];
    // All digits of the float, and its shortest digits padded with zeros.
    !is_same(format!("{size:.0}")) && !is_same(format!("{size}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_that_look_like_comments() {
        let begins = |word: &&&[u8]| word.starts_with(b"#");
        assert!(MISSING.iter().filter(begins).all(|word| MISSING_AFTER_HASH.contains(word)));
    }

    #[test]
    fn whole_numbers_that_are_rounded() {
        let rounded = |text: &str| is_rounded(text.as_bytes(), number(text.as_bytes()).unwrap());
        for text in [
            "1",
            "9007199254740991",
            "9007199254740992",
            "-9007199254740992",
            "+0009007199254740994",
            "9007199254740993.0",
            "9007199254740993e0",
            "100000000000000000000",
            "36893488147419103232",
            "36893488147419103000",
            "inf",
        ] {
            assert!(!rounded(text), "{text}");
        }
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "+09007199254740995",
            "36893488147419103231",
            "18446744073709551615",
        ] {
            assert!(rounded(text), "{text}");
        }
        assert!(rounded(&"9".repeat(400)));
    }

    #[test]
    fn numbers() {
        for (text, value) in
            [("1.5D+03", 1500.0), ("1d3", 1e3), ("-.5d-1", -0.05), ("1e3", 1e3), (".5", 0.5), ("5.", 5.0)]
        {
            assert_eq!(number(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "D3", "1D", "1D+", "d", "1D2.5", "1D2D3", "1,5", "0x10", "1 2", "one", "+-1"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(
            [id(b"1.0"), id(b"18446744073709551615"), id(b"1.5"), id(b"-1")],
            [Some(1), Some(u64::MAX), None, None]
        );
        assert!(is_name_with_a_number(b"2mass_k") && !is_name_with_a_number(b"1e") && !is_name_with_a_number(b"1,5"));
    }
}
