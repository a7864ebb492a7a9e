//! Files of points and meshes that are larger than memory. Each must be an error, never an abort.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::program::Scratch;

/// Text files: the subcommand that reads the file, its header, a line, the number of these lines, and the last line.
const TEXTS: [(&str, &str, &str, usize, &str); 5] = [
    ("convert", "", "v 1 2 3\n", 2_000_000, ""),
    (
        "convert",
        "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2000000\nHEIGHT 1\nPOINTS 2000000\nDATA ascii\n",
        "1 2 3\n",
        2_000_000,
        "",
    ),
    ("raycast", "", "v 1 2 3\n", 2_000_000, "f 1 2 3\n"),
    ("raycast", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "f 1 2 3\n", 2_000_000, ""),
    (
        "raycast",
        "ply\nformat ascii 1.0\nelement vertex 2000000\nproperty float x\nproperty float y\nproperty float z\n\
         element face 1\nproperty list uchar int vertex_indices\nend_header\n",
        "1 2 3\n",
        2_000_000,
        "3 0 1 2\n",
    ),
];

/// Runs the program on a file with `kilobytes` of address space. Returns `true` if it ended with an error about
/// memory.
#[track_caller]
fn is_refused(scratch: &Scratch, command: &str, file: &Path, kilobytes: u32) -> bool {
    let script = format!("ulimit -v {kilobytes}; exec \"$@\"");
    let mut call = Command::new("sh");
    call.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_ropewalk"), command]).arg(file);
    match command {
        "raycast" => call.args(["--threads", "1", "--size", "8,6", "--out"]).arg(scratch.path("out.png")),
        _ => call.arg(scratch.path("out.npz")),
    };
    let output = call.env("RAYON_NUM_THREADS", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{command} {file:?} {kilobytes}: {code:?} {said}");
    code == Some(1) && said.contains("memory")
}

#[test]
fn files_larger_than_memory() {
    let scratch = Scratch::new();
    let file = scratch.path("points");
    for (command, head, line, n, end) in TEXTS {
        fs::write(&file, [head, &line.repeat(n), end].concat()).unwrap();
        // Without optimizations the program itself is larger.
        let too_few = if cfg!(debug_assertions) { 140_000 } else { 100_000 };
        assert!(is_refused(&scratch, command, &file, too_few), "{command} {line}");
        is_refused(&scratch, command, &file, 140_000);
        is_refused(&scratch, command, &file, 180_000);
    }
}

/// A megabyte that unpacks to a hundred megabytes.
#[test]
fn compressed_points_larger_than_memory() {
    let scratch = Scratch::new();
    let references = 380_000;
    // A zero byte, and references of 264 bytes to the byte before. The rest are literals.
    let (mut data, mut whole) = (vec![0, 0], 1 + 264 * references);
    data.extend([0xe0, 255, 0].repeat(references));
    while whole % 12 != 0 {
        data.extend([0, 0]);
        whole += 1;
    }
    let points = whole / 12;
    let header = format!(
        "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {points}\nHEIGHT 1\nPOINTS {points}\nDATA binary_compressed\n"
    );
    let sizes = [data.len() as u32, whole as u32].map(u32::to_le_bytes).concat();
    let file = scratch.path("points.pcd");
    fs::write(&file, [header.as_bytes(), &sizes, &data].concat()).unwrap();
    assert!(is_refused(&scratch, "convert", &file, 150_000));
}
