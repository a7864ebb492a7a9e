//! `ropewalk halos --finder adaptahop`: known subhalos, consistency of columns and labels, and one-line errors.

use std::f64::consts::TAU;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use npyz::NpyFile;
use ropewalk::AdaptaHop;
use ropewalk_io::{Points, ReadOptions};

use crate::program::{Scratch, halos, sample};

fn npy<T: npyz::Deserialize>(path: &Path) -> Vec<T> {
    NpyFile::new(&fs::read(path).unwrap()[..]).unwrap().into_vec().unwrap()
}

/// A clump: number of particles, edge radius, power p of r = edge * part^p, centre, and speed along z.
type Clump = (u32, f64, f64, [f64; 3], f64);

/// A host across a face of the box, three subhalos, a subhalo of the first one, another halo, and a hot cloud.
const CLUMPS: [Clump; 7] = [
    (10_000, 0.15, 1.0, [0.05, 0.5, 0.5], 0.0),
    (3000, 0.018, 0.5, [0.93, 0.5, 0.5], 0.0),
    (1000, 0.014, 0.5, [0.05, 0.59, 0.52], 0.0),
    (1000, 0.012, 0.5, [0.12, 0.45, 0.42], 0.0),
    (600, 0.0025, 0.5, [0.941, 0.511, 0.5], 0.0),
    (1000, 0.05, 0.5, [0.5, 0.1, 0.2], 0.0),
    (1000, 0.03, 0.5, [0.6, 0.6, 0.9], 1e4),
];
/// The index of the first particle of each clump, and the number of all particles.
const STARTS: [usize; 8] = [0, 10_000, 13_000, 14_000, 15_000, 15_600, 16_600, 17_600];
const OPTIONS: [&str; 10] = [
    "--finder",
    "adaptahop",
    "--density-threshold",
    "10",
    "--fudge-epsilon",
    "0.02",
    "--min-members",
    "100",
    "--box",
    "1",
];

/// Writes a table of the clumps, with descending ids. Every tenth particle of the second subhalo is too fast. The
/// particles of the cloud move up and down in turn.
fn sky(scratch: &Scratch) -> PathBuf {
    let mut text = String::from("id,x,y,z,vx,vy,vz,mass\n");
    let mut id = 20_000;
    for (clump, (n, edge, power, center, speed)) in CLUMPS.into_iter().enumerate() {
        for i in 0..n {
            // Low-discrepancy sequences make the densities smooth.
            let part = |step: f64| (f64::from(i) * step).fract();
            let (r, z) = (edge * ((f64::from(i) + 0.5) / f64::from(n)).powf(power), 1.0 - 2.0 * part(0.618_033_988_75));
            let (turn, s) = (TAU * part(0.754_877_666_25), (1.0 - z * z).sqrt());
            let way = [s * turn.cos(), s * turn.sin(), z];
            let [x, y, z]: [f64; 3] = std::array::from_fn(|k| (center[k] + r * way[k]).rem_euclid(1.0));
            let fast = if clump == 2 && i % 10 == 0 { 1e4 } else { 0.0 };
            let vz = if i % 2 == 0 { speed } else { -speed };
            text += &format!("{id},{x},{y},{z},{fast},0,{vz},2\n");
            id -= 1;
        }
    }
    scratch.write("sky.csv", text)
}

/// The columns and rows of a catalogue.
struct Catalog {
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
}

impl Catalog {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let names = lines.next().unwrap().split(',').map(String::from).collect();
        let number = |field: &str| field.parse().unwrap();
        Self { names, rows: lines.map(|line| line.split(',').map(number).collect()).collect() }
    }

    fn column(&self, name: &str) -> Vec<f64> {
        let at =
            self.names.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name}: {:?}", self.names));
        self.rows.iter().map(|row| row[at]).collect()
    }

    /// Returns the row of a label, which must be unique.
    fn row_of(&self, label: f64) -> usize {
        let mut rows = self.column("halo_label").into_iter().enumerate().filter(|row| row.1 == label);
        let row = rows.next().unwrap().0;
        assert_eq!(rows.next(), None);
        row
    }
}

