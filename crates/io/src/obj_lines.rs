//! The lines of Wavefront OBJ and OFF files. `\` at the end of a line continues it, and `#` begins a comment. Lines end
//! with LF or CR LF, or with CR alone if the file has no LF.
//!
//! Cost: one pass, and memory for the longest line.

use std::borrow::Cow;

use ropewalk::internals::cancel::check_at;
use ropewalk::internals::memory::{collected, grow};

use crate::messages::shorten;
use crate::source::line_end;

/// The lines of a text; lines continued with `\` are joined.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    end: u8,
    number: usize,
}

/// One line, or several joined lines.
pub(super) struct Line<'a> {
    text: Cow<'a, [u8]>,
    /// The number of its first line in the file, from 1.
    pub number: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        // The same number of bytes as other text readers examine.
        let end = line_end(text.get(..1 << 18).unwrap_or(text));
        Self { rest: text, end, number: 0 }
    }

    fn take(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == self.end).map_or(self.rest.len(), |end| end + 1);
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.number += 1;
        // A comment does not continue on the next line.
        Some(line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii())
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let first = self.take()?;
        let number = self.number;
        check_at(number);
        if first.last() != Some(&b'\\') {
            return Some(Line { text: first.into(), number });
        }
        let mut text = first.to_vec();
        while text.last() == Some(&b'\\') {
            check_at(self.number);
            text.pop();
            let next = self.take().unwrap_or_default();
            grow(&mut text, next.len() + 1);
            text.push(b' ');
            text.extend_from_slice(next);
        }
        Some(Line { text: text.into(), number })
    }
}

impl Line<'_> {
    /// Returns the words of the line.
    pub(super) fn words(&self) -> Vec<&[u8]> {
        collected(self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()))
    }

    /// Returns `true` if `word` is the first word of the line.
    pub(super) fn begins_with(&self, word: &[u8]) -> bool {
        self.text.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()) == Some(word)
    }

    /// Returns `true` if the line is text in UTF-8.
    #[cfg(feature = "mesh")]
    pub(super) fn is_text(&self) -> bool {
        std::str::from_utf8(&self.text).is_ok()
    }

    /// Returns the line as messages quote it.
    #[cfg(feature = "mesh")]
    pub(super) fn quoted(&self) -> String {
        shorten(self.text.trim_ascii())
    }

    /// Returns an error message with the line and its fault.
    #[cfg(feature = "mesh")]
    pub(super) fn wrong(&self, what: &str) -> String {
        let what = if self.is_text() { what } else { "is not text in UTF-8" };
        format!("line {}: '{}' {what}", self.number, self.quoted())
    }
}

/// Parses a number.
pub(super) fn number(word: &[u8]) -> Result<f64, String> {
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("'{}' is not a number", shorten(word)))
}
