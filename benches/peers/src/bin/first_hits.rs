//! What rays meet first on a mesh, from files of plain numbers and back: `first_hits VERTICES FACES RAYS HITS`.
//!
//! VERTICES are three f32 each, FACES three u32, RAYS six f32 (origin, direction); HITS become one u32 each, the face or 4294967295.
//! All numbers are little-endian. `benches/peers/rays_peers.py` compares the hits and the times with those of embree.

use std::time::Instant;

use ropewalk::{Mesh, Ray};

fn numbers<const N: usize, T>(path: &str, of: fn([u8; 4]) -> T) -> std::io::Result<Vec<[T; N]>> {
    let bytes = std::fs::read(path)?;
    let (words, _) = bytes.as_chunks::<4>();
    let (rows, _) = words.as_chunks::<N>();
    Ok(rows.iter().map(|row| row.map(of)).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [vertices, faces, rays, hits] = paths.as_slice() else {
        return Err("first_hits VERTICES FACES RAYS HITS".into());
    };
    let vertices: Vec<[f32; 3]> = numbers(vertices, f32::from_le_bytes)?;
    let faces: Vec<[u32; 3]> = numbers(faces, u32::from_le_bytes)?;
    let rays: Vec<[f32; 6]> = numbers(rays, f32::from_le_bytes)?;
    let rays: Vec<Ray<f32, 3>> = rays.iter().map(|&[x, y, z, i, j, k]| Ray::new([x, y, z], [i, j, k])).collect();

    let start = Instant::now();
    let mesh = Mesh::build(&vertices, &faces)?;
    println!("build {:.3} s", start.elapsed().as_secs_f64());
    // The first round warms up.
    for _ in 0..2 {
        let start = Instant::now();
        let found = mesh.first_hits(&rays);
        println!("first hits {:.3} s", start.elapsed().as_secs_f64());
        let bytes: Vec<u8> =
            found.iter().flat_map(|hit| hit.map_or(u32::MAX, |hit| hit.triangle).to_le_bytes()).collect();
        std::fs::write(hits, bytes)?;
    }
    Ok(())
}
