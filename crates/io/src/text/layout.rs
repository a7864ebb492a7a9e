//! The layout of a text table: its delimiter, its line of names, and its header.
//!
//! In: the lines up to the first few rows. Out: a [`Layout`]. Steps:
//!
//! 1. Read the comments and the first rows.
//! 2. Read an ARFF header (`arff`) or an enhanced CSV header (`ecsv`), if there is one.
//! 3. Determine the delimiter.
//! 4. Find the names in the first row, or else in a comment (`comments`).

use std::path::Path;

use ropewalk::{Error, Result};

use crate::ecsv::{self, Declared};
use crate::messages::shorten;
use crate::text::arff::Arff;
use crate::text::comments::{self, UnusedComments};
use crate::text::lines::{Line, Lines, Record, Syntax};
use crate::text::values::{begins_like_a_number, is_missing, is_name, is_name_with_a_number, is_whole, number};

/// The maximum number of bytes of comments before the first row in which names of columns are searched, and of a
/// header of enhanced CSV.
const MAX_COMMENTS: usize = 1 << 22;
/// The number of rows from which the delimiter is determined.
const SAMPLE: usize = 12;

/// A field of text in a row of numbers.
pub(super) struct Slip {
    pub line: u64,
    pub column: usize,
    pub text: String,
}

/// The layout of a table.
pub(super) struct Layout {
    pub syntax: Syntax,
    /// The number of the last line before the rows.
    pub before: u64,
    /// The number of fields per row.
    pub width: usize,
    /// The names of the columns; empty if they have none.
    pub names: Vec<String>,
    /// For each column, the reason why it holds no numbers, according to the header of the table.
    pub declared: Vec<Option<String>>,
    /// The scalars of an enhanced CSV header.
    pub header: Option<Vec<(Vec<String>, String)>>,
    /// The text in the first row, if the row also has numbers and the columns have no names.
    pub slip: Option<Slip>,
    /// The comments up to line `before` that are not used.
    pub comments: UnusedComments,
    pub notes: Vec<String>,
}

/// The comments and first rows of a file.
struct Start {
    comments: Vec<Line>,
    rows: Vec<Line>,
    /// The comments beyond the limit.
    rest: UnusedComments,
}

impl Layout {
    /// Determines the layout of a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let refuse = |message: String| Error::file(path, message);
        if let Some(arff) = Arff::read(path)? {
            return Ok(Self::from_arff(arff));
        }
        let start = Start::read(path)?;
        let yaml = ecsv::yaml(start.comments.iter().map(|(_, line)| &line[..]));
        let declared = yaml.map(|yaml| Declared::of(&yaml)).transpose().map_err(refuse)?;
        let Some((number, first)) = start.rows.first() else { return Err(refuse("has no rows of numbers".into())) };
        let syntax = declared.as_ref().and_then(|declared| declared_syntax(declared, &start.rows));
        let syntax = syntax.unwrap_or_else(|| find_syntax(&start.rows));
        let split = |line: &[u8]| {
            let mut fields = Record::default();
            syntax.split(line, &mut fields);
            fields
        };
        let fields = split(first);
        let second = start.rows.get(1).map(|(_, line)| split(line));
        let bare = Self {
            syntax,
            before: 0,
            width: fields.len(),
            names: vec![],
            declared: vec![],
            header: None,
            slip: None,
            comments: start.rest,
            notes: vec![],
        };
        if let Some(declared) = declared {
            let names = fields.texts();
            declared.check(&names).map_err(|message| refuse(format!("line {number} {message}")))?;
            let (before, reasons) = (*number, declared.no_numbers(&names));
            return Ok(Self { before, names, declared: reasons, header: Some(declared.values), ..bare });
        }
        let (mut is_named, mut used) = (false, vec![]);
        let mut layout = match first_line(&fields, second.as_ref()) {
            FirstLine::Names(note) => {
                is_named = true;
                Self { before: *number, names: fields.texts(), notes: note.into_iter().collect(), ..bare }
            }
            FirstLine::Row(note) => {
                let found = comments::names(&start.comments, fields.len(), syntax.delimiter);
                let comments::Naming { names, note: comment, lines } = found.map_err(refuse)?;
                used = lines;
                let slip = (0..fields.len()).find(|&field| is_text(fields.get(field)) && names.is_empty());
                let slip = slip.map(|column| Slip { line: *number, column, text: shorten(fields.get(column)) });
                let is_slip = slip.is_some().then(|| {
                    "the first line has text beside numbers and is read as a row; the columns have no names".to_string()
                });
                let note = note.filter(|_| names.is_empty());
                let notes = [note, comment, is_slip].into_iter().flatten().collect();
                Self { before: number - 1, names, notes, slip, ..bare }
            }
        };
        let rows: Vec<Record> = start.rows.iter().skip(1).map(|(_, line)| split(line)).collect();
        if is_named && rows.first().is_some_and(|row| row.len() == fields.len() + 1) {
            layout.name_first_column(&rows).map_err(|message| refuse(format!("line {number} {message}")))?;
        }
        layout.names = without_numbers(layout.names);
        if layout.names.is_empty() && layout.slip.is_none() && layout.width > 3 && is_xyz(path) {
            let others = (4..=layout.width).map(|column| format!("column {column}"));
            layout.names = ["x", "y", "z"].map(String::from).into_iter().chain(others).collect();
        }
        let others = start.comments.iter().filter(|(line, _)| !used.contains(line));
        others.for_each(|(line, comment)| layout.comments.add(*line, comment));
        Ok(layout)
    }

    /// Returns the layout of an ARFF table.
    fn from_arff(arff: Arff) -> Self {
        Self {
            syntax: arff.syntax(),
            before: arff.data,
            width: arff.names.len(),
            names: arff.names,
            declared: arff.declared,
            header: None,
            slip: None,
            comments: arff.comments,
            notes: vec![],
        }
    }

    /// Adds an empty name to a line of names that has one field less than the rows. The names of rows are then in the
    /// first column, as R writes tables. If the last field is empty in all of these rows, they end with a delimiter
    /// instead.
    ///
    /// Errors: the last field is empty, and the first one counts the rows, so either may be the column without a
    /// name.
    fn name_first_column(&mut self, rows: &[Record]) -> std::result::Result<(), String> {
        let (names, width) = (self.names.len(), self.names.len() + 1);
        if rows.iter().all(|row| row.len() == width && row.get(names).is_empty()) {
            let counts =
                |first: usize| rows.iter().zip(first..).all(|(row, place)| row.get(0) == place.to_string().as_bytes());
            if rows.len() > 1 && (counts(0) || counts(1)) {
                return Err(format!(
                    "names {names} columns, and the rows have {width} fields, of which the first counts the rows and the last is \
                     empty; name the first column, or remove the delimiter at the end of each row"
                ));
            }
            self.syntax.ends_rows = true;
            self.notes.push("a delimiter ends each row: the empty field after it is left out".into());
            return Ok(());
        }
        self.notes.push(format!(
            "the first line names {names} of {width} columns: the first column is read as names of rows"
        ));
        self.names.insert(0, String::new());
        self.width = width;
        Ok(())
    }
}

