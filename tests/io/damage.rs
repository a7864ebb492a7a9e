//! Truncated, corrupted and inconsistent files: each is an error that says what is wrong. `fuzz` tests random
//! changes.

use std::fs;

use ropewalk_io::{GadgetOptions, Masses, ReadOptions, Species, read, read_header, write_gadget};

use super::gadget::TypeParticles;
use super::{Folder, all, assert_modest_memory, f32s, refused};

/// Returns the bytes of a snapshot of types 0 (four particles, masses in a block) and 1 (three particles of equal
/// mass).
fn snapshot(folder: &Folder, labels: bool, big_endian: bool) -> Vec<u8> {
    let made = [TypeParticles::new(0, 4, false, true), TypeParticles::new(1, 3, false, false)];
    let options = GadgetOptions::default().labels(labels).big_endian(big_endian);
    let path = folder.file("whole");
    write_gadget(&path, &made.each_ref().map(TypeParticles::species), &options).unwrap();
    fs::read(path).unwrap()
}

/// The starts of records in `snapshot` without labels: HEAD, POS, VEL, ID, MASS, and the end.
const STARTS: [usize; 6] = [0, 264, 356, 448, 484, 508];

#[test]
fn cut_anywhere() {
    let folder = Folder::new("cut");
    for (labels, big_endian) in [(false, false), (false, true), (true, false), (true, true)] {
        let bytes = snapshot(&folder, labels, big_endian);
        let starts: Vec<usize> =
            (0..).zip(STARTS).map(|(i, start): (usize, _)| start + if labels { 16 * i } else { 0 }).collect();
        assert_eq!(bytes.len(), starts[5]);
        for cut in 0..bytes.len() {
            let path = folder.with("cut", &bytes[..cut]);
            match starts.iter().position(|&start| start == cut) {
                // Whole blocks may be missing.
                Some(blocks @ 2..) => {
                    let snapshot = all(path).unwrap();
                    assert_eq!(snapshot.points.len(), 7);
                    assert_eq!((snapshot.velocities.is_some(), snapshot.ids.is_some()), (blocks > 2, blocks > 3));
                    assert_eq!(snapshot.masses, Masses::Unknown);
                }
                Some(1) => refused(path, &["declares 7 particles", "no block POS"]),
                _ if cut < 8 => drop(all(path).unwrap_err()),
                _ => refused(path, &["truncated", ", got "]),
            }
        }
    }
    refused(
        folder.with("cut", &snapshot(&folder, false, false)[..300]),
        &["expected 84 bytes and a marker of 4 in block POS at byte 264", "got 32"],
    );
}

#[test]
fn markers() {
    let folder = Folder::new("markers");
    let bytes = snapshot(&folder, false, false);
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        folder.with("patched", bytes)
    };
    refused(
        patched(352, &[85, 0, 0, 0]),
        &["markers of block POS at byte 264 disagree: 84 bytes before it, 85 after it"],
    );
    refused(
        patched(356, &[0xff; 4]),
        &["truncated: expected 4294967295 bytes and a marker of 4 in block VEL at byte 356", "got 148"],
    );
    refused(patched(260, &[0, 0, 1, 0]), &["markers of block HEAD at byte 0 disagree: 256", "65536"]);
    // Without VEL, the ids are read as velocities, but have another length.
    let mut bytes = bytes.clone();
    bytes.drain(356..448);
    refused(
        folder.with("patched", bytes),
        &["block VEL at byte 360 has 28 bytes", "7 particles it must have 84 (32 bits) or 168 (64 bits)"],
    );
}

#[test]
fn labels() {
    let folder = Folder::new("labels");
    let bytes = snapshot(&folder, true, false);
    let pos = &bytes[280..388];
    refused(folder.with("twice", [&bytes, pos].concat()), &["block POS occurs twice, again at byte"]);
    refused(folder.with("naked", [&bytes, &pos[16..]].concat()), &["block label at byte", "got 84"]);
    refused(folder.with("none", [&bytes[..280], &bytes[388..]].concat()), &["declares 7 particles", "no block POS"]);
}

