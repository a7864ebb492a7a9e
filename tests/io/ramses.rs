//! RAMSES particle files, compared with pynbody, and damaged ones.

use std::fs;
use std::path::PathBuf;

use ropewalk::units::{Frame, VelocityUnit};
use ropewalk_io::{Format, Masses, Points, ReadOptions, Role, inspect, read};

use super::expected::{Expected, apart, each, flat, stored, types};
use super::{Folder, all, assert_modest_memory, refused};

fn output(name: &str) -> PathBuf {
    stored(name).join("output_00080")
}

#[test]
fn as_pynbody_reads_them() {
    for name in ["ramses_families", "ramses_old"] {
        let folder = output(name);
        let mut wanted = Expected::named(name);
        for path in [folder.clone(), folder.join("info_00080.txt"), folder.join("part_00080.out00002")] {
            let snapshot = all(path).unwrap();
            assert_eq!(snapshot.format, Format::Ramses);
            assert_eq!(flat(&snapshot.points), wanted.f64s("pos"));
            assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), wanted.f64s("vel"));
            assert_eq!(each(&snapshot.masses), wanted.f64s("mass"));
            assert_eq!(types(&snapshot), wanted.u8s("type"));
            assert_eq!(snapshot.ids, Some(wanted.u64s("id")));
            assert_eq!((snapshot.box_size, snapshot.redshift), (Some(2.0), Some(1.5)));
            let background = snapshot.background;
            assert_eq!(
                (background.omega_m, background.omega_lambda, background.h),
                (Some(0.3), Some(0.7), Some(wanted.f64("h")))
            );

            let (length, mass, velocity) =
                (snapshot.units.length.unwrap(), snapshot.units.mass.unwrap(), snapshot.units.velocity.unwrap());
            assert_eq!((length.frame, velocity.is_internal), (Frame::Comoving, false));
            // pynbody's parsec and solar mass have fewer digits.
            let physical = length.mpc * 1e3 * wanted.f64("a");
            assert!(apart(&[physical], &[wanted.f64("kpc")]) < 1e-4, "{physical}");
            assert!(apart(&[physical * 2.0], &[wanted.f64("box_kpc")]) < 1e-4);
            assert!(apart(&[mass.msun], &[wanted.f64("msol")]) < 1e-3, "{mass:?}");
            assert!(apart(&[velocity.km_s], &[wanted.f64("km_s")]) < 1e-12, "{velocity:?}");
        }
    }
}

#[test]
fn parts_of_an_output() {
    let path = output("ramses_families");
    let whole = all(&path).unwrap();
    let all_types = types(&whole);
    let stars = read(&path, &ReadOptions::default().types([4]).velocities(false)).unwrap();
    let of = |values: &[f64], width: usize| -> Vec<f64> {
        let rows = values.chunks_exact(width).zip(&all_types).filter(|(_, kind)| **kind == 4);
        rows.flat_map(|(row, _)| row.to_vec()).collect()
    };
    assert_eq!(flat(&stars.points), of(&flat(&whole.points), 3));
    assert_eq!(each(&stars.masses), of(each(&whole.masses), 1));
    assert_eq!((stars.velocities, stars.matter), (None, whole.matter));
    let few = read(&path, &ReadOptions::default().types([1, 4]).subsample(0.3).ids(false).masses(false)).unwrap();
    let rows = flat(&whole.points);
    let mut places = flat(&few.points)
        .chunks_exact(3)
        .map(|row| rows.chunks_exact(3).position(|own| own == row).unwrap())
        .collect::<Vec<_>>();
    let n = places.len();
    places.dedup();
    assert!((10..45).contains(&n) && places.len() == n && places.is_sorted());
    assert_eq!((few.ids, few.masses), (None, Masses::Unknown));
    let message = read(&path, &ReadOptions::default().types([0])).unwrap_err().to_string();
    assert!(message.contains("no particles of type 0; types present: 1 ("), "{message}");
    let unit = VelocityUnit { km_s: 1.0, is_internal: true };
    let internal = read(&path, &ReadOptions::default().velocity_unit(unit)).unwrap();
    let v = flat(whole.velocities.as_ref().unwrap())[0];
    assert_eq!(flat(internal.velocities.as_ref().unwrap())[0], v * 0.4f64.sqrt());

    let contents = inspect(&path, &ReadOptions::default()).unwrap();
    let of: Vec<_> = contents.types.iter().map(|kind| (kind.particle_type.unwrap(), kind.name.as_str())).collect();
    assert_eq!(of, [(1, "dark"), (3, "tracer"), (4, "star"), (5, "cloud")]);
    assert_eq!((contents.total(), contents.files.len()), (105, 3));
    assert_eq!(contents.types[0].fields.iter().filter(|field| field.role == Role::Position).count(), 3);
}

