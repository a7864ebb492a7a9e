//! Metadata of binary snapshots: used, noted or rejected.

use std::fs;

use ropewalk_io::{GadgetOptions, Masses, ReadOptions, Species, inspect, read, write_gadget};

use super::expected::{flat, stored};
use super::{Folder, all, f32s, refused};

/// Returns a Fortran record.
fn record(bytes: &[u8], big_endian: bool) -> Vec<u8> {
    let length = bytes.len() as u32;
    let marker = if big_endian { length.to_be_bytes() } else { length.to_le_bytes() };
    [&marker[..], bytes, &marker].concat()
}

/// Returns a file with GADGET-4's header for the given number of types: two particles of type 1, and one of type 0 if
/// it exists.
fn gadget4(types: usize, big_endian: bool, labels: bool) -> Vec<u8> {
    let word = |value: u64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let counts: Vec<u64> = (0..types as u64).map(|t| [1, 2].get(t as usize).copied().unwrap_or(0)).collect();
    let mut head: Vec<u8> = counts.iter().chain(&counts).flat_map(|&count| word(count)).collect();
    head.extend((0..types).flat_map(|t| word(if t == 1 { 0.1f64.to_bits() } else { 0 })));
    head.extend([0.25f64, 3.0, 10.0].into_iter().flat_map(|number| word(number.to_bits())));
    head.extend(if big_endian { 1u32.to_be_bytes() } else { 1u32.to_le_bytes() });
    head.extend([0; 4]);
    head.extend([0; 16]);
    let float = |value: f32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let floats = |n: usize, factor: f32| (0..n).flat_map(|k| float(k as f32 * factor)).collect::<Vec<u8>>();
    let id = |k: u32| if big_endian { k.to_be_bytes() } else { k.to_le_bytes() };
    let blocks = [
        ("HEAD", head),
        ("POS ", floats(9, 0.5)),
        ("VEL ", floats(9, 2.0)),
        ("ID  ", (7..10).flat_map(id).collect()),
        ("MASS", floats(1, 0.0)),
        ("U   ", floats(1, 1.0)),
    ];
    let mut file = vec![];
    for (label, bytes) in blocks {
        if labels {
            file.extend(record(&[label.as_bytes(), &id(bytes.len() as u32 + 8)].concat(), big_endian));
        }
        file.extend(record(&bytes, big_endian));
    }
    file
}

#[test]
fn headers_of_gadget_4() {
    let folder = Folder::new("gadget4");
    for (types, big_endian, labels) in
        [(2, false, false), (6, false, true), (6, true, false), (9, false, false), (10, true, true)]
    {
        let path = folder.with("snap", gadget4(types, big_endian, labels));
        let snapshot = all(&path).unwrap();
        assert_eq!(snapshot.points, f32s(3, (0..9).map(|k| k as f32 * 0.5).collect::<Vec<_>>()), "{types}");
        // In units of the root of the scale factor.
        assert_eq!(flat(snapshot.velocities.as_ref().unwrap())[..3], [0.0, 1.0, 2.0]);
        assert_eq!((snapshot.ids, snapshot.masses), (Some(vec![7, 8, 9]), Masses::Each(vec![0.0, 0.1, 0.1])));
        assert_eq!(
            (snapshot.redshift, snapshot.box_size, snapshot.background),
            (Some(3.0), Some(10.0), Default::default())
        );
        let note = if labels { "blocks that are not read: U" } else { "1 blocks without names are not read" };
        assert_eq!(snapshot.notes, [note]);
        let file = fs::read(&path).unwrap();
        for cut in 0..file.len() {
            drop(all(folder.with("cut", &file[..cut])));
        }
    }
    let mut other = gadget4(9, false, false);
    other[4 + 8 * 7] = 5;
    refused(folder.with("snap", &other), &["particles of type 7; types must be 0 to 5"]);
    let mut many = gadget4(6, false, false);
    many[4 + 15] = 0x7f;
    refused(folder.with("snap", &many), &["declares", "particles of type 1, but the file has"]);
}

