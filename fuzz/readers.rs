//! The contract of every reader for arbitrary bytes: it returns points with complete fields, or an error. It never
//! panics, and it never allocates memory for more than the file holds.
//!
//! In: bytes. Out: nothing, or a panic that states the violation. Shared by the fuzz targets and a test with mutated
//! files.
#![allow(dead_code)] // A target uses one reader, and no seeds.

use std::fs;
use std::path::{Path, PathBuf};

use ropewalk_io::{Masses, ReadOptions, Snapshot, inspect, read, read_fields, read_header};

/// A reader, selected by the first bytes of a file.
#[derive(Clone, Copy, Debug)]
pub enum Reader {
    Csv,
    Ecsv,
    Npy,
    Gadget,
    Tipsy,
    GenericIo,
    Npz,
    Hdf5,
    Ramses,
    Abacus,
    Parquet,
    Fits,
    Las,
    Pcd,
    Ply,
    Obj,
}

/// Files written by `tests/data/make_snapshots.py`: old and new groups and chunk indexes, all filters.
const HDF5: [&[u8]; 5] = [
    include_bytes!("../tests/data/snapshots/gadget2.hdf5"),
    include_bytes!("../tests/data/snapshots/indexes_new.hdf5"),
    include_bytes!("../tests/data/snapshots/indexes_old.hdf5"),
    include_bytes!("../tests/data/snapshots/swift.hdf5"),
    include_bytes!("../tests/data/snapshots/swift_writer.hdf5"),
];
/// The maximum number of bytes that one byte of gzip decompresses to.
const GZIP: usize = 1032;

/// The maximum number of bytes that one byte of LZF decompresses to.
const LZF: usize = 88;

/// Returns the path of a scratch file of this process.
pub fn scratch() -> PathBuf {
    let folder = Path::new("/dev/shm");
    let folder = if folder.is_dir() { folder.to_path_buf() } else { std::env::temp_dir() };
    folder.join(format!("ropewalk-fuzz-{}", std::process::id()))
}

impl Reader {
    pub const ALL: [Self; 16] = [
        Self::Csv,
        Self::Ecsv,
        Self::Npy,
        Self::Gadget,
        Self::Tipsy,
        Self::GenericIo,
        Self::Npz,
        Self::Hdf5,
        Self::Ramses,
        Self::Abacus,
        Self::Parquet,
        Self::Fits,
        Self::Las,
        Self::Pcd,
        Self::Ply,
        Self::Obj,
    ];

    /// Writes `data` to a file at `path`, and reads it with several options.
    pub fn run(self, data: &[u8], path: &Path) {
        let bytes = self.file(data);
        let path = &self.place(path);
        fs::write(path, &bytes).expect("a scratch file");
        let columns = |names: [&str; 2]| ReadOptions::default().columns(names);
        let one_type = ReadOptions::default().types([1]);
        let subsample = ReadOptions::default().subsample(0.5).velocities(false);
        let part = ReadOptions::default().part(1, 3);
        let both = subsample.clone().part(2, 3);
        let most = match self {
            Self::Hdf5 => GZIP,
            Self::Pcd => LZF,
            _ => 1,
        };
        let (numbers, names) = (columns(["2", "1"]), columns(["x", "y"]));
        for options in [ReadOptions::default(), one_type, numbers, names, subsample, part, both] {
            if let Ok(snapshot) = read(path, &options) {
                assert_whole(&snapshot, most * bytes.len());
            }
        }
        if let Ok(contents) = inspect(path, &ReadOptions::default()) {
            _ = (contents.total(), contents.bytes(&ReadOptions::default()));
        }
        _ = read_header(path);
        for chosen in [vec![], vec!["mass".to_owned()], vec!["2".to_owned(), "1".to_owned()]] {
            if let Ok(fields) = read_fields(path, &chosen) {
                assert!(fields.columns > 0 && fields.values.len() % fields.columns == 0);
                assert!(fields.names.is_empty() || fields.names.len() == fields.columns);
            }
        }
    }

