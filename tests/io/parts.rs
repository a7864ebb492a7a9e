//! Parts of a snapshot: concatenated, they equal the whole snapshot, and each part reads only its own data.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ropewalk_io::{
    Format, GadgetOptions, MassSum, Masses, Part, Points, Progress, ReadOptions, Snapshot, SnapshotFormat, Species,
    TypeRun, read, read_with, write_gadget, write_npy, write_snapshot,
};

use super::expected::stored;
use super::{Folder, f32s, f64s};

const PARTS: [usize; 5] = [1, 2, 3, 7, 16];

/// Returns the bits of all values.
fn bits(points: &Points) -> Vec<u64> {
    match points {
        Points::F32(table) => table.as_slice().iter().map(|x| u64::from(x.to_bits())).collect(),
        Points::F64(table) => table.as_slice().iter().map(|x| x.to_bits()).collect(),
    }
}

fn is_single(points: &Points) -> bool {
    matches!(points, Points::F32(_))
}

/// Returns the type of each point.
fn kinds(runs: &[TypeRun]) -> Vec<u8> {
    assert!(runs.iter().all(|run| run.count > 0));
    assert!(runs.windows(2).all(|pair| pair[0].particle_type != pair[1].particle_type));
    runs.iter().flat_map(|run| vec![run.particle_type; run.count]).collect()
}

/// Asserts that the concatenated points or velocities of the parts equal those of the whole.
fn assert_points<'a>(parts: impl Iterator<Item = &'a Points>, whole: &Points, what: &str) {
    let mut all = vec![];
    for part in parts {
        assert_eq!((part.dim(), is_single(part)), (whole.dim(), is_single(whole)), "{what}");
        all.extend(bits(part));
    }
    assert!(all == bits(whole), "{what}");
}

fn assert_masses(parts: &[Snapshot], whole: &Masses, what: &str) {
    let mut all = vec![];
    for part in parts {
        match (&part.masses, whole) {
            (Masses::Each(own), Masses::Each(_)) => all.extend(own.iter().map(|mass| mass.to_bits())),
            (own, whole) => assert_eq!(own, whole, "{what}"),
        }
    }
    if let Masses::Each(whole) = whole {
        assert!(all.into_iter().eq(whole.iter().map(|mass| mass.to_bits())), "{what}");
    }
}

/// Returns the total mass, as an all-reduce computes it from the parts.
fn matter(parts: &[Snapshot]) -> Option<f64> {
    let mut words = [0; MassSum::WORDS];
    let shares: Vec<_> = parts.iter().map(|part| part.slice.as_ref().unwrap().matter.as_ref()).collect();
    if shares.iter().all(Option::is_none) {
        assert!(parts.iter().all(|part| part.matter == parts[0].matter));
        return parts[0].matter;
    }
    for (share, part) in shares.into_iter().zip(parts) {
        assert_eq!(part.matter, None);
        words.iter_mut().zip(share.unwrap().words()).for_each(|(word, own)| *word += own);
    }
    Some(MassSum::from_words(&words).unwrap().value()).filter(|&matter| matter > 0.0)
}

/// Asserts that the parts of `path` equal the whole, or fail like it.
fn assert_parts(path: &Path, options: &ReadOptions, counts: &[usize]) -> Option<Snapshot> {
    let whole = read(path, options);
    let Ok(whole) = whole else {
        let message = whole.unwrap_err().to_string();
        let failed = (0..3).filter_map(|part| read(path, &options.clone().part(part, 3)).err());
        let failed: Vec<String> = failed.map(|error| error.to_string()).collect();
        assert!(failed.contains(&message), "{message}: {failed:?}");
        return None;
    };
    assert_eq!((&whole.slice, whole.first_row(), whole.total_rows()), (&None, 0, whole.points.len() as u64));
    for &count in counts {
        let what = format!("{} in {count} parts with {options:?}", path.display());
        let part = |index| read(path, &options.clone().part(index, count)).unwrap();
        let parts: Vec<Snapshot> = (0..count).map(part).collect();
        for (index, part) in parts.iter().enumerate() {
            let rows = Part { index, count }.rows(whole.points.len() as u64);
            assert_eq!(part.total_rows(), whole.points.len() as u64, "{what}");
            assert_eq!(part.first_row()..part.first_row() + part.points.len() as u64, rows, "{what}");
            let known = |of: &Snapshot| {
                let (box_size, redshift, header) = (of.box_size, of.redshift, of.header.clone());
                (box_size, redshift, header, of.units, of.background, of.format, of.columns.clone(), of.notes.clone())
            };
            assert_eq!(known(part), known(&whole), "{what}");
            assert_eq!(
                (part.velocities.is_some(), part.ids.is_some()),
                (whole.velocities.is_some(), whole.ids.is_some())
            );
        }
        assert_points(parts.iter().map(|part| &part.points), &whole.points, &what);
        if let Some(velocities) = &whole.velocities {
            assert_points(parts.iter().filter_map(|part| part.velocities.as_ref()), velocities, &what);
        }
        let ids: Vec<u64> = parts.iter().filter_map(|part| part.ids.as_ref()).flatten().copied().collect();
        assert_eq!(ids, whole.ids.clone().unwrap_or_default(), "{what}");
        assert_masses(&parts, &whole.masses, &what);
        let types: Vec<u8> = parts.iter().flat_map(|part| kinds(&part.types)).collect();
        assert_eq!(types, kinds(&whole.types), "{what}");
        assert_eq!(matter(&parts), whole.matter, "{what}");
    }
    Some(whole)
}

