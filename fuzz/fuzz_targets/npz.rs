//! Fuzzes the reader of NumPy archives.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Npz.run(data, &readers::scratch()));
