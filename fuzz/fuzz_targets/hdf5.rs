//! Fuzzes the reader of HDF5 snapshots.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use readers::Reader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Reader::Hdf5.run(data, &readers::scratch()));
