//! The reader of particles of Abacus.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Abacus.run(data, &readers::scratch()));
