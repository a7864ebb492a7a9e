//! Numbers and sentences of summaries.

/// A number with a comma before every three digits.
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

/// A number of points and which part of all that is.
pub fn share(count: u64, points: u64) -> String {
    if points == 0 {
        return "0".into();
    }
    format!("{} ({:.1}%)", grouped(count), 100.0 * count as f64 / points as f64)
}

/// Six significant digits, no trailing zeros.
pub fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if rounded == 0.0 || (1e-4..1e9).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// The least number of six significant digits that is not below `x`, which is not negative.
pub fn rounded_up(x: f64) -> f64 {
    let near = format!("{x:.5e}");
    let rounded = near.parse().unwrap_or(x);
    match near.split_once('e') {
        Some((digits, exponent)) if rounded < x => {
            // One more in the last of the digits, which are whole without the point.
            let next = digits.replace('.', "").parse::<u32>().unwrap_or(0) + 1;
            let exponent = exponent.parse::<i32>().unwrap_or(0) - 5;
            format!("{next}e{exponent}").parse().unwrap_or(x)
        }
        _ => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
        let up = [0.0, 1.0, 1.000001, 0.9999991, 999999.5, 1.234561e-200, 5e-324, 0.3].map(rounded_up);
        assert_eq!(up, [0.0, 1.0, 1.00001, 1.0, 1e6, 1.23457e-200, 5e-324, 0.3]);
        assert_eq!([0.1f64 + 0.2, 32.0, -1e-9, f64::NAN].map(short), ["0.3", "32", "-1e-9", "NaN"]);
    }
}
