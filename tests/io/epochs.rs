//! Headers that do not determine the unit of velocities: certain units are converted, assumptions are noted, and
//! impossible cases are rejected.

use std::path::PathBuf;

use ropewalk::units::VelocityUnit;
use ropewalk_io::{GadgetOptions, Masses, ReadOptions, Species, inspect, read, write_gadget};

use super::expected::{flat, stored};
use super::{Folder, all, f32s, refused};

/// Returns the factor by which velocities of a stored file are multiplied.
fn factor(name: &str, options: &ReadOptions) -> f64 {
    let snapshot = read(file(name), options).unwrap();
    // The first component of `velocities(1)` in `make_snapshots.py`.
    flat(snapshot.velocities.as_ref().unwrap())[3] / (53.0 / 8.0 - 128.0)
}

fn file(name: &str) -> PathBuf {
    stored(&format!("epoch_{name}.hdf5"))
}

/// The time, the flag of a comoving run, and the redshift, as defined by the codes.
#[test]
fn headers_of_hdf5() {
    let plain = ReadOptions::default();
    // The name, the factor, the redshift, and part of the note.
    for (name, wanted, redshift, said) in [
        ("flag", 0.5, Some(3.0), ""),
        ("isolated", 1.0, Some(0.0), ""),
        ("static", 1.0, Some(3.0), ""),
        ("time", 0.5, Some(3.0), "has time 0.25, matter and no redshift: the time is assumed to be the scale factor a"),
        ("only_redshift", 0.5, Some(3.0), "has redshift 3 and no time: the run is assumed to be comoving"),
        ("zero", 1.0, Some(0.0), "has time 0.25 at redshift 0, as in runs that are not comoving"),
    ] {
        let snapshot = all(file(name)).unwrap();
        assert_eq!((factor(name, &plain), snapshot.redshift), (wanted, redshift), "{name}");
        match &snapshot.notes[..] {
            [] => assert_eq!(said, "", "{name}"),
            [note] => assert!(
                !said.is_empty() && note.contains(said) && note.contains("ReadOptions::velocity_unit"),
                "{note}"
            ),
            notes => panic!("{notes:?}"),
        }
        // Each note of `inspect` is the beginning of a note of `read`.
        let inspected = |options| inspect(file(name), options).unwrap().notes;
        assert_eq!(inspected(&plain).len(), snapshot.notes.len(), "{name}");
        assert!(inspected(&plain).iter().zip(&snapshot.notes).all(|(doubt, note)| note.starts_with(doubt)), "{name}");
        // If the unit is specified, nothing is assumed.
        let told = plain.clone().velocity_unit(VelocityUnit::KM_S);
        assert_eq!(inspected(&told), [""; 0], "{name}");
        assert_eq!((factor(name, &told), read(file(name), &told).unwrap().notes), (1.0, vec![]), "{name}");
    }
    let apart = "its header has time 5 and redshift 3, which is scale factor 0.25";
    refused(file("apart"), &[apart, "give the unit of velocities", "ReadOptions::velocity_unit: km/s"]);
    assert_eq!(inspect(file("apart"), &plain).unwrap().notes, [apart]);
    let gadget = plain.clone().velocity_unit(VelocityUnit::GADGET);
    assert_eq!(factor("apart", &gadget.clone().redshift(0.0)), 1.0);
    assert_eq!(factor("apart", &gadget), 0.5);
    assert_eq!(read(file("apart"), &plain.velocities(false)).unwrap().notes, [apart]);
}

#[test]
fn headers_of_gadget() {
    let folder = Folder::new("epochs-binary");
    let path = folder.file("snap");
    let (points, masses) = (f32s(3, [1.0, 2.0, 3.0]), Masses::Equal(1.0));
    let write = |time, redshift| {
        let one = Species {
            particle_type: 1,
            positions: &points,
            velocities: Some(&points),
            ids: Some(&[7]),
            masses: &masses,
        };
        write_gadget(&path, &[one], &GadgetOptions::default().time(time).redshift(redshift)).unwrap();
    };
    write(5.0, 3.0);
    refused(&path, &["its header has time 5 and redshift 3, which is scale factor 0.25: give the unit of velocities"]);
    let said = inspect(&path, &ReadOptions::default()).unwrap().notes;
    assert_eq!(said, ["its header has time 5 and redshift 3, which is scale factor 0.25"]);
    let peculiar = ReadOptions::default().velocity_unit(VelocityUnit::KM_S);
    assert_eq!(flat(read(&path, &peculiar).unwrap().velocities.as_ref().unwrap())[0], 1.0);
    write(5.0, 0.0);
    assert_eq!((all(&path).unwrap().notes.len(), all(&path).unwrap().redshift), (0, Some(0.0)));
}
