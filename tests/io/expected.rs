//! The values that other programs read from the files in tests/data/snapshots; `make_formats.py` there lists the
//! programs.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use common::data::root;
use npyz::NpyFile;
use ropewalk_io::{Masses, Points, Snapshot};
use zip::ZipArchive;

/// Returns the path of a file or folder in tests/data/snapshots.
pub fn stored(name: &str) -> PathBuf {
    root().join("tests/data/snapshots").join(name)
}

/// The arrays of the archive next to a file.
pub struct Expected(ZipArchive<BufReader<File>>);

impl Expected {
    pub fn named(name: &str) -> Self {
        let file = File::open(stored(&format!("{name}.expected.npz"))).unwrap();
        Self(ZipArchive::new(BufReader::new(file)).unwrap())
    }

    fn array(&mut self, name: &str) -> NpyFile<impl Read> {
        NpyFile::new(self.0.by_name(&format!("{name}.npy")).unwrap()).unwrap()
    }

    pub fn f64s(&mut self, name: &str) -> Vec<f64> {
        self.array(name).into_vec().unwrap()
    }

    pub fn f64(&mut self, name: &str) -> f64 {
        self.f64s(name)[0]
    }

    pub fn u8s(&mut self, name: &str) -> Vec<u8> {
        self.array(name).into_vec().unwrap()
    }

    pub fn u64s(&mut self, name: &str) -> Vec<u64> {
        self.array(name).into_vec().unwrap()
    }
}

/// Returns the coordinates of points in 64 bits.
pub fn flat(points: &Points) -> Vec<f64> {
    match points {
        Points::F32(table) => table.as_slice().iter().map(|&x| f64::from(x)).collect(),
        Points::F64(table) => table.as_slice().to_vec(),
    }
}

pub fn each(masses: &Masses) -> &[f64] {
    match masses {
        Masses::Each(masses) => masses,
        other => panic!("{other:?}"),
    }
}

/// Returns the type of each point.
pub fn types(snapshot: &Snapshot) -> Vec<u8> {
    snapshot.types.iter().flat_map(|run| vec![run.particle_type; run.count]).collect()
}

/// Returns the largest difference between two lists, divided by the largest value.
#[track_caller]
pub fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let most = b.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    a.iter().zip(b).fold(0.0f64, |most, (a, b)| most.max((a - b).abs())) / most
}
