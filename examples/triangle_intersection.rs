//! The triangle of a mesh that contains a point, and its barycentric coordinates, on a GPU.
//!
//!     cargo run --release --features vulkan --example triangle_intersection
//!
//! `--features cuda` is for NVIDIA's GPUs. See `point_location` for tetrahedra on the CPU.

use ropewalk::geometry::Triangle;
use ropewalk::gpu::{self, Device};
use ropewalk::{Result, ValueBvh};

fn main() -> Result<()> {
    // Two squares by two, each split by the diagonal from its upper left to its lower right corner.
    let triangles: Vec<Triangle<f64, 2>> = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
        .into_iter()
        .flat_map(|[x, y]| {
            let [right, above, opposite] = [[x + 1.0, y], [x, y + 1.0], [x + 1.0, y + 1.0]];
            [Triangle::new([x, y], right, above), Triangle::new(opposite, above, right)]
        })
        .collect();
    // Inside, on a shared edge, on the corner of six triangles, and outside.
    let points = [[0.25, 0.125], [1.5, 0.75], [0.25, 0.75], [1.0, 1.0], [2.5, 1.0]];

    let mesh = gpu::ValueBvh::build(triangles.clone(), Device::first()?)?;
    let lists = mesh.query_all(&points)?.read()?;
    for (point, hits) in points.into_iter().zip(&lists) {
        println!("{point:?} is in {} triangles", hits.len());
        for &triangle in hits {
            let weights = triangles[triangle as usize].barycentric(point).unwrap_or_default();
            println!("  {triangle}: {weights:?}");
            assert!(weights.iter().all(|&weight| weight >= 0.0) && weights.iter().sum::<f64>() == 1.0);
        }
    }
    assert_eq!(lists, ValueBvh::build(triangles)?.query_all(&points));
    Ok(())
}