/// Asserts that columns, labels and members are consistent. Returns the number of rows on each level.
fn assert_consistent(catalog: &Catalog, folder: &Path, ids: &[u64]) -> Vec<usize> {
    let [label, parent, host, level, children, own, count, mass, tag, peak, saddle] = [
        "label",
        "parent",
        "host",
        "level",
        "n_children",
        "own_count",
        "count",
        "mass",
        "tag",
        "peak_density",
        "saddle_density",
    ]
    .map(|name| catalog.column(&format!("halo_{name}")));
    let labels: Vec<i32> = npy(&folder.join("labels.npy"));
    // Labels are rows.
    assert!(label.iter().copied().eq((0..catalog.rows.len()).map(|row| row as f64)));
    assert!(labels.iter().all(|&label| (-1..catalog.rows.len() as i32).contains(&label)));

    let mut archive = zip::ZipArchive::new(fs::File::open(folder.join("members.npz")).unwrap()).unwrap();
    let mut array = |name: &str| -> Vec<u64> {
        let mut bytes = vec![];
        archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        NpyFile::new(&bytes[..]).unwrap().into_vec().unwrap()
    };
    let (offsets, members) = (array("offsets.npy"), array("ids.npy"));
    let of = |row: usize| &members[offsets[row] as usize..offsets[row + 1] as usize];
    let unit = mass[0] / count[0];
    let mut levels = vec![];
    for row in 0..catalog.rows.len() {
        let owned: Vec<u64> =
            (0..labels.len()).filter(|&i| f64::from(labels[i]) == label[row]).map(|i| ids[i]).collect();
        assert_eq!(owned.len() as f64, own[row]);
        assert_eq!(owned.iter().min(), Some(&(tag[row] as u64)));
        let inside: Vec<usize> = (0..catalog.rows.len()).filter(|&other| parent[other] == label[row]).collect();
        assert_eq!(inside.len() as f64, children[row]);
        let all = inside.iter().map(|&other| count[other]).sum::<f64>() + own[row];
        assert_eq!((all, of(row).len() as f64), (count[row], count[row]));
        assert!((mass[row] - unit * count[row]).abs() < 1e-6 * mass[row]);
        let mut expected: Vec<u64> = inside.iter().flat_map(|&other| of(other)).copied().chain(owned).collect();
        let mut listed = of(row).to_vec();
        expected.sort_unstable();
        listed.sort_unstable();
        assert!(expected == listed, "row {row}");
        assert!(saddle[row] < peak[row]);
        if parent[row] == -1.0 {
            assert_eq!((level[row], host[row]), (1.0, label[row]));
        } else {
            let above = catalog.row_of(parent[row]);
            assert_eq!((level[row], host[row]), (level[above] + 1.0, host[above]));
            assert!(saddle[row] >= saddle[above] && above < row, "{row} in {above}");
        }
        let at = level[row] as usize;
        levels.resize(levels.len().max(at), 0);
        levels[at - 1] += 1;
    }
    levels
}

