//! Friends of friends for every linking length from one spanning tree.
//!
//! `cargo run --release --example linking_lengths`

use ropewalk::cluster::Dendrogram;
use ropewalk::sample::MockHalos;
use ropewalk::{Fof, Halos, MinimumSpanningTree};

fn main() -> ropewalk::Result<()> {
    // 70% of the galaxies are in haloes and 30% anywhere, in a periodic box.
    let (n, side) = (100_000, 100.0);
    let galaxies = MockHalos::new(n).seed(5).side(side).background(0.3).points()?;
    let separation = side / (n as f64).cbrt();

    let tree = MinimumSpanningTree::new().periodic(side).run(&galaxies)?;
    println!("{n} galaxies, {} edges", tree.edges().len());

    // A cut keeps the edges of at most this length.
    println!("\n   b  halos  largest single");
    for b in [0.05, 0.1, 0.15, 0.168, 0.2, 0.3, 0.5, 0.7, 1.0] {
        let labels = tree.cut(b * separation)?;
        let single = labels.n_noise();
        let halos = Halos::new(labels, 20);
        println!("{b:>5}{:>6}{:>9}{single:>7}", halos.len(), halos.members(0).len());
        assert_eq!(halos.labels(), Fof::new(b * separation).periodic(side).run(&galaxies)?.labels());
    }

    // The dendrogram has every length at which groups merge.
    let dendrogram = Dendrogram::new(&tree);
    let half = dendrogram.merges().iter().find(|merge| 2 * merge.size as usize > n);
    if let (Some(merge), Some(longest)) = (half, tree.edges().last()) {
        println!("\nthe largest halo has half of the galaxies from b = {:.3}", merge.height / separation);
        println!("all galaxies are one halo from b = {:.3}", longest.weight() / separation);
    }
    Ok(())
}
