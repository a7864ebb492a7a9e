//! `ropewalk halos --finder hop`: labels, densities and header compared with the library, and one-line errors.

use std::fs;
use std::path::Path;

use npyz::NpyFile;
use ropewalk::Hop;
use ropewalk::cluster::KernelDensity;
use ropewalk_io::{Points, ReadOptions};

use crate::program::{Scratch, halos, sample};
use crate::reference::rows_of;

fn npy<T: npyz::Deserialize>(path: &Path) -> Vec<T> {
    NpyFile::new(&fs::read(path).unwrap()[..]).unwrap().into_vec().unwrap()
}

#[test]
fn labels_densities_and_header() {
    let scratch = Scratch::new();
    let snapshot = ropewalk_io::read(sample(), &ReadOptions::default()).unwrap();
    let Points::F32(table) = &snapshot.points else { panic!("the sample has f32") };
    let points = table.rows::<3>().unwrap();
    let options =
        ["--n-density", "20", "--n-hop", "16", "--n-merge", "5", "--delta-outer", "100", "--delta-peak", "400"];
    let more = ["--finder", "hop", "--density", "--min-members", "30", "--center", "mbp,mcp", "--no-pictures"];
    let printed = halos(&sample(), &scratch.path("out"), &[&options[..], &more].concat()).success();
    assert_eq!(scratch.names("out"), ["density.npy", "halos.ecsv", "labels.npy", "summary.json"]);
    assert!(printed.lines().any(|line| line == "finder          HOP"), "{printed}");

    let hop = Hop::new(100.0).n_density(20).n_hop(16).n_merge(5).delta_peak(400.0).min_members(30).periodic(32.0);
    let expected = hop.run(points).unwrap();
    let ids = snapshot.ids.as_ref().unwrap();
    assert_eq!(npy::<i32>(&scratch.path("out/labels.npy")), rows_of(expected.labels().as_slice(), ids, 30));
    let density = KernelDensity::new().n_density(20).periodic(32.0).run(points).unwrap();
    assert_eq!(npy::<f64>(&scratch.path("out/density.npy")), density);
    let catalog = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    let rows = catalog.lines().filter(|line| !line.starts_with('#')).count() - 1;
    assert!(rows == expected.len() && rows > 20, "{rows} rows");
    for entry in [
        "finder: \"HOP\"",
        "n_density: 20",
        "n_hop: 16",
        "n_merge: 5",
        "delta_outer: 100",
        "delta_saddle: 250",
        "delta_peak: 400",
        "min_members: 30",
        "linking_length_in_mean_separations: 0.2",
    ] {
        assert!(catalog.contains(entry), "{entry} is not in {}", &catalog[..3000]);
    }

    assert!(
        catalog.contains("\nhalo_tag,halo_label,halo_count,") && !catalog.contains("fof_halo"),
        "{}",
        &catalog[..3000]
    );

    // Files of an earlier run that this run does not write are removed. Without mcp there is no linking length.
    let printed = halos(&sample(), &scratch.path("out"), &["--finder", "hop", "--no-pictures"]).success();
    assert!(printed.contains("removed: density.npy"), "{printed}");
    let catalog = fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    assert!(catalog.contains("delta_saddle: 200") && !catalog.contains("linking_length"), "{}", &catalog[..3000]);
}

#[test]
fn bad_input() {
    let scratch = Scratch::new();
    let error = |options: &[&str]| halos(&sample(), &scratch.path("out"), options).error();
    assert!(error(&["--n-hop", "16"]).contains("--n-hop requires --finder hop"));
    assert!(error(&["--density"]).contains("--density requires --finder hop"));
    let hop = |options: &[&str]| error(&[&["--finder", "hop"], options].concat());
    assert!(hop(&["--linking-lengths", "0.1,0.2"]).contains("--linking-lengths requires --finder fof"));
    assert!(hop(&["--delta-outer=-1"]).contains("--delta-outer is -1;"));
    assert!(hop(&["--delta-peak", "20"]).contains("--delta-peak is 20;"));
    assert!(hop(&["--delta-saddle", "NaN"]).contains("--delta-saddle is NaN;"));
    assert!(hop(&["--n-density", "0"]).contains("n_density is 0;"));
    let few = scratch.write("few.csv", "x,y,z\n0,0,0\n1,1,1\n5,5,5\n");
    let line = halos(&few, &scratch.path("out"), &["--finder", "hop"]).error();
    assert!(line.contains("n_hop is 64; it must be at most the number of points"), "{line}");
    assert!(!scratch.path("out").exists());
}
