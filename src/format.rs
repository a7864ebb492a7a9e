//! Numbers in sentences and labels.

/// A number as it is, or with an exponent if it would have many digits otherwise.
pub fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (1e-5..1e15).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// Six significant digits, without trailing zeros.
pub fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if rounded == 0.0 || (1e-4..1e9).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// A whole number with a comma before every three digits.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        let shown = [-0.2, 0.0, 31.0, 1e14, 1e15, -1e308, 5e-324, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(shown, ["-0.2", "0", "31", "100000000000000", "1e15", "-1e308", "5e-324", "NaN", "inf"]);
        assert_eq!([0.1f64 + 0.2, 32.0, -1e-9, f64::NAN].map(short), ["0.3", "32", "-1e-9", "NaN"]);
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }
}
