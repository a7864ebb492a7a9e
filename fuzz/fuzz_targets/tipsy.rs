//! Fuzzes the reader of Tipsy files.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Tipsy.run(data, &readers::scratch()));
