//! `ropewalk raycast`: pictures of meshes, hits of rays, and errors.

use std::fs;

use npyz::NpyFile;

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
    // The same cube in red is another picture.
    let red =
        CUBE.lines().map(|line| if line.starts_with('v') { format!("{line} 1 0 0\n") } else { format!("{line}\n") });
    let red = scratch.write("red.obj", red.collect::<String>()).display().to_string();
    run(["raycast", &red, "--out", &out, "--size", "64,48"]).success();
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

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the first triangle that a ray hits, and the parameter of the hit, by testing all triangles (Moeller and
/// Trumbore 1997).
fn first_hit(triangles: &[[[f64; 3]; 3]], origin: [f64; 3], direction: [f64; 3]) -> Option<(usize, f64)> {
    let hit = |(i, &[a, b, c]): (usize, &[[f64; 3]; 3])| {
        let (ab, ac) = (minus(b, a), minus(c, a));
        let (p, q) = (cross(direction, ac), cross(minus(origin, a), ab));
        let volume = dot(ab, p);
        let (u, v, t) = (dot(minus(origin, a), p) / volume, dot(direction, q) / volume, dot(ac, q) / volume);
        (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0).then_some((i, t))
    };
    triangles.iter().enumerate().filter_map(hit).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Triangles of a bumpy surface, and rays from above and below in all directions, some of which miss it.
#[test]
fn hits_of_rays() {
    const SIDE: usize = 8;
    let scratch = Scratch::new();
    let vertex = |i: usize, j: usize| [i as f64, j as f64, ((3 * i + 5 * j * j) % 7) as f64 / 4.0];
    let mut text: String = (0..SIDE * SIDE)
        .map(|k| {
            let [x, y, z] = vertex(k / SIDE, k % SIDE);
            format!("v {x} {y} {z}\n")
        })
        .collect();
    let mut triangles = vec![];
    for (i, j) in (0..SIDE - 1).flat_map(|i| (0..SIDE - 1).map(move |j| (i, j))) {
        for corners in [[(i, j), (i + 1, j), (i, j + 1)], [(i + 1, j), (i + 1, j + 1), (i, j + 1)]] {
            triangles.push(corners.map(|(i, j)| vertex(i, j)));
            let [a, b, c] = corners.map(|(i, j)| i * SIDE + j + 1);
            text += &format!("f {a} {b} {c}\n");
        }
    }
    let number = |k: usize| ((k * 7919 + 104729) % 10007) as f64 / 10007.0;
    let rays: Vec<[f64; 6]> = (0..200)
        .map(|i| {
            let at = |k: usize| number(6 * i + k);
            let z = if i % 2 == 0 { 6.0 } else { -4.0 };
            [8.0 * at(0), 8.0 * at(1), z, 2.0 * at(3) - 1.0, 2.0 * at(4) - 1.0, -z * at(5) / 4.0]
        })
        .collect();
    let rows: String = rows_of(&rays);
    let of = |name: &str| scratch.path(name).display().to_string();
    let mesh = scratch.write("mesh.obj", &text).display().to_string();
    let table = scratch.write("rays.csv", format!("ox,oy,oz,dx,dy,dz\n{rows}")).display().to_string();
    let command = ["raycast", &mesh, "--rays", &table, "--out"];
    let printed = run([&command[..], &[&of("hits.csv")]].concat()).success();
    let expected: Vec<_> = rays.iter().map(|r| first_hit(&triangles, [r[0], r[1], r[2]], [r[3], r[4], r[5]])).collect();
    let n = expected.iter().flatten().count();
    assert!((30..170).contains(&n), "{n}");
    let share = n as f64 / 2.0;
    assert!(
        printed.contains(&format!(
            "\nrays            200\ncolumns         ox, oy, oz, dx, dy, dz\nhits            {n} ({share:.1}%)\n"
        )),
        "{printed}"
    );
    let csv = fs::read_to_string(of("hits.csv")).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("x,y,z,triangle,t"));
    assert_eq!(csv.lines().count(), 201);
    for ((line, expected), ray) in lines.zip(&expected).zip(&rays) {
        let found: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        let Some((triangle, t)) = expected else {
            assert!(found[..3].iter().all(|x| x.is_nan()) && found[3..] == [-1.0, f64::INFINITY], "{line}");
            continue;
        };
        assert_eq!(line.split(',').nth(3), Some(triangle.to_string().as_str()), "{line}");
        assert!((found[4] - t).abs() < 1e-12 * t.max(1.0), "{line}: {t}");
        let point = [0, 1, 2].map(|k| ray[k] + t * ray[k + 3]);
        assert!((0..3).all(|k| (found[k] - point[k]).abs() < 1e-10), "{line}: {point:?}");
    }
    // All formats have the same values, also for the numbers of an array.
    let array = of("rays.npy");
    let table_of_rays = ropewalk_io::read_fields(&table, &[]).unwrap();
    let mut bytes = vec![];
    ropewalk_io::write_npy_f64_rows_to(&mut bytes, &table_of_rays.values, 6).unwrap();
    fs::write(&array, bytes).unwrap();
    assert_eq!(run(["raycast", &mesh, "--rays", &array, "--out", "-"]).stdout, csv);
    run([&command[..], &[&of("hits.parquet")]].concat()).success();
    run([&command[..], &[&of("hits.npy")]].concat()).success();
    let npy = NpyFile::new(fs::File::open(of("hits.npy")).unwrap()).unwrap();
    assert_eq!(npy.shape(), [200, 5]);
    let values: Vec<f64> = npy.into_vec().unwrap();
    let parquet = ropewalk_io::read_fields(of("hits.parquet"), &[]).unwrap();
    assert_eq!(parquet.names, ["x", "y", "z", "triangle", "t"]);
    let same = |a: &f64, b: &f64| a == b || (a.is_nan() && b.is_nan());
    assert!(values.iter().zip(&parquet.values).all(|(a, b)| same(a, b)) && parquet.values.len() == 1000);
}

fn rows_of(rays: &[[f64; 6]]) -> String {
    rays.iter().map(|ray| ray.map(|value| value.to_string()).join(",") + "\n").collect()
}

#[test]
fn rays_that_are_refused() {
    let scratch = Scratch::new();
    let mesh = scratch.write("cube.obj", CUBE).display().to_string();
    let out = scratch.path("hits.csv").display().to_string();
    let bare = scratch.write("bare.stl", "solid bare\nendsolid bare\n").display().to_string();
    let rays = scratch.write("rays.csv", "0.5,0.25,5,0,0,-1\n").display().to_string();
    let error = |text: &str| {
        let rays = scratch.write("bad.csv", text).display().to_string();
        run(["raycast", &mesh, "--rays", &rays, "--out", &out]).error()
    };
    assert!(error("1,2,3,4,5\n").contains("rows have 5 numbers; rays have 6, three of the origin"));
    assert!(error("1,2,3,4,5,6\n1,2,nan,4,5,6\n").contains("ray 1: column 3 is NaN; rays must be finite"));
    let error = |arguments: &[&str]| run([&["raycast"], arguments].concat()).error();
    assert!(error(&[&bare, "--rays", &rays, "--out", &out]).ends_with("bare.stl: has no triangles"));
    assert!(error(&[&mesh, "--rays", &rays, "--out", "hits.png"]).contains("must end in .npy or .csv"));
    assert!(error(&[&mesh, "--rays", &rays, "--out", &rays]).contains("the output would replace the input"));
    assert!(error(&[&mesh, "--rays", "-", "--out", &out]).contains("--rays: standard input is not supported"));
    assert_eq!(run(["raycast", &mesh, "--rays", &rays, "--out", &out, "--size", "9,9"]).status, 2);
    assert!(!scratch.path("hits.csv").exists());
}
