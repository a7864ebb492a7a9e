//! DBSCAN in the plane: two moons, a blob, and noise, which no straight line could separate.
//!
//! `cargo run --release --example dbscan_moons`

use std::f64::consts::PI;

use ropewalk::{Bvh, Dbscan, Nearest, dbscan};

fn main() -> ropewalk::Result<()> {
    // Multiples of the golden ratio modulo 1 are spread evenly without random numbers.
    let spread = |i: usize| (i as f64 * 0.618_034).fract();
    let mut points: Vec<[f64; 2]> = vec![];
    for i in 0..300 {
        let (angle, r) = (PI * i as f64 / 299.0, 0.92 + 0.16 * spread(i));
        points.push([r * angle.cos(), r * angle.sin()]);
    }
    for i in 0..300 {
        let (angle, r) = (PI * i as f64 / 299.0, 0.92 + 0.16 * spread(i));
        points.push([1.0 - r * angle.cos(), 0.5 - r * angle.sin()]);
    }
    // A blob whose density decreases towards its edge.
    for i in 0..200 {
        let (angle, r) = (2.399_963 * i as f64, 0.7 * (i as f64 / 200.0).powf(1.5));
        points.push([3.5 + r * angle.cos(), 0.5 + r * angle.sin()]);
    }
    points.extend((0..20).map(|i| [-2.0 + 7.0 * spread(i), -1.5 + i as f64 / 5.0]));

    // Distances to the fourth neighbour: with eps at the 90th percentile, nine of ten points are core.
    let graph = Bvh::build(&points)?.nearest_neighbors(Nearest::new(4).excluding_self());
    let mut distances: Vec<f64> = graph.iter().map(|near| near[3].distance2.sqrt()).collect();
    distances.sort_by(f64::total_cmp);
    let eps = distances[distances.len() * 9 / 10];
    println!(
        "distance to the fourth neighbour: median {:.3}, 90th percentile {eps:.3}",
        distances[distances.len() / 2]
    );

    // The minimum of 5 counts four neighbours and the point itself.
    let labels = dbscan(&points, eps, 5)?;
    println!("{} clusters of {:?} points, {} noise", labels.n_clusters(), labels.sizes(), labels.n_noise());
    assert_eq!(labels.n_clusters(), 3);
    assert!((0..300).all(|i| labels.get(i) == Some(0)) && (300..600).all(|i| labels.get(i) == Some(1)));

    // Border points are near a core point but not core. DBSCAN* excludes them.
    let border = (0..points.len()).filter(|&i| labels.get(i).is_some() && !labels.is_core(i)).count();
    let star = Dbscan::new(eps, 5).star(true).run(&points)?;
    println!("{border} border points; DBSCAN* has {} noise", star.n_noise());
    assert_eq!(star.n_noise(), labels.n_noise() + border);

    // With half of eps there is more noise; with four times eps the moons are one cluster.
    for factor in [0.5, 1.0, 4.0] {
        let labels = dbscan(&points, factor * eps, 5)?;
        println!("eps {:.3}: {} clusters, {} noise", factor * eps, labels.n_clusters(), labels.n_noise());
    }
    Ok(())
}
