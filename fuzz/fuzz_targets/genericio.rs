//! Fuzzes the reader of GenericIO files.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::GenericIo.run(data, &readers::scratch()));
