//! FITS headers: blocks of 2880 bytes, divided into cards of 80 bytes that hold a keyword and a value.
//!
//! In: a file. Out: its header-data units (HDUs): keywords with values, and the locations of the data. Cost: one pass
//! over the headers. Source: FITS standard 4.0, sections 3, 4 and 7.

use ropewalk::Result;

use crate::messages::shorten;
use crate::source::Source;

/// Bytes of a block.
const BLOCK: u64 = 2880;
/// Bytes of a card.
const CARD: usize = 80;

/// The value of a card.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    /// A number, `T` or `F`, as text.
    Other(String),
}

/// A header-data unit.
pub(super) struct Hdu {
    /// Its number in the file, from 0.
    pub number: usize,
    cards: Vec<(String, Value)>,
    /// The texts of comments, of the history, and of other cards without a value.
    pub comments: Vec<String>,
    /// The byte offset of its data.
    pub at: u64,
}

/// Returns `true` if another HDU begins at the position of `source`.
fn is_extension(source: &mut Source) -> Result<bool> {
    let at = source.at();
    if source.left() < 8 {
        return Ok(false);
    }
    let start: [u8; 8] = source.array()?;
    source.seek(at)?;
    Ok(&start == b"XTENSION")
}

/// Returns all HDUs of a file, and the number of bytes after the last one.
pub(super) fn hdus(source: &mut Source) -> Result<(Vec<Hdu>, u64)> {
    source.seek(0)?;
    let mut all: Vec<Hdu> = vec![];
    loop {
        let hdu = Hdu::read(source, all.len())?;
        let size = hdu.size().map_err(|message| source.error(format!("HDU {}: {message}", hdu.number)))?;
        let end = hdu.at.checked_add(size).filter(|&end| end <= source.len());
        let end = end.ok_or_else(|| {
            let there = source.left();
            source.error(format!("truncated: expected {size} bytes of data in HDU {}, got {there}", hdu.number))
        })?;
        all.push(hdu);
        // The last block may lack its padding.
        source.seek(end.next_multiple_of(BLOCK).min(source.len()))?;
        if !is_extension(source)? {
            return Ok((all, source.left()));
        }
    }
}

impl Hdu {
    fn read(source: &mut Source, number: usize) -> Result<Self> {
        let mut cards: Vec<(String, Value)> = vec![];
        let mut comments = vec![];
        let mut block = [0; BLOCK as usize];
        loop {
            if source.left() < BLOCK {
                return Err(source.error(format!("truncated: the header of HDU {number} has no card END")));
            }
            source.fill(&mut block)?;
            for card in block.chunks_exact(CARD) {
                let keyword = card[..8].trim_ascii_end();
                match (keyword, &card[8..10]) {
                    (b"END", _) => return Ok(Self { number, cards, comments, at: source.at() }),
                    (b"CONTINUE", _) => {
                        if let (Some((_, Value::Text(text))), Value::Text(more)) = (cards.last_mut(), value(&card[8..]))
                        {
                            text.pop_if_continued();
                            text.push_str(&more);
                        }
                    }
                    (b"HIERARCH", _) => match card.iter().position(|&byte| byte == b'=') {
                        Some(at) => {
                            let name = String::from_utf8_lossy(card[8..at].trim_ascii()).into_owned();
                            push(&mut cards, name, value(&card[at + 1..]));
                        }
                        None => comments.push(String::from_utf8_lossy(card).trim().to_string()),
                    },
                    (_, b"= ") => {
                        let name = String::from_utf8_lossy(keyword).into_owned();
                        push(&mut cards, name, value(&card[10..]));
                    }
                    _ => {
                        let is_named = !matches!(keyword, b"" | b"COMMENT" | b"HISTORY");
                        let text = String::from_utf8_lossy(if is_named { card } else { &card[8..] });
                        comments.extend(Some(text.trim().to_string()).filter(|text| !text.is_empty()));
                    }
                }
            }
        }
    }

    fn find(&self, keyword: &str) -> Option<&Value> {
        self.cards.iter().find(|(own, _)| own == keyword).map(|(_, value)| value)
    }

    /// Returns the value of a keyword, if it is text.
    pub(super) fn text(&self, keyword: &str) -> Option<&str> {
        match self.find(keyword)? {
            Value::Text(text) => Some(text),
            Value::Other(_) => None,
        }
    }

    /// Returns `true` if the value of a keyword is `T`.
    pub(super) fn is_true(&self, keyword: &str) -> bool {
        matches!(self.find(keyword), Some(Value::Other(text)) if text == "T")
    }

