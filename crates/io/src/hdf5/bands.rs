//! Rows of a column: read in place, and decoded chunk by chunk.
//!
//! In: a [`Column`] and the conversion of its numbers. Out: [`RowSource`], which `fill` reads in parallel. Cost: for each
//! thread, the stored and the decoded bytes of a chunk.

use std::sync::{Mutex, PoisonError};

use flate2::{Decompress, FlushDecompress, Status};
use hdf5_reader::FilterRegistry;
use hdf5_reader::messages::filter_pipeline::FilterDescription;

use ropewalk::Result;

use crate::hdf5::chunks::{ChunkLocation, Chunks, DEFLATE, FLETCHER32, LZF, SHUFFLE};
use crate::hdf5::dataset::{Column, Storage};
use crate::hdf5::number::Converter;
use crate::lzf;
use crate::read_columns::RowSource;
use crate::reading::Reading;
use crate::source::Source;

/// Bytes of a band, for rows that can be read in any grouping.
const BAND: u64 = 1 << 20;
/// Bytes read at a time of contiguous data, few enough to stay in the cache until they are converted.
const PIECE: usize = 1 << 18;

/// The rows of a column, with numbers converted by `take`.
pub(super) struct Band<'a, T> {
    reading: &'a Reading<'a>,
    column: &'a Column,
    take: Converter<T>,
    registry: FilterRegistry,
    /// Buffers released by threads, for reuse.
    free: Mutex<Vec<Buffers>>,
}

/// The buffers in which a chunk is decoded.
#[derive(Default)]
struct Buffers {
    now: Vec<u8>,
    next: Vec<u8>,
    /// Rows assembled from several chunks that are adjacent along the columns.
    rows: Vec<u8>,
}

impl<'a, T> Band<'a, T> {
    pub(super) fn new(reading: &'a Reading<'a>, column: &'a Column, take: Converter<T>) -> Self {
        Self { reading, column, take, registry: FilterRegistry::new(), free: Mutex::default() }
    }

    /// Returns the bytes per row.
    fn row(&self) -> usize {
        self.column.shape.width as usize * self.column.shape.number.size
    }

    fn read_plain(&self, source: &mut Source, out: &mut [T]) -> Result<()> {
        let size = self.column.shape.number.size;
        let mut buffer = vec![0; (out.len() * size).min(PIECE)];
        for part in out.chunks_mut(PIECE / size) {
            let Some(bytes) = buffer.get_mut(..part.len() * size) else { break };
            source.fill(bytes)?;
            (self.take)(bytes, part);
        }
        Ok(())
    }

    /// Reads rows of whole chunks.
    fn read_chunks(&self, chunks: &Chunks, first: u64, out: &mut [T], buffers: &mut Buffers) -> Result<()> {
        let (size, width) = (self.column.shape.number.size, self.column.shape.width as usize);
        let mut source = self.reading.open(&self.column.path)?;
        let rows = chunks.rows as usize;
        let start = (first / chunks.rows) as usize * chunks.across;
        let places = chunks.places.get(start..).unwrap_or_default().chunks(chunks.across);
        for (part, places) in out.chunks_mut(rows * width).zip(places) {
            if let ([place], true) = (places, chunks.width == width) {
                self.decode(&mut source, chunks, *place, buffers)?;
                (self.take)(&buffers.now, part);
                continue;
            }
            let (row, own) = (width * size, chunks.width * size);
            buffers.rows.resize(part.len() * size, 0);
            for (k, place) in places.iter().enumerate() {
                self.decode(&mut source, chunks, *place, buffers)?;
                let columns = k * own..((k + 1) * own).min(row);
                for (into, from) in buffers.rows.chunks_exact_mut(row).zip(buffers.now.chunks_exact(own)) {
                    let into = &mut into[columns.clone()];
                    into.copy_from_slice(&from[..into.len()]);
                }
            }
            (self.take)(&buffers.rows, part);
        }
        Ok(())
    }

    /// Decodes a chunk into `buffers.now`.
    fn decode(&self, source: &mut Source, chunks: &Chunks, place: ChunkLocation, buffers: &mut Buffers) -> Result<()> {
        source.seek(place.at)?;
        buffers.now.resize(place.bytes as usize, 0);
        source.fill(&mut buffers.now)?;
        for (k, filter) in chunks.filters.iter().enumerate().rev() {
            if k < 32 && place.mask & (1 << k) != 0 {
                continue;
            }
            // If the filters still to be undone preserve the length, the result has the length of the chunk.
            let keeps = chunks.filters[..k].iter().all(|earlier| earlier.id == SHUFFLE);
            let whole = keeps.then_some(chunks.bytes);
            self.undo(filter, chunks, whole, buffers)
                .map_err(|cause| self.column.error(format!("has a damaged chunk at byte {}: {cause}", place.at)))?;
        }
        if buffers.now.len() != chunks.bytes {
            let (found, expected) = (buffers.now.len(), chunks.bytes);
            return Err(self
                .column
                .error(format!("has a damaged chunk at byte {}: expected {expected} bytes, got {found}", place.at)));
        }
        Ok(())
    }