    /// Returns the path of the data file. For RAMSES, creates its folder and the info file beside it.
    pub fn place(self, path: &Path) -> PathBuf {
        if !matches!(self, Self::Ramses) {
            return path.to_path_buf();
        }
        let folder = path.with_extension("ramses");
        fs::create_dir_all(&folder).expect("a scratch folder");
        fs::write(folder.join("info_00001.txt"), RAMSES).expect("a scratch file");
        folder.join("part_00001.out00001")
    }

    /// Prepends to `data` the first bytes that select this reader.
    fn file(self, data: &[u8]) -> Vec<u8> {
        let with = |magic: &[u8]| [magic, data].concat();
        match self {
            // Text. NUL bytes are removed, since they select another reader, as do the first bytes of another format.
            Self::Csv => data.iter().copied().filter(|&byte| byte != 0).collect(),
            Self::Ecsv => with(b"# %ECSV 1.0\n# ---\n"),
            Self::Npy => with(b"\x93NUMPY"),
            Self::Hdf5 => with(b"\x89HDF\r\n\x1a\n"),
            // Both layouts and byte orders.
            Self::Gadget => match data.split_first() {
                Some((first, rest)) => {
                    let markers: [&[u8]; 4] = [&[0, 1, 0, 0], &[0, 0, 1, 0], b"\x08\0\0\0HEAD", b"\0\0\0\x08HEAD"];
                    [markers[usize::from(first % 4)], rest].concat()
                }
                None => vec![0, 1, 0, 0],
            },
            // The info file beside it selects the format.
            Self::Ramses => data.to_vec(),
            // The format has no magic bytes; the reader recognizes it by consistent numbers.
            Self::Tipsy => data.to_vec(),
            Self::Abacus => with(b"#ASDF"),
            Self::Parquet => with(b"PAR1"),
            Self::Npz => with(b"PK\x03\x04"),
            Self::Fits => with(b"SIMPLE  ="),
            Self::Las => with(b"LASF"),
            Self::Pcd => with(b"# .PCD v0.7\n"),
            Self::Ply => with(b"ply\nformat "),
            Self::Obj => with(b"v 0 0 0\n"),
            // Checksums are corrected, since the reader would reject everything otherwise.
            Self::GenericIo => generic_io(data),
        }
    }

    /// Returns valid files, without the bytes that [`Reader::run`] prepends.
    pub fn seeds(self) -> Vec<Vec<u8>> {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        match self {
            Self::Csv => texts(&[
                "# a table\n1.5,2,3\n4,5,6e3\n7,8,9\n",
                "id x y vx vy mass\n1 2 3 4 5 6\n2 3 4 5 6 7\n",
                "\"x\";\"y, or z\"\r\n-1e-300;1e300\r\n+.5;-2\r\n",
                "x\ty\n\n1\t2\n",
            ]),
            Self::Ecsv => texts(&[
                "# datatype:\n# - {name: x, unit: Mpc, datatype: float64}\n# - {name: y, unit: Mpc, datatype: float64}\n\
                 # - {name: vx, unit: km / s, datatype: float64}\n# - {name: vy, unit: km / s, datatype: float64}\n\
                 # meta: !!omap\n# - {redshift: 0.5}\nx y vx vy\n1 2 3 4\n5 6 7 8\n",
                "# delimiter: ','\n# datatype:\n# - {name: x, unit: kpc / littleh, datatype: float32, description: physical}\n\
                 # - {name: y, unit: kpc / littleh, datatype: float32}\n# schema: astropy-2.0\nx,y\n1,2\n",
            ]),
            Self::Npy => [("<f8", "(4, 3)", 96), (">f4", "(8, 3)", 96), ("<f4", "(5,)", 20), ("<i4", "(2, 2)", 16)]
                .map(|(kind, shape, bytes)| {
                    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
                    let length = (text.len() as u16).to_le_bytes();
                    [b"\x01\x00", &length[..], text.as_bytes(), &vec![7; bytes]].concat()
                })
                .into(),
            Self::Hdf5 => HDF5.iter().map(|file| file[8..].to_vec()).collect(),
            Self::Gadget => (0..4).map(|layout| gadget(layout & 1 == 1, layout & 2 == 2)).collect(),
            Self::Abacus => vec![ABACUS[5..].to_vec()],
            Self::Parquet => vec![PARQUET[4..].to_vec()],
            Self::Ramses => vec![ramses()],
            Self::Npz => vec![NPZ[4..].to_vec()],
            Self::GenericIo => vec![generic_io_seed()],
            Self::Fits => fits_seeds().iter().map(|file| file[9..].to_vec()).collect(),
            Self::Las => [(2, 0, 20), (4, 6, 34)].map(|(minor, format, bytes)| las_seed(minor, format, bytes)).into(),
            Self::Pcd => pcd_seeds(),
            Self::Ply => ply_seeds(),
            Self::Obj => {
                texts(&["v 1 2 3\nv 4 5 \\\n6 0.5\nvn nan 0 0\nf 1 2 3 # a face\n", "# x\no part\nv 1 2 3 0 0 1\n"])
            }
            Self::Tipsy => [(true, 0), (false, 0), (true, 12), (false, 24)].map(|(big, wide)| tipsy(big, wide)).into(),
        }
    }
}