#[test]
fn headers() {
    let folder = Folder::new("headers");
    let bytes = snapshot(&folder, false, false);
    let patched = |patches: &[(usize, &[u8])]| {
        let mut bytes = bytes.clone();
        for &(at, with) in patches {
            bytes[4 + at..4 + at + with.len()].copy_from_slice(with);
        }
        folder.with("patched", bytes)
    };
    let block = "block POS at byte 268 has 84 bytes";
    refused(patched(&[(0, &[5])]), &[block, "8 particles"]);
    refused(patched(&[(0, &[0xff; 24]), (96, &[0xff; 24])]), &[block, "25769803770 particles"]);
    refused(patched(&[(96, &[5])]), &["declares 5 particles of type 0 in total", "hold 4"]);
    refused(patched(&[(168, &[1])]), &["declares 4294967300 particles of type 0"]);
    refused(patched(&[(124, &[0])]), &["split over 0 files"]);
    refused(patched(&[(124, &[2])]), &["one of 2 files", "does not end in .0 to .1"]);
    refused(patched(&[(128, &f64::NAN.to_le_bytes())]), &["box size NaN"]);
    refused(patched(&[(128, &(-1.0_f64).to_le_bytes())]), &["box size -1"]);
    refused(patched(&[(32, &f64::INFINITY.to_le_bytes())]), &["mass inf for type 1"]);
    // All particles have their mass in the block, which is too short.
    refused(patched(&[(32, &[0; 8])]), &["block MASS at byte 488 has 16 bytes", "28 (32 bits)"]);

    let whole = folder.with("whole", &bytes);
    for (t, said) in [(2, "no particles of type 2; types present: 0 (4), 1 (3)"), (200, "no particles of type 200")] {
        let message = read(&whole, &ReadOptions::default().types([t])).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    assert!(read_header(folder.with("text", "1 2 3")).unwrap_err().to_string().contains("not a Gadget snapshot"));
    assert_modest_memory();
}

#[test]
fn parts() {
    let folder = Folder::new("parts");
    let positions = f32s(3, (0..18).map(|i| i as f32).collect::<Vec<_>>());
    let (ids, masses) = ([1, 2, 3, 4, 5, 6], Masses::Equal(1.0));
    let one = Species {
        particle_type: 1,
        positions: &positions,
        velocities: Some(&positions),
        ids: Some(&ids),
        masses: &masses,
    };
    let options = GadgetOptions::default().files(3).box_size(8.0);
    let path = folder.file("snap");
    let write = || write_gadget(&path, &[one], &options).unwrap();
    let change = |at: usize, with: u8| {
        let mut bytes = fs::read(folder.file("snap.1")).unwrap();
        bytes[at] = with;
        folder.with("snap.1", bytes);
    };
    write();
    assert_eq!(folder.names(), ["snap.0", "snap.1", "snap.2"]);
    assert_eq!(all(&path).unwrap().ids, Some(ids.to_vec()));

    change(4 + 128 + 6, 0x30);
    refused(&path, &["snap.1", "box size 16, but that of the first file has 8"]);
    write();
    change(4 + 100, 7);
    refused(&path, &["snap.1", "total particle counts [0, 7, 0, 0, 0, 0]", "[0, 6, 0, 0, 0, 0]"]);
    write();
    fs::copy(folder.file("snap.0"), folder.file("snap.7")).unwrap();
    refused(folder.file("snap.7"), &["one of 3 files", ".0 to .2"]);
    // A part with wider ids than the other parts.
    let wide = folder.file("wide");
    write_gadget(&wide, &[one], &options.clone().wide_ids(true)).unwrap();
    fs::rename(folder.file("wide.1"), folder.file("snap.1")).unwrap();
    refused(&path, &["snap.1", "block ID is 64 bits wide in this file, but 32 bits wide in"]);
    write_gadget(&wide, &[Species { ids: None, ..one }], &options).unwrap();
    fs::rename(folder.file("wide.1"), folder.file("snap.1")).unwrap();
    refused(&path, &["snap.1", "block ID is missing in this file, but 32 bits wide in"]);
    fs::remove_file(folder.file("snap.1")).unwrap();
    refused(&path, &["snap.1", "is missing: the snapshot is split over 3 files"]);
}
