//! The ids of the particles of a Tipsy file, in a file with the same name and `.iord` appended.
//!
//! In: text, with the number of particles and then one id per line. Or binary, with the same values as 32-bit words,
//! or ids of 64 bits. Out: the ids of the particles that are kept. Cost: text is read for all particles.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use ropewalk::{Error, Result};

use crate::columns::{Column, gather};
use crate::number_types::Number;
use crate::reading::Reading;
use crate::source::{Cancellable, room};

/// The maximum number of characters of a line; an id has at most 20.
const LONGEST_LINE: u64 = 64;

/// Returns the file of ids beside the snapshot `path`, if it exists.
pub(super) fn find(path: &Path) -> Option<PathBuf> {
    let mut name = path.as_os_str().to_os_string();
    name.push(".iord");
    let path = PathBuf::from(name);
    path.is_file().then_some(path)
}

/// Returns the ids in `path`, which has `total` particles. `stretches` lists the ranges to read, as first index and
/// count.
pub(super) fn read<'a>(
    reading: &'a Reading<'a>,
    path: &'a Path,
    total: u64,
    big_endian: bool,
    stretches: &[(u64, u64)],
) -> Result<Vec<u64>> {
    let mut source = reading.open(path)?;
    let n = if source.len() < 4 { None } else { Some(source.u32(big_endian)?) };
    let is_count = n.is_some_and(|n| u64::from(n) == total & u64::from(u32::MAX));
    let number = match source.len().checked_sub(4) {
        Some(bytes) if is_count && Some(bytes) == total.checked_mul(4) => Number::U32,
        Some(bytes) if is_count && Some(bytes) == total.checked_mul(8) => Number::U64,
        _ => return read_text(reading, path, source.len(), total, stretches),
    };
    let column = |&(first, rows)| {
        let at = 4 + first * number.bytes();
        vec![Column { path, at, rows, width: 1, stride: number.bytes(), number, big_endian }]
    };
    gather(reading, path, &stretches.iter().map(column).collect::<Vec<_>>(), 1.0)
}

fn read_text(reading: &Reading<'_>, path: &Path, len: u64, total: u64, stretches: &[(u64, u64)]) -> Result<Vec<u64>> {
    let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
    let mut lines = BufReader::with_capacity(1 << 18, Cancellable(file));
    let mut line = Vec::with_capacity(LONGEST_LINE as usize);
    let mut number = 0u64;
    let mut next = || -> Result<u64> {
        number += 1;
        line.clear();
        let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        read.map_err(|error| Error::io(path, "cannot be read", error))?;
        let text = String::from_utf8_lossy(&line);
        text.trim().parse().map_err(|_| {
            let found =
                if text.trim().is_empty() { "the end".to_string() } else { text.trim().escape_debug().to_string() };
            Error::file(
                path,
                format!("line {number} must be a whole number from 0 (first their count, then ids): {found}"),
            )
        })
    };
    let count = next()?;
    if count != total {
        let message = format!("has ids of {count} particles, but its snapshot has {total}");
        return Err(Error::file(path, message));
    }
    // A line takes at least one digit and a line end; the last may lack the line end.
    if total > len / 2 + 1 {
        return Err(Error::file(path, format!("truncated: expected {total} ids, but the file has {len} bytes")));
    }
    let wanted: u64 = stretches.iter().map(|(_, n)| n).sum();
    let places = reading.places(wanted);
    let mut ids = room(path, reading.keep.count(places.clone()))?;
    let (mut row, mut place) = (0, 0);
    for &(first, n) in stretches {
        for _ in row..first {
            next()?;
        }
        for _ in 0..n {
            let id = next()?;
            if places.contains(&place) && reading.keep.keeps(place) {
                ids.push(id);
            }
            place += 1;
        }
        row = first + n;
    }
    Ok(ids)
}
