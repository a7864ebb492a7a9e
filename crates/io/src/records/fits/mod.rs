//! FITS tables: the first binary or text table of a file.
//!
//! - in: columns of bytes, integers, floats and vectors of them (`TFORM` B, I, J, K, E, D, and I, F, E, D of text
//!   tables)
//! - used: `TTYPE`, `TFORM`, `TUNIT`, `TSCAL`, `TZERO` (unsigned integers stay exact), `TNULL`; redshift, box and
//!   cosmology, by their names
//! - noted: other tables and images, other keywords, comments, columns that are not read, bytes after the last HDU
//! - rejected: images, compressed tables, random groups, contradictory headers, and missing values in columns that
//!   are read. Choosing a column of text, booleans, bits, complex numbers or lists of variable length is also an
//!   error

mod columns;
mod header;

use std::path::Path;

use crate::file_format::FileFormat;
use crate::text::Record;

use ropewalk::internals::format::counted;
use ropewalk::{Error, Result};

use crate::box_sides::side_of_chosen;
use crate::contents::Contents;
use crate::messages::shorten;
use crate::reading::Reading;
use crate::reduce::reduced;
use crate::source::Source;
use crate::table_columns::own_coordinates;
use crate::{Format, Snapshot};

use super::Cloud;
use super::text::{self, TextCloud};
use columns::{TextColumn, binary, texts};
use header::{Hdu, hdus};

/// The first bytes of FITS files.
const MAGIC: &[u8] = b"SIMPLE  =";

/// Keywords that describe the layout, a column or the writer. Other keywords are noted.
const PLAIN: [&str; 22] = [
    "XTENSION", "SIMPLE", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "TFIELDS", "EXTNAME", "EXTVER", "EXTLEVEL", "EXTEND",
    "THEAP", "CHECKSUM", "DATASUM", "DATE", "ORIGIN", "AUTHOR", "CREATOR", "LONGSTRN", "NEXTEND", "INHERIT", "BLOCKED",
];
const PLAIN_OF_COLUMNS: [&str; 12] =
    ["TTYPE", "TFORM", "TUNIT", "TSCAL", "TZERO", "TNULL", "TDISP", "TDIM", "TBCOL", "TCOMM", "TUCD", "NAXIS"];
/// Keywords whose values are numbers, and the names of these entries in tables.
const NUMBERS: [(&str, &str); 10] = [
    ("REDSHIFT", "redshift"),
    ("BOXSIZE", "box_size"),
    ("BOX_SIZE", "box_size"),
    ("LBOX", "box_size"),
    ("OMEGA_M", "omega_m"),
    ("OMEGAM", "omega_m"),
    ("OMEGA_L", "omega_lambda"),
    ("OMEGAL", "omega_lambda"),
    ("OMEGA_LAMBDA", "omega_lambda"),
    ("H", "h"),
];

/// The beginnings of comments that FITS writers put into every file.
const USUAL_COMMENTS: [&str; 2] =
    ["FITS (Flexible Image Transport System) format is defined in", "and Astrophysics', volume 376, page 359"];
/// The maximum number of comments in a note.
const MAX_COMMENTS: usize = 3;

/// The table to read in a file.
struct TableToRead {
    table: Hdu,
    is_binary: bool,
    entries: Vec<(String, String)>,
    notes: Vec<String>,
}

/// Returns the name of an HDU for messages.
fn called(hdu: &Hdu) -> String {
    match hdu.text("EXTNAME") {
        Some(name) => format!("HDU {} ({})", hdu.number, shorten(name.as_bytes())),
        None => format!("HDU {}", hdu.number),
    }
}

