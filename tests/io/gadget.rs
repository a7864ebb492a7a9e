//! Valid Gadget snapshots: round trips in all layouts, and the sample.

use std::collections::HashSet;

use common::data::root;
use ropewalk_io::{
    Format, GadgetOptions, Masses, Points, ReadOptions, Snapshot, Species, Table, read, read_header, write_gadget,
};

use super::{Folder, all, f32s, f64s};

/// The particles of one type, with values computed from their numbers.
pub struct TypeParticles {
    particle_type: u8,
    positions: Points,
    velocities: Points,
    ids: Vec<u64>,
    masses: Masses,
}

impl TypeParticles {
    pub fn new(particle_type: u8, n: usize, wide: bool, mass_block: bool) -> Self {
        let seed = f64::from(particle_type) * 1000.0;
        let vectors = |shift: f64| {
            let values = (0..3 * n).map(|i| seed + shift + i as f64 / 8.0);
            if wide {
                f64s(3, values.map(|x| x + 1e-12).collect::<Vec<_>>())
            } else {
                f32s(3, values.map(|x| x as f32).collect::<Vec<_>>())
            }
        };
        let masses =
            if mass_block { Masses::Each((0..n).map(|i| 0.5 + i as f64).collect()) } else { Masses::Equal(seed + 0.1) };
        let ids = (0..n as u64).rev().map(|i| u64::from(particle_type) * 1_000_000 + i).collect();
        Self { particle_type, positions: vectors(0.0), velocities: vectors(-500.0), ids, masses }
    }

    pub fn species(&self) -> Species<'_> {
        Species {
            particle_type: self.particle_type,
            positions: &self.positions,
            velocities: Some(&self.velocities),
            ids: Some(&self.ids),
            masses: &self.masses,
        }
    }
}

/// Returns the vectors of the particles in `order`, given as pairs of the index of a type and of a particle.
fn pick<'a>(
    made: &'a [TypeParticles],
    order: &[(usize, usize)],
    of: impl Fn(&'a TypeParticles) -> &'a Points,
) -> Points {
    fn rows<S>(table: &Table<S>, i: usize) -> &[S; 3] {
        &table.rows::<3>().unwrap()[i]
    }
    match of(&made[0]) {
        Points::F32(_) => {
            let row = |&(s, i): &(usize, usize)| match of(&made[s]) {
                Points::F32(table) => *rows(table, i),
                Points::F64(_) => unreachable!(),
            };
            f32s(3, order.iter().flat_map(row).collect::<Vec<_>>())
        }
        Points::F64(_) => {
            let row = |&(s, i): &(usize, usize)| match of(&made[s]) {
                Points::F64(table) => *rows(table, i),
                Points::F32(_) => unreachable!(),
            };
            f64s(3, order.iter().flat_map(row).collect::<Vec<_>>())
        }
    }
}

#[track_caller]
fn check(snapshot: &Snapshot, made: &[TypeParticles], order: &[(usize, usize)]) {
    assert_eq!(snapshot.points, pick(made, order, |made| &made.positions));
    assert_eq!(snapshot.velocities, Some(pick(made, order, |made| &made.velocities)));
    let ids: Vec<u64> = order.iter().map(|&(s, i)| made[s].ids[i]).collect();
    assert_eq!(snapshot.ids.as_ref(), Some(&ids));
    let mass = |&(s, i): &(usize, usize)| match &made[s].masses {
        Masses::Equal(mass) => *mass,
        Masses::Each(all) => all[i],
        other => panic!("{other:?} was not made"),
    };
    let masses: Vec<f64> = order.iter().map(mass).collect();
    let one_type = order.iter().map(|&(s, _)| s).collect::<HashSet<_>>().len() == 1;
    match &made[order[0].0].masses {
        Masses::Equal(mass) if one_type => assert_eq!(snapshot.masses, Masses::Equal(*mass)),
        _ => assert_eq!(snapshot.masses, Masses::Each(masses)),
    }
}

