//! Tipsy files written by pynbody, round trips, and damaged files.

use std::fs;

use ropewalk::units::{Frame, LengthUnit, MassUnit, Units, VelocityUnit};
use ropewalk_io::{Background, Format, Masses, ReadOptions, Role, Species, TipsyOptions, inspect, read, write_tipsy};

use super::expected::{Expected, apart, each, flat, stored, types};
use super::{Folder, all, assert_modest_memory, f32s, f64s, refused};

#[test]
fn as_pynbody_reads_them() {
    for name in ["tipsy_standard", "tipsy_native"] {
        let snapshot = all(stored(name).join("run.00080")).unwrap();
        let mut pynbody = Expected::named(name);
        assert_eq!(snapshot.format, Format::Tipsy);
        assert_eq!(flat(&snapshot.points), pynbody.f64s("pos"));
        // pynbody's velocities are v / a.
        let velocities = flat(snapshot.velocities.as_ref().unwrap());
        let peculiar: Vec<f64> = pynbody.f64s("vel").iter().map(|v| f64::from((v * 0.4) as f32)).collect();
        assert_eq!(velocities, peculiar);
        assert_eq!(each(&snapshot.masses), pynbody.f64s("mass"));
        assert_eq!(snapshot.ids.as_deref(), Some(&*pynbody.u64s("iord")));
        assert_eq!(types(&snapshot), [vec![0; 40], vec![1; 60], vec![4; 25]].concat());

        assert_eq!((snapshot.redshift, snapshot.box_size), (Some(1.0 / 0.4 - 1.0), Some(1.0)));
        let length = snapshot.units.length.unwrap();
        assert_eq!((length.mpc * 1e3, length.frame), (pynbody.f64("box_kpc"), Frame::Comoving));
        assert_eq!(snapshot.units.mass, Some(MassUnit { msun: 1.84793e16, per_h: false }));
        // The constant that pynbody uses for sqrt(G) is wrong by 1.3e-4.
        let unit = snapshot.units.velocity.unwrap();
        let km_s: Vec<f64> = velocities.iter().map(|v| v * unit.km_s).collect();
        assert!(apart(&km_s, &pynbody.f64s("km_s")) < 2e-4, "{unit:?}");
        let background = snapshot.background;
        assert!((background.h.unwrap() / pynbody.f64("h") - 1.0).abs() < 2e-4);
        assert_eq!((background.omega_m, background.omega_lambda), (Some(0.24), Some(0.76)));
    }
}

#[test]
fn without_a_parameter_file() {
    let path = stored("tipsy_bare").join("run.00080");
    let (snapshot, mut pynbody) = (all(&path).unwrap(), Expected::named("tipsy_bare"));
    assert_eq!(flat(&snapshot.points), pynbody.f64s("pos"));
    assert_eq!(flat(snapshot.velocities.as_ref().unwrap()), pynbody.f64s("vel"));
    assert_eq!((snapshot.ids, snapshot.redshift, snapshot.box_size), (None, None, None));
    assert_eq!((snapshot.units, snapshot.background), Default::default());
}

/// A parameter file that names another file, in its name or its text, is ignored. One that names no file is used.
#[test]
fn parameter_files_of_others() {
    let folder = Folder::new("tipsy-others");
    let path = folder.file("other");
    fs::copy(stored("tipsy_bare").join("run.00080"), &path).unwrap();
    let text = "bPeriodic = 1\ndPeriod = 8\n";
    let side = |name: &str, text: &str| {
        let param = folder.with(name, text);
        let snapshot = all(&path).unwrap();
        fs::remove_file(param).unwrap();
        let is_noted = |what: &str| snapshot.notes.iter().any(|note| note.contains(name) && note.contains(what));
        assert!(
            is_noted(if snapshot.box_size.is_some() { "are those of" } else { "is not read" }),
            "{:?}",
            snapshot.notes
        );
        snapshot.box_size
    };
    assert_eq!(side("generic.param", text), Some(8.0));
    assert_eq!(side("run.00080.param", text), None);
    assert_eq!(side("generic.param", &format!("{text}achOutName = run\n")), None);
    assert_eq!(side("generic.param", &format!("{text}achInFile = ics/run.std\n")), None);
    assert_eq!(side("generic.param", &format!("{text}achOutName = out/other\n")), Some(8.0));
    assert_eq!(side("generic.param", &format!("{text}achInFile = \"other\"\n")), Some(8.0));
    // The file to which a name belongs exists, or another snapshot of that run.
    for neighbour in ["generic", "generic.00010"] {
        folder.with(neighbour, "");
        assert_eq!(side("generic.param", text), None);
        fs::remove_file(folder.file(neighbour)).unwrap();
    }
    folder.with("generic.log", "");
    assert_eq!(side("generic.param", text), Some(8.0));
    // Of several parameter files, that which names the snapshot.
    folder.with("a.param", "bPeriodic = 1\ndPeriod = 2\n");
    assert_eq!(side("b.param", &format!("{text}achOutName = other\n")), Some(8.0));
    // A prefix of the snapshot's name that is not the name of its run.
    folder.with("oth.param", text);
    assert_eq!(all(&path).unwrap().box_size, None);
}