fn find(source: &mut Source) -> Result<TableToRead> {
    let (all, rest) = hdus(source)?;
    let is_table =
        |hdu: &Hdu| matches!(hdu.text("XTENSION"), Some("BINTABLE" | "A3DTABLE" | "TABLE")) && !hdu.is_true("ZIMAGE");
    let mut notes = vec![];
    let (tables, others): (Vec<Hdu>, Vec<Hdu>) = all.into_iter().partition(is_table);
    let images = others.iter().filter(|hdu| hdu.number > 0 || hdu.whole("NAXIS").is_ok_and(|n| n > Some(0))).count();
    let primary: Vec<(String, String)> = others
        .iter()
        .filter(|hdu| hdu.number == 0)
        .flat_map(Hdu::entries)
        .map(|(keyword, value)| (keyword.to_string(), value.to_string()))
        .collect();
    let of_primary: Vec<String> =
        others.iter().filter(|hdu| hdu.number == 0).flat_map(|hdu| hdu.comments.clone()).collect();
    let mut tables = tables.into_iter();
    let Some(table) = tables.next() else {
        let images = counted(images as u64, "image");
        let message = format!("is a FITS file without tables ({images}); points are read from tables");
        return Err(source.error(message));
    };
    if table.is_true("ZTABLE") {
        let message = format!("{} is a compressed table; uncompress it, as by funpack", called(&table));
        return Err(source.error(message));
    }
    let more: Vec<String> = tables.map(|hdu| called(&hdu)).collect();
    if !more.is_empty() {
        notes.push(format!("{} is read; tables that are not read: {}", called(&table), more.join(", ")));
    }
    if images > 0 {
        notes.push(format!("images that are not read: {images}"));
    }
    if rest > 0 {
        notes.push(format!("{rest} bytes after the last HDU are not read"));
    }
    let (entries, unused) = entries(&table, &primary).map_err(|message| source.error(message))?;
    if !unused.is_empty() {
        let list: Vec<String> = unused.iter().map(|keyword| shorten(keyword.as_bytes())).collect();
        notes.push(format!("keywords that are not used: {}", list.join(", ")));
    }
    notes.extend(note_on_comments(of_primary.iter().chain(&table.comments)));
    let is_binary = table.text("XTENSION") != Some("TABLE");
    Ok(TableToRead { table, is_binary, entries, notes })
}

/// Returns the note on comments, which are not used.
fn note_on_comments<'a>(comments: impl Iterator<Item = &'a String>) -> Option<String> {
    let is_usual = |comment: &&String| USUAL_COMMENTS.iter().any(|usual| comment.starts_with(usual));
    let comments: Vec<&String> = comments.filter(|comment| !is_usual(comment)).collect();
    let mut list: Vec<String> =
        comments.iter().take(MAX_COMMENTS).map(|text| format!("'{}'", shorten(text.as_bytes()))).collect();
    if comments.len() > MAX_COMMENTS {
        list.push(format!("and {} more", comments.len() - MAX_COMMENTS));
    }
    (!list.is_empty()).then(|| format!("comments that are not used: {}", list.join(", ")))
}

/// Returns a value as messages quote it.
fn shown(value: &str) -> String {
    if value.is_empty() { "an empty text".into() } else { shorten(value.as_bytes()) }
}

/// A keyword or name, and its value.
type Entry = (String, String);

/// Returns the numbers of a header that are used, with their names in tables, and the keywords that are not used.
fn entries(table: &Hdu, primary: &[Entry]) -> std::result::Result<(Vec<Entry>, Vec<String>), String> {
    let (mut used, mut unused): (Vec<Entry>, Vec<String>) = (vec![], vec![]);
    let primary = primary.iter().map(|(keyword, value)| (keyword.as_str(), value.as_str()));
    for (keyword, value) in table.entries().chain(primary) {
        let stem = keyword.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if PLAIN.contains(&keyword) || (stem != keyword && PLAIN_OF_COLUMNS.contains(&stem)) {
            continue;
        }
        let known = NUMBERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(keyword));
        let Some(&(_, name)) = known else {
            if !unused.iter().any(|other| other == keyword) {
                unused.push(keyword.to_string());
            }
            continue;
        };
        let number = header::real(value).filter(|number| number.is_finite() && (name == "redshift" || *number >= 0.0));
        let number =
            number.ok_or_else(|| format!("its keyword {keyword} is {}, which cannot be used", shown(value)))?;
        match used.iter().find(|(other, _)| other == name) {
            Some((_, other)) if header::real(other) != Some(number) => {
                return Err(format!(
                    "its keyword {keyword} is {number}, but another keyword for the same quantity is {other}"
                ));
            }
            Some(_) => {}
            None => used.push((name.into(), number.to_string())),
        }
    }
    Ok((used, unused))
}

