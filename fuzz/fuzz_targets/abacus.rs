//! Fuzzes the reader of Abacus particles.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Abacus.run(data, &readers::scratch()));
