//! The lines of Wavefront OBJ files: `\` at the end of a line continues it, and `#` begins a comment.

use std::borrow::Cow;

use crate::io::shorten;

/// The lines of a text, those that `\` continues put together.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

/// One line, or several that are continued.
pub(super) struct Line<'a> {
    text: Cow<'a, [u8]>,
    /// The number of the first of its lines, from 1.
    pub number: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, number: 0 }
    }

    fn take(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n').map_or(self.rest.len(), |end| end + 1);
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.number += 1;
        // A comment is not continued.
        Some(line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii())
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let first = self.take()?;
        let number = self.number;
        let mut text = Cow::from(first);
        while let Some(part) = text.strip_suffix(b"\\") {
            let mut joined = [part, b" "].concat();
            joined.extend_from_slice(self.take().unwrap_or_default());
            text = joined.into();
        }
        Some(Line { text, number })
    }
}

impl Line<'_> {
    /// Its words.
    pub(super) fn words(&self) -> Vec<&[u8]> {
        self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
    }

    /// Returns `true` if the line is text in UTF-8.
    pub(super) fn is_text(&self) -> bool {
        std::str::from_utf8(&self.text).is_ok()
    }

    /// The line as messages quote it.
    pub(super) fn quoted(&self) -> String {
        shorten(self.text.trim_ascii())
    }
}

/// A number.
pub(super) fn number(word: &[u8]) -> Result<f64, String> {
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("'{}' is not a number", shorten(word)))
}
