//! Fuzzes the reader of FITS tables.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Fits.run(data, &readers::scratch()));
