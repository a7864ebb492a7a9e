//! Data within a page: compressed bytes as text, and JSON that cannot end its element.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// Writes bytes as text, compressed with gzip.
pub fn write_packed(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    let mut packed = GzEncoder::new(EncoderWriter::new(out, &STANDARD), Compression::new(6));
    packed.write_all(bytes)?;
    packed.finish()?.finish()?;
    Ok(())
}

/// Writes bytes as text.
pub fn write_base64(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    let mut text = EncoderWriter::new(out, &STANDARD);
    text.write_all(bytes)?;
    text.finish()?;
    Ok(())
}

/// Writes JSON for a `script` element. Characters that have a meaning in HTML are escaped, so that no string ends the
/// element or begins a comment.
pub fn write_json(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    let text = value.to_string();
    let mut rest = &text[..];
    // These characters occur in strings only.
    while let Some(at) = rest.find(['<', '>', '&']) {
        write!(out, "{}\\u{:04x}", &rest[..at], rest.as_bytes()[at])?;
        rest = &rest[at + 1..];
    }
    out.write_all(rest.as_bytes())
}

/// Escapes text for HTML, both between elements and in attributes within quotes.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // A parser would replace or reject it.
            '\0' => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use base64::Engine;
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_return() {
        for bytes in [vec![], vec![7], (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect()] {
            let mut text = vec![];
            write_packed(&mut text, &bytes).unwrap();
            let packed = STANDARD.decode(&text).unwrap();
            let mut back = vec![];
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut back).unwrap();
            assert_eq!(back, bytes);
        }
    }

    #[test]
    fn json_stays_in_its_element() {
        let value = json!({ "</script><!--": "<b>&\u{2028}\"'\\", "n": [1, null] });
        let mut text = vec![];
        write_json(&mut text, &value).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b> & \"c\" 'd'\0"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\u{fffd}");
    }
}