/// All layouts, with the particles of 1 or 3 types in 1 or 3 files.
#[test]
fn round_trips() {
    let folder = Folder::new("round-trips");
    for bits in 0..16_u32 {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let (labels, big_endian, wide_ids, wide) = (on(0), on(1), on(2), on(3));
        for (masses, types, files) in itertools3([0, 1, 2], [&[1_u8][..], &[0, 1, 4]], [1_u32, 3]) {
            let block = |t: u8| masses == 1 || masses == 2 && t != 1;
            // Five or more particles in three files, so that the number is not divisible. With one particle of type
            // 4, two files have none.
            let count = |t: u8| [7, 5, 0, 0, 1, 0][usize::from(t)];
            let made: Vec<TypeParticles> =
                types.iter().map(|&t| TypeParticles::new(t, count(t), wide, block(t))).collect();
            let species: Vec<_> = made.iter().map(TypeParticles::species).collect();
            let options = GadgetOptions::default()
                .labels(labels)
                .big_endian(big_endian)
                .wide_ids(wide_ids)
                .files(files)
                .box_size(32.0);
            let path = folder.file(&format!("{bits}-{masses}-{}-{files}", types.len()));
            write_gadget(&path, &species, &options).unwrap();

            let mut order = Vec::new();
            for k in 0..files as usize {
                for (s, one) in made.iter().enumerate() {
                    let n = one.ids.len();
                    order.extend((n * k / files as usize..n * (k + 1) / files as usize).map(|i| (s, i)));
                }
            }
            let snapshot = all(&path).unwrap();
            check(&snapshot, &made, &order);
            assert_eq!(snapshot.format, if labels { Format::Gadget2 } else { Format::Gadget1 });
            assert_eq!(snapshot.box_size, Some(32.0));
            let header = snapshot.header.unwrap();
            assert_eq!(header.files, files);
            assert_eq!(header, read_header(&path).unwrap());

            for (s, one) in made.iter().enumerate() {
                let options = ReadOptions::default().types([one.particle_type]);
                let order: Vec<_> = order.iter().copied().filter(|&(of, _)| of == s).collect();
                check(&read(&path, &options).unwrap(), &made, &order);
            }
            if files == 3 {
                let last = folder.file(&format!("{bits}-{masses}-{}-{files}.2", types.len()));
                assert_eq!(all(last).unwrap(), all(&path).unwrap());
            }
        }
    }
    assert!(folder.names().iter().all(|name| !name.ends_with("part")), "temporary files are left");
}

/// Returns all combinations.
fn itertools3<A: Copy, B: Copy, C: Copy, const I: usize, const J: usize, const K: usize>(
    a: [A; I],
    b: [B; J],
    c: [C; K],
) -> impl Iterator<Item = (A, B, C)> {
    a.into_iter().flat_map(move |a| b.into_iter().flat_map(move |b| c.into_iter().map(move |c| (a, b, c))))
}

#[test]
fn sample() {
    let path = &root().join("data/p3m_64.gadget2");
    let snapshot = all(path).unwrap();
    assert!(snapshot == read(path, &ReadOptions::default().types([1])).unwrap());
    let header = snapshot.header.unwrap();
    assert_eq!(header.counts, [0, 262_144, 0, 0, 0, 0]);
    assert_eq!(header.total(), 262_144);
    assert_eq!((header.time, header.redshift, header.files), (1.0, 0.0, 1));
    assert_eq!((header.omega_m, header.omega_lambda, header.hubble), (0.31, 0.69, 0.68));
    assert_eq!(snapshot.masses, Masses::Equal(header.mass_table[1]));
    // The mean density of the box; 27.7536627 is the critical density in 1e10 Msun/h per (Mpc/h)^3.
    let density = 262_144.0 * header.mass_table[1] / 32.0_f64.powi(3);
    assert!((density / (0.31 * 27.753_662_7) - 1.0).abs() < 1e-6, "{density}");
    assert_eq!(snapshot.box_size, Some(32.0));
    assert_eq!(snapshot.format.to_string(), "Gadget-2 binary, format 1");

    let mut ids = snapshot.ids.unwrap();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(1..=262_144));
    let Points::F32(table) = &snapshot.points else { panic!("f32") };
    let rows = table.rows::<3>().unwrap();
    assert_eq!(rows.len(), 262_144);
    assert_eq!(rows[0].map(f32::to_bits), [0x41df_32eb, 0x41f7_cdec, 0x410b_d524]);
    assert!(rows.iter().flatten().all(|x| (0.0..=32.0).contains(x)));
    let velocities = snapshot.velocities.unwrap();
    assert_eq!((velocities.len(), velocities.dim()), (262_144, 3));
}

