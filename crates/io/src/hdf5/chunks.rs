//! The chunks of a dataset: a grid of blocks of rows and columns, and the location of each block.
//!
//! In: the address of a chunk index. Out: the location of each chunk, in the order of the grid; none is missing.
//! Cost: the index is read once; it has some 40 bytes per chunk. Source: HDF5 File Format Specification 3.0, sections
//! III.A.1 (version 1 B-trees) and VII.C (the other indices, which `hdf5_reader` traverses).
//!
//! Implicit indices and fixed arrays number the chunks of the maximum shape, which may be wider than the shape of the
//! dataset.

use hdf5_reader::Dataset;
use hdf5_reader::btree_v1::{BTreeV1Key, BTreeV1Node};
use hdf5_reader::chunk_index::{ChunkEntry, collect_implicit_chunk_entries, collect_v2_chunk_entries_storage};
use hdf5_reader::extensible_array::collect_extensible_array_chunk_entries_storage;
use hdf5_reader::fixed_array::collect_fixed_array_chunk_entries_storage;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use hdf5_reader::messages::layout::ChunkIndexing;

use crate::hdf5::file::File;
use crate::hdf5::shape::Shape;

/// Filter ids registered by the HDF Group.
pub(super) const DEFLATE: u16 = 1;
pub(super) const SHUFFLE: u16 = 2;
pub(super) const FLETCHER32: u16 = 3;
pub(super) const LZF: u16 = 32000;
const READ: [u16; 7] = [DEFLATE, SHUFFLE, FLETCHER32, 4, 5, 6, LZF];
/// The maximum extent of an unlimited dimension.
const UNLIMITED: u64 = u64::MAX;
/// The maximum number of decoded bytes per byte of deflate, as stated by zlib.
const DEFLATE_RATIO: u64 = 1032;
/// The maximum decoded size of a chunk that exceeds this ratio. For example, a scale-offset chunk of equal values
/// takes no bytes.
const FREE: u64 = 1 << 26;

/// The grid of chunks of a dataset.
pub(super) struct Grid<'a> {
    shape: &'a [u64],
    max_shape: Option<&'a [u64]>,
    dims: &'a [u32],
    number_size: usize,
    address: u64,
    indexing: Option<&'a ChunkIndexing>,
    /// If `true`, filters are not applied to chunks that extend beyond the shape of the dataset.
    pub has_plain_edges: bool,
    /// Rows of a chunk, and numbers in a row of a chunk.
    rows: u64,
    width: u64,
    /// Elements in a row of a chunk.
    elements: u64,
    /// The number of chunks along the columns.
    across: u64,
    /// The total number of chunks.
    count: u64,
    /// Decoded bytes of a chunk.
    bytes: u64,
}

/// The location of a chunk's bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkLocation {
    pub at: u64,
    pub bytes: u64,
    /// A bit mask of the filters that were not applied.
    pub mask: u32,
}

/// All chunks of a dataset, ordered by rows and then by columns.
pub(super) struct Chunks {
    /// Rows per chunk. The last chunks may extend beyond the dataset.
    pub rows: u64,
    /// Numbers per row of a chunk.
    pub width: usize,
    /// The number of chunks along the columns.
    pub across: usize,
    /// Decoded bytes of a chunk.
    pub bytes: usize,
    /// The filters, in the order in which they were applied.
    pub filters: Vec<FilterDescription>,
    pub places: Vec<ChunkLocation>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(
        dataset: &'a Dataset,
        shape: &Shape,
        dims: &'a [u32],
        address: u64,
        indexing: Option<&'a ChunkIndexing>,
    ) -> Result<Self, String> {
        let extent = dataset.shape();
        // Newer layouts list the bytes of a number as an additional dimension.
        let dims = dims.get(..extent.len()).ok_or("has chunks of fewer dimensions than itself")?;
        let (rows, width) = (dims.first().copied().unwrap_or(0), dims.get(1).copied().unwrap_or(1));
        if rows == 0 || width == 0 {
            return Err("has chunks without rows or columns".into());
        }
        let (rows, elements) = (u64::from(rows), u64::from(width));
        let width = elements.checked_mul(shape.unit).ok_or("has rows of more numbers than HDF5 allows (2^64)")?;
        let across = shape.width.div_ceil(width);
        let count = shape.rows.div_ceil(rows).checked_mul(across);
        let bytes = rows.checked_mul(width).and_then(|n| n.checked_mul(shape.number.size as u64));
        let (Some(count), Some(bytes)) = (count, bytes.filter(|&bytes| bytes <= u64::from(u32::MAX))) else {
            return Err(format!("has chunks of {rows} rows and {width} columns, which is more than HDF5 allows"));
        };
        let (max_shape, number_size) = (dataset.max_dims(), shape.element());
        let (shape, has_plain_edges) = (extent, false);
        Ok(Self {
            shape,
            max_shape,
            dims,
            number_size,
            address,
            indexing,
            has_plain_edges,
            rows,
            width,
            elements,
            across,
            count,
            bytes,
        })
    }

