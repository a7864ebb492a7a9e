//! The digests that `answers.cpp` prints, computed by the Rust library without the C interface:
//!
//! ```text
//! cargo run --release --package ropewalk-capi --example answers [COUNT]
//! ```

use ropewalk::halo::{NoSphere, Particles, overdensities};
use ropewalk::{Bvh, Dbscan, Fof, Hdbscan, Hop, Labels, Mesh, Ray, Result, Sphere};

type Row = [f64; 3];

/// A random number from 0 to 1: SplitMix64 (Steele et al. 2014).
fn uniform(seed: u64) -> f64 {
    let mut x = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / 9_007_199_254_740_992.0
}

fn sample(count: u64) -> Vec<Row> {
    let coordinate = |i: u64, k: u64| {
        let x = uniform(6 * i + k);
        if i.is_multiple_of(3) { x * uniform(6 * i + k + 3) * 0.25 } else { x }
    };
    (0..count).map(|i| [0, 1, 2].map(|k| coordinate(i, k))).collect()
}

/// Prints FNV-1a of 64-bit numbers.
fn print(name: &str, numbers: impl IntoIterator<Item = u64>) {
    let add = |state: u64, number: u64| (state ^ number).wrapping_mul(0x100_0000_01b3);
    println!("{name} {:016x}", numbers.into_iter().fold(0xcbf2_9ce4_8422_2325, add));
}

fn print_labels(name: &str, labels: &Labels) {
    print(name, labels.as_slice().iter().map(|&label| i64::from(label) as u64));
}

fn print_searches(rows: &[Row], radius: f64) -> Result<()> {
    let tree = Bvh::build(rows)?;
    let spheres: Vec<Sphere<f64, 3>> = rows.iter().map(|&center| Sphere::new(center, radius)).collect();
    let lists = tree.query_all(&spheres).sorted();
    let of_list = |list: &[u32]| [vec![list.len() as u64], list.iter().map(|&i| i.into()).collect()].concat();
    print("within", lists.iter().flat_map(of_list));
    let near = tree.nearest_all(rows, 8);
    let indices = near.values().iter().map(|near| near.index.into());
    print("nearest", indices.chain(near.values().iter().map(|near| near.distance().to_bits())));
    print("visited", [lists.iter().filter(|list| list.len() >= 4).count() as u64]);
    Ok(())
}

fn print_spheres(rows: &[Row]) -> Result<()> {
    let count = rows.len() as f64;
    let found = overdensities(&Particles::new(rows), &rows[..100], &[2.0 * count, 20.0 * count])?;
    print(
        "spheres",
        found.into_iter().flatten().flat_map(|sphere| match sphere {
            Ok(sphere) => vec![0, sphere.mass.to_bits(), sphere.radius.to_bits(), sphere.count as u64],
            Err(NoSphere::NotDense) => vec![1],
            Err(_) => vec![2],
        }),
    );
    Ok(())
}

fn print_rays(rows: &[Row]) -> Result<()> {
    let faces: Vec<[u32; 3]> = (0..rows.len() as u32 - 2).step_by(300).map(|i| [i, i + 1, i + 2]).collect();
    let mesh = Mesh::build(rows, &faces)?;
    let rays: Vec<Ray<f64, 3>> = rows.iter().map(|&row| Ray::new([0.0; 3], row)).collect();
    let none = [u32::MAX.into(), f64::INFINITY.to_bits()];
    let hits = mesh.first_hits(&rays);
    print("first_hits", hits.iter().flat_map(|hit| hit.map_or(none, |hit| [hit.triangle.into(), hit.t.to_bits()])));
    print("any_hits", mesh.any_hits(&rays).into_iter().map(u64::from));
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(20_000), |count| count.parse())?;
    let rows = sample(count);
    let separation = 1.0 / (count as f64).cbrt();
    let mut length = 1.0;
    while length > 0.5 * separation {
        length *= 0.5;
    }
    print_searches(&rows, length)?;
    print_labels("dbscan", &Dbscan::new(length, 5).periodic(1.0).run(&rows)?);
    print_labels("hdbscan", Hdbscan::new(20).run(&rows)?.labels());
    print_labels("fof", Fof::new(length).run(&rows)?.labels());
    print_labels("hop", Hop::new(4.0).periodic(1.0).run(&rows)?.labels());
    print_spheres(&rows)?;
    print_rays(&rows)?;
    Ok(())
}