/// A snapshot of three particles of type 1: header, positions, velocities, ids. The first byte selects the layout and
/// byte order, in place of the marker or label that [`Reader::run`] inserts.
fn gadget(big_endian: bool, labels: bool) -> Vec<u8> {
    let word = |x: u32| if big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
    let wide = |x: f64| if big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
    let mut header = vec![0; 256];
    header[4..8].copy_from_slice(&word(3));
    header[32..40].copy_from_slice(&wide(0.5));
    header[64..72].copy_from_slice(&wide(1.0));
    header[100..104].copy_from_slice(&word(3));
    header[124..128].copy_from_slice(&word(1));
    header[128..136].copy_from_slice(&wide(10.0));
    let vectors: Vec<u8> = (0..9).flat_map(|i| word((i as f32 / 2.0).to_bits())).collect();
    let ids: Vec<u8> = (1..4).flat_map(word).collect();
    let mut bytes = vec![];
    for (label, block) in [(b"HEAD", &header), (b"POS ", &vectors), (b"VEL ", &vectors), (b"ID  ", &ids)] {
        let length = word(block.len() as u32);
        if labels {
            let next = word(block.len() as u32 + 8);
            bytes.extend([&word(8)[..], label, &next, &word(8)].concat());
        }
        bytes.extend([&length[..], block, &length].concat());
    }
    let chosen = if labels { 8 } else { 4 };
    [&[u8::from(big_endian) + 2 * u8::from(labels)], &bytes[chosen..]].concat()
}

/// Forty particles in one container.
const ABACUS: &[u8] = include_bytes!("../tests/data/snapshots/abacus/tiny.asdf");

/// The columns x, y and id of three points.
const PARQUET: &[u8] = include_bytes!("../tests/data/snapshots/parquet/tiny.parquet");

const RAMSES: &str = "ncpu = 1\nndim = 2\nboxlen = 1\ntime = -1\naexp = 0.5\nH0 = 70\nomega_m = 0.3\nomega_l = 0.7\nunit_l = 1e26\n\
                      unit_d = 1e-29\nunit_t = 1e17\n";

/// Two particles in two dimensions, dark matter and a star, with the columns of all versions.
fn ramses() -> Vec<u8> {
    let record =
        |data: Vec<u8>| [&(data.len() as u32).to_le_bytes()[..], &data, &(data.len() as u32).to_le_bytes()].concat();
    let mut bytes: Vec<u8> =
        [1u32, 2, 2, 0, 0, 0, 0, 0].iter().flat_map(|word| record(word.to_le_bytes().to_vec())).collect();
    for column in 0..9u32 {
        bytes.extend(record(match column {
            5 | 6 => [column, 7].iter().flat_map(|word| word.to_le_bytes()).collect(),
            _ => [0.0, 0.5].iter().flat_map(|value: &f64| value.to_le_bytes()).collect(),
        }));
    }
    bytes
}

/// The arrays x, y and id of two points, uncompressed, and their masses, deflated.
const NPZ: &[u8] = include_bytes!("../tests/data/snapshots/npz/tiny.npz");

