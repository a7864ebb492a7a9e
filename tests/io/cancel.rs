//! Cancelled reading and writing returns an error at once and leaves neither a temporary nor a partial file. The same
//! call then succeeds.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use ropewalk::{Cancel, ErrorKind};
use ropewalk_io::{
    AtomicFile, Masses, Points, Progress, ReadOptions, Snapshot, SnapshotFormat, Table, read, read_from, read_with,
    write_snapshot,
};

use crate::{Folder, all};

const N: usize = if cfg!(debug_assertions) { 20_000 } else { 200_000 };

fn snapshot() -> Snapshot {
    let values = |scale: f32| (0..3 * N).map(|i| scale * (i % 1000) as f32).collect();
    let mut snapshot = Snapshot::new(Points::F32(Table::new(3, values(0.25)).unwrap()));
    snapshot.velocities = Some(Points::F32(Table::new(3, values(0.5)).unwrap()));
    snapshot.ids = Some((0..N as u64).collect());
    snapshot.masses = Masses::Each(vec![2.0; N]);
    snapshot
}

/// Cancels a call before its start, and at moments from its start to its end.
fn at_moments(call: impl Fn() -> ropewalk::Result<()> + Sync, mut after: impl FnMut()) {
    let start = Instant::now();
    call().unwrap();
    let whole = start.elapsed();
    for moment in 0..8 {
        let cancel = Cancel::new();
        if moment == 0 {
            cancel.cancel();
        }
        let result = scope(|scope| {
            let again = cancel.clone();
            scope.spawn(move || {
                sleep(whole * moment / 8);
                again.cancel();
            });
            cancel.run(&call)
        });
        if let Err(error) = &result {
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        }
        assert!(moment > 0 || result.is_err());
        after();
    }
}

/// Cancels a reading at its first report of progress.
#[track_caller]
fn amid(path: &Path) {
    let cancel = Cancel::new();
    let tell = |progress: Progress| {
        if progress.done > 0 {
            cancel.cancel();
        }
    };
    let result = cancel.run(|| read_with(path, &ReadOptions::default(), Some(&tell)));
    assert_eq!(result.map(|_| ()).unwrap_err().kind(), ErrorKind::Cancelled, "{}", path.display());
}

/// A file that cancels a call when its end is reached.
struct CancelAtEnd(File, Cancel);

impl Read for CancelAtEnd {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(buffer)?;
        if n == 0 {
            self.1.cancel();
        }
        Ok(n)
    }
}

/// Cancels a reading after all bytes were read, but before any of them is interpreted.
#[track_caller]
fn before_a_look(path: &Path) {
    let cancel = Cancel::new();
    let file = CancelAtEnd(File::open(path).unwrap(), cancel.clone());
    let result = cancel.run(|| read_from(file, path, &ReadOptions::default(), None));
    assert_eq!(result.map(|_| ()).unwrap_err().kind(), ErrorKind::Cancelled, "{}", path.display());
}

#[test]
fn formats() {
    let folder = Folder::new("cancel");
    let snapshot = snapshot();
    for (name, format) in [
        ("a.hdf5", SnapshotFormat::GadgetHdf5),
        ("a.gadget2", SnapshotFormat::Gadget2),
        ("a.npz", SnapshotFormat::Npz),
        ("a.csv", SnapshotFormat::Csv),
        ("a.ecsv", SnapshotFormat::Ecsv),
        ("a.parquet", SnapshotFormat::Parquet),
    ] {
        let path = folder.file(name);
        write_snapshot(&path, &snapshot, format).unwrap();
        let (bytes, expected) = (std::fs::read(&path).unwrap(), all(&path).unwrap());
        at_moments(
            || write_snapshot(&path, &snapshot, format),
            || {
                assert_eq!(folder.names(), [name]);
                assert!(std::fs::read(&path).unwrap() == bytes, "{name} is another file");
            },
        );
        at_moments(|| read(&path, &ReadOptions::default()).map(|_| ()), || ());
        before_a_look(&path);
        amid(&path);
        assert!(all(&path).unwrap() == expected, "{name} is read otherwise");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_compressed_file() {
    let folder = Folder::new("cancel-gz");
    let path = folder.file("a.csv.gz");
    let mut text = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    (0..N).for_each(|i| writeln!(text, "{i},{},0.5", i % 7).unwrap());
    std::fs::write(&path, text.finish().unwrap()).unwrap();
    let expected = all(&path).unwrap();
    at_moments(|| read(&path, &ReadOptions::default()).map(|_| ()), || ());
    before_a_look(&path);
    assert!(all(&path).unwrap() == expected);
}

#[test]
fn a_file_that_is_written() {
    let folder = Folder::new("cancel-write");
    let path = folder.with("a", b"before");
    let cancel = Cancel::new();
    let result = cancel.run(|| {
        let mut file = AtomicFile::create(&path)?;
        file.write_all(b"half").unwrap();
        cancel.cancel();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            file.write_all(b"more").unwrap();
        }
        file.commit()
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(folder.names(), ["a"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    // The list of unfinished files is unlocked again.
    AtomicFile::create(&path).unwrap().commit().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}
