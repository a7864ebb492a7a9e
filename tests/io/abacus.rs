//! Abacus particles in files written by asdf, compared with abacusutils, and damaged files.

use std::fs;

use ropewalk::units::{LengthUnit, MassUnit, VelocityUnit};
use ropewalk_io::{Format, Masses, ReadOptions, inspect, read};

use super::expected::{Expected, flat, stored};
use super::{Folder, all, assert_modest_memory, refused};

#[test]
fn as_abacusutils_reads_them() {
    for name in ["plain", "zstd", "bits", "lz4", "zlib", "unshuffled", "halo_rv_A/halo_rv_A_000"] {
        let snapshot = all(stored("abacus").join(format!("{name}.asdf"))).unwrap();
        let mut wanted = Expected::named("abacus");
        assert_eq!((snapshot.format, snapshot.points.len()), (Format::Abacus, 800));
        assert!(flat(&snapshot.points) == wanted.f64s("pos"), "{name}");
        assert!(flat(snapshot.velocities.as_ref().unwrap()) == wanted.f64s("vel"), "{name}");
        assert_eq!(snapshot.ids, name.contains("rv").then(|| wanted.u64s("id")));
        assert_eq!((snapshot.masses, snapshot.matter), (Masses::Equal(2.1e9), None));
        assert_eq!((snapshot.box_size, snapshot.redshift), (Some(500.0), Some(0.5)));
        let background = snapshot.background;
        assert_eq!((background.omega_m, background.omega_lambda), (Some(0.315192), Some(0.684808)));
        assert!((background.h.unwrap() - 0.6736).abs() < 1e-15);
        let units = snapshot.units;
        assert_eq!((units.length, units.mass), (Some(LengthUnit::MPC_H), Some(MassUnit::MSUN_H)));
        assert_eq!(units.velocity, Some(VelocityUnit::KM_S));
    }
    refused(
        stored("abacus").join("blosclz.asdf"),
        &["array rvint cannot be decompressed", "BloscLZ", "it must be compressed by Zstandard, LZ4 or zlib"][1..],
    );
}

#[test]
fn packed_cells() {
    for name in ["pack9", "pack9_blosc"] {
        let path = stored("abacus").join(format!("{name}.asdf"));
        let snapshot = all(&path).unwrap();
        let mut wanted = Expected::named("abacus_pack9");
        let (positions, velocities) = (wanted.f64s("pos"), wanted.f64s("vel"));
        // abacusutils computes in 64 bits; the reader rounds to 32 bits.
        let near = |ours: Vec<f64>, theirs: &[f64], least: f64| {
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs).for_each(|(a, b)| assert!((a - b).abs() <= 6e-8 * b.abs() + least, "{a} {b}"));
        };
        near(flat(&snapshot.points), &positions, 1e-12);
        near(flat(snapshot.velocities.as_ref().unwrap()), &velocities, 1e-12);
        let contents = inspect(&path, &ReadOptions::default()).unwrap();
        assert_eq!(
            (contents.total() as usize, contents.types[0].fields[0].name.as_str()),
            (positions.len() / 3, "pack9: position")
        );
        let some = read(&path, &ReadOptions::default().subsample(0.5)).unwrap();
        assert!((300..500).contains(&some.points.len()), "{}", some.points.len());
    }
    refused(stored("abacus").join("pack9_headless.asdf"), &["array pack9 has particles before the first cell header"]);
}

#[test]
fn parts_of_a_file() {
    let path = stored("abacus").join("halo_rv_A/halo_rv_A_000.asdf");
    let whole = all(&path).unwrap();
    let some = read(&path, &ReadOptions::default().subsample(0.25).velocities(false)).unwrap();
    let ids = whole.ids.as_ref().unwrap();
    let places: Vec<usize> =
        some.ids.as_ref().unwrap().iter().map(|id| ids.iter().position(|own| own == id).unwrap()).collect();
    assert!(places.is_sorted() && (140..260).contains(&places.len()));
    let rows = flat(&whole.points);
    let wanted: Vec<f64> = places.iter().flat_map(|&i| rows[3 * i..3 * i + 3].to_vec()).collect();
    assert_eq!((flat(&some.points), some.velocities, some.masses), (wanted, None, Masses::Equal(8.4e9)));
    let gadget = ReadOptions::default().velocity_unit(VelocityUnit::GADGET).redshift(3.0).ids(false).masses(false);
    let half = read(&path, &gadget).unwrap();
    assert_eq!(flat(half.velocities.as_ref().unwrap())[5], flat(whole.velocities.as_ref().unwrap())[5] / 2.0);
    assert_eq!((half.ids, half.masses), (None, Masses::Unknown));
    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    assert_eq!((contents.total(), contents.types[0].mass, contents.types[0].fields.len()), (800, Some(2.1e9), 3));
    let pids = stored("abacus").join("halo_pid_A/halo_pid_A_000.asdf");
    refused(pids, &["is an ASDF file without the particle array rvint or pack9", "its arrays: packedpid"]);
}

