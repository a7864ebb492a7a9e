//! Floating-point numbers on the command line.

/// Parses a number. A number outside of the range of `f64` is an error, not infinity.
pub fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| "not a number".to_string())?;
    // The words inf and infinity have no digits.
    if number.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
        return Err(format!("out of the range of 64-bit floats, which is ±{:e}", f64::MAX));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_range() {
        assert_eq!(["1", "-2.5e3", " 1e308"].map(|text| number(text).ok()), [Some(1.0), Some(-2.5e3), Some(1e308)]);
        assert!(number("inf").is_ok_and(f64::is_infinite) && number("NaN").is_ok_and(f64::is_nan));
        for text in ["1e400", "-1e400", "1e309"] {
            assert!(number(text).is_err_and(|said| said.contains("range")), "{text}");
        }
        for text in ["", "one", "1,5"] {
            assert_eq!(number(text), Err("not a number".into()), "{text}");
        }
    }
}