/// Asserts this for several options: all fields, without masses, single types and two types, subsamples.
fn assert_all_parts(path: &Path) -> bool {
    let options = ReadOptions::default();
    let Some(whole) = assert_parts(path, &options, &PARTS) else { return false };
    assert_parts(path, &options.clone().masses(false), &[2]);
    let mut types: Vec<u8> = whole.types.iter().map(|run| run.particle_type).collect();
    types.sort();
    types.dedup();
    for &kind in &types {
        assert_parts(path, &options.clone().types([kind]), &[3]);
    }
    if let [first, .., last] = types[..] {
        assert_parts(path, &options.clone().types([last, first]), &[3, 16]);
        assert_parts(path, &options.clone().types([last, first]).subsample(0.5), &[3]);
    }
    for fraction in [0.02, 0.5, 1.0] {
        assert_parts(path, &options.clone().subsample(fraction), &[1, 3, 16]);
    }
    if whole.points.len() < 1000 {
        assert_parts(path, &options, &[whole.points.len() + 3]);
    }
    true
}

/// Collects all files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn of_every_format() {
    let mut paths = vec![];
    files(&stored(""), &mut paths);
    paths.sort();
    let mut formats: Vec<Format> = vec![];
    for path in paths.iter().filter(|path| !path.to_str().unwrap().ends_with(".expected.npz")) {
        if assert_all_parts(path) {
            formats.push(read(path, &ReadOptions::default()).unwrap().format);
        }
    }
    for format in [
        Format::Tipsy,
        Format::GenericIo,
        Format::GadgetHdf5,
        Format::SwiftHdf5,
        Format::Ramses,
        Format::Abacus,
        Format::Npz,
        Format::Parquet,
    ] {
        assert!(formats.contains(&format), "{format}");
    }
}

/// Returns points of three types in `files` files. Gas and stars have individual masses, whose rounded sum depends on
/// the order.
fn snapshot(folder: &Folder, counts: [usize; 3], options: &GadgetOptions) -> PathBuf {
    let path = folder.file("snap");
    let total = counts.iter().sum::<usize>();
    let mut at = 0;
    let own: Vec<(Points, Vec<u64>, Masses)> = counts
        .iter()
        .zip([0, 1, 4])
        .map(|(&n, kind)| {
            let rows = at..at + n;
            at += n;
            let points =
                f32s(3, rows.clone().flat_map(|i| [i, i + total, i + 2 * total]).map(|x| x as f32).collect::<Vec<_>>());
            let ids = rows.clone().map(|i| (7 * i + 1) as u64).collect();
            let each = || rows.map(|i| f64::from((0.1 + (i as f32).sin().abs()) * 10f32.powi(i as i32 % 7))).collect();
            (points, ids, if kind == 1 { Masses::Equal(0.1) } else { Masses::Each(each()) })
        })
        .collect();
    let species: Vec<Species<'_>> = own
        .iter()
        .zip([0, 1, 4])
        .map(|((positions, ids, masses), particle_type)| Species {
            particle_type,
            positions,
            velocities: Some(positions),
            ids: Some(ids),
            masses,
        })
        .collect();
    write_gadget(&path, &species, options).unwrap();
    if path.exists() { path } else { folder.file("snap.0") }
}

