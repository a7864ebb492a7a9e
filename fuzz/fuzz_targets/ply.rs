//! Fuzzes the reader of the vertices of PLY files.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Ply.run(data, &readers::scratch()));
