//! Formatting of numbers in messages and labels.

/// Formats a number exactly, with an exponent if it would have many digits otherwise.
pub fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (1e-5..1e15).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// Formats a number with six significant digits, without trailing zeros.
pub fn short(x: f64) -> String {
    significant(x, 6)
}

/// Formats a number with at most `digits` significant digits, without trailing zeros; with an exponent below 1e-4 and
/// from `10^(digits + 3)` on.
pub fn significant(x: f64, digits: usize) -> String {
    let rounded: f64 = format!("{x:.*e}", digits - 1).parse().unwrap_or(x);
    let is_plain = rounded == 0.0 || (1e-4..10f64.powi(digits as i32 + 3)).contains(&rounded.abs());
    if is_plain { rounded.to_string() } else { format!("{rounded:e}") }
}

/// Formats a part of a whole in per cent, with one decimal: "12.5%".
pub fn percent(part: f64, whole: f64) -> String {
    format!("{:.1}%", 100.0 * part / whole)
}

/// Formats a share in per cent, with "less than 0.1%" for shares that would round to zero.
pub fn share_in_percent(share: f64) -> String {
    if share > 0.0 && share < 5e-4 { "less than 0.1%".into() } else { percent(share, 1.0) }
}

/// Formats an integer with a comma before every three digits.
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

/// Formats a number of things, whose name has a plural with an s: "1 point", "2,000 points".
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        let shown = [-0.2, 0.0, 31.0, 1e14, 1e15, -1e308, 5e-324, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(shown, ["-0.2", "0", "31", "100000000000000", "1e15", "-1e308", "5e-324", "NaN", "inf"]);
        assert_eq!([0.1f64 + 0.2, 32.0, -1e-9, f64::NAN].map(short), ["0.3", "32", "-1e-9", "NaN"]);
        assert_eq!([0.0, 1234.5, 999_999.0, 0.000_123_45].map(|x| significant(x, 3)), ["0", "1230", "1e6", "0.000123"]);
        assert_eq!([percent(1.0, 8.0), percent(0.0, 3.0)], ["12.5%", "0.0%"]);
        assert_eq!([0.0, 4e-4, 0.001, 1.0].map(share_in_percent), ["0.0%", "less than 0.1%", "0.1%", "100.0%"]);
        assert_eq!([0, 1, 2000].map(|n| counted(n, "point")), ["0 points", "1 point", "2,000 points"]);
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
    }
}
