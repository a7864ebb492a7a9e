//! Column chunks whose pages are decompressed here: those with gzip, Zstandard or Brotli.
//!
//! In: the location of a column chunk, and the maximum size of its pages in bytes. Out: a reader of its values. The
//! Parquet library returns the pages as stored. Its own decoders of gzip and Brotli do not bound the decompressed
//! size of a page, and its decoder of Zstandard is not written in Rust. Cost: that of the decoders.

use std::io::Read;
use std::sync::Arc;

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::SerializedPageReader;
use ruzstd::decoding::StreamingDecoder;

use crate::parquet::reopening_file::ReopeningFile;

/// The number of bytes that the decoder of Brotli reads at a time.
const CHUNK: usize = 1 << 12;

/// Returns `true` for compressions that [`packed_reader`] decompresses.
pub(super) fn is_unpacked_here(compression: Compression) -> bool {
    matches!(compression, Compression::GZIP(_) | Compression::ZSTD(_) | Compression::BROTLI(_))
}

/// Returns the reader of a column of a row group, whose pages decompress to at most `most` bytes each.
pub(super) fn packed_reader(
    file: ReopeningFile,
    group: &RowGroupMetaData,
    column: usize,
    most: u64,
) -> Result<ColumnReader> {
    let chunk = group.column(column);
    let as_stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let rows = usize::try_from(group.num_rows())?;
    let pages = SerializedPageReader::new(Arc::new(file), &as_stored, rows, None)?;
    let pages = PackedPages { pages, compression: chunk.compression(), most };
    Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)))
}

/// A reader that decompresses pages.
struct PackedPages {
    pages: SerializedPageReader<ReopeningFile>,
    compression: Compression,
    /// The maximum size of a decompressed page in bytes.
    most: u64,
}

impl Iterator for PackedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for PackedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.pages.get_next_page()?.map(|page| self.unpacked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.pages.take_deferred_dictionary()?.map(|page| self.unpacked(page)).transpose()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl PackedPages {
    fn unpacked(&self, mut page: Page) -> Result<Page> {
        match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => *buf = self.unpack(buf, 0)?,
            // The levels before the values are never compressed.
            Page::DataPageV2 { buf, is_compressed: true, def_levels_byte_len, rep_levels_byte_len, .. } => {
                *buf = self.unpack(buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)?;
            }
            Page::DataPageV2 { .. } => {}
        }
        Ok(page)
    }

    /// Returns the first `plain` bytes unchanged, followed by the other bytes decompressed.
    fn unpack(&self, bytes: &Bytes, plain: usize) -> Result<Bytes> {
        let (Some(start), Some(mut packed)) = (bytes.get(..plain), bytes.get(plain..)) else {
            return Err(ParquetError::General(format!("a page of {} bytes has {plain} bytes of levels", bytes.len())));
        };
        let mut out = start.to_vec();
        // Empty values take no bytes. Several frames of Zstandard may be concatenated.
        while !packed.is_empty() {
            match self.compression {
                Compression::ZSTD(_) => {
                    let decoder = StreamingDecoder::new(&mut packed).map_err(|error| self.failed(&error))?;
                    self.take(decoder, &mut out)?;
                }
                Compression::BROTLI(_) => self.take(Decompressor::new(std::mem::take(&mut packed), CHUNK), &mut out)?,
                _ => self.take(MultiGzDecoder::new(std::mem::take(&mut packed)), &mut out)?,
            }
        }
        Ok(out.into())
    }

    /// Appends the bytes of a decoder.
    ///
    /// Errors: the page exceeds its maximum size.
    fn take(&self, decoder: impl Read, out: &mut Vec<u8>) -> Result<()> {
        let left = self.most.saturating_sub(out.len() as u64);
        decoder.take(left.saturating_add(1)).read_to_end(out).map_err(|error| self.failed(&error))?;
        match out.len() as u64 > self.most {
            true => {
                Err(self.failed(&format!("decompresses to more than the {} bytes that its header declares", self.most)))
            }
            false => Ok(()),
        }
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> ParquetError {
        let name = match self.compression {
            Compression::ZSTD(_) => "Zstandard",
            Compression::BROTLI(_) => "Brotli",
            _ => "gzip",
        };
        ParquetError::General(format!("a page of {name}: {error}"))
    }
}
