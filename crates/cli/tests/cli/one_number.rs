//! One number for a halo: its row in the catalogue, in labels, members, parents, profiles and figures.

use std::fs;
use std::io::Read;
use std::path::Path;

use npyz::NpyFile;
use ropewalk_io::ReadOptions;

use crate::program::{Scratch, halos, sample};
use crate::reference::table;

fn npy<T: npyz::Deserialize>(path: &Path) -> Vec<T> {
    NpyFile::new(&fs::read(path).unwrap()[..]).unwrap().into_vec().unwrap()
}

fn member_lists(path: &Path) -> Vec<Vec<u64>> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let [offsets, ids]: [Vec<u64>; 2] = ["offsets.npy", "ids.npy"].map(|name| {
        let mut bytes = vec![];
        archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        NpyFile::new(&bytes[..]).unwrap().into_vec().unwrap()
    });
    offsets.windows(2).map(|ends| ids[ends[0] as usize..ends[1] as usize].to_vec()).collect()
}

#[test]
fn labels_members_and_figures_name_rows() {
    let ids = ropewalk_io::read(sample(), &ReadOptions::default()).unwrap().ids.unwrap();
    for (finder, prefix) in [("fof", "fof_halo"), ("hop", "halo"), ("adaptahop", "halo")] {
        let scratch = Scratch::new();
        let out = scratch.path("out");
        let options = ["--finder", finder, "--members", "--profiles", "3", "--gallery", "3", "--format", "svg"];
        halos(&sample(), &out, &options).success();
        let (names, rows) = table(&out.join("halos.ecsv"));
        let column = |name: &str| -> Vec<f64> {
            let name = format!("{prefix}_{name}");
            let place = names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("no column {name}"));
            rows.iter().map(|row| row[place]).collect()
        };
        let [label, tag, count] = ["label", "tag", "count"].map(column);
        assert!(label.iter().copied().eq((0..rows.len()).map(|row| row as f64)), "{finder}");
        assert!(count.is_sorted_by(|a, b| a >= b), "{finder}");

        // The members that labels.npy gives each row, and those of the rows in it.
        let labels: Vec<i32> = npy(&out.join("labels.npy"));
        let mut own: Vec<Vec<u64>> = vec![vec![]; rows.len()];
        for (&label, &id) in labels.iter().zip(&ids) {
            assert!((-1..rows.len() as i32).contains(&label), "{finder}: {label}");
            if label >= 0 {
                own[label as usize].push(id);
            }
        }
        let parent = if finder == "adaptahop" { column("parent") } else { vec![-1.0; rows.len()] };
        let host = if finder == "adaptahop" { column("host") } else { label.clone() };
        let mut all = own.clone();
        // A parent has more members than its subhalos, so that it is in an earlier row.
        for row in (0..rows.len()).rev() {
            let mut top = row;
            while parent[top] >= 0.0 {
                assert!((parent[top] as usize) < top, "{finder}");
                top = parent[top] as usize;
            }
            assert_eq!(host[row], top as f64, "{finder}");
            if parent[row] >= 0.0 {
                let inner = all[row].clone();
                all[parent[row] as usize].extend(inner);
            }
        }
        let listed = member_lists(&out.join("members.npz"));
        assert_eq!(listed.len(), rows.len());
        for (row, (mut listed, mut all)) in listed.into_iter().zip(all).enumerate() {
            assert_eq!(own[row].iter().min().map(|&id| id as f64), Some(tag[row]), "{finder}: row {row}");
            listed.sort_unstable();
            all.sort_unstable();
            assert_eq!((listed.len() as f64, listed == all), (count[row], true), "{finder}: row {row}");
        }

        // Figures and profiles name the largest halos, which are not the first rows if there are subhalos.
        let hosts: Vec<usize> = (0..rows.len()).filter(|&row| parent[row] < 0.0).take(3).collect();
        let texts = ["gallery.svg", "profiles.svg", "projection.svg"]
            .map(|name| (name, fs::read_to_string(out.join(name)).unwrap()));
        for &row in &hosts {
            for (name, text) in &texts[..2] {
                let caption = format!("halo {row} (tag {})", tag[row]);
                assert!(text.contains(&caption), "{finder}: {caption} is not in {name}");
            }
        }
        assert!(texts[2].1.contains(">0<"), "{finder}: the largest halo has no number");
        let (names, shells) = table(&out.join("profiles.ecsv"));
        let place = |name: &str| names.iter().position(|other| *other == format!("{prefix}_{name}")).unwrap();
        let mut named: Vec<[f64; 2]> =
            shells.iter().map(|shell| [shell[place("label")], shell[place("tag")]]).collect();
        named.dedup();
        assert_eq!(named, hosts.iter().map(|&row| [row as f64, tag[row]]).collect::<Vec<_>>(), "{finder}");

        if finder == "adaptahop" {
            let subhalo = (0..rows.len()).find(|&row| parent[row] >= 0.0).expect("a subhalo");
            let row = subhalo.to_string();
            halos(&sample(), &out, &["--finder", finder, "--dendrogram", &row]).success();
            let text = fs::read_to_string(out.join("dendrogram.svg")).unwrap();
            assert!(text.contains(&format!("halo {row}: ")) && text.contains(&format!(">{row}<")), "{row}");
        }
    }
}
