//! DBSCAN in a mock universe: are the densest clusters the haloes that it was made of?
//!
//! `cargo run --release --example dbscan_galaxies`

use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::sample::MockHalos;
use ropewalk::{Bvh, Dbscan};

fn main() -> ropewalk::Result<()> {
    // 70% of the galaxies are in haloes and 30% anywhere, in a periodic box.
    let (n, side) = (100_000, 100.0);
    let universe = MockHalos::new(n).seed(5).side(side).background(0.3);
    let galaxies = universe.points()?;
    let mut halos = universe.catalog()?;
    halos.sort_by_key(|halo| std::cmp::Reverse(halo.mass));

    // A sphere of radius eps contains min_samples galaxies where the density is about 73 times the mean; haloes begin
    // at 200.
    let separation = side / (n as f64).cbrt();
    let (eps, min_samples) = (0.32 * separation, 10);
    let dbscan = Dbscan::new(eps, min_samples).periodic(side);
    let labels = dbscan.run(&galaxies)?;
    let sizes = labels.sizes();
    println!("{n} galaxies, {} haloes", halos.len());
    println!("eps {eps:.3}, min_samples {min_samples}: {} clusters, {} noise", labels.n_clusters(), labels.n_noise());

    println!("\nhalo  galaxies  in cluster");
    let tree = Bvh::build_periodic(&galaxies, side)?;
    for (rank, halo) in halos.iter().enumerate().take(8) {
        let densest = tree.nearest(halo.center.map(|x| x as f32), 1)[0].index;
        let found = labels.get(densest as usize).map_or(0, |cluster| sizes[cluster as usize]);
        println!("{:>4}{:>10}{found:>12}", rank + 1, halo.mass);
        // Outskirts are too sparse to be found, and neighbouring haloes may be joined.
        assert!(2 * found > halo.mass as usize);
    }

    // Both algorithms give the same labels.
    for algorithm in [DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox] {
        assert_eq!(dbscan.clone().algorithm(algorithm).run(&galaxies)?, labels);
    }
    Ok(())
}
