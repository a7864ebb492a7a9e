//! Clustering two crescents of different density around each other, with a tenth of noise.
//!
//! `cargo run --release --example moons`

use std::f64::consts::PI;

use ropewalk::cluster::ClusterSelection;
use ropewalk::{Hdbscan, MinimumSpanningTree};

fn main() -> ropewalk::Result<()> {
    // Multiples of irrational numbers modulo 1 are spread evenly without random numbers.
    let spread = |i: usize, step: f64| (i as f64 * step).fract();
    let mut points: Vec<[f64; 2]> = vec![];
    // The true moon of each point.
    let mut moons = vec![];
    for (moon, count) in [600, 300].into_iter().enumerate() {
        for i in 0..count {
            let (angle, r) = (PI * spread(i, 0.618_034), 0.9 + 0.2 * spread(i, 0.414_214));
            let [x, y] = [r * angle.cos(), r * angle.sin()];
            points.push(if moon == 0 { [x, y] } else { [1.0 - x, 0.5 - y] });
            moons.push(Some(moon as u32));
        }
    }
    for i in 0..100 {
        points.push([-1.5 + 4.0 * spread(i, 0.754_878), -1.2 + 2.9 * spread(i, 0.569_840)]);
        moons.push(None);
    }

    let clusters = Hdbscan::new(25).min_samples(10).run(&points)?;
    let labels = clusters.labels();
    println!("{} clusters of {:?} points, {} noise", labels.n_clusters(), labels.sizes(), labels.n_noise());

    // Compares clusters with moons. Cluster 0 contains point 0, which belongs to the first moon.
    let count = |wanted: &dyn Fn(usize) -> bool| (0..points.len()).filter(|&i| wanted(i)).count();
    let right = count(&|i| moons[i].is_some() && labels.get(i) == moons[i]);
    let wrong = count(&|i| moons[i].is_some() && labels.get(i).is_some_and(|label| Some(label) != moons[i]));
    let found = count(&|i| moons[i].is_none() && labels.get(i).is_none());
    println!(
        "of 900 moon points, {right} are in the right cluster and {wrong} in the wrong one; of 100 noise points, {found} are labelled noise"
    );
    assert_eq!((labels.n_clusters(), wrong), (2, 0));

    for (label, persistence) in clusters.persistence().iter().enumerate() {
        println!("cluster {label}: persistence {persistence:.3}");
    }
    let (outlier, score) =
        clusters.outlier_scores().into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    println!("highest outlier score: {score:.3}, point {outlier}");

    // Other selections of clusters from one spanning tree.
    let tree = MinimumSpanningTree::new().min_samples(10).run(&points)?;
    for size in [10, 25, 100] {
        let options = Hdbscan::new(size);
        let [stable, leaves] = [ClusterSelection::ExcessOfMass, ClusterSelection::Leaf]
            .map(|selection| options.clone().cluster_selection(selection).run_on_spanning_tree(&tree));
        println!(
            "at least {size:3}: {} clusters, {} leaves",
            stable?.labels().n_clusters(),
            leaves?.labels().n_clusters()
        );
    }
    Ok(())
}
