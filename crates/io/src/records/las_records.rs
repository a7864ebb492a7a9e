//! The coordinate reference system and units that variable-length records of LAS files name.
//!
//! In: the records before the points and, in version 1.4, the extended records after them. Out: notes; coordinates
//! are not converted. Source: ASPRS LAS 1.4 specification, revision 15, sections 2.5 to 2.7. OGC GeoTIFF standard
//! 1.1, annexes A and B.

use ropewalk::Result;

use crate::messages::{list, shorten};
use crate::source::Source;

/// Bytes of the header of a record, and of an extended record.
const RECORD: u64 = 54;
const EXTENDED: u64 = 60;
/// The maximum number of bytes that are read of a record.
const LONGEST: u64 = 1 << 16;
/// The maximum number of unit names in a note, and of characters of names.
const MAX_UNITS: usize = 8;
const LONGEST_NAMES: usize = 200;

/// Returns the 16-bit number at byte `at`; 0 beyond the end.
pub(super) fn short(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes).into()
}

/// Returns the 32-bit number at byte `at`; 0 beyond the end.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes).into()
}

/// Returns the 64-bit number at byte `at`; 0 beyond the end.
pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Returns the text of a field that is padded with zeros.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    shorten(bytes[..end].trim_ascii())
}

/// The number of records, and the range of bytes that contains them.
pub(super) struct Span {
    pub start: u64,
    pub count: u64,
    pub end: u64,
    pub is_extended: bool,
}

/// The records about the coordinate reference system.
#[derive(Default)]
pub(super) struct Records {
    keys: Vec<u8>,
    names: Vec<u8>,
    well_known_texts: Vec<String>,
    /// Records that are not read: the id of their owner, and their number.
    others: Vec<String>,
    /// The byte offset after the last record.
    pub end: u64,
}

impl Records {
    /// Reads the records of a span.
    ///
    /// Errors: the records end beyond the span.
    pub(super) fn read(&mut self, source: &mut Source, span: &Span) -> Result<()> {
        let end = span.end.min(source.len());
        let (size, what) = match span.is_extended {
            true => (EXTENDED, "extended variable-length"),
            false => (RECORD, "variable-length"),
        };
        let mut at = span.start;
        for _ in 0..span.count {
            if at.checked_add(size).is_none_or(|start| start > end) {
                let message = format!("contradicts itself: {} {what} records end beyond byte {end}", span.count);
                return Err(source.error(message));
            }
            source.seek(at)?;
            let mut head = [0; EXTENDED as usize];
            source.fill(&mut head[..size as usize])?;
            let length = if span.is_extended { long(&head, 20) } else { short(&head, 20) };
            let after = at.checked_add(size).and_then(|start| start.checked_add(length));
            at = after
                .filter(|&after| after <= end)
                .ok_or_else(|| source.error(format!("contradicts itself: a {what} record ends beyond byte {end}")))?;
            let (owner, number) = (text(&head[2..18]), short(&head, 18));
            let is_known = owner == "LASF_Projection" && matches!(number, 2112 | 34735 | 34737);
            let mut data = vec![0; if is_known { length.min(LONGEST) as usize } else { 0 }];
            source.fill(&mut data)?;
            match number {
                2112 if is_known => self.well_known_texts.push(String::from_utf8_lossy(&data).into_owned()),
                34735 if is_known => self.keys = data,
                34737 if is_known => self.names = data,
                // Superseded records and records without content have no owner.
                _ if owner.is_empty() => {}
                _ => self.others.push(format!("{owner} {number}")),
            }
        }
        self.end = self.end.max(at);
        Ok(())
    }

    /// Returns notes on all records.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.well_known_texts.iter().map(|text| of_well_known_text(text)).collect();
        notes.extend(of_keys(&self.keys));
        let names = String::from_utf8_lossy(&self.names);
        let names: Vec<&str> = names.split(['|', '\0']).map(str::trim).filter(|name| !name.is_empty()).collect();
        if !names.is_empty() {
            let names: String = names.join(", ").chars().take(LONGEST_NAMES).collect();
            notes.push(format!("names of the coordinate reference system: {}", names.escape_debug()));
        }
        if !self.others.is_empty() {
            notes.push(format!("variable-length records that are not read: {}", list(&self.others)));
        }
        notes
    }
}

