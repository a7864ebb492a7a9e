//! The header of ARFF, the format of Weka: `@relation`, an `@attribute` with name and type for each column, and
//! `@data` before the rows.
//!
//! Numbers have the type `numeric`, `real` or `integer`; columns of other types are not coordinates. Comments begin
//! with `%`, and missing values are `?`. Source: Witten et al., "Data Mining", section 2.4.

use std::path::Path;

use ropewalk::{Error, Result};

use crate::messages::shorten;
use crate::text::comments::UnusedComments;
use crate::text::lines::{Lines, Record, Syntax};

/// The header of an ARFF file.
pub(super) struct Arff {
    pub names: Vec<String>,
    /// For each column, the reason why it holds no numbers, or `None`.
    pub declared: Vec<Option<String>>,
    /// The number of the line `@data`.
    pub data: u64,
    /// The first row.
    first: Vec<u8>,
    pub comments: UnusedComments,
}

/// Returns the rest of a line after a keyword.
fn after<'a>(line: &'a [u8], keyword: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = line.split_at_checked(keyword.len())?;
    start.eq_ignore_ascii_case(keyword).then(|| rest.trim_ascii())
}

impl Arff {
    /// Reads the header of a file; `None` if its first line that is not a comment does not begin an ARFF header.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let refuse = |message: String| Error::file(path, message);
        let mut lines = Lines::open(path)?;
        let mut arff =
            Self { names: vec![], declared: vec![], data: 0, first: vec![], comments: UnusedComments::default() };
        let mut is_arff = false;
        while lines.advance().map_err(refuse)? {
            let line = lines.line().trim_ascii();
            if line.is_empty() || line.starts_with(b"%") {
                if arff.data == 0 {
                    arff.comments.add(lines.number(), line);
                }
                continue;
            }
            if arff.data > 0 {
                arff.first = line.to_vec();
                break;
            }
            let is_first = !is_arff;
            is_arff |= after(line, b"@relation").is_some() || after(line, b"@attribute").is_some();
            if !is_arff {
                return Ok(None);
            } else if is_first && after(line, b"@relation").is_some() {
                continue;
            } else if let Some(attribute) = after(line, b"@attribute") {
                arff.add(attribute).map_err(|message| refuse(format!("line {}: {message}", lines.number())))?;
            } else if after(line, b"@data").is_some() {
                arff.data = lines.number();
            } else {
                return Err(refuse(format!("line {} is not an ARFF attribute: {}", lines.number(), shorten(line))));
            }
        }
        match () {
            () if !is_arff => Ok(None),
            () if arff.data == 0 || arff.first.is_empty() => Err(refuse("is ARFF without rows after @data".into())),
            () if arff.first.starts_with(b"{") => {
                Err(refuse("is ARFF with sparse rows, which are not supported; write its rows in full".into()))
            }
            () => Ok(Some(arff)),
        }
    }

    /// Adds an attribute given as `name type`.
    fn add(&mut self, attribute: &[u8]) -> std::result::Result<(), String> {
        let mut fields = Record::default();
        Syntax { single_quotes: true, ..Syntax::new(b' ') }.split(attribute, &mut fields);
        let (name, kind) = (fields.get(0), fields.get(1));
        let kind = String::from_utf8_lossy(kind).to_lowercase();
        let why = match kind.as_str() {
            "numeric" | "real" | "integer" => None,
            kind if kind.starts_with('{') => Some("a nominal attribute".to_string()),
            "string" | "date" | "relational" => Some(format!("an attribute of the type {kind}")),
            _ => return Err(format!("'{}' has a type that ARFF does not have: '{kind}'", shorten(name))),
        };
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.declared.push(why);
        Ok(())
    }

    /// Returns the syntax of the rows.
    pub(super) fn syntax(&self) -> Syntax {
        let delimiter = if self.first.contains(&b',') || self.names.len() < 2 { b',' } else { b'\t' };
        Syntax { comment: b'%', single_quotes: true, ..Syntax::new(delimiter) }
    }
}