#[test]
fn flags_and_blocks_of_gadget_2() {
    let folder = Folder::new("flags");
    let points = f32s(3, [0.5; 6]);
    let species = Species {
        particle_type: 1,
        positions: &points,
        velocities: Some(&points),
        ids: Some(&[1, 2]),
        masses: &Masses::Equal(1.0),
    };
    let path = folder.file("snap");
    for labels in [false, true] {
        write_gadget(&path, &[species], &GadgetOptions::default().labels(labels)).unwrap();
        let plain = fs::read(&path).unwrap();
        assert!(inspect(&path, &ReadOptions::default()).unwrap().notes.is_empty());
        let head = if labels { 20 } else { 4 };
        for (at, name) in [
            (88, "Flag_Sfr"),
            (92, "Flag_Feedback"),
            (120, "Flag_Cooling"),
            (160, "Flag_StellarAge"),
            (164, "Flag_Metals"),
            (192, "Flag_Entropy_ICs"),
            (196, "Flag_DoublePrecision"),
            (200, "Flag_IC_Info"),
        ] {
            let mut flagged = plain.clone();
            flagged[head + at] = 1;
            let notes = inspect(folder.with("flagged", &flagged), &ReadOptions::default()).unwrap().notes;
            assert_eq!(notes, [format!("its header has unused entries: {name} 1")]);
        }
        let mut filled = plain.clone();
        filled[head + 250] = 1;
        let notes = inspect(folder.with("filled", &filled), &ReadOptions::default()).unwrap().notes;
        assert_eq!(notes, ["its header has unused entries: bytes 204 to 255"]);
        // There GADGET-4 repeats the counts, and has a number where others have flags.
        for t in 0..6 {
            let count = filled[head + 96 + 4 * t];
            filled[head + 208 + 8 * t] = count;
            filled[head + 209 + 8 * t..head + 216 + 8 * t].fill(0);
        }
        filled[head + 160..head + 168].copy_from_slice(&0.1f64.to_le_bytes());
        assert!(inspect(folder.with("filled", &filled), &ReadOptions::default()).unwrap().notes.is_empty());
        // Blocks after those that are read, and bytes that are not blocks.
        let mut more = plain.clone();
        for label in [b"POT ", b"ACCE"] {
            if labels {
                more.extend(record(&[&label[..], &[16, 0, 0, 0]].concat(), false));
            }
            more.extend(record(&[0; 8], false));
        }
        let note = if labels { "blocks that are not read: POT, ACCE" } else { "2 blocks without names are not read" };
        assert_eq!(all(folder.with("more", &more)).unwrap().notes, [note]);
        if !labels {
            more.extend([1, 2, 3]);
            let notes = all(folder.with("more", &more)).unwrap().notes;
            assert!(notes[1].starts_with("3 bytes at the end of") && notes.len() == 2, "{notes:?}");
        }
    }
}

#[test]
fn parameters_of_tipsy() {
    let folder = Folder::new("param");
    let bytes = fs::read(stored("tipsy_standard").join("run.00080")).unwrap();
    let path = folder.with("run.00080", &bytes);
    for (text, said) in [
        ("dKpcUnit = wide\n", "dKpcUnit is 'wide'; it must be a number above 0"),
        ("dMsolUnit = -1\n", "dMsolUnit is '-1'"),
        ("bPeriodic = yes\n", "bPeriodic is 'yes'; it must be a number"),
        ("bPeriodic = 1\ndxPeriod = 0\n", "dxPeriod is '0'"),
        ("dOmega0 = nan\n", "dOmega0 is 'nan'"),
        ("bPeriodic = 1\ndxPeriod = 1\ndyPeriod = 2\n", "the sides of a periodic box must be equal"),
    ] {
        folder.with("run.param", text);
        refused(&path, &[said]);
    }
    folder.with("run.param", "achOutName = run\nnSteps = 10 # steps\nbPeriodic = 1\ndPeriod = 2\n");
    let snapshot = all(&path).unwrap();
    assert_eq!((snapshot.box_size, snapshot.notes), (Some(2.0), vec![]));
    // A file with another name is used if its text names the run, which is noted.
    fs::rename(folder.file("run.param"), folder.file("other.param")).unwrap();
    let notes = all(&path).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].contains("other.param, which names this file"), "{notes:?}");
}

