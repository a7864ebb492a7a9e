//! Fuzzes the reader of enhanced CSV.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Ecsv.run(data, &readers::scratch()));
