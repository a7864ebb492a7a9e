//! Fuzzes the reader of Parquet tables.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Parquet.run(data, &readers::scratch()));
