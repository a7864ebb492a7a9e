//! Errors for the user.

/// An error for the user. Only its text is shown.
pub type Failure = Box<dyn std::error::Error>;

/// Joins the lines of a message, so that an error is one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line() {
        let failure: Failure = "a sentence\n  of two lines\n".into();
        assert_eq!(one_line(&failure.to_string()), "a sentence of two lines");
    }
}
