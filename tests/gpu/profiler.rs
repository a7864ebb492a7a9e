//! Ranges and marks for profilers: a process with a library that plays the profiler, which is compiled here.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ropewalk::gpu::{Bvh, Device};

use common::clouds;

/// A build and a search. Results do not depend on a profiler.
#[test]
fn a_build_and_a_search() {
    let cloud = clouds::clustered::<f32, 3>();
    let bvh = Bvh::build(&cloud.points, Device::first().unwrap()).unwrap();
    let expected = ropewalk::Bvh::build(&cloud.points).unwrap().count_neighbors(cloud.radii[1]);
    assert_eq!(bvh.count_neighbors(cloud.radii[1]).unwrap().read().unwrap(), expected);
}

/// Runs the test above in a process of its own, and returns what the profiler of the given library has written.
fn profiled(library: &Path, log: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "profiler::a_build_and_a_search"])
        .env("NVTX_INJECTION64_PATH", library)
        .env("NVTX_LOG", log)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    fs::read_to_string(log).unwrap_or_default()
}

#[test]
fn profilers_see_ranges_and_marks() {
    let folder = std::env::temp_dir().join(format!("ropewalk-profiler-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [library, log]: [PathBuf; 2] = ["profiler.so", "log"].map(|name| folder.join(name));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/gpu/profiler.c");
    let options = ["-shared", "-fPIC", "-Wall", "-o"];
    let compiled = Command::new("cc").args(options).args([&library, Path::new(source)]).status().unwrap();
    assert!(compiled.success());

    let text = profiled(&library, &log);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("started"), "{text}");
    let (mut open, mut closed, mut marks) = (vec![], vec![], vec![]);
    for line in lines {
        let [depth, what, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        match what {
            "push" => open.push(name),
            "pop" => closed.push(open.pop().unwrap()),
            _ => marks.push((*open.last().unwrap(), name)),
        }
        assert_eq!(depth, (open.len() - usize::from(what == "push")).to_string(), "{text}");
    }
    assert!(open.is_empty(), "{text}");
    // Each operation is a range, with the marks of its phases inside.
    let named = |end: &str| closed.iter().filter(|name| name.ends_with(end)).count();
    assert!(closed.iter().all(|name| name.starts_with("ropewalk::gpu::")), "{text}");
    assert!(named("::count_neighbors") == 1 && named("::read") >= 1, "{text}");
    for phase in ["codes", "sort", "leaves", "nodes"] {
        let of = marks.iter().filter(|mark| mark.1 == phase && mark.0.starts_with("ropewalk::gpu::bvh::")).count();
        assert_eq!(of, 1, "{phase} in {text}");
    }

    // A library that is missing, or that is no profiler, changes nothing.
    fs::remove_file(&log).unwrap();
    assert_eq!(profiled(&folder.join("missing.so"), &log), "");
    assert_eq!(profiled(Path::new("libc.so.6"), &log), "");
    fs::remove_dir_all(&folder).unwrap();
}