/// Stored velocities are v / sqrt(a) in a comoving run, and v in other runs.
#[test]
fn velocity_unit() {
    let folder = Folder::new("velocity-unit");
    let masses = Masses::Equal(1.0);
    let (positions, velocities) = (f32s(3, [1.0, 2.0, 3.0]), f32s(3, [10.0, 20.0, 40.0]));
    let one =
        Species { particle_type: 1, positions: &positions, velocities: Some(&velocities), ids: None, masses: &masses };
    let path = folder.file("comoving");
    let options = GadgetOptions::default().time(0.25).redshift(3.0);
    write_gadget(&path, &[one], &options).unwrap();
    let snapshot = all(&path).unwrap();
    assert_eq!(snapshot.velocities.as_ref(), Some(&velocities));
    assert_eq!((snapshot.ids, snapshot.box_size), (None, None));
    // 256 + 8 bytes for the header, 12 + 8 for the positions, 4 for the marker.
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[288..292], 20.0_f32.to_le_bytes());

    // The same bytes with redshift 0: the time of a run without expansion.
    let mut bytes = bytes;
    bytes[4 + 80..4 + 88].fill(0);
    let snapshot = all(folder.with("physical", bytes)).unwrap();
    assert_eq!(snapshot.velocities, Some(f32s(3, [20.0, 40.0, 80.0])));
}

/// Blocks after the positions may be missing, and labelled blocks may be in any order and be followed by others.
#[test]
fn other_blocks() {
    let folder = Folder::new("other-blocks");
    let made = TypeParticles::new(0, 4, false, true);
    let path = folder.file("full");
    let options = GadgetOptions::default().labels(true);
    write_gadget(&path, &[made.species()], &options).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    // Label records have 16 bytes; HEAD has 264, POS and VEL 56 each, ID and MASS 24 each.
    let cuts = [0, 280, 352, 424, 464, 504];
    assert_eq!(bytes.len(), 504);
    let block = |i: usize| &bytes[cuts[i]..cuts[i + 1]];
    let whole = all(&path).unwrap();

    let entropy = [&block(4)[..4], b"ENTR", &block(4)[8..]].concat();
    let shuffled = [block(0), block(4), &entropy, block(2), block(3), block(1)].concat();
    let mut other = all(folder.with("shuffled", shuffled)).unwrap();
    assert_eq!(std::mem::take(&mut other.notes), ["blocks that are not read: ENTR"]);
    assert_eq!(other, whole);

    let only = all(folder.with("only", [block(0), block(1)].concat())).unwrap();
    assert_eq!((only.points, only.velocities, only.ids, only.masses), (whole.points, None, None, Masses::Unknown));
}

#[test]
fn no_particles() {
    let folder = Folder::new("no-particles");
    let path = folder.file("empty");
    write_gadget(&path, &[], &GadgetOptions::default()).unwrap();
    let snapshot = all(&path).unwrap();
    assert!(snapshot.points.is_empty());
    assert_eq!((snapshot.points.dim(), snapshot.velocities, snapshot.ids), (3, None, None));
    let message = read(&path, &ReadOptions::default().types([1])).unwrap_err().to_string();
    assert!(message.ends_with("has no particles of type 1; types present: none"), "{message}");
}

/// Old files have empty totals if there is only one file.
#[test]
fn totals_left_empty() {
    let folder = Folder::new("totals");
    let made = TypeParticles::new(1, 4, false, false);
    let path = folder.file("full");
    write_gadget(&path, &[made.species()], &GadgetOptions::default()).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4 + 96..4 + 120].fill(0);
    assert_eq!(all(folder.with("bare", bytes)).unwrap(), all(&path).unwrap());
}

