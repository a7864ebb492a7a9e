//! Detection of files in unsupported formats, with messages that name the format and advise what to do.

/// The first bytes of files, and the messages for them.
const BINARY: [(&[u8], &str); 16] = [
    (b"\xff\xfe", "is text in UTF-16; write it in UTF-8 (iconv -f UTF-16 -t UTF-8)"),
    (b"\xfe\xff", "is text in UTF-16; write it in UTF-8 (iconv -f UTF-16 -t UTF-8)"),
    (b"\x28\xb5\x2f\xfd", "is compressed by Zstandard; uncompress it first (zstd -d), or use gzip"),
    (b"\xfd7zXZ\0", "is compressed by xz; uncompress it first (xz -d), or use gzip"),
    (b"BZh", "is compressed by bzip2; uncompress it first (bzip2 -d), or use gzip"),
    (b"\x04\x22\x4d\x18", "is compressed by LZ4; uncompress it first (lz4 -d), or use gzip"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive; extract its files first"),
    (b"Rar!", "is a RAR archive; extract its files first"),
    (b"SQLite format 3\0", "is a database of SQLite; write the table as CSV or Parquet"),
    (b"ARROW1", "is a table of Arrow (Feather); write it as Parquet"),
    (b"FEA1", "is a table of Feather; write it as Parquet"),
    (b"ORC", "is a table of ORC; write it as Parquet"),
    (b"CDF\x01", "is NetCDF of version 3; write its variables as CSV or a NumPy archive"),
    (b"CDF\x02", "is NetCDF of version 3; write its variables as CSV or a NumPy archive"),
    (b"MATLAB 5.0 MAT-file", "is a file of MATLAB; write its arrays as CSV or a NumPy archive"),
    (b"%PDF-", "is a PDF document, and no table"),
];
/// The first characters of text formats, in lower case, and the messages for them. An empty message means XML.
const MARKUP: [(&str, &str); 7] = [
    ("<?xml", ""),
    ("<votable", ""),
    ("<!doctype html", "is a page of HTML, and no table; was it downloaded in place of a file?"),
    ("<html", "is a page of HTML, and no table; was it downloaded in place of a file?"),
    ("{\"", "is JSON; write the table as CSV or Parquet"),
    ("[{", "is JSON; write the table as CSV or Parquet"),
    ("[[", "is JSON; write the table as CSV or Parquet"),
];
const VOTABLE: &str = "is a VOTable; write it as enhanced CSV (astropy.table.Table.read(..).write(\"table.ecsv\"))";
const XML: &str = "is XML, and no table; write the table as CSV";

/// Signatures of binary files that consist of letters, with which a line of column names may also begin.
const LIKE_NAMES: [&[u8]; 5] = [b"BZh", b"Rar!", b"ARROW1", b"FEA1", b"ORC"];

/// Returns `true` if a file begins with `letters`, the signature of a binary format, and is not text that happens to
/// begin with them.
pub(super) fn is_marked(prefix: &[u8], letters: &[u8]) -> bool {
    let is_binary = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x0b\x0c".contains(byte);
    // A file that ends after the signature is truncated.
    prefix.starts_with(letters) && (prefix.len() == letters.len() || prefix.iter().any(is_binary))
}

/// Returns the message for a file that begins with `prefix`, if its format is known and not supported.
pub(super) fn recognises_prefix(prefix: &[u8]) -> Option<&'static str> {
    let is_it = |start: &[u8]| match LIKE_NAMES.contains(&start) {
        true => is_marked(prefix, start),
        false => prefix.starts_with(start),
    };
    if let Some((_, why)) = BINARY.iter().find(|(start, _)| is_it(start)) {
        return Some(why);
    }
    // In UTF-16, every other byte of ASCII text is 0.
    let halves = prefix.as_chunks::<2>().0;
    let is_utf16 = |zero: usize| {
        halves.len() > 1
            && halves
                .iter()
                .all(|half| half[zero] == 0 && half[1 - zero].is_ascii_graphic() | half[1 - zero].is_ascii_whitespace())
    };
    if is_utf16(0) || is_utf16(1) {
        return Some(BINARY[0].1);
    }
    let text = String::from_utf8_lossy(prefix).trim_start_matches('\u{feff}').trim_start().to_lowercase();
    let compact: String = text.chars().take(400).filter(|letter| !letter.is_whitespace()).collect();
    let (_, why) = MARKUP
        .iter()
        .find(|(start, _)| text.starts_with(start) || (start.starts_with(['{', '[']) && compact.starts_with(start)))?;
    match *why {
        "" if text.contains("<votable") => Some(VOTABLE),
        "" => Some(XML),
        why => Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_files() {
        let utf16: Vec<u8> = "x,y\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (prefix, said) in [
            (&b"<?xml version=\"1.0\"?>\n<VOTABLE version=\"1.4\">"[..], "VOTable"),
            (b"<VOTABLE>", "VOTable"),
            (b"<?xml version=\"1.0\"?><gpx>", "XML"),
            (b"\xef\xbb\xbf <!DOCTYPE html>", "HTML"),
            (b"[\n  {\"x\": 1}]", "JSON"),
            (b"\xff\xfex\0", "UTF-16"),
            (&utf16, "UTF-16"),
            (b"BZh91AY&SY\xd4\0", "bzip2"),
            (b"ORC\n\x03\0", "ORC"),
            (b"ARROW1\0\0", "Arrow"),
            (b"FEA1\0\0", "Feather"),
            (b"Rar!\x1a\x07", "RAR"),
        ] {
            let why = recognises_prefix(prefix).unwrap_or_default();
            assert!(why.contains(said), "{said}: {why}");
        }
        for text in
            [&b"x,y\n1,2\n"[..], b"", b"1", b"[1 2]\n", b"BZ\n", b"FEA1,FEA2\n", b"ORC,ARROW1\r\n", b"Rar!,b", b"BZh,x"]
        {
            assert_eq!(recognises_prefix(text), None);
        }
    }
}