/// Creates a file of one rank, with correct checksums wherever its header allows for them.
fn generic_io(data: &[u8]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        bytes.iter().fold(u64::MAX, |crc, &byte| {
            (0..8)
                .fold(crc ^ u64::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xc96c_5795_d787_0f42 } else { 0 })
        })
    };
    let mut bytes = [b"HACC01L\0", data].concat();
    let fix = |bytes: &mut Vec<u8>, start: usize, size: usize| {
        let end = start.checked_add(size)?;
        let check = crc(bytes.get(start..end)?);
        bytes.get_mut(end..end.checked_add(8)?)?.copy_from_slice(&check.to_le_bytes());
        end.checked_add(8)
    };
    let size = bytes.get(8..16).and_then(|size| size.first_chunk()).map_or(0, |size| u64::from_le_bytes(*size));
    let mut at = fix(&mut bytes, 0, size as usize);
    // Three rows, as in the seed.
    for size in [4, 4, 4, 8] {
        at = at.and_then(|at| fix(&mut bytes, at, size * 3));
    }
    bytes
}

/// Three rows of x, y, z and id.
fn generic_io_seed() -> Vec<u8> {
    let names = [("x", 4), ("y", 4), ("z", 4), ("id", 8)];
    let (ranks, size) = (168 + 280 * 4, 168 + 280 * 4 + 48);
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut bytes = words(&[size, 3, 1, 1, 1, 4, 280, 168, 1, 48, ranks, 168, 0, 0, 0]);
    bytes.extend([8f64; 3].iter().flat_map(|side| side.to_le_bytes()));
    bytes.extend(words(&[0, 0]));
    for (name, bytes_each) in names {
        bytes.extend(name.bytes().chain(std::iter::repeat(0)).take(256));
        bytes.extend(words(&[if name == "id" { 2 } else { 3 }, bytes_each, bytes_each]));
    }
    bytes.extend(words(&[0, 0, 0, 3, size + 8, 0]));
    bytes.extend(vec![0; 8 + 3 * (12 + 8) + 24 + 8]);
    bytes
}

/// A gas, two dark matter and a star particle at a = 0.5. Each particle has `wide` bytes more than one with 32-bit
/// numbers.
fn tipsy(big_endian: bool, wide: usize) -> Vec<u8> {
    let word = |x: u32| if big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
    let time = 0.5f64;
    let mut bytes = if big_endian { time.to_be_bytes() } else { time.to_le_bytes() }.to_vec();
    bytes.extend([4, 3, 1, 2, 1, 0].into_iter().flat_map(word));
    for words in [12, 9, 9, 11] {
        bytes.extend((0..words + wide / 4).flat_map(|i| word((i as f32 / 2.0).to_bits())));
    }
    bytes
}

/// Writes header cards and data in FITS blocks.
fn fits(hdus: &[(&[&str], &[u8])]) -> Vec<u8> {
    let mut bytes = vec![];
    for (cards, data) in hdus {
        for card in cards.iter().copied().chain(["END"]) {
            bytes.extend(format!("{card:80}").into_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(2880), b' ');
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(2880), 0);
    }
    bytes
}

/// A binary table with columns of several kinds, and a text table.
fn fits_seeds() -> [Vec<u8>; 2] {
    let first: (&[&str], &[u8]) = (&["SIMPLE  =  T", "BITPIX  =  8", "NAXIS   =  0", "REDSHIFT=  0.5 / an epoch"], &[]);
    let size = ["BITPIX  = 8", "NAXIS   = 2", "PCOUNT  = 0", "GCOUNT  = 1"];
    let binary = [
        &["XTENSION= 'BINTABLE'", "NAXIS1  = 23", "NAXIS2  = 3", "TFIELDS = 5"][..],
        &size,
        &["TTYPE1  = 'x'", "TFORM1  = 'E'", "TUNIT1  = 'Mpc'", "TTYPE2  = 'y'", "TFORM2  = '1D'", "TUNIT2  = 'Mpc'"],
        &["TTYPE3  = 'id'", "TFORM3  = 'J'", "TZERO3  = 2147483648", "TTYPE4  = 'name'", "TFORM4  = '3A'"],
        &["TTYPE5  = 'mass'", "TFORM5  = '2I'", "TSCAL5  = 0.5", "TNULL5  = -1"],
    ]
    .concat();
    let text = [
        &["XTENSION= 'TABLE   '", "NAXIS1  = 16", "NAXIS2  = 2", "TFIELDS = 2"][..],
        &size,
        &["TTYPE1  = 'x'", "TFORM1  = 'F6.2'", "TBCOL1  = 1", "TTYPE2  = 'y'", "TFORM2  = 'D8.1'", "TBCOL2  = 8"],
    ]
    .concat();
    [fits(&[first, (&binary, &[1; 69])]), fits(&[first, (&text, b"  1.50 1.5D+02     250 -3.0      ")])]
}

