//! `--device`: errors for missing devices, and results equal to those of the CPU.

use crate::program::{Scratch, halos, run, sample};

/// The commands that take a device, without `--device`.
fn commands(scratch: &Scratch) -> [Vec<String>; 5] {
    let (file, out) = (sample().display().to_string(), scratch.path("out").display().to_string());
    let edges = scratch.path("edges.npy").display().to_string();
    [
        vec!["bench".into(), "--sample".into(), "uniform:n=100".into()],
        vec!["halos".into(), file.clone(), "--out".into(), out],
        vec!["dbscan".into(), file.clone(), "--eps".into(), "0.1".into(), "--min-pts".into(), "5".into()],
        vec!["hdbscan".into(), file.clone(), "--min-cluster-size".into(), "5".into()],
        vec!["emst".into(), file, "--out".into(), edges],
    ]
}

#[test]
fn unknown_names() {
    let scratch = Scratch::new();
    for command in commands(&scratch) {
        for name in ["gpu", "cuda:", "vulkan:one", "cpu:0", ""] {
            let output = run(command.iter().map(String::as_str).chain(["--device", name]));
            assert_eq!(output.status, 2);
            output.line();
        }
    }
}

#[test]
fn features_that_are_not_built() {
    let scratch = Scratch::new();
    let there = [("cuda", "CUDA", cfg!(feature = "cuda")), ("vulkan:1", "Vulkan", cfg!(feature = "vulkan"))];
    for (name, what, _) in there.into_iter().filter(|(.., is_built)| !is_built) {
        for command in commands(&scratch) {
            let line = run(command.iter().map(String::as_str).chain(["--device", name])).error();
            let feature = what.to_lowercase();
            let sentence = format!("this ropewalk was built without {what}; build it with --features {feature}");
            assert!(line.contains(&sentence), "{line}");
        }
    }
    assert!(scratch.names("").is_empty());
}

#[test]
fn the_cpu_by_its_name() {
    let scratch = Scratch::new();
    halos(&sample(), &scratch.path("out"), &["--device", "cpu"]).success();
}

#[cfg(feature = "vulkan")]
mod on_vulkan {
    use std::fs;

    use super::*;

    fn program(arguments: &[&str]) -> String {
        run(arguments).success()
    }

    /// Writes a clustered snapshot with a box.
    fn snapshot(scratch: &Scratch) -> String {
        let path = scratch.path("snapshot").display().to_string();
        program(&["sample", "halos:n=2e4,seed=3,box=20", "--format", "gadget", "--out", &path]);
        path
    }

    #[test]
    fn halos_are_those_of_the_cpu() {
        let scratch = Scratch::new();
        let path = snapshot(&scratch);
        for options in [
            &["--center", "mbp", "--members", "--gallery", "2"][..],
            &["--center", "mcp", "--open"],
            &["--finder", "hop", "--density"],
        ] {
            for device in ["cpu", "vulkan"] {
                let options = [options, &["--device", device]].concat();
                halos(path.as_ref(), &scratch.path(device), &options).success();
            }
            let names = scratch.names("cpu");
            assert_eq!(names, scratch.names("vulkan"));
            for name in names.into_iter().filter(|name| name != "summary.json") {
                let [theirs, ours] = ["cpu", "vulkan"].map(|out| fs::read(scratch.path(out).join(&name)).unwrap());
                assert!(ours == theirs, "{name} differs with {options:?}");
            }
        }
    }

    #[test]
    fn clusters_are_those_of_the_cpu() {
        let scratch = Scratch::new();
        let path = snapshot(&scratch);
        let plane = scratch.write("plane.csv", "x,y\n0,0\n0.1,0\n0,0.1\n9.95,0\n5,5\n");
        let plane = plane.to_str().unwrap();
        // Points in five dimensions.
        let wide =
            scratch.write("wide.csv", "0,0,0,0,0\n9.9,0,0,0,0.1\n0,0.1,0,0,9.95\n5,5,5,5,5\n").display().to_string();
        for (file, eps, options) in [
            (path.as_str(), "0.1", &["--periodic", "20"][..]),
            (plane, "0.2", &["--star", "--algorithm", "fdbscan", "--periodic", "10"]),
            (&wide, "0.2", &["--periodic", "10"]),
        ] {
            let [theirs, ours] = ["cpu", "vulkan"].map(|device| {
                let labels = scratch.path("labels.npy").display().to_string();
                let first = ["dbscan", file, "--eps", eps, "--min-pts", "3", "--out", &labels, "--device", device];
                program(&[&first, options].concat());
                fs::read(labels).unwrap()
            });
            assert!(ours == theirs, "{file} {options:?}");
        }
    }

