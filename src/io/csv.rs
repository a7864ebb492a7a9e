//! Text tables: numbers separated by commas, semicolons, tabs or spaces, with or without a line of names.
//!
//! - in: a row per point; empty lines and those that begin with `#` are skipped; the first line shows the separator
//! - out: a [`Snapshot`] in f64
//! - names: if no field of the first line is or begins like a number, it names the columns. `vx`, `vy`, `vz` are
//!   velocities, `id` and `mass` what they say. If there are columns `x`, `y` or `z`, they are the coordinates and
//!   others are ignored; else all other columns are coordinates. Upper and lower case are the same.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::{Error, Format, Masses, Points, Result, Snapshot, Table};

/// Bytes in the longest line that is read; ten numbers need far fewer.
const LONGEST_LINE: u64 = 1 << 16;

/// Reads the text file `path`.
pub(super) fn read(path: &Path) -> Result<Snapshot> {
    let refuse = |message: String| Error::file(path, message);
    let failed = |error| refuse(format!("cannot be read: {error}"));
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let (mut delimiter, mut rows) = (None, None);
    let mut text = Vec::new();
    for line in 1_u64.. {
        text.clear();
        let n = file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text).map_err(failed)?;
        if n == 0 {
            break;
        }
        if n as u64 == LONGEST_LINE {
            return Err(refuse(format!("line {line} has {LONGEST_LINE} bytes or more; this is no table of points")));
        }
        let content = text.strip_prefix(BOM).unwrap_or(&text).trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        let fields = split(content, *delimiter.get_or_insert_with(|| find_delimiter(content)));
        let rows = match &mut rows {
            Some(rows) => rows,
            None => {
                let names = fields.iter().all(|field| is_name(field));
                let columns = if names { Columns::named(&fields) } else { Columns::plain(fields.len()) };
                let empty = rows.insert(Rows::new(columns.map_err(refuse)?));
                if names {
                    continue;
                }
                empty
            }
        };
        rows.push(&fields).map_err(|message| refuse(format!("line {line}: {message}")))?;
    }
    rows.and_then(Rows::finish).ok_or_else(|| refuse("has no rows of numbers".to_string()))
}

/// What some programs put at the start of a text in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The fields of a line; blanks next to each other separate only once.
fn split(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let fields = line.split(|&byte| byte == delimiter).map(clean);
    fields.filter(|field| delimiter != b' ' || !field.is_empty()).collect()
}

/// What separates the fields of `line`; a comma, if it has but one field.
fn find_delimiter(line: &[u8]) -> u8 {
    b";,\t ".iter().copied().find(|byte| line.contains(byte)).unwrap_or(b',')
}

/// True for what is no number, nor begins like one: a slip in the first row must not make it a line of names.
fn is_name(field: &[u8]) -> bool {
    let begins = field.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    !begins && number::<f64>(field).is_none()
}

/// A field without blanks and quotes around it.
fn clean(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(field).trim_ascii()
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Which columns hold what; positions in a row of `width` fields.
#[derive(Default)]
struct Columns {
    width: usize,
    coordinates: Vec<usize>,
    velocities: Vec<usize>,
    id: Option<usize>,
    mass: Option<usize>,
}

impl Columns {
    fn plain(width: usize) -> std::result::Result<Self, String> {
        Self { width, coordinates: (0..width).collect(), ..Self::default() }.checked()
    }

    fn named(fields: &[&[u8]]) -> std::result::Result<Self, String> {
        let names: Vec<String> = fields.iter().map(|name| String::from_utf8_lossy(name).to_lowercase()).collect();
        let known = ["x", "y", "z", "vx", "vy", "vz", "id", "mass"];
        if let Some(twice) = known.into_iter().find(|name| names.iter().filter(|n| n == name).count() > 1) {
            return Err(format!("has two columns named {twice}"));
        }
        let find = |name: &str| names.iter().position(|n| n == name);
        let mut coordinates: Vec<usize> = ["x", "y", "z"].into_iter().filter_map(find).collect();
        if coordinates.is_empty() {
            coordinates = (0..).zip(&names).filter(|(_, n)| !known.contains(&n.as_str())).map(|(i, _)| i).collect();
        }
        let velocities = ["vx", "vy", "vz"].into_iter().filter_map(find).collect();
        Self { width: names.len(), coordinates, velocities, id: find("id"), mass: find("mass") }.checked()
    }

    fn checked(self) -> std::result::Result<Self, String> {
        let (dim, speeds) = (self.coordinates.len(), self.velocities.len());
        if !(1..=10).contains(&dim) {
            return Err(format!("has {dim} columns of coordinates; points have 1 to 10"));
        }
        if speeds != 0 && speeds != dim {
            return Err(format!("has {dim} columns of coordinates, but {speeds} of velocities"));
        }
        Ok(self)
    }
}

/// What has been read so far.
#[derive(Default)]
struct Rows {
    columns: Columns,
    coordinates: Vec<f64>,
    velocities: Vec<f64>,
    ids: Vec<u64>,
    masses: Vec<f64>,
}

impl Rows {
    fn new(columns: Columns) -> Self {
        Self { columns, ..Self::default() }
    }

    fn push(&mut self, fields: &[&[u8]]) -> std::result::Result<(), String> {
        let columns = &self.columns;
        if fields.len() != columns.width {
            let text = shorten(&fields.join(&b' '));
            return Err(format!("{} columns where the first line has {}: {text}", fields.len(), columns.width));
        }
        for &column in &columns.coordinates {
            self.coordinates.push(parse(fields, column, "a number")?);
        }
        for &column in &columns.velocities {
            self.velocities.push(parse(fields, column, "a number")?);
        }
        if let Some(column) = columns.id {
            self.ids.push(parse(fields, column, "an id (a whole number from 0)")?);
        }
        if let Some(column) = columns.mass {
            self.masses.push(parse(fields, column, "a mass")?);
        }
        Ok(())
    }

    /// The snapshot, or `None` if there were no rows.
    fn finish(self) -> Option<Snapshot> {
        if self.coordinates.is_empty() {
            return None;
        }
        let dim = self.columns.coordinates.len();
        let table = |mut data: Vec<f64>| {
            data.shrink_to_fit();
            Points::F64(Table { dim, data })
        };
        Some(Snapshot {
            points: table(self.coordinates),
            velocities: (!self.columns.velocities.is_empty()).then(|| table(self.velocities)),
            ids: self.columns.id.map(|_| self.ids),
            masses: self.columns.mass.map_or(Masses::Unknown, |_| Masses::Each(self.masses)),
            box_size: None,
            header: None,
            format: Format::Csv,
        })
    }
}

/// The value in `column`, or what was found instead of `what`.
fn parse<T: std::str::FromStr>(fields: &[&[u8]], column: usize, what: &str) -> std::result::Result<T, String> {
    let field = fields.get(column).copied().unwrap_or_default();
    number(field).ok_or_else(|| format!("column {} is not {what}: '{}'", column + 1, shorten(field)))
}

/// The first 60 bytes, printable.
fn shorten(text: &[u8]) -> String {
    String::from_utf8_lossy(text.get(..60).unwrap_or(text)).escape_debug().to_string()
}