impl Layout {
    /// Returns the error message for a row with another number of fields.
    pub(super) fn wrong_width(&self, fields: &Record, number: u64) -> String {
        let text = shorten(&fields.iter().collect::<Vec<_>>().join(&b' '));
        let is_first = number == self.before + 1 && !self.names.is_empty() && self.header.is_none();
        let advice = match is_first {
            true if self.syntax.delimiter == b' ' && fields.len() < self.width => {
                "; the first line is read as names of columns; put names that have blanks in quotes, or put # before it if it is \
                 a comment"
            }
            true => "; the first line is read as names of columns; put # before it if it is a comment",
            false => "",
        };
        format!("expected {1} columns as in the first line, got {0}: {text}{advice}", fields.len(), self.width)
    }
}

impl Start {
    fn read(path: &Path) -> Result<Self> {
        let refuse = |message: String| Error::file(path, message);
        let mut start = Self { comments: vec![], rows: vec![], rest: UnusedComments::default() };
        let (mut lines, mut bytes, mut signed) = (Lines::open(path)?, 0, vec![]);
        while start.rows.len() < SAMPLE && lines.advance().map_err(refuse)? {
            let (number, line) = (lines.number(), lines.line());
            let has_rows = !start.rows.is_empty();
            if !has_rows && bytes <= MAX_COMMENTS && comments::has_other_sign(line) {
                bytes += line.len();
                signed.push((number, line.to_vec()));
            } else if may_be_row(line, has_rows) {
                start.rows.push((number, line.to_vec()));
            } else if !has_rows && !line.trim_ascii().is_empty() {
                bytes += line.len();
                if bytes <= MAX_COMMENTS {
                    start.comments.push((number, line.to_vec()));
                } else if start.comments.first().is_some_and(|(_, line)| ecsv::begins(line)) {
                    let message = format!("has a header of enhanced CSV with more than {MAX_COMMENTS} bytes");
                    return Err(refuse(message));
                } else {
                    start.rest.add(number, line);
                }
            }
        }
        start.place(signed);
        Ok(start)
    }

    /// Adds lines that begin with comment prefixes of other programs to the comments. The last of these lines becomes
    /// the first row instead if there are no other rows. The same holds if it has a name for each field of the first
    /// row, as `%,a,b`.
    fn place(&mut self, mut signed: Vec<Line>) {
        let count = |line: &[u8], delimiter: u8| {
            let mut fields = Record::default();
            Syntax::new(delimiter).split(line, &mut fields);
            fields.len()
        };
        let names = |last: &Line, (_, row): &Line| {
            let is_alike =
                |&delimiter: &u8| count(row, delimiter) > 1 && count(row, delimiter) == count(&last.1, delimiter);
            b",;|\t".iter().any(is_alike)
        };
        let is_row = match (signed.last(), self.rows.first()) {
            (Some(last), Some(row)) => names(last, row),
            (_, None) => true,
            (None, _) => false,
        };
        let first = if is_row { signed.pop() } else { None };
        self.rows.splice(0..0, first);
        self.comments.append(&mut signed);
        self.comments.sort_unstable_by_key(|(number, _)| *number);
    }
}