    /// Compares labels, probabilities and outlier scores, and edges and weights.
    #[test]
    fn trees_are_those_of_the_cpu() {
        let scratch = Scratch::new();
        let path = snapshot(&scratch);
        let plane = scratch.write("plane.csv", "x,y\n0,0\n0.1,0\n0,0.1\n9.95,0\n5,5\n5,5.5\n");
        let plane = plane.to_str().unwrap();
        let names = ["one.npy", "other.npy", "third.npy"].map(|name| scratch.path(name).display().to_string());
        let [one, other, third] = names.each_ref().map(String::as_str);
        let line = scratch.write("line.csv", "0\n1\n1.5\n4\n4.25\n9.75\n").display().to_string();
        for arguments in [
            &["hdbscan", &path, "--min-cluster-size", "20", "--min-samples", "5", "--periodic", "20"][..],
            &["hdbscan", &path, "--min-cluster-size", "10", "--method", "leaf", "--epsilon", "0.1"],
            &["hdbscan", &path, "--min-cluster-size", "10", "--alpha", "0.7", "--periodic", "20"],
            &["hdbscan", plane, "--min-cluster-size", "2", "--allow-single", "--periodic", "10"],
            &["emst", &path, "--min-samples", "5", "--periodic", "20"],
            &["emst", plane],
            &["hdbscan", &line, "--min-cluster-size", "2", "--allow-single", "--periodic", "10"],
            &["emst", &line],
        ] {
            let outputs = match arguments[0] {
                "emst" => vec!["--out", one, "--weights", other],
                _ => vec!["--out", one, "--probabilities", other, "--outliers", third],
            };
            let [theirs, ours] = ["cpu", "vulkan"].map(|device| {
                let printed = program(&[arguments, &outputs, &["--device", device]].concat());
                assert_eq!(printed.contains("device          vulkan:0"), device == "vulkan", "{printed}");
                outputs.chunks(2).map(|output| fs::read(output[1]).unwrap()).collect::<Vec<_>>()
            });
            assert!(ours == theirs, "{arguments:?}");
        }
        let sequential = ["hdbscan", &path, "--min-cluster-size", "5", "--ties", "sequential", "--device", "vulkan"];
        let refused = run(sequential).error();
        assert!(refused.contains("not supported on a device; use --ties together"), "{refused}");
    }

    #[test]
    fn all_operations_are_timed() {
        let scratch = Scratch::new();
        let figures = scratch.path("figures.json").display().to_string();
        let ops = "build,range_count,range_csr,half_count,knn,build_knn,fof,dbscan_fdbscan,dbscan_densebox,hdbscan,mbp,fof_mbp";
        let sample = ["bench", "--sample", "halos:n=3e3,box=20", "--periodic", "20"];
        let options = ["--ops", ops, "--reps", "1", "--json", &figures, "--device", "vulkan"];
        let printed = program(&[&sample[..], &options].concat());
        assert!(printed.contains(", vulkan:0\n"), "{printed}");
        let text = fs::read_to_string(&figures).unwrap();
        assert_eq!(text.matches("\"device\": \"vulkan:0\"").count(), 12, "{text}");
    }

    #[test]
    fn what_a_device_does_not_have() {
        let scratch = Scratch::new();
        let out = scratch.path("out");
        let line = halos(&sample(), &out, &["--center", "com", "--device", "vulkan"]).error();
        assert!(line.contains("supports --center mbp and mcp only; for the centre of mass use --device cpu"), "{line}");
        let line = halos(&sample(), &out, &["--device", "vulkan:99"]).error();
        assert!(line.contains("no Vulkan device 99"), "{line}");
        let command = ["bench", "--sample", "uniform:n=100", "--device", "vulkan", "--ops", "fof_bins"];
        let line = run(command).error();
        assert!(line.contains("fof_bins: not supported on devices"), "{line}");
    }
}
