//! Fuzzes the reader of text tables.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Csv.run(data, &readers::scratch()));
