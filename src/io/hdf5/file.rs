//! An HDF5 file: its groups, what they say, and its datasets.
//!
//! In: a path. Out: [`Attributes`] and [`Column`]s. Cost: what describes the data is read, the data are not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::group::Group;
use hdf5_reader::io::Cursor;
use hdf5_reader::{Attribute, Dataset, Datatype, FileStorage, Hdf5File, OpenOptions};

use crate::io::hdf5::dataset::Column;
use crate::io::reading::Reading;
use crate::io::{Error, Result};

/// More than any writer's.
const HEADER_BYTES: usize = 1 << 24;
const CHUNK_BYTES: usize = 1 << 30;

/// An open file.
pub(super) struct File {
    pub path: PathBuf,
    /// Its length.
    pub len: u64,
    pub hdf5: Hdf5File,
}

impl File {
    pub(super) fn open(path: &Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let broken = |error: Hdf5Error| match error {
            Hdf5Error::Io(error) => Error::io(path, "cannot be read", error),
            error => Error::file(path, format!("is not a whole HDF5 file: {error}")),
        };
        // Never mapped: a file that is cut while it is mapped would end the program.
        let storage = Arc::new(FileStorage::open(path).map_err(broken)?);
        let options = OpenOptions::default()
            .with_max_object_header_bytes(HEADER_BYTES.min(usize::try_from(len).unwrap_or(usize::MAX)))
            .with_max_chunk_bytes(CHUNK_BYTES);
        let hdf5 = Hdf5File::from_storage_with_options(storage, options).map_err(broken)?;
        let superblock = hdf5.superblock();
        let end = superblock.eof_address;
        if end > len && !Cursor::is_undefined_offset(end, superblock.offset_size) {
            return Err(Error::file(path, format!("truncated: it promises {end} bytes, {len} are there")));
        }
        Ok(Self { path: path.to_path_buf(), len, hdf5 })
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::file(&self.path, message)
    }

    fn broken(&self, name: &str, error: &Hdf5Error) -> Error {
        self.error(format!("{name} is damaged: {error}"))
    }

    /// The group, if there is one.
    pub(super) fn group(&self, name: &str) -> Result<Option<Group>> {
        match self.hdf5.group(name) {
            Ok(group) => Ok(Some(group)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(self.broken(name, &error)),
        }
    }

    /// What a group says of itself; nothing if there is none.
    pub(super) fn attributes(&self, group: &str) -> Result<Attributes> {
        let Some(found) = self.group(group)? else { return Ok(Attributes::default()) };
        let all = found.attributes().map_err(|error| self.broken(group, &error))?;
        Ok(Attributes::new(&all))
    }

    /// The names of the datasets of a group, sorted.
    pub(super) fn datasets(&self, group: &str) -> Result<Vec<String>> {
        let Some(found) = self.group(group)? else { return Ok(vec![]) };
        let (_, mut names) = found.member_names().map_err(|error| self.broken(group, &error))?;
        names.sort();
        Ok(names)
    }

    /// A dataset, if it is there.
    pub(super) fn dataset(&self, group: &str, name: &str) -> Result<Option<Dataset>> {
        let Some(found) = self.group(group)? else { return Ok(None) };
        match found.dataset(name) {
            Ok(dataset) => Ok(Some(dataset)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) if is_virtual(&error) => Err(self.error(format!(
                "{group}/{name} is a virtual dataset, whose numbers are in other files: pass those, which hold the parts"
            ))),
            Err(error) => Err(self.broken(&format!("{group}/{name}"), &error)),
        }
    }

    /// Whether a dataset is a view of other files.
    pub(super) fn is_virtual(&self, group: &str, name: &str) -> Result<bool> {
        let Some(found) = self.group(group)? else { return Ok(false) };
        Ok(found.dataset(name).is_err_and(|error| is_virtual(&error)))
    }

    /// The numbers of a dataset, not read yet; `None` if it is not there.
    pub(super) fn column(&self, group: &str, name: &str) -> Result<Option<Column>> {
        match self.dataset(group, name)? {
            Some(dataset) => Column::of(self, &format!("{group}/{name}"), &dataset).map(Some),
            None => Ok(None),
        }
    }
}

/// The error behind the path at which it came.
fn cause(error: &Hdf5Error) -> &Hdf5Error {
    let mut error = error;
    while let Hdf5Error::Context { source, .. } = error {
        error = source;
    }
    error
}

fn is_absent(error: &Hdf5Error) -> bool {
    matches!(cause(error), Hdf5Error::GroupNotFound(_) | Hdf5Error::DatasetNotFound(_))
}

/// Layout class 3 is the virtual one.
fn is_virtual(error: &Hdf5Error) -> bool {
    matches!(cause(error), Hdf5Error::UnsupportedLayoutClass(3))
}

/// What a group or a dataset says of itself: numbers and texts by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes(BTreeMap<String, Value>);

#[derive(Clone, Debug)]
enum Value {
    Numbers(Vec<f64>),
    Text(String),
}

impl Attributes {
    pub(super) fn new(all: &[Attribute]) -> Self {
        Self(all.iter().filter_map(|one| Some((one.name.clone(), value(one)?))).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.0.get(name)? {
            Value::Numbers(numbers) => Some(numbers),
            Value::Text(_) => None,
        }
    }

    /// The first number; SWIFT has arrays of one.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.numbers(name)?.first().copied()
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Value::Text(text) => Some(text),
            Value::Numbers(_) => None,
        }
    }
}

/// Numbers or a text; `None` for what is neither.
fn value(attribute: &Attribute) -> Option<Value> {
    let number: fn(u64, usize) -> f64 = match attribute.datatype {
        Datatype::FixedPoint { signed: false, size: 1 | 2 | 4 | 8, .. } => |word, _| word as f64,
        Datatype::FixedPoint { signed: true, size: 1 | 2 | 4 | 8, .. } => |word, size| {
            let shift = 64 - 8 * size as u32;
            ((word << shift) as i64 >> shift) as f64
        },
        Datatype::FloatingPoint { size: 4, .. } => |word, _| f64::from(f32::from_bits(word as u32)),
        Datatype::FloatingPoint { size: 8, .. } => |word, _| f64::from_bits(word),
        _ => return Some(Value::Text(attribute.read_string().ok()?.trim_end().to_string())),
    };
    let (Datatype::FixedPoint { size, byte_order, .. } | Datatype::FloatingPoint { size, byte_order }) =
        attribute.datatype
    else {
        return None;
    };
    let n = usize::try_from(attribute.num_elements().ok()?).ok()?;
    let words = attribute.raw_data.chunks_exact(usize::from(size)).take(n).map(|bytes| {
        let fold = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
        let word = match byte_order {
            hdf5_reader::ByteOrder::BigEndian => bytes.iter().fold(0, fold),
            hdf5_reader::ByteOrder::LittleEndian => bytes.iter().rev().fold(0, fold),
        };
        number(word, usize::from(size))
    });
    Some(Value::Numbers(words.collect()))
}