#[test]
fn of_gadgets_files() {
    for labels in [false, true] {
        for files in [1, 3] {
            for big_endian in [false, true] {
                let folder = Folder::new(&format!("parts-gadget-{labels}-{files}-{big_endian}"));
                let options = GadgetOptions::default().labels(labels).files(files).big_endian(big_endian);
                let path = snapshot(&folder, [101, 50, 33], &options);
                assert!(assert_all_parts(&path));
                let whole = read(&path, &ReadOptions::default()).unwrap();
                for format in
                    [SnapshotFormat::GadgetHdf5, SnapshotFormat::Npz, SnapshotFormat::Parquet, SnapshotFormat::Ecsv]
                {
                    let ending = format!("{format:?}").to_lowercase();
                    let path = folder.file(&format!("copy.{ending}"));
                    write_snapshot(&path, &whole, format).unwrap();
                    assert!(assert_all_parts(&path), "{ending}");
                }
            }
        }
    }
}

/// A common mass, which tables recognize in their column, is found by each part.
#[test]
fn of_equal_masses() {
    let folder = Folder::new("parts-equal");
    let mut snapshot = Snapshot::new(f64s(3, (0..60).map(f64::from).collect::<Vec<_>>()));
    snapshot.masses = Masses::Equal(0.1);
    snapshot.types = vec![TypeRun { particle_type: 1, count: 20 }];
    for format in [
        SnapshotFormat::GadgetHdf5,
        SnapshotFormat::Gadget2,
        SnapshotFormat::Npz,
        SnapshotFormat::Ecsv,
        SnapshotFormat::Parquet,
    ] {
        let path = folder.file(&format!("{format:?}"));
        write_snapshot(&path, &snapshot, format).unwrap();
        assert_all_parts(&path);
        let third = read(&path, &ReadOptions::default().part(1, 3)).unwrap();
        assert_eq!((third.masses, third.matter), (Masses::Equal(0.1), Some(2.0)), "{format:?}");
    }
}

/// More rows than are read at a time.
#[test]
fn of_many_rows() {
    let folder = Folder::new("parts-many");
    let path = snapshot(&folder, [200_003, 150_001, 100_007], &GadgetOptions::default().files(2));
    for options in [ReadOptions::default(), ReadOptions::default().subsample(0.3), ReadOptions::default().types([0, 4])]
    {
        assert_parts(&path, &options, &[3, 16]);
    }
    let whole = read(&path, &ReadOptions::default()).unwrap();
    let copy = folder.file("copy.hdf5");
    write_snapshot(&copy, &whole, SnapshotFormat::GadgetHdf5).unwrap();
    assert_parts(&copy, &ReadOptions::default(), &[3, 16]);
}

#[test]
fn of_arrays() {
    let folder = Folder::new("parts-npy");
    let n = 100_003;
    let wide: Vec<f64> = (0..3 * n).map(|i| f64::from(i) / 7.0).collect();
    let short: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
    for (name, points) in [("a", f32s(3, short)), ("b", f64s(3, wide)), ("c", f64s(2, [1.0, 2.0])), ("d", f32s(3, []))]
    {
        let path = folder.file(name);
        write_npy(&path, &points).unwrap();
        assert_parts(&path, &ReadOptions::default(), &PARTS);
        assert_parts(&path, &ReadOptions::default().subsample(0.3), &PARTS);
        assert_parts(&path, &ReadOptions::default().columns(["2", "1"]), &[3]);
    }
    let columns: Vec<u8> = (0..300i64).flat_map(i64::to_be_bytes).collect();
    let path = folder.with("e", super::npy::file("'>i8'", true, "(100, 3)", &columns));
    assert!(assert_parts(&path, &ReadOptions::default(), &PARTS).is_some());
    assert!(assert_parts(&path, &ReadOptions::default().columns(["3", "1"]), &PARTS).is_some());
}

