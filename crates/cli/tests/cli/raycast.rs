//! `ropewalk raycast`: pictures of meshes, and errors.

use std::fs;

use crate::program::{Scratch, run};

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
    f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 3 4 8 7\nf 2 3 7 6\nf 4 1 5 8\n";

#[test]
fn a_cube_is_drawn() {
    let scratch = Scratch::new();
    let (mesh, out) = (scratch.write("cube.obj", CUBE), scratch.path("cube.png"));
    let [mesh, out] = [&mesh, &out].map(|path| path.display().to_string());
    let printed = run(["raycast", &mesh, "--out", &out, "--size", "64,48"]).success();
    assert!(printed.contains("vertices        8\n") && printed.contains("triangles       12\n"), "{printed}");
    let picture = fs::read(&out).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    assert_eq!(picture[16..24], [0, 0, 0, 64, 0, 0, 0, 48]);
    run(["raycast", &mesh, "--out", &out, "--size", "64,48", "--threads", "1"]).success();
    assert!(fs::read(&out).unwrap() == picture);
    run(["raycast", &mesh, "--out", &out, "--size", "64,48", "--azimuth", "10"]).success();
    assert!(fs::read(&out).unwrap() != picture);
}

/// The help shows the default size as it would be typed, and the default has that effect.
#[test]
fn the_size_that_is_shown() {
    let scratch = Scratch::new();
    let (mesh, out) = (scratch.write("cube.obj", CUBE), scratch.path("cube.png"));
    let [mesh, out] = [&mesh, &out].map(|path| path.display().to_string());
    let help = run(["raycast", "--help"]).success().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[default: 1200,900]") && help.contains("fans from their first corner"), "{help}");
    run(["raycast", &mesh, "--out", &out]).success();
    assert_eq!(fs::read(&out).unwrap()[16..24], [0, 0, 4, 176, 0, 0, 3, 132]);
}

#[test]
fn what_is_wrong_is_told() {
    let scratch = Scratch::new();
    let out = scratch.path("cube.png").display().to_string();
    let mesh = scratch.write("cube.obj", CUBE).display().to_string();
    let cut = scratch.write("cut.obj", "v 0 0 0\nf 1 2 3\n").display().to_string();
    let empty = scratch.write("empty.stl", "").display().to_string();
    let bare = scratch.write("bare.stl", "solid bare\nendsolid bare\n").display().to_string();
    for (arguments, sentence) in [
        (vec!["raycast", &empty, "--out", &out], "empty.stl: is empty"),
        (vec!["raycast", &bare, "--out", &out], "bare.stl: has no triangles to draw"),
        (
            vec!["raycast", &cut, "--out", &out],
            "cut.obj: line 2: 'f 1 2 3' has a vertex that does not exist; the file has 1",
        ),
        (vec!["raycast", &mesh, "--out", "cube.jpg"], "must end in .png"),
        (vec!["raycast", &mesh, "--out", &out, "--size", "64"], "--size must be two numbers"),
        (vec!["raycast", &mesh, "--out", &out, "--size", "0,10"], "width is 0"),
        (vec!["raycast", &mesh, "--out", &out, "--elevation", "100"], "elevation is 100"),
    ] {
        let error = run(&arguments).error();
        assert!(error.contains(sentence), "{arguments:?}: {error}");
    }
    assert!(!scratch.path("cube.png").exists());
}
