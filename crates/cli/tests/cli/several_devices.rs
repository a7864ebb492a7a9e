//! `--device` with several devices: one process, whose threads are ranks with one device each.

use crate::program::{Scratch, halos, run, sample};

#[test]
fn lists_that_are_none() {
    let scratch = Scratch::new();
    for list in ["cuda:0,", "cuda:,1", "vulkan:0,x", "cuda:0,vulkan:0", "cuda,vulkan", "cpu,cpu", "cpu:0,1"] {
        let output = halos(&sample(), &scratch.path("out"), &["--device", list]);
        assert_eq!(output.status, 2);
        let line = output.line();
        assert!(line.contains("or several by their numbers, as cuda:0,1"), "{line}");
    }
    assert!(scratch.names("").is_empty());
}

#[test]
fn commands_that_take_one() {
    let scratch = Scratch::new();
    let (file, edges) = (sample().display().to_string(), scratch.path("edges.npy").display().to_string());
    for command in [
        &["dbscan", &file, "--eps", "0.1", "--min-pts", "5"][..],
        &["hdbscan", &file, "--min-cluster-size", "5"],
        &["emst", &file, "--out", &edges],
    ] {
        let output = run([command, &["--device", "cuda:0,1"]].concat());
        assert_eq!(output.status, 2);
        let line = output.line();
        assert!(line.contains("only halos and bench support several devices; give one, as cuda:1"), "{line}");
    }
    assert!(scratch.names("").is_empty());
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_feature_that_is_not_built() {
    let scratch = Scratch::new();
    let line = halos(&sample(), &scratch.path("out"), &["--device", "cuda:0,1"]).error();
    assert!(line.contains("--device cuda:0: this ropewalk was built without CUDA"), "{line}");
    assert!(scratch.names("").is_empty());
}

#[cfg(feature = "vulkan")]
mod on_vulkan {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_those_of_the_cpu() {
        let scratch = Scratch::new();
        let options = ["--center", "mbp", "--so", "200c", "--profiles", "3", "--members", "--dpi", "30"];
        let report = halos(&sample(), &scratch.path("one"), &options).success();
        for (device, ranks) in [("vulkan:0,0", 2), ("vulkan:0,0,0", 3)] {
            let options = [&options[..], &["--device", device]].concat();
            let printed = halos(&sample(), &scratch.path(device), &options).success();
            assert!(printed.contains(&format!("ranks           {ranks}\n")), "{printed}");
            assert!(printed.contains(&format!("device          {device}\n")), "{printed}");
            // All lines of one process before its times.
            let lines = report.lines().take_while(|line| !line.is_empty());
            for line in lines {
                assert!(printed.contains(&format!("{line}\n")), "{line}: {printed}");
            }
            let names = scratch.names(device);
            assert_eq!(names, scratch.names("one"));
            let asked = ["halos.ecsv", "labels.npy", "members.npz", "profiles.ecsv", "projection.png"];
            assert!(asked.iter().all(|name| names.iter().any(|n| n == name)), "{names:?}");
            for name in names.into_iter().filter(|name| name != "summary.json") {
                let [theirs, ours] = ["one", device].map(|out| fs::read(scratch.path(out).join(&name)).unwrap());
                assert!(ours == theirs, "{name} differs on {device}");
            }
        }
    }

    #[test]
    fn what_cannot_be_leaves_nothing() {
        let scratch = Scratch::new();
        let out = scratch.path("out");
        let twice = sample().display().to_string();
        for (options, says) in [
            (&["--device", "vulkan:0,99"][..], "no Vulkan device 99"),
            (&["--gallery", "3"], "--gallery: not with --device vulkan:0,0; give one device"),
            (&["--report"], "--report: not with --device vulkan:0,0; give one device"),
            (&["--finder", "hop"], "--finder hop: not with --device vulkan:0,0; give one device"),
            (&["--finder", "adaptahop"], "--finder adaptahop is not supported with --device vulkan:0,0"),
            (
                &["--linking-lengths", "0.1,0.2"],
                "the spanning tree is computed on the cpu; not supported with --device vulkan:0,0",
            ),
            (&["--center", "com"], "--device vulkan:0,0 supports --center mbp and mcp only"),
            (&["--catalog", "-"], "--catalog -: not with --device vulkan:0,0; give one device"),
            (&[twice.as_str(), "/nowhere"], "--device vulkan:0,0: only one snapshot and one linking length"),
            // Errors that ranks find after the files are created.
            (&["--linking-length", "200"], "at least twice linking_length = 100"),
            (&["--type", "4"], "has no particles"),
        ] {
            let device = if options[0] == "--device" { &[][..] } else { &["--device", "vulkan:0,0"] };
            let line = halos(&sample(), &out, &[options, device].concat()).error();
            assert!(line.contains(says) && !line.contains("rank"), "{line}");
            assert!(scratch.names("").is_empty());
        }
        let line = halos("-".as_ref(), &out, &["--device", "vulkan:0,0"]).error();
        assert!(
            line.contains("--device vulkan:0,0: standard input cannot be split between ranks; give a file"),
            "{line}"
        );
        // A folder that cannot be created is an error on one rank.
        let below = sample().join("out");
        let line = halos(&sample(), &below, &["--device", "vulkan:0,0"]).error();
        assert!(line.contains("cannot create the output directory"), "{line}");
        assert!(scratch.names("").is_empty());
    }

    /// Equal results have the same checksum for any number of ranks.
    #[test]
    fn groups_are_timed() {
        let bench = |device: &str, more: &[&str]| {
            let sample =
                ["bench", "--sample", "halos:n=3e3,box=20", "--periodic", "20", "--reps", "1", "--device", device];
            run([&sample[..], more].concat())
        };
        let sums = [("vulkan:0,0", 2), ("vulkan:0,0,0", 3)].map(|(device, ranks)| {
            let printed = bench(device, &["--ops", "fof", "--eps", "0.2", "--phases", "--threads", "2"]).success();
            assert!(printed.contains(&format!("{ranks} ranks on {device} that share 2 threads\n")), "{printed}");
            assert!(printed.contains("  group edges"), "{printed}");
            let line = printed.lines().find(|line| line.starts_with("fof ")).unwrap();
            line.split_whitespace().last().unwrap().to_string()
        });
        assert_eq!(sums[0], sums[1]);
        for (more, says) in [
            (&["--eps", "0.2", "--ops", "knn"][..], "--ops: with --device vulkan:0,0 use fof"),
            (&["--ops", "fof"], "--eps is required with --device vulkan:0,0"),
            (&["--eps", "0.2", "--scaling"], "--scaling: not with --device vulkan:0,0; give one device"),
        ] {
            let line = bench("vulkan:0,0", more).error();
            assert!(line.contains(says), "{line}");
        }
    }
}
