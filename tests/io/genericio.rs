//! GenericIO files from the published description, and damaged ones.

use std::fs;
use std::path::Path;

use ropewalk::units::{LengthUnit, MassUnit, VelocityUnit};
use ropewalk_io::{Format, Masses, ReadOptions, Role, inspect, read};

use super::expected::{Expected, each, flat, stored};
use super::{Folder, all, assert_modest_memory, refused};

fn file(name: &str) -> std::path::PathBuf {
    stored(name)
}

#[test]
fn of_several_ranks() {
    for name in ["genericio/little", "genericio/blocks", "genericio_split/base", "genericio_split/base#1"] {
        let snapshot = all(file(name)).unwrap();
        let mut wanted = Expected::named(name.split('/').next().unwrap());
        assert_eq!(snapshot.format, Format::GenericIo);
        assert_eq!(flat(&snapshot.points), wanted.f64s("pos"));
        assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), wanted.f64s("vel"));
        assert_eq!(snapshot.ids, Some(wanted.u64s("id")));
        assert_eq!((snapshot.masses, snapshot.box_size, snapshot.redshift), (Masses::Unknown, Some(64.0), None));
        let units = snapshot.units;
        assert_eq!(
            (units.length, units.velocity, units.mass),
            (Some(LengthUnit::MPC_H), Some(VelocityUnit::KM_S), None)
        );
    }
}

#[test]
fn most_significant_byte_first() {
    let path = file("genericio_big/big");
    let (snapshot, mut wanted) = (all(&path).unwrap(), Expected::named("genericio_big"));
    assert_eq!(flat(&snapshot.points), wanted.f64s("pos"));
    assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), wanted.f64s("vel"));
    assert_eq!(snapshot.ids, Some(wanted.u64s("id")));
    assert_eq!(each(&snapshot.masses), wanted.f64s("mass"));
    assert_eq!(snapshot.units.mass, Some(MassUnit::MSUN_H));
    assert!((snapshot.matter.unwrap() / wanted.f64s("mass").iter().sum::<f64>() - 1.0).abs() < 1e-14);

    let options = ReadOptions::default().columns(["phi", "center_x"]).ids(false).masses(false).subsample(0.5);
    let some = read(&path, &options).unwrap();
    assert_eq!((some.points.dim(), some.velocities, some.ids), (2, None, None));
    assert_eq!((some.units.length, some.columns), (None, vec!["phi".to_string(), "center_x".into()]));
    assert!((10..40).contains(&(flat(&some.points).len() / 2)));
    // All ranks of the map are read.
    let few = read(file("genericio_split/base"), &ReadOptions::default().subsample(0.1)).unwrap();
    assert!((1..15).contains(&few.points.len()));
    let message = read(&path, &ReadOptions::default().columns(["absent"])).unwrap_err().to_string();
    assert!(message.contains("has no column absent"), "{message}");
}

#[test]
fn what_a_file_says() {
    let contents = inspect(file("genericio_split/base"), &ReadOptions::default()).unwrap();
    assert_eq!((contents.files.len(), contents.total(), contents.box_size), (2, 50, Some(64.0)));
    let fields: Vec<_> =
        contents.types[0].fields.iter().map(|field| (field.name.as_str(), field.number.as_str(), field.role)).collect();
    assert_eq!(fields[0], ("x", "f32", Role::Position));
    assert_eq!(fields[7..], [("id", "i64", Role::Id), ("mask", "u16", Role::Other)]);
}

/// Computes the checksum bit by bit.
fn crc(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(u64::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u64::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xc96c_5795_d787_0f42 } else { 0 })
    })
}

