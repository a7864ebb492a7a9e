//! Meshes that are built on a device: errors, unusual triangles, refits, and the quality of the tree.

use common::random::Random;
use ropewalk::gpu::{self, Coordinate, Rays};
use ropewalk::{ErrorKind, Mesh, Ray};

use crate::mesh::{around, compare_hits, compare_nearest_of, device, places, rays};

/// Compares rays and nearest points with those of a mesh on the CPU.
fn compare<S: Coordinate>(name: &str, ours: &gpu::Mesh<S>, vertices: &[[S; 3]], faces: &[[u32; 3]], n: usize) {
    let mesh = Mesh::build(vertices, faces).unwrap();
    let corners: Vec<[f64; 3]> = vertices.iter().map(|vertex| vertex.map(Into::into)).collect();
    compare_hits(name, ours, &mesh, &rays(&mesh.bounds(), &corners, n), device());
    compare_nearest_of(name, ours, &mesh, &places(&mesh.bounds(), &corners, n), f64::INFINITY);
}

fn build_and_compare<S: Coordinate>(name: &str, vertices: &[[f64; 3]], faces: &[[u32; 3]], n: usize) {
    let vertices: Vec<[S; 3]> = vertices.iter().map(|vertex| vertex.map(S::from_f64)).collect();
    let ours = gpu::Mesh::build(&vertices, faces, device()).unwrap();
    ours.wait().unwrap();
    compare(name, &ours, &vertices, faces, n);
}

