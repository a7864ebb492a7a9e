//! An HDF5 file: its groups, their attributes, and its datasets.
//!
//! In: a path. Out: [`Attributes`], groups and datasets. Cost: metadata are read, data are not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::group::Group;
use hdf5_reader::io::Cursor;
use hdf5_reader::{Dataset, FileStorage, Hdf5File, OpenOptions};

use ropewalk::{Error, Result};

use crate::hdf5::attributes::Attributes;
use crate::hdf5::links::{dead_link, hard_links, soft_links};
use crate::reading::Reading;

/// Limits above the sizes that any writer uses.
const HEADER_BYTES: usize = 1 << 24;
const CHUNK_BYTES: usize = 1 << 30;

/// An open file.
pub(super) struct File {
    pub path: PathBuf,
    /// The length of the file in bytes.
    pub len: u64,
    pub hdf5: Hdf5File,
}

impl File {
    pub(super) fn open(path: &Path, reading: &Reading<'_>) -> Result<Self> {
        let len = reading.open(path)?.len();
        let broken = |error: Hdf5Error| match error {
            Hdf5Error::Io(error) => Error::io(path, "cannot be read", error),
            error => Error::file(path, format!("is not a valid HDF5 file: {error}")),
        };
        // The file is not memory-mapped, since truncating a mapped file would crash the program.
        let storage = Arc::new(FileStorage::open(path).map_err(broken)?);
        let options = OpenOptions::default()
            .with_max_object_header_bytes(HEADER_BYTES.min(usize::try_from(len).unwrap_or(usize::MAX)))
            .with_max_chunk_bytes(CHUNK_BYTES);
        let hdf5 = Hdf5File::from_storage_with_options(storage, options).map_err(broken)?;
        let superblock = hdf5.superblock();
        let end = superblock.eof_address;
        if end > len && !Cursor::is_undefined_offset(end, superblock.offset_size) {
            return Err(Error::file(path, format!("truncated: expected {end} bytes, got {len}")));
        }
        Ok(Self { path: path.to_path_buf(), len, hdf5 })
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::file(&self.path, message)
    }

    fn broken(&self, name: &str, error: &Hdf5Error) -> Error {
        self.error(format!("{name} is damaged: {error}"))
    }

    /// Returns the group, if it exists.
    ///
    /// Errors: a link with this name that cannot be followed.
    pub(super) fn group(&self, name: &str) -> Result<Option<Group>> {
        let mut group = self.hdf5.root_group().map_err(|error| self.broken("its root group", &error))?;
        for part in name.split('/').filter(|part| !part.is_empty()) {
            group = match group.group(part) {
                Ok(group) => group,
                // A dataset with this name is not a broken link.
                Err(error) if is_absent(&error) && group.dataset(part).is_ok() => return Ok(None),
                Err(error) if is_absent(&error) => return self.absent(&group, part, name).map(|()| None),
                Err(error) => return Err(self.broken(name, &error)),
            };
        }
        Ok(Some(group))
    }

    /// Returns an error if `name`, which was not found in a group, is a link that cannot be followed.
    fn absent(&self, group: &Group, name: &str, whole: &str) -> Result<()> {
        match dead_link(&self.hdf5, group, name).map_err(|error| self.broken(whole, &error))? {
            Some(what) => Err(self.error(format!("{whole} {what}"))),
            None => Ok(()),
        }
    }

    /// Returns the attributes of a group; none if it does not exist.
    pub(super) fn attributes(&self, group: &str) -> Result<Attributes> {
        let Some(found) = self.group(group)? else { return Ok(Attributes::default()) };
        let broken = |error: Hdf5Error| self.broken(group, &error);
        let all = found.attributes().map_err(broken)?;
        Ok(Attributes::new(&self.path, group, &all, &found.raw_attributes().map_err(broken)?))
    }

    /// Returns the attributes of a dataset. Error messages name it `name`.
    pub(super) fn dataset_attributes(&self, name: &str, dataset: &Dataset) -> Result<Attributes> {
        let raw = dataset.raw_attributes().map_err(|error| self.broken(name, &error))?;
        Ok(Attributes::new(&self.path, name, &dataset.attributes(), &raw))
    }

    /// Returns the names of the groups in the root group.
    pub(super) fn groups(&self) -> Result<Vec<String>> {
        let root = self.hdf5.root_group().map_err(|error| self.broken("its root group", &error))?;
        Ok(self.members("its root group", &root)?.0)
    }

    /// Returns the names of the groups and of the datasets in a group. Error messages name it `name`.
    pub(super) fn members(&self, name: &str, group: &Group) -> Result<(Vec<String>, Vec<String>)> {
        let broken = |error: Hdf5Error| self.broken(name, &error);
        match group.member_names() {
            // A single virtual dataset prevents the crate from listing the others.
            Err(error) if is_virtual(&error) => {
                let names = hard_links(&self.hdf5, group).map_err(broken)?;
                Ok(names.into_iter().partition(|name| group.group(name).is_ok()))
            }
            members => members.map_err(broken),
        }
    }

    /// Returns the names of the datasets of a group, sorted.
    pub(super) fn datasets(&self, group: &str) -> Result<Vec<String>> {
        let Some(found) = self.group(group)? else { return Ok(vec![]) };
        let (_, mut names) = self.members(group, &found)?;
        names.sort();
        Ok(names)
    }

    /// Describes the links of a group that cannot be followed.
    pub(super) fn dead_links(&self, group: &str) -> Result<Vec<String>> {
        let Some(found) = self.group(group)? else { return Ok(vec![]) };
        let broken = |error: Hdf5Error| self.broken(group, &error);
        let is_dead =
            |name: &str| found.dataset(name).is_err_and(|error| is_absent(&error)) && found.group(name).is_err();
        let links = soft_links(&self.hdf5, &found).map_err(broken)?;
        let dead = links.into_iter().filter(|(name, _)| is_dead(name));
        Ok(dead.map(|(name, what)| format!("{group}/{name} {what}")).collect())
    }

    /// Returns a dataset, if it exists.
    pub(super) fn dataset(&self, group: &str, name: &str) -> Result<Option<Dataset>> {
        let Some(found) = self.group(group)? else { return Ok(None) };
        match found.dataset(name) {
            Ok(dataset) => Ok(Some(dataset)),
            Err(error) if is_absent(&error) => self.absent(&found, name, &format!("{group}/{name}")).map(|()| None),
            Err(error) if is_virtual(&error) => Err(self.error(format!(
                "{group}/{name} is a virtual dataset, whose values are in other files; read those files instead"
            ))),
            Err(error) => Err(self.broken(&format!("{group}/{name}"), &error)),
        }
    }

    /// Returns `true` if a dataset is a view of other files.
    pub(super) fn is_virtual(&self, group: &str, name: &str) -> Result<bool> {
        let Some(found) = self.group(group)? else { return Ok(false) };
        Ok(found.dataset(name).is_err_and(|error| is_virtual(&error)))
    }
}

/// Returns the underlying error, without the context of the path.
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

/// Layout class 3 is the virtual layout.
fn is_virtual(error: &Hdf5Error) -> bool {
    matches!(cause(error), Hdf5Error::UnsupportedLayoutClass(3))
}