/// Returns the file with some words of its little-endian header replaced, and a valid checksum.
fn patched(path: &Path, patches: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    for &(at, word) in patches {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    let size = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
    if (168..bytes.len() - 8).contains(&size) {
        let check = !crc(&bytes[..size]);
        bytes[size..size + 8].copy_from_slice(&check.to_le_bytes());
    }
    bytes
}

/// The offsets of the header's structures.
const VARIABLES: usize = 168;
const RANKS: usize = VARIABLES + 9 * 280;
const BLOCKS: usize = RANKS + 3 * 48;

#[test]
fn headers_that_lie() {
    let folder = Folder::new("genericio-lies");
    let (little, blocks) = (file("genericio/little"), file("genericio/blocks"));
    let lie = |path: &Path, patches: &[(usize, u64)]| folder.with("lie", patched(path, patches));
    refused(lie(&little, &[(8, 1 << 40)]), &["truncated: expected a header of 1099511627776 bytes", "got"]);
    refused(lie(&little, &[(8, 10)]), &["a header of 10 bytes"]);
    refused(lie(&little, &[(48, 1 << 60)]), &["too short for 1152921504606846976 variables of 280 bytes"]);
    refused(lie(&little, &[(56, 100)]), &["variables of 100 bytes; they must have at least 272"]);
    refused(lie(&little, &[(72, 1 << 40)]), &["too short for 1099511627776 ranks"]);
    refused(lie(&little, &[(16, 121)]), &["declares 121 particles in total"]);
    refused(
        lie(&little, &[(16, 20 + (1 << 40)), (RANKS + 24, 1 << 40), (RANKS + 120, 20)]),
        &["truncated: variable x of rank 0"],
    );
    refused(lie(&little, &[(RANKS + 32, u64::MAX - 100)]), &["truncated: variable x of rank 0"]);
    refused(lie(&little, &[(RANKS + 32, 200)]), &["is damaged: the block at byte 200 has the checksum"]);
    refused(
        lie(&blocks, &[(BLOCKS + 40, 204)]),
        &["variable x of rank 0 has a block of 204 bytes; its 50 rows must have 200"],
    );
    refused(lie(&blocks, &[(BLOCKS + 32, 1 << 62)]), &["truncated: variable x of rank 0"]);
    refused(lie(&blocks, &[(BLOCKS, 0x0043_534f_4c42)]), &["variable x is compressed (BLOSC)"]);
    refused(lie(&blocks, &[(152, 40)]), &["has blocks of 40 bytes; they must have at least 48"]);
    refused(lie(&little, &[(VARIABLES + 264, 3)]), &["variable x has values of 3 bytes"]);
    refused(lie(&little, &[(VARIABLES, 0x61)]), &["no variables x, y and z; it has a, y, z", "columns"]);
    // Two values per row.
    refused(lie(&little, &[(VARIABLES + 264, 8)]), &["variable x has 2 values per particle"]);
    // A thousand ranks that all have the same rows.
    let mut bytes = fs::read(&little).unwrap();
    let (rank, body) = (bytes[RANKS..RANKS + 48].to_vec(), bytes.split_off(BLOCKS + 8));
    bytes.truncate(RANKS);
    (0..1000).for_each(|_| bytes.extend(&rank));
    bytes.extend([0; 8]);
    let start = bytes.len() as u64;
    bytes.extend(body);
    let path = folder.with("many", bytes);
    let mut patches = vec![(8, start - 8), (16, 50_000), (72, 1000)];
    patches.extend((0..1000).map(|k| (RANKS + 48 * k + 32, start)));
    refused(folder.with("many", patched(&path, &patches)), &["but its ranks declare 600000 bytes of some variables"]);
    assert_modest_memory();
}

#[test]
fn earlier_versions_have_shorter_headers() {
    let folder = Folder::new("genericio-old");
    // A global header of 104 bytes does not contain the box.
    let old = folder.with("old", patched(&file("genericio/blocks"), &[(96, 104)]));
    let (old, new) = (all(old).unwrap(), all(file("genericio/little")).unwrap());
    assert_eq!((old.box_size, old.points == new.points, old.ids == new.ids), (None, true, true));
}

#[test]
fn a_box_that_is_no_cube() {
    let folder = Folder::new("genericio-box");
    let path = folder.with("box", patched(&file("genericio/little"), &[(144, 32.5f64.to_bits())]));
    refused(
        &path,
        &["has a box with sides of 64, 64, 32.5; the sides of a periodic box must be equal", "ReadOptions::open"],
    );
    let open = read(&path, &ReadOptions::default().open(true)).unwrap();
    assert_eq!((open.box_size, open.notes.len(), open.points.len()), (None, 1, 120));
}

#[test]
fn damaged() {
    let folder = Folder::new("genericio-damaged");
    let bytes = fs::read(file("genericio/little")).unwrap();
    let body = BLOCKS + 8;
    for cut in (0..body).step_by(7).chain(body..bytes.len()) {
        let cut = folder.with("cut", &bytes[..cut]);
        // Variables that are not read may be truncated.
        if let Ok(snapshot) = all(&cut) {
            assert_eq!(snapshot.points.len(), 120);
            assert!(fs::metadata(&cut).unwrap().len() as usize > bytes.len() - 70 * 2 - 9);
        }
    }
    let flip = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 4;
        folder.with("flipped", bytes)
    };
    for at in (8..body).step_by(97) {
        drop(all(flip(at)).unwrap_err());
    }
    refused(flip(body - 200), &["is damaged: the header", "has the checksum", "the file says"]);
    refused(flip(body), &["is damaged: the block at byte", "has the checksum"]);
    refused(flip(body + 207), &["is damaged: the block at byte"]);
    // Variables that are not requested are not checked.
    let ids = body + 7 * 208 + 3;
    refused(flip(ids), &["is damaged"]);
    assert!(read(flip(ids), &ReadOptions::default().ids(false)).is_ok());
}

#[test]
fn missing_parts() {
    let folder = Folder::new("genericio-parts");
    let copy = |name: &str| fs::copy(file("genericio_split").join(name), folder.file(name)).unwrap();
    copy("base#0");
    refused(folder.file("base#0"), &["is part of a split file, whose map", "is missing"]);
    copy("base");
    refused(folder.file("base"), &["base#1", "is missing"]);
    fs::copy(file("genericio_split/base#0"), folder.file("base#1")).unwrap();
    refused(folder.file("base"), &["maps 3 ranks to files, but the files have 4"]);
    fs::copy(file("genericio_big/big"), folder.file("base#1")).unwrap();
    refused(folder.file("base#0"), &["base#1", "has other variables or another box than"]);
    copy("base#1");
    assert_eq!(all(folder.file("base#0")).unwrap().points.len(), 50);
}
