//! Fuzzes the readers of meshes (OBJ, PLY, STL, OFF and glTF), chosen by the first bytes. `ropewalk-io` has the same test for
//! mutated files.
#![no_main]

#[path = "../readers.rs"]
mod readers;

use std::fs;

use ropewalk_io::{Points, read_mesh};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = readers::scratch();
    fs::write(&path, data).expect("a scratch file");
    let Ok(mesh) = read_mesh(&path) else { return };
    let is_finite = match &mesh.vertices {
        Points::F32(table) => table.as_slice().iter().all(|x| x.is_finite()),
        Points::F64(table) => table.as_slice().iter().all(|x| x.is_finite()),
    };
    assert!(is_finite && mesh.faces.as_flattened().iter().all(|&vertex| (vertex as usize) < mesh.vertices.len()));
});
