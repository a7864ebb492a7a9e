//! A check that all ranks read the same files.
//!
//! In: the path by which each rank names a snapshot. Out: an error on all ranks if their files differ. Steps:
//!
//! 1. Each rank describes its files by name, size, modification time and a checksum of their beginnings and ends.
//! 2. Ranks compare one hash of these descriptions.
//! 3. If the hashes differ, all ranks gather the descriptions and report the first difference.
//!
//! Cost: up to 128 KiB are read of each file, and 8 MiB of up to 1024 files; of more files, 8 KiB each.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use ropewalk::distributed::Communicator;
use ropewalk::internals::distributed::{all_gather, all_gather_v};
use ropewalk::internals::random::mixed;
use ropewalk::{Error, ErrorKind, Result};

/// The minimum and the maximum number of bytes read at either end of a file.
const BLOCK: [usize; 2] = [1 << 12, 1 << 16];
/// Target for the number of bytes read at the beginnings of all files together.
const TOTAL_BYTES: usize = 1 << 22;

/// The description of a file by one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamp {
    /// The number of bytes of its name. Names are concatenated in the order of the files.
    name: u64,
    bytes: u64,
    /// Modification time in nanoseconds since 1970.
    modified: u64,
    checksum: u64,
}

impl Stamp {
    /// Returns the numbers that ranks exchange.
    fn words(self) -> [u64; 4] {
        [self.name, self.bytes, self.modified, self.checksum]
    }

    fn of([name, bytes, modified, checksum]: [u64; 4]) -> Self {
        Self { name, bytes, modified, checksum }
    }
}

/// The files of a rank, in the order of their names.
struct Files<'a>(Vec<(&'a [u8], Stamp)>);

impl<'a> Files<'a> {
    fn of(mut names: &'a [u8], stamps: &[[u64; 4]]) -> Self {
        let mut files = vec![];
        for stamp in stamps.iter().copied().map(Stamp::of) {
            let (name, rest) = names.split_at((stamp.name as usize).min(names.len()));
            files.push((name, stamp));
            names = rest;
        }
        Self(files)
    }

    fn get(&self, name: &[u8]) -> Option<Stamp> {
        self.0.iter().find(|file| file.0 == name).map(|file| file.1)
    }
}

/// Returns an error on all ranks if their files differ in name, size, modification time or contents. The files are
/// those that `path` names on each rank, and the files beside them that are read with them.
///
/// Ranks that read parts of a snapshot ([`ReadOptions::part`](crate::ReadOptions::part)) call this first, since a
/// rank with an old copy would mix parts of two versions. Contents are compared only at the beginning and the end of
/// each file. Folders and paths may differ. A file that is missing on all ranks is left to the reader to report.
/// Collective.
///
/// ```
/// use ropewalk::distributed::{Communicator, on_threads};
/// use ropewalk_io::agree_on_files;
///
/// let folder = std::env::temp_dir().join("ropewalk_agree_on_files");
/// for (rank, text) in ["1,2\n", "1,2\n3,4\n"].into_iter().enumerate() {
///     std::fs::create_dir_all(folder.join(rank.to_string())).unwrap();
///     std::fs::write(folder.join(rank.to_string()).join("points.csv"), text).unwrap();
/// }
/// let error = on_threads(2, |ranks| agree_on_files(ranks, folder.join(ranks.rank().to_string()).join("points.csv")));
/// assert_eq!(
///     error.unwrap_err().to_string(),
///     "points.csv has 4 bytes on rank 0 and 8 bytes on rank 1; all ranks must read the same files"
/// );
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
///
/// # Errors
/// If the files differ: the same error on all ranks. If a rank has ended.
pub fn agree_on_files(ranks: &dyn Communicator, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let (names, stamps) = described(path);
    let stamps: Vec<[u64; 4]> = stamps.into_iter().map(Stamp::words).collect();
    let hash = stamps.iter().flatten().fold(hash_of(&names), |hash, &word| mixed(hash ^ word));
    let hashes = all_gather(ranks, hash)?;
    if hashes.iter().all(|other| *other == hashes[0]) {
        return Ok(());
    }
    let (names, stamps) = (all_gather_v(ranks, &names)?, all_gather_v(ranks, &stamps)?);
    let files: Vec<Files<'_>> =
        names.iter().zip(stamps.iter()).map(|(names, stamps)| Files::of(names, stamps)).collect();
    Err(Error::new(ErrorKind::Input, difference(&files)))
}

/// Extracts a number from a stamp.
type PartOf = fn(&Stamp) -> u64;
/// Formats such a number for an error message.
type Describe = fn(u64) -> String;