#[test]
fn parts_that_there_are_not() {
    let folder = Folder::new("parts-wrong");
    let path = folder.with("points.csv", "x,y\n1,2\n3,4\n");
    for (part, parts, said) in [
        (0, 0, "parts is 0; it must be at least 1"),
        (3, 3, "part is 3; it must be below the number of parts"),
        (usize::MAX, 1, "part is"),
    ] {
        let message = read(&path, &ReadOptions::default().part(part, parts)).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    let last = read(&path, &ReadOptions::default().part(usize::MAX - 1, usize::MAX)).unwrap();
    assert_eq!((last.points.len(), last.first_row()), (1, 1));
}

/// Truncated files are rejected by all parts, which check lengths before reading.
#[test]
fn short_files() {
    let folder = Folder::new("parts-short");
    let path = snapshot(&folder, [30, 20, 10], &GadgetOptions::default());
    let whole = fs::read(&path).unwrap();
    let array = folder.file("points.npy");
    write_npy(&array, &f64s(3, vec![1.0; 300])).unwrap();
    let array = fs::read(array).unwrap();
    for bytes in [&whole[..whole.len() - 5], &whole[..1000], &array[..array.len() - 1]] {
        let path = folder.with("cut", bytes);
        for part in 0..3 {
            let message = read(&path, &ReadOptions::default().part(part, 3)).unwrap_err().to_string();
            assert!(message.contains("truncated"), "{message}");
        }
    }
}

/// A damaged chunk of HDF5 or block of GenericIO is an error only in the parts that have rows in it.
#[test]
fn damaged_chunks() {
    let folder = Folder::new("parts-damaged");
    let options = ReadOptions::default().masses(false);
    for (name, said) in [("swift.hdf5", "damaged chunk"), ("genericio/little", "is damaged: the block")] {
        let whole = fs::read(stored(name)).unwrap();
        let file = Path::new(name).file_name().unwrap().to_str().unwrap();
        let (mut met, mut spared) = (0, 0);
        for at in (0..whole.len()).step_by(97) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let path = folder.with(file, bytes);
            let Err(error) = read(&path, &options) else { continue };
            if !error.to_string().contains(said) {
                continue;
            }
            let failed = (0..7).filter(|&part| read(&path, &options.clone().part(part, 7)).is_err()).count();
            assert!(failed > 0, "byte {at}: {error}");
            (met, spared) = (met + 1, spared + usize::from(failed < 7));
        }
        assert!(met > 0 && spared > 0, "{name} {met} {spared}");
    }
}

/// Returns the result of `work` and the bytes that it reads on one thread; `None` on systems that do not count them.
#[cfg(target_os = "linux")]
fn bytes_read<T: Send>(work: impl Fn() -> T + Sync) -> Option<(T, u64)> {
    let count = || {
        let text = fs::read_to_string("/proc/thread-self/io").ok()?;
        text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok())
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let before = count()?;
        let done = work();
        // The first count has read some hundred bytes itself.
        Some((done, count()? - before))
    })
}

/// A part reads only its own bytes and the structures that locate them, and allocates no memory for more.
#[cfg(target_os = "linux")]
#[test]
fn only_its_own_is_read() {
    let folder = Folder::new("parts-bytes");
    let path = snapshot(&folder, [60_000, 100_000, 40_000], &GadgetOptions::default().files(2).wide_ids(true));
    let whole = read(&path, &ReadOptions::default()).unwrap();
    let (hdf5, array) = (folder.file("copy.hdf5"), folder.file("points.npy"));
    write_snapshot(&hdf5, &whole, SnapshotFormat::GadgetHdf5).unwrap();
    write_npy(&array, &whole.points).unwrap();
    let tipsy = folder.file("copy.tipsy");
    write_snapshot(&tipsy, &whole, SnapshotFormat::Tipsy).unwrap();
    // The ids of Tipsy are a text file, which is read completely.
    for (path, ids) in [(&path, true), (&hdf5, true), (&array, true), (&tipsy, false)] {
        let options = ReadOptions::default().ids(ids);
        let done = AtomicU64::new(0);
        let note = |progress: Progress| _ = done.fetch_max(progress.total, Ordering::Relaxed);
        let Some((whole, all)) = bytes_read(|| read_with(path, &options, Some(&note)).unwrap()) else {
            eprintln!("skipped: bytes read are not counted here");
            return;
        };
        let arrays = done.swap(0, Ordering::Relaxed);
        for part in 0..16 {
            let options = options.clone().part(part, 16);
            let (own, bytes) = bytes_read(|| read_with(path, &options, Some(&note)).unwrap()).unwrap();
            // The number of bytes differs between particles.
            let most = all / 13 + 24_000;
            assert!(bytes < most, "{} part {part}: {bytes} of {all}, at most {most}", path.display());
            let own_arrays = done.swap(0, Ordering::Relaxed);
            assert!(own_arrays <= arrays / 16 + 64, "{}: {own_arrays} of {arrays}", path.display());
            assert_eq!(own.points.len(), whole.points.len() / 16);
        }
    }
}
