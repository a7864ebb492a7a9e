//! A sphere with one side cut off: ray casting, distances of points to the surface, and an image.
//!
//!     cargo run --release --example raycast [PICTURE.png]

use ropewalk::{Mesh, Ray};
use ropewalk_plot::{View, shaded};

type Point = [f64; 3];

/// Returns the triangles of a sphere of radius 1: those of an octahedron, each split into four, five times.
fn ball() -> (Vec<Point>, Vec<[u32; 3]>) {
    let axes = |k: usize, x: f64| std::array::from_fn(|axis| if axis == k { x } else { 0.0 });
    let mut vertices: Vec<Point> = (0..6).map(|at| axes(at / 2, if at % 2 == 0 { 1.0 } else { -1.0 })).collect();
    let mut faces = vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    for _ in 0..5 {
        let mut middle = |a: u32, b: u32| {
            let sum: Point = std::array::from_fn(|k| vertices[a as usize][k] + vertices[b as usize][k]);
            let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
            vertices.push(sum.map(|x| x / length));
            vertices.len() as u32 - 1
        };
        let quarters = |[a, b, c]: [u32; 3]| {
            let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        };
        faces = faces.into_iter().flat_map(quarters).collect();
    }
    (vertices, faces)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut vertices, faces) = ball();
    // Vertices beyond a plane are projected onto it.
    let normal = [2.0 / 3.0, -2.0 / 3.0, 1.0 / 3.0];
    for vertex in &mut vertices {
        let beyond = (0..3).map(|k| normal[k] * vertex[k]).sum::<f64>() - 0.7;
        *vertex = std::array::from_fn(|k| vertex[k] - beyond.max(0.0) * normal[k]);
    }
    let mesh = Mesh::build(&vertices, &faces)?;
    println!("{} triangles", mesh.len());

    let ray = Ray::new([0.1, 0.2, 5.0], [0.0, 0.0, -1.0]);
    let through = mesh.hits(&ray);
    println!(
        "a ray from above crosses it at t = {}",
        through.iter().map(|hit| format!("{:.3}", hit.t)).collect::<Vec<_>>().join(" and ")
    );
    let sight = Ray::new([0.0, 0.0, 2.0], [0.0, 0.0, -4.0]).between(0.0, 1.0);
    println!(
        "two points on either side {}",
        if mesh.any_hit(&sight) { "do not see each other" } else { "see each other" }
    );
    for point in [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.6, -0.6, 0.4]] {
        let side = if mesh.contains(point) { "inside" } else { "outside" };
        println!("{point:?} is {side}, {:.3} from the surface", mesh.signed_distance(point).abs());
    }
    if let Some(path) = std::env::args().nth(1) {
        let (picture, rays) = shaded(&mesh, None, &View::default())?;
        std::fs::write(&path, picture).map_err(|error| format!("{path}: {error}"))?;
        println!("{rays} rays drew {path}");
    }
    Ok(())
}
