//! Datasets: the type, shape and location of their numbers.
//!
//! In: the header of a dataset. Out: a [`Column`], whose bytes are known to be in the file. Cost: reading the index
//! of its chunks, but not their bytes.

use std::path::PathBuf;

use hdf5_reader::Dataset;
use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::layout::DataLayout;

use ropewalk::{Error, Result};

use crate::hdf5::attributes::Attributes;
use crate::hdf5::chunks::{Chunks, Grid};
use crate::hdf5::file::File;
use crate::hdf5::object_header;
use crate::hdf5::shape::Shape;

/// A dataset of numbers in rows.
pub(super) struct Column {
    pub path: PathBuf,
    pub name: String,
    pub shape: Shape,
    pub attributes: Attributes,
    pub(super) storage: Storage,
}

/// The storage of the numbers.
pub(super) enum Storage {
    /// Contiguous, from a byte offset on.
    Contiguous {
        at: u64,
    },
    /// In the header of the dataset.
    Compact(Vec<u8>),
    Chunked(Chunks),
}

impl File {
    /// Returns the column of a dataset, without reading its numbers; `None` if the dataset does not exist.
    pub(super) fn column(&self, group: &str, name: &str) -> Result<Option<Column>> {
        match self.dataset(group, name)? {
            Some(dataset) => Column::new(self, &format!("{group}/{name}"), &dataset).map(Some),
            None => Ok(None),
        }
    }
}

impl Column {
    pub(super) fn new(file: &File, name: &str, dataset: &Dataset) -> Result<Self> {
        let shape = Shape::of(dataset).map_err(|what| file.error(format!("{name} {what}")))?;
        Self::with_shape(file, name, dataset, shape)
    }

    /// Returns the column of a dataset that is read with the given shape.
    pub(super) fn with_shape(file: &File, name: &str, dataset: &Dataset, shape: Shape) -> Result<Self> {
        let error = |what: &str| file.error(format!("{name} {what}"));
        let broken = |cause: Hdf5Error| error(&format!("is damaged: {cause}"));
        let row = (shape.number.size as u64).checked_mul(shape.width);
        let bytes = row.and_then(|row| row.checked_mul(shape.rows));
        let bytes = bytes.ok_or_else(|| error("has a size above 2^64 bytes"))?;

        let header = file.hdf5.get_or_parse_header(dataset.address()).map_err(broken)?;
        let (mut layout, mut filters) = (None, vec![]);
        for message in &header.messages {
            match message {
                HdfMessage::DataLayout(message) => layout = Some(&message.layout),
                HdfMessage::FilterPipeline(message) => filters.clone_from(&message.filters),
                HdfMessage::ExternalFiles(_) => {
                    return Err(error("has its values in external files, which is not supported"));
                }
                _ => {}
            }
        }
        let unwritten = || error("has no data");
        let base = file.hdf5.superblock().base_address;
        let storage = match layout {
            None => return Err(error("has no layout")),
            _ if bytes == 0 => Storage::Compact(vec![]),
            Some(DataLayout::Compact { data }) if data.len() as u64 >= bytes => Storage::Compact(data.clone()),
            Some(DataLayout::Compact { data }) => {
                return Err(error(&format!("must have {bytes} bytes, got {}", data.len())));
            }
            Some(DataLayout::Contiguous { address, size }) => {
                if Cursor::is_undefined_offset(*address, file.hdf5.superblock().offset_size) {
                    return Err(unwritten());
                }
                let at = base.checked_add(*address);
                let end = at.and_then(|at| at.checked_add(bytes)).filter(|&end| end <= file.len && *size >= bytes);
                let (Some(at), Some(_)) = (at, end) else {
                    let (n, len) = (shape.rows, file.len);
                    return Err(error(&format!(
                        "truncated: expected {bytes} bytes for {n} rows from byte {address} on, got {size} in a file of {len} bytes"
                    )));
                };
                Storage::Contiguous { at }
            }
            Some(DataLayout::Chunked { address, dims, chunk_indexing, .. }) => {
                if Cursor::is_undefined_offset(*address, file.hdf5.superblock().offset_size) {
                    return Err(unwritten());
                }
                let grid = Grid::new(dataset, &shape, dims, *address, chunk_indexing.as_ref());
                let mut grid = grid.map_err(|what| error(&what))?;
                // Only indices of the newer layouts have this flag.
                if chunk_indexing.is_some() && !filters.is_empty() {
                    grid.has_plain_edges = object_header::has_plain_edges(&file.hdf5, dataset.address())
                        .map_err(|what| error(&format!("is damaged: {what}")))?;
                }
                Storage::Chunked(Chunks::find(file, &grid, filters).map_err(|what| error(&what))?)
            }
        };
        let attributes = file.dataset_attributes(name, dataset)?;
        Ok(Self { path: file.path.clone(), name: name.into(), shape, attributes, storage })
    }

    pub(super) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::file(&self.path, format!("{} {what}", self.name))
    }
}
