//! Texts and file names in messages.
//!
//! Messages name options of this crate by their fields, as `ReadOptions::columns`, even if an interface has another
//! name for them. The program and the Python package replace these names with their own.
//!
//! In: bytes of a file, or a list of names. Out: their beginning, in printable characters. Cost: none.

/// Returns the first 60 characters of a text, with unprintable characters escaped.
pub(super) fn shorten(text: &[u8]) -> String {
    // A character has at most four bytes.
    let start = text.get(..240).unwrap_or(text);
    String::from_utf8_lossy(start).chars().take(60).collect::<String>().escape_debug().to_string()
}

/// Returns the first names of a list, and the number of names omitted.
pub(super) fn list(names: &[String]) -> String {
    const MAX_LISTED: usize = 12;
    let text = names.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED { format!("{text} and {} more", names.len() - MAX_LISTED) } else { text }
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