    /// Undoes a filter. Its result has `whole` bytes, if that is known.
    fn undo(
        &self,
        filter: &FilterDescription,
        chunks: &Chunks,
        whole: Option<usize>,
        buffers: &mut Buffers,
    ) -> std::result::Result<(), String> {
        let Buffers { now, next, .. } = buffers;
        let size = self.column.shape.element();
        match (filter.id, whole) {
            (DEFLATE, Some(whole)) => inflate(now, next, whole)?,
            (LZF, whole) => lzf::decode(now, next, whole.unwrap_or(2 * chunks.bytes + 1024))?,
            (SHUFFLE, _) => match filter.client_data.first() {
                Some(&other) if other as usize != size => return Err(format!("shuffled as numbers of {other} bytes")),
                _ => unshuffle(now, next, size),
            },
            (FLETCHER32, _) => {
                // If the checksum is correct, the crate returns a copy of the bytes without it.
                *next = self.registry.apply(filter, now, size).map_err(|error| error.to_string())?;
            }
            _ => {
                let most = whole.unwrap_or(2 * chunks.bytes + 1024);
                let done = self.registry.apply_with_limit(filter, now, size, Some(most));
                *next = done.map_err(|error| error.to_string())?;
            }
        }
        std::mem::swap(now, next);
        Ok(())
    }
}

impl<T: Send + Sync> RowSource<T> for Band<'_, T> {
    fn len(&self) -> u64 {
        self.column.shape.rows
    }

    fn band(&self) -> u64 {
        let row = (self.row() as u64).max(1);
        match &self.column.storage {
            Storage::Chunked(chunks) => chunks.rows * (BAND / chunks.rows.saturating_mul(row)).max(1),
            _ => (BAND / row).max(1),
        }
    }

    fn step(&self) -> u64 {
        match &self.column.storage {
            Storage::Chunked(chunks) => chunks.rows,
            _ => 1,
        }
    }

    fn read(&self, first: u64, out: &mut [T]) -> Result<()> {
        let start = first as usize * self.row();
        match &self.column.storage {
            Storage::Contiguous { at } => {
                let mut source = self.reading.open(&self.column.path)?;
                source.seek(at + start as u64)?;
                self.read_plain(&mut source, out)
            }
            Storage::Compact(bytes) => {
                (self.take)(bytes.get(start..).unwrap_or_default(), out);
                Ok(())
            }
            Storage::Chunked(chunks) => {
                let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
                let mut buffers = free().pop().unwrap_or_default();
                let done = self.read_chunks(chunks, first, out, &mut buffers);
                free().push(buffers);
                done
            }
        }
    }
}

/// Inflates a zlib stream to exactly `whole` bytes.
fn inflate(from: &[u8], into: &mut Vec<u8>, whole: usize) -> std::result::Result<(), String> {
    into.resize(whole, 0);
    let mut stream = Decompress::new(true);
    let status = stream.decompress(from, into, FlushDecompress::Finish);
    match status {
        Ok(Status::StreamEnd) if stream.total_out() == whole as u64 => Ok(()),
        Ok(_) => Err(format!("its {} bytes do not decompress to {whole}", from.len())),
        Err(error) => Err(error.to_string()),
    }
}

/// Reverts a byte shuffle of numbers of `size` bytes.
fn unshuffle(from: &[u8], into: &mut Vec<u8>, size: usize) {
    into.resize(from.len(), 0);
    match size {
        2 => unshuffled::<2>(from, into),
        4 => unshuffled::<4>(from, into),
        8 => unshuffled::<8>(from, into),
        0 | 1 => into.copy_from_slice(from),
        size => {
            let n = from.len() / size;
            into.copy_from_slice(from);
            for (plane, bytes) in from.chunks_exact(n.max(1)).take(size).enumerate() {
                into.iter_mut().skip(plane).step_by(size).zip(bytes).for_each(|(into, &byte)| *into = byte);
            }
        }
    }
}

fn unshuffled<const N: usize>(from: &[u8], into: &mut [u8]) {
    let n = from.len() / N;
    let planes: [&[u8]; N] = std::array::from_fn(|k| &from[k * n..(k + 1) * n]);
    let (whole, rest) = into.split_at_mut(n * N);
    for (i, number) in whole.chunks_exact_mut(N).enumerate() {
        for (byte, plane) in number.iter_mut().zip(planes) {
            *byte = plane[i];
        }
    }
    rest.copy_from_slice(&from[n * N..]);
}