#[test]
fn parts_of_a_file() {
    let path = stored("tipsy_standard").join("run.00080");
    let whole = all(&path).unwrap();
    let stars = read(&path, &ReadOptions::default().types([4]).velocities(false)).unwrap();
    assert_eq!(flat(&stars.points), flat(&whole.points)[300..]);
    assert_eq!(stars.ids.as_deref(), whole.ids.as_deref().map(|ids| &ids[100..]));
    assert_eq!((types(&stars), stars.velocities), (vec![4; 25], None));
    assert_eq!(each(&stars.masses), &each(&whole.masses)[100..]);
    assert!((stars.matter.unwrap() / whole.matter.unwrap() - 1.0).abs() < 1e-14);

    let some = read(&path, &ReadOptions::default().types([0, 4]).subsample(0.5)).unwrap();
    let mut from = [(0..40), (100..125)].into_iter().flatten();
    let ids = whole.ids.as_deref().unwrap();
    for (id, mass) in some.ids.as_deref().unwrap().iter().zip(each(&some.masses)) {
        let i = from.find(|&i| ids[i] == *id).expect("in their order");
        assert_eq!(*mass, each(&whole.masses)[i] * 2.0);
    }
    assert!((20..45).contains(&some.points.len()));
    let at_zero = read(&path, &ReadOptions::default().redshift(0.0).masses(false)).unwrap();
    let stored = Expected::named("tipsy_standard").f64s("vel");
    assert_eq!((flat(at_zero.velocities.as_ref().unwrap()), at_zero.masses), (stored, Masses::Unknown));

    let message = read(&path, &ReadOptions::default().types([5])).unwrap_err().to_string();
    assert!(message.contains("no particles of type 5; types present: 0 (40), 1 (60), 4 (25)"), "{message}");
    let message = read(&path, &ReadOptions::default().columns(["x"])).unwrap_err().to_string();
    assert!(message.contains("whose columns cannot be chosen"), "{message}");
}

#[test]
fn what_a_file_says() {
    let contents = inspect(stored("tipsy_native").join("run.00080"), &ReadOptions::default()).unwrap();
    let of: Vec<_> = contents.types.iter().map(|kind| (kind.particle_type, kind.name.as_str(), kind.count)).collect();
    assert_eq!(of, [(Some(0), "gas", 40), (Some(1), "dark", 60), (Some(4), "star", 25)]);
    let field = |role| contents.types[2].fields.iter().find(|field| field.role == role).unwrap();
    assert_eq!((field(Role::Position).number.as_str(), field(Role::Velocity).number.as_str()), ("f64", "f32"));
    assert_eq!((contents.format, contents.box_size), (Format::Tipsy, Some(1.0)));
    assert_eq!(contents.total(), 125);
}