    /// Returns the value of a keyword as an integer; an error if it is not an integer.
    pub(super) fn whole(&self, keyword: &str) -> std::result::Result<Option<i64>, String> {
        let wrong =
            |text: &str| format!("its keyword {keyword} is {}, which is not a whole number", shorten(text.as_bytes()));
        match self.find(keyword) {
            None => Ok(None),
            Some(Value::Other(text)) => text.parse().map(Some).map_err(|_| wrong(text)),
            Some(Value::Text(text)) => Err(wrong(text)),
        }
    }

    /// Returns the value of a keyword as a number; an error if it is not a number.
    pub(super) fn real(&self, keyword: &str) -> std::result::Result<Option<f64>, String> {
        let wrong =
            |text: &str| format!("its keyword {keyword} is {}, which is not a number", shorten(text.as_bytes()));
        match self.find(keyword) {
            None => Ok(None),
            Some(Value::Other(text)) => real(text).map(Some).ok_or_else(|| wrong(text)),
            Some(Value::Text(text)) => Err(wrong(text)),
        }
    }

    /// Returns the value of a required keyword as an integer of at least 0.
    pub(super) fn count(&self, keyword: &str) -> std::result::Result<u64, String> {
        let value = self.whole(keyword)?.ok_or_else(|| format!("its header has no keyword {keyword}"))?;
        value.try_into().map_err(|_| format!("its keyword {keyword} is {value}, which is negative"))
    }

    /// Returns the keywords and their values, as text.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cards.iter().map(|(keyword, value)| {
            let (Value::Text(text) | Value::Other(text)) = value;
            (keyword.as_str(), text.as_str())
        })
    }

    /// Returns the bytes of the data, without padding.
    fn size(&self) -> std::result::Result<u64, String> {
        let axes = self.count("NAXIS")?;
        if axes > 999 {
            return Err(format!("its keyword NAXIS is {axes}; it must be at most 999"));
        }
        let is_of_groups = self.is_true("GROUPS");
        let optional = |keyword: &str, default| {
            Ok::<u64, String>(match self.whole(keyword)? {
                None => default,
                Some(_) => self.count(keyword)?,
            })
        };
        let mut values = u64::from(axes > 0);
        for axis in 1..=axes {
            let n = self.count(&format!("NAXIS{axis}"))?;
            // The first axis of random groups has length 0, and is not counted.
            if !(is_of_groups && axis == 1 && n == 0) {
                values = values.checked_mul(n).ok_or("its axes have a size that overflows 64 bits")?;
            }
        }
        let (groups, parameters) = (optional("GCOUNT", 1)?, optional("PCOUNT", 0)?);
        let bits = self.whole("BITPIX")?.unwrap_or_default().unsigned_abs();
        let bytes =
            values.checked_add(parameters).and_then(|n| n.checked_mul(groups)).and_then(|n| n.checked_mul(bits / 8));
        bytes.ok_or_else(|| "its data have a size that overflows 64 bits".into())
    }
}

/// Adds a card. A keyword without a value is undefined, so it is omitted.
fn push(cards: &mut Vec<(String, Value)>, keyword: String, value: Value) {
    if value != Value::Other(String::new()) {
        cards.push((keyword, value));
    }
}

/// Text that continues in the next card.
trait Continued {
    fn pop_if_continued(&mut self);
}

impl Continued for String {
    fn pop_if_continued(&mut self) {
        if self.ends_with('&') {
            self.pop();
        }
    }
}

/// Parses a number, which may have the Fortran exponent `D`.
pub(super) fn real(text: &str) -> Option<f64> {
    text.trim().replace(['D', 'd'], "E").parse().ok()
}

/// Parses the value of a card from the bytes after `=`.
fn value(bytes: &[u8]) -> Value {
    let bytes = bytes.trim_ascii_start();
    let Some(rest) = bytes.strip_prefix(b"'") else {
        let text = bytes.split(|&byte| byte == b'/').next().unwrap_or_default().trim_ascii();
        return Value::Other(String::from_utf8_lossy(text).into_owned());
    };
    let (mut text, mut at) = (vec![], 0);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            (b'\'', Some(b'\'')) => at += 1,
            (b'\'', _) => break,
            _ => {}
        }
        text.push(rest[at]);
        at += 1;
    }
    Value::Text(String::from_utf8_lossy(text.trim_ascii_end()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_cards() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(value(b" 'it''s  '  / a comment"), text("it's"));
        assert_eq!(value(b" 'a / b'"), text("a / b"));
        assert_eq!(value(b" ''"), text(""));
        assert_eq!(value(b"                   T / it is"), Value::Other("T".into()));
        assert_eq!(value(b" -1.5D+03/"), Value::Other("-1.5D+03".into()));
        assert_eq!(real("-1.5D+03"), Some(-1500.0));
    }
}
