//! Formatting of numbers in summaries.

pub use ropewalk::internals::format::{counted, grouped, percent, short};

/// Formats a number of points and its percentage of all `points`.
pub fn share(count: u64, points: u64) -> String {
    if points == 0 {
        return "0".into();
    }
    format!("{} ({})", grouped(count), percent(count as f64, points as f64))
}

/// Rounds `x >= 0` up to six significant digits.
pub fn rounded_up(x: f64) -> f64 {
    let near = format!("{x:.5e}");
    let rounded = near.parse().unwrap_or(x);
    match near.split_once('e') {
        Some((digits, exponent)) if rounded < x => {
            // Adds one to the last digit. Without the decimal point the digits are an integer.
            let next = digits.replace('.', "").parse::<u32>().unwrap_or(0) + 1;
            let exponent = exponent.parse::<i32>().unwrap_or(0) - 5;
            format!("{next}e{exponent}").parse().unwrap_or(x)
        }
        _ => rounded,
    }
}

/// Returns the command that started the program, as a shell reads it.
pub fn command_line() -> String {
    let words = std::env::args_os().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>();
    words.join(" ")
}

/// Returns a word of a command, in quotes if it has letters with a meaning to shells.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_commands() {
        let words = ["--so", "200c,500c", "my file", "", "it's", "$x"].map(quoted);
        assert_eq!(words, ["--so", "200c,500c", "'my file'", "''", "'it'\\''s'", "'$x'"]);
    }

    #[test]
    fn numbers_are_legible() {
        let up = [0.0, 1.0, 1.000001, 0.9999991, 999999.5, 1.234561e-200, 5e-324, 0.3].map(rounded_up);
        assert_eq!(up, [0.0, 1.0, 1.00001, 1.0, 1e6, 1.23457e-200, 5e-324, 0.3]);
    }
}
