//! The arrays in a NumPy archive: their types, and the locations of their values.
//!
//! In: an archive, plain or compressed. Out: the headers of its arrays, and arrays whose values can be read, in the
//! archive itself or in a temporary file. Cost: a requested array is read once for its checksum, or uncompressed.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zip::{CompressionMethod, ZipArchive};

use ropewalk::{Error, Result};

use crate::columns::{Column, whole};
use crate::npy;
use crate::number_types::Target;
use crate::reading::Reading;
use crate::source::Cancellable;
use crate::table_columns::FIELDS_ADVICE;
use crate::temp_file::TempFile;

/// An array of the archive.
pub(super) struct Array {
    index: usize,
    pub name: String,
    /// Its header, and the offset of its values in the array; or the reason why they cannot be read.
    pub header: std::result::Result<(npy::Header, u64), String>,
    /// The number of its rows, if it holds numbers, including unsupported ones.
    rows: std::result::Result<Option<u64>, String>,
    /// Its uncompressed size in bytes.
    size: u64,
    /// Its byte offset in the archive, if it is not compressed.
    stored_at: Option<u64>,
}

/// An open archive.
pub(super) struct Archive<'a> {
    pub path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
    pub arrays: Vec<Array>,
    /// The names of members that are not arrays.
    pub others: Vec<String>,
}

/// An array whose values can be read from a file.
pub(super) struct LocatedArray {
    path: PathBuf,
    at: u64,
    pub header: npy::Header,
}

impl<'a> Archive<'a> {
    pub(super) fn open(path: &'a Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let file = File::open(path).map_err(|error| Error::io(path, "cannot be opened", error))?;
        let refuse =
            |error: zip::result::ZipError| Error::file(path, format!("is a zip archive that cannot be read: {error}"));
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(refuse)?;
        let of = if reading.reads_fields { npy::ArrayUse::Fields } else { npy::ArrayUse::Points };
        let (mut arrays, mut others) = (vec![], vec![]);
        for index in 0..zip.len() {
            let mut file = zip.by_index(index).map_err(refuse)?;
            let Some(name) = file.name().ok().and_then(|name| Some(name.strip_suffix(".npy")?.to_string())) else {
                others.push(file.name().map_or_else(|_| "?".into(), |name| name.escape_debug().to_string()));
                continue;
            };
            let mut start = vec![];
            let most = npy::LONGEST_HEADER + 12;
            let read = file.by_ref().take(most).read_to_end(&mut start);
            let read = read.map_err(|error| format!("cannot be read: {error}"));
            let rows = read.clone().and_then(|_| npy::rows_of_numbers(&start));
            let header = read.and_then(|_| npy::decode(&start, of));
            let is_stored = file.compression() == CompressionMethod::Stored;
            let stored_at = file
                .data_start()
                .filter(|&start| is_stored && start.checked_add(file.size()).is_some_and(|end| end <= len));
            if is_stored && stored_at.is_none() {
                let message = format!(
                    "truncated: its array {} needs {} bytes, more than the file has",
                    name.escape_debug(),
                    file.size()
                );
                return Err(Error::file(path, message));
            }
            arrays.push(Array { index, name, header, rows, size: file.size(), stored_at });
        }
        Ok(Self { path, zip, arrays, others })
    }

    pub(super) fn error(&self, array: usize, message: impl std::fmt::Display) -> Error {
        let name = self.arrays.get(array).map_or_else(String::new, |array| array.name.escape_debug().to_string());
        Error::file(self.path, format!("array {name} {message}"))
    }

    pub(super) fn header(&self, array: usize) -> Result<&npy::Header> {
        match self.arrays.get(array).map(|array| &array.header) {
            Some(Ok((header, _))) => Ok(header),
            Some(Err(message)) => Err(self.error(array, message)),
            None => Err(self.error(array, "does not exist")),
        }
    }

