//! Results of the program compared with stored results of other programs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use npyz::NpyFile;
use zip::ZipArchive;

use crate::data::{large, root};
use crate::program::{Scratch, halos, run};

fn labels(file: impl Read) -> Vec<i32> {
    NpyFile::new(BufReader::new(file)).unwrap().into_vec().unwrap()
}

fn npy(path: &Path) -> Vec<i32> {
    labels(File::open(path).unwrap())
}

/// Converts labels of groups to rows of a catalogue: groups of at least `least` particles, the largest first, ties by
/// the smallest id.
pub fn rows_of(labels: &[i32], ids: &[u64], least: usize) -> Vec<i32> {
    let mut groups: BTreeMap<i32, (usize, u64)> = BTreeMap::new();
    for (&label, &id) in labels.iter().zip(ids).filter(|(label, _)| **label >= 0) {
        let (count, tag) = groups.entry(label).or_insert((0, u64::MAX));
        (*count, *tag) = (*count + 1, id.min(*tag));
    }
    let mut halos: Vec<(i32, (usize, u64))> = groups.into_iter().filter(|(_, (count, _))| *count >= least).collect();
    halos.sort_by_key(|&(_, (count, tag))| (Reverse(count), tag));
    let rows: BTreeMap<i32, i32> = halos.into_iter().zip(0..).map(|((label, _), row)| (label, row)).collect();
    labels.iter().map(|label| rows.get(label).copied().unwrap_or(-1)).collect()
}

/// Asserts that the labels with one and with two threads are the rows of the stored groups.
fn assert_labels(snapshot: &Path, options: &[&str], expected: &[i32]) {
    let read = ropewalk_io::read(snapshot, &ropewalk_io::ReadOptions::default()).unwrap();
    let expected = &rows_of(expected, read.ids.as_ref().unwrap(), 20);
    for threads in ["1", "2"] {
        let scratch = Scratch::new();
        halos(snapshot, &scratch.path("out"), &[options, &["--threads", threads]].concat()).success();
        let labels = npy(&scratch.path("out/labels.npy"));
        assert_eq!(labels.len(), expected.len());
        let wrong = labels.iter().zip(expected).position(|(ours, theirs)| ours != theirs);
        assert_eq!(wrong, None, "{options:?}, {threads} threads: the first particle with another label");
    }
}

const CASES: [(&str, &[&str]); 3] =
    [("b0.2_periodic", &[]), ("b0.2_open", &["--open"]), ("b0.168_periodic", &["--linking-length", "0.168"])];

#[test]
fn labels_of_p3m_64() {
    for (name, options) in CASES {
        let expected = npy(&root().join(format!("tests/data/p3m_64_fof_{name}.npy")));
        assert_labels(&root().join("data/p3m_64.gadget2"), options, &expected);
    }
}

#[test]
#[ignore = "needs ROPEWALK_DATA"]
fn labels_of_p3m_128() {
    for (name, options) in CASES {
        let path = large(&format!("p3m_128_fof_{name}.npz"));
        let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
        let expected = labels(archive.by_name("labels.npy").unwrap());
        assert_labels(&large("p3m_128.gadget2"), options, &expected);
    }
}

/// Asserts that `ropewalk dbscan` has the labels of scikit-learn, with each algorithm, with one and with two threads.
fn assert_clusters(snapshot: &Path, eps: &str, min_samples: &str, expected: &[i32]) {
    for (algorithm, threads) in [("auto", "1"), ("fdbscan", "2"), ("densebox", "2")] {
        let scratch = Scratch::new();
        let out = scratch.path("labels.npy");
        let options = ["--eps", eps, "--min-pts", min_samples, "--algorithm", algorithm, "--threads", threads, "--out"];
        let arguments = ["dbscan".as_ref(), snapshot.as_os_str()].into_iter().chain(options.map(AsRef::as_ref));
        run(arguments.chain([out.as_os_str()])).success();
        let wrong = npy(&out).iter().zip(expected).position(|(ours, theirs)| ours != theirs);
        assert_eq!(wrong, None, "{algorithm}, {threads} threads: the first particle with another label");
        assert_eq!(npy(&out).len(), expected.len());
    }
}

#[test]
fn clusters_of_p3m_64() {
    for (eps, min_samples) in [("0.1", "5"), ("0.1", "10"), ("0.15", "40")] {
        let expected = npy(&root().join(format!("tests/data/p3m_64_dbscan_eps{eps}_min{min_samples}.npy")));
        assert_clusters(&root().join("data/p3m_64.gadget2"), eps, min_samples, &expected);
    }
}

/// Reads the column names and rows of a table.
pub fn table(path: &Path) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names = lines.next().unwrap().split(',').map(String::from).collect();
    (names, lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect())
}

/// Each column of the catalogue, with its name and unit in the reference.
const COLUMNS: [(&str, &str, f64); 11] = [
    ("fof_halo_tag", "fof_halo_tag", 1.0),
    ("fof_halo_count", "fof_halo_count", 1.0),
    ("fof_halo_mass", "fof_halo_mass", 1e10),
    ("fof_halo_mean_x", "com_x", 1.0),
    ("fof_halo_mean_y", "com_y", 1.0),
    ("fof_halo_mean_z", "com_z", 1.0),
    ("fof_halo_mean_vx", "mean_vx", 1.0),
    ("fof_halo_mean_vy", "mean_vy", 1.0),
    ("fof_halo_mean_vz", "mean_vz", 1.0),
    ("fof_halo_vel_disp", "sigma_1d", 1.0),
    ("fof_halo_max_radius", "max_radius_com", 1.0),
];

fn assert_catalog(snapshot: &Path, reference: &Path, count: usize) {
    let scratch = Scratch::new();
    halos(snapshot, &scratch.path("out"), &[]).success();
    let (names, ours) = table(&scratch.path("out/halos.ecsv"));
    let (their_names, theirs) = table(reference);
    // Columns that the reference does not have are tested elsewhere.
    let others = ["fof_halo_label", "fof_halo_rms_radius"];
    let found: Vec<&str> = names.iter().map(String::as_str).filter(|name| !others.contains(name)).collect();
    assert_eq!(found, COLUMNS.map(|column| column.0));
    assert_eq!((ours.len(), theirs.len()), (count, count));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        for (name, their_name, unit) in COLUMNS {
            let theirs = theirs[their_names.iter().position(|name| name == their_name).unwrap()];
            let ours = ours[names.iter().position(|other| other == name).unwrap()] * unit;
            assert!((ours - theirs).abs() <= 1e-5 * theirs.abs(), "{name}: {ours}, should be {theirs}");
        }
    }
}

#[test]
fn catalog_of_p3m_64() {
    let reference = root().join("tests/data/p3m_64_fof_b0.2_periodic_halos.csv");
    assert_catalog(&root().join("data/p3m_64.gadget2"), &reference, 694);
}

#[test]
#[ignore = "needs ROPEWALK_DATA"]
fn catalog_of_p3m_128() {
    assert_catalog(&large("p3m_128.gadget2"), &large("p3m_128_fof_b0.2_periodic_halos.csv"), 4716);
}