/// Describes the first file that differs between ranks, and the difference.
fn difference(files: &[Files<'_>]) -> String {
    let mut names: Vec<&[u8]> = files.iter().flat_map(|files| files.0.iter().map(|file| file.0)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let stamps: Vec<Option<Stamp>> = files.iter().map(|files| files.get(name)).collect();
        let text = String::from_utf8_lossy(name);
        let is_missing = |stamp: &Option<Stamp>| stamp.is_none();
        if stamps.iter().any(is_missing) {
            let [without, with] = [true, false].map(|is| listed(&stamps, |stamp| is_missing(stamp) == is));
            return format!("{text} is missing on {without}, but not on {with}; all ranks must read the same files");
        }
        let stamps: Vec<Stamp> = stamps.into_iter().flatten().collect();
        let same = |part: fn(&Stamp) -> u64| stamps.iter().all(|stamp| part(stamp) == part(&stamps[0]));
        let what: (PartOf, Describe) = match () {
            () if !same(|stamp| stamp.bytes) => (|stamp| stamp.bytes, |bytes| format!("has {bytes} bytes")),
            () if !same(|stamp| stamp.checksum) => {
                (|stamp| stamp.checksum, |checksum| format!("has contents with the checksum {checksum:016x}"))
            }
            () if !same(|stamp| stamp.modified) => (
                |stamp| stamp.modified,
                |modified| {
                    format!("was modified {}.{:09} s after 1970", modified / 1_000_000_000, modified % 1_000_000_000)
                },
            ),
            () => continue,
        };
        let first = what.0(&stamps[0]);
        let other = stamps.iter().map(what.0).find(|value| *value != first).unwrap_or(first);
        let [a, b] = [first, other].map(|value| (what.1(value), listed(&stamps, |stamp| what.0(stamp) == value)));
        // The verb of the first phrase applies to both.
        let b0 = b.0.split_once(' ').map_or(b.0.as_str(), |(_, rest)| rest);
        return format!("{text} {} on {} and {b0} on {}; all ranks must read the same files", a.0, a.1, b.1);
    }
    "ranks read different files; all ranks must read the same files".into()
}

/// Lists the numbers of the ranks that `is_wanted` selects, at most the first eight.
fn listed<T>(all: &[T], is_wanted: impl Fn(&T) -> bool) -> String {
    const MAX_LISTED: usize = 8;
    let ranks: Vec<usize> = all.iter().enumerate().filter(|(_, one)| is_wanted(one)).map(|(rank, _)| rank).collect();
    let mut text = if ranks.len() == 1 { "rank ".to_string() } else { "ranks ".to_string() };
    for (at, rank) in ranks.iter().take(MAX_LISTED).enumerate() {
        // Writing to a string cannot fail.
        _ = write!(text, "{}{rank}", if at > 0 { ", " } else { "" });
    }
    if ranks.len() > MAX_LISTED {
        _ = write!(text, " and {} more", ranks.len() - MAX_LISTED);
    }
    text
}

/// Returns the concatenated names and the descriptions of all files of a path that exist.
fn described(path: &Path) -> (Vec<u8>, Vec<Stamp>) {
    let files = crate::parts(path).into_iter().chain(crate::companions(path));
    let mut files: Vec<_> = files.filter(|file| file.is_file()).collect();
    files.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    let block = (TOTAL_BYTES / files.len().max(1)).clamp(BLOCK[0], BLOCK[1]);
    let (mut names, mut stamps) = (vec![], vec![]);
    for file in files {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        names.extend_from_slice(name);
        let meta = fs::metadata(&file).ok();
        let modified = meta.as_ref().and_then(|meta| meta.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        stamps.push(Stamp {
            name: name.len() as u64,
            bytes: meta.map_or(0, |meta| meta.len()),
            modified: modified.map_or(0, |since| since.as_nanos() as u64),
            checksum: checksum(&file, block).unwrap_or(0),
        });
    }
    (names, stamps)
}

/// Returns a checksum of the first and the last `block` bytes of a file.
fn checksum(path: &Path, block: usize) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut bytes = vec![];
    file.by_ref().take(block as u64).read_to_end(&mut bytes)?;
    let len = file.metadata()?.len();
    let rest = len.saturating_sub(block as u64).min(block as u64);
    file.seek(SeekFrom::Start(len - rest))?;
    file.take(rest).read_to_end(&mut bytes)?;
    Ok(hash_of(&bytes))
}

fn hash_of(bytes: &[u8]) -> u64 {
    let word =
        |chunk: &[u8]| chunk.iter().fold(chunk.len() as u64, |word, &byte| word.wrapping_mul(257) ^ u64::from(byte));
    bytes.chunks(7).fold(bytes.len() as u64, |hash, chunk| mixed(hash ^ word(chunk)))
}

#[cfg(test)]
mod tests {
    use ropewalk::distributed::on_threads;

    use super::*;

    /// Returns the error message of ranks that have these files, given as name, contents, and modification time in
    /// seconds since 1970.
    fn said(name: &str, ranks: &[&[(&str, &str, u64)]]) -> String {
        let folder = std::env::temp_dir().join(format!("ropewalk-same-files-{name}-{}", std::process::id()));
        for (rank, files) in ranks.iter().enumerate() {
            fs::create_dir_all(folder.join(rank.to_string())).unwrap();
            for (name, text, time) in *files {
                let path = folder.join(rank.to_string()).join(name);
                fs::write(&path, text).unwrap();
                let time = UNIX_EPOCH + std::time::Duration::from_secs(*time);
                File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            }
        }
        let result =
            on_threads(ranks.len(), |rank| agree_on_files(rank, folder.join(rank.rank().to_string()).join("a.0")));
        fs::remove_dir_all(&folder).unwrap();
        result.map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn differences_are_named() {
        let (a, b) = (("a.0", "x", 5), ("a.1", "y", 6));
        assert_eq!(said("same", &[&[a, b], &[a, b], &[a, b]]), "");
        assert_eq!(said("none", &[&[], &[]]), "");
        let missing = said("missing", &[&[a, b], &[a], &[a]]);
        assert!(missing.starts_with("a.1 is missing on ranks 1, 2, but not on rank 0;"), "{missing}");
        let contents = said("contents", &[&[a, b], &[a, b], &[a, ("a.1", "z", 6)]]);
        assert!(
            contents.starts_with("a.1 has contents with the checksum ") && contents.contains(" on rank 2;"),
            "{contents}"
        );
        let time = said("time", &[&[a], &[("a.0", "x", 7)]]);
        assert!(time.starts_with("a.0 was modified 5.000000000 s after 1970 on rank 0 and modified 7.0"), "{time}");
    }
}
