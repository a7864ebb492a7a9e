//! Readers and writers: round trips, files made by hand, and files with all kinds of errors.

mod abacus;
mod atomic;
mod boxes;
mod cancel;
mod cloud_notes;
mod clouds;
mod csv;
mod damage;
mod epochs;
mod expected;
mod fields;
mod fuzz;
mod gadget;
mod genericio;
mod hdf5;
mod hdf5_headers;
mod hdf5_masses;
mod hdf5_metadata;
mod hdf5_optional;
mod hdf5_storage;
mod hdf5_tables;
mod losses;
mod metadata;
mod npy;
mod npz;
mod parquet;
mod parquet_kinds;
mod parts;
mod ramses;
mod reading;
mod records;
mod shared_npy;
mod snapshot_write;
#[path = "../../fuzz/readers.rs"]
mod readers;
mod text_comments;
mod text_metadata;
mod tipsy;
mod type_columns;
mod unused_columns;

use std::fs;
use std::path::{Path, PathBuf};

use ropewalk_io::{Points, ReadOptions, Snapshot, Table, read};

/// The peak of allocated memory, to check that readers do not allocate what a file merely claims to contain.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

fn assert_modest_memory() {
    assert!(MEMORY.peak_usage_as_mb() < 256.0, "{} MB", MEMORY.peak_usage_as_mb());
}

/// A separate folder for each test, removed when the test has passed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("io-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn with(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the names of its files, sorted.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn all(path: impl AsRef<Path>) -> ropewalk::Result<Snapshot> {
    read(path, &ReadOptions::default())
}

/// Asserts that reading `path` gives an error whose message contains all of `parts`.
#[track_caller]
fn refused(path: impl AsRef<Path>, parts: &[&str]) {
    let message = all(path).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

fn f32s(dim: usize, data: impl Into<Vec<f32>>) -> Points {
    Points::F32(Table::new(dim, data.into()).unwrap())
}

fn f64s(dim: usize, data: impl Into<Vec<f64>>) -> Points {
    Points::F64(Table::new(dim, data.into()).unwrap())
}

#[test]
fn tables() {
    let table = Table::new(3, vec![1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!((table.dim(), table.len(), table.is_empty()), (3, 2, false));
    assert_eq!(table.rows::<3>(), Some(&[[1, 2, 3], [4, 5, 6]][..]));
    assert_eq!(table.rows::<2>(), None);
    assert_eq!(
        Table::new(0, vec![1]).unwrap_err().to_string(),
        "unsupported dimension 0; points have 1 to 10 dimensions"
    );
    assert!(Table::new(11, vec![1; 11]).is_err());
    let message = Table::new(3, vec![1; 7]).unwrap_err().to_string();
    assert_eq!(message, "data.len() is 7; it must be a multiple of the dimension");
}

#[test]
fn not_a_table_at_all() {
    let folder = Folder::new("other");
    refused(folder.file("absent"), &["absent", "cannot be opened"]);
    refused(&folder.0, &["is a folder without Gadget snapshots", "give the path of the file"]);
    refused(folder.with("a", b"\x89HDF\r\n\x1a\n\0\0"), &["HDF5"]);
    refused(folder.with("b", b"PK\x03\x04\0\0"), &["is a zip archive that cannot be read"]);
    refused(folder.with("c", b"\x7fELF\0\0"), &["in an unsupported format", "FITS tables, LAS, PCD, PLY"]);
}
