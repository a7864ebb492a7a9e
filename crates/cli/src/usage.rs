//! Errors in the arguments, as messages of one line.

use std::fmt::Write as _;

/// Returns the message of a clap error on one line, without its paragraphs on usage.
pub fn message(error: &clap::Error) -> String {
    one_line(&error.render().to_string())
}

/// Joins the lines of a message: lists by commas, and other lines, such as possible values and tips, by semicolons.
fn one_line(text: &str) -> String {
    let is_usage = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more");
    let mut lines = text.lines().take_while(|line| !is_usage(line)).map(str::trim).filter(|line| !line.is_empty());
    let mut message = lines.next().unwrap_or_default().to_string();
    let mut separator = if message.ends_with(':') { " " } else { "; " };
    for line in lines {
        let tip = line.strip_prefix("tip: ");
        let values = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_item = separator != "; " && tip.is_none() && values.is_none();
        // Writing to a string does not fail.
        _ = write!(message, "{}{}", if is_item { separator } else { "; " }, tip.or(values).unwrap_or(line));
        separator = if is_item { ", " } else { "; " };
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_values_and_tips() {
        let missing = "error: arguments were not provided:\n  --out <DIR>\n  <SNAPSHOT>...\n\nUsage: x\n";
        assert_eq!(one_line(missing), "error: arguments were not provided: --out <DIR>, <SNAPSHOT>...");
        let value = "error: invalid value 'f'\n  [possible values: fof, hop]\n\n  tip: a similar value exists: 'fof'\n";
        assert_eq!(
            one_line(value),
            "error: invalid value 'f'; possible values: fof, hop; a similar value exists: 'fof'"
        );
        assert_eq!(one_line("error: plain\n\nFor more information, try '--help'.\n"), "error: plain");
        assert_eq!(one_line("error: a list:\n  a\n  b\n\n  tip: c\n"), "error: a list: a, b; c");
    }
}
