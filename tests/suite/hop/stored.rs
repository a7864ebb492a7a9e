//! The sample snapshot, compared with the stored result of yt's HOP, the code of Eisenstein and Hut.
//! `tests/data/make_hop_cases.py` stored it.

use std::fs::{self, File};
use std::io::Read;

use common::data::root;
use ropewalk::cluster::KernelDensity;
use ropewalk::{Bvh, Hop};
use zip::ZipArchive;

pub(crate) const SIDE: f64 = 32.0;

/// Reads the positions of the snapshot: the header with its two markers, the marker of the block, three f32 per
/// particle.
pub(crate) fn positions() -> Vec<[f32; 3]> {
    let file = fs::read(root().join("data/p3m_64.gadget2")).unwrap();
    assert_eq!(f64::from_le_bytes(file[132..140].try_into().unwrap()), SIDE);
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let particle = |bytes: &[u8]| std::array::from_fn(|k| number(&bytes[4 * k..4 * k + 4]));
    file[268..268 + 12 * 64 * 64 * 64].chunks_exact(12).map(particle).collect()
}

fn words<const N: usize>(name: &str) -> Vec<[u8; N]> {
    words_in("p3m_64_hop.npz", name)
}

/// Returns the words of an array in a NumPy archive.
pub(crate) fn words_in<const N: usize>(archive: &str, name: &str) -> Vec<[u8; N]> {
    let mut archive = ZipArchive::new(File::open(root().join("tests/data").join(archive)).unwrap()).unwrap();
    let mut file = vec![];
    archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut file).unwrap();
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[start..].as_chunks().0.to_vec()
}

#[test]
fn densities_of_a_snapshot() {
    let found = KernelDensity::new().periodic(SIDE).run(&positions()).unwrap();
    let worst = |stored: Vec<f64>, step: usize| {
        assert_eq!(stored.len(), found.len() / step);
        let ratio = |(i, stored): (usize, f64)| (found[step * i] / stored - 1.0).abs();
        stored.into_iter().enumerate().map(ratio).fold(0.0, f64::max)
    };
    let by_definition = worst(words("exact").into_iter().map(f64::from_le_bytes).collect(), 32);
    assert!(by_definition < 1e-12, "{by_definition:e}");
    // yt's distances have 32 bits, and few of them are right across the boundary.
    let by_yt = worst(words("density").into_iter().map(|word| f32::from_le_bytes(word).into()).collect(), 8);
    assert!(by_yt < 6.2e-5, "{by_yt:e}");
}

/// Every particle for two thresholds, from points and from chains that are found only once.
#[test]
fn groups_of_a_snapshot() {
    let bvh = Bvh::build_periodic(&positions(), SIDE).unwrap();
    let chains = Hop::new(1.0).chains_on(&bvh).unwrap();
    for (outer, groups) in [(80.0, 291), (160.0, 260)] {
        let halos = Hop::new(outer).run_on_chains(&chains).unwrap();
        let stored: Vec<i32> = words(&format!("labels_{outer}")).into_iter().map(i32::from_le_bytes).collect();
        assert_eq!(halos.len(), groups);
        // Groups of fewer than 10 particles have labels here, but not in yt.
        let mut number = vec![-1; halos.labels().n_clusters()];
        let mut all: Vec<usize> = (0..halos.len()).collect();
        all.sort_by_key(|&halo| halos.members(halo)[0]);
        for (rank, halo) in all.into_iter().enumerate() {
            number[halos.clusters()[halo] as usize] = rank as i32;
        }
        let labels: Vec<i32> = halos
            .labels()
            .as_slice()
            .iter()
            .map(|&label| if label < 0 { -1 } else { number[label as usize] })
            .collect();
        let differing = labels.iter().zip(&stored).filter(|(own, other)| own != other).count();
        assert_eq!((labels.len(), differing), (stored.len(), 0), "outer {outer}");
    }
}