/// Returns a note with the start of a well-known text, which names the system, and with its units.
fn of_well_known_text(wkt: &str) -> String {
    let wkt = wkt.trim_end_matches('\0').trim();
    let start = shorten(wkt.as_bytes());
    let quoted = |from: usize| wkt.get(from..)?.split('"').nth(1);
    // Units have the keyword UNIT, LENGTHUNIT or ANGLEUNIT.
    let mut units: Vec<String> = vec![];
    for (at, keyword) in wkt.match_indices("UNIT") {
        let is_opened = wkt.get(at + keyword.len()..).is_some_and(|rest| rest.starts_with(['[', '(']));
        if let Some(unit) = quoted(at).filter(|_| is_opened) {
            let unit = shorten(unit.as_bytes());
            if !units.contains(&unit) && units.len() < MAX_UNITS {
                units.push(unit);
            }
        }
    }
    match units.len() {
        0 => format!("coordinate reference system: {start}"),
        _ => format!("coordinate reference system: {start} (units: {})", units.join(", ")),
    }
}

/// Returns the name of the unit with a GeoTIFF code.
fn unit(code: u64) -> String {
    match code {
        9001 => "metres".into(),
        9002 => "feet".into(),
        9003 => "US survey feet".into(),
        other => system(other),
    }
}

/// Returns the name of the system with a GeoTIFF code.
fn system(code: u64) -> String {
    match code {
        0 => "not defined".into(),
        32_767 => "defined by parameters that are not read".into(),
        code => format!("EPSG {code}"),
    }
}

/// Keys that are read, or that locate the text of a name.
const KNOWN_KEYS: [u64; 11] = [1024, 1025, 1026, 2048, 2049, 3072, 3073, 3076, 4096, 4097, 4099];

/// Returns notes on the systems and units that GeoTIFF keys name.
fn of_keys(data: &[u8]) -> Vec<String> {
    let keys: Vec<&[u8]> = data.chunks_exact(8).skip(1).collect();
    // Keys whose values are in other records are names and parameters.
    let find = |id: u64| keys.iter().find(|key| short(key, 0) == id && short(key, 2) == 0).map(|key| short(key, 6));
    let mut notes = vec![];
    let of = |what: &str| format!("coordinate reference system: {what}");
    match (find(1024), find(3072), find(2048)) {
        (Some(1) | None, Some(projected), Some(base)) => {
            notes.push(of(&format!("{}, a projection of {}", system(projected), system(base))));
        }
        (Some(1) | None, Some(projected), None) => notes.push(of(&system(projected))),
        (Some(1), None, Some(base)) => notes.push(of(&format!("a projection of {}", system(base)))),
        (Some(1), None, None) => notes.push(of("an unnamed projection")),
        (Some(3), _, Some(base)) => notes.push(of(&format!("{}, geocentric", system(base)))),
        (Some(2) | None, None, Some(base)) => notes.push(of(&format!("{}, longitudes and latitudes", system(base)))),
        (None, None, None) => {}
        (model, projected, base) => {
            let code = |code: Option<u64>| code.map_or("none".into(), system);
            let model = model.map_or("none".into(), |model| model.to_string());
            let (projected, base) = (code(projected), code(base));
            notes.push(of(&format!(
                "not clear: model {model}, projection {projected}, longitudes and latitudes {base}"
            )));
        }
    }
    if let Some(vertical) = find(4096) {
        notes.push(format!("vertical reference system: {}", system(vertical)));
    }
    match (find(3076), find(4099)) {
        (Some(length), Some(height)) if length != height => notes.push(format!(
            "x and y are in {}, but z is in {}: coordinates are not converted, so distances between points are wrong",
            unit(length),
            unit(height)
        )),
        (Some(length), _) => notes.push(format!("unit of length: {}", unit(length))),
        (None, Some(height)) => notes.push(format!("unit of z: {}; the unit of x and y is not named", unit(height))),
        (None, None) => {}
    }
    let others: Vec<String> = keys
        .iter()
        .map(|key| short(key, 0))
        .filter(|id| !KNOWN_KEYS.contains(id) && *id != 0)
        .map(|id| id.to_string())
        .collect();
    if !others.is_empty() {
        notes.push(format!("GeoTIFF keys that are not read: {}", list(&others)));
    }
    notes
}

/// Returns the spans of records of a file: those before the points, which begin at byte `points`, and the extended
/// records.
pub(super) fn spans(header: &[u8], points: u64, len: u64, is_new: bool) -> Vec<Span> {
    let own = Span { start: short(header, 94), count: word(header, 100), end: points, is_extended: false };
    let (start, count) = (long(header, 235), word(header, 243));
    let extended = Span { start, count, end: len, is_extended: true };
    if is_new { vec![own, extended] } else { vec![own] }
}