#[test]
fn refused_to_write() {
    let folder = Folder::new("refused-to-write");
    let path = folder.with("there", "before");
    let (a, b) = (TypeParticles::new(1, 3, false, false), TypeParticles::new(0, 2, true, false));
    let (flat, unknown) = (f32s(2, [0.0; 6]), Masses::Unknown);
    let plain = GadgetOptions::default();
    let none = plain.clone().files(0);
    let sick = plain.clone().box_size(f64::NAN);
    let one = a.species();
    let cases: [(&[Species], &GadgetOptions, &str); 11] = [
        (&[Species { velocities: None, ..one }], &plain, "without labels, a block can be left out"),
        (&[one], &none, "split over 0 files"),
        (&[one], &sick, "box size NaN"),
        (&[one, b.species()], &plain, "type 0 comes after type 1"),
        (&[b.species(), one], &plain, "types 0 and 1 differ in precision"),
        (&[Species { particle_type: 6, ..one }], &plain, "particle type 6 does not exist"),
        (&[Species { ids: Some(&[1, 2]), ..one }], &plain, "type 1 has 3 positions, but 2 ids"),
        (&[Species { ids: Some(&[1, 2, 1 << 32]), ..one }], &plain, "id 4294967296 of type 1 needs 64 bits"),
        (&[Species { positions: &flat, ..one }], &plain, "vectors of 2 components"),
        (&[Species { masses: &unknown, ..one }], &plain, "masses of type 1 are unknown"),
        (&[Species { masses: &Masses::Equal(0.0), ..one }], &plain, "mass of type 1 is 0"),
    ];
    for (species, options, said) in cases {
        let message = write_gadget(&path, species, options).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(folder.names(), ["there"]);
    let message = write_gadget(folder.file("no/where"), &[one], &plain).unwrap_err().to_string();
    assert!(message.contains("cannot be written"), "{message}");
}

/// A big-endian file of format 2 in doubles, composed from the format's description without the writer.
#[test]
fn by_hand() {
    fn record(bytes: &[u8]) -> Vec<u8> {
        let marker = (bytes.len() as u32).to_be_bytes();
        [&marker[..], bytes, &marker].concat()
    }
    fn block(label: &[u8; 4], bytes: &[u8]) -> Vec<u8> {
        let next = (bytes.len() as u32 + 8).to_be_bytes();
        [record(&[&label[..], &next].concat()), record(bytes)].concat()
    }
    let floats = |values: &[f64]| values.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<_>>();
    let words = |values: &[u32]| values.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<_>>();
    let counts = [1, 2, 0, 0, 0, 1];
    let mut header = [
        words(&counts),
        floats(&[0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0]), // masses, time, redshift
        words(&[0, 0]),                                     // star formation, feedback
        words(&counts),
        words(&[0, 1]), // cooling, files
        floats(&[100.0, 0.3, 0.7, 0.68]),
    ]
    .concat();
    header.resize(256, 0);
    let positions: Vec<f64> = (0..12).map(f64::from).collect();
    let ids: Vec<u8> = [40_u64, 30, 20, 1 << 40].iter().flat_map(|id| id.to_be_bytes()).collect();
    let bytes = [
        block(b"HEAD", &header),
        block(b"POS ", &floats(&positions)),
        block(b"VEL ", &floats(&positions)),
        block(b"ID  ", &ids),
        block(b"MASS", &floats(&[1.0, 3.0])),
        block(b"U   ", &floats(&[9.0])),
    ]
    .concat();

    let folder = Folder::new("by-hand");
    let snapshot = all(folder.with("a", bytes)).unwrap();
    assert_eq!(snapshot.points, f64s(3, positions.clone()));
    assert_eq!(snapshot.velocities, Some(f64s(3, positions.iter().map(|u| u * 0.5_f64.sqrt()).collect::<Vec<_>>())));
    assert_eq!(snapshot.ids, Some(vec![40, 30, 20, 1 << 40]));
    assert_eq!(snapshot.masses, Masses::Each(vec![1.0, 0.25, 0.25, 3.0]));
    assert_eq!((snapshot.box_size, snapshot.format), (Some(100.0), Format::Gadget2));
    let header = snapshot.header.unwrap();
    assert_eq!((header.counts, header.time, header.redshift, header.files), ([1, 2, 0, 0, 0, 1], 0.5, 1.0, 1));
    assert_eq!((header.omega_m, header.omega_lambda, header.hubble), (0.3, 0.7, 0.68));
}
