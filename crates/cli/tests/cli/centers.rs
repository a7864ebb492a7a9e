//! `ropewalk halos` with centres, overdensities, chosen columns and members.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use npyz::NpyFile;
use zip::ZipArchive;

use crate::data::{large, root};
use crate::program::{self, Scratch, halos, sample};
use crate::reference::table;

/// Each column of the catalogue, with its name and unit in the reference.
const COLUMNS: [(&str, &str, f64); 9] = [
    ("fof_halo_center_x", "mbp_x", 1.0),
    ("fof_halo_center_y", "mbp_y", 1.0),
    ("fof_halo_center_z", "mbp_z", 1.0),
    ("fof_halo_mcp_friends", "mcp_friends", 1.0),
    ("fof_halo_mcp_ties", "mcp_ties", 1.0),
    ("sod_halo_m200c", "m200c", 1e10),
    ("sod_halo_r200c", "r200c", 1.0),
    ("sod_halo_m200m", "m200m", 1e10),
    ("sod_halo_r200m", "r200m", 1.0),
];

fn assert_centers(snapshot: &Path, reference: &Path, kind: &str, count: usize) {
    let scratch = Scratch::new();
    halos(
        snapshot,
        &scratch.path("out"),
        &["--center", &format!("{kind},mcp"), "--so", "200c,200m", "--min-so-particles", "1", "--threads", "2"],
    )
    .success();
    let (names, ours) = table(&scratch.path("out/halos.ecsv"));
    let (their_names, theirs) = table(reference);
    assert_eq!((ours.len(), theirs.len()), (count, count));
    let find = |names: &[String], name: &str| names.iter().position(|other| other == name).unwrap();
    let id = find(&names, "fof_halo_center_id");
    let mcp = find(&names, "fof_halo_mcp_id");
    for (row, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(row[id], theirs[find(&their_names, "mbp_id")]);
        assert!(row[mcp] >= 1.0);
        for (name, their_name, unit) in COLUMNS {
            let (ours, theirs) = (row[find(&names, name)] * unit, theirs[find(&their_names, their_name)]);
            assert!((ours - theirs).abs() <= 1e-5 * theirs.abs(), "{name}: {ours}, should be {theirs}");
        }
    }
}

#[test]
fn of_p3m_64() {
    let reference = root().join("tests/data/p3m_64_fof_b0.2_periodic_halos.csv");
    for kind in ["mbp", "mbp-brute", "mbp-astar"] {
        assert_centers(&sample(), &reference, kind, 694);
    }
}

#[test]
#[ignore = "needs ROPEWALK_DATA"]
fn of_p3m_128() {
    assert_centers(&large("p3m_128.gadget2"), &large("p3m_128_fof_b0.2_periodic_halos.csv"), "mbp", 4716);
}

#[test]
fn every_kind() {
    for kind in ["mbp-poisson", "mcp", "com", "shrinking-sphere"] {
        let scratch = Scratch::new();
        let kinds = format!("{kind},mcp");
        let options = ["--center", &kinds, "--min-members", "300"];
        halos(&sample(), &scratch.path("out"), &options).success();
        let (names, rows) = table(&scratch.path("out/halos.ecsv"));
        let has = |name: &str| names.iter().any(|other| other == name);
        assert!(has("fof_halo_center_x") && has("fof_halo_mcp_id") && !has("sod_halo_m200c"), "{kind}: {names:?}");
        assert_eq!(has("fof_halo_center_id"), !["com", "shrinking-sphere"].contains(&kind), "{kind}");
        let column = |name: &str| names.iter().position(|other| other == name).unwrap();
        let (center, mean) = (column("fof_halo_center_y"), column("fof_halo_mean_y"));
        let radius = column("fof_halo_max_radius");
        for row in rows {
            let apart = (row[center] - row[mean]).abs();
            let apart = apart.min(32.0 - apart);
            assert!(if kind == "com" { apart < 1e-6 } else { apart < row[radius] }, "{kind}: {row:?}");
        }
    }
}

#[test]
fn structure_and_virial_masses() {
    let scratch = Scratch::new();
    halos(&sample(), &scratch.path("out"), &["--so", "vir,500c", "--min-members", "500"]).success();
    let (names, rows) = table(&scratch.path("out/halos.ecsv"));
    let column = |name: &str| names.iter().position(|other| other == name).unwrap();
    assert!(rows.len() > 10);
    let text = std::fs::read_to_string(scratch.path("out/halos.ecsv")).unwrap();
    for name in ["axis_ratio_b", "axis_ratio_c"] {
        let line = text.lines().find(|line| line.contains(&format!("name: fof_halo_{name}"))).unwrap();
        assert!(line.contains("about the centre, which are not those about the centre of mass"), "{line}");
    }
    for row in rows {
        let [vir, m500, r500] = ["sod_halo_mvir", "sod_halo_m500c", "sod_halo_r500c"].map(|name| row[column(name)]);
        assert!(m500 < vir);
        let density = m500 / (4.0 / 3.0 * std::f64::consts::PI * r500.powi(3));
        assert!((density / (500.0 * 27.7536627) - 1.0).abs() < 1e-6);
        let [b, c] = ["fof_halo_axis_ratio_b", "fof_halo_axis_ratio_c"].map(|name| row[column(name)]);
        assert!(0.0 < c && c <= b && b <= 1.0);
        // The maximum circular velocity is over members only, so that the velocity at the virial radius may be
        // slightly larger.
        let rvir = row[column("sod_halo_rvir")];
        assert!(row[column("fof_halo_vmax")] > 0.8 * (43.0091 * vir / rvir).sqrt());
        assert!((0.0..0.5).contains(&row[column("fof_halo_spin")]));
    }
}

