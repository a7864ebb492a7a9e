//! Fuzzes the reader of Gadget snapshots.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Gadget.run(data, &readers::scratch()));
