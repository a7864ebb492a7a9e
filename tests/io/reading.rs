//! Behaviour common to all readers: types, choice of columns and particles, progress, compressed files, files that
//! change.

use std::io::Write;
use std::sync::Mutex;

use flate2::{Compression, write::GzEncoder};
use ropewalk_io::{
    Format, GadgetOptions, Masses, Points, ReadOptions, Role, Snapshot, Species, Table, TypeRun, inspect, read,
    read_from, read_with, write_gadget,
};

use super::Folder;

/// Writes a snapshot of types 0 (5 particles with masses), 1 (40,000 with one mass) and 4 (3 with masses) to two
/// files.
fn snapshot(folder: &Folder) -> std::path::PathBuf {
    let path = folder.file("snap");
    let points = |from: usize, n: usize| {
        Points::F32(Table::new(3, (3 * from..3 * (from + n)).map(|x| x as f32 / 1024.0).collect()).unwrap())
    };
    let each = |from: usize, n: usize| Masses::Each((from..from + n).map(|i| i as f64).collect());
    let (gas, dark, stars) = (points(0, 5), points(5, 40_000), points(40_005, 3));
    let ids: Vec<u64> = (1..=40_008).collect();
    let species = [
        Species {
            particle_type: 0,
            positions: &gas,
            velocities: Some(&gas),
            ids: Some(&ids[..5]),
            masses: &each(1, 5),
        },
        Species {
            particle_type: 1,
            positions: &dark,
            velocities: Some(&dark),
            ids: Some(&ids[5..40_005]),
            masses: &Masses::Equal(8.0),
        },
        Species {
            particle_type: 4,
            positions: &stars,
            velocities: Some(&stars),
            ids: Some(&ids[40_005..]),
            masses: &each(6, 3),
        },
    ];
    let mut options = GadgetOptions::default();
    options.box_size = Some(128.0);
    write_gadget(&path, &species, &options).unwrap();
    path
}

fn rows(points: &Points) -> Vec<[f32; 3]> {
    match points {
        Points::F32(table) => table.rows::<3>().unwrap().to_vec(),
        Points::F64(_) => panic!("points are of 32 bits"),
    }
}