#[test]
fn known_subhalos() {
    let scratch = Scratch::new();
    let sky = sky(&scratch);
    let ids: Vec<u64> = (0..17_600).map(|i| 20_000 - i).collect();
    for more in [&[][..], &["--algorithm", "stepped"]] {
        let out = scratch.path("out");
        let printed = halos(&sky, &out, &[&OPTIONS[..], more, &["--members", "--density"]].concat()).success();
        for line in
            ["finder          AdaptaHOP", "halos           3 of 100 or more", "subhalos        4, down to level 3"]
        {
            assert!(printed.lines().any(|other| other == line), "{line:?} is not in {printed}");
        }
        let files = [
            "dendrogram.svg",
            "density.npy",
            "halos.ecsv",
            "labels.npy",
            "mass_function.ecsv",
            "mass_function.svg",
            "members.npz",
            "projection.png",
            "summary.json",
        ];
        assert_eq!(scratch.names("out"), files);
        let catalog = Catalog::read(&out.join("halos.ecsv"));
        assert_eq!(assert_consistent(&catalog, &out, &ids), [3, 3, 1]);

        if !more.is_empty() {
            // At the step at which the first subhalo splits, the inner subhalo is the heavier part.
            continue;
        }
        // The row that has most particles of a clump.
        let labels: Vec<i32> = npy(&out.join("labels.npy"));
        let row_of = |clump: usize| {
            let own = &labels[STARTS[clump]..STARTS[clump + 1]];
            let most = own.iter().max_by_key(|&label| own.iter().filter(|other| *other == label).count()).unwrap();
            catalog.row_of(f64::from(*most))
        };
        let [host, first, second, third, inner, other, cloud] = std::array::from_fn(row_of);
        let (label, parent, mass) =
            (catalog.column("halo_label"), catalog.column("halo_parent"), catalog.column("halo_mass"));
        for (row, is_in) in [(first, host), (second, host), (third, host), (inner, first)] {
            assert_eq!(parent[row], label[is_in]);
        }
        assert_eq!([host, other, cloud].map(|row| parent[row]), [-1.0; 3]);
        for (row, n) in [(host, 15_600), (first, 3600), (second, 1000), (third, 1000), (inner, 600), (other, 1000)] {
            assert!((mass[row] / f64::from(2 * n) - 1.0).abs() < 0.06, "{} for {n}", mass[row] / 2.0);
        }
        // The structures are at their clumps. The mean of the host is over all its members, across the face of the
        // box.
        let [x, y] = ["x", "y"].map(|axis| catalog.column(&format!("halo_mean_{axis}")));
        for (row, at) in [(second, [0.05, 0.59]), (third, [0.12, 0.45]), (other, [0.5, 0.1])] {
            assert!((x[row] - at[0]).abs() < 0.003 && (y[row] - at[1]).abs() < 0.003);
        }
        assert!((0.01..0.04).contains(&x[host]), "{}", x[host]);

        let svg = fs::read_to_string(out.join("dendrogram.svg")).unwrap();
        assert!(svg.contains(&format!("halo {host}: ")) && svg.contains("level 3: 1"), "{svg}");
        assert!(svg.contains("level 1: 1") && svg.contains("level 2: 3"), "{svg}");
    }

    let chosen = ["--dendrogram", "0", "--no-pictures"];
    assert_eq!(halos(&sky, &scratch.path("out"), &[&OPTIONS[..], &chosen].concat()).status, 2);
    let line = halos(&sky, &scratch.path("new"), &[&OPTIONS[..], &["--dendrogram", "7"]].concat()).error();
    assert!(line.contains("--dendrogram 7: the catalogue has ") && line.contains("rows, numbered from 0"), "{line}");
    assert!(!scratch.path("new").exists());
}

/// Fast particles leave their subhalo, and a cloud of fast particles is not a halo.
#[test]
fn unbound_particles() {
    let scratch = Scratch::new();
    let sky = sky(&scratch);
    let ids: Vec<u64> = (0..17_600).map(|i| 20_000 - i).collect();
    let units = ["--length-unit", "Mpc/h", "--mass-unit", "1e10 Msun/h", "--velocity-unit", "km/s"];
    let out = scratch.path("out");
    let more = ["--unbind", "--members", "--no-pictures", "--softening", "0.001"];
    let printed = halos(&sky, &out, &[&OPTIONS[..], &units, &more].concat()).success();
    let catalog = Catalog::read(&out.join("halos.ecsv"));
    assert_eq!(assert_consistent(&catalog, &out, &ids), [2, 3, 1], "{printed}");
    let labels: Vec<i32> = npy(&out.join("labels.npy"));
    assert!(labels[STARTS[6]..].iter().all(|&label| label == -1));
    // 9 of 10 particles of the second subhalo remain, and the removed ones are in no structure.
    let own = &labels[STARTS[2]..STARTS[3]];
    assert!((0..1000).step_by(10).all(|i| own[i] == -1));
    let second = catalog.row_of(f64::from(own[1]));
    let [before, mass, vmax, rvmax] =
        ["found_mass", "mass", "bound_vmax", "bound_rvmax"].map(|name| catalog.column(&format!("halo_{name}")));
    assert!((before[second] / 2000.0 - 1.0).abs() < 0.06 && (mass[second] / before[second] - 0.9).abs() < 0.01);
    // The circular velocity is that of the mass within rvmax, which is most of the mass. G is in the units of the
    // catalogue.
    for row in 0..catalog.rows.len() {
        assert!(mass[row] <= before[row] && vmax[row].powi(2) * rvmax[row] <= 43.0092 * mass[row] * 1.001, "{row}");
    }
    assert!(vmax[second].powi(2) * rvmax[second] > 0.5 * 43.0091 * mass[second]);
    let text = fs::read_to_string(out.join("halos.ecsv")).unwrap();
    for entry in ["unbound_particles: \"removed\"", "softening: 0.001", "name: halo_bound_vmax, unit: km / s"] {
        assert!(text.contains(entry), "{entry} is not in {}", &text[..4000]);
    }
    assert!(
        printed.contains("\nunbound         ") && printed.contains("; 1 halos and subhalos dissolved"),
        "{printed}"
    );
    assert!(printed.contains("unknown redshift"), "{printed}");

    let error = |options: &[&str]| halos(&sky, &out, &[&OPTIONS[..], options].concat()).error();
    assert!(error(&["--unbind"]).contains("--unbind: bound masses need units, which are not known"));
    let line = error(&[&units[..4], &["--unbind"]].concat());
    assert!(
        line.contains("--unbind: bound masses need the unit of velocities") && line.contains("--velocity-unit"),
        "{line}"
    );
    let points = scratch.write("points.csv", "x,y,z\n0,0,0\n1,1,1\n");
    let line = halos(&points, &out, &["--finder", "adaptahop", "--unbind"]).error();
    assert!(line.contains("--unbind: bound masses need masses"), "{line}");
}