    /// Returns the first array with one of these names.
    pub(super) fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.arrays.iter().position(|array| array.name.eq_ignore_ascii_case(name)))
    }

    /// Returns the arrays of numbers with as many rows as the longest one. If one of them is not supported, returns
    /// an error.
    pub(super) fn longest(&self) -> Result<Vec<usize>> {
        let refuse = |array, message: &String| self.error(array, format!("{message}; {FIELDS_ADVICE}"));
        let rows = |(place, array): (usize, &Array)| array.rows.clone().map_err(|message| refuse(place, &message));
        let rows: Vec<Option<u64>> = self.arrays.iter().enumerate().map(rows).collect::<Result<_>>()?;
        let most = rows.iter().flatten().max();
        let longest: Vec<usize> =
            (0..rows.len()).filter(|&array| most.is_some() && rows[array].as_ref() == most).collect();
        let refused = longest.iter().find_map(|&array| Some((array, self.arrays[array].header.as_ref().err()?)));
        refused.map_or(Ok(longest), |(array, message)| Err(refuse(array, message)))
    }

    /// Verifies the checksum of an array, and returns its location in this file or in a temporary file, which is
    /// added to `temp_files`.
    pub(super) fn place(
        &mut self,
        array: usize,
        reading: &Reading<'_>,
        temp_files: &mut Vec<TempFile>,
    ) -> Result<LocatedArray> {
        let header = self.header(array)?.clone();
        let Some(Array { index, size, stored_at, header: Ok((_, start)), .. }) = self.arrays.get(array) else {
            return Err(self.error(array, "does not exist"));
        };
        let (index, size, stored_at, start) = (*index, *size, *stored_at, *start);
        let bytes = u128::from(header.points) * header.dim as u128 * u128::from(header.bytes());
        if u128::from(start) + bytes > u128::from(size) {
            let left = size.saturating_sub(start);
            let (n, dim) = (header.points, header.dim);
            return Err(
                self.error(array, format!("is truncated: expected {bytes} bytes for {n} rows of {dim}, got {left}"))
            );
        }
        let failed = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
        let opened = self.zip.by_index(index).map_err(|error| failed(&error));
        let placed = opened.and_then(|file| {
            if let Some(at) = stored_at {
                // The archive reader verifies the checksum.
                return io::copy(&mut Cancellable(file), &mut io::sink())
                    .map(|_| (self.path.to_path_buf(), at))
                    .map_err(|error| failed(&error));
            }
            let temp_file = TempFile::from_reader(file.take(size), self.path).map_err(|error| failed(&error))?;
            let path = temp_file.path().clone();
            temp_files.push(temp_file);
            Ok((path, 0))
        });
        let (path, at) = placed.map_err(|message| self.error(array, message))?;
        let at = at + start;
        let there = reading.open(&path)?.len();
        if u128::from(at) + bytes > u128::from(there) {
            return Err(
                self.error(array, format!("is truncated: expected {bytes} bytes, got {}", there.saturating_sub(at)))
            );
        }
        Ok(LocatedArray { path, at, header })
    }
}

impl LocatedArray {
    /// Returns its rows: as one column, or as several if the array stores columns one after the other.
    pub(super) fn columns(&self) -> Vec<Column<'_>> {
        self.header.columns(&self.path, self.at, &[])
    }
}

/// Returns the columns of several arrays, side by side.
pub(super) fn columns(arrays: &[LocatedArray]) -> Vec<Column<'_>> {
    arrays.iter().flat_map(LocatedArray::columns).collect()
}

/// Reads the values of an array.
pub(super) fn values<T: Target>(archive: &mut Archive<'_>, array: usize, reading: &Reading<'_>) -> Result<Vec<T>> {
    let mut temp_files = vec![];
    let placed = archive.place(array, reading, &mut temp_files)?;
    let renamed =
        |error: Error| temp_files.iter().fold(error, |error, temp_file| error.renamed(temp_file.path(), archive.path));
    let values = whole(reading, &placed.columns()).map_err(renamed)?;
    temp_files.iter().for_each(|temp_file| reading.forget(temp_file.path()));
    Ok(values)
}