    /// Returns `true` if the chunk at these offsets reaches beyond the shape of the dataset.
    fn is_edge(&self, offsets: &[u64]) -> bool {
        let ends = offsets.iter().zip(self.dims).map(|(&offset, &dim)| offset.saturating_add(u64::from(dim)));
        ends.zip(self.shape).any(|(end, &extent)| end > extent)
    }

    /// Returns the shape that determines the numbering of chunks in implicit indices and fixed arrays.
    fn numbered_shape(&self) -> &'a [u64] {
        self.max_shape.filter(|max| !max.contains(&UNLIMITED)).unwrap_or(self.shape)
    }

    /// Returns the indices of the first and the last chunk with data, along each dimension.
    fn bounds(&self) -> (Vec<u64>, Vec<u64>) {
        let last = self.shape.iter().zip(self.dims).map(|(&extent, &dim)| (extent.max(1) - 1) / u64::from(dim.max(1)));
        (vec![0; self.shape.len()], last.collect())
    }
}

impl Chunks {
    /// Locates all chunks of a grid, and checks that they are inside the file.
    pub(super) fn find(file: &File, grid: &Grid<'_>, filters: Vec<FilterDescription>) -> Result<Self, String> {
        check_filters(&filters)?;
        // Every chunk takes at least one byte, of data or of the index.
        if grid.count > file.len {
            return Err(format!("declares {} chunks in a file of {} bytes", grid.count, file.len));
        }
        let entries = entries(file, grid).map_err(|cause| format!("has a damaged index of chunks: {cause}"))?;
        if (entries.len() as u64) < grid.count {
            let missing = grid.count - entries.len() as u64;
            return Err(format!("has {} chunks, of which {missing} were never written", grid.count));
        }
        let base = file.hdf5.superblock().base_address;
        let mut places = vec![ChunkLocation::default(); grid.count as usize];
        let (mut found, mut stored) = (0, 0u64);
        for entry in entries {
            let (row, column) = match *entry.offsets {
                [row, ref rest @ ..] => (row / grid.rows, rest.first().map_or(0, |&column| column / grid.elements)),
                [] => continue,
            };
            let at = row.checked_mul(grid.across).and_then(|at| at.checked_add(column));
            // A dataset that shrank may retain chunks of its former size.
            let inside = at.filter(|&at| column < grid.across && at < grid.count);
            let Some(place) = inside.and_then(|at| places.get_mut(at as usize)) else { continue };
            let is_plain = filters.is_empty() || (grid.has_plain_edges && grid.is_edge(&entry.offsets));
            let bytes = if is_plain || entry.size == 0 { grid.bytes } else { entry.size };
            let at =
                base.checked_add(entry.address).filter(|at| at.checked_add(bytes).is_some_and(|end| end <= file.len));
            let Some(at) = at else {
                let (at, len) = (entry.address, file.len);
                return Err(format!(
                    "truncated: expected a chunk of {bytes} bytes at byte {at}, but the file has {len} bytes"
                ));
            };
            let most = if bytes.saturating_mul(DEFLATE_RATIO) < grid.bytes { FREE } else { u64::MAX };
            if grid.bytes > most || place.bytes != 0 {
                return Err(format!(
                    "has a chunk of {bytes} bytes at byte {at}, which cannot decompress to {} bytes",
                    grid.bytes
                ));
            }
            *place = ChunkLocation { at, bytes, mask: if is_plain { u32::MAX } else { entry.filter_mask } };
            found += 1;
            stored = stored.saturating_add(bytes);
        }
        if found < grid.count {
            return Err(format!("has {} chunks, of which {} were never written", grid.count, grid.count - found));
        }
        if stored > file.len {
            return Err(format!("has chunks of {stored} bytes in total in a file of {}", file.len));
        }
        let (rows, width, across) = (grid.rows, grid.width as usize, grid.across as usize);
        Ok(Self { rows, width, across, bytes: grid.bytes as usize, filters, places })
    }
}

