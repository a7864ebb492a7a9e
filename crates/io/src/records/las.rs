//! LAS point clouds, versions 1.0 to 1.4.
//!
//! - in: point formats 0 to 10. The integers of a coordinate become `integer * scale + offset`, in 64-bit floats
//! - used: the counts, the scales and offsets, the layout of records
//! - noted: the coordinate reference system and its units ([`las_records`](super::las_records)), columns that are not
//!   read, bytes after the last point, and that flags of points are not read
//! - rejected: compressed files (LAZ), contradictory headers
//!
//! Source: ASPRS LAS 1.4 specification, revision 15.

use std::path::Path;

use ropewalk::Result;

use crate::contents::Contents;
use crate::file_format::FileFormat;
use crate::number_types::Number;
use crate::reading::Reading;
use crate::source::Source;
use crate::unreadable::is_marked;
use crate::{Format, Snapshot};

use super::las_records::{Records, long, short, spans, text, word};
use super::rows::Mapping;
use super::{Cloud, Field, Kind};

/// The first bytes of LAS files.
const MAGIC: &[u8] = b"LASF";
/// Bytes of the header of versions 1.0 to 1.2, and of version 1.4.
const HEADER: usize = 227;
const HEADER_4: usize = 375;

/// Bytes per point in the point formats 0 to 10.
const SIZES: [u64; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

fn cloud<'a>(path: &'a Path, mut source: Source) -> Result<Cloud<'a>> {
    let header = source.prefix(HEADER_4)?;
    if header.len() < HEADER {
        return Err(source.error(format!("truncated: expected a LAS header of {HEADER} bytes, got {}", header.len())));
    }
    let version = (header[24], header[25]);
    if version.0 != 1 || version.1 > 4 {
        return Err(source.error(format!("is LAS {}.{}; it must be 1.0 to 1.4", version.0, version.1)));
    }
    let (size, first, stride, format) = (short(&header, 94), word(&header, 96), short(&header, 105), header[104]);
    if format & 0xc0 != 0 {
        return Err(source.error("is compressed (LAZ); uncompress it, as by laszip or pdal"));
    }
    let Some(&least) = SIZES.get(usize::from(format)) else {
        return Err(source.error(format!("has points of format {format}; it must be 0 to 10")));
    };
    let is_new = version.1 == 4 && header.len() == HEADER_4 && size >= HEADER_4 as u64;
    let (old, new) = (word(&header, 107), if is_new { long(&header, 247) } else { 0 });
    if old != 0 && new != 0 && old != new {
        return Err(source.error(format!(
            "contradicts itself: {old} points in the legacy field of its header, {new} in the 64-bit field"
        )));
    }
    let rows = old.max(new);
    if stride < least || size < HEADER as u64 || first < size {
        let message = format!("contradicts itself: header of {size} bytes, points of {stride} at byte {first}");
        return Err(source.error(message));
    }
    if rows == 0 {
        return Err(source.error("has no points"));
    }
    let mut fields = vec![];
    for (axis, name) in ["x", "y", "z"].iter().enumerate() {
        let real = |at| f64::from_bits(long(&header, at + 8 * axis));
        let (scale, offset) = (real(131), real(155));
        if !scale.is_finite() || scale == 0.0 || !offset.is_finite() {
            return Err(source.error(format!("has the scale {scale} and the offset {offset} of {name}")));
        }
        let kind = Kind::Number(Number::I32, Mapping::Linear { scale, offset });
        fields.push(Field::new(*name, first + 4 * axis as u64, stride, kind));
    }
    fields.extend(
        others(format, least, stride).into_iter().map(|(name, at, kind)| Field::new(name, first + at, stride, kind)),
    );
    let mut records = Records::default();
    for span in spans(&header, first, source.len(), is_new) {
        records.read(&mut source, &span)?;
    }
    let mut notes = records.notes();
    notes.push("flags of points are not read: withheld and synthetic points are included".into());
    let end = first.saturating_add(rows.saturating_mul(stride)).max(records.end);
    notes.extend(source.note_after(end, "point or record"));
    let code = Some(text(&header[58..90])).filter(|code| !code.is_empty());
    let cloud = Cloud {
        format: Format::Las,
        path,
        temp_file: None,
        rows,
        big_endian: false,
        fields,
        entries: vec![],
        code,
        notes,
    };
    cloud.check_length(source.len())?;
    Ok(cloud)
}

/// Returns the fields of a point other than its coordinates: name, offset in the point, and kind.
fn others(format: u8, size: u64, stride: u64) -> Vec<(&'static str, u64, Kind)> {
    let number = |number| Kind::Number(number, Mapping::Same);
    let (u8s, u16s, f64s) = (number(Number::U8), number(Number::U16), number(Number::F64));
    let mut all = vec![("intensity", 12, u16s)];
    let is_new = format >= 6;
    if is_new {
        all.extend([
            ("returns_and_flags", 14, Kind::Other("bits")),
            ("classification", 16, u8s),
            ("user_data", 17, u8s),
        ]);
        all.extend([("scan_angle", 18, number(Number::I16)), ("point_source_id", 20, u16s), ("gps_time", 22, f64s)]);
    } else {
        all.extend([
            ("returns_and_flags", 14, Kind::Other("bits")),
            ("classification_and_flags", 15, Kind::Other("bits")),
        ]);
        all.extend([
            ("scan_angle_rank", 16, number(Number::I8)),
            ("user_data", 17, u8s),
            ("point_source_id", 18, u16s),
        ]);
    }
    let colors = match format {
        1 | 4 => {
            all.push(("gps_time", 20, f64s));
            None
        }
        2 => Some(20),
        3 | 5 => {
            all.push(("gps_time", 20, f64s));
            Some(28)
        }
        7 | 8 | 10 => Some(30),
        _ => None,
    };
    if let Some(at) = colors {
        all.extend([("red", at, u16s), ("green", at + 2, u16s), ("blue", at + 4, u16s)]);
    }
    if matches!(format, 8 | 10) {
        all.push(("nir", 36, u16s));
    }
    if matches!(format, 4 | 5 | 9 | 10) {
        all.push(("wave_packet", size - 29, Kind::Other("bits")));
    }
    if stride > size {
        all.push(("extra_bytes", size, Kind::Other("bytes")));
    }
    all
}

/// The format of LAS point clouds.
pub(crate) struct Las;

impl FileFormat for Las {
    fn recognises_prefix(&self, prefix: &[u8]) -> bool {
        is_marked(prefix, MAGIC)
    }

    fn read(&self, path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
        read(path, reading)
    }

    fn inspect(&self, path: &Path, reading: &Reading<'_>) -> Result<Contents> {
        inspect(path, reading)
    }
}

fn read(path: &Path, reading: &Reading<'_>) -> Result<Snapshot> {
    cloud(path, reading.open(path)?)?.read(reading)
}

fn inspect(path: &Path, reading: &Reading<'_>) -> Result<Contents> {
    cloud(path, reading.open(path)?)?.inspect(reading)
}
