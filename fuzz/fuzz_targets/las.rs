//! Fuzzes the reader of LAS point clouds.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Las.run(data, &readers::scratch()));