/// The program returns the structures of the library, with the measurements of other halos.
#[test]
fn a_snapshot() {
    let scratch = Scratch::new();
    let snapshot = ropewalk_io::read(sample(), &ReadOptions::default()).unwrap();
    let Points::F32(table) = &snapshot.points else { panic!("the sample has f32") };
    let options = [
        "--finder",
        "adaptahop",
        "--n-density",
        "24",
        "--n-hop",
        "16",
        "--density-threshold",
        "100",
        "--fudge",
        "3",
        "--fudge-epsilon",
        "0.01",
        "--alpha",
        "2",
        "--selection",
        "density",
        "--min-members",
        "30",
    ];
    let more = ["--density", "--members", "--center", "com,mcp", "--so", "200c", "--profiles", "3", "--gallery", "2"];
    let out = scratch.path("out");
    halos(&sample(), &out, &[&options[..], &more].concat()).success();
    let found = AdaptaHop::new()
        .n_density(24)
        .n_hop(16)
        .density_threshold(100.0)
        .fudge(3.0)
        .fudge_epsilon(0.01)
        .alpha(2.0)
        .selection(ropewalk::halo::SubhaloSelection::Density)
        .min_members(30)
        .periodic(32.0)
        .run(table.rows::<3>().unwrap())
        .unwrap();
    assert_eq!(npy::<f64>(&out.join("density.npy")), found.density());
    let labels: Vec<i32> = npy(&out.join("labels.npy"));
    let catalog = Catalog::read(&out.join("halos.ecsv"));
    assert!(catalog.rows.len() == found.len() && found.len() > 100);
    assert!(assert_consistent(&catalog, &out, snapshot.ids.as_ref().unwrap())[1] > 20);
    // The labels, parents and hosts correspond one to one.
    let [parent, host, peak] = ["parent", "host", "peak_density"].map(|name| catalog.column(&format!("halo_{name}")));
    for (at, row) in found.rows().iter().enumerate() {
        let label = |at: usize| f64::from(labels[found.structures().members(at)[0] as usize]);
        assert!(found.structures().members(at).iter().all(|&i| f64::from(labels[i as usize]) == label(at)));
        let own = catalog.row_of(label(at));
        assert_eq!(parent[own], row.parent.map_or(-1.0, |parent| label(parent as usize)));
        assert_eq!(host[own], label(row.host as usize));
        assert!((peak[own] / row.peak_density - 1.0).abs() < 1e-8);
    }
    // With --center com the centre is the mean of all members. The other columns have values.
    let [center, mean, rms, max] =
        ["center_x", "mean_x", "rms_radius", "max_radius"].map(|name| catalog.column(&format!("halo_{name}")));
    assert!(
        center.iter().zip(&mean).all(|(center, mean)| (center - mean).abs() < 1e-4 || (center - mean).abs() > 31.9)
    );
    assert!(rms.iter().zip(&max).all(|(rms, max)| 0.0 < *rms && rms < max));
    assert!(catalog.column("halo_mcp_friends").iter().all(|&friends| friends > 0.0));
    assert!(
        catalog.column("halo_half_mass_radius").iter().zip(&max).all(|(half, max)| half > &0.0 && *half < 2.0 * max)
    );
    // Profiles are of hosts only.
    let profiles = Catalog::read(&out.join("profiles.ecsv")).column("halo_tag");
    let [tag, level] = ["tag", "level"].map(|name| catalog.column(&format!("halo_{name}")));
    let largest: Vec<f64> = (0..tag.len()).filter(|&row| level[row] == 1.0).map(|row| tag[row]).take(3).collect();
    assert_eq!(profiles.len(), 60);
    assert!(profiles.chunks(20).zip(&largest).all(|(shells, tag)| shells.iter().all(|other| other == tag)));
    let text = fs::read_to_string(out.join("halos.ecsv")).unwrap();
    for entry in [
        "finder: \"AdaptaHOP\"",
        "n_density: 24",
        "n_hop: 16",
        "density_threshold: 100",
        "fudge: 3",
        "fudge_epsilon: 0.01",
        "alpha: 2",
        "algorithm: \"exact\"",
        "selection: \"density\"",
        "min_members: 30",
        "{name: halo_parent, datatype: int64",
    ] {
        assert!(text.contains(entry), "{entry} is not in {}", &text[..6000]);
    }
    assert!(!text.contains("fof_halo"));
}

