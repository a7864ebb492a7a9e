//! Fuzzes the reader of NumPy arrays.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Npy.run(data, &readers::scratch()));
