//! Texts and names of files in messages.
//!
//! Messages name options of this crate by their fields, as `ReadOptions::columns`, also where an interface has another word for them: the
//! program and the Python package put their own words in place of these.
//!
//! In: bytes of a file, or a list of names. Out: their beginning, in characters that can be printed. Cost: none.

/// Returns the first 60 characters of a text, printable.
pub(super) fn shorten(text: &[u8]) -> String {
    // No character has more than four bytes.
    let start = text.get(..240).unwrap_or(text);
    String::from_utf8_lossy(start).chars().take(60).collect::<String>().escape_debug().to_string()
}

/// Returns the beginning of a list of names.
pub(super) fn list(names: &[String]) -> String {
    const MOST: usize = 12;
    let text = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MOST { format!("{text} and {} more", names.len() - MOST) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_unprintable_texts() {
        assert_eq!((shorten(b"mass"), shorten(b"a\tb\0")), ("mass".into(), "a\\tb\\0".into()));
        assert_eq!(shorten("\u{e9}".repeat(100).as_bytes()), "\u{e9}".repeat(60));
        assert_eq!(shorten(b"\xffx"), "\u{fffd}x");
    }
}