#[test]
fn headers_of_abacus() {
    let folder = Folder::new("abacus-header");
    let bytes = fs::read(stored("abacus").join("pack9.asdf")).unwrap();
    let whole = all(stored("abacus").join("pack9.asdf")).unwrap();
    let edited = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|own| own == from.as_bytes()).unwrap();
        folder.with("edited.asdf", [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat())
    };
    // Packed bits have no sign.
    let signed = all(edited("datatype: uint8", "datatype: int8")).unwrap();
    assert!(signed.points == whole.points && signed.velocities == whole.velocities);
    refused(edited("datatype: uint8", "datatype: uint16"), &["has pack9 of type uint16"]);
    for (entry, key) in [("BoxSize: 500.0", "BoxSize"), ("H0: 67.36", "H0"), ("Redshift: 0.5", "Redshift")] {
        let said = format!("header.{key} 'wide', which is not a finite number");
        refused(edited(entry, &format!("{key}: wide")), &[&said]);
        let said = format!("header.{key} '.nan', which");
        refused(edited(entry, &format!("{key}: .nan")), &[&said]);
    }
    let notes = inspect(stored("abacus").join("pack9.asdf"), &ReadOptions::default()).unwrap().notes;
    assert_eq!(notes[1], "entries of its header that are not used: OutputType, SimName, ppd");
    assert_eq!(
        notes[0],
        "its header says that it holds the fraction 0.03 of the particles; masses are those of single particles"
    );
    assert_eq!(whole.notes, notes[..1]);
}

#[test]
fn files_of_ramses() {
    let folder = Folder::new("ramses-files");
    let stored = stored("ramses_families");
    let output =
        fs::read_dir(&stored).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap_or(stored);
    let mut info = None;
    for entry in fs::read_dir(output).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        // Gas files are replaced by the test's own.
        if !name.starts_with("hydro_") {
            fs::copy(&path, folder.file(&name)).unwrap();
        }
        info = info.or_else(|| name.starts_with("info_").then(|| folder.file(&name)));
    }
    let info = info.unwrap();
    let number = info.file_stem().unwrap().to_str().unwrap().trim_start_matches("info_").to_string();
    assert!(all(&info).unwrap().notes.is_empty());
    folder.with(&format!("hydro_{number}.out00001"), b"");
    folder.with(&format!("sink_{number}.csv"), b"");
    let notes = all(&info).unwrap().notes;
    assert!(notes[0].contains("gas is in cells") && notes[1].contains("sinks (sink_") && notes.len() == 2, "{notes:?}");
    assert_eq!(inspect(&info, &ReadOptions::default()).unwrap().notes, notes);
}

#[test]
fn names_of_arrays_in_archives() {
    let folder = Folder::new("archive-names");
    let write = |arrays: &[(&str, &str, &str, Vec<u8>)]| {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
        let points: Vec<u8> = (0..6).flat_map(|k| f64::from(k).to_le_bytes()).collect();
        for (name, descr, shape, data) in [("pos", "'<f8'", "(2, 3)", points)].iter().chain(arrays) {
            zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut zip, &super::npy::file(descr, false, shape, data)).unwrap();
        }
        folder.with("a.npz", zip.finish().unwrap().into_inner())
    };
    let numbers = |values: &[f64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let number = |name: &'static str, value: f64| [(name, "'<f8'", "()", numbers(&[value]))];
    for bad in [-5.0, f64::NAN, f64::INFINITY] {
        refused(write(&number("box_size", bad)), &["has a box with sides of", "finite and not below 0"]);
    }
    assert_eq!(all(write(&number("box_size", 0.0))).unwrap().box_size, None);
    assert_eq!(all(write(&number("box_size", 10.0))).unwrap().box_size, Some(10.0));
    let three = [("BoxSize", "'<f8'", "(3,)", numbers(&[10.0, 20.0, 30.0]))];
    refused(write(&three), &["10, 20, 30; the sides of a periodic box must be equal"]);
    assert_eq!(read(write(&three), &ReadOptions::default().open(true)).unwrap().box_size, None);
    refused(write(&[("box", "'<U3'", "()", vec![0; 12])]), &["array box holds values of type '<U3'"]);
    refused(
        write(&[("box", "'<f8'", "(4,)", numbers(&[1.0; 4]))]),
        &["array box has 4 rows of 1; it must have one to three"],
    );
    refused(write(&number("redshift", f64::NAN)), &["array redshift is NaN; it must be one finite number"]);
    refused(write(&[("redshift", "'<f8'", "(2,)", numbers(&[0.0, 1.0]))]), &["array redshift is 0, 1"]);
    refused(write(&[("redshift", "'|S4'", "()", vec![0; 4])]), &["array redshift holds values of type '|S4'"]);
    refused(write(&number("h", -0.7)), &["array h is -0.7; it must not be below 0"]);
    let others = [("label", "'<i4'", "(2,)", vec![0; 8]), ("seed", "'<f8'", "()", numbers(&[1.0]))];
    assert_eq!(all(write(&others)).unwrap().notes, ["arrays that are not used: label, seed"]);
}
