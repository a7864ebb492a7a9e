//! Fuzzes the reader of RAMSES particles.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Ramses.run(data, &readers::scratch()));
