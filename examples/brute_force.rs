//! Brute force instead of a tree: the same methods and results. It suits a few dozen primitives, and tests.
//!
//!     cargo run --release --example brute_force
//!
//! In a program of your own it needs the feature `reference`.

use ropewalk::reference::BruteForce;
use ropewalk::{Aabb, Bvh, Result, Sphere};

fn main() -> Result<()> {
    // Boxes of different sizes on a lattice.
    let boxes: Vec<Aabb<f32, 3>> = (0..1000)
        .map(|i| {
            let corner = [i % 10, i / 10 % 10, i / 100].map(|x| x as f32);
            Aabb::new(corner, corner.map(|x| x + (i * 7 % 5) as f32 / 2.0))
        })
        .collect();
    let spheres = [Sphere::new([2.5, 2.5, 2.5], 1.0), Sphere::new([9.0, 0.0, 5.0], 0.5), Sphere::new([20.0; 3], 1.0)];
    let (bvh, all) = (Bvh::build(&boxes)?, BruteForce::build(&boxes)?);

    let (by_tree, by_force) = (bvh.query_all(&spheres), all.query_all(&spheres));
    for (query, sphere) in spheres.iter().enumerate() {
        // Lists are in the order of the tree, or in ascending order.
        let mut hits = by_tree.of(query).to_vec();
        hits.sort_unstable();
        assert_eq!(hits, by_force.of(query));
        println!("{} boxes meet the sphere around {:?}", hits.len(), sphere.center);
    }
    let point = [4.25, 4.25, 40.0];
    assert_eq!(bvh.nearest(point, 3), all.nearest(point, 3));
    let nearest: Vec<u32> = all.nearest(point, 3).iter().map(|near| near.index).collect();
    println!("nearest to {point:?}: {nearest:?}");
    Ok(())
}