/// Returns an error that names the first filter which is not supported.
fn check_filters(filters: &[FilterDescription]) -> Result<(), String> {
    for (k, filter) in filters.iter().enumerate() {
        if !READ.contains(&filter.id) {
            let name = match (filter.id, &filter.name) {
                (32001, _) => "Blosc",
                (32004, _) => "LZ4",
                (32013, _) => "ZFP",
                (32015, _) => "Zstandard",
                (32026, _) => "Blosc2",
                (_, Some(name)) => name,
                (_, None) => "one without a name",
            };
            return Err(format!(
                "is compressed with filter {} ({name}); gzip, szip, LZF, shuffle, n-bit, scale-offset and Fletcher32 are \
                 supported; rewrite it with h5repack -f GZIP=4",
                filter.id
            ));
        }
        if filters[..k].iter().any(|other| other.id == filter.id) {
            return Err(format!("has filter {} twice", filter.id));
        }
    }
    Ok(())
}

/// Returns the chunks in the index, in any order.
fn entries(file: &File, grid: &Grid<'_>) -> Result<Vec<ChunkEntry>, String> {
    let (storage, superblock) = (file.hdf5.storage(), file.hdf5.superblock());
    let (offsets, lengths) = (superblock.offset_size, superblock.length_size);
    let (at, shape, dims) = (grid.address, grid.shape, grid.dims);
    let (first, last) = grid.bounds();
    let bounds = Some((&first[..], &last[..]));
    let found = match grid.indexing {
        None => return from_tree(file, grid),
        Some(ChunkIndexing::SingleChunk { filtered_size, filters }) => {
            let entry =
                ChunkEntry { address: at, size: *filtered_size, filter_mask: *filters, offsets: vec![0; dims.len()] };
            Ok(vec![entry])
        }
        Some(ChunkIndexing::Implicit) => {
            collect_implicit_chunk_entries(at, grid.numbered_shape(), dims, grid.number_size, bounds, storage.len())
        }
        Some(ChunkIndexing::FixedArray { .. }) => {
            let shape = grid.numbered_shape();
            collect_fixed_array_chunk_entries_storage(storage, at, offsets, lengths, shape, dims, bounds)
        }
        Some(ChunkIndexing::ExtensibleArray { .. }) => {
            let max = grid.max_shape;
            collect_extensible_array_chunk_entries_storage(storage, at, offsets, lengths, shape, max, dims, None)
        }
        Some(ChunkIndexing::BTreeV2) => {
            let n = dims.len() as u32;
            collect_v2_chunk_entries_storage(storage, at, offsets, lengths, n, dims, None)
        }
    };
    found.map_err(|error| error.to_string())
}

/// Returns the chunks of a version 1 B-tree. Cycles are detected, since the nodes that are read may not exceed the
/// size of the file.
fn from_tree(file: &File, grid: &Grid<'_>) -> Result<Vec<ChunkEntry>, String> {
    let (storage, superblock) = (file.hdf5.storage(), file.hdf5.superblock());
    let (offsets, lengths, n) = (superblock.offset_size, superblock.length_size, grid.dims.len());
    let cause = |error: hdf5_reader::error::Error| error.to_string();
    let head = 8 + 2 * usize::from(offsets);
    let key = 8 + 8 * (n + 1);
    let (mut found, mut read) = (vec![], 0u64);
    let mut stack = vec![(grid.address, None)];
    while let Some((address, level)) = stack.pop() {
        let start = storage.read_range(address, head).map_err(cause)?;
        let children = match start.as_ref() {
            [b'T', b'R', b'E', b'E', 1, _, low, high, ..] => usize::from(u16::from_le_bytes([*low, *high])),
            _ => return Err(format!("byte {address} is not a node of the chunk index")),
        };
        let bytes = head + children * (key + usize::from(offsets)) + key;
        read += bytes as u64;
        if read > storage.len() {
            return Err("its nodes are larger than the file".into());
        }
        let node = storage.read_range(address, bytes).map_err(cause)?;
        let node =
            BTreeV1Node::parse(&mut Cursor::new(node.as_ref()), offsets, lengths, Some(n as u32)).map_err(cause)?;
        if level.is_some_and(|level: u8| level.checked_sub(1) != Some(node.level)) {
            return Err(format!("the node at byte {address} is of the wrong level"));
        }
        for (key, child) in node.keys.into_iter().zip(node.children) {
            match key {
                BTreeV1Key::RawData { chunk_size, filter_mask, offsets } if node.level == 0 => {
                    found.push(ChunkEntry { address: child, size: u64::from(chunk_size), filter_mask, offsets });
                }
                _ => stack.push((child, Some(node.level))),
            }
        }
    }
    Ok(found)
}
