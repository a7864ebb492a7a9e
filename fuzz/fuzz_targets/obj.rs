//! Fuzzes the reader of the vertices of OBJ files.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Obj.run(data, &readers::scratch()));