/// Returns faces of three consecutive vertices.
fn consecutive(n: usize) -> Vec<[u32; 3]> {
    (0..n as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect()
}

/// Returns small triangles around given places.
fn small_triangles(places: impl Iterator<Item = [f64; 3]>, size: impl Fn(usize) -> f64) -> Vec<[f64; 3]> {
    let mut random = Random::new(17);
    let around = |(i, at): (usize, [f64; 3])| {
        let mut corner = || -> [f64; 3] { std::array::from_fn(|k| at[k] + size(i) * (random.unit() - 0.5)) };
        [corner(), corner(), corner()]
    };
    places.enumerate().flat_map(around).collect()
}

/// More triangles than a block merges, in one and in several rounds, and the numbers at which rounds begin.
#[test]
fn numbers_of_triangles() {
    let mut random = Random::new(3);
    for n in [2, 7, 8, 9, 10, 65, 511, 512, 513, 577, 1100, 5000] {
        let soup = small_triangles((0..n).map(|_| std::array::from_fn(|_| random.unit())), |_| 0.1);
        build_and_compare::<f32>(&format!("{n} triangles"), &soup, &consecutive(n), 100);
    }
}

#[test]
#[ignore = "wide"]
fn wide_many_triangles() {
    let mut random = Random::new(4);
    let soup = small_triangles((0..40_000).map(|_| std::array::from_fn(|_| random.unit())), |_| 0.02);
    build_and_compare::<f64>("40,000 triangles", &soup, &consecutive(40_000), 2000);
}

/// Compares a mesh whose triangles a ray may meet all at once. Software drivers end long loops, so rays that meet many
/// triangles may be an error there.
fn compare_many_at_once(name: &str, corners: &[[f32; 3]], faces: &[[u32; 3]]) {
    let mesh = Mesh::build(corners, faces).unwrap();
    let ours = gpu::Mesh::build(corners, faces, device()).unwrap();
    let mut random = Random::new(23);
    let mut place = || -> [f32; 3] { std::array::from_fn(|_| random.unit() as f32) };
    let points: Vec<[f32; 3]> = (0..30).map(|_| place()).collect();
    let mut compared = 0;
    for &[x, y, z] in &points[..9] {
        let rays = [Ray::new([x, y, -z], [0.45 - x, 0.5 - y, 0.3 + 2.0 * z])];
        let there = Rays::new(&rays, device()).unwrap();
        let found = ours.first_hits(&there).map(drop).and(ours.hits_all(&there).map(drop));
        match &found {
            Ok(()) => compare_hits(name, &ours, &mesh, &rays, device()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        }
        compared += usize::from(found.is_ok());
    }
    assert!(compared > 4 || faces.len() > 100, "{compared}");
    assert_eq!(compare_nearest_of(name, &ours, &mesh, &points, f64::INFINITY), 30);
}

#[test]
#[ignore = "wide"]
fn wide_unusual_triangles() {
    let n = 700;
    let corners = [[0.1, 0.2, 0.3], [1.1, 0.2, 0.4], [0.3, 1.2, 0.1]];
    compare_many_at_once("few copies", &corners, &[[0, 1, 2]; 60]);
    compare_many_at_once("copies", &corners, &[[0, 1, 2]; 2000]);
    compare_many_at_once("points", &corners, &[[1, 1, 1]; 600]);
    let line: Vec<[f32; 3]> = (0..3 * n).map(|i| [i as f32, 0.0, 0.0]).collect();
    compare_many_at_once("a line", &line, &consecutive(n));
    // All but one centre are in one cell of the Morton grid.
    let cell = |i: usize| if i == 0 { [1e6; 3] } else { [i as f64 * 1e-4, 1e-3, 1e-3] };
    build_and_compare::<f32>("one cell", &small_triangles((0..n).map(cell), |_| 1e-3), &consecutive(n), 100);
    // Distances between neighbours that grow steadily, so that few pairs choose each other.
    let graded = |i: usize| [1.02f64.powi(i as i32), 0.0, 0.0];
    let graded = small_triangles((0..n).map(graded), |i| 0.01 * 1.02f64.powi(i as i32));
    build_and_compare::<f32>("graded", &graded, &consecutive(n), 100);
    let mut random = Random::new(8);
    for (name, scale) in [("tiny", 1e-30), ("huge", 1e30)] {
        let soup = small_triangles((0..n).map(|_| std::array::from_fn(|_| scale * random.unit())), |_| 0.1 * scale);
        build_and_compare::<f32>(name, &soup, &consecutive(n), 100);
    }
}

/// The errors of the CPU.
#[test]
fn errors_of_the_cpu() {
    let vertices = [[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let [mut nan, mut large] = [vertices; 2];
    nan[1][2] = f64::NAN;
    large[2][0] = 1e151;
    let same = |vertices: &[[f64; 3]], faces: &[[u32; 3]]| {
        let ours = gpu::Mesh::build(vertices, faces, device()).unwrap_err();
        assert_eq!(ours.to_string(), Mesh::build(vertices, faces).unwrap_err().to_string());
    };
    same(&nan, &[[0, 1, 2]]);
    same(&large, &[]);
    same(&vertices, &[[0, 1, 2], [2, 3, 7]]);
    same(&[], &[[0, 0, 0]]);
}

#[test]
fn refits() {
    let device = device();
    let surface = around("a ball", 20, |_| 1.0);
    let mut vertices: Vec<[f32; 3]> = surface.vertices.iter().map(|vertex| vertex.map(|x| x as f32)).collect();
    let faces = &surface.faces;
    let mut ours = gpu::Mesh::build(&vertices, faces, device).unwrap();
    assert_eq!(ours.degradation().unwrap(), 1.0);
    let (before, clone) = (vertices.clone(), ours.clone());
    ours.refit(&vertices).unwrap();
    assert_eq!(ours.degradation().unwrap(), 1.0);
    // Longer, and somewhere else.
    vertices.iter_mut().for_each(|[x, y, z]| [*x, *y, *z] = [100.0 + 7.0 * *x + *y, *y - *z * *x, *z]);
    ours.refit(&vertices).unwrap();
    compare("moved", &ours, &vertices, faces, 300);
    compare("a clone", &clone, &before, faces, 100);
    let moved = ours.degradation().unwrap();
    assert!(moved > 0.5 && moved < 2.0, "{moved}");
    let mut random = Random::new(1);
    vertices.iter_mut().for_each(|vertex| *vertex = std::array::from_fn(|_| random.unit() as f32));
    ours.refit(&vertices).unwrap();
    compare("shuffled", &ours, &vertices, faces, 100);
    let shuffled = ours.degradation().unwrap();
    assert!(shuffled > 3.0, "{shuffled}");

    vertices[5][1] = f32::NAN;
    let error = ours.refit(&vertices).unwrap_err();
    assert_eq!(error.to_string(), Mesh::build(&vertices, faces).unwrap_err().to_string());
    let error = ours.refit(&vertices[1..]).unwrap_err();
    assert!(error.kind() == ErrorKind::Input && error.to_string().contains("839"), "{error}");
    assert_eq!(ours.degradation().unwrap(), shuffled);
    let mut uploaded = gpu::Mesh::upload(&Mesh::build(&before, faces).unwrap(), device).unwrap();
    assert_eq!(uploaded.refit(&before).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(uploaded.degradation().unwrap(), 1.0);

    let mut one = gpu::Mesh::build(&before, &[[0, 50, 90]], device).unwrap();
    one.refit(&vertices.iter().map(|&[x, _, z]| [x, z, 1.0]).collect::<Vec<_>>()).unwrap();
    assert_eq!(one.degradation().unwrap(), 1.0);
    let mut none = gpu::Mesh::<f32>::build(&before, &[], device).unwrap();
    none.refit(&before).unwrap();
    assert_eq!((none.len(), none.degradation().unwrap()), (0, 1.0));
}