/// Two points, and a variable-length record.
fn las_seed(minor: u8, format: u8, stride: u16) -> Vec<u8> {
    let size: u16 = if minor == 4 { 375 } else { 227 };
    let mut bytes = vec![0; usize::from(size)];
    bytes[24..26].copy_from_slice(&[1, minor]);
    bytes[94..96].copy_from_slice(&size.to_le_bytes());
    bytes[96..100].copy_from_slice(&(u32::from(size) + 54 + 4).to_le_bytes());
    bytes[100] = 1;
    bytes[104] = format;
    bytes[105..107].copy_from_slice(&stride.to_le_bytes());
    bytes[if minor == 4 { 247 } else { 107 }] = 2;
    for axis in 0..3 {
        bytes[131 + 8 * axis..139 + 8 * axis].copy_from_slice(&0.01f64.to_le_bytes());
    }
    let mut record = [0; 54];
    record[2..17].copy_from_slice(b"LASF_Projection");
    record[18..22].copy_from_slice(&[0x40, 0x08, 4, 0]);
    bytes.extend(record);
    bytes.extend(b"WKT\0");
    bytes.extend(vec![3; 2 * usize::from(stride)]);
    bytes[4..].to_vec()
}

/// Two points as text, binary and compressed.
fn pcd_seeds() -> Vec<Vec<u8>> {
    let header = |data: &str| {
        format!(
            "VERSION 0.7\nFIELDS x y z _ label\nSIZE 4 4 4 1 1\nTYPE F F F U U\nCOUNT 1 1 1 2 1\nWIDTH 2\nHEIGHT 1\n\
             VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA {data}\n"
        )
        .into_bytes()
    };
    let mut packed = vec![];
    for part in [[0u8; 15]; 2] {
        packed.push(14);
        packed.extend(part);
    }
    let sizes = [packed.len() as u32, 30].map(u32::to_le_bytes).concat();
    vec![
        [&header("ascii")[..], b"1 2 3 0 0 7\n4 5.5 -6e1 0 0 8\n"].concat(),
        [&header("binary")[..], &[1; 30]].concat(),
        [header("binary_compressed"), sizes, packed].concat(),
    ]
}

/// Two points as text and binary, after a face element.
fn ply_seeds() -> Vec<Vec<u8>> {
    let header = |format: &str| {
        format!(
            "{format} 1.0\ncomment a\nelement face 1\nproperty list uchar int vertex_indices\nelement vertex 2\n\
             property float x\nproperty double y\nproperty short z\nproperty uchar red\nend_header\n"
        )
        .into_bytes()
    };
    let body = [&[1, 0, 0, 0, 0][..], &[1; 30]].concat();
    vec![
        [&header("ascii")[..], b"3 0 1 0\n1 2 3 255\n4 5.5 -6 0\n"].concat(),
        [&header("binary_little_endian")[..], &body].concat(),
        [&header("binary_big_endian")[..], &body].concat(),
    ]
}

/// Asserts that all fields have the length of the points, and that there are at most `bytes` points.
fn assert_whole(snapshot: &Snapshot, bytes: usize) {
    let n = snapshot.points.len();
    assert!(n <= bytes, "{n} points of {bytes} bytes");
    assert!((1..=10).contains(&snapshot.points.dim()));
    assert!(snapshot.velocities.as_ref().is_none_or(|all| all.len() == n));
    assert!(snapshot.ids.as_ref().is_none_or(|all| all.len() == n));
    assert!(!matches!(&snapshot.masses, Masses::Each(all) if all.len() != n));
}