#[test]
fn there_and_back() {
    let folder = Folder::new("tipsy");
    let path = folder.file("snap");
    let units = Units { length: LengthUnit::KPC_H, mass: MassUnit::MSUN_H_1E10, velocity: VelocityUnit::KM_S };
    let background = Background { omega_m: Some(0.3), omega_lambda: Some(0.7), h: Some(0.7) };
    let (gas, dark) = (f64s(3, [0.1, 0.2, 0.3]), f64s(3, [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));
    let species = [
        Species {
            particle_type: 1,
            positions: &dark,
            velocities: Some(&dark),
            ids: Some(&[8, 1 << 40]),
            masses: &Masses::Equal(0.5),
        },
        Species {
            particle_type: 0,
            positions: &gas,
            velocities: Some(&gas),
            ids: Some(&[5]),
            masses: &Masses::Each(vec![2.0]),
        },
    ];
    for big_endian in [true, false] {
        let options = TipsyOptions::default().big_endian(big_endian).time(0.5).background(background);
        write_tipsy(&path, &species, &options.clone().units(units).box_size(10.0)).unwrap();
        assert_eq!(folder.names(), ["snap", "snap.iord", "snap.param"]);
        let back = all(&path).unwrap();
        assert_eq!(flat(&back.points), [flat(&gas), flat(&dark)].concat());
        assert_eq!(back.ids, Some(vec![5, 8, 1 << 40]));
        assert_eq!(back.masses, Masses::Each(vec![2.0, 0.5, 0.5]));
        assert_eq!((back.box_size, back.redshift), (Some(10.0), Some(1.0)));
        let known = back.units;
        let km_s: Vec<f64> =
            flat(back.velocities.as_ref().unwrap()).iter().map(|v| v * known.velocity.unwrap().km_s).collect();
        assert!(apart(&km_s, &[flat(&gas), flat(&dark)].concat()) < 1e-14);
        assert!((known.length.unwrap().mpc - 1e-3 / 0.7).abs() < 1e-17);
        assert!((known.mass.unwrap().msun / (1e10 / 0.7) - 1.0).abs() < 1e-15);
        assert!((back.background.h.unwrap() - 0.7).abs() < 1e-15);

        fs::remove_file(folder.file("snap.param")).unwrap();
        fs::remove_file(folder.file("snap.iord")).unwrap();
        let species = species.map(|one| Species { ids: None, ..one });
        write_tipsy(&path, &species, &options).unwrap();
        let back = all(&path).unwrap();
        assert_eq!(flat(back.velocities.as_ref().unwrap()), [flat(&gas), flat(&dark)].concat());
        assert_eq!((folder.names(), back.redshift, back.units), (vec!["snap".to_string()], None, Default::default()));
    }
}

#[test]
fn refused_writing() {
    let folder = Folder::new("tipsy-refused");
    let (points, masses) = (f32s(3, [1.0; 6]), Masses::Equal(1.0));
    let one = Species { particle_type: 1, positions: &points, velocities: None, ids: None, masses: &masses };
    let refuse = |species: &[Species<'_>], options: &TipsyOptions, said: &str| {
        let message = write_tipsy(folder.file("a"), species, options).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    };
    let options = TipsyOptions::default();
    refuse(&[Species { particle_type: 5, ..one }], &options, "cannot store type 5");
    refuse(&[one, one], &options, "type 1 occurs twice");
    refuse(&[one, Species { particle_type: 0, ids: Some(&[1, 2]), ..one }], &options, "types 0 and 1 differ");
    refuse(&[Species { ids: Some(&[1]), ..one }], &options, "2 positions, but 1 ids");
    refuse(&[Species { masses: &Masses::Unknown, ..one }], &options, "masses of type 1 are unknown");
    refuse(&[Species { positions: &f32s(2, [1.0; 4]), ..one }], &options, "vectors of 2 components");
    let units = Units { length: LengthUnit::MPC, ..Units::GADGET };
    refuse(&[one], &options.units(units), "needs the Hubble constant");
    assert!(folder.names().is_empty());
}

#[test]
fn broken() {
    let folder = Folder::new("tipsy-broken");
    let bytes = fs::read(stored("tipsy_standard").join("run.00080")).unwrap();
    let cut = |n: usize| folder.with("cut", &bytes[..n]);
    for n in 0..bytes.len() {
        drop(all(cut(n)).unwrap_err());
    }
    refused(cut(31), &["in an unsupported format"]);
    refused(cut(5211), &["is 5211 bytes long, truncated", "40 gas, 60 dark and 25 star particles are 5212 bytes"]);
    refused(folder.with("long", [&bytes[..], &[0]].concat()), &["is 5213 bytes long"]);
    let mut lying = bytes.clone();
    lying[8..12].fill(0x7f);
    lying[16..20].copy_from_slice(&(0x7f7f_7f7f_u32 - 85).to_be_bytes());
    refused(folder.with("lying", &lying), &["2139062058 gas"]);

    // Ids that do not belong to the snapshot.
    let snap = folder.with("snap", &bytes);
    let ids = fs::read_to_string(stored("tipsy_standard").join("run.00080.iord")).unwrap();
    folder.with("snap.iord", ids.replacen("125\n", "126\n", 1));
    refused(&snap, &["snap.iord", "ids of 126 particles, but its snapshot has 125"]);
    folder.with("snap.iord", &ids[..300]);
    refused(&snap, &["snap.iord", "truncated", "line"][..1]);
    folder.with("snap.iord", ids.replacen("\n4571\n", "\n-4\n", 1));
    refused(&snap, &["line 2 must be a whole number from 0", "-4"]);
    let mut binary = fs::read(stored("tipsy_native").join("run.00080.iord")).unwrap();
    folder.with("snap.iord", &binary);
    refused(&snap, &["snap.iord", "line 1"]);
    // The same words in the other byte order, with ids of 64 bits.
    binary.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let wide: Vec<u8> = binary[4..].chunks_exact(4).flat_map(|id| [&[0; 4], id].concat()).collect();
    folder.with("snap.iord", [&binary[..4], &wide].concat());
    assert_eq!(all(&snap).unwrap().ids, Some(Expected::named("tipsy_standard").u64s("iord")));
    // If ids are not requested, their file is not checked.
    folder.with("snap.iord", "x");
    assert!(read(&snap, &ReadOptions::default().ids(false)).is_ok());
    fs::remove_file(folder.file("snap.iord")).unwrap();
    folder.with("snap.param", "bComove = 1\n");
    let mut at_zero = bytes.clone();
    at_zero[..8].fill(0);
    refused(folder.with("snap", at_zero), &["has time 0", "bComove"]);
    assert_modest_memory();
}
