//! The pages of `halos --report` and of `dbscan` and `hdbscan --plot`, as files. `tests/oracle/report.py` opens them in a
//! browser.

use std::fs;

use crate::program::{Scratch, halos, run, sample};

#[test]
fn halos_have_a_page() {
    let scratch = Scratch::new();
    let printed = halos(&sample(), &scratch.path("out"), &["--report", "--format", "pdf"]).success();
    assert!(printed.contains("report.html") && printed.contains("\nreport "), "{printed}");
    let page = fs::read_to_string(scratch.path("out/report.html")).unwrap();
    for part in ["<title>Halos of p3m_64.gadget2</title>", "262,144 particles", "\"fof_halo_mass\"", "--report"] {
        assert!(page.contains(part), "{part}");
    }
    // PDF files are drawn again as images.
    assert_eq!(page.matches("src=\"data:image/svg+xml;base64,").count(), 2);
    let listed = fs::read_to_string(scratch.path("out/summary.json")).unwrap();
    assert!(listed.contains("report.html"));

    // A run without a page removes the one of the earlier run.
    let printed = halos(&sample(), &scratch.path("out"), &["--no-pictures"]).success();
    assert!(printed.contains("report.html") && !scratch.path("out/report.html").exists(), "{printed}");
}

#[test]
fn a_page_has_a_name_of_its_own() {
    let scratch = Scratch::new();
    let page = scratch.path("halos.html").display().to_string();
    let out = scratch.path("out");
    halos(&sample(), &out, &["--no-pictures", "--report", &page]).success();
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert!(!out.join("report.html").exists());

    let line = halos(&sample(), &out, &["--report", &page, "--linking-lengths", "0.1,0.2"]).error();
    assert!(line.contains("a name requires one linking length"), "{line}");
    let second = scratch.path("second.gadget2");
    fs::copy(sample(), &second).unwrap();
    let line = halos(&sample(), &out, &[&second.display().to_string(), "--report", &page]).error();
    assert!(line.contains("a name requires a single snapshot"), "{line}");
    let result = halos(&sample(), &out, &["--report", "snapshot.hdf5"]);
    assert_eq!(result.status, 2);
    assert!(result.stderr.contains("the name must end in .html"), "{}", result.stderr);
}

#[test]
fn clusters_have_a_page() {
    let scratch = Scratch::new();
    let attack = "<script>alert(1)</script>";
    let mut text = format!("{attack},b,c\n");
    (0..40).for_each(|i| text += &format!("{},{},0.5\n", i % 7, (i / 20) * 100));
    let points = scratch.write("points.csv", text).display().to_string();
    let page = scratch.path("clusters.html").display().to_string();
    for options in
        [["dbscan", "--eps", "3", "--min-samples", "4"], ["hdbscan", "--min-cluster-size", "5", "--min-samples", "4"]]
    {
        let [command, options @ ..] = options;
        run([&[command, &points, "--plot", &page][..], &options].concat()).success();
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.contains("<title>Clusters of points.csv</title>") && text.contains("40 points"));
        assert!(!text.contains(attack) && text.contains("\\u003cscript\\u003ealert(1)"), "{command}");
        assert_eq!(text.contains("Condensed tree"), command == "hdbscan");
    }
    let four = scratch.write("four.csv", "0,0,0,0\n1,1,1,1\n2,2,2,2\n").display().to_string();
    let png = scratch.path("clusters.png").display().to_string();
    let line = run(["dbscan", &four, "--eps", "3", "--min-samples", "4", "--plot", &png]).error();
    assert!(line.contains("or a name that ends in .html"), "{line}");
}
