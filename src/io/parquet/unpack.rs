//! Column chunks that the Parquet library cannot unpack: those of Zstandard.
//!
//! In: the place of a column chunk. Out: a reader of its values. The library hands out the pages as they lie in the file, and they are
//! unpacked here, with a decoder in Rust. Cost: that of the decoder.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::SerializedPageReader;
use ruzstd::decoding::StreamingDecoder;

use crate::io::parquet::opened::Opened;
use crate::io::parquet::pages::MOST_ZSTD_RATIO;

/// The reader of a column of a row group that Zstandard has packed.
pub(super) fn zstd_reader(file: Opened, group: &RowGroupMetaData, column: usize) -> Result<ColumnReader> {
    let chunk = group.column(column);
    let as_stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let rows = usize::try_from(group.num_rows())?;
    let pages = SerializedPageReader::new(Arc::new(file), &as_stored, rows, None)?;
    Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(ZstdPages(pages))))
}

/// Pages that Zstandard has packed.
struct ZstdPages(SerializedPageReader<Opened>);

impl Iterator for ZstdPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for ZstdPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.0.get_next_page()?.map(unpacked).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.0.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.0.take_deferred_dictionary()?.map(unpacked).transpose()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

fn unpacked(mut page: Page) -> Result<Page> {
    match &mut page {
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => *buf = unpack(buf, 0)?,
        // The levels before the values are never packed.
        Page::DataPageV2 { buf, is_compressed: true, def_levels_byte_len, rep_levels_byte_len, .. } => {
            *buf = unpack(buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)?;
        }
        Page::DataPageV2 { .. } => {}
    }
    Ok(page)
}

/// The first bytes as they are, and the others unpacked.
fn unpack(bytes: &Bytes, plain: usize) -> Result<Bytes> {
    let (Some(start), Some(mut packed)) = (bytes.get(..plain), bytes.get(plain..)) else {
        return Err(ParquetError::General(format!("a page of {} bytes has {plain} bytes of levels", bytes.len())));
    };
    let most = (packed.len() as u64).saturating_mul(MOST_ZSTD_RATIO);
    let failed = |error: &dyn std::fmt::Display| ParquetError::General(format!("a page of Zstandard: {error}"));
    let mut out = start.to_vec();
    // Empty values take no bytes.
    while !packed.is_empty() {
        let decoder = StreamingDecoder::new(&mut packed).map_err(|error| failed(&error))?;
        let left = most.saturating_sub(out.len() as u64);
        decoder.take(left).read_to_end(&mut out).map_err(|error| failed(&error))?;
        if out.len() as u64 >= most {
            return Err(failed(&format!("unpacks to more than {most} bytes")));
        }
    }
    Ok(out.into())
}
