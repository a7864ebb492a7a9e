//! The particles of one process of RAMSES. The file consists of Fortran records, with their length before and after
//! the data.
//!
//! In: a `part_` file. Out: the location of each column. Cost: reading the markers, but no columns except families or
//! birth times.

use std::path::PathBuf;

use ropewalk::{Error, Result};

use crate::columns::{Column, whole};
use crate::number_types::Number;
use crate::ramses::output::Output;
use crate::ramses::rows_of_type::Types;
use crate::reading::Reading;
use crate::source::Source;

/// The number of records of a header: processes, dimensions, particles, seeds, stars, two masses of stars, sinks.
const HEADER: usize = 8;
/// The maximum number of columns that are scanned in a file.
const MAX_RECORDS: usize = 1000;

/// A file that has been scanned.
pub(super) struct ProcessFile {
    pub path: PathBuf,
    pub particles: u64,
    big_endian: bool,
    columns: Vec<StoredColumn>,
}

/// The location and type of a column in the file.
struct StoredColumn {
    name: String,
    at: u64,
    number: Number,
}

impl ProcessFile {
    /// Scans the file of a process, whose columns have these names.
    pub(super) fn scan(output: &Output, process: u32, names: &[(String, bool)], reading: &Reading<'_>) -> Result<Self> {
        let path = output.part(process);
        if !path.is_file() {
            return Err(Error::file(path, format!("is missing: the output is of {} processes", output.files)));
        }
        let mut source = reading.open(&path)?;
        let marker: [u8; 4] = source.prefix(4)?.try_into().unwrap_or_default();
        let big_endian = match marker {
            [4, 0, 0, 0] => false,
            [0, 0, 0, 4] => true,
            _ => {
                return Err(source.error(format!(
                    "begins with {marker:?}; particle files of RAMSES must begin with a record of 4 bytes"
                )));
            }
        };
        let mut header = [0u64; 3];
        for number in 0..HEADER {
            let (at, bytes) = record(&mut source, big_endian)?;
            if let Some(value) = header.get_mut(number) {
                if bytes != 4 {
                    return Err(
                        source.error(format!("record {} of its header has {bytes} bytes; it must have 4", number + 1))
                    );
                }
                let after = source.at();
                source.seek(at)?;
                *value = source.u32(big_endian)?.into();
                source.seek(after)?;
            }
        }
        let [processes, dimensions, particles] = header;
        if (processes, dimensions) != (output.files.into(), output.dimensions as u64) {
            return Err(source.error(format!(
                "has {processes} processes and {dimensions} dimensions, but the info file has {} and {}",
                output.files, output.dimensions
            )));
        }
        if particles > source.len() {
            return Err(source.error(format!("declares {particles} particles, but has {} bytes", source.len())));
        }
        let mut columns = vec![];
        while source.left() > 0 && columns.len() < MAX_RECORDS {
            let (at, bytes) = record(&mut source, big_endian)?;
            // Columns without a name are not used.
            let (name, is_float) = names.get(columns.len()).cloned().unwrap_or_default();
            let number = match (bytes.checked_div(particles), is_float) {
                _ if particles > 0 && bytes % particles != 0 => None,
                (None, _) if bytes > 0 => None,
                (None, _) => Some(Number::F64),
                (Some(8), true) => Some(Number::F64),
                (Some(4), true) => Some(Number::F32),
                (Some(1), false) => Some(Number::I8),
                (Some(2), false) => Some(Number::I16),
                (Some(4), false) => Some(Number::I32),
                (Some(8), false) => Some(Number::I64),
                _ => None,
            };
            let number = match number {
                Some(number) => number,
                None if name.is_empty() => Number::I8,
                None => {
                    return Err(source.error(format!(
                        "column {name} has {bytes} bytes, which is not possible for {particles} particles"
                    )));
                }
            };
            columns.push(StoredColumn { name, at, number });
        }
        Ok(Self { path, particles, big_endian, columns })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&str, Number)> {
        self.columns.iter().filter(|column| !column.name.is_empty()).map(|column| (column.name.as_str(), column.number))
    }

    /// Returns the number of columns without a name.
    pub(super) fn nameless(&self) -> usize {
        self.columns.iter().filter(|column| column.name.is_empty()).count()
    }

    pub(super) fn column(&self, name: &str) -> Option<Column<'_>> {
        let stored = self.columns.iter().find(|column| column.name == name)?;
        Some(Column {
            path: &self.path,
            at: stored.at,
            rows: self.particles,
            width: 1,
            stride: stored.number.bytes(),
            number: stored.number,
            big_endian: self.big_endian,
        })
    }

    /// Returns the types by family: dark matter 1, debris and others 2, tracers 3, stars 4, clouds of sinks 5. In
    /// files without families, particles with a birth time are stars.
    pub(super) fn types(&self, reading: &Reading<'_>) -> Result<Types> {
        let each = if let Some(family) = self.column("family") {
            whole::<i8>(reading, &[family])?.into_iter().map(particle_type).collect()
        } else if let Some(born) = self.column("birth_time") {
            let mut types = Vec::new();
            // In chunks, since times have eight bytes.
            for first in (0..born.rows).step_by(1 << 17) {
                let rows = (born.rows - first).min(1 << 17);
                let times: Vec<f64> = whole(reading, &[Column { at: born.at + first * born.stride, rows, ..born }])?;
                types.extend(times.into_iter().map(|time| if time == 0.0 { 1 } else { 4 }));
            }
            types
        } else {
            vec![1; self.particles as usize]
        };
        Ok(Types::new(each))
    }
}

/// Returns the type of a family, as numbered by RAMSES.
fn particle_type(family: i8) -> u8 {
    match family {
        1 => 1,
        2 => 4,
        3 => 5,
        4.. => 2,
        ..=0 => 3,
    }
}

/// Skips a record, and returns the byte offset and the length of its data.
fn record(source: &mut Source, big_endian: bool) -> Result<(u64, u64)> {
    let start = source.at();
    let bytes = u64::from(source.u32(big_endian)?);
    let (at, left) = (source.at(), source.left());
    if bytes > 1 << 31 {
        let message = format!("the record at byte {start} is split (above 2 GB), which is not supported");
        return Err(source.error(message));
    }
    if left < bytes + 4 {
        return Err(source.error(format!(
            "truncated: expected {bytes} bytes and a marker of 4 in the record at byte {start}, got {left}"
        )));
    }
    source.seek(at + bytes)?;
    let closing = u64::from(source.u32(big_endian)?);
    if closing != bytes {
        return Err(source.error(format!(
            "the markers of the record at byte {start} disagree: {bytes} bytes before it, {closing} after it"
        )));
    }
    Ok((at, bytes))
}