/// Copies an output and returns its path.
fn copied(folder: &Folder, name: &str) -> PathBuf {
    let to = folder.file(name);
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(output(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to
}

#[test]
fn more_particles_than_are_read_at_a_time() {
    let folder = Folder::new("ramses-many");
    let path = copied(&folder, "ramses_old");
    let record =
        |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes, &(bytes.len() as u32).to_le_bytes()].concat();
    let n = 150_001u32;
    let doubles = |of: &dyn Fn(u32) -> f64| record(&(0..n).flat_map(|i| of(i).to_le_bytes()).collect::<Vec<u8>>());
    let is_star = |i: u32| (40_000..90_000).contains(&i) && i.is_multiple_of(3) || i == n - 1;
    let mut bytes = [3, 3, n, 0, 0, 0, 0, 0].iter().flat_map(|k: &u32| record(&k.to_le_bytes())).collect::<Vec<u8>>();
    (0..7).for_each(|column| bytes.extend(doubles(&|i| f64::from(i) + f64::from(column) / 8.0)));
    bytes.extend(record(&(0..n).flat_map(|i| i.to_le_bytes()).collect::<Vec<u8>>()));
    bytes.extend(record(&vec![0; 4 * n as usize]));
    bytes.extend(doubles(&|i| f64::from(u8::from(is_star(i)))));
    bytes.extend(doubles(&|_| 0.0));
    fs::write(path.join("part_00080.out00001"), bytes).unwrap();
    let stars = read(&path, &ReadOptions::default().types([4])).unwrap();
    let ids: Vec<u64> = (0..n).filter(|&i| is_star(i)).map(u64::from).collect();
    assert_eq!(stars.ids.as_ref().map(|all| &all[..ids.len()]), Some(&ids[..]));
    assert_eq!(flat(&stars.points)[3..6], [40_005.0, 40_005.125, 40_005.25]);
    let dark = read(&path, &ReadOptions::default().types([1]).ids(false)).unwrap();
    let first: Vec<f64> = flat(&dark.points).chunks_exact(3).map(|row| row[0]).take(n as usize - ids.len()).collect();
    assert_eq!(first, (0..n).filter(|&i| !is_star(i)).map(f64::from).collect::<Vec<_>>());
    assert!(matches!(dark.points, Points::F64(_)));
}

#[test]
fn broken() {
    let folder = Folder::new("ramses-broken");
    let path = copied(&folder, "ramses_families");
    let part = path.join("part_00080.out00001");
    let bytes = fs::read(&part).unwrap();
    for cut in 0..bytes.len() {
        fs::write(&part, &bytes[..cut]).unwrap();
        // Missing columns at the end are detected by the reader, or by comparison with another file.
        if let Err(error) = all(&path) {
            let message = error.to_string();
            assert!(
                ["truncated", "begins with", "has other columns than"].iter().any(|part| message.contains(part)),
                "{message}"
            );
        } else {
            panic!("cut at {cut}");
        }
    }
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        fs::write(&part, bytes).unwrap();
    };
    patched(28, &[0xff, 0xff, 0xff, 0x7f]);
    refused(&path, &["part_00080.out00001", "declares 2147483647 particles, but has 5380 bytes"]);
    patched(28, &[61]);
    refused(&path, &["column position_x has 480 bytes, which is not possible for 61 particles"]);
    patched(4, &[4]);
    refused(&path, &["has 4 processes and 3 dimensions, but the info file has 3 and 3"]);
    patched(0, &[5]);
    refused(&path, &["begins with [5, 0, 0, 0]"]);
    patched(8, &[5]);
    refused(&path, &["the markers of the record at byte 0 disagree: 4 bytes before it, 5 after it"]);
    patched(0, &[]);
    fs::remove_file(path.join("part_00080.out00003")).unwrap();
    refused(&path, &["part_00080.out00003", "is missing: the output is of 3 processes"]);

    let info = fs::read_to_string(path.join("info_00080.txt")).unwrap();
    let edited = |from: &str, to: &str| fs::write(path.join("info_00080.txt"), info.replacen(from, to, 1)).unwrap();
    for (from, to, said) in [
        ("unit_l", "unit_x", "has no line for unit_l"),
        ("ncpu        =          3", "ncpu = 0", "has ncpu = 0; it must be from 1 to"),
        ("ncpu        =          3", "ncpu = 1e300", "has ncpu = 1"),
        ("ndim        =          3", "ndim = 4", "has ndim = 4; it must be from 1 to 3"),
        ("aexp        =  0.4", "aexp        =  x", "which is not a number"),
        ("boxlen      =  0", "boxlen      =  -0", "has boxlen = -2; it must be from"),
    ] {
        edited(from, to);
        refused(&path, &["info_00080.txt", said]);
    }
    fs::remove_file(path.join("info_00080.txt")).unwrap();
    refused(&path, &["is a folder without Gadget snapshots"]);
    assert_modest_memory();
}
