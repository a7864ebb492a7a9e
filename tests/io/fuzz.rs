//! The fuzz targets on mutated files. `ROPEWALK_FUZZ` sets the number of files per reader; the default is
//! [`FEW`].

use super::readers::Reader;
use super::{Folder, assert_modest_memory};
use common::random::Random;
use ropewalk_io::{ReadOptions, read};

/// The default number of files per reader.
const FEW: u64 = 750;
/// Characters that occur in tables and headers.
const TEXT: &[u8] = b"09.,;-+eE \t\r\n\"'#:[]{}!&*";

/// Changes, inserts, removes, repeats some bytes, or splices in those of another seed. Likely replacements are small
/// numbers, runs of equal bytes, and other parts of the file, as in lengths and exponents.
fn mutate(mut bytes: Vec<u8>, other: &[u8], random: &mut Random) -> Vec<u8> {
    for _ in 0..1 + random.below(8) {
        if bytes.is_empty() {
            break;
        }
        let (at, byte) = (random.below(bytes.len()), random.bits() as u8);
        let end = (at + 1 + random.below(8)).min(bytes.len());
        match random.below(10) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, byte),
            2 => drop(bytes.drain(at..end)),
            3 => bytes[at..end].reverse(),
            4 => bytes[at..end].fill(byte),
            5 => bytes[at] ^= 1 << (byte % 8),
            6 => bytes.extend_from_within(at..end),
            7 => bytes.splice(at..end, other[random.below(other.len())..].iter().take(16).copied()).for_each(drop),
            8 => bytes[at] = TEXT[random.below(TEXT.len())],
            _ => bytes[at] = [0, 1, 3, 8, 0x7f, 0x80, 0xfe, 0xff][random.below(8)],
        }
    }
    bytes
}

/// Mutations start from files that are read completely.
#[test]
fn fuzz_seeds_are_good() {
    let folder = Folder::new("fuzz-seeds");
    let path = folder.file("seed");
    for reader in Reader::ALL {
        for seed in reader.seeds() {
            reader.run(&seed, &path);
            let read = read(reader.place(&path), &ReadOptions::default());
            assert!(read.is_ok(), "{reader:?}: {read:?}");
        }
    }
}

#[test]
fn fuzz_mutated_files() {
    let files = std::env::var("ROPEWALK_FUZZ").map_or(FEW, |files| files.parse().expect("a number of files"));
    let folder = Folder::new("fuzz");
    for reader in Reader::ALL {
        let seeds = reader.seeds();
        for seed in 0..files {
            let mut random = Random::new(seed);
            let [of, with] = [0; 2].map(|_| random.below(seeds.len()));
            let bytes = mutate(seeds[of].clone(), &seeds[with], &mut random);
            // A failed test leaves its folder with the file.
            reader.run(&bytes, &folder.file("mutated"));
        }
    }
    assert_modest_memory();
}