#[test]
fn chosen_columns_and_members() {
    let scratch = Scratch::new();
    let options = ["--columns", "fof_halo_count,fof_halo_tag", "--members"];
    let report = halos(&sample(), &scratch.path("out"), &options).success();
    assert!(report.contains("members.npz"));
    let (names, rows) = table(&scratch.path("out/halos.ecsv"));
    assert_eq!(names, ["fof_halo_count", "fof_halo_tag"]);
    let mut archive = ZipArchive::new(File::open(scratch.path("out/members.npz")).unwrap()).unwrap();
    let mut array = |name: &str| -> Vec<u64> {
        NpyFile::new(BufReader::new(archive.by_name(name).unwrap())).unwrap().into_vec().unwrap()
    };
    let (offsets, ids) = (array("offsets.npy"), array("ids.npy"));
    assert_eq!(offsets.len(), rows.len() + 1);
    for (row, span) in rows.iter().zip(offsets.windows(2)) {
        let members = &ids[span[0] as usize..span[1] as usize];
        assert_eq!((members.len() as f64, *members.iter().min().unwrap() as f64), (row[0], row[1]));
    }
}

/// Expected mass functions are drawn next to the measured one.
#[test]
fn the_mass_function_has_theory() {
    let scratch = Scratch::new();
    halos(&sample(), &scratch.path("out"), &[]).success();
    let svg = std::fs::read_to_string(scratch.path("out/mass_function.svg")).unwrap();
    assert!(svg.contains("Warren et al. 2006") && svg.contains("Tinker et al. 2008"));
    // Without a cosmology there are no expected mass functions.
    let text = scratch.write("points.csv", "0 0 0\n1 1 1\n1.01 1 1\n");
    halos(&text, &scratch.path("text"), &["--min-members", "2"]).success();
    let svg = std::fs::read_to_string(scratch.path("text/mass_function.svg")).unwrap();
    assert!(!svg.contains("Warren"));
}

#[test]
fn refusals() {
    let scratch = Scratch::new();
    let text = scratch.write("points.csv", "0 0 0\n1 1 1\n");
    let has = |line: &str, parts: &[&str]| assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    let out = scratch.path("out");
    has(&halos(&text, &out, &["--so", "200c"]).error(), &["--so", "--omega-m"]);
    has(&halos(&text, &out, &["--so", "200c", "--omega-m", "0.3"]).error(), &["--so", "masses"]);
    has(&halos(&sample(), &out, &["--sigma8", "0"]).error(), &["sigma_8", "0"]);
    has(&halos(&sample(), &out, &["--omega-m", "-0.1"]).error(), &["omega_m", "-0.1"]);
    has(&halos(&sample(), &out, &["--h", "NaN"]).error(), &["h is NaN"]);
    has(
        &halos(&sample(), &out, &["--h", "70"]).error(),
        &["h is 70", "h is the Hubble constant in units of 100 km/s/Mpc"],
    );
    has(&halos(&sample(), &out, &["--columns", "mass"]).error(), &["unknown column mass", "fof_halo_mass"]);
    has(&halos(&sample(), &out, &["--center", "mbp", "--softening", "-1"]).error(), &["softening", "-1"]);
    for bad in ["200x", "c", "0c", "virial", "-200c", ""] {
        let output = halos(&sample(), &out, &[&format!("--so={bad}")]);
        assert_eq!(output.status, 2, "{bad}");
        has(&output.stderr, &["overdensity"]);
    }
    assert!(!out.exists());
}

#[test]
fn profiles_and_gallery() {
    let scratch = Scratch::new();
    let options = ["--profiles", "4", "--gallery", "3", "--so", "200c"];
    let report = halos(&sample(), &scratch.path("out"), &options).success();
    assert!(report.contains("profiles.svg, gallery.png and summary.json are in"), "{report}");
    assert!(std::fs::read(scratch.path("out/gallery.png")).unwrap().starts_with(b"\x89PNG"));

    let (names, halos) = table(&scratch.path("out/halos.ecsv"));
    let column = |names: &[String], name: &str| names.iter().position(|other| other == name).unwrap();
    let [tag, mass, radius] = ["fof_halo_tag", "sod_halo_m200c", "sod_halo_r200c"].map(|name| column(&names, name));
    let (names, shells) = table(&scratch.path("out/profiles.ecsv"));
    let column = |name: &str| column(&names, name);
    assert_eq!(shells.len(), 4 * 20);
    for (halo, shells) in halos.iter().zip(shells.chunks(20)) {
        let last = &shells[19];
        assert_eq!(last[column("fof_halo_tag")], halo[tag]);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b;
        assert!(near(last[column("shell_outer")], halo[radius]) && near(last[column("enclosed_mass")], halo[mass]));
        let concentration = halo[radius] / last[column("nfw_scale_radius")];
        assert!(near(last[column("nfw_concentration")], concentration) && (1.0..40.0).contains(&concentration));
        // The fitted profile is close to the measured density.
        let outer = &shells[15];
        let ratio = outer[column("nfw_density")] / outer[column("shell_density")];
        assert!((0.3..3.0).contains(&ratio), "{outer:?}");
    }

    // Without masses there is no R200c. The gallery does not need it.
    std::fs::write(scratch.path("points.csv"), "0,0,0\n1,0,0\n0,1,0\n").unwrap();
    let few = ["--open", "--eps", "2", "--min-members", "2"];
    let with = |more: [&'static str; 2]| [&few[..], &more].concat();
    let run = |name: &str, more| program::halos(&scratch.path("points.csv"), &scratch.path(name), &with(more));
    run("few", ["--gallery", "9"]).success();
    let refused = run("none", ["--profiles", "9"]).error();
    assert!(refused.contains("--profiles") && refused.contains("--omega-m"), "{refused}");
}
