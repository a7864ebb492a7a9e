//! The sample snapshots, compared with scikit-learn's labels of all particles.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use ropewalk::{Bvh, Dbscan};
use zip::ZipArchive;

use super::oracle::Clusters;
use super::{ALGORITHMS, POOLS, assert_same};
use common::data::{large, root};

/// Reads the positions of a Gadget-2 snapshot with one particle type: the header with its two markers, then the block
/// of positions after a marker with its length.
fn positions(path: &Path) -> Vec<[f32; 3]> {
    let file = fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(260)), (256, 256), "the header of {}", path.display());
    let bytes = word(264) as usize;
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
    let particle = |bytes: &[u8]| std::array::from_fn(|k| number(&bytes[4 * k..4 * k + 4]));
    file[268..268 + bytes].chunks_exact(12).map(particle).collect()
}

/// Reads a one-dimensional array of little-endian i32 in NumPy's format: magic and version, the length of the header,
/// the header, numbers.
fn npy(file: &[u8]) -> Vec<i32> {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = std::str::from_utf8(&file[10..start]).unwrap();
    assert!(header.contains("'<i4'") && header.contains(",)"), "{header}");
    file[start..].chunks_exact(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// A run of scikit-learn whose labels are stored.
struct Run {
    eps: f64,
    min_samples: usize,
    /// The numbers of clusters and of core points.
    clusters: usize,
    core: usize,
}

/// Asserts the stored labels for every algorithm with one and two threads. Only the number of core points is stored,
/// not the flags.
fn assert_stored(points: &[[f32; 3]], labels: Vec<i32>, Run { eps, min_samples, clusters, core }: Run) {
    assert_eq!(points.len(), labels.len());
    let expected = Clusters { labels, core: vec![] };
    for algorithm in ALGORITHMS {
        let dbscan = Dbscan::new(eps, min_samples).algorithm(algorithm);
        for pool in &POOLS[..2] {
            let found = pool.install(|| dbscan.run(points)).unwrap();
            assert_same(&found, &expected, &|| format!("{dbscan:?}, {} threads", pool.current_num_threads()));
            assert_eq!(found.n_clusters(), clusters);
            assert_eq!((0..points.len()).filter(|&i| found.is_core(i)).count(), core);
        }
        // A run on an existing tree gives the same labels.
        assert_same(&dbscan.run_on(&Bvh::build(points).unwrap()).unwrap(), &expected, &|| {
            format!("{dbscan:?}, run_on")
        });
    }
}

#[test]
fn p3m_64() {
    let points = positions(&root().join("data/p3m_64.gadget2"));
    let runs = [
        Run { eps: 0.1, min_samples: 5, clusters: 3209, core: 102_746 },
        Run { eps: 0.1, min_samples: 10, clusters: 1164, core: 75_642 },
        Run { eps: 0.15, min_samples: 40, clusters: 340, core: 59_918 },
    ];
    for run in runs {
        let Run { eps, min_samples, .. } = run;
        let path = root().join(format!("tests/data/p3m_64_dbscan_eps{eps}_min{min_samples}.npy"));
        assert_stored(&points, npy(&fs::read(path).unwrap()), run);
    }
}

/// Two million particles.
#[test]
#[ignore = "needs ROPEWALK_DATA"]
fn p3m_128() {
    let mut bytes = vec![];
    let mut archive = ZipArchive::new(File::open(large("p3m_128_dbscan_eps0.1_min10.npz")).unwrap()).unwrap();
    archive.by_name("labels.npy").unwrap().read_to_end(&mut bytes).unwrap();
    let run = Run { eps: 0.1, min_samples: 10, clusters: 8409, core: 628_139 };
    assert_stored(&positions(&large("p3m_128.gadget2")), npy(&bytes), run);
}
