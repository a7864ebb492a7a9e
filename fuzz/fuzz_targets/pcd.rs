//! Fuzzes the reader of PCD point clouds.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Pcd.run(data, &readers::scratch()));