fn each(masses: &Masses) -> &[f64] {
    match masses {
        Masses::Each(masses) => masses,
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_types() {
    let folder = Folder::new("types");
    let path = snapshot(&folder);
    let all = read(&path, &ReadOptions::default()).unwrap();
    let run = |particle_type, count| TypeRun { particle_type, count };
    assert_eq!(all.types, [run(0, 5), run(1, 40_000), run(4, 3)]);
    assert_eq!(all.matter, Some(15.0 + 8.0 * 40_000.0 + 21.0));
    let some = read(&path, &ReadOptions::default().types([4, 0])).unwrap();
    assert_eq!(some.types, [run(0, 5), run(4, 3)]);
    assert_eq!(some.ids.as_deref().unwrap(), [1, 2, 3, 4, 5, 40_006, 40_007, 40_008]);
    assert_eq!(each(&some.masses), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let whole = rows(&all.points);
    assert_eq!(rows(&some.points), [&whole[..5], &whole[40_005..]].concat());
    assert_eq!(some.matter, all.matter);
    let mixed = read(&path, &ReadOptions::default().types([1, 4])).unwrap();
    assert_eq!(
        (each(&mixed.masses).len(), each(&mixed.masses)[39_999], each(&mixed.masses)[40_000]),
        (40_003, 8.0, 6.0)
    );
    let message = read(&path, &ReadOptions::default().types([1, 5])).unwrap_err().to_string();
    assert!(message.contains("has no particles of type 5; types present: 0 (5), 1 (40000), 4 (3)"), "{message}");
}

#[test]
fn columns_that_are_not_wanted() {
    let folder = Folder::new("columns");
    let path = snapshot(&folder);
    let bare = ReadOptions::default().velocities(false).ids(false).masses(false);
    let read_bare = read(&path, &bare).unwrap();
    assert_eq!((read_bare.velocities, read_bare.ids, read_bare.masses), (None, None, Masses::Unknown));
    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    assert_eq!((contents.format, contents.total(), contents.box_size), (Format::Gadget1, 40_008, Some(128.0)));
    let kinds: Vec<_> = contents.types.iter().map(|kind| (kind.particle_type, kind.count, kind.mass)).collect();
    assert_eq!(kinds, [(Some(0), 5, None), (Some(1), 40_000, Some(8.0)), (Some(4), 3, None)]);
    let roles: Vec<Role> = contents.types[0].fields.iter().map(|field| field.role).collect();
    assert_eq!(roles, [Role::Position, Role::Velocity, Role::Id, Role::Mass]);
    assert_eq!(contents.bytes(&bare), 12 * 40_008);
    // Masses have 64 bits if there are any.
    assert_eq!(contents.bytes(&ReadOptions::default()), 32 * 40_008 + 8 * 8);
}

#[test]
fn a_part_of_the_particles() {
    let folder = Folder::new("subsample");
    let path = snapshot(&folder);
    let all = read(&path, &ReadOptions::default()).unwrap();
    let part = read(&path, &ReadOptions::default().subsample(0.25)).unwrap();
    let kept: Vec<usize> = part.ids.as_deref().unwrap().iter().map(|&id| id as usize - 1).collect();
    assert!((9_700..10_300).contains(&kept.len()), "{}", kept.len());
    assert!(kept.is_sorted_by(|a, b| a < b));
    let whole = rows(&all.points);
    assert_eq!(rows(&part.points), kept.iter().map(|&i| whole[i]).collect::<Vec<_>>());
    assert_eq!(part.velocities.as_ref().map(Points::len), Some(kept.len()));
    let masses = each(&all.masses);
    assert_eq!(each(&part.masses), kept.iter().map(|&i| 4.0 * masses[i]).collect::<Vec<_>>());
    assert_eq!(part.types.iter().map(|run| run.count).sum::<usize>(), kept.len());
    assert_eq!(part.matter, all.matter);
    // Tables keep the same particles.
    let text: String = rows(&all.points).iter().map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
    let table = read(folder.with("points.txt", text), &ReadOptions::default().subsample(0.25)).unwrap();
    assert_eq!(table.points.len(), kept.len());
    for bad in [0.0, -0.5, 1.5, f64::NAN] {
        let message = read(&path, &ReadOptions::default().subsample(bad)).unwrap_err().to_string();
        assert!(message.contains("subsample"), "{message}");
    }
}

#[test]
fn progress_reaches_its_end() {
    let folder = Folder::new("progress");
    let path = snapshot(&folder);
    let last = Mutex::new((0, 0));
    let note = |progress: ropewalk_io::Progress| {
        let mut last = last.lock().unwrap();
        assert!(progress.done <= progress.total);
        *last = (last.0.max(progress.done), last.1.max(progress.total));
    };
    let options = ReadOptions::default();
    read_with(&path, &options, Some(&note)).unwrap();
    let expected = 12 * 2 * 40_008 + 8 * 40_008 + 8 * 40_008;
    assert_eq!(*last.lock().unwrap(), (expected, expected));
}

/// Both passes over a text table count, in bytes of the file, compressed or not.
#[test]
fn progress_of_text_tables() {
    let folder = Folder::new("text-progress");
    let text: String = (0..100_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    let table = format!("x,y\n{text}");
    for (name, bytes) in [("a.csv", table.clone().into_bytes()), ("a.csv.gz", gzip(table.as_bytes()))] {
        let path = folder.with(name, &bytes);
        let seen = Mutex::new(vec![]);
        let note = |progress: ropewalk_io::Progress| seen.lock().unwrap().push((progress.done, progress.total));
        assert_eq!(read_with(&path, &ReadOptions::default(), Some(&note)).unwrap().points.len(), 100_000);
        let (seen, total) = (seen.into_inner().unwrap(), 2 * bytes.len() as u64);
        assert!(seen.is_sorted() && seen.iter().all(|&(done, all)| all == total && done <= total), "{name}");
        assert_eq!(seen.last(), Some(&(total, total)), "{name}");
        assert!(seen.iter().any(|&(done, _)| 0 < done && done < total / 2), "{name}: {seen:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files() {
    let folder = Folder::new("gzip");
    let path = snapshot(&folder);
    let plain = read(&path, &ReadOptions::default()).unwrap();
    let packed = folder.with("snap.gz", gzip(&std::fs::read(&path).unwrap()));
    assert!(read(&packed, &ReadOptions::default()).unwrap() == plain);
    let contents = inspect(&packed, &ReadOptions::default()).unwrap();
    assert_eq!((contents.total(), contents.files), (40_008, vec![packed]));
    let text = folder.with("text.gz", gzip(b"x,y\n1,2\n3,4\n"));
    assert_eq!(read(&text, &ReadOptions::default()).unwrap().points.len(), 2);

    let message = |bytes: &[u8]| {
        let path = folder.with("bad.gz", bytes);
        let message = read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: ", path.display())), "{message}");
        message
    };
    let whole = gzip(b"x,y\n1,2\n3,4\n");
    assert!(message(&whole[..whole.len() - 6]).contains("cannot be read"));
    assert!(message(&gzip(&whole)).contains("compressed twice"));
    assert!(message(&gzip(b"words\n")).contains("no rows"));
}

#[test]
fn what_is_in_no_file() {
    let folder = Folder::new("spool");
    let path = snapshot(&folder);
    let bytes = std::fs::read(&path).unwrap();
    let options = ReadOptions::default().types([1]);
    let spooled: Snapshot = read_from(&bytes[..], "standard input", &options, None).unwrap();
    assert!(spooled == read(&path, &options).unwrap());
    let message = read_from(&bytes[..1000], "standard input", &options, None).unwrap_err().to_string();
    assert!(message.starts_with("standard input: "), "{message}");
}

#[test]
fn a_file_that_changes_while_it_is_read() {
    let folder = Folder::new("changes");
    let path = snapshot(&folder);
    let options = ReadOptions::default();
    let append = |_| {
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"more").unwrap();
    };
    let message = read_with(&path, &options, Some(&append)).unwrap_err().to_string();
    assert!(message.contains("changed while it was read"), "{message}");
}