fn cloud<'a>(path: &'a Path, source: &Source, found: TableToRead) -> Result<Cloud<'a>> {
    let TableToRead { table, entries, notes, .. } = found;
    let refuse = |message: String| source.error(format!("{}: {message}", called(&table)));
    let rows = table.count("NAXIS2").map_err(refuse)?;
    let fields = binary(&table).map_err(refuse)?;
    let cloud = Cloud {
        format: Format::Fits,
        path,
        temp_file: None,
        rows,
        big_endian: true,
        fields,
        entries,
        code: None,
        notes,
    };
    cloud.check_length(source.len())?;
    if rows == 0 {
        return Err(cloud.error(format!("{} has no rows", called(&table))));
    }
    Ok(cloud)
}

/// The format of FITS tables.
pub(crate) struct Fits;

impl FileFormat for Fits {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(MAGIC)
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}

fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    let mut source = reading.open(path)?;
    let found = find(&mut source)?;
    if found.is_binary { cloud(path, &source, found)?.read(reading) } else { read_text(path, source, &found, reading) }
}

fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    let mut source = reading.open(path)?;
    let found = find(&mut source)?;
    if found.is_binary {
        return cloud(path, &source, found)?.inspect(reading);
    }
    Ok(text::inspect(path, &read_text(path, source, &found, reading)?))
}

/// Reads the rows of a text table.
fn read_text(path: &Path, mut source: Source, found: &TableToRead, reading: &Reading<'_>) -> Result<Snapshot> {
    let table = &found.table;
    let refuse = |message: String| Error::file(path, format!("{}: {message}", called(table)));
    let all = texts(table).map_err(refuse)?;
    let (width, rows) = (table.count("NAXIS1").map_err(refuse)?, table.count("NAXIS2").map_err(refuse)?);
    let (columns, others): (Vec<TextColumn>, Vec<TextColumn>) = all.into_iter().partition(|column| column.is_number);
    let mut notes = found.notes.clone();
    if !others.is_empty() {
        let list: Vec<String> = others.iter().map(|column| shorten(column.name.as_bytes())).collect();
        notes.push(format!("columns of text that are not read: {}", list.join(", ")));
    }
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let unread = others.iter().map(|column| (column.name.clone(), "text".to_string())).collect();
    let most_rows = rows.min(source.len());
    let cloud = TextCloud { format: Format::Fits, path, names, unread, most_rows, notes };
    source.seek(table.at)?;
    let mut line = vec![0; usize::try_from(width).unwrap_or(usize::MAX).min(source.len() as usize)];
    let mut row = 0;
    let snapshot = cloud.read(reading, |record: &mut Record| {
        if row == rows {
            return Ok(None);
        }
        row += 1;
        source.fill(&mut line)?;
        // A missing value yields an empty word.
        for column in &columns {
            let word = column.word(&line).map_err(|message| {
                Error::file(path, format!("row {row}, column {}: {message}", shorten(column.name.as_bytes())))
            })?;
            record.push_field(word.as_bytes());
        }
        Ok(Some(format!("row {row}")))
    })?;
    finish(path, snapshot, found, &columns, reading)
}

/// Adds to `snapshot` the units, epoch, cosmology and box in the header of a text table.
fn finish(
    path: &Path,
    mut snapshot: Snapshot,
    found: &TableToRead,
    columns: &[TextColumn],
    reading: &Reading<'_>,
) -> Result<Snapshot> {
    if reading.reads_fields {
        return Ok(reduced(snapshot, reading));
    }
    let named = columns.iter().map(|column| (column.name.as_str(), column.unit.as_deref()));
    let header = super::header_of(path, named, &found.entries, &snapshot.columns)?;
    (snapshot.units, snapshot.coordinate_unit) = (header.units, header.coordinate_unit);
    (snapshot.redshift, snapshot.background) = (header.redshift, header.background);
    snapshot.notes.extend(header.notes);
    snapshot.box_size = header.box_size;
    if !reading.options.columns.is_empty() {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let own = own_coordinates(&names);
        snapshot.box_size = side_of_chosen(header.box_size, &own, &snapshot.columns, &mut snapshot.notes);
    }
    text::finish(path, snapshot, reading, header.units.velocity)
}