#[test]
fn bad_input() {
    let scratch = Scratch::new();
    let error = |options: &[&str]| halos(&sample(), &scratch.path("out"), options).error();
    for (option, value) in [
        ("--fudge", "4"),
        ("--algorithm", "exact"),
        ("--selection", "mass"),
        ("--dendrogram", "1"),
        ("--density-threshold", "9"),
    ] {
        for finder in ["fof", "hop"] {
            assert!(
                error(&["--finder", finder, option, value]).contains(&format!("{option} requires --finder adaptahop"))
            );
        }
    }
    assert!(error(&["--unbind"]).contains("--unbind requires --finder adaptahop"));
    assert!(error(&["--n-density", "20"]).contains("--n-density requires --finder hop or adaptahop"));
    let adaptahop = |options: &[&str]| error(&[&["--finder", "adaptahop"], options].concat());
    assert!(adaptahop(&["--delta-outer", "80"]).contains("--delta-outer requires --finder hop"));
    assert!(adaptahop(&["--linking-lengths", "0.1,0.2"]).contains("--linking-lengths requires --finder fof"));
    assert!(adaptahop(&["--device", "cuda"]).contains("cuda"));
    assert!(adaptahop(&["--density-threshold=-1"]).contains("--density-threshold is -1;"));
    assert!(adaptahop(&["--fudge", "NaN"]).contains("--fudge is NaN;"));
    assert!(adaptahop(&["--fudge", "0", "--algorithm", "stepped"]).contains("--fudge is 0;"));
    assert!(adaptahop(&["--fudge-epsilon=-1"]).contains("--fudge-epsilon is -1;"));
    assert!(adaptahop(&["--alpha", "inf"]).contains("--alpha is inf;"));
    assert!(adaptahop(&["--n-density", "0"]).contains("n_density is 0;"));
    let few = scratch.write("few.csv", "x,y,z\n0,0,0\n1,1,1\n5,5,5\n");
    let line = halos(&few, &scratch.path("out"), &["--finder", "adaptahop"]).error();
    assert!(line.contains("n_hop is 20; it must be less than the number of points"), "{line}");
    assert!(!scratch.path("out").exists());

    // No particle is that dense.
    let printed =
        halos(&sample(), &scratch.path("out"), &["--finder", "adaptahop", "--density-threshold", "1e9"]).success();
    assert!(printed.contains("halos           0 of 20 or more\nsubhalos        0\n"), "{printed}");
    let svg = fs::read_to_string(scratch.path("out/dendrogram.svg")).unwrap();
    assert!(svg.contains("no halos"), "{svg}");
}
