//! The points within a radius: one query, then a thousand in parallel.
//!
//! `cargo run --release --example range_query`

use ropewalk::{Aabb, Bvh, Sphere};

fn main() -> ropewalk::Result<()> {
    // A million points on a cubic lattice with spacing 1, so that results can be verified by hand.
    let points: Vec<[f32; 3]> =
        (0..1_000_000).map(|i| [i % 100, i / 100 % 100, i / 10_000].map(|x| x as f32)).collect();
    let bvh = Bvh::build(&points)?;
    println!("{} points, {} nodes", bvh.len(), bvh.n_nodes());

    // A sphere of radius 1 around a point: the point and its six neighbours exactly on the surface. Radii are
    // inclusive.
    let mut near: Vec<u32> = bvh.query(Sphere::new([50.0, 50.0, 50.0], 1.0)).collect();
    near.sort();
    println!("in the sphere:");
    for &i in &near {
        println!("  point {i} at {:?}", points[i as usize]);
    }
    assert_eq!(near.len(), 7);

    // The faces of a box are inclusive, too.
    let slab = Aabb::new([0.0, 0.0, 10.0], [99.0, 99.0, 12.0]);
    let in_slab = bvh.query(slab).count();
    println!("in the slab: {in_slab}");
    assert_eq!(in_slab, 3 * 100 * 100);

    // A thousand and one spheres at once. The results are lists in one allocation.
    let balls: Vec<_> = points.iter().step_by(999).map(|&center| Sphere::new(center, 2.0)).collect();
    let lists = bvh.query_all(&balls);
    let largest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    println!("{} lists with {} hits in total, at most {largest} each", lists.len(), lists.values().len());
    assert_eq!(largest, 33); // the number of lattice points within 2 of a lattice point

    // A periodic box has no boundary, so all points have the same number of neighbours.
    let torus = Bvh::build_periodic(&points, 100.0)?;
    assert!(torus.count_all(&balls).iter().all(|&count| count == 33));
    println!("in the periodic box every sphere has 33 hits");
    Ok(())
}