#[test]
fn broken() {
    let folder = Folder::new("abacus-broken");
    let lz4 = fs::read(stored("abacus").join("lz4.asdf")).unwrap();
    let block = lz4.windows(4).position(|four| four == b"\xd3BLK").unwrap();
    for name in ["plain", "zstd", "bits", "lz4", "zlib"] {
        let bytes = fs::read(stored("abacus").join(format!("{name}.asdf"))).unwrap();
        // The last lines are an index of blocks, which the reader does not need.
        let end = bytes.windows(6).rposition(|six| six == b"#ASDF ").unwrap();
        for cut in (4..end).step_by(61) {
            drop(all(folder.with("cut", &bytes[..cut])).unwrap_err());
        }
        // No change of a byte causes a panic.
        for at in (block..end).step_by(13) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            drop(all(folder.with("flipped", flipped)));
        }
    }
    let cut = |n: usize| folder.with("cut", &lz4[..n]);
    refused(cut(block - 10), &["has no end of its tree"]);
    refused(cut(block + 1000), &["truncated: expected", "in the block at byte"]);
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = lz4.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        folder.with("patched", bytes)
    };
    refused(patched(block + 4, &[0, 10]), &["has a header of 10 bytes"]);
    refused(patched(block + 6, &[0, 0, 0, 1]), &["is a streamed block"]);
    refused(
        patched(block + 10, b"bzp2"),
        &["is compressed by bzp2; it must be uncompressed or compressed by Blosc (blsc)"],
    );
    refused(patched(block + 10, &[0; 4]), &["must have 9600 bytes, got"]);
    refused(patched(block + 30, &[0, 0, 0, 1]), &["expected containers of 4294976896 bytes in total, got 9600"]);
    let container = block + 54;
    refused(patched(container, &[0x7f]), &["expected a container of 21", "at byte"]);
    refused(patched(container + 4, &[9]), &["version 9 of Blosc's format"]);
    refused(patched(container + 8, &[0xff; 4]), &["cannot decompress to 4294967295 bytes in blocks of 7000"]);
    refused(patched(container + 12, &[0; 4]), &["in blocks of 0"]);
    refused(patched(container + 16, &[0xff; 4]), &["expected 4294967295 bytes"]);
    refused(patched(container + 20, &[0xff; 4]), &["begins beyond its end"]);
    refused(patched(container + 6, &[0xe1]), &["an unknown code"]);

    let tree = String::from_utf8_lossy(&lz4[..block]).into_owned();
    let edited = |from: &str, to: &str| {
        assert!(tree.contains(from));
        folder.with("edited", [tree.replacen(from, to, 1).as_bytes(), &lz4[block..]].concat())
    };
    refused(
        edited("shape: [800, 3]", "shape: [800, 4]"),
        &["shape [800, 4]; it must be little-endian int32 of shape [N, 3]"],
    );
    refused(edited("shape: [800, 3]", "shape: [900000000000000000, 3]"), &["has 900000000000000000 rows of 12 bytes"]);
    refused(edited("datatype: int32", "datatype: float32"), &["has rvint of type float32"]);
    refused(edited("source: 0", "source: 7"), &["is in block 7, but the file has 1 blocks"]);
    refused(edited("BoxSize", "Box"), &["must have BoxSize above 0"]);
    refused(edited("rvint", "pack8"), &["without the particle array rvint", "its arrays: pack8"]);
    refused(edited("data:", "data: *x"), &["a tree that is not YAML"]);

    let pids = fs::read(stored("abacus").join("halo_pid_A/halo_pid_A_000.asdf")).unwrap();
    let path = folder.with("a_rv_0.asdf", &lz4);
    let text = String::from_utf8_lossy(&pids).len();
    assert!(text > 0);
    let at = pids.windows(12).position(|twelve| twelve == b"shape: [800]").unwrap();
    let mut few = pids.clone();
    few[at + 8] = b'7';
    folder.with("a_pid_0.asdf", few);
    refused(path, &["a_pid_0.asdf", "shape [700]; it must be little-endian uint64 of shape [800]"]);
    assert_modest_memory();
}