/// Returns `true` if a line may be a row with one of the delimiters. With blanks as delimiters, `#NA x y` names
/// columns, unless rows precede it.
fn may_be_row(line: &[u8], has_rows: bool) -> bool {
    let is_row = |delimiter: &u8| Syntax::new(*delimiter).is_row(line);
    let mut rest = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1);
    b",;|\t".iter().any(is_row)
        || (is_row(&b' ') && (has_rows || rest.all(|word| number(word).is_some() || is_missing(word))))
}

/// The meaning of the first line that is not a comment, with a note for the user.
enum FirstLine {
    Names(Option<String>),
    Row(Option<String>),
}

fn first_line(fields: &Record, second: Option<&Record>) -> FirstLine {
    let n = fields.len();
    let counts = |from: usize| (from..n).all(|field| fields.get(field) == (field - from).to_string().as_bytes());
    if n > 1 && fields.get(0).is_empty() && counts(1) {
        return FirstLine::Names(None);
    }
    if n > 1 && counts(0) {
        let shown = shorten(fields.texts().join(",").as_bytes());
        let is_of_floats = second.is_some_and(|second| second.iter().all(|field| !is_whole(field)));
        return match is_of_floats {
            true => FirstLine::Names(Some(format!(
                "the first line, {shown}, is read as names of columns, as pandas writes them for unnamed columns"
            ))),
            false => FirstLine::Row(Some(format!(
                "the first line, {shown}, is read as a row; put # before it if it names columns"
            ))),
        };
    }
    let has_number = fields.iter().any(|field| number(field).is_some());
    let is_name = |field: &[u8]| (is_name(field) && !is_missing(field)) || is_name_with_a_number(field);
    let is_other = |field: &[u8]| begins_like_a_number(field) && !is_name_with_a_number(field);
    match !has_number && fields.iter().any(is_name) && !fields.iter().any(is_other) {
        true => FirstLine::Names(None),
        false => FirstLine::Row(None),
    }
}

/// Returns `true` for the file name of a point cloud as text, whose rows are `x y z` and colours or normals.
fn is_xyz(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    name.strip_suffix(".gz").unwrap_or(&name).ends_with(".xyz")
}

/// Returns `true` if a field is neither a number nor missing.
fn is_text(field: &[u8]) -> bool {
    number(field).is_none() && !is_missing(field)
}

/// Returns the syntax that a header of enhanced CSV declares. Without a declared delimiter, it is a blank, or a comma
/// if only commas split the lines into as many fields as the header declares columns. Arrays in the fields also
/// contain commas.
fn declared_syntax(declared: &Declared, rows: &[Line]) -> Option<Syntax> {
    let mut fields = Record::default();
    let mut is_as_wide = |delimiter: &u8| {
        let mut width = |line: &[u8]| {
            Syntax::new(*delimiter).split(line, &mut fields);
            fields.len()
        };
        rows.iter().all(|(_, line)| width(line) == declared.width())
    };
    declared.delimiter.or_else(|| [b' ', b','].into_iter().find(|delimiter| is_as_wide(delimiter))).map(Syntax::new)
}

/// Determines the syntax of lines: the first delimiter that splits all lines into the same number of fields, or else
/// the first delimiter that occurs in the first line.
fn find_syntax(rows: &[Line]) -> Syntax {
    let mut fields = Record::default();
    let mut width = |syntax: Syntax, line: &[u8]| {
        syntax.split(line, &mut fields);
        fields.len()
    };
    let Some((_, first)) = rows.first() else { return Syntax::new(b',') };
    let there: Vec<u8> =
        b";|,\t ".iter().copied().filter(|&delimiter| width(Syntax::new(delimiter), first) > 1).collect();
    for &delimiter in &there {
        for trims in [false, true] {
            let syntax = Syntax { trims, ..Syntax::new(delimiter) };
            let widths: Vec<usize> = rows.iter().map(|(_, line)| width(syntax, line)).filter(|&n| n > 0).collect();
            let rest = widths.get(1..).unwrap_or_default();
            // The line of names may lack a name for the column of row names.
            let has_row_names = rest.first().is_some_and(|&n| n == widths[0] + 1);
            let most = if has_row_names { widths[0] + 1 } else { widths[0] };
            let may_trim = !trims || delimiter == b'\t';
            if may_trim && most > 1 && rest.iter().all(|&n| n == most) {
                return syntax;
            }
        }
    }
    Syntax::new(there.first().copied().unwrap_or(b','))
}

/// Returns names without the column numbers in parentheses after them, as `x(3)`, if all names have one.
fn without_numbers(names: Vec<String>) -> Vec<String> {
    let bare = |first: usize| -> Option<Vec<String>> {
        let of = |(place, name): (usize, &String)| {
            name.strip_suffix(&format!("({})", place + first)).map(|name| name.trim().to_string())
        };
        names.iter().enumerate().map(of).collect()
    };
    bare(0).or_else(|| bare(1)).filter(|names| !names.is_empty()).unwrap_or(names)
}
