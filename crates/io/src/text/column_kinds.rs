//! The first pass over a text table: the kinds of its columns and the number of its rows.
//!
//! In: the layout of a table. Out: for each column, whether its values are numbers or text. The first value that is
//! not missing decides; if it is text, the second value also counts. For a description of the file, all values are
//! examined. Cost: one pass; fields are examined only until the kinds of all columns are decided.

use std::path::Path;

use ropewalk::{Error, Result};

use crate::messages::shorten;
use crate::reading::Reading;
use crate::text::comments::UnusedComments;
use crate::text::layout::Layout;
use crate::text::lines::{Lines, Record};
use crate::text::pass::Pass;
use crate::text::values::{begins_like_a_number, is_missing, is_rounded, is_whole, number};

/// The purpose of a survey, which determines the values that are examined.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Purpose {
    Points,
    /// Fields without missing values: a value that begins like a number must be one.
    Fields,
    /// A description of the file, for which all values are examined.
    Description,
}

/// The kind of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Kind {
    /// All values are missing.
    #[default]
    Empty,
    Number,
    Text,
    /// Text in the first row and a number in the second; both are stored here.
    Mixed(String, String),
}

/// The findings about a column.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnSurvey {
    pub kind: Kind,
    /// The first value, if it is text.
    first: Option<String>,
    is_decided: bool,
    /// The number of rows without a value; counted only for a description.
    pub missing: u64,
    /// If `true`, a number has a fraction; determined only for a description.
    pub has_fractions: bool,
    /// The line and the text of the first value among numbers that is text or not finite; only for a description.
    pub text: Option<(u64, String)>,
    /// The line and the text of the first integer that 64-bit floats round; only for a description.
    pub rounded: Option<(u64, String)>,
}

/// The kinds of the columns of a table.
pub(super) struct ColumnKinds {
    pub rows: u64,
    pub columns: Vec<ColumnSurvey>,
    /// The comments that are not used, including those before the rows.
    pub comments: UnusedComments,
}

impl ColumnKinds {
    /// Reads all lines of a file.
    pub(super) fn read(path: &Path, layout: &Layout, purpose: Purpose, reading: &Reading<'_>) -> Result<Self> {
        let refuse = |message: String| Error::file(path, message);
        let comments = layout.comments.clone();
        let mut survey = Self { rows: 0, columns: vec![ColumnSurvey::default(); layout.width], comments };
        let (mut lines, mut fields) = (Lines::open(path)?, Record::default());
        let mut is_decided = false;
        let mut pass = Pass::new(path, reading);
        while lines.advance().map_err(refuse)? {
            pass.at(lines.bytes());
            if lines.number() <= layout.before {
                continue;
            }
            if !layout.syntax.is_row(lines.line()) {
                survey.comments.add(lines.number(), lines.line());
                continue;
            }
            // A line of only blanks and delimiters is skipped.
            if layout.syntax.trims || !is_decided {
                layout.syntax.split(lines.line(), &mut fields);
                if fields.len() == 0 {
                    continue;
                }
            }
            survey.rows += 1;
            if is_decided {
                continue;
            }
            // An error about the first row is more helpful than one about a column that the row leaves without
            // values.
            if (purpose == Purpose::Description || survey.rows == 1) && fields.len() != layout.width {
                let message = layout.wrong_width(&fields, lines.number());
                return Err(refuse(format!("line {}: {message}", lines.number())));
            }
            for (field, column) in fields.iter().zip(&mut survey.columns) {
                if !column.is_decided {
                    column.look_at(field, lines.number(), purpose);
                }
            }
            is_decided = match purpose {
                Purpose::Fields => survey.rows == 2 || survey.columns.iter().all(|column| column.is_decided),
                _ => survey.columns.iter().all(|column| column.is_decided),
            };
        }
        pass.end();
        Ok(survey)
    }

    /// Returns the reason why a column holds no numbers.
    pub(super) fn no_numbers(&self, column: usize) -> Option<String> {
        match self.columns.get(column)?.kind {
            Kind::Empty => Some("only missing values".into()),
            Kind::Text => Some("text".into()),
            Kind::Number | Kind::Mixed(..) => None,
        }
    }
}

impl ColumnSurvey {
    fn look_at(&mut self, field: &[u8], line: u64, purpose: Purpose) {
        let is_number = number(field).is_some()
            || match purpose {
                Purpose::Fields => field.is_empty() || begins_like_a_number(field),
                _ => is_decimal_with_comma(field),
            };
        let is_thorough = purpose == Purpose::Description;
        if purpose != Purpose::Fields && is_missing(field) {
            self.missing += 1;
            return;
        }
        match (&self.kind, is_number) {
            (Kind::Empty, true) => self.kind = Kind::Number,
            (Kind::Empty, false) => {
                self.kind = Kind::Text;
                self.first = Some(shorten(field));
            }
            // Among text, `nan` may mark a missing value.
            (Kind::Text, true) if self.first.is_some() && number(field).is_some_and(f64::is_finite) => {
                self.kind = Kind::Mixed(self.first.take().unwrap_or_default(), shorten(field));
            }
            (Kind::Text, _) => self.first = None,
            _ => {}
        }
        if is_thorough && self.rounded.is_none() && number(field).is_some_and(|value| is_rounded(field, value)) {
            self.rounded = Some((line, shorten(field)));
        }
        let is_finite = number(field).is_some_and(f64::is_finite);
        if is_thorough && self.kind == Kind::Number && !is_finite && self.text.is_none() {
            self.text = Some((line, shorten(field)));
        }
        self.has_fractions |= is_number && !is_whole(field);
        self.is_decided = !is_thorough && self.first.is_none();
    }
}

/// Returns `true` for a number with a decimal comma, which is more likely a mistake than text.
fn is_decimal_with_comma(field: &[u8]) -> bool {
    let mut parts = field.splitn(2, |&byte| byte == b',');
    let is_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let whole = parts.next().unwrap_or_default();
    let whole = whole.strip_prefix(b"-").unwrap_or(whole);
    is_digits(whole) && parts.next().is_some_and(is_digits)
}
